"""Which notes of the vaults a chunk may be of, as far as the API tells it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache

from raggate.models.fingerprint import notes_of
from raggate.models.run import Chunk, Reference, Run

Holders = Mapping[str, set[str]]
"""Path of a note -> the vaults that hold a note of it."""


def holders(run: Run) -> Holders:
    """Return the vaults that hold a note of a path, of the notes the run was asked of."""
    return vaults_by_path(notes_of(run.fingerprint))


def vaults_by_path(notes: Collection[str]) -> Holders:
    """Return the vaults that hold a note of a path, of notes as `vault/rel_path`; as every cause asks for it, once."""
    return _sorted_out(frozenset(notes))[0]


def vaults_with_notes(notes: Collection[str]) -> Collection[str]:
    """Return the vaults that hold any of these notes."""
    return _sorted_out(frozenset(notes))[1]


@lru_cache(maxsize=4)
def _sorted_out(notes: frozenset[str]) -> tuple[Holders, Collection[str]]:
    vaults: dict[str, set[str]] = {}
    for note in notes:
        vault, _, path = note.partition("/")
        vaults.setdefault(path, set()).add(vault)
    return vaults, frozenset().union(*vaults.values())


def vaults_named(places: Iterable[tuple[str, str | None]]) -> Holders:
    """Return the vaults that places name, by the path of their note."""
    vaults: dict[str, set[str]] = {}
    for path, vault in places:
        vaults.setdefault(path, set()).update((vault,) if vault else ())
    return vaults


def count_notes(vaults: Mapping[str, Collection[str]]) -> int:
    """Return how many notes are named; one that is named without its vault is no further note of its path."""
    return sum(max(1, len(names)) for names in vaults.values())


def possible(place: Chunk | Reference, known: Holders) -> tuple[str, ...]:
    """Return the notes, as `vault/rel_path`, that a chunk or a cited place may be of; none where nothing is known."""
    vaults = [place.vault] if place.vault else sorted(known.get(place.rel_path, ()))
    return tuple(f"{vault}/{place.rel_path}" for vault in vaults)
