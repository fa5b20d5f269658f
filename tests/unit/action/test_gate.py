"""The step that gates, with one configuration: what its page says of a verdict that the step waves through."""

from __future__ import annotations

from pathlib import Path

import pytest

from events import make_event, make_step
from raggate.action.gate import gate
from raggate.pipeline import check as pipeline
from raggate.pipeline.request import CheckResult
from rendered import visible
from reviews import review
from tables import each_row

PUSH = make_event("push", run_id=1)


@each_row(
    ("kind", "fail_on", "noted"),
    [("regression", "never", True), ("regression", "regression", False), ("pass", "never", False)],
)
def test_a_red_verdict_of_a_green_step_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, fail_on: str, noted: bool
) -> None:
    """The page says in plain words that the step may be green, if the verdict is red and `fail-on` is set."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pipeline, "check", lambda _: CheckResult(review=review(kind), directory=tmp_path))
    step = make_step(tmp_path, PUSH, {"fail-on": fail_on})
    code = gate(step)
    assert step.state.reporter is not None
    assert step.state.reporter.tells(code)
    page = step.state.reporter.summary(limit=1 << 20)
    assert (f"fail-on: {fail_on} may keep the step itself green." in visible(page)) is noted
    assert "&#96;" not in page
