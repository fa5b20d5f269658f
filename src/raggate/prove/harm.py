"""What a reader loses by a fault, measured apart from the gate; and changes that harm nobody on average. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from raggate.inputs.notes import words
from raggate.models.run import Chunk, LabelledResult, Response, Result
from raggate.prove.faults import lot, ranked, struck

KEPT = 2 / 3
"""A passage is still there if this share of its words is."""

TOUCHED = 0.2
"""The share of questions whose passage a harmless change ranks anew."""


def harmed(clean: LabelledResult, after: Result, depth: int) -> bool:
    """Return whether a reader of the first `depth` chunks gets less than without the fault.

    That is so if the call fails, if the system abstains or does so no longer where it should, or if none of the
    passages that answer is there any more: of the same note, with two thirds of its words.
    """
    before, now = clean.result.response, after.response
    if before is None or now is None:
        return before is not None
    if now.abstained != before.abstained:
        return now.abstained == clean.case.answerable
    answering = [chunk for chunk, met in zip(before.chunks[:depth], clean.labels.matches, strict=False) if met]
    return bool(answering) and not any(_still_there(chunk, now.chunks[:depth]) for chunk in answering)


def harmed_share(clean: Sequence[LabelledResult], after: Sequence[Result], depth: int) -> float:
    """Return the share of the questions whose readers get less, in the mode where that is largest."""
    asked = Counter(item.result.mode for item in clean)
    lost = Counter(item.result.mode for item, result in zip(clean, after, strict=True) if harmed(item, result, depth))
    return max((lost[mode] / number for mode, number in asked.items()), default=0.0)


def _still_there(passage: Chunk, seen: Sequence[Chunk]) -> bool:
    wanted = set(words(passage.text))
    same = (chunk for chunk in seen if (chunk.vault, chunk.rel_path) == (passage.vault, passage.rel_path))
    found = {word for chunk in same for word in words(chunk.text)}
    return bool(found) and len(wanted & found) >= KEPT * len(wanted)


Find = Callable[[LabelledResult], Chunk | None]
"""Returns a chunk that answers a question whose list has none."""


def harmless(clean: Sequence[LabelledResult], number: int, find: Find) -> list[Result]:
    """Return the answers of the `number`th change that harms nobody on average.

    Of a fifth of the questions the passage that answers gets a rank that is drawn from the ranks of all questions of
    the mode, so that as many get better as worse, but for chance. Questions that must pass stay as they are.
    """
    name = f"harmless {number}"
    free = [item for item in clean if item.result.response is not None and item.case.answerable]
    pools: dict[str, list[int]] = {}
    for item in free:
        pools.setdefault(item.result.mode, []).append(_rank(item))
    touched = struck((item.case.id for item in free if not item.case.must_pass), TOUCHED, name)
    results = []
    for item in clean:
        response, pool = item.result.response, pools.get(item.result.mode, [])
        if response is not None and item.case.id in touched and item.case.answerable:
            drawn = pool[int.from_bytes(lot(name, item.result.mode, item.case.id)[:8], "big") % len(pool)]
            response = _moved(item, response, drawn, find)
        results.append(replace(item.result, response=response))
    return results


def _rank(item: LabelledResult) -> int:
    """Return the place of the first passage that answers, from 0; one behind all if there is none."""
    met = [bool(supports) for supports in item.labels.matches]
    return met.index(True) if any(met) else 1_000_000


def _moved(item: LabelledResult, response: Response, to: int, find: Find) -> Response:
    """Put the passage that answers at a place, or behind all, which takes it from the list."""
    place, chunks = _rank(item), list(response.chunks)
    others = [chunk for chunk, met in zip(chunks, item.labels.matches, strict=False) if not met]
    passage = chunks[place] if place < len(chunks) else find(item)
    if passage is None or to >= len(chunks):
        return ranked(response, others) if place < len(chunks) and to >= len(chunks) else response
    rest = [chunk for chunk in chunks if chunk is not passage]
    return ranked(response, [*rest[:to], passage, *rest[to:]][: len(chunks)])
