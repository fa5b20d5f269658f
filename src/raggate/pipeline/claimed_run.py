"""What a run directory from elsewhere claims -> the run that trusted files may judge, or why there is none.

Believed is what each question retrieved and how that was labelled. Everything else is taken from the trusted inputs,
and no text of the run becomes a sentence of raggate's: its words stand in the log, which is untrusted anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from raggate.config.question_settings import asked_in
from raggate.errors import CannotTell
from raggate.inputs import probe_plan
from raggate.inputs.leaks import private_notes
from raggate.inputs.trusted import Inputs
from raggate.models.golden import by_id, places_of
from raggate.models.provenance import Provenance
from raggate.models.run import Failure, LabelledResult, Probe, ProbeAnswer, Probing, Result, Run
from raggate.scoring import repeats
from raggate.scoring.repeats import KEY, Repeated
from raggate.service.answer_limits import MAX_STEP_MS
from raggate.text.dates import now
from raggate.text.numbers import counted, fixed
from raggate.text.quote import cut

MOST_COUNT = 1_000_000_000
"""The largest count that is."""

ITS_WORDS = "what the run itself says:"
"""The line of a log before what an untrusted run says."""

STOPPED = "the run stopped before all questions were asked"

_UNANSWERED, _ANSWERED = 1, 2

# what the API told of its index while it was measured, beside what the inputs say
_OF_THE_INDEX = ("index_version", "chunker_version")
# and how much it held, with what answers call that
_INDEX_COUNTS = {"documents": "docs_processed", "chunks": "chunks_embedded", "empty_documents": "docs_with_0_chunks"}


def accepted(claimed: Run, inputs: Inputs, *, reproduce: str, hint: str) -> Run:
    """Keep what a run says it retrieved, and take everything else from the trusted inputs.

    Args:
        reproduce: the command line that does the same.

    Raises:
        CannotTell: for a run that they cannot judge.
    """
    settings = inputs.config
    expected = inputs.fingerprint()
    _refuse_other_means(claimed, inputs, expected, hint)
    _refuse_nothing(claimed)
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
        fingerprint={**_own_account(claimed, inputs, probes), **expected, "notes": inputs.vault.notes},
        config=settings,
        probes=probes,
        judging=None,
        # what it left out is missing, whatever it says of that
        selection=None,
        provenance=Provenance(against=inputs.against, reproduce=reproduce),
    )
    return repeats.noted(run)


def _probes(claimed: Run, inputs: Inputs) -> Probing:
    """Return what came of the probes that the trusted inputs ask for; what the run has no answer to, got none."""
    private = private_notes(inputs.vault, inputs.config.private)
    planned = probe_plan.plan(inputs.config, inputs.golden, inputs.vault, private)
    claims, wanted = claimed.probes.answers, frozenset(planned)
    places = {claim.probe: place for place, claim in enumerate(claims) if claim.probe in wanted}

    def believed(probe: Probe) -> ProbeAnswer:
        claim = claims[places[probe]] if probe in places else None
        if claim is None or claim.result.failure is not None:
            return _unanswered_probe(probe)
        leaks = tuple(leak for leak in claim.leaks if leak.note in inputs.vault.notes)
        return replace(claim, result=_plain_coverage(claim.result), leaks=leaks)

    return Probing(answers=tuple(map(believed, planned)), private=private)


def _unanswered_probe(probe: Probe) -> ProbeAnswer:
    """Say that a probe got no answer: what the run says of it would stand in a sentence of raggate's."""
    failure = Failure(kind="aborted", message="the run has no answer to it")
    result = Result(case_id=probe.case_id, mode=probe.mode, response=None, failure=failure, retries=0, elapsed_ms=0.0)
    return ProbeAnswer(probe=probe, result=result)


def _own_account(claimed: Run, inputs: Inputs, probes: Probing) -> dict[str, object]:
    """Return what only the run can tell of how it was measured: its index, and what was asked beside the questions."""
    index = {key: claimed.fingerprint[key] for key in _OF_THE_INDEX if key in claimed.fingerprint}
    counted = {"probes": len(probes.answers)} if probes.answers else {}
    return {**index, **_index_counts(claimed), **_repeated(claimed, inputs), **counted}


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
    """Return how many documents and chunks the index held, by the answers or else the last look; nothing of neither."""
    kept: dict[str, int] = {}
    for item in claimed.results:
        coverage = (item.result.response.coverage if item.result.response is not None else None) or {}
        _keep_counts(kept, {key: coverage.get(field) for key, field in _INDEX_COUNTS.items()})
        if len(kept) == len(_INDEX_COUNTS):
            break
    _keep_counts(kept, {key: claimed.fingerprint.get(key) for key in _INDEX_COUNTS})
    return {key: kept[key] for key in _INDEX_COUNTS if key in kept}


def _keep_counts(kept: dict[str, int], counts: Mapping[str, object]) -> None:
    """Keep the first count of each key that is one."""
    for key, count in counts.items():
        if type(count) is int and 0 <= count <= MOST_COUNT:
            kept.setdefault(key, count)


def _refuse_other_means(claimed: Run, inputs: Inputs, expected: Mapping[str, object], hint: str) -> None:
    """Refuse a run by other questions, or in another way, than the trusted inputs ask for."""
    if claimed.golden.hash != inputs.golden.hash:
        raise CannotTell("the run was measured by another golden set than that of the files that judge it", hint=hint)
    for key, value in expected.items():
        if claimed.fingerprint.get(key) != value:
            raise CannotTell(f"the run was not measured by the files that judge it: {key} differs", hint=hint)


def _refuse_parts(claimed: Run, inputs: Inputs, hint: str) -> None:
    """Refuse answers to what was not asked, and too few of them from a run that did not break off."""
    due = _due(inputs)
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
        raise CannotTell(lacks, hint="Here a run is judged as a whole.")


def _due(inputs: Inputs) -> dict[tuple[str, int], bytearray]:
    """Return by mode and repeat a byte for each question, which says whether it is to be asked."""
    asking = inputs.config.ask
    return {
        (mode, repeat): bytearray(_UNANSWERED if asked_in(case.modes, mode) else 0 for case in inputs.golden.cases)
        for mode in asking.modes
        for repeat in range(1, asking.repeat + 1)
    }


def _refuse_nothing(claimed: Run) -> None:
    """Refuse a run that stopped before it had a result: judged, it would have asked nothing, and yet not all."""
    if claimed.stopped is not None and not len(claimed.results):
        raise CannotTell("the run has no result at all: it says that it stopped before", log=_its_words(claimed))


def _its_words(claimed: Run) -> tuple[str, ...]:
    return () if claimed.stopped is None else (ITS_WORDS, claimed.stopped, *claimed.log)


def _refuse_wild_numbers(claimed: Run) -> None:
    """Refuse numbers that no measurement gives, and that would be shown. Its questions are known to be trusted ones."""
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
    kept = {
        key: value
        for key, value in response.coverage.items()
        if (type(value) is int and 0 <= value <= MOST_COUNT) or key in _OF_THE_INDEX
    }
    return replace(result, response=replace(response, coverage=kept))
