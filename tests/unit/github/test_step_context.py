"""What is known of a step so far -> how it ended, as it is shown on GitHub."""

from __future__ import annotations

from raggate.errors import CannotTell, UsageError
from raggate.github.step_context import StepState
from raggate.models.waiver import WaiverStatus
from raggate.pipeline.result import RunFailed
from reviews import passing
from tables import each_row

WAIVER = WaiverStatus(
    metric="hit_at_5",
    case=None,
    mode=None,
    owner="ada",
    reason="reindexing",
    expires="2030-01-01",
    state="active",
    days_left=20,
)


def test_a_verdict() -> None:
    """A step that ends with the exit code of its verdict shows the review."""
    outcome = StepState(review=passing()).outcome(0)
    assert outcome.review == passing()
    assert outcome.failure is None
    assert outcome.notes == ()


def test_a_verdict_that_does_not_count() -> None:
    """A step that ends otherwise than its verdict said shows no review: something failed after it."""
    outcome = StepState(review=passing()).outcome(70, "notes")
    assert outcome.review is None
    assert (outcome.reason.exit_code, outcome.reason.suite, outcome.reason.label) == (70, "notes", "internal error")


def test_a_run_that_failed() -> None:
    """An error of the pipeline is shown with its words, the suite, and the waivers that stand."""
    error = RunFailed(CannotTell("not ready", hint="Look.", log=("x",)), suite="notes", waivers=(WAIVER,))
    failure = StepState(error=error).outcome(3, "notes").reason
    assert (failure.label, failure.exit_code, failure.lines) == ("cannot tell", 3, ("not ready",))
    assert (failure.hint, failure.log, failure.suite, failure.waivers) == ("Look.", ("x",), "notes", (WAIVER,))


def test_an_error_before_the_pipeline() -> None:
    """An error of the step itself is shown under the suite that is known, and knows no waivers."""
    failure = StepState(error=UsageError("bases")).outcome(2, "notes").reason
    assert (failure.exit_code, failure.lines, failure.suite, failure.waivers) == (2, ("bases",), "notes", ())


@each_row(("code", "words"), [(130, "was cancelled"), (70, "is a bug"), (3, "log of the step")])
def test_an_end_without_a_word(code: int, words: str) -> None:
    """Where nothing was said, the exit code says what there is to say."""
    assert words in " ".join(StepState().outcome(code).reason.lines)
