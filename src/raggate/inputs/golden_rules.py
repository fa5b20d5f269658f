"""Rules of a golden set's cases: what must hold between the keys of each, and with the modes that are asked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from raggate.config.retrieval_modes import asked_in
from raggate.errors import UsageError
from raggate.models.golden import Case, Golden, Support
from raggate.text.anchors import elements
from raggate.text.nearest import nearest
from raggate.text.quote import cut, quoted

_RULED = ("multi_hop", "recency/conflict")

RECENCY_RULES = ("cite_newer", "acknowledge_both", "cite_both")
"""What a case of category `recency/conflict` may demand."""


def broken_name(where: str, support: object) -> str | None:
    """Say what is wrong with how a support, or a place that is not relevant, names what it is, if anything."""
    names = [key for key in ("rel_path", "doc_id", "chunk_id") if getattr(support, key) is not None]
    if not names:
        return f"key '{where}.rel_path' is missing; a support may have doc_id or chunk_id in its place"
    if len(names) > 1:
        return f"{where}: {' and '.join(names)} are given together, expected one of them"
    beside = [key for key in ("heading_path", "snippets", "vault") if getattr(support, key, None)]
    if names != ["rel_path"] and beside:
        return f"{where}.{beside[0]} goes with rel_path, not with {names[0]}"
    return None


def broken_rule(case: Case) -> str | None:
    """Return which rule between the keys of a case is broken, if any."""
    count = len(case.gold_supports)
    groups = case.required_support_groups
    if case.answerable and not count and not (case.must_contain or case.forbidden):
        return "answerable, but gold_supports is empty; label it, or set answerable to false"
    if not case.answerable and count:
        return "not answerable, but gold_supports is not empty"
    if (both := twice_judged(case)) is not None:
        return f"not_relevant[{both}] is a gold support, too; remove it from one of them"
    if groups is not None and (broken := _broken_group(groups, count)):
        return broken
    if case.category == "multi_hop" and groups is None:
        return "category is multi_hop, so required_support_groups is needed"
    conflict, rule = case.category == "recency/conflict", case.recency_conflict_rule
    if conflict and rule is None:
        return f"category is recency/conflict, so recency_conflict_rule is needed: {', '.join(RECENCY_RULES)}"
    if rule is not None and not conflict:
        return f"recency_conflict_rule goes with category 'recency/conflict', found category {quoted(case.category)}"
    if groups is None and not conflict and (meant := _meant(case.category)):
        # misspelt, it would leave its rule behind without a word
        return f"category {quoted(case.category)} has no rule; did you mean {meant!r}, which has one?"
    return None


@lru_cache(maxsize=1_000)  # a golden set has few categories
def _meant(category: str) -> str | None:
    return nearest(category, _RULED, cutoff=0.8)


def twice_judged(case: Case) -> int | None:
    """Return the index of a place that is said not to answer and is a gold support, too; None where there is none."""
    gold = {place_key(support) for support in case.gold_supports}
    return next((index for index, place in enumerate(case.not_relevant) if place_key(place) in gold), None)


def place_key(support: Support) -> tuple[str | tuple[str, ...] | None, ...]:
    """Return what tells a place from others, however its headings are spaced."""
    path = elements(support.heading_path or "")
    return (support.vault, support.rel_path, path, support.chunk_id, support.doc_id)


def check_must_pass_asked(golden: Golden, modes: Sequence[str]) -> None:
    """See that what must pass is asked in one of these modes.

    Raises:
        UsageError: naming the first case that must pass and is for other modes only.
    """
    for case in golden.cases:
        if case.must_pass and not any(asked_in(case.modes, mode) for mode in modes):
            named = ", ".join(map(cut, case.modes or ()))
            raise UsageError(
                f"{golden.name}:{case.line}: case {quoted(case.id)} must pass and is never asked: it is for {named}, "
                f"and ask.modes has {', '.join(modes)}",
                hint="Add its mode to ask.modes, or change its `retriever_types` or `must_pass`.",
            )


def _broken_group(groups: tuple[tuple[int, ...], ...], count: int) -> str | None:
    if not groups:
        return "required_support_groups: expected at least one group, found none; leave the key out for no groups"
    for position, group in enumerate(groups):
        where = f"required_support_groups[{position}]"
        if not group:
            return f"{where}: expected at least one index into gold_supports, found an empty group"
        for place, index in enumerate(group):
            if not 0 <= index < count:
                return f"{where}[{place}]: expected an index from 0 to {count - 1} into gold_supports, found {index}"
    return None
