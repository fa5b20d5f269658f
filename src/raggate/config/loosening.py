"""Two configurations -> the settings by which the second lets more through, by what they mean and not how they read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from raggate.config.schema import Config, Gate, Rule, Waiver

_STRICT = ("off", "warn", "error", "fail", "refuse")
_LEVELS = ("slices", "ratchet", "on_removed_cases", "on_vault_change")
_LARGER = ("tolerance", "max_error_rate", "min_slice", "min_cases", "flip_at")
_NEVER = float("inf")


def loosened(before: Config, now: Config, keys: Iterable[str]) -> tuple[str, ...]:
    """Name those of the keys by which a configuration lets more through than the one before.

    Args:
        before: the configuration that counted.
        now: the one that would.
        keys: the keys whose values differ, written with dots.
    """
    looser = set(_looser_keys(before, now))
    return tuple(key for key in keys if key in looser)


def _looser_keys(before: Config, now: Config) -> Iterator[str]:
    for name in _LEVELS:
        if _weaker(getattr(before.gate, name), getattr(now.gate, name)):
            yield f"gate.{name}"
    for name in _LARGER:
        if getattr(now.gate, name) > getattr(before.gate, name):
            yield f"gate.{name}"
    if now.gate.min_overlap < before.gate.min_overlap:
        yield "gate.min_overlap"
    if _days(now.gate) > _days(before.gate):
        yield "gate.stale_after_days"
    yield from _other_terms(before.gate, now.gate)
    yield from _unmeasured(before, now)
    # asked again, a noisy API can pass; the fewer times, the easier
    if 0 < now.recheck.confirm < (before.recheck.confirm or _NEVER):
        yield "recheck.confirm"
    for name, rule in before.gate.rules().items():
        lax = _lax(rule, now.gate.rule(name))
        # a rule that is written out on both sides differs by its own keys
        yield from (f"gate.metrics.{name}{inner}" for inner in ("", *(f".{key}" for key in lax)) if lax)
    for name in type(before.invariants).model_fields:
        if _weaker(getattr(before.invariants, name), getattr(now.invariants, name)):
            yield f"invariants.{name}"
    yield from _less_isolated(before, now)
    ends = {_scope(waiver): waiver.expires for waiver in sorted(before.waivers, key=lambda waiver: waiver.expires)}
    if any(waiver.expires > ends.get(_scope(waiver), "") for waiver in now.waivers):
        yield "waivers"


def _other_terms(before: Gate, now: Gate) -> Iterator[str]:
    # `either` is red wherever `evidence` is; of any other two, each lets something through that the other does not
    if before.policy != now.policy and (before.policy, now.policy) != ("evidence", "either"):
        yield "gate.policy"
    if set(before.composite) != set(now.composite):
        yield "gate.composite"


def _unmeasured(before: Config, now: Config) -> Iterator[str]:
    """Name what takes something out of the measurement, which is then not gated either."""
    if set(before.score.k) - set(now.score.k):
        yield "score.k"
    if set(before.ask.modes) - set(now.ask.modes):
        yield "ask.modes"
    if now.ask.repeat < before.ask.repeat:
        yield "ask.repeat"
    if now.ask.repeat == 1 and now.ask.repeat_sample < before.ask.repeat_sample:
        yield "ask.repeat_sample"


def _less_isolated(before: Config, now: Config) -> Iterator[str]:
    """Name what lets private notes pass, lets a principal see more, or asks for less of either."""
    if now.ask.probes.sample < before.ask.probes.sample:
        yield "ask.probes.sample"
    principals = now.ask.probes.principals
    for name, principal in before.ask.probes.principals.items():
        kept = principals.get(name)
        key = f"ask.probes.principals.{name}"
        if kept is None:
            yield from (f"{key}{inner}" for inner in ("", ".headers", ".sees", ".vaults"))
        elif set(kept.sees) - set(principal.sees):
            yield f"{key}.sees"
    for key in ("places", "tags"):
        if set(getattr(before.private, key)) - set(getattr(now.private, key)):
            yield f"private.{key}"
    for name, values in before.private.front_matter.items():
        marking = now.private.front_matter.get(name)
        if marking is None or (marking and (not values or {*map(str, values)} - {*map(str, marking)})):
            yield f"private.front_matter.{name}"


def _weaker(before: str, now: str) -> bool:
    return _STRICT.index(now) < _STRICT.index(before)


def _days(gate: Gate) -> float:
    return gate.stale_after_days if isinstance(gate.stale_after_days, int) else _NEVER


def _lax(before: Rule, now: Rule | None) -> tuple[str, ...]:
    """Name what of a metric's rule, defaults filled in, allows more than before; a rule that is gone allows all."""
    if now is None:
        return ("tolerance", "floor", "ceiling")
    allows_more = {
        "tolerance": (now.tolerance or 0.0) > (before.tolerance or 0.0),
        "floor": before.floor is not None and (now.floor is None or now.floor < before.floor),
        "ceiling": before.ceiling is not None and (now.ceiling is None or now.ceiling > before.ceiling),
    }
    return tuple(key for key, looser in allows_more.items() if looser)


def _scope(waiver: Waiver) -> tuple[str | None, str | None, str | None]:
    return waiver.metric, waiver.case, waiver.mode
