"""What a configuration names and nothing computes or asks is refused before anything is asked."""

from __future__ import annotations

from typing import Any

import pytest

from builders import make_config
from raggate.base.errors import UsageError
from raggate.pipeline.trusted_inputs import check_names
from tables import each_row

WAIVER = {"owner": "ada", "reason": "reindexing", "expires": "2026-12-31"}
KNOWN = "at the cut-offs [1]"


@each_row(
    ("keys", "message"),
    [
        (
            {"gate": {"metrics": {"hit_at_4": 0.1}}},
            f"gate.metrics: no metric 'hit_at_4' {KNOWN}. Did you mean 'hit_at_1'?",
        ),
        ({"gate": {"composite": ["hit_at_1", "hit_at_5"]}}, f"gate.composite[1]: no metric 'hit_at_5' {KNOWN}"),
        ({"gate": {"composite": ["groundedness"]}}, "gate.composite[0]: groundedness is given by judges"),
        ({"gate": {"composite": ["context_chars_at_1"]}}, "gate.composite[0]: context_chars_at_1 is an amount"),
        ({"waivers": [{"metric": "hit_at_4", **WAIVER}]}, f"waivers[0].metric: no metric 'hit_at_4' {KNOWN}"),
        (
            {"waivers": [{"metric": "hit_at_1", "mode": "bm25", **WAIVER}]},
            "waivers[0].mode: expected one of hybrid, found 'bm25'",
        ),
    ],
)
def test_names_that_nothing_has(keys: dict[str, Any], message: str) -> None:
    """A metric or mode that does not exist, or has another scale, is refused with its place."""
    with pytest.raises(UsageError) as caught:
        check_names(make_config(score={"k": [1]}, **keys), "raggate.yml")
    assert caught.value.message.startswith(f"raggate.yml: {message}")


@each_row("gate", [{}, {"metrics": {"hit_at_5": "off"}}, {"composite": ["hit_at_1"]}])
def test_names_that_need_not_be_there(gate: dict[str, Any]) -> None:
    """The default composite may name more than a configuration scores, and what is off need not be scored."""
    check_names(make_config(score={"k": [1]}, gate=gate), "raggate.yml")
