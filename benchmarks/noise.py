"""Unchanged code of a noisy API, checked again and again: how often the gate is red, cannot tell, and passes.

The example API overlooks chunks: NOTES_NOISE for other questions at each call, NOTES_START_NOISE for other questions
at each start. Each baseline is lucky: the best of some runs. Then `raggate check --against HEAD` judges the same
code, and code with two real faults. Prints a Markdown table; cells are red / cannot tell / pass. Run as
`python -m benchmarks.noise [--checks N] [--only WORDS]`; it takes a quarter of an hour. `--keep` names a folder that
keeps the projects with their reports.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LUCKY_RUNS, LUCKY_CALIBRATIONS = 8, 3
"""Of how many the baseline is the best."""
OUTCOMES = {1: "red", 3: "cannot tell", 0: "pass"}
FAULTS = ("", "NOTES_DISABLE=vector", "NOTES_FOLDER_COUNT=1")
"""No fault, one of the ranking, and one of the folders that are searched."""
IN_CALL, IN_START = "NOTES_NOISE", "NOTES_START_NOISE"
BASELINES = {
    "one run": ["run"],
    "calibrated": ["calibrate"],
    "calibrated --boot-each": ["calibrate", "--boot-each"],
    "the same, then one run": ["calibrate", "--boot-each"],
}
THEN_ONE = "the same, then one run"
CONFIG = """
suite: notes
golden: golden/eval_set.jsonl
vault: {personal: golden/vault/personal, work: golden/vault/work}
api:
  command:
    run: [sh, start.sh]
    env: {API_PORT: "{port}", VAULT_PERSONAL_PATH: "{vault.personal}", VAULT_WORK_PATH: "{vault.work}"}
ask: {modes: [hybrid], k: 5}
gate: {tolerance: 0.05}
"""


@dataclass(frozen=True)
class Setup:
    """A kind of noise, its per cent, and what the baseline is."""

    noise: str
    share: int
    baseline: str

    @property
    def words(self) -> str:
        """What `--only` chooses by."""
        return f"{self.noise}={self.share} {self.baseline}"


class Project:
    """A repository whose API is noisy."""

    def __init__(self, folder: Path, binary: Path, setup: Setup) -> None:
        self.folder, self._binary, self._setup = folder, binary, setup
        shutil.copytree(ROOT / "golden", folder / "golden")
        (folder / "raggate.yml").write_text(CONFIG)
        (folder / ".gitignore").write_text(".raggate/\n")
        self.start_with("")
        self.git("init", "-q")
        self.commit()

    def git(self, *words: str) -> None:
        """Run git."""
        who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"]
        subprocess.run(["git", *who, *words], cwd=self.folder, check=True, capture_output=True)

    def commit(self) -> None:
        """Commit all there is."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "state")

    def start_with(self, fault: str) -> None:
        """Put a fault into the code, beside the noise."""
        settings = [f"{self._setup.noise}={self._setup.share}", *([fault] if fault else [])]
        (self.folder / "start.sh").write_text(f"exec env {' '.join(settings)} {self._binary}\n")

    def raggate(self, *words: str) -> int:
        """Run raggate; returns the exit code."""
        command = [sys.executable, "-m", "raggate", *words]
        return subprocess.run(command, cwd=self.folder, capture_output=True, check=False).returncode

    def promote_best(self, command: Sequence[str], times: int) -> None:
        """Promote the luckiest of some runs."""
        hits = {}
        for _ in range(times):
            assert self.raggate(*command) == 0, command
            run = max((self.folder / ".raggate/runs").iterdir(), key=lambda path: path.stat().st_mtime_ns)
            hits[run] = hit_at_5(run)
        best = max(hits, key=lambda run: hits[run])
        code = self.raggate("promote", str(best), "--allow-regression", "--reason", "benchmark")
        assert code == 0, code
        self.commit()

    def outcomes(self, fault: str, times: int) -> str:
        """Check some times; returns how often it was red, cannot tell and pass."""
        self.start_with(fault)
        ends = Counter(OUTCOMES.get(self.raggate("check", "--against", "HEAD"), "other") for _ in range(times))
        assert not ends["other"], ends
        return "/".join(str(ends[name]) for name in OUTCOMES.values())


def hit_at_5(run: Path) -> float:
    """Return the mean of hit@5 of a run directory."""
    metrics = json.loads((run / "metrics.json").read_bytes())
    return float(metrics["by_retriever"]["hybrid"]["overall"]["hit_at_5"])


def measured(setup: Setup, *, root: Path, binary: Path, checks: int) -> str:
    """Make a baseline, check, and return a row of the table."""
    project = Project(root / setup.words.replace(" ", "_"), binary, setup)
    command = BASELINES[setup.baseline]
    project.promote_best(command, LUCKY_RUNS if command == ["run"] else LUCKY_CALIBRATIONS)
    if setup.baseline == THEN_ONE:
        project.promote_best(["run"], LUCKY_RUNS)
    cells = [project.outcomes(fault, checks if not fault else max(1, checks // 4)) for fault in FAULTS]
    return f"| `{setup.noise}={setup.share}` | {setup.baseline} | {' | '.join(cells)} |"


def setups(only: str) -> Iterator[Setup]:
    """Yield what is measured."""
    for noise in (IN_CALL, IN_START):
        for share in (3, 6):
            for baseline in BASELINES:
                setup = Setup(noise, share, baseline)
                if only in setup.words:
                    yield setup


def main() -> None:
    """Print the table."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--checks", type=int, default=20, help="checks of unchanged code; of a fault a quarter")
    parser.add_argument("--only", default="", help="words of the rows, such as NOTES_NOISE=3")
    parser.add_argument("--keep", type=Path, help="a folder that keeps the projects")
    options = parser.parse_args()
    root = Path(tempfile.mkdtemp()) if options.keep is None else options.keep.resolve()
    root.mkdir(exist_ok=True)
    binary = root / "notes-api"
    subprocess.run(["go", "build", "-o", binary, "."], cwd=ROOT / "examples/notes-api", check=True)
    print(
        f"| noise | baseline | unchanged | {' | '.join(f'`{fault}`' for fault in FAULTS[1:])} |\n|---|---|---|---|---|"
    )
    try:
        with ThreadPoolExecutor(2) as pool:
            row = partial(measured, root=root, binary=binary, checks=options.checks)
            for line in pool.map(row, setups(options.only)):
                print(line, flush=True)
    finally:
        if options.keep is None:
            shutil.rmtree(root)


if __name__ == "__main__":
    main()
