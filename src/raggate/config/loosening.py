"""Two configurations -> the settings by which the second lets more through, by what they mean and not how they read.

Most keys say it themselves, by a mark of `effects`. Here is what takes two keys, or the names of the user's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from raggate.config.effects import Effect, Looser, fewer
from raggate.config.gate_settings import Rule, Waiver
from raggate.config.probe_settings import marking
from raggate.config.schema import Config, model_in


def loosened(before: Config, now: Config, keys: Iterable[str]) -> tuple[str, ...]:
    """Name those of the keys, written with dots, by which a configuration lets more through than the one before."""
    looser = {*_marked(before, now, ""), *_unmarked(before, now)}
    return tuple(key for key in keys if key in looser)


def remeasured(keys: Iterable[str]) -> tuple[str, ...]:
    """Name those of the keys that differ by which something else is measured, or held against something else.

    Nobody can tell from the configuration alone whether that is easier to pass.
    """
    return tuple(key for key in keys if _measures(key))


def _marked(before: BaseModel, now: BaseModel, prefix: str) -> Iterator[str]:
    """Name the keys of a section, and of those in it, whose marks say that more is let through."""
    for name, field in type(before).model_fields.items():
        was, is_now, key = getattr(before, name), getattr(now, name), f"{prefix}{name}"
        if any(mark.by(was, is_now) for mark in field.metadata if isinstance(mark, Looser)):
            yield key
        sections = {key: (was, is_now)}
        if isinstance(was, dict) and isinstance(is_now, dict):
            sections = {f"{key}.{own}": (was[own], is_now[own]) for own in was.keys() & is_now.keys()}
        for place, (old, new) in sections.items():
            # the rules of metrics are compared with their defaults filled in
            if isinstance(old, BaseModel) and type(old) is type(new) and not isinstance(old, Rule):
                yield from _marked(old, new, f"{place}.")


def _measures(key: str) -> bool:
    annotation: object = Config
    measures = False
    for part in key.split("."):
        model = model_in(annotation)
        field: FieldInfo | None = model.model_fields.get(part) if model is not None else None
        if field is not None:
            annotation = field.annotation
            measures = next((mark.measures for mark in field.metadata if isinstance(mark, Effect)), measures)
    return measures


def _unmarked(before: Config, now: Config) -> Iterator[str]:
    """Name the keys that no mark can decide alone."""
    if now.ask.repeat == 1 and now.ask.repeat_sample < before.ask.repeat_sample:
        yield "ask.repeat_sample"
    for name, rule in before.gate.rules().items():
        lax = _lax(rule, now.gate.rule(name))
        # a rule that is written out on both sides differs by its own keys
        yield from (f"gate.metrics.{name}{inner}" for inner in ("", *(f".{key}" for key in lax)) if lax)
    principals = before.ask.principals.keys() - now.ask.principals.keys()
    yield from (f"ask.principals.{name}{inner}" for name in principals for inner in _PRINCIPAL)
    marks = {name.casefold(): values for name, values in now.private.front_matter.items()}
    for name, values in before.private.front_matter.items():
        if _marks_less(values, marks.get(name.casefold())):
            yield f"private.front_matter.{name}"
    if any(not any(_excuses(old, waiver) for old in before.waivers) for waiver in now.waivers):
        yield "waivers"


_PRINCIPAL = ("", ".headers", ".sees", ".vaults")


def _marks_less(before: Sequence[object], now: Sequence[object] | None) -> bool:
    """Return whether a key of front matter marks fewer notes than before: one without values marks by any."""
    if now is None or not now:
        return now is None
    return not before or fewer(map(marking, before), map(marking, now))


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


def _excuses(old: Waiver, new: Waiver) -> bool:
    """Return whether a waiver excuses all that another one does, and as long."""
    same = (old.metric, old.case) == (new.metric, new.case) and old.mode in {None, new.mode}
    return same and old.expires >= new.expires
