"""Suites of one request: what tells them apart, and how each ends without a verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from raggate.errors import CannotTell, UsageError
from raggate.inputs.suite_list import SuiteFile
from raggate.models.waiver import WaiverStatus
from raggate.pipeline import suites
from raggate.pipeline.request import RunFailed
from tables import each_row


def listed(*names: str) -> list[SuiteFile]:
    """Return suites of these names."""
    return [SuiteFile(config=f"{name}.yml", suite=name) for name in names]


def test_each_suite_has_a_file_of_its_own() -> None:
    """The name of the suite stands for `{suite}`, and a configuration without one for its path."""
    files = suites.reports_of(["junit={suite}.xml"], listed("a", "services/b/raggate.yml"), "--report")
    assert [[*each.formats] for each in files.values()] == [[Path("a.xml")], [Path("services-b-raggate.yml.xml")]]


def test_two_suites_never_write_one_file() -> None:
    """A report of one suite would be replaced by that of another: refused, where there are any reports."""
    same = listed("services/b", "services-b")
    with pytest.raises(UsageError, match="two suites would write the same file"):
        suites.reports_of(["junit={suite}.xml"], same, "--report")
    assert [*suites.reports_of([], same, "--report")] == ["services/b", "services-b"]


NOTES = SuiteFile(config="raggate.yml", suite="notes")
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


def test_a_run_that_failed() -> None:
    """An error of the pipeline is shown with its words, the suite that the run knows, and the waivers that stand."""
    error = RunFailed(CannotTell("not ready", hint="Look.", log=("x",)), suite="small", waivers=(WAIVER,))
    outcome = suites.ended(NOTES, 3, error)
    failure = outcome.reason
    assert (failure.label, failure.exit_code, failure.lines) == ("cannot tell", 3, ("not ready",))
    assert (failure.hint, failure.log, failure.suite, failure.waivers) == ("Look.", ("x",), "small", (WAIVER,))
    assert (outcome.suite, outcome.error) == ("small", error)


def test_an_error_before_the_pipeline() -> None:
    """An error of the step itself is shown under the suite that is known, and knows no waivers."""
    failure = suites.ended(NOTES, 2, UsageError("bases")).reason
    assert (failure.exit_code, failure.lines, failure.suite, failure.waivers) == (2, ("bases",), "notes", ())


@each_row(("code", "words"), [(130, "was cancelled"), (70, "is a bug")])
def test_an_end_without_a_word(code: int, words: str) -> None:
    """If nothing was said, the exit code says what there is to say."""
    assert words in " ".join(suites.ended(NOTES, code, None).reason.lines)
