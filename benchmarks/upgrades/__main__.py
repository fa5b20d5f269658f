"""Upgrades of retrieval libraries, judged by `raggate check`, and whether each verdict is true.

Each pair of versions has two virtual environments and one repository: a retriever of the folder `retrievers`, the notes
and questions of `golden/`, and a `requirements.txt`. `raggate init --python` writes the configuration. The old version
is promoted, the new one is checked with `--against HEAD~1`. The truth comes from elsewhere: both versions are asked
again by the lines of docs/functions.md, and scored here by the snippets of the golden set. Prints a Markdown table. Run
as `python -m benchmarks.upgrades [--only WORDS]`; it installs some GiB into `--scratch`, and keeps the projects there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from benchmarks.upgrades.truth import DEPTH, Case, Hit, Truth, is_true, truth_of

from raggate.service import functions

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PIP = "pip==26.3"
"""`--uploaded-prior-to` needs 26.0 or newer."""
HEAD = "| upgrade | hit@5 | nDCG@5 | lost, won | verdict | likely cause | true |\n|---|---|---|---|---|---|---|"


@dataclass(frozen=True)
class Pair:
    """Two versions of a library, and the retriever that uses it."""

    name: str
    retriever: str
    old: tuple[str, ...]
    new: tuple[str, ...]
    before: str
    part: str = ""
    edits: tuple[tuple[str, str], ...] = ()
    """What is written otherwise in raggate.yml than `raggate init` writes it."""

    @property
    def words(self) -> str:
        """What changes, as `bm25s 0.1.10 → 0.3.16`."""
        (old, was), (new, now) = (side[0].split("==") for side in (self.old, self.new))
        words = f"{old} {was} → {now}" if old == new else f"{old} {was} → {new} {now}"
        return f"{words}, {self.part}" if self.part else words


def pairs() -> Iterator[Pair]:
    """Yield the pairs of `pairs.toml`."""
    with (HERE / "pairs.toml").open("rb") as stream:
        content = tomllib.load(stream)
    before = content.pop("uploaded_before")
    for name, own in content.items():
        both = tuple(own.get("both", ()))
        edits = tuple(own.get("edits", {}).items())
        old, new = (*own["old"], *both), (*own["new"], *both)
        yield Pair(name, own["retriever"], old, new, before, own.get("part", ""), edits)


def run(*words: str | Path, cwd: Path, path: Path | None = None, codes: Sequence[int] = (0,)) -> int:
    """Run a command, with an environment first on PATH; its output is shown if it ends otherwise than expected."""
    environment = {**os.environ, **({"PATH": f"{path / 'bin'}:{os.environ['PATH']}"} if path else {})}
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in codes, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.returncode


def installed(requirements: Sequence[str], before: str, scratch: Path) -> Path:
    """Return a virtual environment with these requirements, made once."""
    tool, name = scratch / "pip", sha256(repr((sorted(requirements), before)).encode()).hexdigest()[:12]
    if not (tool / "ready").exists():
        run(sys.executable, "-m", "venv", tool, cwd=scratch)
        run(tool / "bin/pip", "install", "--quiet", PIP, cwd=scratch)
        (tool / "ready").touch()
    place = scratch / name
    if not (place / "ready").exists():
        shutil.rmtree(place, ignore_errors=True)
        run(sys.executable, "-m", "venv", "--without-pip", place, cwd=scratch)
        options = ("--quiet", "--only-binary", ":all:", "--uploaded-prior-to", before)
        run(tool / "bin/pip", "--python", place / "bin/python", "install", *options, *requirements, cwd=scratch)
        (place / "ready").touch()
    return place


def cases() -> Iterator[Case]:
    """Yield the golden set with both vaults as folders of one; what must pass is of another retriever."""
    for line in (ROOT / "golden/eval_set.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        (vault,) = case["vaults"]
        supports = [{**own, "rel_path": f"{vault}/{own['rel_path']}"} for own in case["gold_supports"] or ()]
        yield {**case, "gold_supports": supports, "vaults": [], "folders": [], "must_pass": False}


class Project:
    """A repository whose `requirements.txt` is upgraded."""

    def __init__(self, pair: Pair, scratch: Path) -> None:
        self.pair = pair
        self.folder = scratch / f"project-{pair.name}"
        self.sides = {name: installed(getattr(pair, name), pair.before, scratch) for name in ("old", "new")}
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(ROOT / "golden/vault", self.folder / "notes")
        (self.folder / "golden").mkdir()
        self.write("golden/eval_set.jsonl", "".join(f"{json.dumps(case)}\n" for case in self.cases))
        self.write(".gitignore", ".raggate/\n__pycache__/\n")
        shutil.copy(HERE / "retrievers/passages.py", self.folder)
        shutil.copy(HERE / f"retrievers/{pair.retriever}.py", self.folder / "search.py")

    @cached_property
    def cases(self) -> list[Case]:
        """The questions."""
        return list(cases())

    def write(self, name: str, text: str) -> None:
        """Write a file."""
        (self.folder / name).write_text(text, encoding="utf-8")

    def commit(self, side: str) -> None:
        """Commit everything, with the requirements of a side."""
        self.write("requirements.txt", "".join(f"{line}\n" for line in getattr(self.pair, side)))
        who = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
        run("git", "add", "-A", cwd=self.folder)
        run("git", *who, "commit", "-q", "-m", side, cwd=self.folder)

    def raggate(self, side: str, *words: str, codes: Sequence[int] = (0,)) -> int:
        """Run raggate with an environment on PATH, as a person does."""
        return run(sys.executable, "-m", "raggate", *words, cwd=self.folder, path=self.sides[side], codes=codes)

    def verdict(self) -> dict[str, Any]:
        """Promote the old side, check the new one, and return what `verdict.json` says."""
        run("git", "init", "-q", "-b", "main", ".", cwd=self.folder)
        self.raggate("old", "init", "--python", "search:build", "--vault", "notes")
        settings = (self.folder / "raggate.yml").read_text(encoding="utf-8")
        for written, wanted in self.pair.edits:
            assert written in settings, self.pair.name
            settings = settings.replace(written, wanted, 1)
        self.write("raggate.yml", settings)
        self.raggate("old", "run")
        self.raggate("old", "promote", "latest")
        self.commit("old")
        self.commit("new")
        self.raggate("new", "check", "--against", "HEAD~1", "--report", "json=verdict.json", codes=(0, 1, 3, 4))
        content: dict[str, Any] = json.loads((self.folder / "verdict.json").read_bytes())
        return content

    def answers(self, side: str) -> dict[str, list[Hit]] | None:
        """Ask a side by the shim alone, without the gate; None if it does not start."""
        shim = Path(functions.__file__).parent / "shim.py"
        asked = [{"id": case["id"], "question": case["question"], "k": DEPTH} for case in self.cases]
        done = subprocess.run(
            [self.sides[side] / "bin/python", shim, "search:build", "--vault", f"notes={self.folder / 'notes'}"],
            input="".join(f"{json.dumps(own)}\n" for own in asked),
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            return None
        answers = [json.loads(line) for line in done.stdout.splitlines()][1:]
        return {own["id"]: own.get("hits", [])[:DEPTH] for own in answers}


def row(pair: Pair, verdict: Mapping[str, Any], truth: Truth) -> str:
    """Return a row of the table."""
    diagnosis = verdict.get("diagnosis") or {}
    reasons = [str(item.get("message")) for item in verdict.get("reasons", ())]
    cause = "" if verdict["verdict"] == "pass" else diagnosis.get("likely") or (reasons or [verdict["headline"]])[0]
    if verdict.get("log"):
        cause = f"{cause.rstrip('.')}: {verdict['log'][-1]}"
    # how often chance alone would lose as much
    chance = f" (p {'< 0.001' if truth.p < 0.001 else format(truth.p, '.3f')})" if truth.p < 1 else ""
    cells = [
        pair.words,
        "{:.3f} → {:.3f}".format(*truth.hits) if truth.answers else "no answers",
        "{:.3f} → {:.3f}".format(*truth.gains) + chance if truth.answers else "no answers",
        "same lists" if truth.equal else f"{truth.lost}, {truth.won}" if truth.answers else "",
        verdict["verdict"],
        str(cause).replace("|", "/"),
        is_true(verdict["verdict"], truth),
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="words of the pairs, such as haystack")
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()) / "raggate-upgrades")
    options = parser.parse_args()
    scratch = options.scratch.resolve()
    scratch.mkdir(parents=True, exist_ok=True)
    print(HEAD)
    for pair in pairs():
        if options.only in pair.name:
            project = Project(pair, scratch)
            verdict = project.verdict()
            old, new = project.answers("old"), project.answers("new")
            assert old is not None, pair.name
            print(row(pair, verdict, truth_of(project.cases, old, new)), flush=True)


if __name__ == "__main__":
    main()
