"""Runs with probes, built with defaults: a test names only what it is about."""

from __future__ import annotations

from typing import Any

from builders import make_case, make_config, make_failure, make_labelled, make_response, make_result, make_run
from raggate.config.gate_settings import Gate
from raggate.config.invariant_settings import Invariants
from raggate.gate.invariants.invariants import check_answers
from raggate.models.comparison import Finding
from raggate.models.run import Chunk, Probe, ProbeAnswer, ProbeKind, Probing, Run

OFF = Invariants(**dict.fromkeys(Invariants.model_fields, "off"))
NOTES = {"work/a.md": "1", "work/b.md": "1", "home/a.md": "2", "home/diary.md": "3"}


def make_probe(kind: ProbeKind, *chunks: Chunk, failed: bool = False, **fields: Any) -> ProbeAnswer:
    """Build a probe that is made of question `q1`, and what came of it; `response__…` is of the response."""
    response = {key.removeprefix("response__"): value for key, value in fields.items() if key.startswith("response__")}
    defaults: dict[str, Any] = {"mode": "hybrid", "question": "Question q1?", "case_id": "q1"}
    own = {key: value for key, value in fields.items() if not key.startswith("response__")}
    result = make_result(failure=make_failure()) if failed else make_result(response=make_response(*chunks, **response))
    return ProbeAnswer(probe=Probe(kind=kind, **{**defaults, **own}), result=result)


def probed(*answers: ProbeAnswer, suite: tuple[Chunk, ...] = (), **fields: Any) -> Run:
    """Build a run of one question that got some chunks, and of some probes."""
    coverage, private = fields.pop("coverage", None), fields.pop("private", ())
    item = make_labelled(make_case(), make_result(response=make_response(*suite, coverage=coverage)))
    config = make_config(vault={"work": "work", "home": "home"}, **fields.pop("config", {}))
    probing = Probing(answers=answers, private=private)
    return make_run(item, config=config, fingerprint={"notes": NOTES}, probes=probing, **fields)


def broken(name: str, run: Run, level: str = "error") -> tuple[Finding, ...]:
    return check_answers(run, OFF.model_copy(update={name: level}), Gate())


def examples(name: str, run: Run) -> list[str]:
    """Return where one invariant is seen not to hold."""
    return [example for finding in broken(name, run) if not finding.unseen for example in finding.examples]
