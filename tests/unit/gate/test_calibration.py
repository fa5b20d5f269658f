"""Equal runs held against each other: how often the gate is red although nothing changed."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from builders import make_case, make_chunk, make_config, make_labelled, make_result, make_run
from raggate.config.gate_settings import DEFAULT_GATED, Gate
from raggate.gate.calibration import alarms_by_policy, separate
from raggate.models.run import LabelledResult, Run
from tables import each_row

HIT, MISS = make_chunk(), make_chunk("c2", rel_path="b.md")


def answered(case_id: str, *hits: bool) -> list[LabelledResult]:
    """Return a question's answers one after the other: whether each has its passage at rank 1 or not at all."""
    return [
        make_labelled(make_case(case_id), make_result(case_id, HIT if hit else MISS, repeat=repeat))
        for repeat, hit in enumerate(hits, 1)
    ]


def run_of(*questions: list[LabelledResult]) -> Run:
    first, *later = zip(*questions, strict=True)
    fingerprint = {"repeat": len(questions[0]), "repeated": {"asked": 1}, "k": 10, "modes": ["hybrid"]}
    again = tuple(item for items in later for item in items)
    return make_run(*first, repeats=again, fingerprint=fingerprint, config=make_config())


def test_a_run_is_taken_apart_into_runs_that_ask_once() -> None:
    """The first of them has all first answers, the second all second ones, and none knows of the others."""
    runs = separate(run_of(answered("q1", True, False), answered("q2", True, True)))
    assert [[bool(item.labels.matches[0]) for item in run.results] for run in runs] == [[True, True], [False, True]]
    assert [run.repeats for run in runs] == [(), ()]
    assert {item.result.repeat for run in runs for item in run.results} == {1}
    assert runs[0].fingerprint == {"k": 10, "modes": ["hybrid"]}


@each_row(
    ("tolerance", "red"),
    [
        # hit_at_1 is 3/4, 2/4 and 1/4: three of the six ordered pairs fall, two by 1/4 and one by 2/4
        pytest.param(0.05, 3, id="any fall"),
        pytest.param(0.25, 1, id="the largest fall alone"),
        pytest.param(0.5, 0, id="beyond all falls"),
    ],
)
def test_every_run_is_held_against_every_other(tolerance: float, red: int) -> None:
    """Of three runs there are six comparisons, and those are red in which the metric falls by more than allowed."""
    runs = separate(
        run_of(
            answered("q1", True, True, True),
            answered("q2", True, True, False),
            answered("q3", True, False, False),
            answered("q4", False, False, False),
        )
    )
    others = dict.fromkeys(DEFAULT_GATED, "off")
    counts, pairs = alarms_by_policy(runs, Gate.model_validate({"metrics": {**others, "hit_at_1": tolerance}}))
    assert (counts["threshold"], pairs) == (red, 6)


def test_each_policy_is_tried() -> None:
    """Whatever policy the gate has, all are told, over the same comparisons; must-pass questions count in each."""
    items = [replace(item, case=replace(item.case, must_pass=True)) for item in answered("q1", True, False)]
    counts, pairs = alarms_by_policy(separate(run_of(items)), Gate(tolerance=1, policy="threshold"))
    assert (counts, pairs) == ({"evidence": 1, "threshold": 1}, 2)
