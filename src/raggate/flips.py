"""Questions that broke or were fixed, and why: what was expected, where it went, and what took its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from raggate.anchors import covers, in_scope
from raggate.models import Case, Chunk, Labelled, Run, Support
from raggate.outcomes import CaseScore, Comparison, Flip


def find_flips(run: Run, pairs: Sequence[tuple[CaseScore, CaseScore]], flip_at: int) -> tuple[Flip, ...]:
    """Find the cases found before and not now, or the other way round.

    A case counts as found when a gold support stands within `flip_at`; a case with support groups when a whole group
    does; an unanswerable one when the API abstains. A question that a run did not come to, as it stopped before, is
    neither. Broken ones come first, must-pass and largest falls on top.
    """
    items = {(item.result.mode, item.case.id): item for item in run.results}
    left = {key for key, item in items.items() if _aborted(item)} if run.stopped is not None else set()
    flips = []
    for old, new in pairs:
        if (new.mode, new.case_id) in left:
            continue
        flip = _flip(old, new, items[new.mode, new.case_id], flip_at)
        if flip is not None:
            flips.append(flip)
    return tuple(sorted(flips, key=_order))


def find_fallen(
    run: Run,
    comparison: Comparison,
    fell: Mapping[tuple[str, str], str],
    missed: Mapping[tuple[str, str], str] | None = None,
) -> tuple[Flip, ...]:
    """Describe cases that got worse, or must pass and do not, without having broken; largest falls first.

    Args:
        run: the run, for the reasons.
        comparison: it held against the baseline.
        fell: by mode and case id, the metric to tell it by.
        missed: those that must pass and do not, likewise.
    """
    if comparison.baseline is None or run.stopped is not None:
        return ()
    before = {(case.mode, case.case_id): case for case in comparison.baseline.scorecard.cases}
    now = {(case.mode, case.case_id): case for case in comparison.scorecard.cases}
    told = {(flip.mode, flip.case_id) for flip in comparison.flips if flip.kind == "broke"}
    changed = frozenset(comparison.golden.relabelled)
    lost = missed or {}
    wanted = {**fell, **lost}
    return tuple(
        sorted(
            (
                replace(
                    _fallen(item, before.get(key), now[key], wanted[key], relabelled=item.case.id in changed),
                    kind="missed" if key in lost else "fell",
                )
                for item in run.results
                for key in [(item.result.mode, item.case.id)]
                if key in wanted and key not in told
            ),
            key=lambda flip: (not flip.must_pass, flip.after is not None, flip.before or 0, flip.mode, flip.case_id),
        )
    )


def _fallen(item: Labelled, old: CaseScore | None, new: CaseScore, metric: str, *, relabelled: bool) -> Flip:
    grouped = metric.startswith("recall_all")
    after = new.rank_all if grouped else new.rank
    before = None if old is None else old.rank_all if grouped else old.rank
    supports = _wanted(item, metric, after)
    return Flip(
        case_id=new.case_id,
        mode=new.mode,
        kind="fell",
        metric=metric,
        question=item.case.question,
        gold=_gold(item.case, supports),
        before=before,
        after=after,
        why=_why(item, metric, after),
        displaced_by=None if metric in _ABSTENTION else _displaced(item, before),
        must_pass=item.case.must_pass,
        support=supports[0] if supports else None,
        since="added" if old is None else "relabelled" if relabelled else "same",
    )


def _aborted(item: Labelled) -> bool:
    return item.result.failure is not None and item.result.failure.kind == "aborted"


def _order(flip: Flip) -> tuple[object, ...]:
    best = flip.before if flip.kind == "broke" else flip.after
    return (flip.kind, not flip.must_pass, best or 0, flip.mode, flip.case_id)


def _flip(old: CaseScore, new: CaseScore, item: Labelled, flip_at: int) -> Flip | None:
    case = item.case
    before, after = old.rank, new.rank
    if not case.answerable:
        metric = "abstention_accuracy"
        was, now = old.values.get(metric) == 1, new.values.get(metric) == 1
    elif _within(old.rank, flip_at) != _within(new.rank, flip_at) or not case.required_support_groups:
        metric = f"hit_at_{flip_at}"
        was, now = _within(old.rank, flip_at), _within(new.rank, flip_at)
    else:
        metric = f"recall_all_at_{flip_at}"
        before, after = old.rank_all, new.rank_all
        was, now = _within(before, flip_at), _within(after, flip_at)
    if was and now and case.answerable:
        # found as before, but refused: the user sees the refusal
        metric = "false_abstention_rate"
        was, now = old.values.get(metric) == 0, new.values.get(metric) == 0
    if was == now:
        return None
    broke = was
    supports = _wanted(item, metric, after)
    return Flip(
        case_id=case.id,
        mode=new.mode,
        kind="broke" if broke else "fixed",
        metric=metric,
        question=case.question,
        gold=_gold(case, supports),
        before=before,
        after=after,
        why=_why(item, metric, after) if broke else "",
        displaced_by=_displaced(item, before) if broke and metric not in _ABSTENTION else None,
        must_pass=case.must_pass,
        support=supports[0] if supports else None,
    )


_ABSTENTION = frozenset(("abstention_accuracy", "false_abstention_rate"))


def _within(rank: int | None, depth: int) -> bool:
    return rank is not None and rank <= depth


def _wanted(item: Labelled, metric: str, after: int | None) -> tuple[Support, ...]:
    """Give the supports to look for: those that are missing from an incomplete group, else all."""
    if not item.case.answerable:
        return ()
    return _missing(item) if metric.startswith("recall_all") and after is None else item.case.gold_supports


def _gold(case: Case, supports: Sequence[Support]) -> str:
    """Name the first of them."""
    if not supports:
        return "(should abstain)"
    more = f" (+{len(supports) - 1} more)" if len(supports) > 1 else ""
    return _place(supports[0], case) + more


def _place(support: Support, case: Case) -> str:
    if not support.rel_path:
        return f"chunk {support.chunk_id}" if support.chunk_id is not None else f"document {support.doc_id}"
    vault = support.vault or (case.vaults[0] if len(case.vaults) == 1 else "")
    path = f"{vault}/{support.rel_path}" if vault else support.rel_path
    return f"{path} › {support.heading_path}" if support.heading_path else path


def _why(item: Labelled, metric: str, after: int | None) -> str:
    case, result = item.case, item.result
    if metric == "false_abstention_rate":
        reason = result.response.abstain_reason if result.response else None
        return f"the API abstained{f' ({reason})' if reason else ''}"
    if result.failure is not None:
        return f"the call failed: {result.failure.message}"
    response = result.response
    chunks = _ranked(item)
    if not case.answerable:
        source = f"; its first source is {_chunk(chunks[0])}" if chunks else ""
        return f"answered instead of abstaining{source}"
    if not chunks:
        return "nothing was retrieved"
    if after is not None:
        # the ranks themselves stand before this wherever it is shown
        return f"fell, of {len(chunks)} returned"
    selected = (response.selected_folders if response else None) or ()
    missing = _missing(item)
    placed = [support for support in missing if support.rel_path]
    if selected and placed and not any(in_scope(one.rel_path, _vaults(one, case), selected) for one in placed):
        return f"folder selection left it out (selected: {', '.join(selected[:4])})"
    return _why_absent(case, missing, chunks)


def _missing(item: Labelled) -> tuple[Support, ...]:
    """Give the gold supports that no chunk matches; all when each is matched somewhere."""
    found = {index for matches in item.labels.matches for index in matches}
    supports = item.case.gold_supports
    return tuple(support for index, support in enumerate(supports) if index not in found) or supports


def _vaults(support: Support, case: Case) -> tuple[str, ...]:
    return (support.vault,) if support.vault else case.vaults


def _ranked(item: Labelled) -> list[Chunk]:
    """Give the chunks that hold a rank: all but repeated ones."""
    response, dropped = item.result.response, set(item.labels.duplicates)
    chunks = response.chunks if response else ()
    return [chunk for position, chunk in enumerate(chunks) if position not in dropped]


def _why_absent(case: Case, missing: Sequence[Support], chunks: Sequence[Chunk]) -> str:
    for support in missing:
        allowed = _vaults(support, case)
        same_note = [
            rank
            for rank, chunk in enumerate(chunks, 1)
            if chunk.rel_path == support.rel_path and (not allowed or chunk.vault in {None, *allowed})
        ]
        heading = support.heading_path
        same_place = [rank for rank in same_note if heading is None or covers(heading, chunks[rank - 1].heading_path)]
        if same_place and support.snippets:
            return f"the section is at rank {same_place[0]}, but without the gold snippet (another piece, or reworded)"
        if same_note:
            return f"the note is at rank {same_note[0]}, but with another section"
    return f"not among the {len(chunks)} chunk{'' if len(chunks) == 1 else 's'} returned"


def _displaced(item: Labelled, before: int | None) -> str | None:
    response = item.result.response
    if before is None or response is None:
        return None
    dropped = set(item.labels.duplicates)
    left = [position for position in range(len(response.chunks)) if position not in dropped]
    if len(left) < before or item.labels.matches[left[before - 1]]:
        return None
    return _chunk(response.chunks[left[before - 1]])


def _chunk(chunk: Chunk) -> str:
    path = f"{chunk.vault}/{chunk.rel_path}" if chunk.vault else chunk.rel_path
    return f"{path} › {chunk.heading_path}" if chunk.heading_path else path
