"""What the policy lets pass and a reader must know: the baseline's age, the golden set, the API's conduct, slices."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from builders import (
    make_baseline,
    make_case_score,
    make_comparison,
    make_delta,
    make_metric,
    make_operations,
    make_scorecard,
)
from raggate.config.gate_settings import Gate
from raggate.gate import caveats
from raggate.gate.policies import classify_row
from raggate.gate.verdict import decide
from raggate.models.comparison import Comparison, Delta, GoldenChanges
from raggate.models.scorecard import OVERALL, Scorecard
from tables import each_row


def test_added_cases_that_miss_come_first() -> None:
    """Of added cases it is told whether their passage was found; those where it was not are named first."""
    now = make_scorecard(make_case_score("fine"), make_case_score("lost", rank=None))
    comparison = make_comparison(scorecard=now, golden=GoldenChanges(added=("fine", "lost", "never")))
    (changed,) = caveats.of_baseline(comparison, Gate(), "")
    assert changed.code == "golden-changed"
    assert changed.message.endswith("lost (not found), fine (found at rank 1), never (not asked)")


Counts = dict[str, Any] | None


def comparison(now: Counts = None, before: Counts = None, **operations: Any) -> Comparison:
    repeated, earlier = ({} if counts is None else {"repeated": counts} for counts in (now, before))
    made = make_operations(**{"calls": 59, **operations})
    scorecard = make_scorecard(make_case_score(), operations=made, fingerprint=repeated)
    held = make_baseline(make_scorecard(make_case_score(), fingerprint=earlier))
    return make_comparison(scorecard=scorecard, baseline=held)


def told(found: Comparison) -> dict[str, str]:
    return {reason.code: reason.message for reason in caveats.of_calls(found)}


@each_row(
    ("before", "now", "expected"),
    [
        (100.0, 299.9, False),
        (100.0, 300.0, True),
        (10.0, 60.0, True),
        (0.0, 50.0, True),
        (None, 900.0, False),
        (100.0, None, False),
    ],
)
def test_a_median_of_three_times_the_baselines_and_50_ms_more_is_slower(
    before: object, now: float | None, expected: bool
) -> None:
    """A warning needs both, and a number on both sides."""
    found = comparison(latency={} if now is None else {"client_ms": {"p50": now, "p95": 5000.0}})
    assert found.baseline is not None
    held = replace(found.baseline, provenance={} if before is None else {"median_ms": before})
    assert ("slower" in told(replace(found, baseline=held))) == expected


@each_row(
    ("before", "now", "said"),
    [
        (4_120.0, 21_030.0, "answers bring 5.1 times the text: 4,120 → 21,030 characters at k 10"),
        (4_120.0, 2_060.0, "answers bring 50% of the text: 4,120 → 2,060 characters at k 10"),
        (1_000.0, 1_500.0, "answers bring 1.5 times the text: 1,000 → 1,500 characters at k 10"),
        (1_000.0, 1_499.0, ""),
        (1_000.0, 501.0, ""),
        (0.0, 4_120.0, ""),
    ],
)
def test_half_as_much_text_or_half_of_it_is_at_the_top(before: float, now: float, said: str) -> None:
    """The first sentence of a pass has what answers bring at the deepest cut-off, in all questions alone."""
    deltas = (
        make_delta(before, now, metric="context_chars_at_10", direction="lower"),
        make_delta(1.0, 9.0, metric="context_chars_at_5", direction="lower"),
        make_delta(1.0, 9.0, metric="context_chars_at_10", direction="lower", slice="tag=books"),
    )

    found = make_comparison(make_delta(0.8, 0.8), *deltas)
    assert [reason.message for reason in caveats.other_texts(found)] == ([said] if said else [])
    assert (f"No regression, but {said}." == decide(found, (), Gate()).headline) == bool(said)


FOREIGN = "passages hold text that is not of the note they name"


def passages(foreign: int, copies: int, **fingerprint: Any) -> Scorecard:
    counts = {"passages": 100, "copies": copies, "characters": 1_000, "own": 1_000 - foreign}
    facts = {"notes": {"work/a.md": "1"}, "passages": {"hybrid": counts}, **fingerprint}
    return make_scorecard(make_case_score(), fingerprint=facts)


@each_row(
    ("before", "now", "said"),
    [
        (passages(20, 0), passages(660, 0), [f"{FOREIGN}: 2% → 66% of all text"]),
        (passages(20, 0), passages(120, 10), []),
        (passages(660, 60), passages(20, 0), []),
        (passages(0, 3), passages(0, 14), ["passages repeat the text of another: 3% → 14% of them"]),
        (passages(20, 0, passages=None), passages(660, 0), []),
        (passages(20, 0, notes=None), passages(660, 0), []),
    ],
)
def test_text_of_other_notes_is_at_the_top(before: Scorecard, now: Scorecard, said: list[str]) -> None:
    """A tenth more of it than in the baseline is told, and a tenth more of passages that repeat another."""
    found = make_comparison(make_delta(0.8, 0.8), scorecard=now, baseline=make_baseline(before))
    assert [reason.message for reason in caveats.foreign_texts(found)] == said
    assert decide(found, (), Gate()).headline.startswith("No regression, but passages") == bool(said)
    assert not [*caveats.foreign_texts(replace(found, incomparable=("other definitions",)))]


UNASKED = {"unasked_answer_rate": make_metric(49 / 59, 59, direction="lower")}


@each_row(
    ("operations", "said"),
    [
        ({"rates": UNASKED}, "the API generated an answer in 49 of 59 calls, although raggate asked for retrieval"),
        ({"failed": 2}, "2 of 59 calls timed out: lower ask.concurrency"),
        ({"retries": 12}, "12 retries for 59 calls: the API answered 502, 503 or not at all"),
        ({"retries": 1}, ""),
        ({"calls": 24, "retries": 2}, "2 retries for 24 calls"),
    ],
)
def test_the_conduct_of_the_api(operations: dict[str, Any], said: str) -> None:
    """Answers that nobody asked for, time-outs, and more than one retry in 50 calls come with their numbers."""
    messages = [reason.message for reason in caveats.of_calls(comparison(**operations))]
    assert [message[: len(said)] for message in messages] == ([said] if said else [])


DAY = "2026-06-10T12:00:00Z"
NEW_YEAR = "2026-01-01T00:00:00Z"


@each_row(
    ("measured", "at", "said"),
    [
        (NEW_YEAR, "2026-04-01T00:00:00Z", ""),
        (NEW_YEAR, "2026-04-01T00:00:01Z", "90 days before this run, and is stale after 90: promote a"),
        (None, DAY, ""),
        (NEW_YEAR, "", ""),
        ("2026-06-11T12:00:00Z", DAY, ""),
        ("2026-06-11T12:00:01Z", DAY, "1 day after this run: if a clock was wrong, set it right"),
    ],
)
def test_age(measured: Any, at: str, said: str) -> None:
    """More days than allowed before, or more than one after, is a warning; what has no date is not judged."""
    messages = [reason.message for reason in caveats.age(make_baseline(provenance={"measured": measured}), at)]
    assert bool(messages) == bool(said)
    assert all(said in message for message in messages)


def part(name: str, metric: str, before: float, after: float, n: int = 12) -> Delta:
    row = make_delta(before, after, slice=name, metric=metric)
    return replace(row, baseline=make_metric(before, n), current=make_metric(after, n))


def test_slices() -> None:
    """A slice is named once, by the metric that lost most; not for a loss that is allowed, of few, or of everything."""
    rows = (
        part(OVERALL, "hit_at_5", 0.8, 0.8, n=20),
        part("tag=a", "hit_at_5", 1.0, 0.9),
        part("tag=a", "mrr_at_10", 1.0, 0.5),
        part("tag=b", "hit_at_5", 1.0, 0.96),
        part("tag=all", "hit_at_5", 1.0, 0.5, n=20),
        part("tag=few", "hit_at_5", 1.0, 0.5, n=Gate().min_cases - 1),
    )
    assert [reason.message for reason in caveats.slices([classify_row(row, Gate()) for row in rows])] == [
        "MRR@10 (hybrid) for tag=a went from 1.000 to 0.500 (−0.500, allowed 0.05); "
        "1 other metric of this slice got worse too",
    ]


def test_a_mode_without_a_past() -> None:
    """A mode that the baseline does not know is named, and what is new only in it is not named once more."""
    now = make_scorecard(make_case_score(), make_case_score(mode="vector"))
    (reason,) = caveats.thinner(make_comparison(scorecard=now), [], Gate())
    assert reason.message.startswith("mode vector has no baseline")
