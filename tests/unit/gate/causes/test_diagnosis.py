"""One level up: what changed as a whole, and whether it explains most of the questions that make it red."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from builders import (
    make_baseline,
    make_case,
    make_case_score,
    make_comparison,
    make_flip,
    make_labelled,
    make_run,
    make_scorecard,
    make_support,
)
from raggate.gate.causes.diagnosis import diagnose
from raggate.models.answer import VerdictKind
from raggate.models.comparison import Cause, CauseCode, CauseEvidence, Diagnosis, Flip, ListEvidence
from raggate.models.scorecard import CaseScore, ListEntry
from raggate.models.verdict import Verdict
from raggate.scoring.score import short_hash
from tables import each_row

INDEX = {
    "vault": "v",
    "documents": 9,
    "chunks": 90,
    "chunk_tokens": 50.0,
    "index_version": "i1",
    "chunker_version": "c1",
}
WEIGHTS = ({"vector": 0.7, "lexical": 0.3}, {"vector": 1.0, "lexical": 0.0})
INVERTED = {
    "notes": ("work/a.md",),
    "folders": {"hybrid": ({"answers": 48, "outside": 13}, {"answers": 48, "outside": 42})},
}
MOVED = {"rescored": {"final": True, "vector": False, "lexical": True}}
REWEIGHED = {"rescored": {"final": True, "vector": False, "lexical": False}}


def broken(*codes: CauseCode, mode: str = "hybrid", **cause: Any) -> list[Flip]:
    """Build questions that broke, each with a cause of its own."""
    causes = [Cause(code=code, **cause) for code in codes]
    return [make_flip(f"{mode}{number}", mode=mode, cause=cause) for number, cause in enumerate(causes)]


def of_notes(flips: list[Flip], *notes: str, vaults: Sequence[str | None] = ()) -> list[Flip]:
    """Let each question expect one of these notes in turn, and name one of these vaults or none."""
    supports = [
        make_support(notes[number % len(notes)], vault=vaults[number] if vaults else None)
        for number in range(len(flips))
    ]
    return [replace(flip, support=support) for flip, support in zip(flips, supports, strict=True)]


def diagnosis(
    flips: list[Flip],
    *,
    before: Mapping[str, Any] = INDEX,
    now: Mapping[str, Any] | None = None,
    lists: Mapping[str, Any] | None = None,
    modes: Mapping[str, Mapping[str, Any]] | None = None,
    fallen: tuple[Flip, ...] = (),
    fell: Mapping[tuple[str, str], tuple[str, ...]] | None = None,
    outcome: VerdictKind = "regression",
    **evidence: Any,
) -> Diagnosis | None:
    """Diagnose these questions: the index is as before, and the lists show nothing, unless the fields say so.

    What lists show is that of all modes, or by mode. All of them make it red unless `fell` says which do.
    """
    sides = [make_scorecard(make_case_score(), fingerprint=dict(side)) for side in (before, {**before, **(now or {})})]
    asked = sorted({flip.mode for flip in [*flips, *fallen]}) or ["hybrid"]
    shown = {mode: ListEvidence(**(lists or (modes or {}).get(mode, {}))) for mode in asked}
    comparison = make_comparison(
        baseline=make_baseline(sides[0]),
        scorecard=sides[1],
        flips=tuple(flips),
        evidence=CauseEvidence(lists=shown, **evidence),
    )
    red = {(flip.mode, flip.case_id): ("hit_at_5",) for flip in flips}
    decided = Verdict(outcome=outcome, sentences=(), fell=red if fell is None else fell)
    return diagnose(make_run(), comparison, decided, fallen)


def likely(*codes: CauseCode, **fields: Any) -> str:
    found = diagnosis(broken(*codes), **fields)
    assert found is not None
    return found.likely


@each_row(
    ("codes", "fields", "explained"),
    [
        pytest.param(
            ("folder-left-out", "did-not-abstain", "demoted", "demoted"),
            {"lists": {"weights": ({"vector": 0.4, "lexical": 0.6}, {"lexical": 1.0})}},
            {1, 2, 3},
            id="a-change",
        ),
        pytest.param(("demoted", "folder-left-out", "folder-left-out"), {}, {1, 2}, id="a-cause"),
        pytest.param(("not-explained", "not-explained"), {}, set(), id="no-cause"),
    ],
)
def test_the_questions_that_the_cause_explains(codes: tuple[CauseCode, ...], fields: Any, explained: set[int]) -> None:
    """The questions that fit the named cause are told, and none if no cause is named."""
    flips = broken(*codes)
    found = diagnosis(flips, **fields)
    assert found is not None
    assert found.explains == {(flip.mode, flip.case_id) for n, flip in enumerate(flips) if n in explained}


@each_row(
    ("now", "gone", "named"),
    [({}, 2, True), ({}, 3, False), ({"documents": 9}, 0, False), ({"chunks": 9}, 0, False)],
)
def test_scores_of_an_index_that_reports_no_size(now: dict[str, int], gone: int, named: bool) -> None:
    """A function reports no size: other scores are the cause unless more than one note in twenty is gone."""
    notes = {f"{number}.md": () for number in range(40)}
    own = {"before": {"vault": "v"}, "now": now, "retrieved": notes, "gone": dict(list(notes.items())[:gone])}
    words = likely("demoted", "demoted", lists=REWEIGHED, **own)
    cause = "the same passages have other final scores (in an index whose size is not reported); it fits all 2"
    assert words.startswith(f"Most likely cause: {cause}") is named, words
    assert ("other final scores" in words) is named


def test_causes_are_counted() -> None:
    """Causes are counted, the most frequent first, over the questions that make it red."""
    found = diagnosis(broken("nothing-retrieved", "demoted", "nothing-retrieved", "api-error"))
    assert found is not None
    assert found.questions == 4
    assert found.counts[0] == ("nothing was retrieved", 2)
    assert sum(count for _, count in found.counts) == 4


def test_what_is_no_part_of_it() -> None:
    """Fixed and waived questions, those that failed before too, and those of metrics that are not red, do not count."""
    flips = [make_flip("fixed", kind="fixed"), *[make_flip("waived", cause=Cause(code="demoted"), waived=True)]]
    others = tuple(make_flip(kind, kind=kind, cause=Cause(code="demoted")) for kind in ("missed", "fell"))
    assert diagnosis(flips, fallen=others, fell={("hybrid", "missed"): ("hit_at_5",)}) is None
    assert diagnosis(broken("demoted", "demoted"), fell={}) is None
    found = diagnosis(flips, fallen=others, fell={("hybrid", "fell"): ("hit_at_1",)})
    assert found is not None
    assert found.questions == 1


@each_row(
    ("fields", "changes"),
    [
        pytest.param({}, None, id="nothing"),
        pytest.param({"lists": {"rescored": {"final": True, "vector": True}}}, None, id="scores"),
        pytest.param({"now": {"index_version": "i2"}}, None, id="a-name"),
        pytest.param(
            {"lists": {**REWEIGHED, "weights": WEIGHTS}, "now": {"index_version": "i2"}},
            ("the lexical score no longer counts (weights: vector 0.7 → 1, lexical 0.3 → 0)",),
            id="weights",
        ),
        pytest.param(
            {"now": {"chunks": 200}},
            ("the same notes are cut into other passages (90 → 200, mean length 50 → 50 tokens)",),
            id="chunks",
        ),
        pytest.param(
            {"folders": {"hybrid": ({"answers": 10, "selected": 60}, {"answers": 10, "selected": 10})}},
            ("fewer folders are selected (6.0 → 1.0 in the mean)",),
            id="folders",
        ),
    ],
)
def test_what_changed_without_a_loss(fields: dict[str, Any], changes: tuple[str, ...] | None) -> None:
    """Where no question is lost, weights, folders and chunks that changed are listed, and no cause is named."""
    found = diagnosis([], **fields)
    assert (found and found.changes) == changes
    assert found is None or (found.questions, found.likely) == (0, "")


LEXICAL = "the lexical score no longer counts (weights: vector 0.7 → 1, lexical 0.3 → 0)"
RAISED = "the score below which the API abstains is higher (between 0.4 and 0.5, between 0.1 and 0.2 before)"
THRESHOLDS = {"thresholds": ((0.1, 0.2), (0.4, 0.5))}
ALL_SCORES = {"final": True, "vector": True, "lexical": True}
INSIDE = {**INVERTED, "retrieved": {"a.md": set()}}
OUTSIDE = "passages come from outside the selected folders (13 of 48 answers before, 42 of 48 now)"
RIVALS = "No single cause shows, as several changes fit equally: "


def fits(words: str, share: str) -> str:
    """Return the sentence on a change that explains so many."""
    return f"Most likely cause: {words}; it fits {share} questions that make it red."


def folders(**now: int) -> dict[str, Any]:
    """Return counts of folders, before and now."""
    before = {"answers": 10, "selected": 60, "several": 40, "served": 30}
    return {"folders": {"hybrid": (before, {"answers": 10, "selected": 60, "several": 40, "served": 30, **now})}}


@each_row(
    ("flips", "fields", "sentence"),
    [
        (
            broken("demoted", "demoted", "api-error"),
            {"lists": {**REWEIGHED, "weights": ({"vector": 0.7, "lexical": 0.3}, {"vector": 0.5, "lexical": 0.5})}},
            fits("the final score has other weights (weights: vector 0.7 → 0.5, lexical 0.3 → 0.5)", "2 of the 3"),
        ),
        (
            broken("demoted", "heading-first"),
            {"lists": {"rescored": {"final": True, "vector": True, "lexical": False}}},
            fits("the same passages have other vector scores (in an index of the same size)", "all 2"),
        ),
        (
            broken("snippet-gone", "demoted"),
            {"now": {"chunks": 200, "chunk_tokens": 25.5, "index_version": "i2"}},
            fits("the same notes are cut into other passages (90 → 200, mean length 50 → 25.5 tokens)", "all 2"),
        ),
        (
            broken("snippet-gone", "snippet-gone", "demoted"),
            {"now": {"chunk_tokens": 48.0}},
            fits(
                "the index has 90 passages of the same notes, as before, with less text (mean length 50 → 48 tokens)",
                "2 of the 3",
            ),
        ),
        (
            broken("folder-not-indexed", "note-not-indexed"),
            {"now": {"documents": 7, "chunks": 80}},
            fits("the index has 7 documents of the same notes, 9 before", "all 2"),
        ),
        (
            broken("folder-left-out", "folder-left-out", "demoted"),
            folders(selected=10),
            fits("fewer folders are selected (6.0 → 1.0 in the mean)", "2 of the 3"),
        ),
        (
            broken("folder-not-searched", "folder-not-searched", "not-listed"),
            folders(served=0),
            fits(
                "none of 40 answers has anything from the folder that it selects first (30 of 40 did before)",
                "2 of the 3",
            ),
        ),
        (
            broken("folder-not-searched", "folder-not-searched", "not-listed"),
            folders(served=2),
            fits(
                "2 of 40 answers have anything from the folder that they select first (30 of 40 did before)",
                "2 of the 3",
            ),
        ),
        (broken("not-listed", "demoted", "api-error"), INSIDE, fits(OUTSIDE, "2 of the 3")),
        # other scores are a by-product where folders took passages away; of a fall they may be the cause
        (broken(*["not-listed"] * 3), {**INSIDE, "lists": MOVED}, fits(OUTSIDE, "all 3")),
        (
            broken(*["demoted"] * 3),
            {**INSIDE, "lists": MOVED},
            f"{RIVALS}the same passages have other lexical scores (in an index of the same size); {OUTSIDE}.",
        ),
        # the weights explain all scores
        (
            broken("demoted", "demoted"),
            {"now": {"index_version": "i2"}, "lists": {**MOVED, "weights": WEIGHTS}},
            fits(LEXICAL, "all 2"),
        ),
        (
            broken("demoted", "demoted"),
            {"lists": {"rescored": ALL_SCORES, "weights": WEIGHTS}},
            f"{RIVALS}the same passages have other vector scores (in an index of the same size); {LEXICAL}.",
        ),
        (
            broken("below-threshold", "below-threshold", "demoted"),
            {"lists": {**MOVED, "weights": WEIGHTS, **THRESHOLDS}},
            f"{fits(LEXICAL, 'all 3')} Also changed: {RAISED}, which fits 2 of them.",
        ),
        # a change that few fit
        (
            broken("api-error", "api-error", "demoted"),
            {"lists": {"weights": WEIGHTS}},
            "Most likely cause: the call failed (2 of 3 questions that make it red).",
        ),
        # what became of them is no cause
        (
            broken("nothing-retrieved", "nothing-retrieved", "demoted"),
            {},
            "What caused it does not show: nothing was retrieved (2 of 3 questions that make it red).",
        ),
        (
            broken("not-explained", "not-explained"),
            {},
            "What caused it does not show (2 of 2 questions that make it red).",
        ),
        (
            broken("not-explained", "not-explained"),
            {"outcome": "invariant broken"},
            "What caused it does not show (2 of 2 questions that count against the change).",
        ),
        (broken("nothing-retrieved", "demoted"), {}, "No single cause shows."),
        (broken("demoted", "api-error"), {"lists": {"weights": WEIGHTS}}, "No single cause shows."),
        (broken("not-listed", "not-listed", "abstained", "demoted"), {}, "No single cause shows."),
        (
            broken("snippet-gone", "demoted", "snippet-gone", "demoted", "abstained"),
            {},
            "The questions that make it red have different causes. Most frequent: the section came back without the "
            "gold snippet (2 of 5); the passage fell in the ranking (2 of 5).",
        ),
        # its own line says it
        (broken("demoted"), {}, ""),
        (
            [*broken(*["demoted"] * 3, newer="added"), *broken("demoted")],
            {},
            "Most likely cause: notes added since the baseline rose above the passages "
            "(3 of 4 questions that make it red).",
        ),
    ],
)
def test_what_is_likely(flips: list[Flip], fields: dict[str, Any], sentence: str) -> None:
    """A change that most questions fit is named, else a cause that most have; else it is said that none shows."""
    found = diagnosis(flips, **fields)
    assert found is not None
    assert found.likely == sentence


@each_row(
    ("fields", "changes"),
    [
        pytest.param({"lists": {"rescored": {"final": False}, "weights": WEIGHTS}}, 0, id="scores-are-as-before"),
        pytest.param({"lists": {"weights": (WEIGHTS[0], None)}}, 0, id="no-weights-now"),
        pytest.param({"lists": {"weights": (WEIGHTS[0], {"vector": 0.701, "lexical": 0.299})}}, 0, id="rounding"),
        pytest.param({"lists": {"thresholds": ((0.1, 0.3), (0.2, 0.4))}}, 0, id="one-threshold-may-be-both"),
        pytest.param({"before": {**INDEX, "vault": "w"}, "now": {"vault": "v", "chunks": 200}}, 0, id="other-notes"),
        pytest.param({"before": {}, "now": {"chunks": 200, "documents": 3}}, 0, id="an-old-baseline"),
        pytest.param({**INVERTED, "retrieved": {"data/a.md": set()}}, 0, id="paths-are-told-otherwise"),
        pytest.param(
            {"folders": {"hybrid": ({"answers": 48}, {"answers": 48, "outside": 42})}}, 0, id="a-baseline-without-them"
        ),
        pytest.param(
            {"folders": {"hybrid": ({"answers": 48, "outside": 13}, {"answers": 48, "outside": 27})}},
            0,
            id="a-few-more-answers-leave-their-folders",
        ),
        pytest.param({"lists": MOVED, "now": {"chunks": None}}, 0, id="scores-moved-and-size-not-known"),
    ],
)
def test_what_is_not_known_is_no_change(fields: dict[str, Any], changes: int) -> None:
    """Nothing is called changed that both sides do not tell, or that may be the same."""
    found = diagnosis(broken("demoted", "demoted"), **fields)
    assert found is not None
    assert len(found.changes) == changes


def of_lists(now: Callable[[list[ListEntry]], list[ListEntry]], flips: Sequence[Flip], **fingerprint: Any) -> str:
    """Return the likely cause where 16 lists of 8 places, of notes in four folders, became others."""
    sides: tuple[list[CaseScore], list[CaseScore]] = ([], [])
    for number in range(16):
        old = [
            ListEntry(
                note=short_hash(f"F{number % 4}/{rank // 2}.md"),
                chunk=f"{number}-{rank}",
                final=1 - rank / 10 - number / 999,
            )
            for rank in range(8)
        ]
        for side, entries in zip(sides, (old, now(old)), strict=True):
            side.append(make_case_score(f"q{number}", entries=tuple(entries)))
    notes = {f"work/F{folder}/{note}.md": "1" for folder in range(4) for note in range(4)}
    cards = [make_scorecard(*cases, fingerprint={"notes": notes}) for cases in sides]
    comparison = make_comparison(
        baseline=make_baseline(cards[0]), scorecard=cards[1], flips=tuple(flips), evidence=CauseEvidence()
    )
    red = {("hybrid", flip.case_id): ("hit_at_5",) for flip in flips}
    expected = [make_case(f"q{number}", gold_supports=(make_support(f"F{number % 4}/0.md"),)) for number in range(16)]
    run = make_run(*map(make_labelled, expected), fingerprint={"notes": notes})
    found = diagnose(run, comparison, Verdict(outcome="regression", sentences=(), fell=red), ())
    assert found is not None
    return found.likely


LOST = [make_flip(f"q{number}", cause=Cause(code="not-listed")) for number in range(16)]


def test_two_signs_that_explain_as_much_are_rivals() -> None:
    """Signs of different changes that fit equally are both possible, and neither is called the most likely cause."""
    rounded = of_lists(lambda old: [replace(entry, final=1.0) for entry in old[1:]], LOST)
    assert rounded.startswith(
        "No single cause shows, as several changes fit equally: each list lacks its first result ("
    )
    assert "; scores are rounded (" in rounded


def test_folders_that_are_gone_are_one_cause() -> None:
    """Two folders of which each explains half of the questions explain all of them together."""
    folders = [short_hash(f"F{folder}/{note}.md") for folder in (0, 1) for note in range(4)]
    lost = of_lists(
        lambda old: [entry for entry in old if entry.note not in folders],
        [flip for flip in LOST if int(flip.case_id[1:]) % 4 < 2],
    )
    words = "nothing comes from the folders F0, F1 any more (64 came from them before)"
    assert lost == f"Most likely cause: {words}; it fits all 8 questions that make it red."


def test_a_change_of_one_mode_is_said_of_that_mode() -> None:
    """With several modes, what changed in one explains the questions of that one alone."""
    flips = [*broken("demoted", "demoted", mode="vector"), *broken("demoted", mode="bm25")]
    found = diagnosis(flips, modes={"vector": {**MOVED, "weights": WEIGHTS}})
    assert found is not None
    (change,) = found.changes
    assert change.startswith("the lexical score no longer counts (")
    assert change.endswith(" in mode vector")
    assert "it fits 2 of the 3 questions" in found.likely


def test_a_change_of_all_modes_is_one() -> None:
    """What changed in several modes is one change, and explains the questions of all of them together."""
    flips = [flip for mode in ("bm25", "hybrid", "vector") for flip in broken("below-threshold", mode=mode)]
    raised = {"thresholds": ((0.1, 0.2), (0.4, 0.5))}
    found = diagnosis(flips, lists=raised)
    assert found is not None
    words = "the score below which the API abstains is higher (between 0.4 and 0.5, between 0.1 and 0.2 before)"
    assert found.changes == (words,)
    end = "it fits all 3 questions that make it red, counted in each mode."
    assert found.likely == f"Most likely cause: {words}; {end}"
    found = diagnosis(flips, modes={"vector": raised, "hybrid": {"thresholds": ((0.1, 0.2), (0.6, 0.7))}})
    assert found is not None
    assert [change.rpartition(" in ")[2] for change in found.changes] == ["mode hybrid", "mode vector"]
    assert found.likely == (
        "Most likely cause: the score below which the API abstains is higher in modes hybrid and vector (hybrid: "
        "between 0.6 and 0.7, between 0.1 and 0.2 before); it fits 2 of the 3 questions that make it red, "
        "counted in each mode."
    )
    raised_lexically = {"thresholds": ((0.1, 0.2), (0.5, 0.6))}
    found = diagnosis(flips, modes={"vector": raised, "hybrid": raised, "bm25": raised_lexically})
    assert found is not None
    assert " is higher in all modes (bm25: between 0.5 and 0.6, " in found.likely


SHORTER = "fewer distinct passages come back (10.0 → 2.0 on average)"
SHORT = {"lengths": (10.0, 2.0), "longest": 10, "floors": (0.1, 0.4), "rescored": {"final": False}}
LIMIT = "nothing that scores below 0.4 comes back any more (0.1 before; 10.0 → 2.0 distinct passages on average)"
SHORT_CAUSES: tuple[CauseCode, ...] = ("below-threshold", "nothing-retrieved", "list-cut")
ALL_9 = "it fits all 9 questions that make it red."
UNSEEN = "What caused it does not show: the passages were not returned (9 of 9 questions that make it red)."
NINE = tuple(f"{number}.md" for number in range(9))
CLEAR = broken(*["not-listed"] * 9, stood_clear=True)
FOLDERS = broken(*["folder-not-indexed"] * 9)
EIGHT = "the index has 8 documents of the same notes, 9 before"
TEN = "the index has 10 documents of the same notes, 9 before"
CHUNKS = "the same notes are cut into other passages (90 → {}, mean length 50 → 50 tokens)"
VERSIONS = ("the index is another version (i1 → i2)", "the chunker is another version (c1 → c2)")


@each_row(
    ("flips", "fields", "changes", "likely"),
    [
        (broken("list-cut", "list-cut", "demoted"), {"lists": {"lengths": (10.0, 2.0)}}, (SHORTER,), "2 of the 3"),
        (broken("list-cut", "list-cut"), {"lists": {"lengths": (10.0, 8.0)}}, (), "the list ends before"),
        (broken("list-cut", "list-cut"), {"lists": {"lengths": (3.0, 10.0)}}, (), "the list ends before"),
        # a score is the limit where scores are as before, and lists end at many lengths
        (broken(*SHORT_CAUSES), {"lists": SHORT}, (LIMIT,), "it fits all 3"),
        (broken(*SHORT_CAUSES), {"lists": {**SHORT, "unordered": True}}, (SHORTER,), "it fits 2 of the 3"),
        (broken(*SHORT_CAUSES), {"lists": {**SHORT, "floors": (None, None)}}, (SHORTER,), "it fits 2 of the 3"),
        (broken(*["nothing-retrieved"] * 3, stood_clear=True), {"lists": SHORT}, (LIMIT,), "does not show"),
        # documents that are gone are the cause of no more different notes than there are of them
        (of_notes(FOLDERS, *NINE), {"now": {"documents": 8}}, (EIGHT,), "(9 of 9 questions that make it red)."),
        (
            of_notes(FOLDERS, "0.md", vaults=("work", None, None, *["work"] * 6)),
            {"now": {"documents": 8}},
            (EIGHT,),
            ALL_9,
        ),
        (
            CLEAR,
            {"now": {"documents": 8}, "gone": {"a.md": (), "b.md": ()}},
            (f"{EIGHT}, which explains at most 1 of the 2 notes that are gone from all answers",),
            UNSEEN,
        ),
        # new documents push passages down, and leave the others as they stand among each other
        (CLEAR, {"now": {"documents": 10}}, (TEN,), UNSEEN),
        (of_notes(CLEAR, *NINE), {"now": {"chunks": 91}}, (CHUNKS.format(91),), UNSEEN),
        (of_notes(CLEAR, "0.md"), {"now": {"chunks": 91}}, (CHUNKS.format(91),), ALL_9),
        # a version is a name: that it is another one is told, and never as the cause
        (CLEAR, {"now": {"index_version": "i2", "chunker_version": "c2"}}, VERSIONS, UNSEEN),
        # what scores cannot have done a threshold can
        (
            broken(*["abstained"] * 9, stood_clear=True),
            {"lists": {**MOVED, **THRESHOLDS}},
            ("the same passages have other lexical scores (in an index of the same size)", RAISED),
            f"is higher (between 0.4 and 0.5, between 0.1 and 0.2 before); {ALL_9}",
        ),
    ],
)
def test_what_a_change_can_explain(flips: list[Flip], fields: Any, changes: tuple[str, ...], likely: str) -> None:
    """A change is told, and is the cause of no more than it can have done."""
    found = diagnosis(flips, **fields)
    assert found is not None
    assert found.changes == changes
    assert likely in found.likely


def test_a_mode_that_gives_nothing_any_more() -> None:
    """Where nothing comes back for any question in a mode, that is the change, whatever each answer is called."""
    codes: tuple[CauseCode, ...] = ("nothing-retrieved", "nothing-retrieved", "abstained")
    flips = [*broken(*codes, mode="lexical"), *broken("demoted", mode="hybrid")]
    found = diagnosis(flips, modes={"lexical": {"filled": (203, 0)}, "hybrid": {"filled": (203, 203)}})
    assert found is not None
    words = "nothing comes back any more for any question asked (for 203 questions before) in mode lexical"
    assert found.changes == (words,)
    share = "it fits 3 of the 4 questions that make it red, counted in each mode."
    assert found.likely == f"Most likely cause: {words}; {share}"


@each_row("lists", [MOVED, {**REWEIGHED, "weights": WEIGHTS}], ids=["scores", "weights"])
@each_row("code", ["not-listed", "other-section", "nothing-retrieved", "abstained"])
def test_scores_that_moved_too_little(lists: dict[str, Any], code: CauseCode) -> None:
    """Passages that stood clear of all that moved scores can do are not lost by them; the change is told still."""
    by_change = diagnosis(broken(*[code] * 9), lists=lists)
    by_nothing = diagnosis(broken(*[code] * 9, stood_clear=True), lists=lists)
    assert by_change is not None
    assert by_nothing is not None
    assert by_change.likely.endswith(ALL_9)
    assert by_nothing.changes == by_change.changes
    assert by_nothing.likely.startswith("What caused it does not show: ")
