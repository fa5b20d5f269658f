"""What large suites cost: CPU, peak memory and disk per question of each command, on an API that answers at once.

    python -m benchmarks.scale 2000 20000

For each size it makes a suite, starts `instant_api` (Go), and runs a bare httpx loop over the same requests, `raggate
run`, `score`, `compare` and `check`, each as a process of its own. Figures are CPU seconds (user and system) of that
process and its peak memory; the slope is what a question more costs between the smallest and the largest size.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import httpx

PORT = 19378
URL = f"http://127.0.0.1:{PORT}"
NOTES, SECTIONS = 500, 4
RAGGATE = [sys.executable, "-m", "raggate", "-q"]

BARE = """
import asyncio, json, sys, httpx
async def main():
    limits = httpx.Limits(max_connections=8, max_keepalive_connections=8)
    async with httpx.AsyncClient(trust_env=False, limits=limits, timeout=30) as client:
        lines = iter(open(sys.argv[2], encoding="utf-8"))
        async def worker():
            for line in lines:
                body = {"question": json.loads(line)["question"], "k": 10, "mode": "hybrid"}
                (await client.post(sys.argv[1] + "/api/v1/ask?debug=true&retrieval_only=true", json=body)).json()
        await asyncio.gather(*(worker() for _ in range(8)))
asyncio.run(main())
"""

CONFIG = """
suite: scale
golden: golden.jsonl
vault: {{notes: vault}}
api: {{url: '{url}', ready: {{settle: 1}}}}
ask: {{k: 10}}
"""


@dataclass(frozen=True)
class Cost:
    """CPU seconds, peak MiB and wall seconds of a process."""

    cpu: float
    peak: float
    wall: float


def section(note: int, number: int) -> str:
    """Return the text of a section: some 500 characters, no two alike."""
    words = (f"word{(note * 31 + number * 17 + place * place) % 997}" for place in range(65))
    return f"Section {number} of note {note} says: {' '.join(words)}."


def make(folder: Path, questions: int) -> None:
    """Write notes, chunks, golden set and configuration."""
    vault = folder / "vault"
    vault.mkdir(parents=True)
    with (folder / "chunks.jsonl").open("w", encoding="utf-8") as chunks:
        for note in range(NOTES):
            path = f"folder-{note % 7}/note-{note}.md"
            texts = [f"# Note {note}\n"]
            for number in range(SECTIONS):
                text = section(note, number)
                texts.append(f"## Part {number}\n\n{text}\n")
                chunk = {
                    "chunk_id": f"{note:016x}{number:016x}",
                    "rel_path": path,
                    "heading_path": f"# Note {note} > ## Part {number}",
                    "text": text,
                    "vault": "notes",
                }
                chunks.write(json.dumps(chunk) + "\n")
            (vault / path).parent.mkdir(parents=True, exist_ok=True)
            (vault / path).write_text("\n".join(texts), encoding="utf-8")
    with (folder / "golden.jsonl").open("w", encoding="utf-8") as golden:
        for question in range(questions):
            note, number = divmod(question % (NOTES * SECTIONS), SECTIONS)
            support = {
                "rel_path": f"folder-{note % 7}/note-{note}.md",
                "heading_path": f"# Note {note} > ## Part {number}",
                "snippets": [f"Section {number} of note {note} says"],
            }
            case = {
                "id": f"case-{question:07d}",
                "question": f"What does the section say that is asked for by the number {question}",
                "answerable": True,
                "gold_supports": [support],
                "vaults": ["notes"],
                "category": "factual",
                "difficulty": ("easy", "medium", "hard")[question % 3],
                "tags": [f"folder-{note % 7}"],
            }
            golden.write(json.dumps(case) + "\n")
    (folder / "raggate.yml").write_text(CONFIG.format(url=URL), encoding="utf-8")


def cost(
    words: Sequence[str | Path],
    folder: Path,
    allowed: Sequence[int] = (0,),
    *,
    variables: Mapping[str, str] | None = None,
    out: IO[bytes] | int = subprocess.DEVNULL,
) -> Cost:
    """Run a command in a folder, with further variables of the environment, and give what it cost."""
    environment = {**os.environ, **(variables or {})}
    # what is installed has its bytecode, and is not compiled at every start
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    begin = time.perf_counter()
    process = subprocess.Popen([str(word) for word in words], cwd=folder, stdout=out, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in allowed:
        raise SystemExit(f"{words} ended with {process.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, time.perf_counter() - begin)


@contextmanager
def serving(binary: Path, folder: Path) -> Iterator[None]:
    """Start the API, and end it."""
    api = subprocess.Popen([binary, f"127.0.0.1:{PORT}", folder / "chunks.jsonl"])
    try:
        for _ in range(200):
            if api.poll() is not None:
                raise SystemExit(f"the API did not start: does something listen on {URL}?")
            try:
                httpx.get(f"{URL}/api/health", trust_env=False)
                break
            except httpx.HTTPError:
                time.sleep(0.05)
        yield
    finally:
        api.terminate()
        api.wait()


def measured(folder: Path, binary: Path, steps: Sequence[str]) -> tuple[dict[str, Cost], dict[str, int]]:
    """Return the cost of every step, and the bytes of the files of a run directory."""
    runs = folder / ".raggate/runs"
    costs = {}
    with serving(binary, folder):
        if "bare loop" in steps:
            costs["bare loop"] = cost([sys.executable, "-c", BARE, URL, folder / "golden.jsonl"], folder)
        costs["run"] = cost([*RAGGATE, "run"], folder)
        run = next(runs.iterdir())
        sizes = {path.name: path.stat().st_size for path in sorted(run.iterdir()) if path.is_file()}
        if "compare" in steps:
            costs["compare"] = cost([*RAGGATE, "compare", run, "--baseline", run], folder, allowed=(0, 1, 3))
        if "check" in steps:
            cost([*RAGGATE, "promote", run], folder, allowed=(0, 1, 2, 3))
            costs["check"] = cost([*RAGGATE, "check"], folder, allowed=(0, 1, 3, 4))
    return costs, sizes


def main() -> None:
    """Measure the sizes and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="+", type=int)
    parser.add_argument("--steps", default="bare loop,compare,check", help="what is measured beside `run`")
    parser.add_argument("--place", type=Path, help="where the suites are made; a temporary directory by default")
    given = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory(dir=given.place) as scratch:
        binary = Path(scratch, "instant-api")
        subprocess.run(["go", "build", "-o", binary, "."], cwd=Path(__file__).parent / "instant_api", check=True)
        for size in given.sizes:
            folder = Path(scratch, str(size))
            make(folder, size)
            results[size] = measured(folder, binary, given.steps.split(","))
            show(size, *results[size])
    if len(given.sizes) > 1:
        least, most = min(results), max(results)
        print("slope: KiB of peak memory and CPU ms for each question more")
        for step, large in results[most][0].items():
            small = results[least][0][step]
            kib = (large.peak - small.peak) * 1024 / (most - least)
            print(f"{step:12}{kib:10.2f} KiB{(large.cpu - small.cpu) * 1000 / (most - least):10.3f} ms")


def show(size: int, costs: dict[str, Cost], sizes: dict[str, int]) -> None:
    """Print the table of one size."""
    print(f"{size} questions x 10 chunks, Python {sys.version.split()[0]}")
    for step, its in costs.items():
        print(f"{step:12}{its.cpu:9.2f} CPU s{its.cpu * 1000 / size:9.3f} ms each{its.peak:9.0f} MiB{its.wall:9.1f} s")
    print("bytes for each question: " + ", ".join(f"{name} {count / size:.0f}" for name, count in sizes.items()))
    print(flush=True)


if __name__ == "__main__":
    main()
