"""A calibration on the terminal: the table by a snapshot, and each conclusion by the numbers that lead to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import structs
from syrupy.assertion import SnapshotAssertion

from builders import make_case, make_chunk, make_config, make_labelled, make_result, make_run
from raggate.models.baseline import Calibration
from raggate.reports.calibration import render
from raggate.scoring import repeats
from raggate.scoring.score import score
from tables import each_row

HIT, OTHER = make_chunk(), make_chunk("c2", rel_path="b.md")


def calibration(*hits: Sequence[bool], boots: int = 1, alarms: int = 0, **gate: Any) -> Calibration:
    """Build the calibration of questions of which each run has the passage at rank 1, or at rank 2."""
    items = [
        make_labelled(
            make_case(f"q{number}"),
            make_result(f"q{number}", *((HIT, OTHER) if hit else (OTHER, HIT)), repeat=repeat),
        )
        for number, row in enumerate(hits)
        for repeat, hit in enumerate(row, 1)
    ]
    first = [item for item in items if item.result.repeat == 1]
    later = sorted((item for item in items if item.result.repeat > 1), key=lambda item: item.result.repeat)
    run = repeats.noted(make_run(*first, repeats=tuple(later), config=make_config(gate=gate)))
    runs = len(hits[0])
    return Calibration(
        run=run,
        scorecard=score(run, [1]),
        boots=boots,
        pairs=runs * (runs - 1),
        alarms={"evidence": 0, "threshold": alarms},
    )


def test_screen(snapshot: SnapshotAssertion) -> None:
    """Of four questions one is on top in the first run alone: 4/4, 3/4 and 3/4, beside metrics that stand still."""
    noisy = calibration([True] * 3, [True] * 3, [True] * 3, [True, False, False], alarms=2, tolerance=0.1)
    assert render(noisy) == snapshot


def test_what_would_help_is_computed() -> None:
    """A noise of 0.25 is 2.5 times a tolerance of 0.1, so 6.25, that is 7, answers a question are needed."""
    noisy = calibration([True] * 2, [True] * 2, [True] * 2, [True, False], tolerance=0.1)
    assert "A tolerance of 10 pt on hit@1 is inside this API's noise of 25.0 pt." in render(noisy)
    assert "ask.repeat: 7, which costs that many times the calls, or tolerances above the noise (hit_at_1: 0.25" in (
        render(noisy)
    )


@each_row(("tolerance", "inside"), [(0.25, False), (0.24, True), (0, True)])
def test_what_is_inside_the_noise(tolerance: float, inside: bool) -> None:
    """A tolerance as large as the noise is not inside it; one of nothing always is, and no repeat helps it."""
    text = render(calibration([True] * 2, [True] * 2, [True] * 2, [True, False], tolerance=tolerance))
    assert ("on hit@1 is inside" in text) == inside
    assert ("ask.repeat" in text) == (tolerance == 0.24)


def test_an_api_that_ranks_alike() -> None:
    """Four questions without a flip leave room for 52.7% (1 - 0.05^(1/4)), however often asked; nothing is advised."""
    text = render(calibration([True] * 3, [True] * 3, [False] * 3, [False] * 3, boots=3))
    assert text.startswith("suite default · 4 questions · 3 equal runs, booted for each\n")
    assert "at most 52.7% of such questions are ranked differently when asked 3 times." in text
    assert "inside this API's noise" not in text
    assert "in which nothing changed" not in text


def test_a_question_in_two_modes_is_one() -> None:
    """Four rankings of two questions in two modes say as much of such questions as two do (1 - 0.05^(1/2))."""
    alike = calibration([True] * 2, [True] * 2, [True] * 2, [True] * 2)
    stored = {**alike.run.fingerprint[repeats.KEY], "modes": 2}
    run = structs.replace(alike.run, fingerprint={**alike.run.fingerprint, repeats.KEY: stored})
    assert "at most 77.6% of such questions are ranked differently when asked twice." in (
        render(structs.replace(alike, run=run))
    )


def test_what_is_foreign_does_no_harm() -> None:
    """A name that holds control characters or a log command is one harmless line."""
    noisy = calibration([True, False])
    run = make_run(*noisy.run.results, repeats=noisy.run.repeats, suite="x\n::error::y\x1b[31m")
    text = render(Calibration(run=run, scorecard=noisy.scorecard, boots=1, pairs=2, alarms={}))
    assert "\x1b" not in text
    assert not any(line.startswith("::") for line in text.splitlines())
