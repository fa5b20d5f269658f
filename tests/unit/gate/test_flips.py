"""Flips: which questions broke or were fixed, where the gold passage was and is, and why."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from builders import (
    make_baseline,
    make_case,
    make_case_score,
    make_chunk,
    make_chunks,
    make_comparison,
    make_failure,
    make_labelled,
    make_response,
    make_result,
    make_run,
    make_scorecard,
    make_support,
)
from raggate.gate.flips import find_fallen, find_flips, first_miss, lacking
from raggate.models.comparison import Flip, GoldenChanges
from raggate.models.golden import Case
from raggate.models.run import Chunk, LabelledResult
from raggate.models.scorecard import CaseScore
from raggate.models.verdict import Verdict
from raggate.scoring.repeats import averaged
from raggate.scoring.score import score
from tables import each_row

GOLD = make_chunk("gold")
OTHERS = make_chunks(*(f"other{number}.md" for number in range(1, 11)))
UNANSWERABLE = {"answerable": False}
GROUPED = {
    "gold_supports": (make_support("a.md"), make_support("b.md")),
    "required_support_groups": ((0, 1),),
}


def answered(case: Case | None = None, *chunks: Chunk, **result: Any) -> LabelledResult:
    case = case or make_case()
    return make_labelled(case, make_result(case.id, *chunks, **result))


def flip(before: LabelledResult, now: LabelledResult) -> Flip | None:
    old, new = (score(make_run(item), (5,)).cases[0] for item in (before, now))
    found = find_flips(make_run(now), [(old, new)])
    assert len(found) <= 1
    return found[0] if found else None


def broke(now: LabelledResult, before: LabelledResult | None = None) -> Flip:
    found = flip(before or answered(now.case, GOLD), now)
    assert found is not None
    assert found.kind == "broke"
    return found


def at(rank: int) -> list[Chunk]:
    return [*OTHERS[: rank - 1], GOLD, *OTHERS[rank - 1 : 9]]


@each_row(
    ("before", "after", "kind"),
    [
        (1, 6, "broke"),
        (5, 6, "broke"),
        (6, 5, "fixed"),
        (1, 5, None),
    ],
)
def test_rank_crosses_the_cut_off(before: int, after: int, kind: str | None) -> None:
    """A question flips when its gold chunk crosses the cut-off, and not when it moves on one side of it."""
    found = flip(answered(None, *at(before)), answered(None, *at(after)))
    assert (found and found.kind) == kind
    assert found is None or (found.metric, found.before, found.after) == ("hit_at_5", before, after)


@each_row(
    ("kind", "stopped", "flips"),
    [
        pytest.param("aborted", "the API exited", 0, id="never-asked"),
        pytest.param("connection", "the API exited", 1, id="asked-and-failed"),
        pytest.param("aborted", None, 1, id="no-result-in-a-whole-run"),
    ],
)
def test_a_question_that_was_never_asked_did_not_break(kind: str, stopped: str | None, flips: int) -> None:
    """What a run that stopped did not come to is no flip; a call that failed is one, and so is a result that lacks."""
    now = answered(None, failure=make_failure(kind=kind))
    old = score(make_run(answered(None, GOLD)), (5,)).cases[0]
    new = score(make_run(now), (5,)).cases[0]
    assert len(find_flips(make_run(now, stopped=stopped), [(old, new)])) == flips


class TestGroups:
    """A case that needs several passages is complete when all of one group have been seen."""

    CASE = make_case(**GROUPED)
    FIRST = make_chunk("first", rel_path="a.md")
    SECOND = make_chunk("second", rel_path="b.md")

    def test_second_passage_lost(self) -> None:
        """The case breaks when a passage is lost though the first still stands at rank 1, and names the lost one."""
        found = broke(
            answered(self.CASE, self.FIRST, OTHERS[0], OTHERS[1]),
            answered(self.CASE, self.FIRST, OTHERS[0], self.SECOND),
        )
        assert (found.metric, found.before, found.after) == ("recall_all_at_5", 3, None)
        assert (found.gold, found.why) == ("b.md › A", "not among the 3 passages returned")
        assert found.displaced_by == "other2.md › A"

    def test_second_passage_fell(self) -> None:
        """A passage that fell below the cut-off is told with the rank at which the group is complete."""
        now = answered(self.CASE, self.FIRST, *OTHERS[:5], self.SECOND)
        found = broke(now, answered(self.CASE, self.FIRST, self.SECOND))
        assert (found.before, found.after) == (2, 7)
        assert found.why == "b.md › A: fell from rank 2 among the 7 passages returned"

    def test_completed(self) -> None:
        """The case is fixed when the last missing passage comes in."""
        found = flip(answered(self.CASE, self.FIRST), answered(self.CASE, self.FIRST, self.SECOND))
        assert found is not None
        assert (found.kind, found.metric, found.after) == ("fixed", "recall_all_at_5", 2)


class TestAbstention:
    """An unanswerable question flips by whether the API abstains."""

    CASE = make_case(**UNANSWERABLE)

    def answer(self, *chunks: Chunk, abstained: bool) -> LabelledResult:
        return answered(self.CASE, response=make_response(*chunks, abstained=abstained))

    def test_reported_for_the_first_time(self) -> None:
        """It gains nothing when a configuration begins to read whether the API abstains; it loses when that ends."""
        old, new = (score(make_run(self.answer(abstained=True)), (5,)).cases[0] for _ in range(2))
        unread_score = replace(old, values={**old.values, "abstention_accuracy": None})
        item = self.answer(abstained=True)
        assert find_flips(make_run(item), [(unread_score, new)]) == ()
        (lost,) = find_flips(make_run(item), [(old, unread_score)])
        assert lost.kind == "broke"

    def test_answers_now(self) -> None:
        """It breaks when the API stops abstaining, and names what was retrieved first."""
        found = broke(self.answer(OTHERS[0], abstained=False), self.answer(abstained=True))
        assert (found.metric, found.gold, found.displaced_by) == ("abstention_accuracy", "(should abstain)", None)
        assert found.why == "the first passage retrieved is other1.md › A"


class TestDisplacedBy:
    """What rose to where the gold chunk stood, or above it."""

    def test_duplicates_hold_no_rank(self) -> None:
        """A repeated chunk is passed over when ranks are counted, as it is in the metrics."""
        before = answered(None, OTHERS[0], GOLD)
        now = answered(None, OTHERS[0], OTHERS[0], OTHERS[1])
        found = broke(now, before)
        assert (found.displaced_by, found.why) == ("other2.md › A", "not among the 2 passages returned")

    @each_row(
        ("now", "risen"),
        [
            ([OTHERS[5], *OTHERS[:5]], "other6.md › A"),
            ([OTHERS[0], OTHERS[2], OTHERS[1], OTHERS[3]], "other3.md › A"),
            ([OTHERS[1], OTHERS[0], OTHERS[2], OTHERS[3]], "other3.md › A"),
            # another piece of a note that stood above is not known to have risen
            ([OTHERS[0], make_chunk("piece", rel_path="other1.md"), OTHERS[1]], None),
        ],
    )
    def test_only_what_rose(self, now: list[Chunk], risen: str | None) -> None:
        """A chunk that stood above the passage before displaced nothing, also where it stands at its rank now."""
        assert broke(answered(None, *now), answered(None, *at(3))).displaced_by == risen


@each_row(
    ("case", "gold"),
    [
        ({}, "a.md › A"),
        ({"vaults": ("work",)}, "work/a.md › A"),
        ({"gold_supports": (make_support(vault="home"),), "vaults": ("work", "home")}, "home/a.md › A"),
        ({"gold_supports": (make_support(), make_support("b.md"), make_support("c.md"))}, "a.md › A (+2 more)"),
    ],
)
def test_gold(case: dict[str, Any], gold: str) -> None:
    """What was expected is named by vault, note and section, as far as the golden set tells them."""
    asked = make_case(**case)
    support = asked.gold_supports[0]
    found = make_chunk("gold", rel_path=support.rel_path)
    assert broke(answered(asked, *OTHERS), answered(asked, found)).gold == gold


def test_order() -> None:
    """Broken before fixed, must-pass first, then by the rank they fell from or rose to, then by mode and case."""
    moves = [
        ("a-fixed-3", None, 3, False),
        ("z-fixed-1", None, 1, False),
        ("a-fell-from-4", 4, None, False),
        ("z-fell-from-1", 1, None, False),
        ("y-fell-from-1", 1, None, False),
        ("must-pass", 5, None, True),
        ("stayed", 1, 1, True),
    ]
    pairs, items = [], []
    for case_id, before, after, must_pass in moves:
        items.append(answered(make_case(case_id, must_pass=must_pass)))
        pairs.append((make_case_score(case_id, rank=before), make_case_score(case_id, rank=after)))
    found = find_flips(make_run(*items), pairs)
    fell = ["must-pass", "y-fell-from-1", "z-fell-from-1", "a-fell-from-4"]
    assert [item.case_id for item in found] == [*fell, "z-fixed-1", "a-fixed-3"]
    assert [item.must_pass for item in found] == [True, *[False] * 5]


def test_each_mode_flips_on_its_own() -> None:
    """A question asked in two modes flips in the one in which it broke, by that mode's answer."""
    answers = {"bm25": [GOLD], "hybrid": OTHERS[:2]}
    items = [answered(make_case(), *chunks, mode=mode, trace_id=f"trace-{mode}") for mode, chunks in answers.items()]
    ranks = {"bm25": 1, "hybrid": None}
    pairs = [(make_case_score(mode=mode), make_case_score(mode=mode, rank=rank)) for mode, rank in ranks.items()]
    found = find_flips(make_run(*items), pairs)
    assert [(item.mode, item.why) for item in found] == [("hybrid", "not among the 2 passages returned")]
    assert found[0].trace_id == "trace-hybrid"


ABSTAINED = make_response(GOLD, abstained=True, abstain_reason="low_confidence")


def test_refused_though_found() -> None:
    """A question whose passage is found but that is refused now broke; one that is answered again is fixed."""
    found = broke(answered(None, response=ABSTAINED))
    assert (found.metric, found.before, found.after) == ("false_abstention_rate", 1, 1)
    assert (found.why, found.displaced_by) == ("the API abstained (low_confidence), with the passage at rank 1", None)
    refused = answered(None, response=ABSTAINED)
    fixed = flip(refused, answered(None, GOLD))
    assert fixed is not None
    assert (fixed.kind, fixed.metric, fixed.why) == ("fixed", "false_abstention_rate", "")
    assert flip(refused, refused) is None


def test_ranks_of_other_labels_explain_nothing() -> None:
    """A relabelled question shows the rank it had, but is not said to have fallen from it."""
    now = answered(None, *at(3))
    old, new = (score(make_run(item), (5,)).cases[0] for item in (answered(None, *at(1)), now))
    golden = GoldenChanges(relabelled=(now.case.id,))
    found = {}
    for name, before, changes in (("same", old, GoldenChanges()), ("relabelled", replace(old, hash="other"), golden)):
        comparison = make_comparison(
            baseline=make_baseline(make_scorecard(before)), scorecard=make_scorecard(new), golden=changes
        )
        decided = Verdict(outcome="regression", sentences=(), fell={("hybrid", now.case.id): ("mrr_at_10",)})
        (found[name],) = find_fallen(make_run(now), comparison, decided)
    assert (found["same"].before, found["same"].why) == (1, "fell among the 10 passages returned")
    assert (found["relabelled"].before, found["relabelled"].since) == (1, "relabelled")
    assert found["relabelled"].why == "every expected passage is among the 10 passages returned, the first at rank 3"


REFUSED = {"hit_at_5": 1.0, "false_abstention_rate": 1.0}


def answer(rank: int | None, values: dict[str, float | None] | None = None, failure: str | None = None) -> CaseScore:
    hit: dict[str, float | None] = {"hit_at_5": float(rank is not None and rank <= 5)}
    return make_case_score(values=values or hit, rank=rank, failure=failure, must_pass=True)


@each_row(
    ("answers", "lacks", "place"),
    [
        pytest.param([answer(1)], None, 0, id="one answer, a hit"),
        pytest.param([answer(6)], "nothing expected is within rank 5", 0, id="one answer, a miss"),
        pytest.param([answer(1), answer(5)], None, 0, id="each a hit"),
        pytest.param([answer(1), answer(2), answer(6), answer(1)], "rank 5 in 1 of 4 answers", 2, id="a later miss"),
        pytest.param([answer(None), answer(1)], "rank 5 in 1 of 2 answers", 0, id="a first miss"),
        pytest.param([answer(1), answer(1, REFUSED)], "the API abstained in 1 of 2 answers", 1, id="refused once"),
        pytest.param(
            [answer(1), answer(None, failure="timeout"), answer(9)],
            "the call failed (timeout) in 2 of 3 answers",
            1,
            id="a failed call and a miss",
        ),
    ],
)
def test_it_must_pass_in_every_answer(answers: list[CaseScore], lacks: str | None, place: int) -> None:
    """One answer that lacks something is enough; told is the first such one, and how many there are."""
    case = averaged(answers[0], answers[1:])
    missed = lacking(case)
    assert (missed is None) == (lacks is None)
    assert missed is None or missed[0].endswith(str(lacks))
    assert first_miss(case) == place
