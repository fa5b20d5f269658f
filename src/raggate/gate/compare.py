"""A scorecard held against a baseline: deltas over the same cases, the questions that flipped, what else changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet

from msgspec.structs import replace

from raggate.config.question_settings import asked_in
from raggate.gate import judge_advice
from raggate.gate.causes.cause_evidence import cause_evidence
from raggate.gate.causes.passages import Ranked, of_path, ranked
from raggate.gate.completeness import idle, modes_without_match, modes_without_past, not_asked, other_questions
from raggate.gate.deltas import Sides, all_rows
from raggate.gate.flips import find_flips
from raggate.gate.headings import ends_alike, unsplit, untold_headings
from raggate.gate.other_systems import restate
from raggate.gate.overview import Overview
from raggate.models.baseline import Baseline, Restated
from raggate.models.comparison import Comparison, Delta, GoldenChanges, NoteChange, Reach
from raggate.models.golden import Case, Support, by_id
from raggate.models.provenance import RunCommand
from raggate.models.run import LabelledResult, Run
from raggate.models.scorecard import OVERALL, Scorecard, by_question
from raggate.text.headings import covers, elements, is_end_of, same_letters
from raggate.text.quote import quoted

# told elsewhere, or different in every run
_NOT_CONFIGURATION = frozenset(
    (
        *("chunk_tokens", "chunks", "documents", "fields", "folders", "golden"),
        *("judges", "judging", "noise", "notes", "probes", "repeat", "repeated", "vault"),
    )
)

_KEEP_NO_BASELINE: tuple[RunCommand, ...] = ("run", "calibrate")
"""Commands that hold what they measure against nothing."""


Stage = tuple[LabelledResult, Support, Ranked]
"""An answer, a support that it does not match, and the chunk that comes nearest to it."""


def compare(
    run: Run,
    scorecard: Scorecard,
    baseline: Baseline | None,
    *,
    flip_at: int,
    min_slice: int = 10,
    incomparable: tuple[str, ...] = (),
    waived: AbstractSet[tuple[str, str]] = frozenset(),
) -> Comparison:
    """Compare a scored run with a baseline over the cases that are the same on both sides; others have stand-ins.

    Args:
        run: the run the scorecard was made of, for the reasons behind flips.
        baseline: what to hold it against, None when there is none.
        flip_at: rank within which a question counts as found.
        min_slice: values from which a slice of the baseline has a mean that an added case can be held to.
        incomparable: why the two must not be compared, beside a baseline that is unfit; then nothing is.
        waived: mode and case id of the cases that are left out of the means on both sides, where cases can be paired.
    """
    theirs = None
    baseline = judge_advice.by_these_judges(scorecard, baseline)
    if baseline is not None:
        theirs = None if baseline.paired else restate(run, scorecard, baseline)
        incomparable = (*baseline.unfit, *incomparable, *(theirs.problems if theirs else ()))
    before = by_question(baseline.scorecard.cases if baseline is not None and not incomparable else ())
    overview = Overview.of(run, before)
    bare = _bare(run, scorecard, baseline, incomparable, overview)
    if baseline is None or incomparable:
        return bare
    changes = _vault_changes(scorecard, baseline)
    evidence = cause_evidence(run, scorecard, baseline.scorecard, changes, overview)
    sides = Sides(scorecard, baseline, waived=waived)
    sides.add_all(before)
    flips = find_flips(run, sides.same, flip_at, evidence, scorecard.cases)
    deltas = _unpaired(scorecard, theirs) if theirs else sides.deltas(min_slice)
    return replace(
        bare,
        baseline=theirs.baseline if theirs else baseline,
        deltas=tuple(deltas),
        flips=tuple(replace(flip, waived=(flip.mode, flip.case_id) in waived) for flip in flips),
        golden=golden_changes(run, scorecard, baseline, refiled=sides.refiled, released=sides.released),
        vault_changes=changes,
        config_changes=_config_changes(scorecard, baseline),
        evidence=evidence,
        compared=sides.compared,
    )


def _bare(
    run: Run, scorecard: Scorecard, baseline: Baseline | None, incomparable: tuple[str, ...], overview: Overview
) -> Comparison:
    """Say what was not asked of a run, and how far its answers come where nothing is compared or nothing matches."""
    questions, modes = idle(run)
    file = run.config.baseline_path
    bare = Comparison(
        baseline=baseline,
        scorecard=scorecard,
        incomparable=incomparable,
        not_asked=not_asked(run, overview.counts),
        idle=questions,
        idle_modes=modes,
        uncommitted=file if file in run.provenance.ignored else "",
        keeps_none=_keeps_none(run),
    )
    shown = dict.fromkeys((*modes_without_past(bare), *modes_without_match(scorecard)))
    return replace(bare, reach=reaches(run, shown), untold_headings=tuple(untold_headings(overview)))


def _keeps_none(run: Run) -> str:
    if run.interrupted:
        return "an interrupted run"
    command = run.provenance.command
    return f"a run of `raggate {command}`" if command in _KEEP_NO_BASELINE else ""


def _unpaired(scorecard: Scorecard, theirs: Restated) -> Iterable[Delta]:
    for mode, name, metric, stored in all_rows(scorecard, theirs.baseline):
        own = scorecard.slices.get(mode, {}).get(name, {}).get(metric) or stored.without_cases()
        restated = theirs.current.get(mode, {}).get(name, {}).get(metric)
        # what raggate does not measure in this run, such as answers that were not asked for, is no loss by other terms
        row = Delta.between((mode, name, metric), stored, restated if restated and own.n else own)
        if restated and own.n and name == OVERALL:
            row = replace(row, full_run=own)
        # means over other numbers of questions say nothing of each other
        yield replace(row, delta=None) if other_questions(row) else row


def _vault_changes(scorecard: Scorecard, baseline: Baseline) -> tuple[NoteChange, ...]:
    before = baseline.scorecard.fingerprint.get("notes")
    now = scorecard.fingerprint.get("notes")
    if not isinstance(before, dict) or not isinstance(now, dict):
        return ()
    return note_changes(before, now)


def note_changes(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[NoteChange, ...]:
    """Name the notes that were added, removed and changed; both map `vault/rel_path` to a hash of the text."""
    changes = [NoteChange("added", note) for note in now if note not in before]
    changes += [NoteChange("removed", note) for note in before if note not in now]
    changes += [NoteChange("changed", note) for note in now if note in before and before[note] != now[note]]
    return tuple(sorted(changes))


def _config_changes(scorecard: Scorecard, baseline: Baseline) -> tuple[tuple[str, str, str], ...]:
    before, now = baseline.scorecard.fingerprint, scorecard.fingerprint
    if not before:
        return ()
    return tuple(
        (key, _in_words(before.get(key, "not known")), _in_words(now.get(key, "not known")))
        for key in sorted((set(before) | set(now)) - _NOT_CONFIGURATION)
        if before.get(key) != now.get(key)
    )


def _in_words(value: object) -> str:
    """Write what a fingerprint holds: of a list, such as that of the modes, what is in it."""
    return ", ".join(map(str, value)) if isinstance(value, list) and value else str(value)


def golden_changes(
    run: Run, scorecard: Scorecard, baseline: Baseline, *, refiled: Iterable[str], released: Iterable[str]
) -> GoldenChanges:
    """Compare the golden sets, not what was asked of them: a run may have been cut short.

    Args:
        refiled: names of cases that stand in other slices.
        released: names of cases that are no longer must-pass.
    """
    if not baseline.paired:
        return GoldenChanges()
    if _alike(run, scorecard, baseline):
        return GoldenChanges(refiled=tuple(sorted(refiled)), released=tuple(sorted(released)))
    modes = [mode for mode in baseline.scorecard.slices if mode in scorecard.slices]
    added, relabelled = _added_and_relabelled(run.golden.cases, baseline, modes)
    return GoldenChanges(
        added=tuple(sorted(added)),
        removed=tuple(sorted(removed_cases(run.golden.cases, baseline, modes))),
        relabelled=tuple(sorted(relabelled)),
        refiled=tuple(sorted(refiled)),
        released=tuple(sorted(released)),
    )


def _added_and_relabelled(
    cases: Iterable[Case], baseline: Baseline, modes: Collection[str]
) -> tuple[set[str], set[str]]:
    """Name the cases that the baseline does not have, at all or in one of these modes, and those it has otherwise."""
    before = by_question(baseline.scorecard.cases)
    # where modes tell several hashes of a case, the last one counts
    of_baseline = [*dict.fromkeys(case.mode for case in baseline.scorecard.cases)][::-1]
    added, relabelled = set[str](), set[str]()
    for case in cases:
        old = next((old for mode in of_baseline if (old := before.get((mode, case.id))) is not None), None)
        if old is None:
            added.add(case.id)
            continue
        if old.hash != case.hash:
            relabelled.add(case.id)
        new = (mode for mode in modes if asked_in(case.modes, mode) and (mode, case.id) not in before)
        added.update(f"{case.id} ({mode})" for mode in new)
    return added, relabelled


def removed_cases(cases: Sequence[Case], baseline: Baseline, modes: Collection[str]) -> set[str]:
    """Name the cases of a baseline that a golden set does not have, at all or in one of these modes."""
    now, removed = by_id(cases), set[str]()
    for old in baseline.scorecard.cases:
        known = now.get(old.case_id)
        if known is None:
            removed.add(old.case_id)
        elif old.mode in modes and not asked_in(known.modes, old.mode):
            removed.add(f"{old.case_id} ({old.mode})")
    return removed


def _alike(run: Run, scorecard: Scorecard, baseline: Baseline) -> bool:
    """Whether both have the same questions, in one order and one mode: then nothing else need be held of them."""
    if len(run.golden.cases) != len(baseline.scorecard.cases):
        return False
    modes = {*baseline.scorecard.slices, *scorecard.slices}
    return len(modes) == 1 and all(
        own.id == case.case_id and own.modes is None and case.mode in modes and case.hash == own.hash
        for own, case in zip(run.golden.cases, baseline.scorecard.cases, strict=True)
    )


def reaches(run: Run, modes: Collection[str]) -> tuple[Reach, ...]:
    """Return how far the answers come, mode by mode, by the first answer to each question that was asked."""
    steps = {mode: _Steps() for mode in modes}
    for item in run.results if steps else ():
        # what was never asked, as the run stopped before it, was lost at no step
        asked = item.result.failure is None or item.result.failure.kind != "aborted"
        if asked and item.result.mode in steps and item.case.gold_supports:
            steps[item.result.mode].add(item)
    return tuple(its.reach(mode) for mode, its in steps.items() if its.asked)


class _Steps:
    """The answers of a mode by how far they come.

    Attributes:
        asked: all of them.
    """

    def __init__(self) -> None:
        self.asked: list[LabelledResult] = []
        self._noted: list[LabelledResult] = []
        self._placed: list[LabelledResult] = []
        self._right: list[LabelledResult] = []

    def add(self, item: LabelledResult) -> None:
        """Take an answer."""
        self.asked.append(item)
        right = matched(item)
        if right or any(_of_note(item)):
            self._noted.append(item)
            if right or any(_of_section(item)):
                self._placed.append(item)
                if right:
                    self._right.append(item)

    def reach(self, mode: str) -> Reach:
        """How far they come, and what the largest loss has in common if it is half of what came so far or more."""
        steps = (
            (self.asked, self._noted, _why_no_note),
            (self._noted, self._placed, _why_no_section),
            (self._placed, self._right, _why_no_match),
        )
        before, after, find = max(steps, key=lambda step: len(step[0]) - len(step[1]))
        lost, why = len(before) - len(after), ""
        if lost and 2 * lost >= len(before):
            kept = {id(item) for item in after}
            why = find([item for item in before if id(item) not in kept], self.asked)
        return Reach(
            mode=mode,
            questions=len(self.asked),
            notes=len(self._noted),
            sections=len(self._placed),
            matches=len(self._right),
            why=why,
        )


def matched(item: LabelledResult) -> bool:
    """Return whether some chunk of an answer matches a gold support."""
    return any(item.labels.matches)


def _of_note(item: LabelledResult) -> Iterator[Stage]:
    """Yield what came back of the right notes."""
    chunks = ranked(item)
    for support in item.case.gold_supports:
        for place in of_path(support, chunks):
            if item.case.may_be_in(place[2].vault, support):
                yield item, support, place


def _of_section(item: LabelledResult) -> Iterator[Stage]:
    """Yield what came back of the right sections; of a support without snippets a match says whether it did."""
    for _, support, place in _of_note(item):
        heading = support.heading_path
        own = place[1] not in item.labels.ambiguous
        if heading is None or (own and support.snippets and covers(heading, place[2].heading_path)):
            yield item, support, place


def _most(cases: Collection[object], of: Collection[object]) -> bool:
    return 2 * len(cases) > len(of)


def _why_no_note(left: Sequence[LabelledResult], items: Sequence[LabelledResult]) -> str:
    failed = [item for item in left if item.result.response is None]
    if _most(failed, left):
        failure = failed[0].result.failure
        which = "the calls failed" if len(failed) == len(items) else "most of the other calls failed"
        return f"{which}: {failure.message}" if failure is not None else ""
    answered = [item for item in left if item.result.response is not None]
    empty = [item for item in answered if not ranked(item)]
    if _most(empty, left):
        return "nothing comes back at all" if len(empty) == len(items) else "nothing comes back for most of the others"
    if len(failed) + len(empty) == len(left):
        return "nothing comes back for half of the others, and the calls of the other half failed"
    if all(support.rel_path == "" for item in left for support in item.case.gold_supports):
        return "the API returns other ids" + _example(*_first_ids(left))
    if not any(chunk.rel_path for item in answered for _, _, chunk in ranked(item)):
        return "the API returns no path of a note"
    known = {support.rel_path for item in items for support in item.case.gold_supports}
    for words, differ in (("returns another vault", _other_vault), ("writes paths differently", _other_path)):
        pairs = [next(differ(item, known), None) for item in answered]
        examples = [pair for pair in pairs if pair is not None]
        # a note of the same name elsewhere may come back to any question
        if _most(examples, answered):
            return f"the API {words}" + _example(*examples[0])
    return "other notes come back"


def _other_vault(item: LabelledResult, _known: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the vaults that a gold note may be in, and the one that a chunk of its path is said to be from."""
    for support in item.case.gold_supports:
        for _, _, chunk in of_path(support, ranked(item)):
            yield " or ".join(item.case.vaults_of(support)), chunk.vault or ""


def _other_path(item: LabelledResult, known: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the path of a gold note, and that of a chunk which is the end of it, or the other way round."""
    for support in item.case.gold_supports:
        for _, _, chunk in ranked(item):
            # a path that the golden set has is that of a note of its own
            if chunk.rel_path not in known and _tails(support.rel_path, chunk.rel_path):
                yield support.rel_path, chunk.rel_path


def _first_ids(left: Sequence[LabelledResult]) -> tuple[str, str]:
    item = next(item for item in left if ranked(item))
    support, chunk = item.case.gold_supports[0], ranked(item)[0][2]
    if support.chunk_id is not None:
        return support.chunk_id, chunk.chunk_id
    return support.doc_id or "", chunk.document


def _tails(gold: str, path: str) -> bool:
    """Return whether one path is the end of the other, with or without its suffix."""
    first, second = (f"/{path.removesuffix('.md').strip('/')}".casefold() for path in (gold, path))
    return first != "/" != second and (first.endswith(second) or second.endswith(first))


def _why_no_section(left: Sequence[LabelledResult], items: Sequence[LabelledResult]) -> str:
    if not any(chunk.heading_path.strip() for item in items for _, _, chunk in ranked(item)):
        return (
            "the API returns no heading_path: let it return the headings above each chunk, or leave heading_path "
            "out of the golden set, and whole notes count"
        )
    nearest = (next(filter(_told_otherwise, _of_note(item)), None) for item in left)
    headings = [(stage[1].heading_path or "", stage[2][2].heading_path) for stage in nearest if stage is not None]
    apart = unsplit((returned, [elements(gold)]) for gold, returned in headings)
    if not _most(headings, left):
        return "other sections of these notes come back, or the API writes their headings differently"
    return (apart or "the API writes headings differently") + _example(*headings[0])


def _told_otherwise(stage: Stage) -> bool:
    """Return whether a chunk is known to be of the section, or under a heading that its note has not."""
    item, support, (_, position, chunk) = stage
    gold, heading = support.heading_path or "", chunk.heading_path
    if not heading.strip():
        return False
    known = position in {*item.labels.filed_elsewhere, *item.labels.strange_headings, *item.labels.ambiguous}
    alike = is_end_of(gold, heading, same_letters) or ends_alike(gold, heading)
    return known or alike or bool(unsplit([(heading, [elements(gold)])]))


def _why_no_match(left: Sequence[LabelledResult], items: Sequence[LabelledResult]) -> str:
    if not any(chunk.text.strip() for item in items for _, _, chunk in ranked(item)):
        return "the API returns no text that could contain the snippets of the golden set"
    textless = [item for item in left if _textless(item)]
    if _most(textless, left):
        return "these chunks come back without text"
    return "the text of these chunks does not contain the snippets of the golden set"


def _textless(item: LabelledResult) -> bool:
    return any(position in item.labels.empty for _, _, (_, position, _) in _of_section(item))


def _example(wanted: str, returned: str) -> str:
    """Set what the golden set has beside what the API tells."""
    return f": golden set {quoted(wanted, limit=120)}, API {quoted(returned, limit=120)}"
