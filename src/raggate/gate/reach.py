"""How far answers come: the note, its section, its passage; and modes and slices in which nothing matches. Pure."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

from raggate.base.errors import UsageError
from raggate.base.headings import covers, elements, is_end_of, same_letters
from raggate.base.numbers import counted
from raggate.base.quote import cut, listed, quoted
from raggate.config.gate_settings import Gate
from raggate.config.schema import Config
from raggate.gate.causes.passages import Ranked, of_path, ranked
from raggate.gate.headings import ends_alike, unsplit
from raggate.models.comparison import Comparison, Reach
from raggate.models.golden import Support
from raggate.models.metric_names import HIT, family
from raggate.models.run import LabelledResult, Run
from raggate.models.scorecard import OVERALL, CaseScore, Scorecard
from raggate.models.verdict import Reason

Stage = tuple[LabelledResult, Support, Ranked]
"""An answer, a support that it does not match, and the chunk that comes nearest to it."""

_Items = Sequence[LabelledResult]

_NAMED = 3
_BY_TEXT = "`heading_path: {from: text}`"


def new_modes(comparison: Comparison) -> tuple[str, ...]:
    """Return the modes that the run was asked in and the baseline it is compared with was not."""
    baseline = comparison.baseline
    if baseline is None or comparison.incomparable or not baseline.scorecard.slices:
        return ()
    return tuple(mode for mode in comparison.scorecard.slices if mode not in baseline.scorecard.slices)


def modes_without_past(comparison: Comparison) -> tuple[str, ...]:
    """Return the modes of a run that no baseline has: all of them if there is none."""
    return tuple(comparison.scorecard.slices) if comparison.baseline is None else new_modes(comparison)


def reasons(comparison: Comparison) -> Iterator[Reason]:
    """Yield each mode without a match: how far its answers come, and what stops them."""
    for reach in comparison.reach:
        if not reach.matches:
            message = f"no question has a match{_in_mode(comparison, reach.mode)}; {reach.sentence}"
            yield Reason("no-match", message, mode=reach.mode)


def warnings(comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    """Yield the modes and new slices without a match, and the questions that cannot have one."""
    if comparison.baseline is not None:
        yield from reasons(comparison)
    silent = {reach.mode for reach in comparison.reach if not reach.matches}
    for mode, labelled, questions in comparison.untold_headings:
        if mode not in silent:
            few = f"{labelled} of {counted(questions, 'question')} can never match: their labels name headings"
            advice = "Let it return the headings above each passage, or leave heading_path out of the golden set"
            message = f"the API returns no heading_path{_in_mode(comparison, mode)}, so {few}. {advice}"
            yield Reason("no-match", f"{message}: then whole notes count", mode=mode)
    new = modes_without_past(comparison)
    for mode, name in _without_match(comparison.scorecard, gate.min_cases):
        if name != OVERALL and mode in new:
            place = f"no question has a match in {_named([(mode, name)])}"
            message = f"{place}; to promote this run, name it with --allow-no-match"
            yield Reason("no-match", message, mode=mode, slice=name)


def _in_mode(comparison: Comparison, mode: str) -> str:
    return f" in mode {cut(mode, limit=60)}" if comparison.scorecard.several_modes else ""


def reaches(run: Run, modes: Collection[str]) -> tuple[Reach, ...]:
    """Return how far the answers come, mode by mode, by the first answer to each question that was asked."""
    asked: dict[str, list[LabelledResult]] = {mode: [] for mode in modes}
    for item in run.results if asked else ():
        # what was never asked, as the run stopped before it, was lost at no step
        called = item.result.failure is None or item.result.failure.kind != "aborted"
        if called and item.result.mode in asked and item.case.gold_supports:
            asked[item.result.mode].append(item)
    mapped = isinstance(run.config, Config) and run.config.ask.response is not None
    return tuple(_reach(mode, items, mapped=mapped) for mode, items in asked.items() if items)


def _reach(mode: str, items: Sequence[LabelledResult], *, mapped: bool) -> Reach:
    """Return the steps of a mode, and what the largest loss has in common if it is half of what came so far or more."""
    noted = [item for item in items if matched(item) or any(_of_note(item))]
    placed = [item for item in noted if matched(item) or any(_of_section(item))]
    right = [item for item in placed if matched(item)]
    steps = ((items, noted), (noted, placed), (placed, right))
    before, after = max(steps, key=lambda step: len(step[0]) - len(step[1]))
    kept = {id(item) for item in after}
    left = [item for item in before if id(item) not in kept]
    why, by_text = "", False
    if left and 2 * len(left) >= len(before):
        if after is placed:
            why, by_text = _why_no_section(left, items, mapped=mapped)
        else:
            why = _why_no_note(left, items) if after is noted else _why_no_match(items)
    return Reach(mode, len(items), len(noted), len(placed), len(right), why=why, by_text=by_text)


def matched(item: LabelledResult) -> bool:
    """Return whether some chunk of an answer matches a gold support."""
    return any(item.labels.matches)


def _of_note(item: LabelledResult) -> Iterator[Stage]:
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


def _why_no_note(left: _Items, items: _Items) -> str:
    failed = [item for item in left if item.result.response is None]
    answered = [item for item in left if item.result.response is not None]
    empty = [item for item in answered if not ranked(item)]
    if _most([*failed, *empty], left):
        failure = failed[0].result.failure if failed else None
        parts = [f"{counted(len(failed), 'call')} failed: {failure.message}"] if failure is not None else []
        parts += [f"nothing came back for {counted(len(empty), 'question')}"] if empty else []
        return "; ".join(parts)
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


def _first_ids(left: _Items) -> tuple[str, str]:
    item = next(item for item in left if ranked(item))
    support, chunk = item.case.gold_supports[0], ranked(item)[0][2]
    return (support.doc_id or "", chunk.document) if support.chunk_id is None else (support.chunk_id, chunk.chunk_id)


def _tails(gold: str, path: str) -> bool:
    first, second = (f"/{path.removesuffix('.md').strip('/')}".casefold() for path in (gold, path))
    return first != "/" != second and (first.endswith(second) or second.endswith(first))


def _why_no_section(left: _Items, items: _Items, *, mapped: bool) -> tuple[str, bool]:
    """Return what stops answers at the section, and whether the texts of a `mapped` API could tell what is missing."""
    if not any(chunk.heading_path.strip() for item in items for _, _, chunk in ranked(item)):
        find = f", find them by the text ({_BY_TEXT})" if mapped else ""
        advice = f"let it return the headings above each passage{find}, or leave heading_path out of the golden set"
        return f"the API returns no heading_path: {advice}, and whole notes count", mapped
    # the headings of the golden set, and those that came back in their place
    nearest = (next(filter(_told_otherwise, _of_note(item)), None) for item in left)
    headings = [(stage[1].heading_path or "", stage[2][2].heading_path) for stage in nearest if stage is not None]
    if not _most(headings, left):
        return "other sections of these notes come back, or the API writes their headings differently", False
    apart, example = unsplit((told, [elements(gold)]) for gold, told in headings), _example(*headings[0])
    if mapped and not apart and _most([pair for pair in headings if _is_part(*pair)], left):
        return f"the API returns some of the headings alone{example}; {_BY_TEXT} finds the others", True
    return (apart or "the API writes headings differently") + example, False


def _is_part(gold: str, returned: str) -> bool:
    """Return whether returned headings are the outer or the inner ones of a section, and not all."""
    wanted, told = elements(gold), elements(returned)
    return len(told) < len(wanted) and (covers(returned, gold, same_letters) or is_end_of(gold, returned, same_letters))


def _told_otherwise(stage: Stage) -> bool:
    """Return whether a chunk is known to be of the section, or under a heading that its note has not."""
    item, support, (_, position, chunk) = stage
    gold, heading = support.heading_path or "", chunk.heading_path
    if not heading.strip():
        return False
    known = position in {*item.labels.filed_elsewhere, *item.labels.strange_headings, *item.labels.ambiguous}
    alike = is_end_of(gold, heading, same_letters) or ends_alike(gold, heading)
    return known or alike or bool(unsplit([(heading, [elements(gold)])]))


def _why_no_match(items: _Items) -> str:
    if not any(chunk.text.strip() for item in items for _, _, chunk in ranked(item)):
        return "the API returns no text that could contain the snippets of the golden set"
    return "the text of these passages does not contain the snippets of the golden set"


def _example(wanted: str, returned: str) -> str:
    return f": golden set {quoted(wanted, limit=120)}, API {quoted(returned, limit=120)}"


def on_a_command_line(names: Sequence[str]) -> str:
    """Write the flags that allow modes and slices to have no match."""
    return " ".join(f"--allow-no-match {shlex.quote(name)}" for name in names)


def modes_without_match(scorecard: Scorecard) -> tuple[str, ...]:
    """Return the modes of a run in which questions have gold supports, and none has a match at any rank."""
    return tuple(mode for mode, name in _without_match(scorecard, 1) if name == OVERALL)


def _without_match(scorecard: Scorecard, least: int) -> Iterator[tuple[str, str]]:
    """Yield mode and slice; slices of at least so many questions with gold supports, of modes that have a match."""
    asked: Counter[tuple[str, str]] = Counter()
    matching: set[tuple[str, str]] = set()
    for case in scorecard.cases:
        if (match := _matched(case)) is not None:
            keys = [(case.mode, name) for name in case.slices]
            asked.update(keys)
            matching.update(keys if match else ())
    empty = asked.keys() - matching
    whole = {mode for mode, name in empty if name == OVERALL}
    for mode, name in sorted(empty):
        if name == OVERALL or (mode not in whole and asked[mode, name] >= least):
            yield mode, name


@lru_cache(maxsize=100)
def _hits(metrics: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in metrics if family(name) == HIT)


def _matched(case: CaseScore) -> bool | None:
    values = [value for name in _hits(tuple(case.values)) if (value := case.values.get(name)) is not None]
    return (case.rank is not None or any(values)) if values else None


def refuse_matchless(scorecard: Scorecard, least: int, allowed: Collection[str]) -> tuple[Reason, ...]:
    """Refuse to make a run the baseline of modes and slices in which nothing matches; return those that are allowed."""
    if unknown := sorted({*allowed}.difference(scorecard.slices, *scorecard.slices.values())):
        flag, modes = on_a_command_line([cut(unknown[0], limit=80)]), listed([cut(mode) for mode in scorecard.slices])
        raise UsageError(
            f"{flag}: run {cut(scorecard.run_id)} has no such mode or slice",
            hint=f"Modes: {modes}. `raggate baseline show --slices` names the slices of a baseline.",
        )
    empty = [(mode, mode if name == OVERALL else name) for mode, name in _without_match(scorecard, least)]
    refused = [(mode, name) for mode, name in empty if not {mode, name} & {*allowed}]
    if refused:
        names = [*dict.fromkeys(name for _, name in refused)]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        why = "no question has a match, so this baseline could never show a loss there"
        flags = on_a_command_line([cut(name, limit=80) for name in names])
        raise UsageError(
            f"run {cut(scorecard.run_id)} found nothing for {_named(refused)}{more}: {why}",
            hint=f"`raggate check` says why nothing matches. If it is meant to be so: {flags}.",
        )
    return tuple(
        Reason("no-match", f"no question has a match in {_named([place])}", mode=place[0], slice=place[1])
        for place in empty
    )


def _named(places: Sequence[tuple[str, str]]) -> str:
    shown = [*dict.fromkeys(places)][:_NAMED]
    return ", ".join(
        f"mode {quoted(mode, limit=80)}" if mode == name else f"slice {quoted(name, limit=80)} ({cut(mode, limit=80)})"
        for mode, name in shown
    )
