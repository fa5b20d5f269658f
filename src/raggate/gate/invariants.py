"""What must hold: of the API's answers, and between two runs before they may be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import isfinite
from typing import Any, Literal

from raggate.config.invariant_settings import Invariants
from raggate.config.schema import Gate
from raggate.gate import isolation, metamorphic, noise, note_places, probe_coverage, wording
from raggate.models.baseline import Baseline
from raggate.models.comparison import Finding
from raggate.models.fingerprint import cutoffs_of, notes_of
from raggate.models.run import LabelledResult, Run
from raggate.models.scorecard import Scorecard
from raggate.scoring.heading_reading import read_otherwise
from raggate.scoring.repeats import Repeated
from raggate.text.numbers import counted
from raggate.text.quote import cut, quoted

SHOWN_EXAMPLES = 5

Check = Callable[[Run], Iterator[str]]

# what a score depends on: a difference here makes means of different things
MUST_AGREE = {
    "metrics_version": "the definitions of the metrics",
    "adapter": "the adapter",
    "k": "the number of chunks asked for (ask.k)",
    "retrieval_only": "whether answers are generated (ask.retrieval_only)",
}


def check_answers(run: Run, levels: Invariants, gate: Gate) -> tuple[Finding, ...]:
    """Check every invariant that is not off; findings that break the gate come first.

    Of a question that is asked again, `gate` says how many calls may fail.
    """
    findings = []
    for name, check in _CHECKS.items():
        level = getattr(levels, name)
        examples = () if level == "off" else tuple(check(run))
        if examples:
            findings.append(_finding(name, level, examples))
    gaps = probe_coverage.gaps(run, levels, gate)
    findings += [_finding(name, level, (why,), unseen=True) for name, level, why in gaps]
    return tuple(sorted(findings, key=lambda finding: finding.level))


def _finding(name: str, level: Literal["error", "warn"], examples: Sequence[str], *, unseen: bool = False) -> Finding:
    return Finding(
        invariant=name,
        level=level,
        message=Invariants.model_fields[name].description or name,
        count=len(examples),
        examples=tuple(sorted(examples, key=len)[:SHOWN_EXAMPLES]),
        unseen=unseen,
    )


def comparable(scorecard: Scorecard, baseline: Baseline) -> tuple[str, ...]:
    """Say why a run must not be compared with a baseline; empty when it may be."""
    reasons = []
    if baseline.scorecard.suite and baseline.scorecard.suite != scorecard.suite:
        reasons.append(f"the baseline is of suite {baseline.scorecard.suite!r}, this run of {scorecard.suite!r}")
    for key, meaning in MUST_AGREE.items():
        before, now = baseline.scorecard.fingerprint.get(key), scorecard.fingerprint.get(key)
        # a bare metrics file has no fingerprint: nothing is known to differ
        if baseline.paired and before != now:
            reasons.append(f"{meaning} changed: {before} in the baseline, {now} now")
    otherwise = read_otherwise(baseline.scorecard.fingerprint, scorecard.fingerprint) if baseline.paired else 0
    if otherwise:
        answers = f"{counted(otherwise, 'answer')} {wording.are(otherwise)}"
        reasons.append(
            "the baseline was scored by headings letter by letter; now they are compared as people read them, by which "
            f"alone {answers} right"
        )
    cutoffs = cutoffs_of(scorecard.fingerprint)
    lost = [str(k) for k in cutoffs_of(baseline.scorecard.fingerprint) if k not in cutoffs]
    if lost:
        reasons.append(f"the baseline is scored at cut-offs that are not scored any more (score.k): {', '.join(lost)}")
    if not set(baseline.scorecard.slices) & set(scorecard.slices):
        measured, stored = ", ".join(scorecard.slices), ", ".join(baseline.scorecard.slices)
        reasons.append(f"no mode in common: {stored or 'none'} in the baseline, {measured or 'none'} now")
    return tuple(reasons)


def _answered(run: Run) -> Iterator[tuple[str, LabelledResult, Any]]:
    for item in run.answers:
        if item.result.response is not None:
            yield f"{item.case.id} ({item.result.mode})", item, item.result.response


def _ranks_contiguous(run: Run) -> Iterator[str]:
    for place, _item, response in _answered(run):
        ranks = [chunk.rank for chunk in response.chunks if chunk.rank is not None]
        if ranks and ranks != list(range(1, len(response.chunks) + 1)):
            yield f"{place}: ranks {ranks[:12]}"


def _scores_ordered(run: Run) -> Iterator[str]:
    for place, _item, response in _answered(run):
        scores = [chunk.score_final for chunk in response.chunks if chunk.score_final is not None]
        if not all(isfinite(score) for score in scores):
            yield f"{place}: a score is not finite"
        for rank, (upper, lower) in enumerate(pairwise(scores), 1):
            if lower > upper:
                yield f"{place}: score rises from {upper} at rank {rank} to {lower}"
                break


def _chunk_ids_unique(run: Run) -> Iterator[str]:
    for place, item, response in _answered(run):
        if item.labels.duplicates:
            first = item.labels.duplicates[0]
            yield f"{place}: rank {first + 1} repeats chunk {response.chunks[first].chunk_id}"


def _chunks_distinct(run: Run) -> Iterator[str]:
    for place, _item, response in _answered(run):
        seen: dict[tuple[str | None, ...], int] = {}
        for rank, chunk in enumerate(response.chunks, 1):
            content = (chunk.vault, chunk.rel_path, chunk.heading_path, chunk.text, chunk.text_hash)
            first = seen.setdefault(content, rank)
            # what occurs twice under one id is told by that already
            again = chunk.chunk_id and chunk.chunk_id == response.chunks[first - 1].chunk_id
            if chunk.text and first != rank and not again:
                yield f"{place}: rank {rank} has the place and text of rank {first}, {chunk.rel_path}"
                break


def _chunk_ids_stable(run: Run) -> Iterator[str]:
    seen: dict[str, tuple[str, str, str, str | None]] = {}
    for place, _item, response in _answered(run):
        for chunk in response.chunks:
            content = (chunk.rel_path, chunk.heading_path, chunk.text, chunk.text_hash)
            if chunk.chunk_id and seen.setdefault(chunk.chunk_id, content) != content:
                yield f"{place}: chunk {cut(chunk.chunk_id)} has other content than in an earlier answer"


def _scope_respected(run: Run) -> Iterator[str]:
    holders = note_places.holders(run)
    for place, item, response in _answered(run):
        asked = set(item.case.vaults)
        for rank, chunk in enumerate(response.chunks, 1):
            # where the API does not tell the vault, it is one of those that hold such a note
            possible = {chunk.vault} if chunk.vault is not None else holders.get(chunk.rel_path, asked)
            if asked and not asked & possible:
                vaults, limits = ", ".join(sorted(possible)), ", ".join(item.case.vaults)
                yield f"{place}: rank {rank} is from vault {vaults}, asked of {limits}"
                break


def _vaults_known(run: Run) -> Iterator[str]:
    holders = note_places.holders(run)
    for place, item, response in _answered(run):
        for rank, chunk in enumerate(response.chunks, 1):
            possible = sorted(holders.get(chunk.rel_path, ()))
            if item.case.vaults and chunk.vault is None and len(possible) > 1:
                yield f"{place}: rank {rank}, {cut(chunk.rel_path)}, may be from {' or '.join(possible)}"
                break


def _vault_known(run: Run) -> bool:
    """Say whether the notes of the vault are known; they are not of a run that another tool measured."""
    return run.fingerprint.get("notes") is not None


def _notes_exist(run: Run) -> Iterator[str]:
    if not _vault_known(run):
        return
    notes = notes_of(run.fingerprint)
    paths = {note.split("/", 1)[1] for note in notes}
    for place, _item, response in _answered(run):
        for chunk in response.chunks:
            # an API that does not tell the vault gets the benefit of the doubt
            if chunk.rel_path not in paths or (chunk.vault and f"{chunk.vault}/{chunk.rel_path}" not in notes):
                where = f"vault {chunk.vault}" if chunk.vault else "the vault"
                yield f"{place}: {cut(chunk.rel_path)} is not in {where}"
                break


def _headings_exist(run: Run) -> Iterator[str]:
    for place, item, response in _answered(run):
        for position in item.labels.strange_headings[:1]:
            chunk = response.chunks[position]
            heading = quoted(chunk.heading_path, limit=80)
            yield f"{place}: rank {position + 1}, {cut(chunk.rel_path)} has no heading {heading}"


def _text_in_note(run: Run) -> Iterator[str]:
    for place, item, response in _answered(run):
        for position in item.labels.strange_texts[:1]:
            yield f"{place}: the text at rank {position + 1} is not in {cut(response.chunks[position].rel_path)}"
    for answer in run.probes.answers:
        chunks = answer.result.response.chunks if answer.result.response is not None else ()
        for position in answer.strange_texts[:1]:
            place = isolation.place_of(answer)
            yield f"{place}: the text at rank {position + 1} is not in {cut(chunks[position].rel_path)}"


def _chunks_have_text(run: Run) -> Iterator[str]:
    answered = list(_answered(run))
    if not any(len(item.labels.empty) < len(response.chunks) for _, item, response in answered):
        # no chunk has text: the API does not tell it
        return
    for place, item, response in answered:
        if item.labels.empty:
            first = item.labels.empty[0]
            of = f"{len(item.labels.empty)} of {len(response.chunks)} chunks"
            yield f"{place}: {of} without text, first rank {first + 1}, {response.chunks[first].rel_path}"


def _golden_kept_apart(run: Run) -> Iterator[str]:
    for path in run.provenance.in_build_context:
        yield f"{path} lies in the build context of the API; name it in .dockerignore"


def _abstained_is_empty(run: Run) -> Iterator[str]:
    for place, _item, response in _answered(run):
        if response.abstained and response.references:
            yield f"{place}: abstains, but cites {len(response.references)} place(s)"


def _of_index(run: Run, key: str) -> Iterator[Any]:
    """Give what answers say of their index under a key, as far as they do."""
    for _place, _item, response in _answered(run):
        if response.coverage and key in response.coverage:
            yield response.coverage[key]


def _index_complete(run: Run) -> Iterator[str]:
    if not _vault_known(run):
        return
    counts = set(map(str, _of_index(run, "docs_processed")))
    expected = len(notes_of(run.fingerprint))
    # an API may leave private notes out of its index, or out of its answers
    without_private = expected - len(run.probes.private)
    for count in sorted(counts - {str(expected), str(without_private)}):
        yield (
            f"the index has {count} of the vault's {expected} notes with text; if it was still growing, "
            "raise api.ready.settle"
        )


def _index_constant(run: Run) -> Iterator[str]:
    versions = set(map(str, _of_index(run, "index_version")))
    if len(versions) > 1:
        yield f"index versions {', '.join(sorted(versions))} in one run"
    for key, noun in (("docs_processed", "documents"), ("chunks_embedded", "chunks")):
        counts = {count for count in _of_index(run, key) if type(count) is int}
        if len(counts) > 1:
            yield f"{min(counts)} to {max(counts)} {noun} in one run; if it was still growing, raise api.ready.settle"


def _no_empty_documents(run: Run) -> Iterator[str]:
    for count in sorted({str(count) for count in _of_index(run, "docs_with_0_chunks") if count}):
        yield f"{count} indexed document(s) without chunks"


def _list_deep_enough(run: Run) -> Iterator[str]:
    deepest = max(run.config.score.k)
    for place, _item, response in _answered(run):
        if 0 < len(response.chunks) < deepest:
            yield f"{place}: {counted(len(response.chunks), 'chunk')}, scored to depth {deepest}"


def _must_be_deterministic(run: Run) -> Iterator[str]:
    repeated = Repeated.of(run.fingerprint)
    # of what was not seen twice `probe_coverage` tells
    if run.stopped is None and repeated is not None and repeated.differ:
        names = f": {wording.some(repeated.questions)}" if repeated.questions else ""
        yield f"{noise.other_rankings(repeated)}{names}"


def _ties_at_cutoff(run: Run) -> Iterator[str]:
    for place, _item, response in _answered(run):
        for k in run.config.score.k:
            if k < len(response.chunks):
                upper, lower = response.chunks[k - 1].score_final, response.chunks[k].score_final
                if upper is not None and upper == lower:
                    yield f"{place}: ranks {k} and {k + 1} tie at {upper}"


_CHECKS: dict[str, Check] = {
    "ranks_contiguous": _ranks_contiguous,
    "scores_ordered": _scores_ordered,
    "chunk_ids_unique": _chunk_ids_unique,
    "chunks_distinct": _chunks_distinct,
    "chunk_ids_stable": _chunk_ids_stable,
    "scope_respected": _scope_respected,
    "vaults_known": _vaults_known,
    "notes_exist": _notes_exist,
    "headings_exist": _headings_exist,
    "text_in_note": _text_in_note,
    "chunks_have_text": _chunks_have_text,
    "golden_kept_apart": _golden_kept_apart,
    "abstained_is_empty": _abstained_is_empty,
    "index_complete": _index_complete,
    "index_constant": _index_constant,
    "no_empty_documents": _no_empty_documents,
    "list_deep_enough": _list_deep_enough,
    "must_be_deterministic": _must_be_deterministic,
    "ties_at_cutoff": _ties_at_cutoff,
    **metamorphic.CHECKS,
    **isolation.CHECKS,
}
