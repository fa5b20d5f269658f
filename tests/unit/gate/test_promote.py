"""Promoting: which runs must not become a baseline, and what a baseline says of where it came from."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from builders import (
    make_case,
    make_chunk,
    make_failure,
    make_finding,
    make_golden,
    make_labelled,
    make_response,
    make_result,
    make_run,
    make_scorecard,
)
from raggate.base.errors import CannotTell, UsageError
from raggate.config.gate_settings import Gate, Rule
from raggate.gate import baseline
from raggate.gate.promote import (
    MEND_FIRST,
    Terms,
    propose,
    provenance,
    refuse_other_origin,
    refuse_unmeasured,
    table,
)
from raggate.models.baseline import Baseline, RatchetEntry
from raggate.models.comparison import Finding
from raggate.models.promotion import BaselineCandidate, MetricChange
from raggate.models.provenance import Checkout, Provenance, RunCommand
from raggate.models.run import Run
from raggate.scoring import score as scoring
from raggate.scoring.score import score
from tables import each_row

IDS = [f"q{number}" for number in range(100)]
ASKED = [make_labelled(make_case(q), make_result(q, make_chunk())) for q in IDS]
FAILED = [make_labelled(make_case(q), make_result(q, failure=make_failure())) for q in IDS]
IN_VECTOR = [make_labelled(make_case(q), make_result(q, make_chunk(), mode="vector")) for q in IDS]


def promote(run: Run, findings: tuple[Finding, ...] = (), gate: Gate | None = None) -> None:
    refuse_unmeasured(run, score(run, (5,)), findings, gate or Gate())


@each_row(
    ("run", "findings", "gate"),
    [
        (make_run(*FAILED[:2], *ASKED[2:]), (), Gate()),
        (make_run(*FAILED[:29], *ASKED[29:]), (), Gate(max_error_rate=0.29)),
        (make_run(*ASKED), (make_finding(level="warn"),), Gate()),
        (
            make_run(
                *ASKED,
                golden=make_golden(*(item.case for item in ASKED), make_case("other", modes=("vector",))),
                fingerprint={"modes": ["hybrid"]},
            ),
            (),
            Gate(),
        ),
    ],
)
def test_accepted(run: Run, findings: tuple[Finding, ...], gate: Gate) -> None:
    """A run that was measured well enough for a verdict may become a baseline."""
    promote(run, findings, gate)


@each_row(
    ("run", "findings", "reason"),
    [
        (
            make_run(*ASKED, *IN_VECTOR[:50], fingerprint={"modes": ["hybrid", "vector"]}),
            (),
            "50 questions of the golden set lack results: "
            "q50 (vector), q51 (vector), q52 (vector), q53 (vector), q54 (vector), …",
        ),
        (make_run(golden=make_golden()), (), "no question was asked"),
        pytest.param(
            make_run(*FAILED[:3], *ASKED[3:], stopped="gave up"),
            (make_finding(),),
            "gave up; 3 of 100 calls failed (timeout), and gate.max_error_rate allows 2%; most often: “no answer "
            "within 60 s”; invariant lists_ordered is not met: q1 (hybrid): rank 2",
            id="all-causes-are-told",
        ),
    ],
)
def test_refused(run: Run, findings: tuple[Finding, ...], reason: str) -> None:
    """A run that was not measured well enough is refused with every cause."""
    with pytest.raises(CannotTell) as caught:
        promote(run, findings)
    assert caught.value.message == f"run run-1 cannot become a baseline: {reason}"
    assert caught.value.hint == (MEND_FIRST if findings else "Measure again, then promote.")


MEASURED = Provenance(raggate_version="0.1.0", checkout=Checkout(commit="abc"), against="def")


def test_provenance() -> None:
    """A baseline says which run it is, when it was measured, by which version, and on which commits."""
    assert provenance(make_run(provenance=MEASURED), make_scorecard()) == {
        "run_id": "run-1",
        "measured": "2026-01-02T03:04:05Z",
        "raggate_version": "0.1.0",
        "checkout": {"commit": "abc"},
        "against": "def",
    }


def test_a_baseline_keeps_the_median_answer_time() -> None:
    """The file has the median answer time of the run that is promoted, to a tenth of a millisecond."""
    times = {"q1": 1.0, "q2": 2.26, "q3": 90.0}
    items = [make_labelled(make_case(q), make_result(q, make_chunk(), elapsed_ms=ms)) for q, ms in times.items()]
    run = make_run(*items)
    assert kept(proposed(run, None)).provenance["median_ms"] == 2.3


GATE = Gate(metrics={f"{name}_at_{k}": False for name in ("mrr", "ndcg", "recall_all") for k in (1, 3, 5, 10)})
LOST = make_chunk("c2", rel_path="b.md")
ALLOWED = Terms(reason="smaller model", by="ada", allow_regression=True)


def run_of(lost: int, asked: int = 20, **fields: Any) -> Run:
    """Measure questions of which the first `lost` are not found; each is 0.05 of hit_at_5 when 20 are asked."""
    chunks = {f"q{n:02}": LOST if n < lost else make_chunk() for n in range(asked)}
    items = [make_labelled(make_case(q), make_result(q, chunk)) for q, chunk in chunks.items()]
    defaults = {"run_id": f"run-{lost}-{asked}", "started": f"2026-01-{lost + 1:02}T00:00:00Z"}
    return make_run(*items, **{**defaults, **fields})


def proposed(run: Run, present: Baseline | None, terms: Terms | None = None, **rest: Any) -> BaselineCandidate:
    return propose(run, score(run, (5,)), present, GATE, terms or Terms(), **rest)


def kept(proposal: BaselineCandidate) -> Baseline:
    return baseline.read(proposal.data, "baselines/default.json", scoring.directions((5,)))


def test_first_baseline() -> None:
    """Without a baseline every gated metric starts with its value, and there is nothing before."""
    found = proposed(run_of(1), None)
    assert kept(found).accepted["hybrid"]["hit_at_5"] == RatchetEntry(best=0.95, drops=0.0, since="2026-01-02")
    assert (hit(found).before.value, hit(found).after.value, hit(found).change.delta) == (None, 0.95, None)
    assert found.reasons == ()


def test_what_a_reviewer_is_shown() -> None:
    """A proposal holds the values before and after, the questions lost and gained, and what is accepted."""
    found = proposed(run_of(2), kept(proposed(run_of(1), None)), ALLOWED)
    assert (hit(found).before.value, hit(found).after.value) == (0.95, 0.9)
    assert [(flip.case_id, flip.kind) for flip in found.comparison.flips] == [("q01", "broke")]
    assert [(reason.code, reason.message) for reason in found.reasons] == [
        ("metric-down", "hit@5 (hybrid) 95.0 → 90.0%")
    ]
    stated = {"reason": "smaller model", "promoted_by": "ada", "previous": "run-1-20"}
    assert found.provenance == {**provenance(run_of(2), score(run_of(2), (5,))), **stated}
    lines = [" ".join(line.split()) for line in table(found)]
    assert lines[0] == "hit@5 (hybrid) 95.0% → 90.0% −5.0 pt"
    assert lines[-2:] == ["1 question lost: q01 (hybrid)", "accepted: hit@5 (hybrid) 95.0 → 90.0%"]


HIT = "hit@5 (hybrid)"


def hit(found: BaselineCandidate) -> MetricChange:
    (row,) = [row for row in found.rows if (row.change.mode, row.change.metric) == ("hybrid", "hit_at_5")]
    return row


def told_of(found: BaselineCandidate, name: str = HIT) -> str:
    (line,) = [line for line in table(found) if line.startswith(name)]
    return " ".join(line.split())


def test_values_are_those_of_the_files() -> None:
    """Before and after are what the two files say, and the change is over the questions that both have."""
    present = kept(proposed(run_of(0), None))
    run = together(run_of(0), relabelled(run_of(20), "new"))
    with pytest.raises(UsageError, match=r"50\.0% over all questions of each side; 0\.0% over the 20 questions added"):
        proposed(run, present)
    found = proposed(run, present, ALLOWED)
    assert (hit(found).before.value, hit(found).after.value, hit(found).change.delta) == (1.0, 0.5, 0.0)
    assert (hit(found).after.n, hit(found).change.current.n, hit(found).shared) == (40, 20, True)
    assert kept(found).scorecard.slices["hybrid"]["overall"]["hit_at_5"].value == 0.5
    assert told_of(found) == f"{HIT} 100.0% → 50.0% = over 20 shared questions"
    assert [reason.code for reason in found.reasons] == ["metric-down"]


def relabelled(run: Run, mark: str = "") -> Run:
    items = [
        make_labelled(
            make_case(f"{item.case.id}{mark}", question=f"{item.case.question} please{mark}"),
            make_result(f"{item.case.id}{mark}", response=item.result.response),
        )
        for item in run.results
    ]
    return make_run(*items, run_id=run.run_id + "-other", started=run.started)


def together(*runs: Run) -> Run:
    return make_run(*(item for run in runs for item in run.results), run_id="both", started=runs[0].started)


def test_loss_behind_other_questions_is_refused() -> None:
    """Where too few questions are the same, a mean that is lower counts as a loss like any other."""
    present, worse = kept(proposed(run_of(0), None)), run_of(20)
    others = relabelled(make_run(*worse.results[9:], started=worse.started))
    run = together(make_run(*run_of(0).results[:9], started=worse.started), others)
    with pytest.raises(UsageError, match=r"hit@5 \(hybrid\) 100\.0 → 45\.0%, means over different questions"):
        proposed(run, present)
    found = proposed(run, present, ALLOWED)
    assert (hit(found).change.delta, hit(found).shared) == (pytest.approx(-0.55), False)
    assert found.reasons[-1].message == "only 9 of the present baseline's 20 questions are still the same"
    entry = kept(found).accepted["hybrid"]["hit_at_5"]
    assert entry.lowered is not None
    assert (entry.best, entry.lowered.before, entry.lowered.after) == (0.45, 1.0, 0.45)
    assert entry.lowered.reason == "smaller model"
    assert proposed(run, kept(found)).data == proposed(run, kept(found), ALLOWED).data


def test_few_shared_questions_that_got_worse_are_seen() -> None:
    """A loss over the few shared questions is one, though the others make the mean no lower."""
    present = kept(proposed(run_of(10), None))
    shared = make_run(*run_of(20).results[15:], started="2026-02-01T00:00:00Z")
    run = together(shared, relabelled(make_run(*run_of(0).results[:15])))
    with pytest.raises(UsageError, match=r"hit@5 \(hybrid\) 100\.0 → 0\.0% over 5 shared questions"):
        proposed(run, present)


def test_other_questions_that_are_no_worse() -> None:
    """Relabelling every question without a lower mean needs no permission, and is told."""
    found = proposed(relabelled(run_of(1)), kept(proposed(run_of(1), None)))
    assert [reason.code for reason in found.reasons] == ["little-overlap"]
    assert table(found)[-1] == "note: only 0 of the present baseline's 20 questions are still the same"
    assert kept(found).accepted["hybrid"]["hit_at_5"] == RatchetEntry(best=0.95, drops=0.0, since="2026-01-02")


@each_row(("floor", "told"), [(0.95, False), (0.96, True)])
def test_a_floor_that_is_not_kept_is_told(floor: float, *, told: bool) -> None:
    """A value beyond its floor can be promoted, with a note that the next check fails for it."""
    gate = Gate(metrics={"hit_at_5": Rule(tolerance=0.05, floor=floor)})
    run = run_of(1)
    found = propose(run, score(run, (5,)), None, gate, Terms())
    said = [reason.message for reason in found.reasons]
    expected = [f"hit@5 (hybrid) is 95.0%, beyond its floor {floor:.0%}, so the next check will fail"]
    assert said == (expected if told else [])


@each_row(
    ("policy", "asked", "told"),
    [
        ("evidence", 20, []),
        ("threshold", 201, []),
        ("threshold", 20, ["with 20 questions a harmless change is red in 1 of 4 runs under gate.policy threshold"]),
    ],
)
def test_a_policy_that_is_often_red_is_told(policy: Any, asked: int, told: list[str]) -> None:
    """A promotion under `threshold` says how often it is red for nothing, if that is often."""
    run = run_of(1, asked)
    found = propose(run, score(run, (5,)), None, Gate(policy=policy), Terms())
    said = [reason.message.partition(":")[0] for reason in found.reasons if reason.code == "often-red"]
    assert said == told


def test_metric_without_a_shared_question() -> None:
    """A gated metric whose only questions were relabelled is judged by its means, however many others are shared."""
    refused = make_case("trick", answerable=False)
    abstains = make_labelled(refused, make_result("trick", response=make_response(abstained=True)))
    asked_otherwise = make_case("trick", question="And now?", answerable=False)
    answers = make_labelled(asked_otherwise, make_result("trick", make_chunk()))
    present = kept(proposed(make_run(*run_of(0).results, abstains), None))
    with pytest.raises(UsageError, match=r"accuracy \(hybrid\) 100\.0 → 0\.0%, means over different questions$"):
        proposed(make_run(*run_of(0).results, answers), present)


@each_row(
    ("terms", "advice"),
    [
        (Terms(), "If that is accepted"),
        (Terms(allow_regression=True), "Only --reason is missing"),
        (Terms.of(" \n", "", allow_regression=True), "Only --reason is missing"),
    ],
)
def test_lower_value_is_refused(terms: Terms, advice: str) -> None:
    """A gated metric that goes down, however little, needs permission and a reason, and may have them."""
    with pytest.raises(UsageError) as caught:
        proposed(run_of(2), kept(proposed(run_of(1), None)), terms)
    assert caught.value.message == "run run-2-20 is worse than the present baseline: hit@5 (hybrid) 95.0 → 90.0%"
    assert caught.value.hint == f'{advice}: --allow-regression --reason "...".'


def test_means_of_other_questions_need_permission() -> None:
    """A mean that rises may be of easier questions if the baseline does not tell which it is of."""
    present = kept(proposed(run_of(2), None))
    bare = replace(present, scorecard=replace(present.scorecard, cases=()))
    easier = run_of(0, asked=30)
    with pytest.raises(UsageError, match="is a mean over 30 questions, but over 20"):
        proposed(easier, bare, Terms())
    assert proposed(easier, bare, Terms(allow_regression=True, reason="more questions"))


def in_slices(lost: range) -> Run:
    """Measure twenty questions, half of them of each of two categories, of which some are not found."""
    cases = [make_case(f"q{n:02}", category="left" if n < 10 else "right") for n in range(20)]
    chunks = [LOST if n in lost else make_chunk() for n in range(20)]
    return make_run(*(make_labelled(c, make_result(c.id, chunk)) for c, chunk in zip(cases, chunks, strict=True)))


def test_a_slice_that_loses_what_another_one_wins() -> None:
    """A slice worse than allowed needs permission where slices are red, and is a note where they only warn."""
    present = kept(proposed(in_slices(range(3)), None))
    run = in_slices(range(10, 13))
    strict = GATE.model_copy(update={"slices": "fail"})
    with pytest.raises(UsageError, match=r"hit@5 \(hybrid\) for category=right went from 100\.0% to 70\.0%"):
        propose(run, score(run, (5,)), present, strict, Terms())
    accepted = propose(run, score(run, (5,)), present, strict, ALLOWED)
    assert [reason.code for reason in accepted.reasons] == ["metric-down"]
    noted = proposed(run, present)
    assert [reason.code for reason in noted.reasons] == ["slice-worse"]
    assert any(line.startswith("note: hit@5 (hybrid) for category=right") for line in table(noted))
    off = GATE.model_copy(update={"slices": "off"})
    assert propose(run, score(run, (5,)), present, off, Terms()).reasons == ()


def test_slices_that_are_gone_are_shown() -> None:
    """A mode or a slice of the present baseline that the run has no question of is a note in the table."""
    present = kept(proposed(in_slices(()), None))
    assert not any("without a question" in line for line in table(proposed(in_slices(()), present)))
    run = make_run(*(replace(item, case=replace(item.case, category="left")) for item in in_slices(()).results))
    found = proposed(run, present)
    assert any(line.endswith("no question for them: slice category=right (hybrid)") for line in table(found))
    modes = replace(present.scorecard, slices={**present.scorecard.slices, "bm25": {"overall": {}}})
    found = proposed(run, replace(present, scorecard=modes))
    assert table(found)[-1].endswith("the new one has no question for them: mode bm25, slice category=right (hybrid)")


def test_cases_that_are_gone_are_refused() -> None:
    """A run that asked fewer cases than the baseline's golden set needs the same, though no value went down."""
    present = kept(proposed(run_of(1), None))
    fewer = run_of(1, 19)
    with pytest.raises(UsageError, match="1 question of the baseline is gone: q19"):
        proposed(fewer, present)
    assert [reason.code for reason in proposed(fewer, present, ALLOWED).reasons] == ["removed-cases"]
    # where nothing can be compared, cases still have names
    with pytest.raises(UsageError, match="1 question of the baseline is gone: q19"):
        proposed(run_of(0, 19), present, incomparable=OTHER)


def test_metric_that_vanished_is_refused() -> None:
    """A gated metric that applies to no case any more counts as one that went down."""
    present = kept(proposed(run_of(1), None))
    modes = [replace(case, mode="bm25") for case in present.scorecard.cases]
    both = replace(
        present.scorecard,
        cases=(*present.scorecard.cases, *modes),
        slices={**present.scorecard.slices, "bm25": present.scorecard.slices["hybrid"]},
        counts={**present.scorecard.counts, "bm25": present.scorecard.counts["hybrid"]},
    )
    with pytest.raises(UsageError, match=r"hit@5 \(bm25\) 95\.0% → –"):
        proposed(run_of(1), replace(present, scorecard=both))


def test_metric_that_vanished_from_the_shared_cases_is_refused() -> None:
    """It counts as gone also where new questions have a value, and what was accepted of it stays."""
    asked = [make_labelled(make_case(f"q{n}"), make_result(f"q{n}", make_chunk())) for n in range(4)]
    known = score(make_run(*asked, run_id="run-2"), (5,))
    cases = tuple(
        replace(case, values={name: None if n < 2 else value for name, value in case.values.items()})
        for n, case in enumerate(known.cases)
    )
    slices = scoring.SliceMeans(scoring.directions((5,)))
    for case in cases:
        slices.add(case)
    lapsed = replace(known, cases=cases, slices=slices.means())
    present = kept(propose(make_run(*asked[:2]), score(make_run(*asked[:2]), (5,)), None, GATE, Terms()))
    with pytest.raises(UsageError, match=r"hit@5 \(hybrid\) 100\.0% → – over 2 shared questions"):
        propose(make_run(*asked), lapsed, present, GATE, Terms())
    found = propose(make_run(*asked), lapsed, present, GATE, ALLOWED)
    assert kept(found).accepted["hybrid"]["hit_at_5"] == present.accepted["hybrid"]["hit_at_5"]


def test_improvement_needs_no_permission() -> None:
    """A run that is as good or better, with more cases, is promoted without a word."""
    present = kept(proposed(run_of(2), None))
    assert proposed(run_of(1, 25), present).reasons == ()


def test_another_suite_is_refused() -> None:
    """The baseline of another suite is not replaced, whatever is allowed."""
    other = run_of(1, suite="other")
    with pytest.raises(UsageError, match="is the baseline of suite 'default', the run is of 'other'"):
        proposed(other, kept(proposed(run_of(1), None)), ALLOWED)


@each_row("lost", [1, 3])
def test_promoting_twice_changes_nothing(lost: int) -> None:
    """Promoting the run that is the baseline already gives the same bytes: no drop is counted twice."""
    once = proposed(run_of(lost), kept(proposed(run_of(2), None)), ALLOWED)
    assert proposed(run_of(lost), kept(once), ALLOWED).data == once.data
    assert proposed(run_of(lost), kept(once)).data == once.data


OTHER = ("the adapter changed",)


def test_starting_over() -> None:
    """A baseline that must not be compared is replaced by values that are no lower without a word but the note."""
    found = proposed(run_of(1), kept(proposed(run_of(5), None)), incomparable=OTHER)
    assert [reason.code for reason in found.reasons] == ["little-overlap"]
    assert kept(found).accepted["hybrid"]["hit_at_5"] == RatchetEntry(best=0.95, drops=0.0, since="2026-01-02")
    assert hit(found).change.delta == pytest.approx(0.2)


def test_starting_over_forgives_nothing() -> None:
    """What was given up in small steps stays known until the best value is reached again."""
    crept = kept(proposed(run_of(2), kept(proposed(run_of(1), None)), ALLOWED))
    entry = kept(proposed(run_of(2), crept, incomparable=OTHER)).accepted["hybrid"]["hit_at_5"]
    assert (entry.best, entry.drops, entry.since) == (0.95, pytest.approx(0.05), "2026-01-02")
    won_back = kept(proposed(run_of(0), crept, incomparable=OTHER)).accepted["hybrid"]["hit_at_5"]
    assert won_back == RatchetEntry(best=1.0, drops=0.0, since="2026-01-01")


def test_damaged_baseline_starts_anew() -> None:
    """Where the present baseline cannot be read there is nothing to compare with, and the note says so."""
    found = proposed(run_of(5), None, ALLOWED, unreadable="not valid JSON")
    assert [reason.code for reason in found.reasons] == ["little-overlap"]
    assert hit(found).change.delta is None


@each_row("command", ["diff", "prove"])
def test_a_run_of_another_build(command: RunCommand) -> None:
    """A run of two builds, or of known faults, is refused by name; any other may become a baseline."""
    run = make_run(provenance=Provenance(command=command, build="revision v1"))
    with pytest.raises(UsageError, match=f"is one of `raggate {command}`: revision v1, "):
        refuse_other_origin(run)
    refuse_other_origin(replace(run, provenance=Provenance(command="calibrate")))


def test_terms_are_one_line_each() -> None:
    """What a person typed is kept as one printable line."""
    assert Terms.of("a\x1b[0m\nb", " c\t", allow_regression=False) == Terms(reason="a [0m b", by="c")
