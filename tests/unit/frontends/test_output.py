"""`--json`, `--quiet` and colours: what programs read, and how much people do."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import example, given, strategies as st
from jsonschema import Draft202012Validator
from tools import output_schema

from here import Done, called
from raggate.base.errors import CannotTell, FileProblems, Problem, RaggateError, UsageError
from raggate.cli import main
from raggate.frontends import console, output
from raggate.models.answer import Answer
from tables import each_row

SHIPPED = json.loads((Path(main.__file__).parent / "output.schema.json").read_text(encoding="utf-8"))
VALID = Draft202012Validator(SHIPPED)


def run(at: Path, *arguments: str, **environment: str) -> Done:
    """Run the command line in a directory."""
    return called(lambda: main.run_command(arguments), at=at, environment=environment)


def told(at: Path, *arguments: str) -> dict[str, Any]:
    """Run it; standard output is one document that the shipped schema accepts."""
    done = run(at, *arguments)
    document: dict[str, Any] = json.loads(done.out)
    VALID.validate(document)
    assert document["exit_code"] == done.code
    return document


def test_the_schema_is_one() -> None:
    """The shipped file is a JSON Schema, and has a result for every command."""
    Draft202012Validator.check_schema(SHIPPED)
    described = [rule["if"]["properties"]["command"]["const"] for rule in SHIPPED["allOf"]]
    assert described == list(output_schema.commands())


def test_every_command_takes_the_flags() -> None:
    """--json and -q are known to every command, each once."""
    for name, command in output_schema.commands().items():
        flags = [flag for parameter in command.params for flag in parameter.opts]
        for flag in ("--json", "-q", "--quiet"):
            assert flags.count(flag) == 1, (name, flag)


def test_the_schema_refuses() -> None:
    """A document without a key, of an unknown command, or with a result of another shape is refused."""
    good = output.document("golden add", Answer({"golden": "g", "case": {}}))
    VALID.validate(good)
    for wrong in (
        {**good, "schema": "raggate/output/2"},
        {**good, "command": "nope"},
        {**good, "exit_code": 6},
        {**good, "result": {"golden": "g"}},
        {**good, "result": {"golden": 1, "case": {}}},
        {key: value for key, value in good.items() if key != "error"},
    ):
        assert not VALID.is_valid(wrong), wrong


def test_a_flag_that_nobody_knows(tmp_path: Path) -> None:
    """A mistake in the flags is JSON too, wherever --json stands; behind `--` it is no flag."""
    for words in (("lint", "--nope", "--json"), ("--json", "lint", "--nope"), ("--json", "nope")):
        error = told(tmp_path, *words)["error"]
        assert (error["code"], error["exit_code"]) == ("usage-error", 2)
        assert "nope" in error["message"]
    assert run(tmp_path, "lint", "--nope", "--", "--json").out == ""


def test_an_error_has_its_parts(tmp_path: Path) -> None:
    """A file that is not there: code, message and hint, on standard error in words as well."""
    done = run(tmp_path, "check", "--json")
    error = json.loads(done.out)["error"]
    assert error["message"] == "raggate.yml: no such file"
    assert "raggate init" in error["hint"]
    assert "usage error: raggate.yml: no such file" in done.err


def test_places_are_told_apart() -> None:
    """Of files that are wrong every place has its file, line and key, and the check its name."""
    error = FileProblems("gold-heading", [Problem("a.jsonl", 3, "no such heading", "q1")], hint="Correct it.")
    document = output.document("check", 2, error)
    VALID.validate(document)
    assert document["error"]["check"] == "gold-heading"
    assert document["error"]["problems"] == [{"file": "a.jsonl", "line": 3, "text": "no such heading", "key": "q1"}]


@each_row(
    ("code", "error", "name"),
    [
        (2, UsageError("x"), "usage-error"),
        (3, CannotTell("x"), "cannot-tell"),
        (130, None, "interrupted"),
        (70, None, "internal-error"),
    ],
)
def test_codes_of_errors(code: int, error: RaggateError | None, name: str) -> None:
    """Each kind of end has a code of its own, also the two that no error tells of."""
    document = output.document("check", code, error)
    VALID.validate(document)
    assert document["error"]["code"] == name


def test_an_interrupted_verdict_is_a_result() -> None:
    """An answer with exit code 130 is no error: something was decided."""
    assert output.document("run", Answer({}, 130))["error"] is None


@given(st.text() | st.sampled_from(["\x1b[2J", "::error::x", "##[error]x", "\ud800", "\u202e"]))
@example("\ud800\x1b[31m\n::stop-commands::x")
def test_hostile_text_stays_text(text: str) -> None:
    """Nothing in a result or an error acts in a terminal or a log, and JSON can hold all of it."""
    from raggate.base.jsonio import dumps

    kept = dumps(output.document("score", Answer({"a": {text: [text, Path("x") / "y"]}})), pretty=True).decode()
    failed = dumps(output.document("score", 2, UsageError(text, hint=text, log=(text,))), pretty=True).decode()
    for shown in (kept, failed):
        assert all(character.isprintable() or character == "\n" for character in shown)
        assert "##[" not in shown
        assert not re.search(r"^\s*::", shown, re.MULTILINE)
    readable = text.encode(errors="replace").decode()
    assert json.loads(kept)["result"]["a"] == {readable: [readable, "x/y"]}


def test_commands_with_json_of_their_own(tmp_path: Path) -> None:
    """A flag of a command's own stays what it was; in front of the command it asks for the document."""
    own = next(command for name, command in output_schema.commands().items() if name == "kebab aggregate")
    (flag,) = [parameter for parameter in own.params if "--json" in parameter.opts]
    assert isinstance(flag, click.Option)
    assert flag.help == "Print JSON as kebab does."
    assert told(tmp_path, "--json", "kebab", "aggregate", "nothing")["command"] == "kebab aggregate"


def test_quiet_and_usual(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Quietly, messages on the way are left out and errors are not; afterwards the process speaks again."""
    with output.of_command() as spoken:
        spoken.quiet = True
        console.say("on the way")
        console.say_error(CannotTell("no answer"))
    console.say("afterwards")
    assert capsys.readouterr().err == "raggate: cannot tell: no answer\nraggate: afterwards\n"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@each_row(
    ("environment", "colours"),
    [
        ({}, None),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": ""}, None),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": ""}, None),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
)
@each_row("terminal", [False, True])
def test_colours(environment: dict[str, str], colours: bool | None, *, terminal: bool) -> None:
    """NO_COLOR wins over FORCE_COLOR, which wins over what standard output is; empty variables say nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", _Terminal() if terminal else io.StringIO())
        assert output.coloured(environment) is (terminal if colours is None else colours)
