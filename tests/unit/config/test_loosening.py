"""What lets more through: decided on the rules that are in force, not on how they are written."""

from __future__ import annotations

from typing import Any

import pytest

from raggate.config.loosening import loosened
from raggate.config.schema import Config
from tables import each_row

BASE: dict[str, Any] = {"vault": {"work": "w"}, "api": {"url": "http://127.0.0.1:1"}}
WAIVER = {"metric": "hit_at_5", "owner": "o", "reason": "r", "expires": "2026-01-01"}


def config(**fields: Any) -> Config:
    """Build a configuration."""
    return Config.model_validate({**BASE, **fields})


def metric(rule: Any) -> dict[str, Any]:
    """Build a gate with one rule."""
    return {"gate": {"metrics": {"hit_at_5": rule}}}


ANNA = "ask.probes.principals.anna"
MARK = "private.front_matter.private"


def seen(places: list[str]) -> dict[str, Any]:
    """Build a configuration with a principal who may see some places."""
    vaults = {"vault": {"work": "w", "home": "h"}}
    return {**vaults, "ask": {"probes": {"principals": {"anna": {"headers": {"X-User": "a"}, "sees": places}}}}}


def sampled(sample: int) -> dict[str, Any]:
    """Build a configuration with as many probes of each kind."""
    return {"ask": {"probes": {"sample": sample}}}


def marking(values: list[str | bool]) -> dict[str, Any]:
    """Build a configuration whose private notes have a key of these values."""
    return {"private": {"front_matter": {"private": values}}}


def kept(*places: str) -> dict[str, Any]:
    """Build a configuration with private places."""
    return {"private": {"places": list(places)}}


def policy(name: str) -> dict[str, Any]:
    """Build a gate with a policy."""
    return {"gate": {"policy": name}}


def composite(*metrics: str) -> dict[str, Any]:
    """Build a gate with a composite."""
    return {"gate": {"composite": list(metrics)}}


@each_row(
    ("before", "now", "key", "expected"),
    [
        pytest.param({}, {"gate": {"tolerance": 0.1}}, "gate.tolerance", True, id="tolerance"),
        pytest.param({"gate": {"tolerance": 0.1}}, {}, "gate.tolerance", False, id="a smaller tolerance"),
        pytest.param(metric(0.03), metric(0.1), "gate.metrics.hit_at_5", True, id="a metric's"),
        pytest.param(metric(0.03), metric({"tolerance": 0.9}), "gate.metrics.hit_at_5", True, id="as a whole rule"),
        pytest.param({}, metric({"tolerance": 0.9}), "gate.metrics.hit_at_5", True, id="where the gate's own held"),
        pytest.param({}, metric(0.04), "gate.metrics.hit_at_5", False, id="stricter than the gate's own"),
        pytest.param(metric(0.03), metric("off"), "gate.metrics.hit_at_5", True, id="off"),
        pytest.param(metric("off"), metric(0.9), "gate.metrics.hit_at_5", False, id="from off to anything"),
        pytest.param(metric({"floor": 0.9}), metric({"floor": 0.8}), "gate.metrics.hit_at_5.floor", True, id="floor"),
        pytest.param(metric({"floor": 0.9}), metric({}), "gate.metrics.hit_at_5.floor", True, id="no floor"),
        pytest.param(metric({}), metric({"floor": 0.9}), "gate.metrics.hit_at_5.floor", False, id="a new floor"),
        pytest.param(metric({"ceiling": 0.1}), metric({"ceiling": 0.2}), "gate.metrics.hit_at_5", True, id="ceiling"),
        pytest.param(
            metric({"tolerance": 0.1, "floor": 0.5}),
            metric({"tolerance": 0.2, "floor": 0.6}),
            "gate.metrics.hit_at_5.floor",
            False,
            id="a higher floor beside a larger tolerance",
        ),
        pytest.param({}, {"gate": {"min_overlap": 0.1}}, "gate.min_overlap", True, id="less overlap"),
        pytest.param({}, {"gate": {"min_slice": 100}}, "gate.min_slice", True, id="larger slices only"),
        pytest.param({}, {"gate": {"max_error_rate": 0.5}}, "gate.max_error_rate", True, id="more errors"),
        pytest.param({}, {"gate": {"min_cases": 20}}, "gate.min_cases", True, id="more cases to be judged"),
        pytest.param({}, {"gate": {"policy": "threshold"}}, "gate.policy", True, id="only beyond tolerances"),
        pytest.param(policy("threshold"), policy("evidence"), "gate.policy", True, id="threshold to evidence"),
        pytest.param({}, composite("hit_at_5"), "gate.composite", True, id="less in the composite"),
        pytest.param(composite("hit_at_5"), {}, "gate.composite", True, id="more that waters it down"),
        pytest.param(composite("a", "b"), composite("b", "a"), "gate.composite", False, id="in another order"),
        pytest.param({}, {"gate": {"slices": "off"}}, "gate.slices", True, id="slices"),
        pytest.param({}, {"gate": {"slices": "fail"}}, "gate.slices", False, id="slices fail"),
        pytest.param({}, {"gate": {"ratchet": "off"}}, "gate.ratchet", True, id="ratchet"),
        pytest.param({}, {"gate": {"on_removed_cases": "warn"}}, "gate.on_removed_cases", True, id="removed cases"),
        pytest.param({}, {"gate": {"stale_after_days": 900}}, "gate.stale_after_days", True, id="older baselines"),
        pytest.param({}, {"gate": {"stale_after_days": "off"}}, "gate.stale_after_days", True, id="of any age"),
        pytest.param({}, {"invariants": {"scores_ordered": "warn"}}, "invariants.scores_ordered", True, id="invariant"),
        pytest.param({"recheck": {"confirm": 0}}, {}, "recheck.confirm", True, id="asked again"),
        pytest.param({}, {"recheck": {"confirm": 1}}, "recheck.confirm", True, id="asked again less often"),
        pytest.param({}, {"recheck": {"confirm": 0}}, "recheck.confirm", False, id="never asked again"),
        pytest.param({}, {"recheck": {"confirm": 3}}, "recheck.confirm", False, id="asked again more often"),
        pytest.param({}, {"waivers": [WAIVER]}, "waivers", True, id="a new waiver"),
        pytest.param({"waivers": [WAIVER]}, {}, "waivers", False, id="a waiver less"),
        pytest.param(
            {"waivers": [WAIVER]},
            {"waivers": [{**WAIVER, "expires": "2027-01-01"}]},
            "waivers",
            True,
            id="a longer waiver",
        ),
        pytest.param(
            {"waivers": [WAIVER]}, {"waivers": [{**WAIVER, "reason": "x"}]}, "waivers", False, id="the same waiver"
        ),
        pytest.param(
            {"waivers": [WAIVER]}, {"waivers": [{**WAIVER, "mode": "hybrid"}]}, "waivers", False, id="of one mode only"
        ),
        pytest.param(
            {"waivers": [{**WAIVER, "mode": "hybrid"}]}, {"waivers": [WAIVER]}, "waivers", True, id="of all modes"
        ),
        pytest.param({}, {"score": {"k": [1, 20]}}, "score.k", True, id="cut-offs that are gone"),
        pytest.param({}, {"score": {"k": [1, 3, 5, 10, 20]}}, "score.k", False, id="one cut-off more"),
        pytest.param({}, {"ask": {"modes": ["dense"]}}, "ask.modes", True, id="a mode that is gone"),
        pytest.param({}, {"ask": {"modes": ["hybrid", "dense"]}}, "ask.modes", False, id="one mode more"),
        pytest.param({"ask": {"repeat": 3}}, {}, "ask.repeat", True, id="fewer answers"),
        pytest.param({}, {"ask": {"repeat": 3}}, "ask.repeat", False, id="more answers"),
        pytest.param({}, {"ask": {"repeat_sample": 0}}, "ask.repeat_sample", True, id="no sample asked twice"),
        pytest.param(
            {}, {"ask": {"repeat_sample": 0, "repeat": 2}}, "ask.repeat_sample", False, id="all asked, and no sample"
        ),
        pytest.param({}, {"ask": {"k": 5}}, "ask.k", False, id="not of the gate"),
        pytest.param(seen(["work"]), seen(["work", "home"]), f"{ANNA}.sees", True, id="a principal sees more"),
        pytest.param(seen(["work/In"]), seen(["home"]), f"{ANNA}.sees", True, id="a principal sees something else"),
        pytest.param(seen(["work/In"]), seen(["work"]), f"{ANNA}.sees", True, id="a principal sees all around it"),
        pytest.param(seen(["work"]), seen(["work/In"]), f"{ANNA}.sees", False, id="a principal sees a part of it"),
        pytest.param(seen(["work", "home"]), seen(["work"]), f"{ANNA}.sees", False, id="a principal sees less"),
        pytest.param(seen(["work"]), {}, f"{ANNA}.sees", True, id="a principal that is gone"),
        pytest.param({}, seen(["work"]), f"{ANNA}.sees", False, id="a principal more"),
        pytest.param({}, sampled(4), "ask.probes.sample", True, id="fewer probes"),
        pytest.param({}, sampled(6), "ask.probes.sample", False, id="more probes"),
        pytest.param({"private": {"tags": ["a"]}}, {}, "private.tags", True, id="a private tag less"),
        pytest.param({"private": {"tags": ["#A/b"]}}, {"private": {"tags": ["a"]}}, "private.tags", False, id="wider"),
        pytest.param(kept("work/Diary"), kept("work"), "private.places", False, id="all around a private place"),
        pytest.param(kept("work"), kept("work/Diary"), "private.places", True, id="a part of a private place"),
        pytest.param({}, {"private": {"tags": ["a"]}}, "private.tags", False, id="a private tag more"),
        pytest.param(marking([True]), marking(["yes"]), MARK, True, id="another mark"),
        pytest.param(marking([]), marking([True]), MARK, True, id="marked by one value in place of any"),
        pytest.param(marking([True]), marking([]), MARK, False, id="marked by any value"),
        pytest.param(marking([True]), marking(["TRUE", "yes"]), MARK, False, id="the same mark, spelled otherwise"),
        pytest.param(marking([True]), {}, MARK, True, id="no mark"),
        pytest.param(
            {},
            {"invariants": {"principals_isolated": "off"}},
            "invariants.principals_isolated",
            True,
            id="principals not looked at",
        ),
    ],
)
def test_what_lets_more_through(before: dict[str, Any], now: dict[str, Any], key: str, *, expected: bool) -> None:
    """A key is named when the second configuration lets more through by it than the first."""
    keys = loosened(config(**before), config(**now), [key, "suite"])
    assert keys == ((key,) if expected else ())
