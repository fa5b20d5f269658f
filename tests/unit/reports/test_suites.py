"""Several suites on one page and on one screen: a line for each, worst first, and nothing lost without a word."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from comments import LINKED, LINKS, NOT_READY, OURS, PUSHED, STICKY
from raggate.models.publication import Links, RunFailure
from raggate.models.suites import SuiteOutcome
from raggate.reports import suites
from raggate.reports.parts.document import COMMENT_LIMIT, COMMENT_UNITS, utf16_units
from rendered import problems, visible
from reviews import HOSTILE, hostile_everywhere, review
from tables import each_row


def outcome(suite: str, kind: str) -> SuiteOutcome:
    """Return how a suite ended, by the name of a review."""
    found = review(kind)
    return SuiteOutcome(config=f"services/{suite}/raggate.yml", suite=suite, code=found.verdict.exit_code, review=found)


def failed(suite: str, failure: RunFailure = NOT_READY) -> SuiteOutcome:
    """Return a suite that ended without a verdict."""
    return SuiteOutcome(config=f"services/{suite}/raggate.yml", suite=suite, code=failure.exit_code, failure=failure)


@pytest.fixture(scope="module")
def few() -> tuple[SuiteOutcome, ...]:
    """Return a suite of each ending."""
    return (
        outcome("search", "pass"),
        outcome("payments", "placed"),
        failed("billing"),
        outcome("docs", "slightly-worse"),
        SuiteOutcome(
            config="services/mail/raggate.yml",
            suite="mail",
            code=0,
            not_run="nothing under services/mail, libs differs from 0123456789ab",
        ),
    )


def links_of(_: SuiteOutcome) -> Links:
    """Return the same links for every suite."""
    return LINKS


def forty(kind: str) -> list[SuiteOutcome]:
    """Return forty suites that all ended as a review did."""
    return [outcome(f"service-{number:02}", kind) for number in range(40)]


def test_comment(page: SnapshotAssertion, few: tuple[SuiteOutcome, ...]) -> None:
    """The comment: counts, a line for each suite, and what each has to say, folded."""
    assert suites.render(few, PUSHED, links_of) == page


def test_screen(screen: SnapshotAssertion, few: tuple[SuiteOutcome, ...]) -> None:
    """The last lines of the command: a line for each suite, worst first, and the verdict of the worst."""
    assert suites.render_text(few) == screen


def test_what_was_not_run_is_no_pass(few: tuple[SuiteOutcome, ...]) -> None:
    """Where nothing was measured the page and the screen say so, and neither speaks of a pass."""
    for text in (suites.render(few[-1:], LINKED, links_of), suites.render_text(few[-1:])):
        assert "1 suite: 1 not run" in visible(text)
        assert "pass" not in visible(text)


def test_alert(page: SnapshotAssertion, few: tuple[SuiteOutcome, ...]) -> None:
    """The loud comment names the suites that do not pass."""
    assert suites.render_alert(few, LINKED, sticky=STICKY, rerun=False) == page


@each_row("kind", ["pass", "placed"])
def test_forty_suites_fit(kind: str) -> None:
    """The comment about forty suites is one that GitHub takes, has a line for each, and names what was cut."""
    many = [*forty(kind), failed("broken")]
    text = suites.render(many, LINKED, links_of)
    assert utf16_units(text) <= COMMENT_LIMIT < COMMENT_UNITS
    read = visible(text)
    assert [each.suite for each in many if each.suite not in read] == []
    # the worst are told in full first
    assert text.index("❔ broken: cannot tell</summary>") < text.index("</summary>", text.index("broken: cannot") + 40)
    assert "What other suites say is in " in read or text.count("</summary>") >= len(many)


def test_a_hundred_hostile_suites_fit() -> None:
    """As many suites as a step can have, with names and messages that are all markup, still fit, each in a row."""
    hostile = hostile_everywhere()
    many = [
        SuiteOutcome(
            config=HOSTILE * 9,
            suite=f"{number}{HOSTILE * 9}",
            code=2,
            failure=replace(NOT_READY, lines=(HOSTILE * 50,)),
        )
        for number in range(99)
    ]
    many.append(SuiteOutcome(config=HOSTILE, suite=HOSTILE, code=hostile.verdict.exit_code, review=hostile))
    text = suites.render(many, LINKED, links_of)
    assert utf16_units(text) <= COMMENT_UNITS
    assert [found for found in problems(text, links=(OURS,)) if found != "more than the one fence"] == []
    assert text.count("🔧") + text.count("❔") >= 100
