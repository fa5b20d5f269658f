"""What a change's own files would mean if merged: settings, questions, notes, baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from builders import (
    make_baseline,
    make_case,
    make_case_score,
    make_comparison,
    make_golden,
    make_scorecard,
)
from raggate.config.schema import Config
from raggate.gate import baseline, preview
from raggate.gate.preview import foreseen
from raggate.inputs.trusted import Inputs, StoredFile
from raggate.models.answer import VerdictKind
from raggate.models.baseline import AcceptedDrop, Baseline, RatchetEntry
from raggate.models.comparison import GoldenChanges
from raggate.models.golden import Case, Vault
from raggate.models.scorecard import OVERALL, ListEntry
from raggate.models.verdict import Preview, Reason, Verdict
from raggate.scoring import score
from tables import each_row

DIRECTIONS = score.directions((1, 3, 5, 10))
BASE: dict[str, Any] = {"vault": {"work": "w"}, "api": {"url": "http://127.0.0.1:1"}}
GATES_PRECISION: dict[str, Any] = {"gate": {"metrics": {"precision_at_1": 0.1}}}
WAIVER = {"metric": "hit_at_5", "owner": "o", "reason": "r", "expires": "2026-01-01"}

QUESTION = make_case("q1")


def inputs(
    *cases: Case, config: dict[str, Any] | None = None, notes: dict[str, str] | None = None, stored: bytes | None = None
) -> Inputs:
    return Inputs(
        config=Config.model_validate({**BASE, **(config or {})}),
        golden=make_golden(*cases),
        vault=Vault(directories={"work": Path("w")}, texts={}, notes=notes or {}, hash=str(notes)),
        baseline=StoredFile(name="baselines/default.json", data=stored) if stored else None,
        against="0" * 40,
    )


def stored(**values: float) -> bytes:
    return baseline.write(make_scorecard(make_case_score("q1", dict(values))), {})


def test_the_same_files_are_an_empty_preview() -> None:
    """Inputs that do not differ give a preview without anything in it."""
    same = inputs(make_case("q1"), stored=stored(hit_at_1=1.0))
    assert preview.changes(same, same, DIRECTIONS).empty


@each_row(
    ("config", "reasons"),
    [
        ({"ask": {"k": 7}}, ("the number of passages requested (ask.k) changed: 10 in the baseline, 7 now",)),
        ({"suite": "b"}, ("the baseline is of suite 'default', this run of 'b'",)),
        ({"gate": {"tolerance": 0.2}}, ()),
        ({"ask": {"concurrency": 2}}, ()),
    ],
)
def test_settings_that_leave_no_comparable_baseline(config: dict[str, Any], reasons: tuple[str, ...]) -> None:
    """What keeps later runs from being compared with the baseline that stays is told, and nothing where none is."""
    own = preview._known_by(inputs())
    held = baseline.write(make_scorecard(make_case_score("q1", {"hit_at_1": 1.0}), fingerprint=own), {})
    change = preview.changes(inputs(QUESTION, stored=held), inputs(QUESTION, config=config, stored=held), DIRECTIONS)
    assert change.outdated == reasons
    assert preview.changes(inputs(), inputs(config=config), DIRECTIONS).outdated == ()


@each_row(
    ("gate", "questions", "notes", "reasons"),
    [
        ({}, ["q1"], {}, ("1 question of the baseline is gone: q2",)),
        ({}, ["q1", "q2", "q3"], {"work/n.md": "b"}, ()),
        (
            {"on_vault_change": "refuse"},
            ["q1", "q2"],
            {"work/n.md": "b"},
            ("the notes changed since the baseline, and gate.on_vault_change is `refuse`",),
        ),
        ({"on_vault_change": "refuse"}, ["q1", "q2"], {"work/n.md": "a"}, ()),
    ],
)
def test_questions_and_notes_that_let_no_later_run_pass(
    gate: dict[str, Any], questions: list[str], notes: dict[str, str], reasons: tuple[str, ...]
) -> None:
    """What a change takes from the baseline that stays is told where the gate refuses runs without it."""
    notes_before = {"work/n.md": "a"}
    known = {**preview._known_by(inputs()), "notes": notes_before}
    scores = make_scorecard(*(make_case_score(name, {"hit_at_1": 1.0}) for name in ("q1", "q2")), fingerprint=known)
    held = baseline.write(scores, {})
    before = inputs(make_case("q1"), make_case("q2"), notes=notes_before, stored=held)
    now = inputs(*map(make_case, questions), config={"gate": gate}, notes=notes or notes_before, stored=held)
    assert preview.changes(before, now, DIRECTIONS).outdated == reasons
    promoted = baseline.write(make_scorecard(make_case_score("q1"), fingerprint=known), {})
    after = inputs(make_case("q1"), config={"gate": gate}, notes=notes_before, stored=promoted)
    assert preview.changes(before, after, DIRECTIONS).outdated == ()


@each_row(
    ("before", "now", "expected"),
    [
        pytest.param({}, {"gate": {"tolerance": 0.1}}, [("gate.tolerance", "0.05", "0.1")], id="a value"),
        pytest.param(
            {},
            {"waivers": [{**WAIVER, "reason": "größer: später"}]},
            [("waivers", "[]", "[{metric: hit_at_5, owner: o, reason: 'größer: später', expires: '2026-01-01'}]")],
            id="a list, as YAML",
        ),
    ],
)
def test_settings(before: dict[str, Any], now: dict[str, Any], expected: list[tuple[str, str, str]]) -> None:
    """Every key that differs is named with both values, as they are."""
    assert list(preview.changes(inputs(config=before), inputs(config=now), DIRECTIONS).settings) == expected


def test_golden_changes() -> None:
    """Cases are added, removed, relabelled, refiled, released from must-pass, put into another group, or limited."""
    edits: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "kept": ({}, {}),
        "other": ({}, {"hash": "x"}),
        "moved": ({"difficulty": "easy"}, {"difficulty": "hard"}),
        "free": ({"must_pass": True}, {}),
        "alone": ({}, {"group": "all"}),
        "everywhere": ({}, {"modes": ("vector",)}),
        "vector": ({"modes": ("vector",)}, {}),
    }
    old, new = ([make_case(name, **{"hash": name, **of[side]}) for name, of in edits.items()] for side in (0, 1))
    before, now = make_golden(make_case("gone"), *old), make_golden(*new, make_case("new"))
    assert preview.golden_changes(before, now) == GoldenChanges(
        added=("new",),
        removed=("gone",),
        relabelled=("other",),
        refiled=("alone", "everywhere", "free", "moved", "vector"),
        released=("free",),
    )
    found = preview.changes(inputs(*before.cases), inputs(*now.cases), DIRECTIONS)
    assert found.weakened == {"put into another group": ("alone",), "asked in fewer modes": ("everywhere",)}


@each_row(
    ("slices", "now", "unsliced"),
    [
        pytest.param("fail", {"tags": ("b",)}, ("q1",), id="one tag is gone"),
        pytest.param("fail", {"tags": ("a", "b", "c")}, (), id="one more tag"),
        pytest.param("warn", {"tags": ()}, (), id="where slices decide nothing"),
    ],
)
def test_a_question_that_leaves_a_slice(slices: str, now: dict[str, Any], unsliced: tuple[str, ...]) -> None:
    """Where slices decide by themselves, taking questions out of one lets its others lose unseen."""
    filed = {"tags": ("a", "b"), "difficulty": "hard"}
    gate = {"gate": {"slices": slices}}
    before = inputs(make_case("q1", **filed), config=gate)
    change = inputs(make_case("q1", **(filed | now)), config=gate)
    weakened = preview.changes(before, change, DIRECTIONS).weakened
    assert weakened == ({"taken out of a gated slice": unsliced} if unsliced else {})


@each_row(
    ("before", "now", "state", "values"),
    [
        (None, stored(hit_at_1=1.0), "added", ()),
        (stored(hit_at_1=1.0), None, "removed", ()),
        (stored(hit_at_1=1.0), stored(hit_at_1=0.5), "replaced", (("hit_at_1", 1.0, 0.5),)),
    ],
    ids=["added", "removed", "replaced"],
)
def test_baseline(before: bytes | None, now: bytes | None, state: str, values: tuple[Any, ...]) -> None:
    """The baseline file is told with what it would change."""
    found = preview.changes(inputs(stored=before), inputs(stored=now), DIRECTIONS)
    assert (found.baseline, found.values) == (state, values)
    assert found.lowered == (("hit@1",) if values else ())


def test_a_baseline_that_holds_to_less() -> None:
    """Metrics that are lower, gated beside the default too, and questions that are gone are named; gains are not."""
    old = make_scorecard(*(make_case_score(name, {"hit_at_5": 0.0, "precision_at_1": 1.0}) for name in ("q1", "q2")))
    new = make_scorecard(make_case_score("q1", {"hit_at_5": 1.0, "precision_at_1": 0.5}))
    before, now = (inputs(stored=baseline.write(side, {}), config=GATES_PRECISION) for side in (old, new))
    assert preview.changes(before, now, DIRECTIONS).lowered == ("precision@1", "1 question fewer")
    assert preview.changes(now, before, DIRECTIONS).lowered == ("hit@5",)


def test_a_baseline_that_is_of_other_questions() -> None:
    """Questions that stay, and that the new baseline has by another hash, are counted: nothing holds them any more."""
    cases = (make_case("q1", hash="hash-q1"), make_case("q2", hash="hash-q2"))
    old, new = (
        baseline.write(make_scorecard(make_case_score("q1"), make_case_score("q2", hash=of)), {})
        for of in ("hash-q2", "hash-of-another")
    )
    before, now = inputs(*cases, stored=old), inputs(*cases, stored=new)
    assert preview.changes(before, now, DIRECTIONS).lowered == ("1 question no longer compared",)
    assert preview.changes(now, before, DIRECTIONS).lowered == ()
    # a question that is another one by now is told as that
    edited = inputs(cases[0], make_case("q2", hash="hash-of-another"), stored=new)
    assert preview.changes(before, edited, DIRECTIONS).lowered == ()


def test_a_baseline_that_forgets_what_was_given_up() -> None:
    """Accepted drops that vanish at the same mean are named; those that a record or a gain explains are not."""
    low = AcceptedDrop(on="2026-02-01", before=1.0, after=0.5, reason="r", by="b")
    earlier = replace(low, on="2025-12-01")

    def changed(kept: RatchetEntry | None, mean: float = 0.5) -> tuple[str, ...]:
        given = RatchetEntry(best=1.0, drops=0.04, since="2026-01-01", lowered=earlier)
        sides = []
        for value, entry in ((0.5, given), (mean, kept)):
            accepted = {"hybrid": {"hit_at_5": entry}} if entry is not None else {}
            card = make_scorecard(make_case_score("q1", {"hit_at_5": value}))
            sides.append(inputs(stored=baseline.write(card, {}, accepted)))
        return preview.changes(*sides, DIRECTIONS).lowered

    forgotten = ("the record of what hit@5 lost",)
    assert changed(RatchetEntry(best=1.0, drops=0.0, since="2026-01-01")) == forgotten
    assert changed(RatchetEntry(best=0.5, drops=0.04, since="2026-01-01")) == forgotten
    assert changed(None) == forgotten
    assert changed(RatchetEntry(best=1.0, drops=0.0, since="2026-01-01", lowered=earlier)) == forgotten
    assert changed(RatchetEntry(best=1.0, drops=0.04, since="2026-01-01")) == ()
    assert changed(RatchetEntry(best=0.5, drops=0.0, since="2026-02-01", lowered=low)) == ()
    assert changed(RatchetEntry(best=1.0, drops=0.0, since="2026-02-01"), mean=1.0) == ()


@each_row(
    ("before", "now", "expected"),
    [
        pytest.param(None, None, (), id="no-judges"),
        pytest.param(b"a\nb\n", b"a\nB\nc\n", (1, 2), id="one-edited-and-one-new"),
        pytest.param(b"a\nb\n", None, (2, 0), id="all-gone"),
    ],
)
def test_replies_of_judges(before: bytes | None, now: bytes | None, expected: tuple[int, ...]) -> None:
    """Replies and people's grades that a change edits, takes away or brings are counted: judges rest on them."""
    files = [None if data is None else StoredFile(name="a.jsonl", data=data) for data in (before, now)]
    first, second = (replace(inputs(), cassette=file) for file in files)
    assert [*preview.changes(first, second, DIRECTIONS).edited] == (
        [("replies of judges", *expected)] if expected else []
    )
    first, second = (replace(inputs(), canary=file) for file in files)
    (*graded,) = preview.changes(first, second, DIRECTIONS).edited
    assert graded == ([("answers that people graded", *expected)] if expected else [])


MARKS = {"private": {"front_matter": {"private": [True]}, "tags": ["secret"], "places": ["work/Diary"]}}


def with_notes(notes: dict[str, str]) -> Inputs:
    vault = Vault(
        directories={"work": Path("w")},
        texts={("work", name): text for name, text in notes.items()},
        notes={f"work/{name}": text for name, text in notes.items()},
        hash=str(notes),
    )
    return replace(inputs(config=MARKS), vault=vault)


def test_a_private_note_that_loses_its_mark() -> None:
    """A note that is no longer private is named; one that is gone, or marked otherwise, is none."""
    texts = {name: f"---\nprivate: true\n---\n{name}" for name in ("kept.md", "open.md", "gone.md", "tagged.md")}
    later = {"kept.md": texts["kept.md"], "open.md": "open", "tagged.md": "#secret"}
    assert preview.changes(with_notes(texts), with_notes(later), DIRECTIONS).unmarked == ("work/open.md",)
    assert preview.changes(with_notes(later), with_notes(texts), DIRECTIONS).unmarked == ()


@each_row(
    ("later", "named"),
    [
        pytest.param({"Diary/a.md": "short", "b.md": "public text"}, (), id="as it was"),
        pytest.param({"z.md": "short", "b.md": "public text"}, ("work/Diary/a.md",), id="moved to where all is public"),
    ],
)
def test_a_private_note_that_is_moved(later: dict[str, str], named: tuple[str, ...]) -> None:
    """A note that is private by its place is named where its text stands in another place."""
    before = with_notes({"Diary/a.md": "short", "b.md": "public text"})
    assert preview.changes(before, with_notes(later), DIRECTIONS).unmarked == named


DIAGNOSIS = "the vet said that the old dog has two years left"


@each_row(
    ("public", "named"),
    [
        pytest.param("Nobody said anything.", (), id="other words"),
        pytest.param(f"Summary: {DIAGNOSIS.upper()}!", ("work/a.md",), id="copied"),
        pytest.param("the vet said that the old dog", (), id="seven words"),
        pytest.param("it is known to all who live in here", (), id="what was public already"),
    ],
)
def test_a_private_note_that_is_copied(public: str, named: tuple[str, ...]) -> None:
    """A text that no longer tells a private note from a public one is named by the note."""
    notes = {
        "a.md": f"---\nprivate: true\n---\n{DIAGNOSIS}, it is known to all who live in here",
        "b.md": "it is known to all who live in here",
    }
    later = {**notes, "b.md": "", "c.md": public}
    assert preview.changes(with_notes(notes), with_notes(later), DIRECTIONS).unmarked == named


def test_an_unreadable_baseline_is_a_problem() -> None:
    """A baseline that cannot be read is named, and nothing else is lost."""
    found = preview.changes(inputs(stored=stored(hit_at_1=1.0)), inputs(stored=b"{"), DIRECTIONS)
    assert found.baseline == "replaced"
    assert "baselines/default.json" in found.breaks[0]


SETTINGS = Config.model_validate({"vault": {"work": "w"}, "api": {"url": "http://127.0.0.1:1"}})
ENTRY = ListEntry(note="00000000", chunk="11111111", supports=(0,))
CALM = {"asked": 20, "failed": 0, "differ": 1, "bands": {"hybrid": {"hit_at_5": [0.9, 0.95, 1, 20, 1.0]}}}
WILD = {**CALM, "differ": 20, "bands": {"hybrid": {"hit_at_5": [0.0, 1.0, 20, 20, 20.0]}}}
KNOWN: dict[str, Any] = {
    "vault": "v",
    "notes": {"work/a.md": "1"},
    "documents": 30,
    "chunks": 90,
    "repeated": CALM,
    "fields": {"hybrid": {"rank": [40, 40], "grounded": [3, 40]}},
}


def of(slices: tuple[str, ...] = (), entries: tuple[ListEntry, ...] = (ENTRY,), **fingerprint: object) -> Baseline:
    """Return a baseline of twenty questions, which tells all of this and has all of these values."""
    cases = (make_case_score(f"q{n}", slices=(OVERALL, *slices), entries=entries) for n in range(20))
    return make_baseline(make_scorecard(*cases, fingerprint={**KNOWN, **fingerprint}))


@each_row(
    ("old", "new", "expected"),
    [
        (of(), of(repeated=WILD), "noise that explains more of hit@5 (hybrid)"),
        (of(), of(fields={"hybrid": {"rank": [20, 40]}}), "no record of rank"),
        (of(), of(documents=None), "no record of documents"),
        (of(), of(chunks=89), "fewer chunks in the index"),
        (of(), of(notes=None), "no record of notes"),
        (of(), of(entries=()), "no record of retrieved lists"),
        (of(slices=("tag=a", "tag=b")), of(slices=("tag=b",)), "no record of slice tag=a (hybrid)"),
    ],
)
def test_what_is_not_noticed_any_more(old: Baseline, new: Baseline, expected: str) -> None:
    """It is named by itself; nothing is said of the way back, nor of a baseline that tells the same."""

    def named(before: Baseline, now: Baseline) -> list[str]:
        return [*preview.weaker(before, now, [], [], SETTINGS)]

    assert named(old, new) == [expected]
    assert named(new, old) == []
    assert named(new, new) == []


BROKEN = Preview(breaks=("golden.jsonl:3: key 'id' is missing",))


def verdict(outcome: VerdictKind = "pass") -> Verdict:
    """Build a verdict; one that is no pass has a reason."""
    reasons = () if outcome == "pass" else (Reason(code="worse", message="hit_at_5 fell"),)
    return Verdict(outcome=outcome, sentences=("What was decided.",), reasons=reasons)


@each_row(
    ("preview", "code", "why"),
    [
        (BROKEN, "breaks-gate", "merging this change would break the gate: golden.jsonl:3: key 'id' is missing."),
        (Preview(unseen=("no answer",)), "preview", "raggate could not read all of this change: no answer."),
        (Preview(retired=True), "retires-suite", "merging this change takes this suite off the list: its questions"),
    ],
)
def test_a_pass_after_which_nothing_is_measured_is_none(preview: Preview, code: str, why: str) -> None:
    """A change that breaks the gate, was not seen, or retires the suite is no pass; the first sentence says why."""
    found = foreseen(verdict(), preview, make_comparison())
    assert (found.outcome, [reason.code for reason in found.reasons]) == ("cannot tell", [code])
    assert found.headline.startswith(f"No gated metric is worse than allowed, but {why}")


@each_row("outcome", ["regression", "cannot tell"])
def test_any_other_verdict_stays(outcome: VerdictKind) -> None:
    """What was decided of the API stays as it is, and the reason is told after its own."""
    found = foreseen(verdict(outcome), BROKEN, make_comparison())
    assert (found.outcome, found.headline) == (outcome, "What was decided.")
    assert [reason.code for reason in found.reasons] == ["worse", "breaks-gate"]


@each_row(
    ("preview", "code", "message"),
    [
        (
            Preview(problems=("the API was killed",)),
            "preview",
            "the preview of the merge is incomplete: the API was killed",
        ),
        (
            Preview(baseline="removed"),
            "baseline-outdated",
            "merging this change removes the baseline: then every run fails (exit 3) until you promote one",
        ),
        (
            Preview(outdated=("ask.k changed", "the adapter changed")),
            "baseline-outdated",
            "merging this change makes every run fail until you promote a new baseline: ask.k changed; the "
            "adapter changed",
        ),
        (
            Preview(baseline="replaced", lowered=("hit_at_5", "1 question fewer")),
            "edits-gate",
            "merging this change replaces the baseline, which makes the gate weaker for later changes: hit_at_5, 1 "
            "question fewer",
        ),
        (
            Preview(loosened=("gate.tolerance",)),
            "loosens-gate",
            "merging this change loosens the gate: gate.tolerance",
        ),
        (
            Preview(remeasured=("api.url",)),
            "edits-gate",
            "merging this change changes what the gate measures or compares: api.url",
        ),
        (
            Preview(unmarked=("work/diary.md",)),
            "unmarks-notes",
            "merging this change makes text of private notes public: work/diary.md",
        ),
        (
            Preview(
                golden=GoldenChanges(removed=("q1", "q2"), relabelled=("q3",), added=("q5",)),
                weakened={"asked in fewer modes": ("q4",)},
            ),
            "edits-gate",
            "merging this change edits the questions that judge: 2 removed (q1, q2), 1 relabelled (q3), "
            "1 asked in fewer modes (q4)",
        ),
        (
            Preview(edited=(("replies of judges", 1, 2),)),
            "edits-gate",
            "merging this change edits the replies of judges: 1 gone or edited, 2 new",
        ),
    ],
)
def test_what_leaves_the_gate_working_is_a_warning(preview: Preview, code: str, message: str) -> None:
    """What could not be measured, and what makes the gate weaker, are warnings of a pass that says so."""
    found = foreseen(verdict(), preview, make_comparison())
    assert (found.outcome, found.warnings) == ("pass", (Reason(code, message),))
    assert "1 warning" in found.headline


def test_a_broken_gate_hides_no_waived_loss() -> None:
    """Where the pass let a loss through, the sentence on the broken gate does not say that nothing is worse."""
    waived = Reason("waived", "hit_at_5 fell; waived by ada", mode="hybrid", metric="hit_at_5", slice="overall")
    found = foreseen(replace(verdict(), warnings=(waived,)), BROKEN, make_comparison())
    assert found.sentences == (
        "Merging this change would break the gate: golden.jsonl:3: key 'id' is missing.",
        "What was decided.",
    )
