"""What large stored runs cost: CPU and peak memory of `compare`, of a few answers that are there many times.

    python -m benchmarks.stored 60000 1000000
    python -m benchmarks.stored 20000 --check      `promote` of the one and `check --run` of the other in its place

2,000 questions are asked of `instant_api` as in scale.py. Their answers stand for all further questions, under names of
their own, in two run directories; in the second, one list of a hundred lacks its first chunk.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.scale import RAGGATE, Cost, cost, make, serving

from raggate.base.jsonio import dumps
from raggate.inputs import golden

ASKED = 2000
EVERY, LACKS = 100, 7
ENDS = (0, 1, 3)


def first_run(folder: Path) -> Path:
    """Ask the first questions, and give their run directory."""
    binary = folder / "instant-api"
    subprocess.run(["go", "build", "-o", binary, "."], cwd=Path(__file__).parent / "instant_api", check=True)
    make(folder / "asked", ASKED)
    with serving(binary, folder / "asked"):
        cost([*RAGGATE, "run"], folder / "asked")
    (run,) = (folder / "asked/.raggate/runs").iterdir()
    return run


def many(run: Path, place: Path, questions: int, *, worse: bool) -> Path:
    """Write a run directory of so many questions."""
    place.mkdir(parents=True)
    with (place / "golden.jsonl").open("wb") as file:
        file.writelines(_cases((run / "golden.jsonl").read_text(encoding="utf-8").splitlines(), questions))
    config = json.loads((run / "config.json").read_bytes())
    config["golden"]["hash"] = config["fingerprint"]["golden"] = _hash(place / "golden.jsonl")
    (place / "config.json").write_bytes(dumps(config, pretty=True))
    with gzip.open(run / "results.jsonl.gz") as packed:
        rows = [json.loads(line) for line in packed]
    with gzip.GzipFile(place / "results.jsonl.gz", "wb", compresslevel=1, mtime=0) as file:
        for line in _rows(rows, questions, worse=worse):
            file.write(line)
    return place


def _hash(questions: Path) -> str:
    with questions.open("rb") as file:
        return golden.load(file, questions.name).hash


def _cases(lines: list[str], questions: int) -> Iterator[bytes]:
    cases = [json.loads(line) for line in lines]
    for number in range(questions):
        case = cases[number % ASKED]
        named = {"id": _id(number), "question": _question(case["question"], number)}
        yield dumps(dict(sorted((case | named).items()))) + b"\n"


def _rows(rows: list[dict[str, Any]], questions: int, *, worse: bool) -> Iterator[bytes]:
    whole = [dumps(row) for row in rows]
    cut = [dumps(_without_first(row)) for row in rows]
    for number in range(questions):
        place = number % ASKED
        line = (cut if worse and number % EVERY == LACKS else whole)[place]
        asked = rows[place]["question"]
        named = line.replace(_id(place).encode(), _id(number).encode())
        yield named.replace(dumps(asked), dumps(_question(asked, number))) + b"\n"


def _id(number: int) -> str:
    return f"case-{number:07d}"


def _question(asked: str, number: int) -> str:
    return f"{asked.rpartition(' ')[0]} {number}"


def _without_first(row: dict[str, Any]) -> dict[str, Any]:
    per_chunk = {name: row["labels"][name][1:] for name in ("matches", "heading_only", "bodiless", "lengths")}
    response = row["result"]["response"]
    chunks = [{**chunk, "rank": rank} for rank, chunk in enumerate(response["chunks"][1:], 1)]
    result = {**row["result"], "response": {**response, "chunks": chunks}}
    return {**row, "labels": {**row["labels"], **per_chunk}, "result": result}


def compared(folder: Path, before: Path, now: Path) -> None:
    """Compare one run with the other."""
    _print("compare", cost([*RAGGATE, "compare", now, "--baseline", before], folder, ENDS))


def checked(folder: Path, before: Path, now: Path) -> None:
    """Promote one run, and check the other against the baseline file that is made of it."""
    suite = now.parent / "suite"
    shutil.copytree(folder / "asked/vault", suite / "vault")
    shutil.copy(folder / "asked/raggate.yml", suite)
    shutil.copy(before / "golden.jsonl", suite)
    _print("promote", cost([*RAGGATE, "promote", before], suite))
    (baseline,) = (suite / "baselines").glob("*.json")
    _print(
        f"check --run, baseline of {baseline.stat().st_size >> 20} MiB",
        cost([*RAGGATE, "check", "--run", now], suite, ENDS),
    )


def _print(what: str, its: Cost) -> None:
    print(f"  {what}: {its.cpu:.1f} CPU s, {its.peak:.0f} MiB, {its.wall:.1f} s", flush=True)


def main() -> None:
    """Measure the sizes, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="+", type=int)
    parser.add_argument("--check", action="store_true", help="promote, and check")
    parser.add_argument("--place", type=Path, help="where the runs are made; a temporary directory by default")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.place) as scratch:
        folder = Path(scratch)
        run = first_run(folder)
        for size in given.sizes:
            before = many(run, folder / f"{size}/before", size, worse=False)
            now = many(run, folder / f"{size}/now", size, worse=True)
            print(f"{size} questions", flush=True)
            (checked if given.check else compared)(folder, before, now)


if __name__ == "__main__":
    main()
