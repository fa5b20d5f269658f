"""Every key of raggate.yml: whether a change of it lets more through, measures something else, or can do neither.

A key that is new needs a row here, and where it can make the gate weaker a line in `loosening.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args, get_origin

import pytest
from pydantic import BaseModel

from raggate.config.invariant_settings import Invariants
from raggate.config.loosening import loosened, remeasured
from raggate.config.schema import Config
from tables import each_row

WAIVER = {"metric": "hit_at_5", "owner": "o", "reason": "r", "expires": "2026-01-01"}


@dataclass(frozen=True, kw_only=True)
class Looser:
    """A key by which more is let through.

    Attributes:
        pairs: values of the key, each less strict than the one before it.
        either: whether the way back lets something else through, and so is named too.
    """

    pairs: tuple[tuple[Any, Any], ...]
    either: bool = False


def looser(before: Any, now: Any, *, either: bool = False) -> Looser:
    """Say that the second value lets more through than the first."""
    return Looser(pairs=((before, now),), either=either)


OTHER = "measures or compares something else"
LATER = "how long it is waited changes no answer"
BACKEND = {
    "build.*": OTHER,
    "build.timeout": LATER,
    "image": OTHER,
    "command": OTHER,
    "env": OTHER,
    "pull": "an image is used or there is none, which nothing is measured by",
    "pass_env": looser([], ["TOKEN"]),
    "user": looser("65534:65534", None),
    "read_only": looser(True, False),
    "tmpfs": looser(["/tmp"], ["/tmp", "/data"]),
    "cap_add": looser([], ["CHOWN"]),
    "memory": looser("512m", "1g"),
    "cpus": looser(1.0, 2.0),
    "pids": looser(128, 256),
}
READY = {
    "ready.*": "a service that is asked too early makes answers worse, or none",
}
LEVELS = {f"invariants.{name}": looser("error", "off") for name in Invariants.model_fields}

KEYS: dict[str, Looser | str] = {
    "version": "there is one",
    "out": "where the files of a run go, which nothing trusted is read from",
    "about.*": "words that are shown, and by which nothing is measured",
    "trace": "a further file of a run, which nothing trusted is read from",
    **dict.fromkeys(("suite", "golden", "vault", "baseline"), OTHER),
    "questions.must_pass": looser(True, False),
    "questions.tags": looser(["smoke", "fees"], ["smoke"]),
    "questions.sample": Looser(pairs=((0.5, 0.1), (0.1, None))),
    "private.places": looser(["work/Diary"], ["work/Diary/2026"]),
    "when.paths": Looser(pairs=(([], ["src", "lib"]), (["src", "lib"], ["src"]))),
    "private.tags": looser(["secret"], ["secret/deep"]),
    "private.front_matter": looser({"private": [True]}, {}),
    **{f"api.container.{key}": kind for key, kind in BACKEND.items()},
    **dict.fromkeys(("api.container.services", "api.command.services", "ask.probes.principals"), OTHER),
    **{f"api.{side}.services.*.{key}": kind for side in ("container", "command") for key, kind in BACKEND.items()},
    **{f"api.{side}.services.*.{key}": kind for side in ("container", "command") for key, kind in READY.items()},
    **dict.fromkeys(("api.container.port", "api.container.vault_path"), OTHER),
    "api.container.egress": looser(False, True),
    **dict.fromkeys(("api.url", "api.command.build", "api.command.run", "api.command.cwd", "api.command.env"), OTHER),
    "api.command.stdio": OTHER,
    "api.command.build_timeout": LATER,
    "api.command.pass_env": looser(["PATH"], ["PATH", "TOKEN"]),
    **{f"api.program.{key}": OTHER for key in ("run", "config", "bulk", "env")},
    "api.program.pass_env": looser(["PATH"], ["PATH", "TOKEN"]),
    **dict.fromkeys(("api.ready.timeout", "api.ready.settle"), "an API that is asked too early answers worse, or not"),
    **dict.fromkeys(("api.ready.health_path", "api.ready.index_path"), OTHER),
    **dict.fromkeys(("ask.adapter", "ask.k", "ask.retrieval_only"), OTHER),
    "ask.modes": looser(["hybrid", "dense"], ["hybrid"]),
    "ask.concurrency": looser(8, 1),
    "ask.rate": looser(20, 10),
    **{f"ask.{key}": looser(5, 50) for key in ("connect_timeout", "read_timeout", "total_timeout")},
    "ask.retries": looser(0, 3),
    "ask.max_body_bytes": looser(1 << 20, 1 << 21),
    "ask.give_up_after": "what is not asked any more is not measured, and what is counts whether it failed",
    "ask.repeat": looser(3, 2),
    "ask.traceparent": "an id of a trace makes no other answers",
    "ask.trace_url": "where a trace is seen makes no other answers",
    "ask.repeat_sample": looser(10, 0),
    "ask.probes.sample": looser(5, 4),
    **{f"ask.probes.principals.*.{key}": OTHER for key in ("headers", "vaults")},
    "ask.probes.principals.*.sees": looser(["work/In"], ["work"]),
    "ask.probes.pass_env": looser([], ["TOKEN"]),
    "ask.mapped.pass_env": looser([], ["TOKEN"]),
    "ask.mapped.*": OTHER,
    "ask.mcp.pass_env": looser([], ["TOKEN"]),
    "ask.mcp.*": OTHER,
    "score.k": looser([1, 5, 10], [1, 10]),
    "score.snippets": looser("required", "off"),
    "score.compat": "the numbers of other systems are never gated",
    "gate.policy": looser("evidence", "threshold", either=True),
    "gate.composite": looser(["hit_at_1", "hit_at_3"], ["hit_at_1"], either=True),
    "gate.min_cases": looser(10, 20, either=True),
    "gate.tolerance": looser(0.05, 0.1),
    "gate.metrics": looser({"hit_at_5": 0.01}, {"hit_at_5": "off"}),
    "gate.metrics.*.tolerance": looser(0.01, 0.02),
    "gate.metrics.*.floor": looser(0.9, 0.8),
    "gate.metrics.*.ceiling": looser(0.1, 0.2),
    "gate.slices": Looser(pairs=(("fail", "warn"), ("warn", "off"))),
    "gate.min_slice": looser(10, 20, either=True),
    "gate.flip_at": looser(5, 10),
    "gate.max_error_rate": looser(0.02, 0.1),
    "gate.min_overlap": looser(0.5, 0.1),
    "gate.on_removed_cases": looser("refuse", "warn"),
    "gate.on_vault_change": looser("refuse", "warn"),
    "gate.stale_after_days": Looser(pairs=((90, 900), (900, "off"))),
    "gate.ratchet": Looser(pairs=(("fail", "warn"), ("warn", "off"))),
    **LEVELS,
    **dict.fromkeys(("recheck.base", "recheck.image"), OTHER),
    "recheck.confirm": Looser(pairs=((0, 5), (5, 1))),
    "waivers": looser([], [WAIVER]),
    "waivers.*": "a list is one value: `waivers` names it whenever a waiver is wider or longer",
    "prove.*": "`raggate prove` has no say in a verdict",
    "judges.*": OTHER,
    "judges.allow_unpinned": looser([], ["small"]),
    "judges.scores": looser(["groundedness", "correctness"], ["correctness"]),
    "judges.mode": looser("auto", "replay"),
    "judges.min_coverage": looser(0.9, 0.5),
    "judges.canary.floor": looser(0.4, 0.1),
    "judges.budget.calls": looser(2000, 1),
    **{f"judges.budget.{key}": Looser(pairs=((None, 5), (5, 1))) for key in ("tokens", "usd")},
    **{f"judges.{key}": looser(5, 1) for key in ("retries", "call_timeout", "total_timeout")},
}


def keys(model: type[BaseModel], path: str = "") -> Iterator[str]:
    """Yield every key of a section, `*` for a name of the user's or a place in a list."""
    for name, field in model.model_fields.items():
        key = f"{path}.{name}" if path else name
        inner, many = model_in(field.annotation), is_many(field.annotation)
        if inner is None or many:
            yield key
        if inner is not None:
            yield from keys(inner, f"{key}.*" if many else key)


def model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the section that a key holds, be it in a list, under names, or not at all."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for part in get_args(annotation) if (model := model_in(part))), None)


def is_many(annotation: Any) -> bool:
    """Return whether a key holds a list or a mapping."""
    return get_origin(annotation) in {dict, list} or any(map(is_many, get_args(annotation)))


# compiled once for hundreds of keys, as every process that collects the tests asks for the rows of them all
PATTERNS = {row: re.compile(re.escape(row).replace(r"\*", "[^.]+")) for row in KEYS}
BELOW = {row: re.compile(PATTERNS[row].pattern[:-5] + ".+") for row in KEYS if row.endswith("*")}


@cache
def pattern_of(key: str) -> str | None:
    """Return the row that a key stands in: its own, or the longest that ends in `*`."""
    rows = [row for row, pattern in (*PATTERNS.items(), *BELOW.items()) if pattern.fullmatch(key)]
    return max(rows, key=lambda row: (row == key, len(row)), default=None)


EVERY = (*keys(Config),)
JUDGE = {"model": "small", "base_url": "http://127.0.0.1:1", "build": "b1", "price": {"input": 1, "output": 1}}
NEEDED: dict[str, dict[str, Any]] = {
    "judges": {"models": [JUDGE]},
    "questions": {"tags": ["smoke"]},
    "judges.canary": {"file": "golden/canary.jsonl"},
    "api.container": {"image": "api:1", "port": 80},
    "api.container.services.*": {"image": "db:1"},
    "api.command": {"run": ["serve"]},
    "api.command.services.*": {"image": "db:1"},
    "api.program": {"run": ["kebab"]},
    "ask.probes.principals.*": {"headers": {"X-User": "anna"}, "sees": []},
    "recheck": {"base": "ref"},
    "ask.mapped": {
        "ask": {"path": "/q", "body": {"q": "{question}"}},
        "response": {"chunks": {"list": "hits", "id": "id"}},
    },
    "ask.mcp": {
        "tool": "search",
        "arguments": {"q": "{question}"},
        "response": {"chunks": {"list": "hits", "id": "id"}},
    },
}
NAMES = {"gate.metrics.*": "hit_at_5"}


def config_with(key: str, value: object) -> tuple[str, Config]:
    """Build a configuration with a value of one key; also give the key with a name in place of each `*`."""
    root: dict[str, Any] = {"vault": {"work": "w"}, "api": {}, "ask": {}}
    inner, path, named = root, "", ""
    *sections, last = key.split(".")
    for part in sections:
        path = f"{path}.{part}" if path else part
        name = NAMES.get(path, "db") if part == "*" else part
        named = f"{named}.{name}" if named else name
        inner = inner.setdefault(name, dict(NEEDED.get(path, {})))
    inner[last] = value
    if not root["api"]:
        root["api"] = {"url": "http://127.0.0.1:1"}
    own = next((name for name in ("mapped", "mcp") if name in root["ask"]), "kebab" if "program" in root["api"] else "")
    if own:
        root["ask"]["adapter"] = own
    if root["api"].get("command", {}).get("stdio"):
        root["ask"] |= {"adapter": "mcp", "mcp": NEEDED["ask.mcp"]}
    return f"{named}.{last}" if named else last, Config.model_validate(root)


@each_row("key", EVERY)
def test_every_key_has_a_row(key: str) -> None:
    """Somebody has said of each key whether it can make the gate weaker."""
    assert pattern_of(key) is not None, f"{key}: needs a row, and a line in loosening.py where it lets more through"


@each_row("row", KEYS)
def test_every_row_has_a_key(row: str) -> None:
    """No row is of a key that there is not."""
    assert row in {pattern_of(key) for key in EVERY}


LOOSER = [
    pytest.param(key, pair, kind.either, id=f"{key}-{number}")
    for key in EVERY
    if isinstance(kind := KEYS[pattern_of(key) or "version"], Looser)
    for number, pair in enumerate(kind.pairs)
]


@each_row(("key", "pair", "either"), LOOSER)
def test_what_lets_more_through_is_named(key: str, pair: tuple[Any, Any], *, either: bool) -> None:
    """The value that lets more through is named by its key; the way back is not, unless it loosens too."""
    (name, before), (_, now) = (config_with(key, value) for value in pair)
    names = [name, *(f"{name}.{part}" for value in pair if isinstance(value, dict) for part in value)]
    assert loosened(before, now, names)
    assert bool(loosened(now, before, names)) == either
    assert loosened(before, before, names) == ()


def test_one_mode_more_is_something_else() -> None:
    """A mode that is added loosens nothing by itself, and its tests share the error with those of the others."""
    (name, before), (_, now) = (config_with("ask.modes", value) for value in (["hybrid"], ["hybrid", "dense"]))
    assert (loosened(before, now, [name]), remeasured([name])) == ((), ("ask.modes",))


@each_row("key", [key for key in EVERY if isinstance(KEYS[pattern_of(key) or "version"], str)])
def test_what_measures_something_else_is_named(key: str) -> None:
    """Exactly the keys by which something else is measured or compared are called so, whatever they are changed to."""
    name = key.replace("*", "db")
    assert bool(remeasured([name])) == (KEYS[pattern_of(key) or ""] == OTHER)


def test_questions_of_a_suite_that_asked_all() -> None:
    """To choose questions at all asks fewer of them; to choose none any more asks all, which is something else."""
    _, part = config_with("questions.sample", 0.5)
    whole = part.model_copy(update={"questions": None})
    assert loosened(whole, part, ["questions"]) == ("questions",)
    assert (loosened(part, whole, ["questions"]), remeasured(["questions"])) == ((), ("questions",))


def test_a_section_that_is_gone_judges_nothing() -> None:
    """Without the section nothing is judged, so that taking it out is named; bringing it in is not."""
    _, judged = config_with("judges.mode", "auto")
    plain = judged.model_copy(update={"judges": None})
    assert loosened(judged, plain, ["judges"]) == ("judges",)
    assert loosened(plain, judged, ["judges"]) == ()
