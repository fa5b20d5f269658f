"""YAML with line numbers: YAML 1.2's core schema, without duplicate keys, bounded; and errors that say where."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import lru_cache
from typing import Any

import yaml
from msgspec import Struct, field

from raggate.base.dates import within
from raggate.base.errors import FileProblems, Problem, UsageError
from raggate.base.numbers import rounded, setting
from raggate.base.quote import cut, nearest, quoted

MAX_BYTES = 64 << 10
"""The largest configuration."""

MAX_SUITE_BYTES = 1 << 20
"""The largest golden set in YAML."""

MAX_DEPTH = 30
MAX_LISTED = 200
"""Characters of a text whose words a message writes as a list."""
MAX_NODES = 50_000
START_S, S_PER_MIB = 20.0, 160.0
"""Seconds that a parse may take, and further ones per MiB: ten times what the slowest text measured takes."""

Path = tuple[int | str, ...]

_PLAIN, _STR = "", "tag:yaml.org,2002:str"
_COLLECTIONS: dict[type[yaml.Node], str] = {
    yaml.MappingNode: "tag:yaml.org,2002:map",
    yaml.SequenceNode: "tag:yaml.org,2002:seq",
}
_DECIMAL = re.compile(r"[-+]?[0-9]+\Z")
_BASED = re.compile(r"(?:0o[0-7]+|0x[0-9a-fA-F]+)\Z")
_MOST_DIGITS = 1000
_REAL = re.compile(
    r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z"
)
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}

_WIDTH = 100_000


class Document(Struct, frozen=True):
    """A parsed file: its value, by path the line (from 1) of every key and item, and the letters of every scalar."""

    name: str
    value: Any
    lines: dict[Path, int]
    texts: dict[Path, str] = field(default_factory=dict)

    def line(self, path: Path) -> int:
        """Return the line of the nearest enclosing node that is in the file."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def parse(data: bytes, name: str, *, max_bytes: int = MAX_BYTES) -> Document:
    """Parse one YAML document. The same bytes are parsed once, whoever asks for them and by which name."""
    if len(data) > max_bytes:
        raise UsageError(f"{name}: the file has {len(data)} bytes, expected at most {max_bytes}")
    read = _read(data)
    if isinstance(read, _Refused):
        raise FileProblems("invalid-config", [Problem(name, read.line, read.message)], hint=read.hint)
    # a copy, as what is remembered is everybody's
    return Document(name=name, value=deepcopy(read[0]), lines=read[1], texts=read[2])


class _Refused(Exception):
    """A document that is refused: the line or 0, what is wrong, what to do."""

    def __init__(self, line: int | None, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.line = line or 0
        self.message = message
        self.hint = hint


@lru_cache(maxsize=4)
def _read(data: bytes) -> tuple[Any, dict[Path, int], dict[Path, str]] | _Refused:
    seconds = START_S + S_PER_MIB * len(data) / (1 << 20)
    try:
        allowed = setting(rounded(seconds, 2))
        with within(seconds, UsageError(f"not read within {allowed} s, although YAML of its size needs less")):
            reader = _Reader()
            node = _node(data)
            return (None if node is None else reader.read(node, ())), reader.lines, reader.texts
    except _Refused as refused:
        return refused
    except UsageError as late:
        return _Refused(None, late.message)


def _node(data: bytes) -> yaml.Node | None:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _Refused(line, f"not valid UTF-8 at byte {error.start}", "Save the file as UTF-8.") from None
    for number, line_text in enumerate(text.splitlines(), 1):
        if line_text.startswith(("<<<<<<<", ">>>>>>>")):
            raise _Refused(number, "unresolved merge conflict", "Resolve the conflict and commit again.")
    try:
        return yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        raise _Refused(mark.line + 1 if mark else None, f"not valid YAML: {cut(problem)}") from None
    except (ValueError, OverflowError) as error:
        # PyYAML lets these through for numbers out of range in an escape or a directive:
        # https://github.com/yaml/pyyaml/issues/634 and https://github.com/yaml/pyyaml/issues/843
        raise _Refused(None, f"not valid YAML: {error}") from None
    except RecursionError:
        raise _Refused(None, f"nested too deeply: at most {MAX_DEPTH} levels are allowed") from None


def explain(document: Document, path: Path, problem: Mapping[str, Any], known_keys: tuple[str, ...]) -> str:
    """Turn one pydantic problem into `file:line: key: what was expected; what was found`."""
    return f"{document.name}:{document.line(path)}: {sentence(path, problem, known_keys)}"


def sentence(path: Path, problem: Mapping[str, Any], known_keys: tuple[str, ...]) -> str:
    """Return the message about one key: what was expected, what was found, and the nearest known key."""
    key = dotted(path)
    if problem["type"] == "extra_forbidden":
        close = nearest(str(path[-1]), known_keys)
        advice = f"Did you mean {close!r}?" if close else f"Known here: {', '.join(known_keys)}"
        return f"unknown key {quoted(key)}. {advice}"
    if problem["type"] == "missing":
        return f"key {quoted(key)} is missing"
    # the whole document is no value to show
    expected, value = _expectation(problem), one_line(problem["input"], limit=80) if path else ""
    found = f" Found {value}." if expected.endswith((".", "?")) else f", found {value}"
    return f"{cut(key)}: {expected}{found if value else ''}"


def one_line(value: object, *, limit: int) -> str:
    """Show a value that was found, in one line."""
    try:
        return cut(repr(value), limit=limit)
    except RecursionError:
        return "something nested too deeply"


_EXPECTED = {
    "model_type": "a mapping",
    "dict_type": "a mapping",
    "too_short": "at least {min_length} item(s)",
    "string_too_short": "at least {min_length} character(s)",
    "string_pattern_mismatch": "text that matches {pattern}",
}
"""What a problem of pydantic expected, by its type, where its own message is not plain."""


def _expectation(problem: Mapping[str, Any]) -> str:
    if problem["type"] == "list_type":
        return f"expected a list{_as_list(problem['input'])}"
    if problem["type"] in _EXPECTED:
        return "expected " + _EXPECTED[problem["type"]].format(**problem.get("ctx", {}))
    message = re.sub(r"^Value error, |^Input should (?:be )?", "", str(problem["msg"]))
    return message if message.startswith("expected") else f"expected {message}"


def _as_list(value: object) -> str:
    """Write the words of a text as the list that was probably meant, in YAML and JSON; nothing for any other value."""
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_LISTED or re.search(r'["\\]', value):
        return ""
    return ", such as [" + ", ".join(f'"{word}"' for word in value.split()) + "]"


def dotted(path: Path) -> str:
    """Write a path as people write it: `api.command.build[0]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.lstrip(".") or "the document"


class _Loader(yaml.SafeLoader):
    """Takes every plain word for text: `_scalar` decides what it means, not YAML 1.1."""

    def resolve(self, kind: type[yaml.Node], value: str | None, implicit: Any) -> str:
        """Return the tag of a node that names none."""
        if kind is yaml.ScalarNode:
            return _PLAIN if implicit[0] else _STR
        return _COLLECTIONS[kind]


class _Reader:
    def __init__(self) -> None:
        self.lines: dict[Path, int] = {}
        self.texts: dict[Path, str] = {}
        self._nodes = 0

    def read(self, node: yaml.Node, path: Path) -> Any:
        self._nodes += 1
        line = node.start_mark.line + 1
        self.lines.setdefault(path, line)
        # aliases make one node stand in many places, so what is bounded is the expanded size
        if len(path) > MAX_DEPTH or self._nodes > MAX_NODES:
            raise _Refused(line, "too large or too deep once aliases are expanded")
        if isinstance(node, yaml.ScalarNode):
            self.texts[path] = str(node.value)
            return _scalar(node, line)
        if node.tag != _COLLECTIONS[type(node)]:
            raise _Refused(line, f"unexpected tag {quoted(node.tag)}")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        return [self.read(item, (*path, index)) for index, item in enumerate(node.value)]

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            # `off:` or `1:` as a key would silently become something else than what stands in the file
            if not isinstance(key_node, yaml.ScalarNode):
                raise _Refused(line, "expected a plain key")
            key = str(key_node.value)
            if key in result:
                raise _Refused(line, f"key {quoted(dotted((*path, key)))} occurs twice")
            self.lines[(*path, key)] = line
            result[key] = self.read(value_node, (*path, key))
        return result


def _scalar(node: yaml.ScalarNode, line: int) -> Any:
    """Read a word: a plain one as the core schema of YAML 1.2 does."""
    text = str(node.value)
    if node.tag == _STR:
        return text
    if node.tag != _PLAIN:
        raise _Refused(line, f"unexpected tag {quoted(node.tag)}")
    if text in _WORDS:
        return _WORDS[text]
    if _DECIMAL.match(text) or _BASED.match(text):
        if len(text) > _MOST_DIGITS:
            # Python neither reads nor writes a number of thousands of digits, which would take it long
            raise _Refused(line, f"expected at most {_MOST_DIGITS} digits of a number, found {len(text)}")
        return int(text, 0 if _BASED.match(text) else 10)
    if _REAL.match(text):
        return float(text.replace(".", "") if text[-1] in "fFnN" else text)
    return text


def block(value: Mapping[str, Any], levels: Mapping[str, Any]) -> str:
    """Write a mapping."""
    return "".join(f"{line}\n" for line in _lines(value, levels))


def _lines(value: Mapping[str, Any], levels: Mapping[str, Any]) -> Iterator[str]:
    for key, inner in value.items():
        if key in levels and isinstance(inner, Mapping):
            yield f"{one_yaml_line(key)}:"
            yield from (f"  {line}" for line in _lines(inner, levels[key]))
        else:
            yield f"{one_yaml_line(key)}: {one_yaml_line(inner)}"


def one_yaml_line(value: Any, *, unescaped: bool = False) -> str:
    """Write a value on one line; letters beyond ASCII as they are if they are to be read by people alone."""
    written: str = yaml.safe_dump(
        value, default_flow_style=True, width=_WIDTH, sort_keys=False, allow_unicode=unescaped
    )
    return written.removesuffix("...\n").strip()
