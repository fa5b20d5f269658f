"""What asking costs beside other programs: questions a second, CPU and peak memory, on an API that answers at once.

    python -m benchmarks.asking 500 5000 --aiohttp PYTHON --promptfoo node_modules/.bin/promptfoo

Every program asks the same questions of `instant_api` (Go), eight at a time, and reads the ten chunks of each answer.
The loops do nothing else; promptfoo looks for the expected note, without its cache; raggate is `raggate run` from the
golden set to the run directory and its reports. wrk (where it is installed) says what the API can do, without reading
answers. Each is a process of its own, its start included; what is not there is left out. Ratios are to the bare httpx
loop of the same round.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks import scale
from benchmarks.scale import RAGGATE, URL, Cost

ASK = f"{URL}/api/v1/ask?debug=true&retrieval_only=true"
AT_ONCE = 8
WRK_SECONDS = 5

AIOHTTP = """
import asyncio, json, sys, aiohttp
async def main():
    connector = aiohttp.TCPConnector(limit=8)
    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as client:
        lines = iter(open(sys.argv[2], encoding="utf-8"))
        async def worker():
            for line in lines:
                body = {"question": json.loads(line)["question"], "k": 10, "mode": "hybrid"}
                async with client.post(sys.argv[1] + "/api/v1/ask?debug=true&retrieval_only=true", json=body) as reply:
                    await reply.json()
        await asyncio.gather(*(worker() for _ in range(8)))
asyncio.run(main())
"""

WRK = """
local bodies, place = {}, 0
for line in io.lines(os.getenv("BODIES")) do bodies[#bodies + 1] = line end
function request()
  place = place % #bodies + 1
  return wrk.format("POST", nil, {["Content-Type"] = "application/json"}, bodies[place])
end
"""


@dataclass(frozen=True)
class Programs:
    """Where programs are that need not be installed; None for those that are not."""

    aiohttp: Path | None
    promptfoo: Path | None
    wrk: str | None


@dataclass(frozen=True)
class Row:
    """What one program cost for one question: CPU and wall milliseconds, and its peak MiB."""

    cpu: float
    wall: float
    peak: float


def questions_in(folder: Path) -> list[dict[str, str]]:
    """Read each question of a suite, with the path of the note that answers it."""
    cases = [json.loads(line) for line in (folder / "golden.jsonl").read_text(encoding="utf-8").splitlines()]
    return [{"question": case["question"], "path": case["gold_supports"][0]["rel_path"]} for case in cases]


def write_promptfoo(folder: Path) -> Path:
    """Write the questions as promptfoo has them; give its configuration."""
    found = "output.some(chunk => chunk.rel_path === context.vars.path)"
    tests = [{"vars": asked, "assert": [{"type": "javascript", "value": found}]} for asked in questions_in(folder)]
    (folder / "tests.json").write_text(json.dumps(tests), encoding="utf-8")
    request = {
        "method": "POST",
        "headers": {"Content-Type": "application/json"},
        "body": {"question": "{{question}}", "k": 10, "mode": "hybrid"},
        "transformResponse": "json.debug.retrieved_chunks",
    }
    config = {
        "prompts": ["{{question}}"],
        "providers": [{"id": ASK, "config": request}],
        "tests": "file://tests.json",
        "evaluateOptions": {"maxConcurrency": AT_ONCE, "cache": False},
    }
    path = folder / "promptfooconfig.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    return path


def write_wrk(folder: Path) -> Path:
    """Write the bodies that wrk sends; give its script."""
    bodies = (json.dumps({"question": asked["question"], "k": 10, "mode": "hybrid"}) for asked in questions_in(folder))
    (folder / "bodies.txt").write_text("\n".join(bodies) + "\n", encoding="utf-8")
    path = folder / "wrk.lua"
    path.write_text(WRK, encoding="utf-8")
    return path


def of(cost: Cost, questions: int) -> Row:
    """Divide what a process cost by its questions."""
    return Row(cost.cpu * 1000 / questions, cost.wall * 1000 / questions, cost.peak)


def by_wrk(wrk: str, folder: Path) -> Row:
    """Ask with wrk for some seconds, as it cannot ask a number of questions."""
    words = [wrk, "-t1", f"-c{AT_ONCE}", f"-d{WRK_SECONDS}s", "-s", str(write_wrk(folder)), ASK]
    report = folder / "wrk.txt"
    with report.open("wb") as out:
        cost = scale.cost(words, folder, variables={"BODIES": str(folder / "bodies.txt")}, out=out)
    text = report.read_text()
    if "Non-2xx" in text:
        raise SystemExit(f"wrk got errors:\n{text}")
    asked = re.search(r"(\d+) requests in", text)
    assert asked is not None, text
    return of(cost, int(asked[1]))


def by_promptfoo(promptfoo: Path, folder: Path, size: int) -> Row:
    """Ask with promptfoo, whose files and caches stay in the folder."""
    needless = ("TELEMETRY", "UPDATE", "SHARING", "ERROR_LOG", "DEBUG_LOG", "REMOTE_GENERATION")
    quiet = {f"PROMPTFOO_DISABLE_{name}": "1" for name in needless}
    quiet |= {"PROMPTFOO_CACHE_ENABLED": "false", "PROMPTFOO_CONFIG_DIR": str(folder / ".promptfoo")}
    options = ["--no-cache", "--no-write", "--no-table", "--no-progress-bar", "-j", str(AT_ONCE)]
    words = [promptfoo, "eval", *options, "-c", write_promptfoo(folder)]
    # it ends with 100 where an assertion failed
    return of(scale.cost(words, folder, (0, 100), variables=quiet), size)


def programs(folder: Path, size: int, there: Programs) -> Mapping[str, Callable[[], Row]]:
    """Return what measures each program that is there."""
    golden = folder / "golden.jsonl"
    chosen = {"bare httpx loop": lambda: of(scale.cost([sys.executable, "-c", scale.BARE, URL, golden], folder), size)}
    chosen["raggate run"] = lambda: of(scale.cost([*RAGGATE, "run"], folder), size)
    if (python := there.aiohttp) is not None:
        chosen["bare aiohttp loop"] = lambda: of(scale.cost([python, "-c", AIOHTTP, URL, golden], folder), size)
    if (promptfoo := there.promptfoo) is not None:
        chosen["promptfoo eval"] = lambda: by_promptfoo(promptfoo, folder, size)
    if (wrk := there.wrk) is not None:
        chosen["wrk"] = lambda: by_wrk(wrk, folder)
    return chosen


def compared(folder: Path, binary: Path, size: int, rounds: int, there: Programs) -> dict[str, list[Row]]:
    """Measure every program in turns, so many rounds."""
    rows: dict[str, list[Row]] = {}
    with scale.serving(binary, folder):
        chosen = programs(folder, size, there)
        for _ in range(rounds):
            for name, measure in chosen.items():
                rows.setdefault(name, []).append(measure())
                shutil.rmtree(folder / ".raggate", ignore_errors=True)
    return rows


def show(size: int, rows: Mapping[str, Sequence[Row]]) -> None:
    """Print the table of one size: medians, and medians of the ratios within a round."""
    bare = rows["bare httpx loop"]
    print(f"\n{size} questions, {len(bare)} rounds, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}\n")
    print("| | CPU ms a question | CPU | questions a second | peak MiB |\n|---|---|---|---|---|")
    for name, its in rows.items():
        cpu = median(row.cpu / other.cpu for row, other in zip(its, bare, strict=True))
        pace = median(other.wall / row.wall for row, other in zip(its, bare, strict=True))
        each, second, peak = (
            median(value) for value in zip(*((r.cpu, 1000 / r.wall, r.peak) for r in its), strict=True)
        )
        print(f"| {name} | {each:.2f} | {cpu:.2f} | {second:.0f} ({pace:.2f}) | {peak:.0f} |")
    sys.stdout.flush()


def main() -> None:
    """Measure the sizes and print a table for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", type=int, default=[500, 5_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--aiohttp", type=Path, help="an interpreter that has aiohttp, which is no dependency")
    parser.add_argument("--promptfoo", type=Path, help="the command, installed with npm in a directory of its own")
    parser.add_argument("--place", type=Path, help="where the suites are made; a temporary directory by default")
    given = parser.parse_args()
    there = Programs(*(path and path.absolute() for path in (given.aiohttp, given.promptfoo)), shutil.which("wrk"))
    with tempfile.TemporaryDirectory(dir=given.place) as scratch:
        binary = Path(scratch, "instant-api")
        subprocess.run(["go", "build", "-o", binary, "."], cwd=Path(__file__).parent / "instant_api", check=True)
        for size in given.sizes:
            folder = Path(scratch, str(size))
            scale.make(folder, size)
            show(size, compared(folder, binary, size, given.rounds, there))


if __name__ == "__main__":
    main()
