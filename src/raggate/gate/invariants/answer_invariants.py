"""What must hold of each answer of a run, and of all of them together: a function, and its line in `CHECKS`. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from math import isfinite
from typing import Any

from raggate.gate import noise, wording
from raggate.gate.causes import passages
from raggate.gate.invariants import probe_rules
from raggate.gate.invariants.answer_rules import Answer, Check, Rule, Suite, at_end, of_each
from raggate.models.provenance import notes_of
from raggate.models.run import Run
from raggate.scoring.repeats import Repeated
from raggate.text.numbers import counted
from raggate.text.quote import cut, quoted

Values = dict[str, Any]
"""What answers say under one key, by how it is written: what is a number in one may be a text in another."""


def _ranks_contiguous(answer: Answer) -> Iterator[str]:
    chunks = answer.response.chunks
    ranks = [chunk.rank for chunk in chunks if chunk.rank is not None]
    if ranks and ranks != list(range(1, len(chunks) + 1)):
        yield f"{answer.place}: ranks {ranks[:12]}"


def _scores_ordered(answer: Answer) -> Iterator[str]:
    scores = [chunk.score_final for chunk in answer.response.chunks if chunk.score_final is not None]
    if not all(isfinite(score) for score in scores):
        yield f"{answer.place}: a score is not finite"
    for rank, (upper, lower) in enumerate(pairwise(scores), 1):
        if lower > upper:
            yield f"{answer.place}: score rises from {upper} at rank {rank} to {lower}"
            break


def _chunk_ids_unique(answer: Answer) -> Iterator[str]:
    for first in answer.item.labels.duplicates[:1]:
        yield f"{answer.place}: rank {first + 1} repeats chunk {answer.response.chunks[first].chunk_id}"


def _chunks_distinct(answer: Answer) -> Iterator[str]:
    chunks = answer.response.chunks
    seen: dict[tuple[str | None, ...], int] = {}
    for rank, chunk in enumerate(chunks, 1):
        first = seen.setdefault(chunk.content, rank)
        # what occurs twice under one id is told by that already
        again = chunk.chunk_id and chunk.chunk_id == chunks[first - 1].chunk_id
        if chunk.text and first != rank and not again:
            yield f"{answer.place}: rank {rank} has the place and text of rank {first}, {chunk.rel_path}"
            break


def _chunk_ids_stable(_: Suite) -> Rule:
    seen: dict[str, int] = {}

    def see(answer: Answer) -> Iterator[str]:
        for chunk in answer.response.chunks:
            # of contents the hashes, which tell them apart: there are as many as the index has chunks
            content = hash((chunk.rel_path, chunk.heading_path, chunk.text, chunk.text_hash))
            if chunk.chunk_id and seen.setdefault(chunk.chunk_id, content) != content:
                yield f"{answer.place}: chunk {cut(chunk.chunk_id)} has other content than in an earlier answer"

    return Rule(see)


def _scope_respected(suite: Suite) -> Rule:
    holders = passages.holders(suite.run)

    def see(answer: Answer) -> Iterator[str]:
        asked = set(answer.item.case.vaults)
        for rank, chunk in enumerate(answer.response.chunks, 1):
            # where the API does not tell the vault, it is one of those that hold such a note
            possible = {chunk.vault} if chunk.vault is not None else holders.get(chunk.rel_path, asked)
            if asked and not asked & possible:
                vaults, limits = ", ".join(sorted(possible)), ", ".join(answer.item.case.vaults)
                yield f"{answer.place}: rank {rank} is from vault {vaults}, asked of {limits}"
                break

    return Rule(see)


def _vaults_known(suite: Suite) -> Rule:
    holders = passages.holders(suite.run)

    def see(answer: Answer) -> Iterator[str]:
        for rank, chunk in enumerate(answer.response.chunks if answer.item.case.vaults else (), 1):
            possible = sorted(holders.get(chunk.rel_path, ())) if chunk.vault is None else ()
            if len(possible) > 1:
                yield f"{answer.place}: rank {rank}, {cut(chunk.rel_path)}, may be from {' or '.join(possible)}"
                break

    return Rule(see)


def _vault_known(run: Run) -> bool:
    """Return whether the notes of the vault are known; they are not of a run that another tool measured."""
    return run.fingerprint.get("notes") is not None


def _notes_exist(suite: Suite) -> Rule:
    if not _vault_known(suite.run):
        return Rule()
    notes = notes_of(suite.run.fingerprint)
    paths = {note.split("/", 1)[1] for note in notes}

    def see(answer: Answer) -> Iterator[str]:
        for position, chunk in enumerate(answer.response.chunks, 1):
            # an API that does not tell the vault gets the benefit of the doubt
            if chunk.rel_path not in paths or (chunk.vault and f"{chunk.vault}/{chunk.rel_path}" not in notes):
                where = f"vault {chunk.vault}" if chunk.vault else "the vault"
                named = f"{cut(chunk.rel_path)} is not in {where}"
                yield f"{answer.place}: {named if chunk.rel_path else f'rank {position} has no path of a note'}"
                break

    return Rule(see)


def _headings_exist(answer: Answer) -> Iterator[str]:
    for position in answer.item.labels.strange_headings[:1]:
        chunk = answer.response.chunks[position]
        heading = quoted(chunk.heading_path, limit=80)
        yield f"{answer.place}: rank {position + 1}, {cut(chunk.rel_path)} has no heading {heading}"


def _text_in_note(suite: Suite) -> Rule:
    def see(answer: Answer) -> Iterator[str]:
        for position in answer.item.labels.strange_texts[:1]:
            path = cut(answer.response.chunks[position].rel_path)
            yield f"{answer.place}: the text at rank {position + 1} is not in {path}"

    def close() -> Iterator[str]:
        for answer in suite.run.probes.answers:
            chunks = answer.result.chunks
            for position in answer.strange_texts[:1]:
                place = probe_rules.place_of(answer)
                yield f"{place}: the text at rank {position + 1} is not in {cut(chunks[position].rel_path)}"

    return Rule(see, close)


def _chunks_have_text(_: Suite) -> Rule:
    any_text = False

    def see(answer: Answer) -> Iterator[str]:
        nonlocal any_text
        empty, chunks = answer.item.labels.empty, answer.response.chunks
        any_text = any_text or len(empty) < len(chunks)
        for first in empty[:1]:
            of = f"{len(empty)} of {len(chunks)} chunks"
            yield f"{answer.place}: {of} without text, first rank {first + 1}, {chunks[first].rel_path}"

    # where no chunk has text, the API does not tell it
    return Rule(see, applies=lambda: any_text)


def _golden_kept_apart(suite: Suite) -> Iterator[str]:
    for path in suite.run.provenance.in_build_context:
        yield f"{path} lies in the build context of the API; name it in .dockerignore"
    for path in suite.run.provenance.in_vaults:
        yield f"{path} lies in a vault, with all of which the API is given it; keep it elsewhere"


def _abstained_is_empty(answer: Answer) -> Iterator[str]:
    if answer.response.abstained and answer.response.references:
        yield f"{answer.place}: abstains, but cites {len(answer.response.references)} place(s)"


def _of_index(keys: Iterable[str], broken: Callable[[Mapping[str, Values]], Iterable[str]]) -> Rule:
    """Make a rule of what answers say of their index under some keys, as far as they do: each value once."""
    values: dict[str, Values] = {key: {} for key in keys}

    def see(answer: Answer) -> Iterable[str]:
        coverage = answer.response.coverage or {}
        for key, known in values.items():
            if key in coverage:
                known.setdefault(repr(coverage[key]), coverage[key])
        return ()

    return Rule(see, lambda: broken(values))


def _index_complete(suite: Suite) -> Rule:
    if not _vault_known(suite.run):
        return Rule()
    expected = len(notes_of(suite.run.fingerprint))
    # an API may leave private notes out of its index, or out of its answers
    without_private = expected - len(suite.run.probes.private)

    def broken(values: Mapping[str, Values]) -> Iterator[str]:
        counts = set(map(str, values["docs_processed"].values()))
        for count in sorted(counts - {str(expected), str(without_private)}):
            yield (
                f"the index has {count} of the vault's {expected} notes with text; if it was still growing, "
                "raise api.ready.settle"
            )

    return _of_index(["docs_processed"], broken)


def _index_constant(_: Suite) -> Rule:
    nouns = {"docs_processed": "documents", "chunks_embedded": "chunks"}

    def broken(values: Mapping[str, Values]) -> Iterator[str]:
        versions = set(map(str, values["index_version"].values()))
        if len(versions) > 1:
            yield f"index versions {', '.join(sorted(versions))} in one run"
        for key, noun in nouns.items():
            counts = [count for count in values[key].values() if type(count) is int]
            if len(counts) > 1:
                counted_twice = f"{min(counts)} to {max(counts)} {noun} in one run"
                yield f"{counted_twice}; if it was still growing, raise api.ready.settle"

    return _of_index(["index_version", *nouns], broken)


def _no_empty_documents(_: Suite) -> Rule:
    def broken(values: Mapping[str, Values]) -> Iterator[str]:
        for count in sorted({str(count) for count in values["docs_with_0_chunks"].values() if count}):
            yield f"{count} indexed document(s) without chunks"

    return _of_index(["docs_with_0_chunks"], broken)


def _list_deep_enough(suite: Suite) -> Rule:
    """Find modes in which most lists end at one rank: a threshold, or an index of few chunks, ends them otherwise."""
    deepest = max(suite.run.config.score.k)
    lengths: dict[str, Counter[int]] = {}
    seen: dict[str, set[str]] = {}

    def see(answer: Answer) -> Iterable[str]:
        mode, chunks = answer.item.result.mode, answer.response.chunks
        known = seen.setdefault(mode, set())
        if chunks:
            lengths.setdefault(mode, Counter())[len(chunks)] += 1
        if len(known) < deepest:
            known.update(chunk.chunk_id for chunk in chunks)
        return ()

    def close() -> Iterator[str]:
        for mode, counts in lengths.items():
            longest, total = max(counts), counts.total()
            if longest < min(deepest, len(seen[mode])) and 2 * counts[longest] > total:
                lists = f"{counts[longest]} of {counted(total, 'list')}"
                yield f"{mode}: {lists} end at rank {longest}, and none goes on; scored to depth {deepest}"

    return Rule(see, close)


def _must_be_deterministic(suite: Suite) -> Iterator[str]:
    repeated = Repeated.of(suite.run.fingerprint)
    # of what was not seen twice `probe_coverage` tells
    if suite.run.stopped is None and repeated is not None and repeated.differ:
        names = f": {wording.some(repeated.questions)}" if repeated.questions else ""
        yield f"{noise.other_rankings(repeated)}{names}"


def _ties_at_cutoff(suite: Suite) -> Rule:
    cutoffs = suite.run.config.score.k

    def see(answer: Answer) -> Iterator[str]:
        chunks = answer.response.chunks
        for k in cutoffs:
            if k < len(chunks):
                upper, lower = chunks[k - 1].score_final, chunks[k].score_final
                if upper is not None and upper == lower:
                    yield f"{answer.place}: ranks {k} and {k + 1} tie at {upper}"

    return Rule(see)


CHECKS: dict[str, Check] = {
    "ranks_contiguous": of_each(_ranks_contiguous),
    "scores_ordered": of_each(_scores_ordered),
    "chunk_ids_unique": of_each(_chunk_ids_unique),
    "chunks_distinct": of_each(_chunks_distinct),
    "chunk_ids_stable": _chunk_ids_stable,
    "scope_respected": _scope_respected,
    "vaults_known": _vaults_known,
    "notes_exist": _notes_exist,
    "headings_exist": of_each(_headings_exist),
    "text_in_note": _text_in_note,
    "chunks_have_text": _chunks_have_text,
    "golden_kept_apart": at_end(_golden_kept_apart),
    "abstained_is_empty": of_each(_abstained_is_empty),
    "index_complete": _index_complete,
    "index_constant": _index_constant,
    "no_empty_documents": _no_empty_documents,
    "list_deep_enough": _list_deep_enough,
    "must_be_deterministic": at_end(_must_be_deterministic),
    "ties_at_cutoff": _ties_at_cutoff,
    **probe_rules.CHECKS,
}
