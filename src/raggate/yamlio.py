"""YAML with line numbers: safe, without duplicate keys, bounded; and errors that say where."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from raggate.errors import UsageError
from raggate.escape import plain

MAX_BYTES = 1 << 20
MAX_DEPTH = 30
MAX_NODES = 50_000

Path = tuple[int | str, ...]

_COLLECTIONS: dict[type[yaml.Node], str] = {
    yaml.MappingNode: "tag:yaml.org,2002:map",
    yaml.SequenceNode: "tag:yaml.org,2002:seq",
}


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file: its value, and the line (from 1) of every key and item by path."""

    name: str
    value: Any
    lines: dict[Path, int]

    def line(self, path: Path) -> int:
        """Give the line of the nearest enclosing node that is in the file."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def parse(data: bytes, name: str) -> Document:
    """Parse one YAML document.

    Raises:
        UsageError: for bytes that are not UTF-8, syntax errors, unresolved merge conflicts, duplicate keys, keys that
            are not text, unknown tags, and documents too large or too deep.
    """
    if len(data) > MAX_BYTES:
        raise UsageError(f"{name}: the file has {len(data)} bytes, expected at most {MAX_BYTES}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{name}: not valid UTF-8 at byte {error.start}", hint="Save the file as UTF-8.") from None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(("<<<<<<<", ">>>>>>>")):
            raise UsageError(f"{name}:{number}: unresolved merge conflict", hint="Resolve it and commit again.")
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise UsageError(_syntax_error(error, name)) from None
    except (ValueError, OverflowError) as error:
        # PyYAML lets these through for numbers out of range in an escape or a directive
        raise UsageError(f"{name}: not valid YAML: {plain(str(error))}") from None
    except RecursionError:
        raise UsageError(f"{name}: nested too deeply, expected at most {MAX_DEPTH} levels") from None
    reader = _Reader(name)
    value = reader.read(node, ()) if node is not None else None
    return Document(name=name, value=value, lines=reader.lines)


def explain(document: Document, path: Path, problem: Mapping[str, Any], known: tuple[str, ...]) -> str:
    """Turn one pydantic problem into `file:line: key: what was expected; what was found`."""
    return f"{document.name}:{document.line(path)}: {sentence(path, problem, known)}"


def sentence(path: Path, problem: Mapping[str, Any], known: tuple[str, ...]) -> str:
    """Say what is wrong with one key: what was expected, what was found, and the nearest of the known keys."""
    key = plain(dotted(path))
    if problem["type"] == "extra_forbidden":
        nearest = difflib.get_close_matches(str(path[-1]), known, n=1)
        advice = f"did you mean {nearest[0]!r}?" if nearest else f"known here: {', '.join(known)}"
        return f"unknown key {key!r}; {advice}"
    if problem["type"] == "missing":
        return f"key {key!r} is missing"
    return f"{key}: {_expectation(problem)}; found {shown(problem['input'], limit=80)}"


def shown(value: object, *, limit: int) -> str:
    """Show a value that was found, in one line."""
    try:
        return plain(repr(value), limit=limit)
    except RecursionError:
        return "something nested too deeply"


def _expectation(problem: Mapping[str, Any]) -> str:
    limits = problem.get("ctx", {})
    if problem["type"] in {"model_type", "dict_type"}:
        return "expected a mapping"
    if problem["type"] == "too_short":
        return f"expected at least {limits['min_length']} item(s)"
    if problem["type"] == "string_too_short":
        return f"expected at least {limits['min_length']} character(s)"
    if problem["type"] == "string_pattern_mismatch":
        return f"expected text that matches {limits['pattern']}"
    message = str(problem["msg"])
    for opening in ("Value error, ", "Input should be ", "Input should "):
        message = message.removeprefix(opening)
    return message if message.startswith("expected") else f"expected {message}"


def dotted(path: Path) -> str:
    """Write a path as people write it: `api.command.build[0]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.lstrip(".") or "the document"


class _Loader(yaml.SafeLoader):
    """Only `true` and `false` are booleans, as in YAML 1.2: `off` is a word like any other."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - the name is PyYAML's
        first: [(tag, pattern) for tag, pattern in resolvers if first not in "yYnNoO" or not tag.endswith(":bool")]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


class _Reader:
    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: dict[Path, int] = {}
        self._constructor = _Loader("")
        self._nodes = 0

    def read(self, node: yaml.Node, path: Path) -> Any:
        self._nodes += 1
        line = node.start_mark.line + 1
        self.lines.setdefault(path, line)
        # aliases make one node stand in many places, so what is bounded is the expanded size
        if len(path) > MAX_DEPTH or self._nodes > MAX_NODES:
            raise UsageError(f"{self.name}:{line}: too large or too deep once aliases are expanded")
        expected = _COLLECTIONS.get(type(node))
        if node.tag != expected and (expected or node.tag in _COLLECTIONS.values()):
            raise UsageError(f"{self.name}:{line}: unexpected tag {plain(node.tag)!r}")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(item, (*path, index)) for index, item in enumerate(node.value)]
        try:
            return self._constructor.construct_object(node)
        except (yaml.YAMLError, ValueError, LookupError, AttributeError, OverflowError) as error:
            # what PyYAML raises for a text that does not fit its explicit tag
            raise UsageError(f"{self.name}:{line}: {plain(str(error))}") from None

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            # `off:` or `1:` as a key would silently become something else than what stands in the file
            if not isinstance(key_node, yaml.ScalarNode):
                raise UsageError(f"{self.name}:{line}: expected a plain key")
            key = str(key_node.value)
            if key in result:
                raise UsageError(f"{self.name}:{line}: key {plain(dotted((*path, key)))!r} stands twice")
            self.lines[(*path, key)] = line
            result[key] = self.read(value_node, (*path, key))
        return result


def _syntax_error(error: yaml.YAMLError, name: str) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    place = f"{name}:{mark.line + 1}" if mark else name
    return f"{place}: not valid YAML: {plain(str(problem))}"
