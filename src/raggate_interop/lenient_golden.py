"""A golden set read as helloworld's own scripts read it: what they pass over is left out and counted, not refused.

For scoring and import alone. What judges a change is read strictly.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from raggate.errors import UsageError
from raggate.inputs import golden
from raggate.inputs.golden_rules import broken_rule
from raggate.models.case_hash import digest
from raggate.models.golden import Case, Golden
from raggate.text.jsonio import dumps, loads
from raggate.text.problems import problems_of
from raggate.text.quote import quoted

SHOWN = 10
"""How many lines that are left out are named, each with its reason."""

_NEEDED = ("id", "question", "answerable")


class _Passed(Struct):
    """What was passed over: lines with their reasons, keys and rules with how many cases they are of."""

    lines: dict[int, str] = field(default_factory=dict)
    keys: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)


def load(data: bytes, name: str, *, rules: bool = False) -> tuple[Golden, tuple[str, ...]]:
    """Read what can be read of a golden set. Also tell how much was left out, and why; empty when nothing was.

    A line that is no case is left out, and so are keys that are unknown or of another type. A blank heading is the
    whole note, as is none; without `answerable` a case is; of two lines of one id the last counts.

    Args:
        rules: whether cases that break a rule between their keys, such as a `multi_hop` without groups, are left out
            too. Their scripts score them; raggate's own metrics have no value where such a key is missing.

    Raises:
        UsageError: when no case is left.
    """
    passed = _Passed()
    cases: dict[str, Case] = {}
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            case = _case(line, number, passed, rules=rules)
        except ValueError as error:
            passed.lines[number] = problems_of(error)[0]
            continue
        earlier = cases.get(case.id)
        if earlier is not None:
            passed.lines[earlier.line] = f"line {number} has the same id, {quoted(case.id)}"
        cases[case.id] = case
        if len(cases) > golden.MAX_CASES:
            raise UsageError(f"{name}: expected at most {golden.MAX_CASES} cases")
    notes = _notes(passed, name)
    if not cases:
        raise UsageError([f"{name}: no case is left", *notes])
    kept = list(cases.values())
    return Golden(name=name, cases=tuple(kept), hash=digest(kept)), notes


def _case(line: bytes, number: int, passed: _Passed, *, rules: bool) -> Case:
    """Read a line without what is wrong with it; raises ValueError where nothing is left of it."""
    if len(line) > golden.MAX_LINE_BYTES:
        return golden.read_case(line, number)
    try:
        value = loads(line)
    except ValueError as error:
        raise ValueError(f"not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    kept, removed = _without_faults({"answerable": True, **value})
    case = replace(golden.read_case(dumps(kept), number, rules=False), line=number)
    broken = broken_rule(case)
    if broken and rules:
        raise ValueError(broken)
    passed.keys.update(removed.keys())
    if broken:
        passed.rules[broken] += 1
    return case


def _without_faults(value: dict[str, Any]) -> tuple[dict[str, Any], dict[str, None]]:
    """Return a case without the keys that are not as they should be, and the names of these."""
    kept = {**value}
    supports = value.get("gold_supports")
    if isinstance(supports, list):
        kept["gold_supports"] = [{**support} if isinstance(support, dict) else support for support in supports]
    removed: dict[str, None] = {}
    for path in golden.faults(value):
        if path[0] == "gold_supports" and len(path) > 2 and isinstance(kept["gold_supports"][path[1]], dict):
            # a support stays where it stands, as groups name it by its place
            if path[2] != "rel_path" and kept["gold_supports"][path[1]].pop(path[2], None) is not None:
                removed[f"gold_supports.{path[2]}"] = None
        elif path[0] not in (*_NEEDED, "gold_supports") and str(path[0]) in kept:
            del kept[str(path[0])]
            removed[str(path[0])] = None
    return kept, removed


def _notes(passed: _Passed, name: str) -> tuple[str, ...]:
    notes = [f"{name}: {_count(count)} that the gate refuses: {rule}" for rule, count in passed.rules.items()]
    notes += [f"{name}: key {quoted(key)} is left out of {_count(count)}" for key, count in passed.keys.items()]
    if passed.lines:
        count = len(passed.lines)
        notes.append(f"{name}: {count} {'line is' if count == 1 else 'lines are'} left out")
        notes += [f"{name}:{number}: {reason}" for number, reason in sorted(passed.lines.items())[:SHOWN]]
        if count > SHOWN:
            notes.append(f"… and {count - SHOWN} more")
    return tuple(notes)


def _count(cases: int) -> str:
    return f"{cases} case{'' if cases == 1 else 's'}"
