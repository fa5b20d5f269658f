"""Which comments are commands: hostile text in, one of few commands or a reason out."""

from __future__ import annotations

from hypothesis import given, strategies as st

from raggate.github.commands import MOST_CHARACTERS, TAKES, Command, parse
from tables import each_row

ALONE = f"Write the command alone, on one line of at most {MOST_CHARACTERS} printable characters."


@each_row(
    ("body", "command"),
    [
        ("/raggate recheck", Command(name="recheck")),
        ("/raggate   recheck \r\n", Command(name="recheck")),
        ("/raggate explain q17", Command(name="explain", argument="q17")),
        ("/raggate explain  two words ", Command(name="explain", argument="two words")),
        ("/raggate help", Command(name="help")),
        ("/raggate", Command(name="help")),
        ("/raggate \n", Command(name="help")),
    ],
)
def test_commands(body: str, command: Command) -> None:
    """A command is the whole comment; white space behind it does not count."""
    assert parse(body) == command


@each_row(
    "body",
    [
        "",
        "recheck",
        " /raggate recheck",
        "> /raggate recheck",
        "please /raggate recheck",
        "/raggates",
        "/RAGGATE recheck",
    ],
)
def test_a_comment_for_somebody_else(body: str) -> None:
    """A comment that only mentions raggate, or quotes a command, asks for nothing."""
    assert parse(body) is None


@each_row(
    ("body", "why"),
    [
        ("/raggate rechek", "There is no such command."),
        ("/raggate Recheck", "There is no such command."),
        ("/raggate recheck; rm -rf /", "There is no such command."),
        ("/raggate recheck $(id)", "Write nothing after `recheck`."),
        ("/raggate explain", "`explain` needs the id of a question."),
        ("/raggate\trecheck", ALONE),
        ("/raggate recheck\n/raggate help", ALONE),
        ("/raggate re\u200bcheck", ALONE),
        ("/raggate \u202erecheck", ALONE),
        ("/raggate " + "x" * MOST_CHARACTERS, ALONE),
    ],
)
def test_what_is_no_command(body: str, why: str) -> None:
    """A comment for raggate that is none of the commands to the letter does nothing and says why."""
    assert parse(body) == why


@given(st.text(max_size=60).map("/raggate {}".format) | st.text(max_size=20).map("/raggate recheck{}".format))
def test_no_text_gets_through(body: str) -> None:
    """Whatever follows, a command is one of those there are, and what follows it one printable line."""
    answer = parse(body)
    if isinstance(answer, Command):
        assert answer.name in TAKES
        assert answer.argument.isprintable()
        assert bool(answer.argument) == bool(TAKES[answer.name])
    elif answer is not None:
        assert answer.isascii()
