"""A run directory from elsewhere is judged by trusted files: believed is what it retrieved, and nothing it says."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from builders import (
    make_case,
    make_chunk,
    make_config,
    make_failure,
    make_golden,
    make_labelled,
    make_response,
    make_result,
    make_run,
)
from raggate.base.errors import CannotTell
from raggate.gate.invariants.invariants import check_answers
from raggate.inputs import probe_plan
from raggate.inputs.trusted import Inputs
from raggate.models.golden import Selection, Vault
from raggate.models.judging import Judgement, Judging, Spending
from raggate.models.run import LabelledResult, Leak, ProbeAnswer, Probing, Run
from raggate.pipeline import claimed_run
from raggate.pipeline.answers import INDEX_FACTS
from tables import each_row

NOTES = {("work", "a.md"): "# Alpha\n\n## Opening hours\n\nnine\n", ("work", "diary.md"): "# Dear diary\n\nme\n"}
VAULT = Vault(directories={"work": Path()}, texts=NOTES, notes={"work/a.md": "1", "work/diary.md": "2"}, hash="v")
ANNA = {"headers": {"X-User": "anna"}, "sees": ["work"]}
SETTINGS = make_config(
    private={"places": ["work/diary.md"]},
    ask={"principals": {"anna": ANNA}},
)


PRIVATE, PRINCIPAL = probe_plan.plan(SETTINGS, make_golden(make_labelled().case), VAULT, ("work/diary.md",))


def claimed(*answers: ProbeAnswer) -> tuple[Run, Inputs]:
    """Build a run as an artifact holds it, which calls nothing private, and the trusted inputs it is judged by."""
    item = make_labelled()
    inputs = Inputs(config=SETTINGS, golden=make_golden(item.case), vault=VAULT, baseline=None, against="base")
    run = make_run(item, config=SETTINGS, fingerprint=inputs.fingerprint(), probes=Probing(answers=answers))
    return run, inputs


def accepted(run: Run, inputs: Inputs) -> Run:
    """Judge the run by the inputs."""
    return claimed_run.accepted(run, inputs, reproduce="", hint="")


def test_the_trusted_inputs_say_what_is_asked_and_what_is_private() -> None:
    """Answers to their probes are believed; other probes are dropped, missing ones are not answered."""
    result = make_result(response=make_response(make_chunk()))
    other = replace(PRIVATE, question="What nobody asked?")
    run, inputs = claimed(ProbeAnswer(probe=other, result=result), ProbeAnswer(probe=PRIVATE, result=result))
    kept = accepted(run, inputs).probes
    assert kept.private == ("work/diary.md",)
    assert [answer.probe for answer in kept.answers] == [PRIVATE, PRINCIPAL]
    first, second = kept.answers
    assert first.result == result
    assert second.result.failure is not None


def test_answers_are_those_that_were_asked_for() -> None:
    """A run has an answer to each question that is asked: none may lack, and none be there beside them."""
    cases = [make_case(f"q{number}", modes=("bm25",) if number == 3 else None) for number in range(4)]
    inputs = Inputs(config=SETTINGS, golden=make_golden(*cases), vault=VAULT, baseline=None, against="base")
    items = [make_labelled(case, make_result(case.id)) for case in cases]

    def judged(*answers: LabelledResult, **fields: Any) -> Run:
        run = make_run(*answers, config=SETTINGS, fingerprint=inputs.fingerprint())
        return accepted(replace(run, golden=inputs.golden, **fields), inputs)

    assert [item.case.id for item in judged(*items[:3]).results] == ["q0", "q1", "q2"]
    assert len(judged(items[0], stopped="it died").results) == 1
    with pytest.raises(CannotTell) as nothing:
        judged(stopped="it died", log=("a last word",))
    assert nothing.value.message == "the run has no result: it stopped earlier"
    assert nothing.value.log == ("what the run itself says:", "it died", "a last word")
    later = replace(items[0], result=replace(items[0].result, repeat=2))
    for answers, words in (
        (items[:2], "no result for 1 of 3 calls"),
        ([*items[:3], later], "1 answer that was not asked for"),
        (items, "1 answer that was not asked for"),
    ):
        with pytest.raises(CannotTell, match=words):
            judged(*answers)


@each_row(
    ("key", "value"),
    [
        *(("elapsed_ms", value) for value in (1e308, -1, 86_400_001, math.nan)),
        *(("latency", value) for value in (1e308, -1.0)),
        *(("cost", value) for value in (1e308, -1.0)),
        *(("retries", value) for value in (10**10, -1)),
    ],
)
def test_numbers_that_nothing_measures_are_refused(key: str, value: float) -> None:
    """A time or a count beyond any measurement is not shown to anybody."""
    run, inputs = claimed()
    (item,) = run.results
    assert item.result.response is not None
    if key in {"latency", "cost"}:
        wild = replace(item.result, response=replace(item.result.response, **{key: {"any_name": value}}))
    else:
        wild = replace(item.result, **{key: value})
    with pytest.raises(CannotTell) as refused:
        accepted(replace(run, results=[replace(item, result=wild)]), inputs)
    place = f"answer to {item.case.id} ({wild.mode}): {key}"
    assert refused.value.message.startswith(f"the run cannot be read: {place}: expected a number from 0 to ")


def test_how_much_the_index_held_is_kept() -> None:
    """A fork's index is held to the baseline's too, by the answers or by the last look; a wild count is none."""
    run, inputs = claimed()
    looked = {**run.fingerprint, "documents": 7, "chunks": -1}
    seen = accepted(replace(run, fingerprint=looked), inputs).fingerprint
    assert (seen["documents"], seen.get("chunks")) == (7, None)
    coverage = {"docs_processed": 8, "chunks_embedded": 30, "docs_with_0_chunks": 3}
    item = make_labelled(run.results[0].case, make_result(response=make_response(make_chunk(), coverage=coverage)))
    answered = replace(run, results=(item,), fingerprint=looked)
    seen = accepted(answered, inputs).fingerprint
    assert (seen["documents"], seen["chunks"]) == (8, 30)
    assert seen["empty_documents"] == 3
    assert {key for key in INDEX_FACTS if key not in seen} == {"index_version", "chunker_version", "chunk_tokens"}


def test_a_probe_has_no_words_of_its_own() -> None:
    """What an artifact says of texts is believed of the notes of the base alone, and of a failed call not at all."""
    leak = Leak(rank=1, note="work/diary.md")
    result = make_result(response=make_response(make_chunk()))
    run, inputs = claimed(ProbeAnswer(probe=PRIVATE, result=result, leaks=(Leak(rank=1, note="believe me"), leak)))
    assert accepted(run, inputs).probes.answers[0].leaks == (leak,)
    failed = make_result(failure=make_failure(message="::error::believe me"))
    run, inputs = claimed(ProbeAnswer(probe=PRIVATE, result=failed))
    findings = check_answers(accepted(run, inputs), SETTINGS.invariants, SETTINGS.gate)
    assert {finding.invariant for finding in findings if finding.unseen} == {"principals_isolated", "private_withheld"}
    assert "believe me" not in str(findings)


def test_no_grade_of_an_artifact_is_believed() -> None:
    """What a fork's run says that judges said is nothing: no score, nobody who gave it, and nothing that it cost."""
    run, inputs = claimed()
    graded = tuple(replace(item, judgements=(Judgement(score="correctness", value=5.0),)) for item in run.results)
    fingerprint = {**run.fingerprint, "judges": {"scores": ["correctness"]}, "judging": {"min_coverage": 0}}
    judging = Judging(mode="auto", spending=Spending(calls=1))
    said = replace(run, results=graded, repeats=graded, fingerprint=fingerprint, judging=judging)
    kept = accepted(said, inputs)
    assert [item.judgements for item in (*kept.results, *kept.repeats)] == [(), ()]
    assert not {"judges", "judging"} & kept.fingerprint.keys()
    assert kept.judging is None


def test_no_selection_of_an_artifact_is_believed() -> None:
    """What a fork's run says that it was to ask is nothing: with all answers it is whole, and without it lacks them."""
    run, inputs = claimed()
    case = run.results[0].case
    said = replace(run, selection=Selection(asked=(case.id,), of=9, words="-k x"))
    assert accepted(said, inputs).selection is None
    more = replace(inputs, golden=make_golden(case, make_case("q2")))
    part = replace(said, golden=more.golden, fingerprint=more.fingerprint())
    with pytest.raises(CannotTell, match="the run has no result for 1 of 2 calls"):
        accepted(part, more)
