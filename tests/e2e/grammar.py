"""What GitHub's runner makes of a step's log and files: commands, limits and values, in its own grammar.

Independent of raggate's writers: every rule is taken from the runner's sources (ActionCommand.cs,
ActionCommandManager.cs, FileCommandManager.cs, ExecutionContext.cs of actions/runner 2.336).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

COMMANDS = frozenset(
    "add-mask add-matcher add-path debug echo endgroup error group notice remove-matcher save-state set-env set-output "
    "stop-commands warning".split()
)
ISSUES = ("error", "warning", "notice")
ISSUES_PER_TYPE = 10
MESSAGE_CHARACTERS = 4096
SUMMARY_BYTES = 1 << 20

# what .NET's TrimStart drops, and the four that only Python counts as white space
_WHITE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000\x1c\x1d\x1e\x1f" + "".join(
    map(chr, range(0x2000, 0x200B))
)


@dataclass(frozen=True, slots=True)
class Command:
    """One command the runner would execute."""

    name: str
    properties: dict[str, str]
    data: str


@dataclass(slots=True)
class Log:
    """A step's log as the runner reads it: the lines people see, the commands, and what the limits left of them."""

    lines: list[str] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    annotations: list[Command] = field(default_factory=list)
    dropped: int = 0
    outputs: dict[str, str] = field(default_factory=dict)
    state: dict[str, str] = field(default_factory=dict)
    stopped: str | None = None

    def feed(self, text: str) -> Log:
        """Take the output of a stream, which both of the runner's readers split at a lone carriage return too."""
        for line in lines(text):
            self._line(line)
        return self

    def _line(self, line: str) -> None:
        if self.stopped is not None:
            found = parse(line, frozenset((self.stopped.lower(),)))
            if found is None:
                self.lines.append(line)
            else:
                self.stopped = None
            return
        found = parse(line, COMMANDS)
        if found is None:
            self.lines.append(line)
            return
        self.commands.append(found)
        if found.name == "stop-commands":
            self.stopped = found.data
        elif found.name == "set-output":
            self.outputs[found.properties.get("name", "")] = found.data
        elif found.name == "save-state":
            self.state[found.properties.get("name", "")] = found.data
        elif found.name in ISSUES:
            self._issue(found)

    def _issue(self, found: Command) -> None:
        count = Counter(one.name for one in self.annotations)
        if count[found.name] >= ISSUES_PER_TYPE:
            self.dropped += 1
            return
        self.annotations.append(Command(found.name, found.properties, found.data[:MESSAGE_CHARACTERS]))


def lines(text: str) -> list[str]:
    r"""Split as .NET's StreamReader.ReadLine does: at \n, \r\n and a lone \r, and nowhere else."""
    found = re.split("\r\n|\r|\n", text)
    return found[:-1] if found[-1] == "" else found


def parse(line: str, known: Iterable[str] = COMMANDS) -> Command | None:
    """Read a line as a command: `::name key=value::data` at its start, or `##[name key=value;]data` anywhere."""
    return _parse_v2(line, frozenset(known)) or _parse_v1(line, frozenset(known))


def _parse_v2(line: str, known: frozenset[str]) -> Command | None:
    text = line.lstrip(_WHITE)
    if not text.startswith("::"):
        return None
    end = text.find("::", 2)
    if end < 0:
        return None
    name, _, rest = text[2:end].partition(" ")
    if name.lower() not in known:
        return None
    pairs = [pair.split("=", 1) for pair in rest.strip().split(",") if "=" in pair]
    return Command(name.lower(), {key.strip(): _unescape(value) for key, value in pairs}, _unescape(text[end + 2 :]))


def _parse_v1(line: str, known: frozenset[str]) -> Command | None:
    start = line.find("##[")
    end = line.find("]", start)
    if start < 0 or end < 0:
        return None
    name, _, rest = line[start + 3 : end].partition(" ")
    if name.lower() not in known:
        return None
    pairs = [pair.split("=", 1) for pair in rest.strip().split(";") if "=" in pair]
    return Command(name.lower(), {key.strip(): _unescape(value) for key, value in pairs}, _unescape(line[end + 1 :]))


def _unescape(text: str) -> str:
    for escaped, plain in (("%0D", "\r"), ("%0A", "\n"), ("%5D", "]"), ("%3B", ";"), ("%3A", ":"), ("%2C", ",")):
        text = text.replace(escaped, plain)
    return text.replace("%25", "%")


class FileCommandError(Exception):
    """The runner fails the step over a file of values it cannot read."""


def values(text: str) -> dict[str, str]:
    """Read a file of outputs or state: `name=value`, or `name<<delimiter`, lines, `delimiter`."""
    found: dict[str, str] = {}
    rest = _pieces(text)
    for line, _ in rest:
        equals, heredoc = line.find("="), line.find("<<")
        if heredoc >= 0 and (equals < 0 or heredoc < equals):
            name, _, delimiter = line.partition("<<")
            if not name or not delimiter:
                raise FileCommandError(f"invalid format {line!r}")
            found[name] = _heredoc(rest, delimiter)
        elif equals > 0:
            name, _, value = line.partition("=")
            found[name] = value
        elif line:
            raise FileCommandError(f"invalid format {line!r}")
    return found


def _heredoc(rest: Iterator[tuple[str, str]], delimiter: str) -> str:
    value = ""
    for line, end in rest:
        if line == delimiter:
            return value[:-1]
        if not end:
            raise FileCommandError(f"no line break after {line!r}")
        value += line + end
    raise FileCommandError(f"no matching delimiter {delimiter!r}")


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    r"""Yield lines with what ended them; on Linux only \n does."""
    while text:
        line, end, text = text.partition("\n")
        yield line, end
