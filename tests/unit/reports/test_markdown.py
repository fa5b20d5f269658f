"""summary.md: what it shows of each kind of review, and that foreign text in it is only ever text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from builders import make_flip
from raggate.escape import plain
from raggate.outcomes import GoldenChanges, Reason, Review
from raggate.reports import markdown
from rendered import problems, tokens, visible
from reviews import HOSTILE, REVIEWS, hostile, passing, regression, review


class MarkdownFile(SingleFileSnapshotExtension):
    """One Markdown file per snapshot, to be read as a reader of the report would."""

    _write_mode = WriteMode.TEXT
    file_extension = "md"


@pytest.fixture
def page(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """Give the snapshot of this test as a Markdown file."""
    return snapshot.use_extension(MarkdownFile)


@pytest.mark.parametrize("name", REVIEWS)
def test_page(name: str, page: SnapshotAssertion) -> None:
    """Each kind of review is rendered as the page that is stored."""
    assert markdown.render(review(name)) == page


@pytest.mark.parametrize("name", REVIEWS)
def test_same_review_same_bytes(name: str) -> None:
    """Two renderings of the same review are the same."""
    assert markdown.render(REVIEWS[name]()) == markdown.render(REVIEWS[name]())


@pytest.mark.parametrize("name", REVIEWS)
def test_nothing_is_live(name: str) -> None:
    """No page of an ordinary review holds a link, a mention, a reference or HTML beyond the report's own."""
    assert list(problems(markdown.render(review(name)))) == []


class TestHostileText:
    """Foreign text wherever foreign text can stand."""

    PAGE = markdown.render(hostile())

    def test_nothing_is_live(self) -> None:
        """Nothing of it becomes a link, image, mention, HTML, emphasis, code, list, or another cell of a table."""
        assert list(problems(self.PAGE)) == []

    def test_it_is_shown_as_it_is(self) -> None:
        """It reads as itself, on one line."""
        assert plain(HOSTILE)[:100] in visible(self.PAGE)

    def test_headings_are_the_reports_own(self) -> None:
        """It adds no heading to those of the report."""
        parsed = tokens(self.PAGE)
        headings = [parsed[place + 1].content for place, token in enumerate(parsed) if token.type == "heading_open"]
        assert [heading.split(" (")[0] for heading in headings] == [
            "⛔ raggate: invariant broken",
            "What is wrong",
            "Metrics",
            "Questions that broke",
            "Warnings",
        ]

    def test_folded_parts_stay_balanced(self) -> None:
        """It closes no folded part of the report and opens none."""
        html = "".join(token.content for token in tokens(self.PAGE) if token.type in {"html_block", "html_inline"})
        for tag in ("details", "summary", "sub"):
            assert html.count(f"<{tag}") == html.count(f"</{tag}>")

    def test_command_with_a_backtick(self) -> None:
        """A command that would break out of its code span is shown as text."""
        assert not [token for token in tokens(self.PAGE) if token.type == "code_inline"]


def test_command_can_be_copied() -> None:
    """The command to reproduce the run stands in the page as it is, whatever a Markdown reader makes of its parts."""
    command = "raggate check --against 'v1|<b>@team_x' --baseline 0123456789abcdef.json"
    page = markdown.render(replace(passing(), reproduce=command))
    assert [token.content for token in tokens(page) if token.type == "code_inline"] == [command]


def with_flips(count: int, kind: str) -> Review:
    """Give a review with so many flips of a kind."""
    review = passing()
    flips = tuple(make_flip(f"q{number}", kind=kind) for number in range(count))
    return replace(review, comparison=replace(review.comparison, flips=flips))


@pytest.mark.parametrize(
    ("kind", "title"),
    [
        pytest.param("broke", "### Questions that broke (25)", id="broke"),
        pytest.param("fixed", "<details><summary>Questions that were fixed (25)</summary>", id="fixed"),
    ],
)
def test_long_lists_of_questions(kind: str, title: str) -> None:
    """A long list of questions is cut, its title has the full number, and the rest is said to be elsewhere."""
    page = markdown.render(with_flips(25, kind))
    assert title in page
    assert "| … and 5 more in verdict.json | |" in page
    assert page.count("expected: ") == markdown.SHOWN_FLIPS


def test_long_lists_of_reasons() -> None:
    """A long list of reasons is cut, and the rest is said to be elsewhere."""
    review = regression()
    reasons = tuple(Reason(code="worse", message=f"metric {number}") for number in range(33))
    page = markdown.render(replace(review, verdict=replace(review.verdict, reasons=reasons)))
    assert "- … and 3 more in verdict.json" in page
    assert page.count("<sub>worse</sub>") == 30


def test_lists_that_just_fit() -> None:
    """A list of exactly as many entries as are shown is not said to go on."""
    assert "more in verdict.json" not in markdown.render(with_flips(markdown.SHOWN_FLIPS, "broke"))
    review = regression()
    reasons = tuple(Reason(code="worse", message=f"metric {number}") for number in range(30))
    assert "more in verdict.json" not in markdown.render(
        replace(review, verdict=replace(review.verdict, reasons=reasons))
    )


@pytest.mark.parametrize(("count", "more"), [pytest.param(40, "", id="fit"), pytest.param(42, "2", id="too-many")])
def test_long_lists_of_slices(count: int, more: str) -> None:
    """A long list of slices is cut, and the rest is said to be elsewhere."""
    review = regression()
    worse = next(row for row in review.verdict.rows if row.delta.slice == "difficulty=hard" and row.status == "worse")
    rows = tuple(replace(worse, delta=replace(worse.delta, slice=f"tag={number}")) for number in range(count))
    page = markdown.render(replace(review, verdict=replace(review.verdict, rows=rows)))
    assert page.count("| tag=") == 40
    assert ("more in verdict.json | | | | | |" in page) == bool(more)
    assert f"| … and {more} more" in page or not more


def test_must_pass_question_is_marked() -> None:
    """A must-pass question that broke is marked as such, and no other one is."""
    assert [line[:30] for line in markdown.render(regression()).splitlines() if "🔒 must pass" in line] == [
        "| What does note 7 say about t"
    ]


def test_commit_of_the_trusted_inputs() -> None:
    """The page names the commit that configuration, golden set, vault and baseline are from, if they are from one."""
    assert "baseline are those of commit 0123456789ab\n" in visible_lines(regression())
    assert "those of commit" not in visible_lines(passing())


def test_files_that_were_not_used() -> None:
    """The page names the files that the commit's own were read in place of, if there are any."""
    review = regression()
    ignored = replace(review, run=replace(review.run, config={"ignored": ["golden.jsonl", "notes/a.md"]}))
    assert "Not used, because the commit's own count: golden.jsonl, notes/a.md\n" in visible_lines(ignored)
    assert "Not used" not in visible_lines(review)


def test_refiled_and_released_cases() -> None:
    """The page lists the cases that were filed elsewhere and those that need not pass any more."""
    review = regression()
    golden = GoldenChanges(refiled=("q01", "q02"), released=("q03",))
    text = visible_lines(replace(review, comparison=replace(review.comparison, golden=golden)))
    assert "golden set, refiled: q01, q02" in text
    assert "golden set, no longer must-pass: q03" in text


def visible_lines(review: Review) -> str:
    """Give the visible text of a page, with line breaks where the source has them."""
    parsed = tokens(markdown.render(review))
    breaks = {"softbreak": "\n", "hardbreak": "\n"}
    pieces = (
        breaks.get(token.type, token.content if token.type in {"text", "text_special"} else "") for token in parsed
    )
    return "".join(pieces).replace("\u2060", "")
