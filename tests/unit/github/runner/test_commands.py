"""Outputs, state, summary and annotations are what the runner reads, whatever text they hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st

from e2e import grammar
from raggate.base import escape
from raggate.github.runner import commands

TOKEN = "ghs_anExampleThatOpensNothing0123456789"  # noqa: S105
NAME = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,20}", fullmatch=True)
PIECES = r"\n \r \r\n :: ##[ ] ::error::x ##[warning]b ::stop-commands::t << = EOF %0A % ghadelimiter_ ::add-mask::e"
OTHERS = ("##[set-output name=a]b", "\u2028", "\x85", "\x0b", "\x1b[31m", "\0", "\ufeff", " ", "\x1c")
HOSTILE = st.sampled_from([*(piece.replace(r"\r", "\r").replace(r"\n", "\n") for piece in PIECES.split()), *OTHERS])
TEXT = st.one_of(st.text(max_size=80), st.lists(HOSTILE | st.text(max_size=4), max_size=15).map("".join))


@given(st.dictionaries(NAME, TEXT, max_size=5))
@example({"a": "", "b": "\n", "c": "x\n\n", "d": "EOF\na=b"})
def test_values_come_back(tmp_path_factory: pytest.TempPathFactory, values: dict[str, str]) -> None:
    """The runner reads back exactly the values that were written, for every text a file can hold."""
    path = tmp_path_factory.mktemp("values") / "file"
    commands.set_values(path, values)
    assert grammar.values(path.read_bytes().decode()) == {
        name: value.encode("utf-8", "replace").decode() for name, value in values.items()
    }


def test_a_value_that_holds_its_delimiter_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A foreseen delimiter is refused, and nothing is written."""
    monkeypatch.setattr("secrets.token_hex", lambda _: "f00")
    with pytest.raises(ValueError, match="delimiter"):
        commands.set_values(tmp_path / "file", {"a": "x\nghadelimiter_f00\nverdict=pass"})
    assert not (tmp_path / "file").exists()


@pytest.mark.parametrize("name", ["", "a=b", "a<<b", "a\nb", "ä", "1a"])
def test_a_name_the_runner_would_misread_is_refused(tmp_path: Path, name: str) -> None:
    """A name with a character of the grammar is refused."""
    with pytest.raises(ValueError, match="not a name"):
        commands.set_values(tmp_path / "file", {name: "x"})


@given(st.lists(st.sampled_from(["<details>", "é" * 30, "text", ""]), max_size=60))
def test_summary_is_bounded(lines: list[str]) -> None:
    """A cut summary stays within its bytes, ends after a whole line, and says above that it is cut."""
    text = "".join(f"{line}\n" for line in lines)
    for limit in (0, 50, 200, 600):
        cut = commands.bounded(text, limit)
        assert len(cut.encode()) <= limit
        if cut and cut != text:
            kept = cut.removeprefix(commands._CUT)
            assert kept != cut
            assert kept == "" or text.startswith(f"{kept}\n")


@given(TEXT, TEXT)
@example("t,a:b", "100%\r\n::error::x")
def test_annotation_is_one_command(title: str, message: str) -> None:
    """An annotation is one line and one command, and says what it was given."""
    line = commands.annotation("warning", title, message)
    (found,) = grammar.Log().feed(line + "\n").commands
    assert found.name == "warning"
    assert found.data == message[:4096]
    # the runner drops white space at the end of all properties
    assert found.properties["title"].strip() == title[:255].strip()


@given(TEXT)
@example("\u2003::error::forged")
@example("\x1f::set-output name=verdict::pass")
def test_a_log_line_is_never_a_command(text: str) -> None:
    """No foreign text that goes through log_line is a command to the runner, at the start of a line or within one."""
    safe = escape.log_line(text)
    for line in (safe, f"raggate: {safe}", f"  | {safe}", f"  {safe}"):
        assert grammar.lines(line) in ([line], [])
        assert grammar.parse(line) is None


@given(st.lists(st.text(max_size=60), max_size=8))
def test_nothing_is_a_command_while_commands_are_stopped(lines: list[str]) -> None:
    """Whatever is written between the fences, the runner reads no command in it, and reads commands again after it."""
    written: list[str] = []
    with commands.stopped(written.append):
        written.extend(lines)
    written.append("::notice::after")
    found = grammar.Log().feed("\n".join(written) + "\n")
    assert [note.data for note in found.annotations] == ["after"]


def test_fences_cannot_be_foreseen() -> None:
    """Every fence has a token of 128 bits of its own."""
    written: list[str] = []
    for _ in range(2):
        with commands.stopped(written.append):
            pass
    tokens = {line.rpartition("::")[2] or line.strip(":") for line in written}
    assert len(tokens) == 2
    assert all(len(token) == 32 for token in tokens)


def test_mask_commands() -> None:
    """Every shape has its command of one line, and no shape has two."""
    masks = commands.mask([TOKEN, "50%\nof this", TOKEN])
    assert f"::add-mask::{TOKEN}" in masks
    assert "::add-mask::50%25%0Aof this" in masks
    assert len(masks) == len(set(masks))


def test_what_is_too_short_is_not_masked() -> None:
    """Hiding a short value would blacken the log."""
    assert commands.mask(["", "a", "12345"]) == []
