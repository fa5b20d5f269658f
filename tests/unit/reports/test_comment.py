"""The comments: each kind as a page that was looked at, and foreign text in them is only ever text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from builders import make_flip
from comments import (
    COMMIT,
    KINDS,
    LINKED,
    LINKS,
    NOT_READY,
    OURS,
    PUSHED,
    RELAYED,
    STICKY,
)
from raggate.base.escape import plain
from raggate.models.answer import VerdictKind
from raggate.models.comparison import Reach
from raggate.models.publication import Links, Publication, Push, RunFailure
from raggate.reports import comment, terminal, verdict_file
from raggate.reports.page import report
from raggate.reports.parts import questions
from raggate.reports.parts.document import SMALLEST_LIMIT, utf16_units
from rendered import problems, tokens, visible
from reviews import beside, foreign, passing, regression, reproduced_by, review
from tables import each_row
from tries import tried


@pytest.mark.parametrize("name", KINDS)
def test_page(name: str, page: SnapshotAssertion) -> None:
    """Each kind of comment is the page that is stored, and links nowhere but into the repository."""
    text = KINDS[name]()
    assert text == page
    assert list(problems(text, links=(OURS,))) == []


class TestQuestions:
    """The list of questions that broke."""

    @each_row(
        "links",
        [
            pytest.param(None, id="no-forge"),
            pytest.param(replace(LINKS, commit=None), id="no-commit"),
            pytest.param(replace(LINKS, commit="main"), id="not-a-commit"),
        ],
    )
    def test_place_without_a_commit(self, links: Links | None) -> None:
        """Where the commit is not known the place is text."""
        page = comment.render(review("placed"), Publication(links=links))
        assert "/blob/" not in page
        assert "expected: work/n07" in visible(page)

    def test_path_is_quoted(self) -> None:
        """Every segment of a path is percent-encoded, below the directory of the configuration."""
        found = review("placed")
        places = {name: replace(place, path="a b/ü(1).md") for name, place in found.context.source_lines.items()}
        page = comment.render(
            beside(found, source_lines=places), Publication(links=replace(LINKS, prefix="services/rag/"))
        )
        assert f"]({OURS}blob/{COMMIT}/services/rag/a%20b/%C3%BC%281%29.md?plain=1#L7)" in page

    @each_row("path", ["../../../../evil/x", "a/../b.md", "a//b.md", "./a.md", "/etc/passwd", ""])
    def test_path_that_leaves_the_repository(self, path: str) -> None:
        """A path that a browser would shorten is not linked."""
        found = review("placed")
        places = {name: replace(place, path=path) for name, place in found.context.source_lines.items()}
        assert "/blob/" not in comment.render(beside(found, source_lines=places), LINKED)


class TestPushes:
    """The strip of earlier pushes."""

    def test_each_commit_once(self) -> None:
        """A commit that was judged several times stands by its newest verdict, where that came."""
        verdicts = (("a", "pass"), ("b", "regression"), ("b", "pass"), ("a", "regression"))
        many = tuple(Push(head=head * 40, verdict=verdict, run=run) for run, (head, verdict) in enumerate(verdicts))
        strip = next(
            line for line in comment.render(passing(), replace(PUSHED, pushes=many)).splitlines() if "Pushes" in line
        )
        assert [strip.count(sign) for sign in "✅❌"] == [1, 1]
        assert strip.index("/commit/bb") < strip.index("/commit/aa")

    def test_last_ten(self) -> None:
        """The strip has the last ten pushes, oldest first, each linked to its commit."""
        many = tuple(Push(head=f"{number:02}" + "e" * 38, verdict="pass", run=number) for number in range(12))
        page = comment.render(passing(), replace(PUSHED, pushes=many))
        strip = next(line for line in page.splitlines() if "Pushes" in line)
        assert strip.count("/commit/") == 10
        assert strip.index("/commit/02") < strip.index("/commit/11")


class TestAlert:
    """The short comment that notifies."""

    def test_metrics_when_no_question_is_known(self) -> None:
        """Without single questions it names metrics."""
        found = review("placed")
        page = comment.render_alert(replace(found, comparison=replace(found.comparison, flips=())), LINKED)
        text = visible(page)
        for k in (1, 3):
            assert f"hit@{k} −16.0 pt: 96.0 → 80.0%, worse" in text

    def test_a_run_that_stopped_names_nothing_measured(self) -> None:
        """What was asked until a run stopped is no cause: neither questions nor metrics are named."""
        page = comment.render_alert(review("cannot-tell"), LINKED, sticky=STICKY)
        assert not [line for line in page.splitlines() if line.startswith("- ")]

    def test_address_elsewhere(self) -> None:
        """An address that is not in the repository is not linked."""
        assert "evil" not in comment.render_alert(passing(), LINKED, sticky="https://evil.example/team/notes-api/x")
        assert "](" not in comment.render_alert(passing(), Publication(), sticky=STICKY)


class TestEnded:
    """Runs without a verdict."""

    def test_long_messages_fit(self) -> None:
        """A message of any length fits the smallest limit and keeps its first line."""
        ended = replace(NOT_READY, lines=("@" * 2000,) * 100, hint="|" * 2000, log=("<" * 2000,) * 20)
        page = comment.render(ended, RELAYED, limit=SMALLEST_LIMIT)
        assert utf16_units(page) <= SMALLEST_LIMIT
        assert "@" * 50 in visible(page)
        assert "run the job again" in visible(page)


FRAGMENTS = st.sampled_from(
    "@team #12 GH-3 a1b2c3d4 https://m.example www.m.example ![i](http://x) [l](javascript:1) <!-- --> <img src=x> "
    "</details> <details> </sub> ``` ```` ~~~ | || \\ \\| > - + * ** __ _x_ ~~ :x: ::error::e ##[error]e &amp; &lt; "
    "<https://l.example> mailto:a@b.example 1. # ## === --- $x$ [!NOTE] \u202e \u200b \r \n \t \x1b[31m 😀".split(" ")
)
TEXTS = st.one_of(st.text(max_size=60), st.lists(FRAGMENTS, min_size=1, max_size=8).map(" ".join), FRAGMENTS)


@tried(8)
@given(text=TEXTS)
def test_foreign_text_is_only_text(text: str) -> None:
    """No text of a case, note, answer or setting becomes anything but text, in any of the comments."""
    found = foreign(text)
    publication = Publication(
        links=LINKS,
        notes=(text,),
        pushes=(Push(head=text, verdict=text, run=1), Push(head="a" * 40, verdict="pass", run=2)),
    )
    ended = RunFailure(label=text, exit_code=3, lines=(text,), hint=text, log=(text, text), suite=text)
    pages = (
        comment.render(found, publication),
        comment.render(ended, publication),
        comment.render_alert(found, publication, sticky=STICKY),
        comment.render_alert(found, publication, sticky=text),
        comment.render_alert(ended, publication, sticky=STICKY),
        comment.render_alert(ended, publication, sticky=text, rerun=True),
    )
    for page in pages:
        assert list(problems(page, links=(OURS,))) == []
        assert "<!--" not in page
        headings = [token.tag for token in tokens(page) if token.type == "heading_open"]
        assert headings[:1] in ([], ["h2"])
        assert set(headings[1:]) <= {"h3"}


@each_row(
    ("brings", "steps"),
    [
        ("pass", ["Merge this while the check is not required yet.", "Then require the check."]),
        (
            "regression",
            ["Promote a run of this build, and commit the new baseline", "Merge this while", "Then require"],
        ),
    ],
)
def test_a_first_run_that_brings_a_baseline(brings: VerdictKind, steps: list[str]) -> None:
    """The baseline is named with what it makes of the run, and nobody is told to promote one that is there."""
    page = comment.render(beside(review("introduced"), brings=brings), Publication())
    assert f"It brings a baseline. Compared with that, this run is: {brings}." in visible(page)
    assert "until you merge it with its baseline" in visible(page)
    told = [line for line in page.splitlines() if line.startswith("- ") and any(step in line for step in steps)]
    assert len(told) == len(steps)
    assert "Promote a baseline" not in page


def test_a_first_run_was_judged_by_no_commit() -> None:
    """A first run is held against a commit without a gate: neither comment nor page names that as what judged."""
    for name, named in (("introduced", False), ("regression", True)):
        own = review(name)
        own = replace(own, run=replace(own.run, provenance=replace(own.run.provenance, against="5" * 40)))
        assert ("those of commit 5555555" in visible(comment.render(own, Publication()))) is named
        assert ("Judged by" in report.render(own)) is named


@each_row(
    "likely, label",
    [
        ("Most likely cause: other weights (9 of 9 questions).", "Changed beside the notes:"),
        ("No single cause shows.", "Look first at what changed beside the notes:"),
    ],
)
def test_versions_that_changed_stand_beside_the_cause(likely: str, label: str) -> None:
    """Comment, terminal, page and verdict.json name the same versions, and send you there if no cause shows."""
    red, text = review("regression"), "requirements.txt (haystack-ai 2.20.0 → 3.4.0)"
    assert red.diagnosis is not None
    without = replace(red, diagnosis=replace(red.diagnosis, likely=likely))
    edited = beside(without, dependencies=(text,))
    assert f"\n{label} {text}\n" in terminal.render(edited, width=200, color=False)
    shown = comment.render(edited, Publication())
    assert shown.index(f"\n**{label}** {text}\n") < 1500
    assert f"<p><strong>{label}</strong> {text}</p>" in report.render(edited)
    assert json.loads("".join(verdict_file.render(edited)))["dependencies"] == [text]
    printed = terminal.render(without, width=200, color=False)
    for page in (printed, comment.render(without, Publication()), report.render(without)):
        assert "beside the notes" not in page


@each_row("text", ["````sh", "a ```` b ``` c", "```\n# x"])
def test_command_that_would_close_its_fence(text: str) -> None:
    """The fence is longer than any run of backticks in the command."""
    page = comment.render_whole(reproduced_by(passing(), text))
    assert [token.content for token in tokens(page) if token.type == "fence"] == [plain(text) + "\n"]
    assert list(problems(page)) == []


@each_row(
    ("kind", "title"),
    [("broke", "All questions that broke, by cause"), ("fixed", "Questions that were fixed")],
)
def test_long_lists_of_questions(kind: str, title: str) -> None:
    """A long list of questions is cut, its title has the full number, and the rest is said to be elsewhere."""
    flips = tuple(make_flip(f"q{number}", kind=kind) for number in range(205))
    page = comment.render_whole(replace(passing(), comparison=replace(passing().comparison, flips=flips)))
    assert f"<summary>{title} (205)</summary>" in page
    assert "… and 5 more in verdict.json" in page
    # one is the example of what happened
    assert page.count("**Question q") == questions.SHOWN + (kind == "broke")


def test_must_pass_question_that_was_lost_before() -> None:
    """A must-pass question that did not flip, so that no list has it, is told as a reason."""
    review = regression()
    page = comment.render_whole(replace(review, comparison=replace(review.comparison, flips=())))
    assert "- Must-pass question q07 (hybrid): nothing expected is within rank 5" in page


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


@each_row(
    ("matches", "by_text", "shown"),
    [(0, True, True), (1, True, False), (0, False, False)],
)
def test_what_stops_every_question_is_the_next_step(matches: int, by_text: bool, shown: bool) -> None:
    """If no question has a match, and headings found by the text would mend it, that comes before a look at one."""
    red = review("regression")
    reach = Reach(
        mode="hybrid", questions=9, notes=9, sections=matches, matches=matches, why="some alone", by_text=by_text
    )
    stopped = replace(red, comparison=replace(red.comparison, reach=(reach,)))
    step = "Next: correct what stops every question. Some alone. If you accept the loss"
    for page in (comment.render(stopped, Publication()), terminal.render(stopped, width=900, color=False)):
        assert (step in visible(page).replace("`", "")) is shown
        assert ("ask question" in visible(page)) is not shown
