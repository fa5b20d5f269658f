"""summary.md and the step summary: what they show of each kind of review, and that foreign text is only ever text."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from builders import make_flip
from raggate.base.escape import plain
from raggate.models.comparison import GoldenChanges
from raggate.models.publication import Links, Publication
from raggate.models.verdict import Reason, Review
from raggate.reports import comment
from raggate.reports.parts import questions
from rendered import problems, tokens
from reviews import (
    BESIDE,
    HOSTILE,
    REVIEWS,
    foreign,
    hostile,
    passing,
    regression,
    reproduced_by,
    review,
)
from tables import each_row


@pytest.mark.parametrize("name", REVIEWS | BESIDE)
def test_page(name: str, page: SnapshotAssertion) -> None:
    """Each kind of review is rendered as the page that is stored."""
    assert comment.render_whole(review(name)) == page


@each_row("name", REVIEWS)
def test_nothing_is_live(name: str) -> None:
    """No page of an ordinary review holds a link, a mention, a reference or HTML beyond the report's own."""
    assert list(problems(comment.render_whole(review(name)))) == []


@pytest.fixture(scope="module")
def hostile_page() -> str:
    """Render foreign text wherever it can stand."""
    return comment.render_whole(hostile())


class TestHostileText:
    """Foreign text wherever foreign text can stand."""

    def test_headings_are_the_reports_own(self, hostile_page: str) -> None:
        """It adds no heading to those of the report."""
        parsed = tokens(hostile_page)
        headings = [parsed[place + 1].content for place, token in enumerate(parsed) if token.type == "heading_open"]
        assert [heading.split(" (")[0] for heading in headings] == [
            "⛔ raggate: invariant broken",
            "Also",
            "The API's last log lines",
            "Invariants not met",
            "Metrics",
            "Questions that broke",
        ]

    def test_folded_parts_stay_balanced(self, hostile_page: str) -> None:
        """It closes no folded part of the report and opens none."""
        html = "".join(token.content for token in tokens(hostile_page) if token.type in {"html_block", "html_inline"})
        for tag in ("details", "summary", "sub"):
            assert html.count(f"<{tag}") == html.count(f"</{tag}>")

    def test_command_with_a_backtick(self, hostile_page: str) -> None:
        """A command with backticks stays inside its code block, whole but for what could be a hidden marker."""
        command = f"raggate check --against '{HOSTILE}'"
        assert [token.content for token in tokens(hostile_page) if token.type == "fence"] == [
            plain(command, limit=1000).replace("<!--", "<\u2060!--").replace("##[", "##\u2060[") + "\n"
        ]


@each_row("text", ["````sh", "a ```` b ``` c", "```\n# x"])
def test_command_that_would_close_its_fence(text: str) -> None:
    """The fence is longer than any run of backticks in the command."""
    page = comment.render_whole(reproduced_by(passing(), text))
    assert [token.content for token in tokens(page) if token.type == "fence"] == [plain(text) + "\n"]
    assert list(problems(page)) == []


def with_flips(count: int, kind: str) -> Review:
    """Return a review with so many flips of a kind."""
    review = passing()
    flips = tuple(make_flip(f"q{number}", kind=kind) for number in range(count))
    return replace(review, comparison=replace(review.comparison, flips=flips))


@each_row(
    ("kind", "title"),
    [
        pytest.param("broke", "<summary>All questions that broke, by cause (205)</summary>", id="broke"),
        pytest.param("fixed", "<details><summary>Questions that were fixed (205)</summary>", id="fixed"),
    ],
)
def test_long_lists_of_questions(kind: str, title: str) -> None:
    """A long list of questions is cut, its title has the full number, and the rest is said to be elsewhere."""
    page = comment.render_whole(with_flips(205, kind))
    assert title in page
    assert "… and 5 more in verdict.json" in page
    # one is the example of what happened
    assert page.count("**Question q") == questions.SHOWN + (kind == "broke")


def test_long_lists_of_reasons() -> None:
    """A long list of reasons is cut, and the rest is said to be elsewhere."""
    page = comment.render_whole(with_reasons(33))
    assert "- … and 3 more in verdict.json" in page
    assert page.count("- Reason ") == 30
    assert "more in verdict.json" not in comment.render_whole(with_reasons(30))


def with_reasons(count: int) -> Review:
    """Return a regression with so many reasons that nothing else tells."""
    review = regression()
    reasons = tuple(Reason(code="vanished", message=f"reason {number}") for number in range(count))
    return replace(review, verdict=replace(review.verdict, reasons=reasons))


def test_must_pass_question_that_was_lost_before() -> None:
    """A must-pass question that did not flip, so that no list has it, is told as a reason."""
    review = regression()
    page = comment.render_whole(replace(review, comparison=replace(review.comparison, flips=())))
    assert "- Must-pass question q07 (hybrid): nothing expected is within rank 5" in page


def test_refiled_and_released_cases() -> None:
    """The page lists the cases that were filed elsewhere and those that need not pass any more."""
    review = regression()
    golden = GoldenChanges(refiled=("q01", "q02"), released=("q03",))
    text = visible_lines(replace(review, comparison=replace(review.comparison, golden=golden)))
    assert "filed elsewhere (2): q01, q02" in text
    assert "no longer must-pass (1): q03" in text


def test_step_summary_has_links_and_a_limit() -> None:
    """The step summary is the same page with links, in as many bytes as it is given."""
    links = Links(server="https://forge.example", repository="team/api", commit="a" * 40)
    full = comment.render_summary(review("placed"), Publication(links=links))
    assert "](https://forge.example/team/api/blob/" in full
    assert list(problems(full, links=("https://forge.example/team/api/",))) == []
    shorter = comment.render_summary(foreign("é" * 300, flips=200), Publication(links=links), limit=40_000)
    assert len(shorter.encode()) <= 40_000
    assert "Shortened to fit" in shorter
    assert "run directory" in shorter


def visible_lines(review: Review) -> str:
    """Return the visible text of a page, with line breaks where the source has them."""
    parsed = tokens(comment.render_whole(review))
    breaks = {"softbreak": "\n", "hardbreak": "\n"}
    pieces = (
        breaks.get(token.type, token.content if token.type in {"text", "text_special"} else "") for token in parsed
    )
    return "".join(pieces).replace("\u2060", "")
