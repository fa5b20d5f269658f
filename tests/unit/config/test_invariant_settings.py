"""The section `invariants`: its keys, and the sentences that findings say."""

from __future__ import annotations

from raggate.config.invariant_settings import Invariants, sentences


def test_every_rule_has_a_sentence() -> None:
    """It is what stands below the key, in one line."""
    assert set(sentences()) == set(Invariants.model_fields)
    assert sentences()["lists_ordered"] == (
        "Final scores are finite numbers, highest first, and reported ranks are 1, 2, 3, … in list order."
    )
    assert all(text.endswith(".") and "\n" not in text for text in sentences().values())
