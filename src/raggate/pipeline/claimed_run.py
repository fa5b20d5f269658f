"""What a run directory from elsewhere claims -> the run that trusted files may judge, or why there is none.

Believed is what each question retrieved and how that was labelled. Everything else is taken from the trusted inputs,
and no text of the run becomes a sentence of raggate's: its words stand in the log, which is untrusted anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import TypeGuard

from msgspec.structs import replace

from raggate.base.dates import moment, now, stamp
from raggate.base.errors import CannotTell, UsageError
from raggate.base.jsonio import JsonObject, dumps, loads
from raggate.base.numbers import counted, fixed
from raggate.base.quote import cut, quoted
from raggate.config.question_settings import asked_in
from raggate.gate import waivers
from raggate.gate.promote import OF_THE_SUITE
from raggate.inputs import probe_plan, sources
from raggate.inputs.leaks import private_notes
from raggate.inputs.trusted import Inputs
from raggate.models.golden import EVERYTHING, by_id, places_of
from raggate.models.provenance import Checkout, Provenance, commit_words, exact_image
from raggate.models.run import Failure, LabelledResult, Probe, ProbeAnswer, Probing, Result, Run
from raggate.pipeline import check, judging, measure, run_directory
from raggate.pipeline.measure import run_place
from raggate.pipeline.request import CheckResult, Request
from raggate.pipeline.trusted_inputs import load_inputs, read_baseline
from raggate.pipeline.unfinished_run import differ
from raggate.scoring import repeats
from raggate.scoring.repeats import KEY, Repeated
from raggate.service.answer_limits import MAX_STEP_MS

MOST_COUNT = 1_000_000_000
"""The largest count that is."""

ITS_WORDS = "what the run itself says:"
"""The line of a log before what an untrusted run says."""

STOPPED = "the run stopped before all questions were asked"
_NO_ANSWER = Failure(kind="aborted", message="the run has no answer for this question")

_UNANSWERED, _ANSWERED = 1, 2

# what the API told of its index while it was measured, beside what the inputs say
_OF_THE_INDEX = ("index_version", "chunker_version")
# and how much it held, with what answers call that
_INDEX_COUNTS = {"documents": "docs_processed", "chunks": "chunks_embedded", "empty_documents": "docs_with_0_chunks"}


def accepted(claimed: Run, inputs: Inputs, *, reproduce: str, hint: str) -> Run:
    """Keep what a run says it retrieved, and take everything else from the trusted inputs."""
    settings = inputs.config
    expected = inputs.fingerprint()
    _refuse_other_means(claimed, inputs, expected, hint)
    if claimed.stopped is not None and not len(claimed.results):
        raise CannotTell("the run has no result: it stopped earlier", log=_its_words(claimed))
    _refuse_parts(claimed, inputs, hint)
    _refuse_wild_numbers(claimed)
    cases = by_id(inputs.golden.cases)
    probes = _probes(claimed, inputs)

    def trusted(item: LabelledResult) -> LabelledResult:
        # without what it says that judges said
        return LabelledResult(case=cases[item.case.id], result=_plain_coverage(item.result), labels=item.labels)

    run = replace(
        claimed,
        suite=settings.suite,
        # a run that dates itself back would bring waivers to life
        started=now(),
        golden=inputs.golden,
        results=tuple(map(trusted, claimed.results)),
        repeats=tuple(map(trusted, claimed.repeats)),
        stopped=None if claimed.stopped is None else STOPPED,
        log=_its_words(claimed),
        fingerprint={
            **{key: claimed.fingerprint[key] for key in _OF_THE_INDEX if key in claimed.fingerprint},
            **_index_counts(claimed),
            **_repeated(claimed, inputs),
            **({"probes": len(probes.answers)} if probes.answers else {}),
            **expected,
            "notes": inputs.vault.notes,
        },
        config=settings,
        probes=probes,
        judging=None,
        # what it left out is missing, whatever it says of that
        selection=None,
        provenance=Provenance(against=inputs.against, reproduce=reproduce),
    )
    return repeats.noted(run)


def _probes(claimed: Run, inputs: Inputs) -> Probing:
    private = private_notes(inputs.vault, inputs.config.private)
    planned = probe_plan.plan(inputs.config, inputs.golden, inputs.vault, private)
    claims, wanted = claimed.probes.answers, frozenset(planned)
    places = {claim.probe: place for place, claim in enumerate(claims) if claim.probe in wanted}

    def believed(probe: Probe) -> ProbeAnswer:
        claim = claims[places[probe]] if probe in places else None
        if claim is None or claim.result.failure is not None:
            none = Result(probe.case_id, probe.mode, response=None, failure=_NO_ANSWER, retries=0, elapsed_ms=0.0)
            return ProbeAnswer(probe=probe, result=none)
        leaks = tuple(leak for leak in claim.leaks if leak.note in inputs.vault.notes)
        return replace(claim, result=_plain_coverage(claim.result), leaks=leaks)

    return Probing(answers=tuple(map(believed, planned)), private=private)


def _repeated(claimed: Run, inputs: Inputs) -> dict[str, object]:
    """Keep how many questions came out otherwise when asked twice, and which of those there are."""
    repeated = Repeated.of(claimed.fingerprint)
    if repeated is None or repeated.asked > len(claimed.results):
        return {}
    claims = frozenset(repeated.questions)
    names = (f"{case.id} ({mode})" for case in inputs.golden.cases for mode in inputs.config.ask.modes)
    known = claims.intersection(names)
    questions = tuple(name for name in repeated.questions if name in known)
    # by how much values move would be a reason to allow for more
    return {KEY: replace(repeated, questions=questions, bands={}).stored()}


def _index_counts(claimed: Run) -> dict[str, int]:
    """Return how many documents and chunks the index held, by the first answer that tells, or else the last look."""
    responses = [item.result.response for item in claimed.results if item.result.response is not None]
    kept = {}
    for key, name in _INDEX_COUNTS.items():
        told = ((response.coverage or {}).get(name) for response in responses)
        count = next(filter(_is_count, chain(told, [claimed.fingerprint.get(key)])), None)
        if count is not None:
            kept[key] = count
    return kept


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= MOST_COUNT


def _refuse_other_means(claimed: Run, inputs: Inputs, expected: Mapping[str, object], hint: str) -> None:
    if claimed.golden.hash != inputs.golden.hash:
        raise CannotTell("the run was measured with another golden set than the one that judges it", hint=hint)
    for key, value in expected.items():
        if claimed.fingerprint.get(key) != value:
            raise CannotTell(f"the run was not measured with the files that judge it: {key} differs", hint=hint)


def _refuse_parts(claimed: Run, inputs: Inputs, hint: str) -> None:
    asking = inputs.config.ask
    # a byte for each question, which says whether it is to be asked
    due = {
        (mode, repeat): bytearray(_UNANSWERED if asked_in(case.modes, mode) else 0 for case in inputs.golden.cases)
        for mode in asking.modes
        for repeat in range(1, asking.repeat + 1)
    }
    places, foreign = places_of(inputs.golden.cases), 0
    for item in claimed.answers:
        asked, place = due.get((item.result.mode, item.result.repeat)), places.get(item.case.id)
        if asked is None or place is None or not asked[place]:
            foreign += 1
        else:
            asked[place] = _ANSWERED
    if foreign:
        verb = "was" if foreign == 1 else "were"
        raise CannotTell(f"the run contains {counted(foreign, 'answer')} that {verb} not asked for", hint=hint)
    missing, answered = (sum(asked.count(state) for asked in due.values()) for state in (_UNANSWERED, _ANSWERED))
    if missing and claimed.stopped is None:
        why = "does not say why" if claimed.selection is None else "says that a part was chosen"
        lacks = f"the run has no result for {missing} of {counted(missing + answered, 'call')}, and {why}"
        raise CannotTell(lacks, hint="Give a whole run.")


def _its_words(claimed: Run) -> tuple[str, ...]:
    return () if claimed.stopped is None else (ITS_WORDS, claimed.stopped, *claimed.log)


def _refuse_wild_numbers(claimed: Run) -> None:
    _refuse_beyond(MAX_STEP_MS / 1000, "config.json: duration_s", [claimed.duration_s])
    for item in claimed.answers:
        result, about = item.result, f"answer to {cut(item.case.id)} ({cut(item.result.mode)})"
        _refuse_beyond(MAX_STEP_MS, f"{about}: elapsed_ms", [result.elapsed_ms])
        _refuse_beyond(MOST_COUNT, f"{about}: retries", [result.retries])
        if result.response is not None:
            _refuse_beyond(MAX_STEP_MS, f"{about}: latency", result.response.latency.values())
            _refuse_beyond(MOST_COUNT, f"{about}: cost", result.response.cost.values())
        if result.failure is not None and result.failure.status is not None:
            _refuse_beyond(999, f"{about}: status", [result.failure.status])


def _refuse_beyond(most: float, name: str, values: Iterable[float]) -> None:
    # not a number is in no range
    if any(not 0 <= value <= most for value in values):
        raise CannotTell(f"the run cannot be read: {name}: expected a number from 0 to {fixed(most, 0)}")


def _plain_coverage(result: Result) -> Result:
    """Keep the counts and versions of what the API says of its index: a count that is a text would be shown as one."""
    response = result.response
    if response is None or response.coverage is None:
        return result
    kept = {key: value for key, value in response.coverage.items() if _is_count(value) or key in _OF_THE_INDEX}
    return replace(result, response=replace(response, coverage=kept))


MEASURING = ("suite", "golden", "vault", "private", "api", "ask")
"""The sections of a configuration by which a run is measured; the others judge."""

_SAME = (
    "Give `check --run` the files and flags that the run was measured with (--config, --against, --api-url), or "
    "measure again."
)
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_VERSION = re.compile(r"[0-9A-Za-z.+-]{1,40}")


def check_run(request: Request, directory: Path) -> CheckResult:
    """Judge a run directory, in which nothing is trusted, as `check` judges what it has asked."""
    with load_inputs(request) as inputs:
        if request.choice != EVERYTHING:
            problem = f"{request.choice.words} cannot be combined with --run, which judges a whole run"
            raise UsageError(problem, hint=f"Leave out {request.choice.words}.")
        waivers.check_cases(inputs.config, inputs.golden, request.config_place)
        baseline = read_baseline(inputs)
        claimed = run_directory.read(directory, config=inputs.config)
        if claimed.selection is not None:
            problem = f"the run is {claimed.selection.sentence}, so it cannot be judged as a whole run"
            raise UsageError(problem, hint="Ask all questions, or let `raggate check` ask and judge the same part.")
        origin = run_directory.stored_provenance(directory)
        if origin.build or origin.command not in {None, *OF_THE_SUITE}:
            problem = f"the run was made by `raggate {origin.command}`, which `check` does not judge"
            raise UsageError(problem, hint="Name a run of `raggate merge`, `raggate run` or `raggate check`.")
        _refuse_other_commit(origin, sources.commit_of(request.root, request.remote))
        _refuse_other_config(run_directory.stored_config(directory), inputs)
        run = accepted(claimed, inputs, reproduce=request.reproduce, hint=_SAME)
        _refuse_cut_texts(run, inputs)
        measured = _measured(origin.measured or claimed.started, run.started)
        with ExitStack() as stack:
            place = run_place(stack, request, inputs, run.started)
            blank = measure.blank_run(place, run.started, request, inputs, command="check")
            provenance = _provenance(origin, blank.provenance)
            run = replace(run, run_id=place.name, provenance=replace(provenance, measured=measured))
            judged = judging.ready(request, inputs, place)(run)
            scorecard = measure.write(place, judged, request, inputs.config)
            return check.conclude(request, inputs, baseline, place, judged, scorecard, source=directory)


def _refuse_other_commit(origin: Provenance, here: str | None) -> None:
    measured = origin.checkout.commit
    if here and measured != here:
        raise CannotTell(
            f"the run was measured at {commit_words(measured)}, but {cut(here, limit=12)} is checked out here",
            hint="Check out the commit that was measured, or measure again. `raggate compare` compares an older "
            "run with another baseline or policy.",
        )


def _refuse_other_config(stored: JsonObject, inputs: Inputs) -> None:
    trusted = loads(dumps(inputs.config.model_dump(mode="json")))
    differing = [key for key in MEASURING if stored.get(key) != trusted[key]]
    if differing:
        problem = f"the run was measured with another configuration than the one that judges it: {differ(differing)}"
        raise CannotTell(problem, hint=_SAME)


def _refuse_cut_texts(run: Run, inputs: Inputs) -> None:
    if inputs.config.judging is not None and any(item.labels.truncated for item in (*run.results, *run.repeats)):
        raise CannotTell(
            "judges need whole texts, but the run stored shortened ones",
            hint="Measure again with --store-full-text, or with a section `judges`, which also keeps whole texts.",
        )


def _measured(claimed: str, judged: str) -> str:
    """Return when a run was asked, as it says itself, and not after it was judged."""
    asked, now = moment(claimed), moment(judged)
    if asked is None or now is None:
        raise UsageError(f"started: expected the time of the run, found {quoted(claimed)}", hint=_SAME)
    return stamp(min(asked, now))


def _provenance(claimed: Provenance, own: Provenance) -> Provenance:
    """Return where a run comes from as it says itself, in words of raggate's alone; what judges it is known here."""
    commit = claimed.checkout.commit
    checkout = claimed.checkout if commit is not None and _COMMIT.fullmatch(commit) else Checkout()
    version = claimed.raggate_version
    return replace(
        own,
        raggate_version=version if version is not None and _VERSION.fullmatch(version) else None,
        checkout=checkout,
        api_image=exact_image(claimed.api_image),
        resumed=claimed.resumed,
    )
