"""Every key of raggate.yml: whether a change of it lets more through, measures something else, or can do neither.

The marks of `config/effects.py` say it, beside the key. Here stand an example of each key that lets more through, and
the reason for each key that has no mark.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args, get_origin

import pytest
from pydantic import BaseModel

from raggate.config.effects import Effect, Looser
from raggate.config.invariant_settings import Invariants
from raggate.config.loosening import loosened, remeasured
from raggate.config.schema import Config, model_in
from tables import each_row

WAIVER = {"metric": "hit_at_5", "owner": "o", "reason": "r", "expires": "2026-01-01"}
NOTHING = {
    "about": "words that are shown, and by which nothing is measured",
    "api.ready.timeout": "an API that is asked too early answers worse, or not",
    "api.ready.settle": "an API that is asked too early answers worse, or not",
    "score.compat": "the numbers of other systems are never gated",
    "waivers.": "a list is one value: `waivers` names it whenever a waiver is wider or longer",
    "faults": "`raggate prove` has no say in a verdict",
}
"""Keys without a mark, or what begins them, and why they have none."""
CONTAINER = {
    "pass_env": [([], ["TOKEN"])],
    "user": [("65534:65534", None)],
    "writable": [(["/tmp"], ["/tmp", "/data"]), (["/tmp"], ["/", "/tmp"])],
    "memory": [("512m", "1g")],
}
SMALL = {"model": "small", "base_url": "http://127.0.0.1:1", "price": [1, 1]}
CONTAINERS = ("api.container", "api.services.*")
LOOSER: dict[str, list[tuple[Any, Any]]] = {
    "questions": [([], ["must_pass"]), (["must_pass", "tag=smoke"], ["tag=smoke"])],
    "private.places": [(["work/Diary"], ["work/Diary/2026"]), (["work"], ["work/Diary"])],
    "private.tags": [(["secret"], ["secret/deep"]), (["#A/b"], [])],
    "private.front_matter": [
        ({"private": [True]}, {}),
        ({"private": []}, {"private": [True]}),
    ],
    "paths": [([], ["src", "lib"]), (["src", "lib"], ["src"])],
    **{f"{place}.{key}": pairs for place in CONTAINERS for key, pairs in CONTAINER.items()},
    "api.egress": [(False, True)],
    "api.command.pass_env": [(["PATH"], ["PATH", "TOKEN"])],
    "ask.modes": [(["hybrid", "dense"], ["hybrid"])],
    "ask.concurrency": [(8, 1)],
    "ask.rate": [(20, 10), (None, 20)],
    "ask.timeout": [(5, 50)],
    "ask.repeat": [(3, 2)],
    "ask.repeat_sample": [(10, 0)],
    "ask.principals.*.sees": [(["work/In"], ["work"])],
    "ask.principals.*.headers": [({"X": "a"}, {"X": "{env.TOKEN}"})],
    "ask.headers": [({}, {"X": "{env.TOKEN}"})],
    "score.k": [([1, 5, 10], [1, 10])],
    "score.snippets": [("required", "off")],
    "gate.policy": [("evidence", "threshold")],
    "gate.composite": [(["hit_at_1", "hit_at_3"], ["hit_at_1"])],
    "gate.min_cases": [(10, 20)],
    "gate.tolerance": [(0.05, 0.1)],
    "gate.metrics": [
        ({"hit_at_5": 0.01}, {"hit_at_5": "off"}),
        ({"hit_at_5": 0.01}, {"hit_at_5": {"tolerance": 0.9}}),
        ({}, {"hit_at_5": {"tolerance": 0.9}}),
    ],
    "gate.metrics.*.tolerance": [(0.01, 0.02)],
    "gate.metrics.*.floor": [(0.9, 0.8), (0.9, None)],
    "gate.metrics.*.ceiling": [(0.1, 0.2)],
    "gate.slices": [("fail", "warn"), ("warn", "off")],
    "gate.max_error_rate": [(0.02, 0.1)],
    "gate.on_vault_change": [("refuse", "warn")],
    "gate.ratchet": [("fail", "warn"), ("warn", "off")],
    **{f"invariants.{name}": [("error", "off")] for name in Invariants.model_fields},
    "recheck": [("off", "again"), ("off", "ref")],
    "waivers": [
        ([], [WAIVER]),
        ([WAIVER], [{**WAIVER, "expires": "2027-01-01"}]),
        ([{**WAIVER, "mode": "hybrid"}], [WAIVER]),
    ],
    "judges": [({"models": "JUDGE"}, None)],
    "judges.models": [([SMALL | {"build": "b1"}], [SMALL | {"build": "unpinned"}])],
    "judges.scores": [(["groundedness", "correctness"], ["correctness"])],
    "judges.mode": [("auto", "replay")],
    "judges.canary": [("golden/canary.jsonl", None)],
    "judges.max_calls": [(2000, 1)],
    "judges.max_usd": [(None, 5), (5, 1)],
}
"""Values of each key that can let more through, the stricter one first."""
EITHER = ("gate.policy", "gate.composite", "gate.min_cases")
"""Of these the way back lets something else through, and so is named too."""


def keys(model: type[BaseModel], path: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        key = f"{path}.{name}" if path else name
        inner, many = model_in(field.annotation), is_many(field.annotation)
        if inner is None or many:
            yield key
        if inner is not None:
            yield from keys(inner, f"{key}.*" if many else key)


def is_many(annotation: Any) -> bool:
    return get_origin(annotation) in {dict, list} or any(map(is_many, get_args(annotation)))


EVERY = (*keys(Config),)
JUDGE = {**SMALL, "build": "b1"}
NEEDED: dict[str, dict[str, Any]] = {
    "judges": {"models": [JUDGE]},
    "api.container": {"image": "api:1", "port": 80},
    "api.services.*": {"image": "db:1"},
    "api.command": {"run": ["serve"]},
    "ask.principals.*": {"headers": {"X-User": "anna"}, "sees": []},
}
MAPPED = {
    "adapter": "mapped",
    "path": "/q?q={question}",
    "response": {"chunks": {"list": "hits", "id": "id"}},
}
NAMES = {"gate.metrics.*": "hit_at_5"}


def config_with(key: str, value: object) -> tuple[str, Config]:
    root: dict[str, Any] = {"vault": {"work": "w"}, "api": {}, "ask": {}}
    inner, path, named = root, "", ""
    *sections, last = key.split(".")
    for part in sections:
        path = f"{path}.{part}" if path else part
        name = NAMES.get(path, "db") if part == "*" else part
        named = f"{named}.{name}" if named else name
        inner = inner.setdefault(name, dict(NEEDED.get(path, {})))
    inner[last] = value
    if "services" in root["api"] or "egress" in root["api"]:
        root["api"]["container"] = NEEDED["api.container"]
    if not root["api"]:
        root["api"] = {"url": "http://127.0.0.1:1"}
    if root["api"].get("stdio"):
        root["api"]["command"] = NEEDED["api.command"]
        root["ask"] |= {"adapter": "mapped", "body": {"q": "{question}"}, "response": MAPPED["response"]}
    if "headers" in root["ask"]:
        root["ask"] |= MAPPED
    if value == {"models": "JUDGE"}:
        root["judges"] = {"models": [JUDGE]}
    return f"{named}.{last}" if named else last, Config.model_validate(root)


@each_row("key", EVERY)
def test_every_key_says_what_it_does(key: str) -> None:
    """A key has a mark with an example, or that of its section about answers, or there is a reason for none."""
    named = key in LOOSER
    marked = any(isinstance(mark, Effect) for mark in marks(key))
    harmless = any(key == start or (start.endswith(".") and key.startswith(start)) for start in NOTHING)
    assert any(isinstance(mark, Looser) for mark in marks(key)) <= named
    assert (named or marked) != harmless


def marks(key: str) -> list[Any]:
    annotation: Any = Config
    found: list[Any] = []
    for part in key.split("."):
        model = model_in(annotation)
        if part != "*" and model is not None:
            above = [mark for mark in found if isinstance(mark, Effect)]
            annotation, found = model.model_fields[part].annotation, [*above, *model.model_fields[part].metadata]
    return found


@each_row("key", [*LOOSER, *NOTHING])
def test_every_row_has_a_key(key: str) -> None:
    """No row is of a key that there is not."""
    assert any(name.startswith(key) for name in (*EVERY, "judges"))


@each_row(("key", "pair"), [pytest.param(key, pair) for key, pairs in LOOSER.items() for pair in pairs])
def test_what_lets_more_through_is_named(key: str, pair: tuple[Any, Any]) -> None:
    """The value that lets more through is named by its key; the way back is not, unless it loosens too."""
    (name, before), (_, now) = (config_with(key, value) for value in pair)
    names = [name, *(f"{name}.{part}" for value in pair if isinstance(value, dict) for part in value)]
    assert loosened(before, now, names)
    assert bool(loosened(now, before, names)) == (key in EITHER)
    assert loosened(before, before, names) == ()


@each_row(
    ("key", "before", "now"),
    [
        pytest.param("ask.modes", ["hybrid"], ["hybrid", "dense"], id="one mode more"),
        pytest.param("ask.k", 10, 5, id="not of the gate"),
        pytest.param("gate.composite", ["a", "b"], ["b", "a"], id="in another order"),
        pytest.param("gate.metrics", {"hit_at_5": "off"}, {"hit_at_5": 0.9}, id="from off to anything"),
        pytest.param("gate.metrics", {}, {"hit_at_5": 0.04}, id="stricter than the gate's own"),
        pytest.param("recheck", "again", "off", id="never asked again"),
        pytest.param("waivers", [WAIVER], [{**WAIVER, "reason": "x"}], id="the same waiver"),
        pytest.param("waivers", [WAIVER], [{**WAIVER, "mode": "hybrid"}], id="of one mode only"),
        pytest.param("private.tags", ["#A/b"], ["a"], id="a wider tag"),
        pytest.param("private.places", ["work/Diary"], ["work"], id="all around a private place"),
        pytest.param("private.front_matter", {"private": [True]}, {"private": ["TRUE", "yes"]}, id="spelled otherwise"),
        pytest.param("ask.principals.*.sees", ["work"], ["work/In"], id="a principal sees less"),
    ],
)
def test_what_lets_nothing_more_through(key: str, before: object, now: object) -> None:
    """Another value of the key is not looser."""
    (name, was), (_, is_now) = (config_with(key, value) for value in (before, now))
    assert loosened(was, is_now, [name, "gate.metrics.hit_at_5", "private.front_matter.private"]) == ()


def test_a_floor_that_rises_beside_a_larger_tolerance() -> None:
    """Each key of a rule that is written out is compared by itself."""
    key = "gate.metrics.hit_at_5"
    (_, before), (_, now) = (
        config_with("gate.metrics", {"hit_at_5": {"tolerance": tolerance, "floor": floor}})
        for tolerance, floor in ((0.1, 0.5), (0.2, 0.6))
    )
    assert loosened(before, now, [f"{key}.floor", f"{key}.tolerance"]) == (f"{key}.tolerance",)


def test_a_principal_that_is_gone() -> None:
    """Who is not looked at any more may see everything."""
    _, before = config_with("ask.principals.*.sees", ["work"])
    _, now = config_with("ask.k", 5)
    keys_of_one = ["ask.principals.db.sees", "ask.principals.db.headers"]
    assert loosened(before, now, keys_of_one) == tuple(keys_of_one)
    assert loosened(now, before, keys_of_one) == ()


@each_row(
    ("key", "expected"),
    [
        *((key, True) for key in ("suite", "vault.work", "ask.modes", "ask.path", "api.container.env.A")),
        *((key, True) for key in ("api.services.db.image", "judges.models", "recheck", "questions")),
        *((key, False) for key in ("about", "gate.tolerance", "api.container.memory", "api.services.db.user")),
        *((key, False) for key in ("ask.timeout", "api.ready.timeout")),
    ],
)
def test_what_measures_something_else_is_named(key: str, *, expected: bool) -> None:
    """A key is named if another value makes other answers, or holds them against something else."""
    assert bool(remeasured([key])) == expected
