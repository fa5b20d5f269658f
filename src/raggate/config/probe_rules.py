"""What must agree in a configuration for the invariants that ask questions of their own. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from raggate.config.invariant_settings import PROBING

if TYPE_CHECKING:
    from raggate.config.schema import Config


def check(config: Config) -> None:
    """Refuse invariants that could never be seen to hold.

    Raises:
        ValueError: naming the key, and what it expects.
    """
    asked_twice = config.ask.repeat > 1 or config.asks_again
    if config.invariants.must_be_deterministic != "off" and not asked_twice:
        raise ValueError("must_be_deterministic: expected ask.repeat above 1, or for an API ask.repeat_sample")
    probing = [name for name in PROBING if getattr(config.invariants, name) != "off"]
    if probing and config.api.program is not None:
        raise ValueError(f"invariants.{probing[0]}: expected off with api.program, which is asked the suite alone")
    if config.ask.probes.principals and config.api.program is not None:
        raise ValueError("ask.probes.principals: expected none with api.program, which takes no headers and no vaults")
    if "top_is_prefix" in probing and config.ask.k == 1:
        raise ValueError("invariants.top_is_prefix: expected ask.k of 2 or more, as half as many are asked for too")
    if "reindex_idempotent" in probing and config.api.url is not None and config.ask.probes.reindex is None:
        raise ValueError(
            "invariants.reindex_idempotent: expected ask.probes.reindex with api.url, which raggate cannot boot again"
        )
    for key, places in _places(config):
        strange = next((place for place in places if place.split("/")[0] not in config.vault), None)
        if strange is not None:
            raise ValueError(f"{key}: expected one of the vaults {', '.join(config.vault)}, found {strange!r}")


def _places(config: Config) -> Iterator[tuple[str, Sequence[str]]]:
    """Give what names a vault or something in one, by key."""
    yield "private.places", config.private.places
    for name, principal in config.ask.probes.principals.items():
        yield f"ask.probes.principals.{name}.sees", principal.sees
        yield f"ask.probes.principals.{name}.vaults", principal.vaults or ()
