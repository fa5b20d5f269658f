"""The keys of a fingerprint that are read by name."""

from __future__ import annotations

from raggate.models.provenance import Fingerprint, cutoffs_of, modes_of, notes_of
from tables import each_row


@each_row("fingerprint", [{}, {"modes": None, "cutoffs": 5, "notes": []}, {"modes": [1], "cutoffs": "5"}])
def test_what_is_not_known_is_empty(fingerprint: Fingerprint) -> None:
    """A key that is not there, or that holds something else, is as good as not known."""
    assert (modes_of(fingerprint), cutoffs_of(fingerprint), notes_of(fingerprint)) == ((), (), {})
