"""The JSON Schema of what `--json` prints, made of the types that commands return."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin

import click
import msgspec

from raggate.base.errors import ExitCode
from raggate.cli.main import cli
from raggate.frontends import answers
from raggate.frontends.output import SCHEMA
from raggate.models.answer import Answer
from raggate.models.lint import LintDocument
from raggate.models.public_verdict import Verdict
from raggate_interop import evaluate, results as interop

DIALECT = "https://json-schema.org/draft/2020-12/schema"
REF = "#/$defs/"

_NAMES: Mapping[str, Any] = {
    **{name: value for module in (answers, evaluate, interop) for name, value in vars(module).items()},
    "Answer": Answer,
    "LintDocument": LintDocument,
    "Verdict": Verdict,
}
"""What the signatures of commands name, which they import when they are type-checked alone."""

_ATTRIBUTE = re.compile(r"^    (\w+): (.*(?:\n {8,}.*)*)", re.MULTILINE)
_WORDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}


def commands() -> dict[str, click.Command]:
    """Return every command that does something, by what people type."""
    cli.loaded()
    return dict(sorted(_below(cli, ())))


def _below(group: click.Group, path: tuple[str, ...]) -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        inner = (*path, name)
        if not isinstance(command, click.Group) or command.invoke_without_command:
            yield " ".join(inner), command
        if isinstance(command, click.Group):
            yield from _below(command, inner)


def result_types(command: click.Command) -> tuple[Any, ...]:
    """Return the result types of a command, read from its signature."""
    signature = inspect.unwrap(command.callback).__annotations__["return"]  # type: ignore[arg-type]
    hint = eval(signature, dict(_NAMES))  # noqa: S307 - text of this repository
    answers = (hint,) if get_origin(hint) is Answer else tuple(part for part in get_args(hint) if get_args(part))
    return tuple(get_args(answer)[0] for answer in answers)


@cache
def definitions() -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Return the schema of each command's result, and the types that they are made of, by name."""
    types = {name: result_types(command) for name, command in commands().items()}
    parts = [part for parts in types.values() for part in parts]
    schemas, shared = msgspec.json.schema_components(parts, schema_hook=_path, ref_template=f"{REF}{{name}}")
    rest = iter(schemas)
    results = {name: [next(rest) for _ in parts] for name, parts in types.items()}
    made = {name: _described(name, content) for name, content in shared.items()}
    return {name: parts[0] if len(parts) == 1 else {"anyOf": parts} for name, parts in results.items()}, made


def _path(kind: type) -> dict[str, Any]:
    if issubclass(kind, Path):
        return {"type": "string", "format": "path"}
    raise NotImplementedError


def _described(name: str, definition: dict[str, Any]) -> dict[str, Any]:
    """Describe each property by the docstrings of its type and its bases.

    All properties are always there.
    """
    if "properties" not in definition:
        return definition
    about = inspect.cleandoc(definition.get("description", "")).partition("\n\nAttributes:\n")[0]
    bases = inspect.getmro(_NAMES[name])[::-1] if name in _NAMES else ()
    texts = [inspect.getdoc(base) or "" for base in bases] or [inspect.cleandoc(definition.get("description", ""))]
    pairs = [pair for text in texts for pair in _ATTRIBUTE.findall(text.partition("Attributes:\n")[2])]
    meanings = {key: " ".join(text.split()).removesuffix(".") for key, text in pairs}
    properties = {
        key: {word: value for word, value in content.items() if word not in {"title", "default"}}
        | ({"description": meanings[key]} if key in meanings else {})
        for key, content in definition["properties"].items()
    }
    return {
        "type": "object",
        "description": " ".join(about.split()),
        "required": list(properties),
        "properties": properties,
    }


def schema() -> dict[str, Any]:
    """Return the JSON Schema of what `--json` prints."""
    results, shared = definitions()
    rules = [
        {
            "if": {"properties": {"command": {"const": command}}},
            "then": {"properties": {"result": {"anyOf": [result, {"type": "null"}]}}},
        }
        for command, result in results.items()
    ]
    return {
        "$schema": DIALECT,
        "title": "What raggate prints with --json",
        "type": "object",
        "required": ["schema", "command", "exit_code", "result", "error"],
        "properties": {
            "schema": {"const": SCHEMA},
            "command": {"enum": ["", *_groups(), *results]},
            "exit_code": {"enum": [int(code) for code in ExitCode]},
            "result": {"type": ["object", "null"]},
            "error": {"anyOf": [{"$ref": f"{REF}Error"}, {"type": "null"}]},
        },
        "allOf": rules,
        "$defs": {**shared, "Error": _error()},
    }


def _groups() -> list[str]:
    paths = [name.split() for name in commands()]
    return sorted({" ".join(words[:end]) for words in paths for end in range(1, len(words))})


def _error() -> dict[str, Any]:
    text, number = {"type": "string"}, {"type": "integer"}
    problem = {"file": text, "line": number, "text": text, "key": text}
    properties = {
        "code": {"enum": ["usage-error", "cannot-tell", "interrupted", "internal-error", "error"]},
        "message": text,
        "hint": text,
        "exit_code": number,
        "check": {"type": ["string", "null"]},
        "problems": {"type": "array", "items": {"type": "object", "required": [*problem], "properties": problem}},
        "run_directory": {"type": ["string", "null"]},
        "log": {"type": "array", "items": text},
    }
    return {"type": "object", "required": [*properties], "properties": properties}
