"""Consolidation by majority, scores of a task, and yesterday's labels joined to a new run."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from label_builders import make_grounding, make_panel, make_retrieval
from raggate.base.errors import UsageError
from raggate.models.judging import LABELS
from raggate.scoring.intervals import Sampling
from raggate_interop.labels import score
from raggate_interop.labels.models import Judgment, RetrievalJudgment
from tables import each_row


def letters(judgment: Judgment) -> str:
    """Write the labels of a judgment as letters."""
    return "".join("y" if judgment.labels[label] else "n" for label in LABELS[judgment.task])


@each_row(
    ("rows", "expected"),
    [
        (["ynn"], "ynn"),
        (["ynn", "ynn", "nyy"], "ynn"),
        # every label has a majority, but no row agrees with all three
        (["yyn", "yny", "nyy"], "yyy"),
        # everything is tied: the first row
        (["ynn", "nyy"], "ynn"),
        # only m is decided (as no), and both rows say so: the first speaks for t and s
        (["nyn", "ynn"], "nyn"),
        # t is tied, s is no and m is yes: the second row is the first that says so, and speaks for t
        (["ynn", "nny", "yny", "nny"], "nny"),
        # t is tied, s and m are yes: only the fourth row says so
        (["yyn", "nny", "yyn", "nyy", "yny", "nyy"], "nyy"),
    ],
)
def test_majority(rows: list[str], expected: str) -> None:
    """Strict majorities decide per label; on a tie the first row that agrees with all of them speaks."""
    (judgment,) = score.consolidate([make_retrieval(row, annotator=str(i)) for i, row in enumerate(rows)])
    assert letters(judgment) == expected
    assert judgment.votes == len(rows)


@each_row(
    ("rows", "expected"),
    [(["nyyyy", "ynyyy", "yynyn", "yyynn"], "yyyyy"), (["yyynn", "nyyyy", "ynyyy", "yynyn"], "yyyyn")],
)
def test_tie_without_a_row_that_agrees(rows: list[str], expected: str) -> None:
    """Four labels are decided as yes, no row says so of all four: the first row speaks for the tied fifth."""
    (judgment,) = score.consolidate([make_grounding(row, annotator=row) for row in rows])
    assert letters(judgment) == expected


def test_chosen_row_gives_the_rest() -> None:
    """The row that agrees with the majorities also gives rank and text."""
    rows = [
        make_retrieval("nnn", rank=1, chunk_id="c", chunk="old", place="1"),
        make_retrieval("yyn", rank=2, chunk_id="c", chunk="new", place="2"),
        make_retrieval("yyn", rank=3, chunk_id="c", chunk="newer", place="3"),
    ]
    (judgment,) = score.consolidate(rows)
    assert (judgment.rank, judgment.chunk, judgment.place) == (2, "new", "2")


def test_an_annotator_has_one_vote() -> None:
    """Three rows of one annotator are one vote against two; rows without a name are votes of their own."""
    rows = [make_retrieval("nnn", annotator="a") for _ in range(3)]
    rows += [make_retrieval("ynn", annotator=name) for name in ("b", "c")]
    (judgment,) = score.consolidate(rows)
    assert (letters(judgment), judgment.votes) == ("ynn", 5)
    (unnamed,) = score.consolidate([replace(row, annotator=None) for row in rows])
    assert letters(unnamed) == "nnn"
    joined = score.join(rows, {"What is it?": ("c1",)}, 1)
    assert joined.means["topical_precision_at_k"].value == 1


def test_two_chunks_at_one_rank() -> None:
    """Two chunks of a record at one rank cannot both be right, and both places are named."""
    rows = [make_retrieval(chunk_id="x", place="f:2"), make_retrieval(chunk_id="y", place="f:3")]
    with pytest.raises(UsageError, match=r"f:3: record 'r1' has chunk 'y' at rank 1, where f:2 has 'x'"):
        score.consolidate(rows)
    assert len(score.consolidate([rows[0], make_retrieval(chunk_id="y", record="r2")])) == 2


def test_score_inferred() -> None:
    """With K inferred, each query divides by the chunks that were judged, closed up."""
    rows = [*make_panel("ynn", "nnn", "yyn", record="a"), *make_panel("-", "-", "ynn", record="b")]
    scores = score.score(rows, sampling=Sampling(resamples=10))
    assert (scores.task, scores.n_examples, scores.k, scores.top_k, scores.unjudged) == ("retrieval", 2, None, 3, 0)
    assert scores.values["topical_precision_at_k"] == {"a": 2 / 3, "b": 1.0}
    assert scores.values["mean_reciprocal_rank_at_k"] == {"a": 1.0, "b": 1.0}
    precision, hit = scores.metrics["topical_precision_at_k"], scores.metrics["sufficiency_hit_at_k"]
    assert precision is not None
    assert hit is not None
    assert (precision.point, precision.method, precision.n) == (pytest.approx(5 / 6), "bootstrap", 2)
    assert (hit.point, hit.method, hit.n) == (0.5, "wilson", 2)


def test_score_fixed() -> None:
    """With K fixed, chunks stand at their ranks, rates divide by K, and ranks nobody judged are counted."""
    rows = [*make_panel("ynn", "nnn", "yyn", record="a"), *make_panel("-", "-", "ynn", record="b", retrieved=4)]
    scores = score.score(rows, k=4, sampling=Sampling(resamples=10))
    assert (scores.k, scores.top_k) == (4, 4)
    assert scores.values["topical_precision_at_k"] == {"a": 2 / 4, "b": 1 / 4}
    assert scores.values["mean_reciprocal_rank_at_k"] == {"a": 1.0, "b": 1 / 3}
    # b lacks ranks 1, 2 and 4; a had three chunks only, and all are judged
    assert scores.unjudged == 3
    assert score.score(rows, k=1, sampling=Sampling(resamples=10)).unjudged == 1


def test_score_ideal() -> None:
    """With all judged chunks as ideal, a sufficient chunk below the cut costs nDCG something."""
    rows = make_panel("ynn", "yyn")
    assert score.score(rows, k=1, sampling=Sampling(resamples=1)).values["ndcg_at_k"] == {"r1": 1.0}
    assert score.score(rows, k=1, ideal="judged", sampling=Sampling(resamples=1)).values["ndcg_at_k"] == {"r1": 1 / 3}


def test_score_grounding() -> None:
    """The conditional fabrication rate is over the answers that cite: one of two, not of three."""
    rows = [
        make_grounding("ynnyy", record="a"),
        make_grounding("ynnyn", record="b"),
        make_grounding("nynnn", record="c"),
    ]
    scores = score.score(rows)
    rate = scores.metrics["conditional_fabrication_rate"]
    assert rate is not None
    assert (rate.point, rate.n, rate.method) == (0.5, 2, "wilson")
    assert scores.values["conditional_fabrication_rate"] == {"a": 1.0, "b": 0.0, "c": None}
    assert (scores.k, scores.top_k) == (None, None)


def test_score_of_nothing() -> None:
    """No judgments are no score."""
    with pytest.raises(UsageError, match="no judgments"):
        score.score([])


NEW = {"q a": ["c1", "c9", "c2"]}
KNOWN = make_panel("nnn", "yyn", "ynn", record="a", query="q a")


def values(lists: dict[str, list[str] | None], rows: Sequence[RetrievalJudgment] = KNOWN, **fields: object) -> list:
    """Join, and give the metrics of the only query, in order."""
    joined = score.join(rows, lists, **{"k": 3, "limit": 1.0, **fields})
    return [next(iter(by_query.values())) for by_query in joined.values.values()]


def test_join_takes_unjudged_chunks_for_irrelevant() -> None:
    """c9 has no label: it keeps rank 2 and counts as irrelevant, and c2 is on topic and sufficient at rank 3."""
    # the ideal of the three judged chunks is grades 2, 1, 0
    ndcg = (3 / 2) / (3 + 0.6309297535714574)
    assert values(NEW) == pytest.approx([1 / 3, 1, 1 / 3, 0, 1 / 3, ndcg])


def test_failed_call() -> None:
    """A failed call is a miss, but nobody knows what it would have misled to."""
    joined = score.join(KNOWN, {"q a": None}, 3)
    assert [by_query["q a"] for by_query in joined.values.values()] == [0, 0, 0, None, 0, 0]
    assert joined.failed == ("q a",)
    assert joined.means["misleading_context_rate_at_k"].value is None
    assert joined.means["misleading_context_rate_at_k"].unscored == 1
    assert joined.unjudged_share is None


def test_unjudged_at_k() -> None:
    """The share of unjudged chunks is per query and over all chunks up to K, and the caveat says what was done."""
    rows = [*KNOWN, *make_panel("ynn", record="b", query="q b")]
    lists = {"q a": ["c1", "c2", "c3", "x"], "q b": ["x"], "q c": ["x"]}
    joined = score.join(rows, lists, 3)
    assert joined.unjudged == {"q a": 0.0, "q b": 1.0}
    assert joined.unjudged_share == 1 / 4
    assert joined.unlabelled == ("q c",)
    assert joined.caveat.startswith("1 of the 4 chunks in the first 3 (25%, limit 20%) have no label and count as")
    assert score.join(rows, lists, 3, limit=0.25).caveat == ""


def test_queries_match_after_folding() -> None:
    """Query texts match after NFC and white space; letter case counts."""
    rows = make_panel("ynn", query="Where is  the cafe\u0301?\n")
    assert score.join(rows, {"Where is the caf\u00e9?": ["c1"]}, 1).means["topical_precision_at_k"].value == 1.0
    assert score.join(rows, {"where is the caf\u00e9?": ["c1"]}, 1).absent == ("r1",)


def test_queries_match_by_record() -> None:
    """A record id finds its own judgments only; the same text in two records counts together."""
    rows = [*make_panel("ynn", record="a", query="q"), *make_panel("nnn", record="b", query="q")]
    assert score.join(rows, {"b": ["c1"]}, 1).means["topical_precision_at_k"].value == 0.0
    assert score.join(rows, {"b": ["c1"]}, 1).absent == ("a",)
    # one vote each: a tie, so the first row speaks
    joined = score.join(rows, {"q": ["c1"]}, 1)
    assert joined.means["topical_precision_at_k"].value == 1.0
    assert joined.absent == ()


def test_two_names_of_one_query() -> None:
    """Two lists for the same labels are refused: one of them would count twice."""
    with pytest.raises(UsageError, match="'a' and 'q a' have the same query"):
        score.join(KNOWN, {"a": ["c1"], "q a": ["c1"]}, 3)


def test_join_drops_repeated_chunks() -> None:
    """A chunk that a list holds twice keeps its first place, and what follows moves up."""
    assert values({"q a": ["c1", "c1", "c2"]}, k=2)[4] == 1 / 2


def test_a_judge_of_several_modes_has_one_vote() -> None:
    """A record of each mode has the same question: who graded a chunk in both counts once beside those of one mode."""
    modes = ("q bm25", "q hybrid")
    rows = [make_retrieval("ynn", record=record, query="q", annotator="judge a") for record in modes]
    rows += [make_retrieval("nnn", record=modes[0], query="q", annotator=f"judge {name}") for name in "bc"]
    assert score.join(rows, {"q": ["c1"]}, 1).means["topical_precision_at_k"].value == 0.0
