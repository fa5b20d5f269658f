"""What a run that measured nothing claims is never a pass, and never raggate's own sentence."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

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
from raggate.config.invariant_settings import PROBES_OFF
from raggate.errors import CannotTell
from raggate.gate.invariants import check_answers
from raggate.github import untrusted_run
from raggate.inputs import probe_plan
from raggate.inputs.trusted import Inputs
from raggate.models.golden import Vault
from raggate.models.judging import Judgement, Judging, Spending
from raggate.models.run import Leak, ProbeAnswer, Probing, Run
from raggate.models.selection import Selection

VALUE = st.none() | st.integers() | st.text(max_size=20) | st.lists(st.text(max_size=20), max_size=3)
CLAIM = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("exit_code", "headline", "hint", "log", "suite", "verdict"), VALUE)
) | st.fixed_dictionaries(
    {"exit_code": st.sampled_from([0, 1, 2, 3, 4, 70, 130]), "headline": st.text(max_size=20), "hint": st.text()}
)
LABELS = {2: "usage error", 3: "cannot tell", 70: "internal error", 130: "interrupted"}


@given(st.none() | st.binary(max_size=40) | CLAIM.map(lambda claim: json.dumps(claim).encode()))
def test_no_claim_passes_or_speaks(verdict: bytes | None) -> None:
    """Whatever stands in verdict.json, code, label and sentence go together and are raggate's, and so is the suite."""
    ended = untrusted_run.without_results(verdict, "small")
    assert LABELS[ended.exit_code] == ended.label
    assert " ".join(ended.lines) in {
        "The artifact has no results, and does not say why.",
        *(f"The untrusted run reports {what} and measured nothing." for what in WHATS),
    }
    assert (ended.hint, ended.suite) == ("", "small")
    assert ended.log == () or ended.log[0] == untrusted_run.ITS_WORDS


WHATS = ("a usage error", "that it cannot tell", "an internal error", "an interruption")


NOTES = {("work", "a.md"): "# Alpha\n\n## Opening hours\n\nnine\n", ("work", "diary.md"): "# Dear diary\n\nme\n"}
VAULT = Vault(directories={"work": Path()}, texts=NOTES, notes={"work/a.md": "1", "work/diary.md": "2"}, hash="v")
SETTINGS = make_config(
    invariants={**PROBES_OFF, "headings_findable": "error", "private_withheld": "error"},
    private={"places": ["work/diary.md"]},
)


def claimed(*answers: ProbeAnswer) -> tuple[Run, Inputs]:
    """Build a run as an artifact holds it, which calls nothing private, and the trusted inputs it is judged by."""
    item = make_labelled()
    inputs = Inputs(config=SETTINGS, golden=make_golden(item.case), vault=VAULT, baseline=None, against="base")
    run = make_run(item, config=SETTINGS, fingerprint=inputs.fingerprint(), probes=Probing(answers=answers))
    return run, inputs


def test_the_trusted_inputs_say_what_is_asked_and_what_is_private() -> None:
    """Answers to their probes are believed; other probes are dropped, missing ones are not answered."""
    _, inputs = claimed()
    heading, private = probe_plan.plan(SETTINGS, inputs.golden, VAULT, ("work/diary.md",))
    result = make_result(response=make_response(make_chunk()))
    other = replace(private, question="What nobody asked?")
    run, inputs = claimed(ProbeAnswer(probe=other, result=result), ProbeAnswer(probe=heading, result=result))
    kept = untrusted_run.accepted(run, inputs, reproduce="").probes
    assert kept.private == ("work/diary.md",)
    assert [answer.probe for answer in kept.answers] == [heading, private]
    first, second = kept.answers
    assert first.result == result
    assert second.result.failure is not None


def test_how_much_the_index_held_is_kept() -> None:
    """A fork's index is held to the baseline's too, by the answers or by the last look; a wild count is none."""
    run, inputs = claimed()
    looked = {**run.fingerprint, "documents": 7, "chunks": -1}
    seen = untrusted_run.accepted(replace(run, fingerprint=looked), inputs, reproduce="").fingerprint
    assert (seen["documents"], seen.get("chunks")) == (7, None)
    coverage = {"docs_processed": 8, "chunks_embedded": 30}
    item = make_labelled(run.results[0].case, make_result(response=make_response(make_chunk(), coverage=coverage)))
    answered = replace(run, results=(item,), fingerprint=looked)
    seen = untrusted_run.accepted(answered, inputs, reproduce="").fingerprint
    assert (seen["documents"], seen["chunks"]) == (8, 30)


def test_a_leak_names_a_note_that_there_is() -> None:
    """What an artifact says of texts is believed of the notes of the base alone: other names are words of its own."""
    _, inputs = claimed()
    heading, _ = probe_plan.plan(SETTINGS, inputs.golden, VAULT, ("work/diary.md",))
    leak = Leak(rank=1, note="work/diary.md")
    result = make_result(response=make_response(make_chunk()))
    said = ProbeAnswer(probe=heading, result=result, leaks=(Leak(rank=1, note="believe me"), leak))
    run, inputs = claimed(said)
    assert untrusted_run.accepted(run, inputs, reproduce="").probes.answers[0].leaks == (leak,)


def test_a_probe_that_failed_has_no_words_of_its_own() -> None:
    """What an artifact says of a failed call of a probe stands in no sentence of raggate's."""
    _, inputs = claimed()
    heading, _ = probe_plan.plan(SETTINGS, inputs.golden, VAULT, ("work/diary.md",))
    said = make_result(failure=make_failure(message="::error::believe me"))
    run, inputs = claimed(ProbeAnswer(probe=heading, result=said))
    accepted = untrusted_run.accepted(run, inputs, reproduce="")
    findings = check_answers(accepted, SETTINGS.invariants, SETTINGS.gate)
    assert {finding.invariant for finding in findings if finding.unseen} == {"headings_findable", "private_withheld"}
    assert "believe me" not in str(findings)


def test_no_grade_of_an_artifact_is_believed() -> None:
    """What a fork's run says that judges said is nothing: no score, nobody who gave it, and nothing that it cost."""
    run, inputs = claimed()
    graded = tuple(replace(item, judgements=(Judgement(score="correctness", value=5.0),)) for item in run.results)
    fingerprint = {**run.fingerprint, "judges": {"scores": ["correctness"]}, "judging": {"min_coverage": 0}}
    judging = Judging(mode="auto", spending=Spending(calls=1))
    said = replace(run, results=graded, repeats=graded, fingerprint=fingerprint, judging=judging)
    accepted = untrusted_run.accepted(said, inputs, reproduce="")
    assert [item.judgements for item in (*accepted.results, *accepted.repeats)] == [(), ()]
    assert not {"judges", "judging"} & accepted.fingerprint.keys()
    assert accepted.judging is None


def test_no_selection_of_an_artifact_is_believed() -> None:
    """What a fork's run says that it was to ask is nothing: with all answers it is whole, and without it lacks them."""
    run, inputs = claimed()
    case = run.results[0].case
    said = replace(run, selection=Selection(asked=(case.id,), of=9, words="-k x"))
    assert untrusted_run.accepted(said, inputs, reproduce="").selection is None
    more = replace(inputs, golden=make_golden(case, make_case("q2")))
    part = replace(said, golden=more.golden, fingerprint=more.fingerprint())
    with pytest.raises(CannotTell, match="the run has no answer to 1 of 2 questions"):
        untrusted_run.accepted(part, more, reproduce="")
