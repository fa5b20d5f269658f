"""Scoring: which chunk matches which label, what a run's means cover, and that a miss never drops out."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from builders import (
    make_case,
    make_chunk,
    make_chunks,
    make_config,
    make_failure,
    make_labelled,
    make_metric,
    make_ranked,
    make_response,
    make_result,
    make_run,
    make_support,
)
from raggate.models.golden import Case, Support
from raggate.models.run import Chunk, LabelledResult, Labels
from raggate.models.scorecard import CaseScore, ListEntry
from raggate.scoring import score as scoring
from raggate.scoring.metrics import METRICS
from raggate.scoring.score import (
    Counts,
    ModeCounts,
    body_of,
    columns_of,
    count,
    count_folders,
    heading_hash,
    list_entries,
    lost,
    short_hash,
)
from tables import each_row

ALLOWED = 0.02


def answer_answer_fields(*chunks: Chunk, labels: dict[str, Any] | None = None, **response: Any) -> LabelledResult:
    """Build an answer in the mode hybrid."""
    return make_labelled(make_case(), make_result(response=make_response(*chunks, **response)), **(labels or {}))


def counts(items: Sequence[LabelledResult]) -> Counts:
    """Count the fields of answers."""
    counted: Counts = {}
    for item in items:
        count(item, counted)
    return counted


def names(before: object, now: object, allowed: float = ALLOWED) -> list[str]:
    """Name the fields that are lost."""
    return [item.field for item in lost(before, now, allowed)]


@each_row(
    ("rows", "columns"),
    [
        ([], {}),
        ([{"a": 1.0, "b": None}, {"a": None, "b": 0.5}], {"a": (1.0, None), "b": (None, 0.5)}),
        ([{"a": 1.0, "b": 0.0}, {"b": 0.5, "a": 0.2}], {"a": (1.0, 0.2), "b": (0.0, 0.5)}),
        ([{"a": 1.0}, {"b": 0.5}, {}], {"a": (1.0, None, None), "b": (None, 0.5, None)}),
    ],
)
def test_columns(rows: list[dict[str, float | None]], columns: dict[str, tuple[float | None, ...]]) -> None:
    """The values of a metric come in the order of the questions, whatever metrics a question has in which order."""
    assert columns_of(rows) == columns


TOLD = {
    "chunk_id": answer_answer_fields(make_chunk("c1")),
    "doc_id": answer_answer_fields(make_chunk(doc_id="d")),
    "heading_path": answer_answer_fields(make_chunk("", text="")),
    "rank": answer_answer_fields(make_chunk(rank=1)),
    "score_final": answer_answer_fields(make_chunk(score_final=0.0)),
    "score_lexical": answer_answer_fields(make_chunk(score_lexical=0.0)),
    "score_vector": answer_answer_fields(make_chunk(score_vector=0.0)),
    "vault": answer_answer_fields(make_chunk(vault="work")),
    "text": answer_answer_fields(make_chunk("", heading_path="")),
    "indexing_coverage.chunker_version": answer_answer_fields(coverage={"chunker_version": "1"}),
    "indexing_coverage.chunks_embedded": answer_answer_fields(coverage={"chunks_embedded": 0}),
    "indexing_coverage.docs_processed": answer_answer_fields(coverage={"docs_processed": 0}),
    "indexing_coverage.docs_with_0_chunks": answer_answer_fields(coverage={"docs_with_0_chunks": 0}),
    "indexing_coverage.index_version": answer_answer_fields(coverage={"index_version": "1"}),
    "available_folders": answer_answer_fields(available_folders=()),
    "grounded": answer_answer_fields(grounded=False),
    "selected_folders": answer_answer_fields(selected_folders=()),
}
NOTHING = answer_answer_fields(make_chunk("", heading_path="", text=""), labels={"empty": (0,)})


@each_row(("field", "item"), TOLD.items(), ids=TOLD)
def test_each_field(field: str, item: LabelledResult) -> None:
    """A field counts as told with the first value it has, zero and empty lists included, and is missed when it goes."""
    assert counts([item])["hybrid"][field] == [1, 1]
    assert field in names(counts([item]), counts([NOTHING]))
    assert field not in names(counts([item]), counts([item]))


@each_row("field", ["chunk_id", "doc_id", "vault"])
def test_an_identifier_counts_where_all_chunks_have_it(field: str) -> None:
    """One chunk that says where it is from speaks for itself alone: the others could be from anywhere."""
    silent = {"chunk_id": "", "doc_id": None, "vault": None}
    telling = {"chunk_id": "c1", "doc_id": "d", "vault": "work"}
    some = make_chunk(**{**telling, field: silent[field]})
    assert counts([answer_answer_fields(make_chunk(**telling), make_chunk(**telling))])["hybrid"][field] == [1, 1]
    assert counts([answer_answer_fields(make_chunk(**telling), some)])["hybrid"][field] == [0, 1]


def test_fields_without_an_answer_do_not_count() -> None:
    """An answer without chunks says nothing of fields of chunks, and a failed call nothing at all."""
    failed = make_labelled(make_case(), make_result(failure=make_failure()))
    counted = counts([answer_answer_fields(), failed])
    assert "rank" not in counted["hybrid"]
    assert counted["hybrid"]["grounded"] == [0, 1]
    assert counts([failed]) == {}


@each_row(
    ("before", "now", "gone"),
    [
        ([100, 100], [100, 100], False),
        ([100, 100], [98, 100], False),
        ([100, 100], [97, 100], True),
        ([98, 100], [0, 100], True),
        ([97, 100], [0, 100], False),
        ([0, 0], [0, 100], False),
        ([100, 100], [0, 0], False),
    ],
)
def test_a_field_may_be_missing_as_often_as_a_call_may_fail(before: list[int], now: list[int], gone: bool) -> None:
    """What is missing in no more than the allowed share of answers counts as told, in the baseline and now."""
    assert names({"hybrid": {"rank": before}}, {"hybrid": {"rank": now}}) == (["rank"] if gone else [])


@each_row("stored", [None, [], "x", {"hybrid": 3}, {"hybrid": {"rank": [1]}}, {"hybrid": {"rank": ["1", True]}}])
def test_what_is_no_count_is_none(stored: object) -> None:
    """A baseline that holds something else there, or nothing, misses nothing."""
    assert names(stored, {"hybrid": {"rank": [0, 100]}}) == []


def matches(support: Support, *, vaults: tuple[str, ...] = (), **chunk: Any) -> bool:
    """Return whether a chunk is labelled with the one support of a case."""
    case = make_case(gold_supports=(support,), vaults=vaults)
    return scoring.label(case, make_result("q1", make_chunk(**chunk))).labels.matches == ((0,),)


@each_row(
    ("support", "chunk", "expected"),
    [
        pytest.param(make_support(), {}, True, id="the section itself"),
        pytest.param(make_support(), {"heading_path": "# A > ## B"}, True, id="a section inside it"),
        pytest.param(make_support(), {"rel_path": "b.md"}, False, id="another note"),
        pytest.param(make_support(), {"rel_path": "A.md"}, False, id="a note's case counts"),
        pytest.param(make_support("docs/a.md"), {}, False, id="the same name in a folder"),
        pytest.param(make_support(heading_path=None), {"heading_path": "# Any > ## Thing"}, True, id="the whole note"),
        pytest.param(make_support(heading_path=None), {"heading_path": ""}, True, id="the whole note, no heading"),
        pytest.param(make_support(), {"heading_path": ""}, False, id="a section, chunk without heading"),
        pytest.param(make_support(snippets=("x", "euro")), {"text": "ten euro"}, True, id="one of two snippets"),
        pytest.param(make_support(snippets=("x", "y")), {"text": "ten euro"}, False, id="none of two snippets"),
        pytest.param(make_support(snippets=("euro",)), {"text": ""}, False, id="a snippet, no text"),
        pytest.param(
            make_support(snippets=("euro",)), {"text": "euro", "rel_path": "b.md"}, False, id="snippet elsewhere"
        ),
    ],
)
def test_match(support: Support, chunk: dict[str, Any], *, expected: bool) -> None:
    """A chunk matches a support in the same note, under its heading, with one of its snippets."""
    assert matches(support, **chunk) is expected


@each_row(
    ("support_vault", "case_vaults", "chunk_vault", "expected"),
    [
        pytest.param(None, (), None, True, id="nobody names a vault"),
        pytest.param(None, (), "work", True, id="the case takes any vault"),
        pytest.param(None, ("work",), "work", True, id="the case's vault"),
        pytest.param(None, ("work",), "personal", False, id="not the case's vault"),
        pytest.param(None, ("work", "personal"), "personal", True, id="one of the case's vaults"),
        pytest.param("work", (), "personal", False, id="not the support's vault"),
        pytest.param("work", ("work", "personal"), "personal", False, id="the support's vault is the narrower"),
        pytest.param("work", ("work", "personal"), "work", True, id="the support's vault"),
        pytest.param("work", ("work",), None, True, id="an API that does not tell is trusted"),
    ],
)
def test_match_of_vaults(
    support_vault: str | None, case_vaults: tuple[str, ...], chunk_vault: str | None, *, expected: bool
) -> None:
    """The same path in another vault is another note, where the API tells the vault."""
    assert matches(make_support(vault=support_vault), vaults=case_vaults, vault=chunk_vault) is expected


def test_label_names_every_support_of_every_chunk() -> None:
    """Per chunk, in rank order, all supports it matches are named."""
    case = make_case(gold_supports=(make_support(heading_path=None), make_support(), make_support("b.md")))
    result = make_result(
        "q1",
        make_chunk("1", rel_path="b.md"),
        make_chunk("2"),
        make_chunk("3", heading_path="# X"),
        make_chunk("4", rel_path="c.md"),
    )
    assert scoring.label(case, result).labels.matches == ((2,), (0, 1), (0,), ())


@each_row(
    ("heading_path", "text", "body"),
    [
        ("# A > ## B", "## B\nten", "ten"),
        ("# A > ## B", "\n  B\nten", "ten"),
        ("# A > ## B", "# A\nten", "# A\nten"),
        ("# A > ## B", "B and more\nten", "B and more\nten"),
        ("A", "A", ""),
        ("", "A\nten", "A\nten"),
    ],
)
def test_body_of(heading_path: str, text: str, body: str) -> None:
    """The body is the text without a first line that repeats the innermost heading, and that one alone."""
    assert body_of(heading_path, text) == body


@each_row(
    ("ids", "expected"),
    [
        pytest.param("abc", (), id="distinct"),
        pytest.param("aba", (2,), id="once more"),
        pytest.param(("", "", "a"), (), id="no id is not the same id"),
    ],
)
def test_label_finds_duplicates(ids: Any, expected: tuple[int, ...]) -> None:
    """A chunk id that stood higher up is a duplicate; the first one is kept."""
    result = make_result("q1", *(make_chunk(chunk_id) for chunk_id in ids))
    assert scoring.label(make_case(), result).labels.duplicates == expected


@each_row(
    ("question", "heading_path", "text", "expected"),
    [
        pytest.param("What does parking cost?", "# Parking", "Two euro.", True, id="heading meets, body does not"),
        pytest.param("What does parking cost?", "# Parking", "Parking is two euro.", False, id="the body meets too"),
        pytest.param("What does parking cost?", "# Fees", "Two euro.", False, id="nothing meets"),
        pytest.param("What does parking cost?", "# Fees", "Parking: two euro.", False, id="only the body meets"),
        pytest.param("What does parking cost?", "# Parking", "", True, id="no body"),
        pytest.param(
            "What does parking cost?", "# Parking", "Parking\nTwo euro.", True, id="heading repeated in the text"
        ),
        pytest.param(
            "What does parking cost?", "# Parking", "Parking\nParking: two.", False, id="repeated, body meets"
        ),
        pytest.param("What does parking cost?", "# Parking > ## Fees", "Fees\nTwo.", True, id="an outer heading meets"),
        pytest.param("What is it for?", "# What is it for", "Two.", False, id="small words do not meet"),
        pytest.param("What does parking cost?", "", "Two.", False, id="no heading"),
    ],
)
def test_heading_only(question: str, heading_path: str, text: str, *, expected: bool) -> None:
    """A chunk is heading-only when the question's words stand in its headings and none in its body."""
    result = make_result("q1", make_chunk(heading_path=heading_path, text=text))
    assert scoring.label(make_case(question=question), result).labels.heading_only == (expected,)


def first(item: LabelledResult, cutoffs: tuple[int, ...] = (1, 5)) -> CaseScore:
    """Score a run of one result."""
    return scoring.score(make_run(item), cutoffs).cases[0]


def test_score_of_a_case() -> None:
    """A case is scored with its ranks, its values at every cut-off, its slices and its hash."""
    item = make_ranked([(), (0,), (1,)], grades=(1, 1), groups=[(0, 1)])
    item = replace(item, case=replace(item.case, must_pass=True))
    score = first(item)
    assert (score.case_id, score.mode, score.hash, score.must_pass) == ("q1", "hybrid", item.case.hash, True)
    assert (score.rank, score.rank_all, score.failure) == (2, 3, None)
    assert (score.values["hit_at_1"], score.values["hit_at_5"], score.values["mrr_at_5"]) == (0, 1, 0.5)
    assert (score.values["recall_all_at_1"], score.values["recall_all_at_5"]) == (0, 1)
    assert score.values["abstention_accuracy"] is None
    assert score.slices == ("overall", "answerable=true", "category=factual", "difficulty=medium")


def test_score_of_a_failed_call() -> None:
    """A failed call scores as badly as can be, with the kind of its failure; only what it selected is not known."""
    case = make_case(required_support_groups=((0,),))
    score = first(make_labelled(case, make_result(failure=make_failure("status"))))
    assert (score.rank, score.rank_all, score.failure) == (None, None, "status")
    ranked = [score.values[f"{name}_at_5"] for name in ("hit", "recall_all", "mrr", "precision", "ndcg", "ndcg_exp")]
    assert ranked == [0, 0, 0, 0, 0, 0]
    assert score.values["scope_miss_rate"] is None
    assert score.values["heading_dominance_rate"] == 1
    assert score.values["false_abstention_rate"] == 1


HARD = make_case("hard", difficulty="hard", tags=("code", "code", "x"), vaults=("work", "personal"))
EASY = make_case("easy", difficulty="easy", category="general", vaults=("work",))
NONE = make_case("none", answerable=False, tags=("code",))


def item_of(case: Case, *rel_paths: str, mode: str = "hybrid") -> LabelledResult:
    """Label a list of notes for a case; `a.md` is the one that is looked for."""
    return scoring.label(case, make_result(case.id, *make_chunks(*rel_paths), mode=mode))


def test_passages_are_counted_within_the_deepest_cut_off() -> None:
    """Of the first passages with a text it is counted how many repeat one, and how much text is their note's own."""
    texts = ("once", "twice", "", "twice", "too deep")
    chunks = [make_chunk(f"c{at}", text=text) for at, text in enumerate(texts)]
    item = scoring.label(EASY, make_result("easy", *chunks))
    partly = ((1, 0.4), (4, 0.0))
    card = scoring.score(make_run(replace(item, labels=replace(item.labels, partly=partly))), (1, 4))
    # three of the five characters of the second one are of other notes
    counted = {"passages": 3, "copies": 1, "characters": 14, "own": 11}
    assert card.fingerprint["passages"] == {"hybrid": counted}
    shares = scoring.passage_shares(card.fingerprint["passages"])
    assert shares == {"hybrid": (pytest.approx(3 / 14), pytest.approx(1 / 3), pytest.approx(14 / 3))}


def test_matches_that_rest_on_found_headings_are_counted() -> None:
    """Within the deepest cut-off; one of a whole note needs no heading."""
    wholes = replace(EASY, id="whole", gold_supports=(make_support(heading_path=None),))
    chunks = [make_chunk(f"c{at}", rel_path="a.md", heading_path="# A") for at in range(4)]
    response = make_response(*chunks, found_headings=(1, 3))
    items = [scoring.label(case, make_result(case.id, response=response)) for case in (EASY, wholes)]
    card = scoring.score(make_run(*items), (1, 2))
    assert card.fingerprint["found_headings"] == {"hybrid": {"passages": 2, "matches": 1}}
    assert scoring.found_headings(card.fingerprint["found_headings"]) == {"hybrid": (2, 1)}
    told = scoring.score(make_run(scoring.label(EASY, make_result("easy", *chunks))), (1, 2))
    assert "found_headings" not in told.fingerprint


@each_row(
    "stored",
    [
        None,
        [],
        {"hybrid": None},
        {"hybrid": {"passages": 1, "matches": 2}},
        {"hybrid": {"passages": 1, "matches": -1}},
        {"hybrid": {"passages": True, "matches": 0}},
        {"hybrid": {}},
        {"hybrid": {"passages": 1, "copies": 2, "characters": 5, "own": 5}},
        {"hybrid": {"passages": 1, "copies": 0, "characters": 5, "own": 6}},
    ],
)
def test_counts_that_cannot_be_are_not_read(stored: object) -> None:
    """Counts come from a file, and what is none of passages says nothing."""
    assert scoring.passage_shares(stored) == {}
    assert scoring.found_headings(stored) == {}


def test_slices() -> None:
    """Every slice has the mean over its own cases, with how many it covers and how many it does not apply to."""
    run = make_run(item_of(HARD, "b.md", "a.md"), item_of(EASY, "a.md"), item_of(NONE, "a.md"))
    card = scoring.score(run, (1, 5))
    slices = {name: metrics["hit_at_1"] for name, metrics in card.slices["hybrid"].items()}
    # hard misses at 1, easy hits, none does not count
    assert slices == {
        "overall": make_metric(1 / 2, 2, unscored=1),
        "answerable=true": make_metric(1 / 2, 2),
        "answerable=false": make_metric(None, 0, unscored=1),
        "category=factual": make_metric(0.0, 1, unscored=1),
        "category=general": make_metric(1.0, 1),
        "difficulty=easy": make_metric(1.0, 1),
        "difficulty=hard": make_metric(0.0, 1),
        "difficulty=medium": make_metric(None, 0, unscored=1),
        "tag=code": make_metric(0.0, 1, unscored=1),
        "tag=x": make_metric(0.0, 1),
        "vault=personal": make_metric(0.0, 1),
        "vault=work": make_metric(1 / 2, 2),
    }
    assert card.counts["hybrid"]["overall"] == 3
    assert card.counts["hybrid"]["tag=code"] == 2
    # hard: 1/2, easy: 1, so 3/4 in the mean
    assert card.slices["hybrid"]["overall"]["mrr_at_5"] == make_metric(3 / 4, 2, unscored=1)


def test_failed_call_stays_in_the_mean() -> None:
    """A failed call lowers the mean instead of leaving it: one hit of three, not of two."""
    failed = make_labelled(HARD, make_result("hard", failure=make_failure()))
    run = make_run(item_of(EASY, "a.md"), item_of(make_case("miss"), "b.md"), failed)
    card = scoring.score(run, (5,))
    assert card.slices["hybrid"]["overall"]["hit_at_5"] == make_metric(1 / 3, 3)
    assert card.operations is not None
    assert (card.operations.calls, card.operations.failed) == (3, 1)


def test_a_question_asked_several_times_is_scored_by_all_answers() -> None:
    """Hit at 1 in one answer of two is 1/2 in the mean, its calls are counted, and the noise is noted."""
    case = make_case()
    hit, miss = make_chunk(), make_chunk("c2", rel_path="b.md")
    first = make_labelled(case, make_result(case.id, hit, miss))
    again = make_labelled(case, make_result(case.id, miss, hit, repeat=2))
    scorecard = scoring.score(make_run(first, repeats=(again,), started="2026-03-04T05:06:07Z"), [1, 5])
    (scored,) = scorecard.cases
    assert (scored.values["hit_at_1"], scored.values["hit_at_5"], scored.values["mrr_at_5"]) == (0.5, 1.0, 0.75)
    assert scored.rank == 1
    assert scorecard.slices["hybrid"]["overall"]["hit_at_1"].value == 0.5
    assert scorecard.operations is not None
    assert scorecard.operations.calls == 2
    noise = scorecard.fingerprint["noise"]
    assert (noise["runs"], noise["measured"]) == (2, "2026-03-04T05:06:07Z")
    assert noise["bands"]["hybrid"]["hit_at_1"] == [0.0, 1.0, 1, 1, 1.0]


@each_row("reads", [True, False])
def test_abstention_that_is_not_read_is_not_measured(*, reads: bool) -> None:
    """Without a field for it no answer abstains or fails to, and neither does a failed call; hits are as they were."""
    chunks = {"list": "hits", "rel_path": "path", "text": "text"}
    response = {"chunks": chunks, **({"abstained": "none"} if reads else {})}
    mapped = {"path": "/search", "body": {"q": "{question}"}, "response": response}
    unanswerable = make_case("u", answerable=False, gold_supports=())
    run = make_run(
        make_labelled(make_case("a"), make_result("a", failure=make_failure())),
        make_labelled(unanswerable, make_result("u")),
        config=make_config(ask={"adapter": "mapped", "retrieval_only": True, **mapped}),
        fingerprint={"retrieval_only": True},
    )
    means = scoring.score(run, (1,)).slices["hybrid"]["overall"]
    names = ("abstention_accuracy", "hallucination_rate_unanswerable", "false_abstention_rate", "hit_at_1")
    assert [means[name].value for name in names] == ([0, 1, 1, 0] if reads else [None, None, None, 0])


def answer(*folders: str, path: str = "docs/a.md", vault: str | None = "work") -> LabelledResult:
    """Build an answer with one chunk after this selection."""
    response = make_response(make_chunk(rel_path=path, vault=vault), selected_folders=folders or None)
    return make_labelled(make_case(), make_result("q1", response=response))


def folder_counts(items: Sequence[LabelledResult]) -> ModeCounts:
    """Count the folders of answers."""
    counted: ModeCounts = {}
    for item in items:
        count_folders(item, counted)
    return counted


@each_row(
    ("item", "several", "served", "outside"),
    [
        pytest.param(answer("work/docs", "work/mail"), 1, 1, 0, id="from-the-first"),
        pytest.param(answer("work/mail", "work/docs"), 1, 0, 0, id="from-another"),
        pytest.param(answer("work/docs", "work/mail", path="docs/deep/a.md"), 1, 1, 0, id="below-the-first"),
        pytest.param(answer("work/docs", "work/mail", vault=None), 1, 1, 0, id="vault-not-told"),
        pytest.param(answer("work/docs", "work"), 0, 0, 0, id="inside-another"),
        pytest.param(answer("work", "work/docs"), 0, 0, 0, id="around-another"),
        pytest.param(answer("docs", "mail"), 0, 0, 0, id="without-vaults"),
        pytest.param(answer("work/docs"), 0, 0, 0, id="the-only-one"),
        pytest.param(answer("work/docs", path="docs/deep/a.md"), 0, 0, 0, id="below-the-only-one"),
        pytest.param(answer("work/mail"), 0, 0, 1, id="outside"),
        pytest.param(answer("home/docs"), 0, 0, 0, id="of-other-vaults"),
        pytest.param(answer("work/mail", vault=None), 0, 0, 0, id="outside-and-vault-not-told"),
        pytest.param(answer("work/mail", path=""), 0, 0, 0, id="path-not-told"),
    ],
)
def test_folders_that_were_selected(item: LabelledResult, several: int, served: int, outside: int) -> None:
    """An answer counts where its first folder overlaps no other, and is served where a chunk is from there.

    It leaves its folders if a chunk is from none of them, though they are of the vaults of its chunks.
    """
    counts = folder_counts([item])["hybrid"]
    assert (counts["several"], counts["served"], counts["outside"]) == (several, served, outside)


def test_selected_folders_are_summed() -> None:
    """Answers that tell a selection are counted, and the folders of all; those that do not count for nothing."""
    failed = make_labelled(make_case(), make_result("q1", failure=make_failure()))
    counts = folder_counts([answer("a/1", "a/2"), answer("a/1"), answer(), failed])
    assert counts["hybrid"]["answers"] == 2
    assert counts["hybrid"]["selected"] == 3
    assert folder_counts([failed, answer()]) == {}


GOLD = "The valve of the boiler is turned to the left until it clicks, then the pump is started by hand."
SNIPPET = make_support(heading_path="# A > ## Valve", snippets=("turned to the left",))
PLAIN = make_support(heading_path="# A > ## Valve")


def labels(support: Any, *chunks: Chunk, **case: Any) -> Labels:
    """Label a list for a case with this support."""
    asked = make_case(gold_supports=(support,), **case)
    return make_labelled(asked, make_result(asked.id, *chunks)).labels


@each_row(
    ("support", "chunk", "case", "positions"),
    [
        pytest.param(SNIPPET, make_chunk(text=GOLD), {}, (0,), id="merged-into-the-section-above"),
        pytest.param(SNIPPET, make_chunk(text=GOLD, heading_path="# Boiler"), {}, (0,), id="told-otherwise"),
        pytest.param(SNIPPET, make_chunk(text=GOLD, heading_path=""), {}, (0,), id="no-heading"),
        pytest.param(SNIPPET, make_chunk(text="Nothing of it."), {}, (), id="without-the-snippet"),
        pytest.param(SNIPPET, make_chunk(text=GOLD, rel_path="b.md"), {}, (), id="another-note"),
        pytest.param(SNIPPET, make_chunk(text=GOLD, vault="home"), {"vaults": ("work",)}, (), id="another-vault"),
        pytest.param(SNIPPET, make_chunk(text=GOLD, heading_path="# A > ## Valve"), {}, (), id="the-passage-itself"),
        pytest.param(PLAIN, make_chunk(text=f"# A\nSome.\n## Valve\n{GOLD}"), {}, (0,), id="by-its-heading"),
        pytest.param(PLAIN, make_chunk(text="The Valve is one of them."), {}, (), id="named-in-a-sentence"),
        pytest.param(make_support(heading_path=None), make_chunk(rel_path="b.md"), {}, (), id="whole-note"),
    ],
)
def test_filed_elsewhere(support: Any, chunk: Chunk, case: dict[str, Any], positions: tuple[int, ...]) -> None:
    """A chunk of the gold note under another heading counts where it holds the snippet, or the heading as a line."""
    assert labels(support, chunk, **case).filed_elsewhere == positions


def test_entries_hold_hashes_scores_and_supports() -> None:
    """Each place has the hashes of note, chunk and heading, the scores as told, and which gold supports it matches."""
    chunk = make_chunk("c1", score_final=0.5, score_vector=0.25)
    item = make_labelled(make_case(), make_result("q1", chunk, make_chunk("c2", rel_path="b.md")))
    first, second = list_entries(item, 10)
    assert first == ListEntry(short_hash("a.md"), short_hash("c1"), 0.5, 0.25, None, (0,), short_hash("A"))
    assert (second.note, second.supports) == (short_hash("b.md"), ())


def test_repeated_chunks_hold_no_place() -> None:
    """A chunk that stands higher up already has no rank, so the entries are by rank; `depth` counts these."""
    chunks = [make_chunk(name) for name in ("a", "a", "b", "c")]
    item = make_labelled(make_case(), make_result("q1", *chunks))
    assert [entry.chunk for entry in list_entries(item, 2)] == [short_hash("a"), short_hash("b")]


@each_row(
    ("path", "read"),
    [("# A > ## B", "A > B"), ("A > B", "A > B"), ("## A  >  # B", "A > B"), ("# A", "A"), ("", ""), ("#", "")],
)
def test_a_heading_is_hashed_as_it_is_read(path: str, read: str) -> None:
    """Marks and white space of a heading path make no other place, and a passage without a heading has no hash."""
    assert heading_hash(path) == short_hash(read)


def random_answer(rng: Random, number: int) -> LabelledResult:
    """Build an answer of few notes, scores and labels, so that many answers look alike to some metrics."""
    names = ["a.md", "b.md", "c.md"]
    supports = [
        make_support(rng.choice(names), rng.choice((None, "# A")), grade=rng.choice((1, 3)))
        for _ in range(rng.choice((1, 2)))
    ]
    answerable = rng.random() < 0.8
    case = make_case(
        f"q{number}",
        answerable=answerable,
        gold_supports=tuple(supports),
        required_support_groups=rng.choice((None, ((0,),), (tuple(range(len(supports))),))),
        not_relevant=rng.choice(((), (make_support("c.md", "# A"),))),
    )
    chunks = [
        make_chunk(
            rng.choice(("c1", "c2", "c3")),
            rel_path=rng.choice(names),
            heading_path=rng.choice(("# A", "# B")),
            text=rng.choice(("", "# A", "Text of it.")),
            vault=rng.choice((None, "v")),
            doc_id=rng.choice((None, None, "d")),
            score_final=rng.choice((None, 0.0, 1.0)),
            score_lexical=rng.choice((None, 0.5, 0.9)),
        )
        for _ in range(rng.choice((0, 1, 2, 3)))
    ]
    return make_labelled(case, make_result(case.id, *chunks))


def test_answers_that_a_metric_sees_alike_are_scored_alike() -> None:
    """Whatever was scored before, each metric of an answer has the value that its function gives for it."""
    rng, depths = Random(7), (1, 3)  # noqa: S311 - the same answers each time
    items = [random_answer(rng, number) for number in range(3000)]
    # a chunk of two supports gains the one with the longer heading
    chunks = make_chunk("c1", doc_id="d"), make_chunk("c2", rel_path="b.md", doc_id="d")
    for heading in (None, "# A"):
        supports = make_support("a.md", None), make_support(heading_path=heading, doc_id="d")
        case = make_case(f"two supports, {heading}", gold_supports=supports)
        items.append(make_labelled(case, make_result(case.id, *chunks)))
    scored = scoring.score(make_run(*items), depths).cases
    for item, case in zip(items, scored, strict=True):
        for name, metric in METRICS.items():
            if metric.sees is not None:
                direct = {f"{name}_at_{k}": metric.function(item, k=k) for k in depths}
                assert {at: case.values[at] for at in direct} == direct
