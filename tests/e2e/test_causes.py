"""Every cause, produced on the example API by a setting, a patch of its source or a change of its notes, and named.

Each fault is one that a change could bring. What is looked at is what a reader sees first: the comment's first line,
and the sentence behind a question.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from e2e.engine import NOTES_API, ROOT, compile_program
from here import Done
from project import ended

pytestmark = [
    pytest.mark.go,
    pytest.mark.timeout(300),
    pytest.mark.skipif(shutil.which("go") is None, reason="no Go on PATH; `make test` provides it"),
]

CONFIG = """\
suite: notes
golden: golden/eval_set.jsonl
vault: {personal: golden/vault/personal, work: golden/vault/work}
api:
  command:
    run: ["{root}/notes-api"]
    env: {API_PORT: "{port}", VAULT_PERSONAL_PATH: "{vault.personal}", VAULT_WORK_PATH: "{vault.work}"}
    pass_env: [PATH, NOTES_DISABLE, NOTES_LEXICAL_WEIGHT, NOTES_CHUNK_MAX, NOTES_DROP_FOLDERS, NOTES_FOLDER_COUNT,
      NOTES_MIN_SCORE]
  ready: {settle: 0.2}
ask: {modes: [hybrid], k: 5, repeat_sample: 0}
gate: {policy: threshold, tolerance: 0.03, max_error_rate: 0.2}
"""


@dataclass(frozen=True)
class Fault:
    """Something that makes retrieval worse, and what must be said of it.

    Attributes:
        likely: what the first line names, or must say where nothing shows.
        code: the cause that some question has; `why` is a part of its sentence.
        settings: environment variables of the API.
        patch: file of the API's source, text in it and what stands in its place; several are separated in threes.
        vault: a change of the notes.
    """

    name: str
    likely: str
    code: str
    why: str
    settings: dict[str, str] = field(default_factory=dict)
    patch: tuple[tuple[str, str, str], ...] = ()
    vault: Callable[[Path], None] | None = None


def copy_notes(vault: Path) -> None:
    notes = list((vault / "personal").rglob("*.md"))
    for number, path in enumerate(notes):
        target = vault / "personal" / "Attic" / f"{number} {path.name}"
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(path, target)


CUT = """passing := 0
	for passing < len(hits) && hits[passing].Final >= 0.4 {
		passing++
	}
	r.Hits = insideFolders(hits[:passing], r.Selected)"""
FAIL = """	if len(query.Question)%8 == 1 {
		writeError(w, 500, "out of memory")
		return
	}
	ix := s.indexer.Index()"""
SKIP = """stack = append(stack, s)
		if len(s.heading)%3 == 0 {
			continue
		}"""
ASK_HEADING = ("ask.go", "HeadingPath:  h.Chunk.HeadingPath,")

FAULTS = [
    Fault(
        "a dropped lexical weight",
        "Most likely cause: the lexical score no longer counts (weights: vector 0.4 → 1, lexical 0.6 → none)",
        "demoted",
        "fell among the 10 passages returned; score 0.",
        {"NOTES_LEXICAL_WEIGHT": "0"},
    ),
    Fault(
        "a lowered threshold",
        "Most likely cause: the score below which the API abstains is lower (at most 0.0464, between 0.19",
        "did-not-abstain",
        "the threshold is at most 0.0464",
        {"NOTES_MIN_SCORE": "0"},
    ),
    Fault(
        "a threshold for what is returned",
        "Most likely cause: nothing that scores below 0.4",
        "below-threshold",
        "in the baseline, and nothing below 0.4",
        patch=(("retrieve.go", "r.Hits = insideFolders(hits, r.Selected)", CUT),),
    ),
    Fault(
        "a search that skips the first selected folder",
        "Most likely cause: none of ",
        "folder-not-searched",
        "was selected (1 of ",
        patch=(("retrieve.go", "insideFolders(hits, r.Selected)", "insideFolders(hits, r.Selected[1:])"),),
    ),
    Fault(
        "notes that are not indexed",
        "Most likely cause: the index has ",
        "note-not-indexed",
        "no answer has a passage of the note, and the index has ",
        patch=(("scan.go", 'path.Ext(rel) == ".md" &&', 'path.Ext(rel) == ".md" && len(rel)%7 != 0 &&'),),
    ),
    Fault(
        "sections that are not indexed",
        "Most likely cause: the index has 490 passages of the same notes, 718 before, mean length 45.9 → 46.8 tokens",
        "anchor-gone",
        " any more; the nearest heading of its note that came back is # ",
        patch=(
            ("chunk.go", 'chunkerVersion = "v2.0"', 'chunkerVersion = "v2.1"'),
            ("chunk.go", "stack = append(stack, s)", SKIP),
        ),
    ),
    Fault(
        "sections that are merged",
        "Most likely cause: the note came back under a heading that does not name the section",
        "heading-differs",
        ", but under # ",
        patch=((*ASK_HEADING, 'HeadingPath:  strings.Split(h.Chunk.HeadingPath, " > ")[0],'),),
    ),
    Fault(
        "headings that are told otherwise",
        "Most likely cause: the note came back under a heading that does not name the section",
        "heading-differs",
        "but under # Section",
        patch=((*ASK_HEADING, 'HeadingPath:  "# Section",'),),
    ),
    Fault(
        "texts that are not told",
        "Most likely cause: the section came back without a text of its own",
        "text-foreign",
        "but without a text of its own",
        patch=(("ask.go", "Text:         h.Chunk.Text,", "Text:         strings.Repeat(h.Chunk.Text, i%2),"),),
    ),
    Fault(
        "texts that are made up",
        "Most likely cause: the section came back without a text of its own",
        "text-foreign",
        "but without a text of its own",
        patch=(
            (
                "ask.go",
                "Text:         h.Chunk.Text,",
                'Text:         "Quite another story altogether, told by nobody in these parts.",',
            ),
        ),
    ),
    Fault(
        "another embedding",
        "Most likely cause: the same passages have other vector scores (in an index of the same size); it fits ",
        "demoted",
        "fell among the 10 passages returned; score 0.",
        patch=(("vector.go", "gramMax    = 5", "gramMax    = 3"), ("vector.go", "vectorSize = 512", "vectorSize = 24")),
    ),
    Fault(
        "copies of notes",
        "Most likely cause: notes added since the baseline rose above the passages",
        "demoted",
        "; the passage now above it is from a note added since the baseline",
        vault=copy_notes,
    ),
    Fault(
        "a list that is cut",
        "Most likely cause: fewer distinct passages come back (10.0 → 3.0 on average); it fits all ",
        "list-cut",
        "the list ends before rank 4, where it was, and holds only the start of the baseline's list",
        patch=(
            (
                "ask.go",
                "for i, h := range found.listed() {",
                "for i, h := range found.listed()[:min(3, len(found.listed()))] {",
            ),
        ),
    ),
    Fault(
        "a selection that limits nothing",
        "Most likely cause: fewer folders are selected (6.1 → 1.1 in the mean)",
        "folder-left-out",
        "its folder is not among the selected ones (selected: ",
        {"NOTES_FOLDER_COUNT": "1"},
        patch=(("retrieve.go", "insideFolders(hits, r.Selected)", "hits"),),
    ),
    Fault(
        "another weight and another threshold",
        "Most likely cause: the final score has other weights (weights: vector 0.4 → 0.8, lexical 0.6 → 0.2)",
        "below-threshold",
        "does not pass its threshold, which is between 0.49",
        {"NOTES_LEXICAL_WEIGHT": "0.1", "NOTES_MIN_SCORE": "0.5"},
    ),
    Fault(
        "a document that is lost and an order that is turned over",
        "Most likely cause: the lists are in reverse order (175 of 203)",
        "demoted",
        "fell among the 10 passages returned; score ",
        patch=(
            (
                "scan.go",
                'path.Ext(rel) == ".md" &&',
                'path.Ext(rel) == ".md" && !strings.HasSuffix(rel, "Boiler.md") &&',
            ),
            (
                "ask.go",
                "for i, h := range found.listed() {",
                "list := found.listed()\n\tfor i := range list {\n\t\th := list[len(list)-1-i]",
            ),
        ),
    ),
    Fault(
        "an API that fails",
        "Most likely cause: the call failed",
        "api-error",
        "the call failed: HTTP 500",
        patch=(("ask.go", "\tix := s.indexer.Index()", FAIL),),
    ),
    Fault(
        "an API that abstains at will",
        "What caused it does not show: the API abstained",
        "abstained",
        "the API abstained (no_relevant_context), with the passage at rank ",
        patch=(
            (
                "retrieve.go",
                "\tr.SearchTime =",
                "\tif len(q.Question)%5 == 1 {\n\t\tr.Passing = 0\n\t}\n\tr.SearchTime =",
            ),
        ),
    ),
    Fault(
        "an order that is turned over",
        "Most likely cause: the lists are in reverse order (203 of 203)",
        "demoted",
        "fell among the 10 passages returned; score ",
        patch=(
            (
                "ask.go",
                "for i, h := range found.listed() {",
                "list := found.listed()\n\tfor i := range list {\n\t\th := list[len(list)-1-i]",
            ),
        ),
    ),
]


def build(target: Path, patch: tuple[tuple[str, str, str], ...] = ()) -> None:
    """Compile the API, with the places of the patch replaced."""
    source = target.parent / "source"
    shutil.copytree(NOTES_API, source)
    for name, old, new in patch:
        text = (source / name).read_text(encoding="utf-8")
        assert old in text, f"{name} has no {old!r}"
        (source / name).write_text(text.replace(old, new), encoding="utf-8")
    compile_program(source, target)


def raggate(root: Path, *arguments: str, **settings: str) -> Done:
    return ended(*arguments, at=root, environment={**os.environ, **settings}, seconds=120)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the golden set of this repository, the API as it is, and a baseline of it."""
    root = tmp_path_factory.mktemp("measured")
    shutil.copytree(ROOT / "golden", root / "golden")
    (root / "raggate.yml").write_text(CONFIG, encoding="utf-8")
    build(root / "notes-api")
    done = raggate(root, "check", "--out", "runs")
    assert done.code == 3, done.out + done.err
    (run,) = (root / "runs").glob("2*")
    done = raggate(root, "promote", str(run))
    assert done.code == 0, done.out + done.err
    return root


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name.replace(" ", "-"))
def test_the_cause_is_named(fault: Fault, measured: Path, tmp_path: Path) -> None:
    """The comment's first line names what was done to the API, or says that nothing shows it, and a question too."""
    for name in ("golden", "baselines"):
        shutil.copytree(measured / name, tmp_path / name)
    shutil.copyfile(measured / "raggate.yml", tmp_path / "raggate.yml")
    if fault.vault is not None:
        fault.vault(tmp_path / "golden" / "vault")
    if fault.patch:
        build(tmp_path / "notes-api", fault.patch)
    else:
        shutil.copy(measured / "notes-api", tmp_path / "notes-api")
    done = raggate(tmp_path, "check", "--out", "runs", **fault.settings)
    (path,) = (tmp_path / "runs").glob("*/verdict.json")
    verdict: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    assert verdict["verdict"] in {"regression", "invariant broken"}, done.out + done.err
    assert verdict["diagnosis"]["likely"].startswith(fault.likely), verdict["diagnosis"]
    assert fault.likely.replace("# ", "") in first_line(path.with_name("summary.md")).replace("\u2060", "")
    worse = [flip for flip in (*verdict["flips"], *verdict["fallen"]) if flip["cause"] is not None]
    causes = Counter(flip["cause"]["code"] for flip in worse)
    assert any(flip["cause"]["code"] == fault.code and fault.why in flip["why"] for flip in worse), causes
    every_loss_has_a_cause(verdict)


def first_line(summary: Path) -> str:
    """Return the lines under the heading, which a comment begins with: numbers, verdict and likely cause."""
    lines = summary.read_text(encoding="utf-8").splitlines()
    return " ".join(line for line in lines[lines.index("> [!CAUTION]") + 1 :][:4] if line.startswith("> "))


def every_loss_has_a_cause(verdict: dict[str, Any]) -> None:
    """See that as many questions have a cause as got worse in the gated metric that most did."""
    worse = {flip["case_id"] for flip in (*verdict["flips"], *verdict["fallen"]) if flip["kind"] != "fixed"}
    most = max(row["lost"] for row in verdict["metrics"] if row["slice"] == "overall")
    assert len(worse) >= most > 0
    assert all(flip["why"] for flip in (*verdict["flips"], *verdict["fallen"]) if flip["kind"] != "fixed")
