"""Findings: their levels and order."""

from __future__ import annotations

from builders import (
    make_chunk,
    make_labelled,
    make_result,
    make_run,
)
from raggate.config.gate_settings import Gate
from raggate.config.invariant_settings import Invariants
from raggate.gate.invariants.invariants import check_answers
from raggate.models.comparison import Finding
from tables import each_row

OFF = Invariants(**dict.fromkeys(Invariants.model_fields, "off"))
BADLY_RANKED = make_labelled(result=make_result("q1", make_chunk("a", rank=2), make_chunk("b", rank=1)))


def findings(level: str) -> tuple[Finding, ...]:
    """Check ranks that are not contiguous at a level."""
    return check_answers(make_run(BADLY_RANKED), OFF.model_copy(update={"ranks_contiguous": level}), Gate())


@each_row("level", ["error", "warn"])
def test_level(level: str) -> None:
    """A finding carries the level the configuration gives it."""
    (finding,) = findings(level)
    assert finding.level == level


def test_off() -> None:
    """An invariant that is off is not checked."""
    assert findings("off") == ()


def test_errors_come_first() -> None:
    """Findings that break the gate stand before those that warn."""
    levels = OFF.model_copy(update={"ranks_contiguous": "warn", "scores_ordered": "error"})
    chunks = make_chunk("a", rank=2, score_final=1.0), make_chunk("b", rank=1, score_final=2.0)
    both = check_answers(make_run(make_labelled(result=make_result("q1", *chunks))), levels, Gate())
    assert [finding.invariant for finding in both] == ["scores_ordered", "ranks_contiguous"]
