"""Results with a fault -> a trial, by the very functions that judge a change: label, score, compare, decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from raggate.base.errors import CannotTell
from raggate.config.gate_settings import FLIP_AT
from raggate.gate import promote
from raggate.gate.evaluation import evaluate_run
from raggate.inputs.authoring.passages import Passage, passages
from raggate.inputs.notes import Notes, words
from raggate.inputs.trusted import Inputs
from raggate.models.baseline import Baseline
from raggate.models.gate_proof import FaultKind, Trial
from raggate.models.metric_names import HIT, at_depth
from raggate.models.run import Chunk, LabelledResult, Response, Result, Run
from raggate.models.scorecard import OVERALL, MetricValue, Scorecard
from raggate.models.verdict import Reason, Review
from raggate.pipeline import measure
from raggate.pipeline.request import Request
from raggate.prove.faults import Note, lot, ranked, struck
from raggate.scoring import score

CLEAN = "the run without a fault"
"""What messages call the baseline of a proof."""


class Bench(Struct, frozen=True, kw_only=True):
    """What all trials are judged by: the run without a fault, as the baseline it would be if it were promoted.

    `blank` is a run without results, and `clean` are the results without a fault, in the order they were asked in.
    `metric` is the hit rate that is watched; its cut-off `depth` is how many chunks a reader sees.
    """

    blank: Run
    notes: Notes
    passages: tuple[Passage, ...]
    clean: tuple[Result, ...]
    run: Run
    baseline: Baseline
    metric: str
    depth: int

    @classmethod
    def of(
        cls, request: Request, inputs: Inputs, directory: Path, started: str, clean: Sequence[Result], seconds: float
    ) -> Self:
        """Make a bench of the results of a run without a fault, and write that run into its directory."""
        blank = measure.blank_run(directory, started, request, inputs, command="prove")
        notes = Notes(inputs.vault)
        run = measure.finished_run(blank, clean, seconds, notes, stopped=None)
        scorecard = measure.write(directory, run, request, inputs.config)
        baseline = Baseline(source=CLEAN, scorecard=scorecard, provenance=promote.provenance(run, scorecard))
        depth = watched_depth(inputs.config.score.k)
        metric = at_depth(HIT, depth)
        return cls(
            blank=blank,
            notes=notes,
            passages=passages(inputs.vault),
            clean=tuple(clean),
            run=run,
            baseline=baseline,
            metric=metric,
            depth=depth,
        )

    def review(self, results: Sequence[Result], stopped: str | None = None) -> Review:
        """Judge results as those of a change are judged; `stopped` says why they are not complete."""
        run = measure.finished_run(self.blank, results, 0.0, self.notes, stopped=stopped)
        return evaluate_run(run, score.score(run, run.config.score.k), self.baseline)

    def trial(
        self,
        results: Sequence[Result],
        *,
        name: str,
        size: str = "",
        kind: FaultKind = "answers",
        notes: frozenset[Note] = frozenset(),
        stopped: str | None = None,
    ) -> Trial:
        """Judge results with a fault, in the order of those without; `stopped` says why not all was asked."""
        review = self.review(results, stopped)
        verdict = review.verdict
        value, drop = self._drop(review.scorecard)
        return Trial(
            name=name,
            size=size,
            kind=kind,
            outcome=verdict.outcome,
            reasons=verdict.reasons,
            warnings=verdict.warnings,
            value=value,
            drop=drop,
            harmed=harmed_share(self.run.results, results, self.depth),
            changed=changed(self.clean, results),
            evidence=verdict.evidence,
            notes=tuple(sorted("/".join(note) for note in notes)),
        )

    def harmless(self, number: int) -> Trial:
        """Judge the `number`th change that harms nobody on average."""
        return self.trial(harmless(self.run.results, number, self._passage_of), name=f"harmless change {number}")

    def _passage_of(self, item: LabelledResult) -> Chunk | None:
        """Return the passage of the vault that answers a question, as a chunk like those of its answer."""
        chunks = item.result.chunks
        paths = {support.rel_path for support in item.case.gold_supports}
        for passage in self.passages if chunks else ():
            if passage.rel_path not in paths:
                continue
            chunk = replace(
                chunks[0],
                chunk_id=f"{passage.rel_path}:{passage.line}" if chunks[0].chunk_id else "",
                rel_path=passage.rel_path,
                heading_path=passage.heading_path or "",
                text=passage.text,
                vault=chunks[0].vault and passage.vault,
                doc_id=None,
                text_hash=None,
            )
            alone = replace(item.result, response=Response(chunks=(chunk,)))
            if any(self.notes.label(score.label(item.case, alone)).labels.matches):
                return chunk
        return None

    def unmeasured(self, error: CannotTell, *, name: str, kind: FaultKind) -> Trial:
        """Return the trial of an API that did not come up with a fault, which a check cannot tell of."""
        reason = Reason(code="not-booted", message=error.message)
        return Trial(
            name=name, size="", kind=kind, outcome="cannot tell", reasons=(reason,), harmed=1.0, changed=len(self.clean)
        )

    def watched(self) -> Mapping[str, MetricValue]:
        """Return the watched metric without a fault, by mode; the modes where it applies to a question."""
        return _watched(self.baseline.scorecard, self.metric)

    def _drop(self, scorecard: Scorecard) -> tuple[float | None, float | None]:
        now = _watched(scorecard, self.metric)
        drops = [
            (before.value - now[mode].value, now[mode].value)  # type: ignore[operator]
            for mode, before in self.watched().items()
            if mode in now
        ]
        if not drops:
            return None, None
        drop, value = max(drops, key=lambda pair: pair[0])
        return value, drop


def _watched(scorecard: Scorecard, metric: str) -> dict[str, MetricValue]:
    values = {mode: slices.get(OVERALL, {}).get(metric) for mode, slices in scorecard.slices.items()}
    return {mode: value for mode, value in values.items() if value is not None and value.value is not None}


def watched_depth(cutoffs: Sequence[int]) -> int:
    """Return the cut-off whose hit rate is watched: `FLIP_AT`, or where that is not scored the next larger one."""
    return next((k for k in cutoffs if k >= FLIP_AT), cutoffs[-1])


def changed(before: Sequence[Result], after: Sequence[Result]) -> int:
    """Count the questions that have another answer: other chunks, another order, or another word on abstaining."""
    return sum(_content(old) != _content(new) for old, new in zip(before, after, strict=True))


def _content(result: Result) -> object:
    if result.response is None:
        return result.failure.kind if result.failure else None
    chunks = [
        (chunk.chunk_id, chunk.vault, chunk.rel_path, chunk.heading_path, chunk.text)
        for chunk in result.response.chunks
    ]
    return chunks, result.response.abstained


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
