"""What a run was measured by: two runs that differ in it were measured by other means."""

from __future__ import annotations

from collections.abc import Mapping

from raggate.text.jsonio import JsonObject

Fingerprint = JsonObject
"""JSON values by key. Which keys there are depends on what measured: few are read by name, and the rest is compared."""


def modes_of(fingerprint: Fingerprint) -> tuple[str, ...]:
    """Return the retrieval modes that were asked, in order; none where that is not known."""
    return tuple(mode for mode in _values(fingerprint, "modes") if isinstance(mode, str))


def cutoffs_of(fingerprint: Fingerprint) -> tuple[int, ...]:
    """Return the cut-offs that were scored; none where that is not known."""
    return tuple(k for k in _values(fingerprint, "cutoffs") if type(k) is int)


def notes_of(fingerprint: Fingerprint) -> dict[str, str]:
    """Return the notes of the vault, `vault/rel_path` to hash; none where they are not known."""
    notes = fingerprint.get("notes")
    return {str(name): str(digest) for name, digest in notes.items()} if isinstance(notes, Mapping) else {}


def _values(fingerprint: Fingerprint, key: str) -> tuple[object, ...]:
    values = fingerprint.get(key)
    return tuple(values) if isinstance(values, list | tuple) else ()
