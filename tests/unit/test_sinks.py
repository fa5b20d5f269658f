"""Where foreign text is shown it is harmless, whatever it is, and raggate's own words around it are still there."""

from __future__ import annotations

import contextlib
import io
import json
import re
import unicodedata
from collections.abc import Callable

from hypothesis import example, given, strategies as st

from raggate.action import steps
from raggate.base.errors import CannotTell, RaggateError, UsageError
from raggate.base.quote import cut, quoted
from raggate.frontends import console
from raggate.github.runner import results
from raggate.models.publication import Publication, RunFailure
from raggate.reports import comment, terminal, verdict_file
from rendered import problems, visible
from reviews import foreign
from tries import tried

BEGIN, END = "golden.jsonl:3: case", "expected a text of letters"
MARKS = """
@team #12 GH-3 a1b2c3d4 https://m.example ![i](http://x) [l](javascript:1) <!-- --> <img src=x> </details> ``` ~~~ | \\
> - + * ** _x_ :x: ::error::e ##[error]e ::add-mask::x &amp; 1. # $x$ [!NOTE] ' " 😀
""".split()
UNSEEN = ["\n", "\r\n", "\n\n::error::x", "\x1b[2J", "\0", "\u202e", "\u2066", "\u200b", "\u2028", "\u0085", "\ue000"]
PIECES = st.sampled_from([*MARKS, *UNSEEN])
TEXT = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    st.lists(PIECES, min_size=1, max_size=8).map(" ".join),
    st.lists(PIECES, min_size=1, max_size=8).map("".join),
    st.tuples(PIECES, st.integers(200, 9000)).map(lambda many: many[0] * many[1]),
)
LONGEST = 2100
"""Characters of the longest line that any sink prints."""


def seen(text: str) -> set[str]:
    """Return the characters of a text that nobody should have to look for, but for the two that break up commands."""
    hidden = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    return {character for character in text if unicodedata.category(character) in hidden} - {"\n", "\u200b", "\u2060"}


def errors(text: str) -> list[RaggateError]:
    """Return errors with a text wherever they can hold foreign text."""
    return [
        UsageError(f"{BEGIN} {text} {END}", hint=f"Look {text} again."),
        CannotTell([f"{BEGIN} {text} {END}", f"{text} {END}", f"{BEGIN} {text}"], hint=text, log=(text, text)),
    ]


def printed(show: Callable[[], None]) -> list[str]:
    """Return the lines that are printed to standard error."""
    stream = io.StringIO()
    with contextlib.redirect_stderr(stream):
        show()
    assert stream.getvalue().endswith("\n")
    return stream.getvalue().removesuffix("\n").split("\n")


@given(TEXT)
@example("\ud800")
@example("x" * 100_000)
@example("\u200b" * 100_000)
def test_log(text: str) -> None:
    """An error has exactly its own lines in a log: no command, nothing unseen, and its first and last words stay."""
    for error in errors(text):
        lines = printed(lambda error=error: console.say_error(error))  # type: ignore[misc]
        assert len(lines) == len(error.lines) + bool(error.hint) + bool(error.log) + len(error.log)
        assert BEGIN in lines[0]
        assert lines[0].endswith(END)
        for line in lines:
            assert not seen(line)
            assert not line.startswith("::")
            assert "##[" not in line
            assert len(line) <= LONGEST


@tried(12)
@given(TEXT)
@example("\ud800")
def test_words_of_a_step(text: str) -> None:
    """What a step of a workflow says is one harmless line."""
    (line,) = printed(lambda: console.say(f"{BEGIN} {text} {END}"))
    assert line.startswith(f"raggate: {BEGIN}")
    assert line.endswith(END)
    assert not seen(line)
    assert "##[" not in line


@tried(12)
@given(TEXT)
@example("\ud800")
def test_annotation_of_a_step(text: str) -> None:
    """A warning is one log command, which ends with raggate's words."""
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        steps.warn("not shown", f"{BEGIN} {text} {END}")
    (line,) = stream.getvalue().removesuffix("\n").split("\n")
    assert line.startswith(f"::warning title=not shown::{BEGIN}")
    assert line.endswith(END)
    assert not seen(line)


@tried(8)
@given(TEXT)
@example("x" * 100_000)
def test_pages_without_a_verdict(text: str) -> None:
    """Comment, alert, summary and summary.md of an error hold it as text alone, its first and last words included."""
    for error in errors(text):
        failed = RunFailure.of(error, "notes", run_id="run-1")
        whole = [comment.render(failed, Publication()), comment.render_whole(failed), results.summary(None, error, 2)]
        for page in (*whole, comment.render_alert(failed, Publication())):
            assert list(problems(page)) == []
            assert not seen(page)
            assert BEGIN in visible(page)
            assert END in visible(page)
        for page in whole:
            alert = [line for line in page.split("\n") if line.startswith(">") and "[!" not in line]
            assert len(alert) == len(error.lines)


@tried(8)
@given(TEXT)
def test_verdict_file_without_a_verdict(text: str) -> None:
    """The sentences of verdict.json are printable and keep their first and last words."""
    for error in errors(text):
        value = json.loads("".join(verdict_file.render(RunFailure.of(error, "notes", run_id="run-1"))))
        sentences = [value["headline"], value["hint"], *value["log"], *(one["message"] for one in value["reasons"])]
        assert value["headline"].startswith(BEGIN)
        assert END in value["headline"] or len(error.lines) > 1
        assert not any(seen(sentence) or "\n" in sentence or len(sentence) > LONGEST for sentence in sentences)


@tried(6)
@given(TEXT)
def test_reports_of_a_verdict(text: str) -> None:
    """Reasons, findings and what is said of questions are printable and bounded, on a terminal and in verdict.json."""
    review = foreign(text, flips=2)
    shown = terminal.render(review, width=140, color=False)
    assert not seen(shown)
    assert "##[" not in shown
    assert not re.search(r"^\s*::", shown, re.MULTILINE)
    value = json.loads("".join(verdict_file.render(review)))
    sentences = [
        value["headline"],
        *(one["message"] for one in (*value["reasons"], *value["warnings"], *value["invariants"])),
        *(text for one in value["invariants"] for text in one["examples"]),
        *(one[key] or "" for one in value["flips"] for key in ("gold", "why", "displaced_by")),
        *(text for one in (*value["config_changes"], *value["preview"]["settings"]) for text in one),
        *value["preview"]["problems"],
        *value["dependencies"],
        *value["log"],
    ]
    assert not any(seen(sentence) or "\n" in sentence or len(sentence) > LONGEST for sentence in sentences)


@tried(12)
@given(TEXT)
@example("\ud800")
def test_an_error_has_the_lines_it_was_given(text: str) -> None:
    """A line break within a text is foreign: it makes no line."""
    assert len(UsageError(text).lines) == 1
    assert UsageError(text).message.count("\n") == 0
    assert CannotTell([text, text]).message.count("\n") == 1


@given(TEXT, st.integers(5, 80))
@example("'", 5)
@example("\u202e" * 9, 20)
def test_quoted_values(text: str, limit: int) -> None:
    """A quoted value is one printable word of bounded length that ends where its quotes do."""
    word = quoted(text, limit=limit)
    assert len(word) <= limit + 2
    assert not seen(word)
    assert "\n" not in word
    assert word[0] == word[-1]
    assert word[0] in "'\""
    assert len(cut(text, limit=limit)) <= limit
