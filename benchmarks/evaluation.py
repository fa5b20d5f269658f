"""What `raggate evaluate` costs beside pytrec_eval, and beside ir_measures and trec_eval where they are installed.

Each measurement is a whole process, from its start to its printed means, on the same made-up results: 10,000 queries
with 100 documents each, read from TREC files and from JSON lines; and 50 queries with 20, as a small suite has. The
tools take turns; prints the least seconds and CPU seconds, children included, and ratios to pytrec_eval. `--stream`
scores a million lists from JSON lines (1.5 GB of scratch space), on all cores and on one, and prints the peak memory.
`--peer PYTHON` names another interpreter that has ir_measures.

All modules are compiled before, as they are where a package is installed, whatever the environment says.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import orjson

RAGGATE = [sys.executable, "-m", "raggate", "evaluate"]
REPEATS = 9
TARGET_MIB = 300

PYTREC_EVAL = """
import sys, pytrec_eval
with open(sys.argv[1]) as stream: qrels = pytrec_eval.parse_qrel(stream)
with open(sys.argv[2]) as stream: run = pytrec_eval.parse_run(stream)
names = {"map", "recip_rank", "success.1,3,5,10", "recall.1,3,5,10", "P.1,3,5,10", "ndcg_cut.1,3,5,10"}
values = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
for name in next(iter(values.values())):
    print(name, sum(value[name] for value in values.values()) / len(values))
"""
IR_MEASURES = """
import sys, ir_measures
from ir_measures import *
names = [AP, *(name @ k for name in (Success, R, P, RR, nDCG) for k in (1, 3, 5, 10))]
qrels, run = ir_measures.read_trec_qrels(sys.argv[1]), ir_measures.read_trec_run(sys.argv[2])
for name, value in ir_measures.calc_aggregate(names, qrels, run).items(): print(name, value)
"""


def make(folder: Path, queries: int, depth: int, *, run: bool = True) -> None:
    """Write qrels, lists.jsonl and, if wanted, run: five documents of a list judged, and three that are in none."""
    chance = random.Random(7)
    with (
        (folder / "qrels").open("w") as qrels,
        (folder / "lists.jsonl").open("wb") as lists,
        (folder / "run").open("w") as runs,
    ):
        for number in range(queries):
            query = f"q{number:07d}"
            documents = [f"doc{document:07d}" for document in chance.sample(range(10**6), depth)]
            judged = [*chance.sample(documents, 5), *(f"other{place}" for place in range(3))]
            qrels.writelines(
                f"{query} 0 {document} {grade}\n"
                for document, grade in zip(judged, (1, 2, 0, 1, 0, 2, 1, 0), strict=True)
            )
            lists.write(orjson.dumps({"query_id": query, "doc_ids": documents}, option=orjson.OPT_APPEND_NEWLINE))
            if run:
                runs.writelines(
                    f"{query} Q0 {document} {rank} {100 - rank - chance.random():.6f} tag\n"
                    for rank, document in enumerate(documents, 1)
                )


class Cost(NamedTuple):
    """What a process took: seconds, CPU seconds with its children, the peak memory in MiB of the largest of them."""

    wall: float
    cpu: float
    peak: float


def measure(words: Sequence[str], folder: Path) -> Cost:
    """Run a command in a folder."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    begin = time.perf_counter()
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"{words[:3]} ended with {process.returncode}"
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def tools(peer: str) -> dict[str, list[str]]:
    """Return the commands to compare, pytrec_eval first."""
    commands = {
        "pytrec_eval, TREC": [sys.executable, "-c", PYTREC_EVAL, "qrels", "run"],
        "raggate, TREC": [*RAGGATE, "--qrels", "qrels", "--run", "run"],
        "raggate, JSON lines": [*RAGGATE, "--qrels", "qrels", "--lists", "lists.jsonl"],
    }
    probe = subprocess.run([peer, "-c", "import ir_measures"], capture_output=True, check=False)
    if probe.returncode == 0:
        commands["ir_measures, TREC"] = [peer, "-c", IR_MEASURES, "qrels", "run"]
    if shutil.which("trec_eval"):
        names = ("map", "recip_rank", "success.1,3,5,10", "recall.1,3,5,10", "P.1,3,5,10", "ndcg_cut.1,3,5,10")
        commands["trec_eval, TREC"] = ["trec_eval", *(word for name in names for word in ("-m", name)), "qrels", "run"]
    return commands


def compare(queries: int, depth: int, commands: dict[str, list[str]]) -> None:
    """Measure all tools in turns and print a table."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        make(folder, queries, depth)
        for words in commands.values():
            measure(words, folder)  # compiles
        rounds = [{name: measure(words, folder) for name, words in commands.items()} for _ in range(REPEATS)]
    walls, cpus = ({name: min(costs[name][place] for costs in rounds) for name in commands} for place in (0, 1))
    base = next(iter(commands))
    print(f"{queries} queries x {depth}, least of {REPEATS} rounds, Python {sys.version.split()[0]}")
    print(f"{'':24}{'wall s':>8}{'ratio':>8}{'CPU s':>8}{'ratio':>8}{'peak MiB':>10}")
    for name, wall in walls.items():
        peak = max(costs[name].peak for costs in rounds)
        ratios = f"{wall:8.3f}{wall / walls[base]:8.2f}{cpus[name]:8.3f}{cpus[name] / cpus[base]:8.2f}"
        print(f"{name:24}{ratios}{peak:10.0f}")
    print()


def stream(queries: int) -> None:
    """Score many lists, on all cores and on one, and hold the peak memory against its target."""
    cores = os.sched_getaffinity(0)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        make(folder, queries, 100, run=False)
        for allowed in (cores, {min(cores)}):
            os.sched_setaffinity(0, allowed)
            cost = measure([*RAGGATE, "--qrels", "qrels", "--lists", "lists.jsonl"], folder)
            spent = f"{cost.wall:.1f} s, CPU {cost.cpu:.1f} s, peak {cost.peak:.0f} MiB, target {TARGET_MIB} MiB"
            print(f"{queries} lists x 100 from JSON lines, {len(allowed)} cores: {spent}", flush=True)
            assert cost.peak <= TARGET_MIB


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stream", action="store_true", help="score a million lists instead")
    parser.add_argument("--peer", default=sys.executable, help="an interpreter that has ir_measures")
    arguments = parser.parse_args()
    if arguments.stream:
        stream(1_000_000)
        return
    for queries, depth in ((50, 20), (10_000, 100)):
        compare(queries, depth, tools(arguments.peer))


if __name__ == "__main__":
    main()
