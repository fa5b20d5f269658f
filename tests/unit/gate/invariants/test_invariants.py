"""Findings: their levels and order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from builders import (
    make_chunk,
    make_chunks,
    make_failure,
    make_labelled,
    make_result,
    make_run,
)
from probed import broken, make_probe, probed
from raggate.config.gate_settings import Gate
from raggate.config.invariant_settings import Invariants
from raggate.gate.invariants.invariants import SHOWN_EXAMPLES, check_answers
from raggate.models.provenance import Provenance
from raggate.models.run import ProbeAnswer
from tables import each_row

OFF = Invariants(**dict.fromkeys(Invariants.model_fields, "off"))
BADLY_RANKED = make_labelled(result=make_result("q1", make_chunk("a", rank=2), make_chunk("b", rank=1)))


def test_errors_come_first() -> None:
    """Findings that break the gate stand before those that warn."""
    levels = OFF.model_copy(update={"lists_ordered": "warn", "chunk_ids_unique": "error"})
    labels = replace(BADLY_RANKED.labels, duplicates=(1,))
    both = check_answers(make_run(replace(BADLY_RANKED, labels=labels)), levels, Gate())
    assert [finding.invariant for finding in both] == ["chunk_ids_unique", "lists_ordered"]


A, B = make_chunks("a.md", "b.md")
MARKED: dict[str, Any] = {"config": {"private": {"tags": ["secret"]}}}
ANNA: dict[str, Any] = {"config": {"ask": {"principals": {"anna": {"headers": {"X-User": "anna"}, "sees": ["work"]}}}}}
PEOPLE = {name: {"headers": {"X-User": name}, "sees": ["work"]} for name in ("anna", "bert", "carl")}
THREE: dict[str, Any] = {"config": {"ask": {"principals": PEOPLE}}}


DIARY: dict[str, Any] = {**MARKED, "private": ("home/diary.md",)}
LOST, BACK = make_probe("private", failed=True, case_id=""), make_probe("private", make_chunk(), case_id="")
OF_ANNA, OF_BERT = make_probe("principal", principal="anna"), make_probe("principal", make_chunk(), principal="bert")
NO_ANSWER = "of {} questions got no answer: no answer within 60 s"


@each_row(
    ("name", "answers", "run", "level", "why"),
    [
        ("private_withheld", (LOST, LOST, BACK), DIARY, "error", f"2 {NO_ANSWER.format(3)}"),
        ("private_withheld", (LOST, BACK), DIARY, "warn", f"1 {NO_ANSWER.format(2)}"),
        ("private_withheld", (), MARKED, "error", "no note of the vaults is marked as private or deleted"),
        ("private_withheld", (), DIARY, "error", "no private note was asked for"),
        ("principals_isolated", (OF_ANNA,), ANNA, "error", "anna got no passage for 1 question"),
        (
            "principals_isolated",
            (OF_ANNA, OF_BERT),
            THREE,
            "error",
            "anna got no passage for 1 question; carl got no passage for 0 questions",
        ),
    ],
)
def test_what_was_not_seen(
    name: str, answers: tuple[ProbeAnswer, ...], run: dict[str, Any], level: str, why: str
) -> None:
    """Where nothing was seen it is told at the level of the invariant, else as a warning, with why."""
    (finding,) = broken(name, probed(*answers, **run))
    assert (finding.level, finding.unseen, finding.examples) == (level, True, (why,))
    assert broken(name, probed(*answers, **run), "off") == ()
    assert broken(name, probed(*answers, **run, stopped="the API ended")) == ()


REFUSED = make_probe("principal", failed=True, principal="anna")
SEEN = make_probe("principal", make_chunk(), principal="anna")


@each_row(
    ("name", "answers", "run"),
    [
        pytest.param("private_withheld", (), {}, id="nothing-private-configured"),
        pytest.param("principals_isolated", (), {}, id="no-principals-configured"),
        pytest.param("principals_isolated", (SEEN, REFUSED), ANNA, id="a-refused-call-shows-nothing"),
    ],
)
def test_what_was_seen(name: str, answers: tuple[ProbeAnswer, ...], run: dict[str, Any]) -> None:
    """Nothing is told of what was seen to hold, or concerns nobody."""
    assert broken(name, probed(*answers, **run)) == ()


NOTHING_TELLS = "no question was answered twice, so nothing shows"
LIMIT = "gate.max_error_rate allows 0.02"


@each_row(
    ("asked", "failed", "why"),
    [
        pytest.param(10, 10, NOTHING_TELLS, id="all-fail"),
        pytest.param(0, 0, NOTHING_TELLS, id="none-asked"),
        pytest.param(10, 4, f"4 of 10 questions got no answer when asked again; {LIMIT}", id="some-fail"),
        pytest.param(50, 2, f"2 of 50 questions got no answer when asked again; {LIMIT}", id="one-more-than-may"),
        pytest.param(50, 1, None, id="as-many-as-may"),
    ],
)
@each_row("level", ["error", "warn"])
def test_questions_that_fail_when_asked_again(asked: int, failed: int, why: str | None, level: str) -> None:
    """Whether an API ranks alike is not seen where more calls fail than may, as each could have come out otherwise."""
    run = probed(suite=(A,))
    run = replace(run, fingerprint={**run.fingerprint, "repeated": {"asked": asked, "failed": failed, "differ": 0}})
    findings = broken("must_be_deterministic", run, level)
    told = [(finding.level, finding.unseen, finding.examples) for finding in findings]
    assert told == ([] if why is None else [(level, True, (why,))])


def test_later_answers_that_fail() -> None:
    """A question that is asked three times and answered twice leaves open how it would have come out."""
    run = probed(suite=(A,))
    (first,) = run.results
    lost = make_labelled(first.case, make_result(failure=make_failure()))
    three = replace(run, repeats=(first, lost))
    three = replace(three, fingerprint={**run.fingerprint, "repeated": {"asked": 1, "failed": 0, "differ": 0}})
    (finding,) = broken("must_be_deterministic", three)
    assert (finding.unseen, finding.examples) == (True, (f"1 of 2 later calls failed; {LIMIT}",))


def test_failed_calls_are_not_checked() -> None:
    """A failed call has no answer, so it breaks no invariant."""
    failed = make_labelled(result=make_result(failure=make_failure()))
    assert check_answers(make_run(failed), Invariants(), Gate()) == ()


@given(st.lists(st.text("ab", max_size=8), max_size=30))
def test_examples_are_the_shortest(texts: list[str]) -> None:
    """All are counted, the few shortest are kept, and of equally long ones the first."""
    provenance = Provenance(in_build_context=tuple(texts))
    found = check_answers(make_run(provenance=provenance), OFF.model_copy(update={"golden_kept_apart": "warn"}), Gate())
    counts = [(finding.count, [example.partition(" lies")[0] for example in finding.examples]) for finding in found]
    assert counts == ([(len(texts), sorted(texts, key=len)[:SHOWN_EXAMPLES])] if texts else [])
