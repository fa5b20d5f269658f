"""Causes: what is said of why a question got worse follows from what both sides show, and nothing else is said."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from builders import (
    make_case,
    make_case_score,
    make_chunk,
    make_chunks,
    make_failure,
    make_labelled,
    make_response,
    make_result,
    make_support,
    make_support as support,
)
from raggate.gate.causes.cause_wording import sentence as in_words
from raggate.gate.causes.causes import find_cause, heading_cause, piece_cause, section_cause
from raggate.gate.causes.passages import Asked, ranked
from raggate.models.comparison import Cause, CauseEvidence, ListEvidence
from raggate.models.run import Chunk, LabelledResult, Reference
from raggate.models.scorecard import ListEntry
from raggate.scoring.score import short_hash
from tables import each_row

OTHERS = make_chunks(*(f"other{number}.md" for number in range(1, 11)))
IN_WORK = tuple(replace(chunk, rel_path=f"mail/{chunk.rel_path}", vault="work") for chunk in OTHERS[:3])
"""Three chunks of the folder work/mail."""

NOTES = ("work/docs/a.md", "work/mail/other1.md", "home/docs/a.md")
GOLD_IN_DOCS = {"gold_supports": (support("docs/a.md"),)}
SNIPPET = {"gold_supports": (support(snippets=("the sentence",)),)}
REFUSED = {"metric": "false_abstention_rate"}
REFERENCE = Reference(vault="work", rel_path="b.md", heading_path="# B", chunk_index=0)


def answer(
    case: dict[str, Any], *chunks: Chunk, labels: dict[str, Any] | None = None, **response: Any
) -> LabelledResult:
    asked = make_case(**case)
    result = make_result(asked.id, response=make_response(*chunks, **response))
    return make_labelled(asked, result, **(labels or {}))


def failed(**fields: Any) -> LabelledResult:
    asked = make_case()
    return make_labelled(asked, make_result(asked.id, failure=make_failure(**fields)))


def why(item: LabelledResult, metric: str = "hit_at_5", *, notes: tuple[str, ...] = (), before: int | None = 1) -> str:
    evidence = CauseEvidence(notes=notes)
    return in_words(find_cause(Asked(item=item, metric=metric, before=before, after=None, evidence=evidence)))


IN_BOTH = {"notes": ("home/a.md", "work/a.md")}
OF_WORK = {**SNIPPET, "vaults": ("work",)}
LONG_SNIPPETS = {"gold_supports": (support(snippets=("s" * 101, "b", "c")),)}
OWN_VAULT = {"gold_supports": (support(vault="work", snippets=("the sentence",)),), "vaults": ("work", "home")}
IN_DOCS = {**GOLD_IN_DOCS, "vaults": ("work",)}
SELECTED = {"available_folders": ("work/mail", "work/docs"), "selected_folders": ("work/mail",)}
MANY = ("work/mail", "home/1", "home/2", "home/3", "home/4", "home/5")
VALVE = make_chunk("x", heading_path="# Valve", text="Nothing.")
B = make_chunk("x", heading_path="# B")
FAILED = failed(message="HTTP 500")
WITHOUT = "but without the gold snippet “the sentence” (another piece, cut, or reworded)"
OTHER_VAULT = "the note at rank 1 has the same path, but is in vault home, not in work"


@each_row(
    ("item", "fields", "sentence"),
    [
        (FAILED, {}, "the call failed: HTTP 500"),
        (failed(kind="aborted", message="not asked"), {}, "it was not asked"),
        (answer({}), {}, "nothing was retrieved"),
        (answer({}, *OTHERS[:5]), {}, "not among the 5 passages returned"),
        # repeated chunks hold no rank
        (answer({}, OTHERS[0], OTHERS[0], B), {}, "the note is at rank 2, but with another section"),
        (
            answer({}, make_chunk("x", heading_path="")),
            {},
            "the note is at rank 1, but without a heading path",
        ),
        (answer({}, B, labels={"strange_headings": (0,)}), {}, "the note is at rank 1, but under # B"),
        (answer(SNIPPET, OTHERS[0], make_chunk("x", text="Else.")), {}, f"the section is at rank 2, {WITHOUT}"),
        (
            answer(LONG_SNIPPETS, make_chunk("x")),
            {},
            f"the section is at rank 1, but without the gold snippet “{'s' * 99}…” or any of 2 more "
            "(another piece, cut, or reworded)",
        ),
        (
            answer(SNIPPET, make_chunk("x", text=""), labels={"empty": (0,)}),
            {},
            "the section is at rank 1, but without a text of its own",
        ),
        # not the passage that is shown
        (
            answer({"gold_supports": (support(), support("b.md"))}, make_chunk("x", rel_path="b.md", heading_path="#")),
            {},
            "the note b.md is at rank 1, but with another section",
        ),
        (answer({"vaults": ("work",)}, make_chunk(vault="home")), IN_BOTH, OTHER_VAULT),
        (answer(OWN_VAULT, make_chunk(vault="home")), IN_BOTH, OTHER_VAULT),
        (
            answer(OF_WORK, make_chunk()),
            IN_BOTH,
            f"the section of the note (of vault home or work) is at rank 1, {WITHOUT}",
        ),
        (
            answer({"vaults": ("work",)}, make_chunk(vault="work", heading_path="# B")),
            IN_BOTH,
            "the note of vault work is at rank 1, but with another section",
        ),
        (
            answer(IN_DOCS, *IN_WORK, available_folders=("work/mail", "home/docs")),
            {"notes": NOTES},
            "work/docs is not in the index (available: 2 other folders)",
        ),
        # a question that asks for some folders
        (
            answer({**IN_DOCS, "folders": ("mail",)}, *IN_WORK, available_folders=("work/mail",)),
            {"notes": NOTES},
            "work/docs is not available (available: 1 other folder)",
        ),
        (
            answer(IN_DOCS, *IN_WORK, **SELECTED),
            {"notes": NOTES},
            "folder selection left it out (selected: work/mail)",
        ),
        (
            answer(IN_DOCS, *IN_WORK, selected_folders=MANY),
            {"notes": NOTES},
            "its folder is not among the selected ones (selected: work/mail, home/1, home/2, home/3 and 2 more)",
        ),
        # where its metric is red, selection is the cause, also where it limits nothing
        (
            answer(GOLD_IN_DOCS, make_chunk(rel_path="docs/a.md", vault="work"), **SELECTED),
            {"notes": NOTES, "metric": "scope_miss_rate"},
            "its folder is not among the selected ones (selected: work/mail)",
        ),
        (
            answer({"answerable": False}, answer="It is."),
            {"metric": "abstention_accuracy"},
            "answered instead of abstaining",
        ),
        (
            answer({"answerable": False}, answer=None),
            {"metric": "abstention_accuracy"},
            "nothing was retrieved, and it did not say so",
        ),
        (
            answer({"answerable": False}, OTHERS[0], answer="It is.", references=(REFERENCE,)),
            {"metric": "abstention_accuracy"},
            "answered instead of abstaining; it cites work/b.md › B",
        ),
        (answer({}, abstained=True), REFUSED, "the API abstained"),
        (answer({}, abstained=True, abstain_reason="no_context"), REFUSED, "the API abstained (no_context)"),
        (answer({}, answer=" "), REFUSED, "the answer is empty, which counts as abstaining"),
        (FAILED, REFUSED, "the call failed: HTTP 500"),
        (
            answer({}, *OTHERS, answer="It is."),
            {"metric": "key_fact_coverage"},
            "judged by the answer, not by what was retrieved",
        ),
        (
            answer({"gold_supports": (), "must_contain": ("42",)}, OTHERS[0]),
            {"metric": "heading_dominance_rate"},
            "1 passage returned; no passage is expected",
        ),
        # also of a question that nothing answers
        (
            answer({"answerable": False, "question": "Which valve?"}, VALVE),
            {"metric": "heading_dominance_rate"},
            "the first passage has the question's words only in its heading: a.md › Valve",
        ),
    ],
)
def test_what_is_said(item: LabelledResult, fields: dict[str, Any], sentence: str) -> None:
    """A question that got worse says what its answer shows of what was expected, by the metric that got worse."""
    assert why(item, **fields) == sentence


@each_row(
    ("folders", "others"),
    [
        pytest.param({"selected_folders": ()}, (), id="no-limit"),
        pytest.param({"available_folders": ()}, (), id="no-folders-told"),
        pytest.param({"selected_folders": ("work/docs",)}, (), id="selected"),
        pytest.param({"selected_folders": ("work/mail-old",)}, (), id="chunks-come-from-elsewhere"),
        pytest.param({"available_folders": ("work/mail-old",)}, (), id="more-is-there-than-is-told"),
        pytest.param({"available_folders": ("folder 17", "folder 18")}, (), id="named-in-another-way"),
        pytest.param({"selected_folders": ("work/mail",)}, (support("mail/b.md"),), id="an-alternative-was-searched"),
        pytest.param({"selected_folders": ("work/mail",)}, (support("", None, chunk_id="c9"),), id="or-may-have-been"),
    ],
)
def test_folders_that_prove_nothing(folders: dict[str, Any], others: tuple[Any, ...]) -> None:
    """No folder is blamed that was searched, for any of the passages, or that cannot be held against the notes."""
    item = answer({"gold_supports": (support("docs/a.md"), *others), "vaults": ("work",)}, *IN_WORK, **folders)
    assert why(item, notes=NOTES) == "not among the 3 passages returned"


@each_row(
    ("before", "after", "supports", "sentence"),
    [
        pytest.param(1, 2, (support(),), "fell among the 3 passages returned", id="lower"),
        pytest.param(
            2,
            2,
            (support(), support("b.md")),
            "b.md › A: not among the 3 passages returned",
            id="same-rank-one-lacks",
        ),
        pytest.param(
            None,
            2,
            (support(),),
            "every expected passage is among the 3 passages returned, the first at rank 2",
            id="not-found-before",
        ),
        pytest.param(
            3,
            2,
            (support(), support("other1.md")),
            "every expected passage is among the 3 passages returned, the first at rank 2",
            id="higher",
        ),
    ],
)
def test_passages_that_are_there(before: int | None, after: int, supports: tuple[Any, ...], sentence: str) -> None:
    """A question is said to have fallen only where its rank is lower; else what lacks is named."""
    item = answer({"gold_supports": supports}, OTHERS[0], make_chunk("gold"), OTHERS[1])
    assert in_words(find_cause(Asked(item=item, metric="ndcg_at_10", before=before, after=after))) == sentence


def entries(*chunks: Chunk, supports: dict[int, tuple[int, ...]] | None = None) -> tuple[ListEntry, ...]:
    """Build the baseline's list of these chunks; `supports` are those matched by rank."""
    return tuple(
        ListEntry(
            short_hash(chunk.rel_path),
            short_hash(chunk.chunk_id),
            chunk.score_final,
            chunk.score_vector,
            chunk.score_lexical,
            (supports or {}).get(rank, ()),
        )
        for rank, chunk in enumerate(chunks, 1)
    )


def explained(
    item: LabelledResult,
    *before: Chunk,
    at: int | None = 1,
    after: int | None = None,
    metric: str = "hit_at_5",
    supports: dict[int, tuple[int, ...]] | None = None,
    **evidence: Any,
) -> Cause:
    """Find the cause of a question whose list in the baseline was this, with its passage at this rank."""
    stood = supports or ({at: (0,)} if at else {})
    old = make_case_score(item.case.id, rank=at, entries=entries(*before, supports=stood))
    lists = {"hybrid": ListEvidence(**evidence.pop("lists", {}))}
    found = CauseEvidence(lists=lists, **evidence)
    return find_cause(Asked(item=item, metric=metric, before=at, after=after, old=old, evidence=found))


def scored(name: str, final: float | None, vector: float | None = None, lexical: float | None = None) -> Chunk:
    """Build a chunk of a note of its own with scores; `gold` is the passage."""
    path = "a.md" if name == "gold" else f"{name}.md"
    scores = {"score_final": final, "score_vector": vector, "score_lexical": lexical}
    return make_chunk(name, rel_path=path, vault="work", **scores)


STEADY = {"rescored": {"final": False}}
RESCORED = {"rescored": {"final": True}}
REWEIGHTED = {"rescored": {"final": True, "vector": False}}
UNORDERED = {**STEADY, "unordered": True}
GOLD = scored("gold", 0.8, 0.5, 0.9)
NOW = scored("gold", 0.1)
ELSEWHERE = replace(NOW, heading_path="# Z", text="the sentence")
NOT_IN_VAULT = "note-not-in-vault"


AT_WORK = {"vaults": ("work",)}
TWO = {"gold_supports": (support(), support("gone.md")), **AT_WORK}
GONE = {"documents": (9, 7), "gone": {"a.md": ()}}
RECUT = {"retrieved": {"a.md": {"# Ab", "# Z"}}, "recut": True}
PIECE = make_chunk("piece", text="Another piece.")
LIKE = make_chunk("like", heading_path="# Z > ## A")
MERGED = make_chunk("m", heading_path="# Top", text="It says the sentence.")
WEIGHTS = {"weights": ({"vector": 0.25, "lexical": 0.75}, {"vector": 1.0})}
FLOOR = {**STEADY, "floors": (0.1, 0.85), "longest": 2}


def of(*names: str) -> LabelledResult:
    """Build an answer of chunks without scores."""
    return answer({}, *(scored(name, None) for name in names))


LONG = [scored(name, None) for name in ("x", "y", "gold", "z")]
X9 = scored("x", 0.9)


@each_row(
    ("claim", "item", "before", "fields", "code"),
    [
        ("no vault has it", answer(AT_WORK, OTHERS[0]), [GOLD], {"notes": ("work/b.md", "home/a.md")}, NOT_IN_VAULT),
        ("a vault has it", answer(AT_WORK, OTHERS[0]), [GOLD], {"notes": ("work/a.md",)}, "not-listed"),
        ("notes are not known", answer(AT_WORK, OTHERS[0]), [GOLD], {}, "not-listed"),
        ("another passage never stood", answer(TWO, OTHERS[0]), [GOLD], {"notes": ("work/a.md",)}, "not-listed"),
        ("fewer documents and never seen", answer({}, OTHERS[0]), [GOLD], GONE, "note-not-indexed"),
        ("as many notes", of("x"), [GOLD], {**GONE, "gone": {"a.md": (), "b.md": ()}}, "note-not-indexed"),
        ("more notes", of("x"), [GOLD], {**GONE, "gone": {"a.md": (), "b.md": (), "c.md": ()}}, "not-listed"),
        ("two of a path", of("x"), [GOLD], {**GONE, "gone": {"a.md": ("work", "home")}}, "note-not-indexed"),
        ("one document, two of a path", of("x"), [GOLD], {"documents": (9, 8), "gone": {"a.md": "wh"}}, "not-listed"),
        ("seen in another answer", of("x"), [GOLD], {**GONE, "gone": {"b.md": ()}}, "not-listed"),
        ("as many documents", of("x"), [GOLD], {**GONE, "documents": (9, 9)}, "not-listed"),
        ("more documents", of("x"), [GOLD], {**GONE, "documents": (7, 9)}, "not-listed"),
        ("documents are not told", of("x"), [GOLD], {**GONE, "documents": None}, "not-listed"),
        ("outranked needs no lost document", answer({}, X9), [GOLD], {"lists": STEADY, **GONE}, "demoted"),
        ("not outranked", answer({}, scored("x", 0.3)), [GOLD], {"lists": STEADY, **GONE}, "note-not-indexed"),
        ("a new cut gives only others", of("x"), [GOLD], RECUT, "anchor-gone"),
        ("a part in another answer", of("x"), [GOLD], {**RECUT, "retrieved": {"a.md": {"# A > ## B"}}}, "not-listed"),
        ("no new cut", of("x"), [GOLD], {**RECUT, "recut": False}, "not-listed"),
        ("no headings told", of("x"), [GOLD], {**RECUT, "retrieved": {"a.md": {""}}}, "not-listed"),
        ("may be another vault's", of("x"), [GOLD], {**RECUT, "notes": ("work/a.md", "home/a.md")}, "not-listed"),
        ("sections were merged", answer(SNIPPET, OTHERS[0], MERGED), [GOLD], {}, "heading-differs"),
        ("another piece", answer(SNIPPET, OTHERS[0], PIECE), [GOLD], {}, "snippet-gone"),
        ("a piece that was listed", answer(SNIPPET, OTHERS[0], PIECE), [GOLD, PIECE], {}, "other-section"),
        ("a like heading", answer({}, OTHERS[0], LIKE), [GOLD], {}, "heading-differs"),
        ("a like heading that was listed", answer({}, OTHERS[0], LIKE), [GOLD, LIKE], {}, "other-section"),
        ("its own chunk, other text", answer(SNIPPET, NOW), [GOLD], {"lists": STEADY}, "snippet-gone"),
        ("its own chunk, other heading", answer(SNIPPET, ELSEWHERE), [GOLD], {"lists": STEADY}, "heading-differs"),
        ("others score less", answer({}, scored("x", 0.3)), [GOLD], {"lists": STEADY}, "chunk-not-searched"),
        ("others score more", answer({}, X9), [GOLD], {"lists": STEADY}, "demoted"),
        ("scores are others", answer({}, scored("x", 0.3)), [GOLD], {"lists": RESCORED}, "not-listed"),
        ("scores are not known", answer({}, scored("x", 0.3)), [GOLD], {}, "not-listed"),
        ("by weights", answer({}, scored("x", 0.6)), [GOLD], {"lists": {**REWEIGHTED, **WEIGHTS}}, "demoted"),
        ("not by weights", answer({}, scored("x", 0.4)), [GOLD], {"lists": {**REWEIGHTED, **WEIGHTS}}, "not-listed"),
        ("other parts", answer({}, scored("x", 0.6)), [GOLD], {"lists": {**RESCORED, **WEIGHTS}}, "not-listed"),
        ("unordered, less", answer({}, scored("x", 0.3)), [GOLD], {"lists": UNORDERED}, "not-listed"),
        ("unordered, more", answer({}, X9), [GOLD], {"lists": UNORDERED}, "not-listed"),
        ("a shorter list", answer({}, X9), [GOLD, scored("y", 0.1)], {"lists": STEADY}, "not-listed"),
        ("the first part", of("x", "y"), LONG, {"at": 3}, "list-cut"),
        ("the first part in another order", of("y", "x"), LONG, {"at": 3}, "list-cut"),
        ("with a new chunk", of("x", "z"), LONG, {"at": 3}, "not-listed"),
        ("no shorter than its place", of("x", "y", "z"), LONG, {"at": 3}, "not-listed"),
        ("an empty list", of(), LONG, {"at": 3}, "nothing-retrieved"),
        ("below all that is returned", answer({}, X9), [X9, GOLD], {"at": 2, "lists": FLOOR}, "below-threshold"),
        (
            "as low as the floor",
            answer({}, X9),
            [X9, GOLD],
            {"at": 2, "lists": {**FLOOR, "floors": (0.1, 0.8)}},
            "list-cut",
        ),
        ("below it, and nothing is", answer({}), [GOLD], {"lists": FLOOR}, "below-threshold"),
        ("by other scores", answer({}), [GOLD], {"lists": {**FLOOR, **RESCORED}}, "nothing-retrieved"),
        ("as long as any", answer({}, X9), [X9, GOLD], {"at": 2, "lists": {**FLOOR, "longest": 1}}, "list-cut"),
    ],
    ids=lambda claim: claim,
)
def test_what_is_concluded(claim: str, item: LabelledResult, before: list[Chunk], fields: Any, code: str) -> None:
    """A lost passage has the cause that notes, index, headings and scores of both sides prove, and else none."""
    assert claim
    assert explained(item, *before, **fields).code == code


@each_row(
    ("item", "before", "fields", "words"),
    [
        (answer(AT_WORK, OTHERS[0]), [GOLD], {"notes": ("work/b.md",)}, "work/a.md is not in the vault"),
        (
            answer({}, OTHERS[0]),
            [GOLD],
            GONE,
            "no answer has a passage of the note, and the index has 7 documents (9 in the baseline's run)",
        ),
        (
            answer({}, OTHERS[0]),
            [GOLD],
            RECUT,
            "no answer has a passage under # A any more; the nearest heading of its note that came back is # Ab",
        ),
        (answer(SNIPPET, OTHERS[0], MERGED), [GOLD], {}, "the note is at rank 2, but under # Top"),
        (
            of("x", "y"),
            LONG,
            {"at": 3},
            "the list ends before rank 3, where it was, and holds only the start of the baseline's list",
        ),
        (
            answer({}, X9),
            [X9, GOLD],
            {"at": 2, "lists": FLOOR},
            "it scored 0.8 in the baseline, and nothing below 0.85 is returned any more (0.1 in the baseline)",
        ),
        (
            answer({}, scored("x", 0.6), scored("gold", 0.5, 0.5)),
            [GOLD],
            {"after": 2},
            "fell among the 2 passages returned; score 0.8 → 0.5",
        ),
    ],
)
def test_conclusions_in_words(item: LabelledResult, before: list[Chunk], fields: Any, words: str) -> None:
    """Each conclusion is told with the numbers and names that prove it."""
    assert in_words(explained(item, *before, **fields)) == words


@each_row(
    ("changes", "tail"),
    [
        ({"work/x.md": "added"}, "; the passage now above it is from a note added since the baseline"),
        ({"work/x.md": "changed"}, "; the passage now above it is from a note changed since the baseline"),
        ({"home/x.md": "added"}, ""),
    ],
)
def test_what_rose_above_it(changes: Any, tail: str) -> None:
    """What rose above the passage is called newer where its note is."""
    score = "score 0.8 as before; overtaken by work/x.md › A (0.9, not listed before)"
    cause = explained(answer({}, X9, GOLD), GOLD, after=2, changes=changes)
    assert in_words(cause) == f"fell among the 2 passages returned; {score}{tail}"


@each_row(
    ("before", "now", "words"),
    [
        ((0.7,), (0.9,), "; overtaken by work/x0.md › A (0.7 → 0.9)"),
        (
            (0.7, 0.6, 0.5),
            (0.95, 0.92, 0.9),
            "; overtaken by work/x0.md › A (0.7 → 0.95), work/x1.md › A (0.6 → 0.92) and 1 more",
        ),
    ],
)
def test_a_passage_whose_score_rose(before: Any, now: Any, words: str) -> None:
    """A passage that fell although its score rose is told with the chunks that overtook it."""
    old, new = ([scored(f"x{number}", score) for number, score in enumerate(side)] for side in (before, now))
    cause = explained(answer({}, *new, scored("gold", 0.85)), GOLD, *old, after=len(new) + 1)
    start = f"fell among the {len(new) + 1} passages returned; score 0.8 → 0.85"
    assert in_words(cause) == start + words


@each_row(
    ("stood", "score", "lists"),
    [
        pytest.param((), 0.7, {}, id="its-own-score-fell"),
        pytest.param(("x",), 0.85, {}, id="it-stood-above-before"),
        pytest.param((), 0.85, {"unordered": True}, id="rank-is-not-by-score"),
        pytest.param((), 0.85, {"renumbered": True}, id="ids-are-given-anew"),
    ],
)
def test_nothing_overtook_it(stood: tuple[str, ...], score: float, lists: Any) -> None:
    """No chunk is blamed for a fall that the passage's own score, or another order, may explain."""
    old = [*(scored(name, 0.9) for name in stood), GOLD]
    item = answer({}, scored("x", 0.95), scored("gold", score))
    cause = explained(item, *old, at=len(old), after=2, lists=lists, supports={len(old): (0,)})
    assert cause.overtakers == ()


@each_row(
    ("thresholds", "words"),
    [
        (
            ((0.1, 0.2), (0.45, 0.5)),
            ": its best score, 0.4, does not pass its threshold, which is between 0.45 and 0.5 "
            "(between 0.1 and 0.2 in the baseline)",
        ),
        (
            ((0.3, 0.48), (0.45, 0.5)),
            ": its best score, 0.4, does not pass its threshold, which is between 0.45 and 0.5",
        ),
        (((0.1, 0.2), None), ", with the passage at rank 1"),
        (((0.1, 0.2), (0.3, 0.5)), ", with the passage at rank 1"),
    ],
)
def test_below_the_threshold(thresholds: Any, words: str) -> None:
    """An abstention whose best score is on the threshold's side is told with it, and whether it moved."""
    item = answer({}, scored("gold", 0.4), abstained=True, abstain_reason="weak")
    cause = explained(item, GOLD, metric="false_abstention_rate", after=1, lists={"thresholds": thresholds})
    assert in_words(cause) == f"the API abstained (weak){words}"


@each_row(
    ("thresholds", "tail"),
    [
        (((0.2, 0.3), (None, 0.05)), "; the threshold is at most 0.05 (between 0.2 and 0.3 in the baseline)"),
        (((0.2, 0.3), (0.15, 0.25)), ""),
        (((0.2, 0.3), None), ""),
    ],
)
def test_a_lower_threshold(thresholds: Any, tail: str) -> None:
    """An answer in place of an abstention is put down to a lower threshold only where it is one."""
    item = answer({"answerable": False}, OTHERS[0])
    cause = explained(item, metric="abstention_accuracy", at=None, lists={"thresholds": thresholds})
    assert in_words(cause) == f"the first passage retrieved is other1.md › A{tail}"


def test_the_passage_that_fell_is_named() -> None:
    """Where the first passage stands as before, the one that fell is named with the rank it had, or that it is gone."""
    case = {"gold_supports": (support(), support("b.md"))}
    second, fields = scored("b", 0.7), {"after": 1, "metric": "ndcg_at_10", "supports": {1: (0,), 2: (1,)}}
    fell = explained(answer(case, GOLD, scored("x", 0.75), second), GOLD, second, **fields)
    score = "score 0.7 as before; overtaken by work/x.md › A (0.75, not listed before)"
    assert in_words(fell) == f"b.md › A: fell from rank 2 among the 3 passages returned; {score}"
    gone = explained(answer(case, GOLD), GOLD, second, notes=("work/a.md",), **fields)
    assert in_words(gone) == "b.md › A: b.md is not in the vault"


CASE = make_case(gold_supports=(make_support(snippets=("the sentence",)),), vaults=("work",))


def listed(*chunks: Chunk, **labels: Any) -> LabelledResult:
    return make_labelled(CASE, make_result("q1", response=make_response(*chunks)), **labels)


def about(item: LabelledResult) -> Asked:
    return Asked(item=item, metric="hit_at_5", before=1, after=None)


def piece(item: LabelledResult) -> Cause | None:
    return piece_cause(about(item), CASE.gold_supports, ranked(item))


@each_row(
    ("chunk", "labels", "code"),
    [
        pytest.param(make_chunk(text="Else."), {}, "snippet-gone", id="another-piece"),
        pytest.param(make_chunk(text=""), {"empty": (0,)}, "text-foreign", id="no-text"),
        pytest.param(make_chunk(), {"strange_texts": (0,)}, "text-foreign", id="invented"),
        pytest.param(make_chunk(), {"truncated": True}, "snippet-gone", id="cut"),
        pytest.param(
            make_chunk(heading_path="# X"), {"strange_headings": (0,)}, "heading-differs", id="strange-heading"
        ),
        pytest.param(make_chunk(heading_path="# a"), {"ambiguous": (0,)}, "heading-differs", id="one-of-two-headings"),
        pytest.param(make_chunk(heading_path="# B"), {"filed_elsewhere": (0,)}, "heading-differs", id="merged"),
        pytest.param(make_chunk(heading_path="# B"), {}, None, id="another-section"),
        pytest.param(make_chunk(vault="home", text="Else."), {}, None, id="another-vault"),
        pytest.param(make_chunk(rel_path="b.md", text="Else."), {}, None, id="another-note"),
    ],
)
def test_what_is_wrong_with_the_piece(chunk: Chunk, labels: dict[str, Any], code: str | None) -> None:
    """Only a chunk of the passage's own note, that should be it, is a piece of it, by what its labels say."""
    found = piece(listed(chunk, **labels))
    assert (found.code if found else None) == code


def seen(item: LabelledResult) -> Cause | None:
    places = about(item), item.case.gold_supports, ranked(item)
    return heading_cause(*places) or section_cause(*places)


@each_row(
    ("told", "code"),
    [
        pytest.param("## deep", "heading-differs", id="the last heading alone"),
        pytest.param("# A > ## Other", "other-section", id="another one"),
        pytest.param("", "other-section", id="none"),
        pytest.param("# Notes > ## A > ### Deep", "heading-differs", id="behind another one"),
        pytest.param("A / Deep", "heading-differs", id="another delimiter"),
        pytest.param("# A1 > ## Deep", "other-section", id="below another one"),
        pytest.param("# B > ## AA > ### Deep", "other-section", id="the end of another heading"),
        pytest.param("# A", "other-section", id="the heading above"),
    ],
)
def test_a_part_of_the_path_is_no_other_section(told: str, code: str) -> None:
    """A note that comes back under the end of the gold path is not said to be another section."""
    case = make_case(gold_supports=(make_support("a.md", "# A > ## Deep"),))
    item = make_labelled(case, make_result(case.id, make_chunk(heading_path=told)))
    cause = seen(item)
    assert cause is not None
    assert (cause.code, cause.other) == (code, told)


def test_the_section_under_other_headings_comes_before_other_sections() -> None:
    """A note whose section came back under a part of its path is told as that, whatever stands above it."""
    case = make_case(gold_supports=(make_support("a.md", "# A > ## Deep"),))
    chunks = (make_chunk("c1", heading_path="# A > ## Other"), make_chunk("c2", heading_path="## Deep"))
    item = make_labelled(case, make_result(case.id, *chunks))
    cause = seen(item)
    assert cause is not None
    assert (cause.code, cause.rank) == ("heading-differs", 2)
