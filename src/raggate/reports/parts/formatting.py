"""What the reports share: which rows to show, and how a value, a change and a rank are written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raggate.base.numbers import counted, fixed, often
from raggate.config.schema import DESCRIPTION
from raggate.models.comparison import Comparison, Flip
from raggate.models.metric_names import UNJUDGED, family
from raggate.models.run import Run
from raggate.models.scorecard import EPSILON, OVERALL, Operations, Scorecard
from raggate.models.verdict import GatedMetric, Reason, Review, of_parts
from raggate.scoring import score
from raggate.scoring.repeats import Repeated

LEFT_OUT = "What was compared decides nothing here, and is in verdict.json."
BAD = frozenset(("worse", "below floor", "vanished"))
"""Statuses of rows that make a verdict red."""

_VERSIONS = ("embedding_model", "retriever_version", "answerer_version")
QUALITY = frozenset(
    (
        *("worse", "below-floor", "creep", "must-pass", "few-cases", "slice-worse"),
        *("composite-worse", "large-loss", "perhaps-worse"),
    )
)
"""Codes of reasons that say something got worse."""


def breaks_alone(review: Review) -> bool:
    """Whether a change fails to pass for nothing but what merging it would end, or might."""
    codes = {reason.code for reason in review.verdict.reasons}
    return bool(codes) and codes <= {"breaks-gate", "preview", "retires-suite"}


def undecided(review: Review) -> bool:
    """Return whether there is no verdict though values were compared: they say nothing of the change then."""
    # a measured change can still break the gate once merged
    without = review.verdict.outcome in {"cannot tell", "interrupted"} and not breaks_alone(review)
    return without and bool(review.verdict.rows)


def deciding(review: Review) -> list[Reason]:
    """Return the reasons of a verdict; where there is none, those for that, without what seemed to be worse."""
    left = QUALITY if undecided(review) else ()
    return [reason for reason in review.verdict.reasons if reason.code not in left]


def warnings(review: Review) -> list[Reason]:
    """Return the warnings, likewise; that a run which stopped scored fewer cases is none."""
    left = QUALITY | ({"fewer-scored"} if review.run.stopped is not None else set())
    # why there is no verdict says how many calls failed, and what to do next says how that is mended
    left |= {"failed-calls" for reason in review.verdict.reasons if reason.code == "too-many-errors"}
    return [reason for reason in review.verdict.warnings if not (undecided(review) and reason.code in left)]


def main_rows(rows: Sequence[GatedMetric]) -> list[GatedMetric]:
    """Return the overall rows that decide, or would with a baseline, what is wrong first; none of a lost mode."""
    left = {row.delta.mode for row in rows if row.delta.current.n or row.delta.current.unscored}
    told = {*BAD, "no baseline", "advisory"}
    overall = [row for row in rows if row.delta.slice == OVERALL and row.delta.mode in left]
    shown = [row for row in overall if row.gated or row.status in told]

    def order(row: GatedMetric) -> tuple[str, int, tuple[str | int, ...]]:
        harmless = 2 if row.status not in BAD else int(bool(row.unproven))
        return row.delta.mode, harmless, natural(row.delta.metric)

    return sorted(shown, key=order)


def other_rows(rows: Sequence[GatedMetric]) -> list[GatedMetric]:
    """Return the overall rows of metrics that are not gated but moved; how far lists are judged stands by itself."""
    main = main_rows(rows)
    moved = [row for row in rows if row.delta.slice == OVERALL and row.delta.differs and row not in main]
    shown = [row for row in moved if family(row.delta.metric) != UNJUDGED]
    return sorted(shown, key=lambda row: (row.delta.mode, natural(row.delta.metric)))


def slice_rows(rows: Sequence[GatedMetric], *, better: bool = False) -> list[GatedMetric]:
    """Return the rows of slices, none of all cases, that got worse or better by more than allowed, largest first."""
    shown = [row for row in of_parts(rows) if row.status == ("better" if better else "worse")]
    if better:
        shown = [row for row in shown if abs(row.delta.delta or 0.0) > (row.allowed or 0.0) + EPSILON]
    return sorted(shown, key=lambda row: (-abs(row.delta.delta or 0.0), row.delta.slice, natural(row.delta.metric)))


def compared(comparison: Comparison) -> str:
    """Write how much of a baseline could be compared."""
    if comparison.incomparable:
        return "not comparable"
    if comparison.baseline is None or not comparison.baseline.paired:
        return "only means compared"
    cases = comparison.scorecard.cases
    if len(cases) and all(case.failure is not None for case in cases):
        return "no answer to compare"
    if any(case.failure == "aborted" for case in cases):
        return "compared in part"
    return f"{counted(comparison.compared, 'question')} compared"


def status(row: GatedMetric) -> str:
    """Write the status of a row, and why one that is worse is not red."""
    above = row.status == "below floor" and row.delta.current.direction == "lower"
    excuse = ("waived" if row.waived else row.unproven) if row.status in BAD else ""
    return ", ".join(filter(None, ("above ceiling" if above else row.status, excuse)))


def promotion_note(review: Review) -> str:
    """Return why a run that passes is not promoted without permission; empty where it is."""
    if not review.lowers:
        return ""
    # what was compared with nothing may be any loss, so no number of small ones hides it
    reasons = sorted(review.lowers, key=lambda reason: reason.code != "other-judges")
    more = f" and {len(reasons) - 3} more" if len(reasons) > 3 else ""
    only_losses = {reason.code for reason in reasons} == {"metric-down"}
    lead = "The gate lets this loss pass, but its promotion keeps a record. " if only_losses else ""
    what = "; ".join(reason.message for reason in reasons[:3])
    return f"{lead}To promote this run you need --allow-regression and a --reason: {what}{more}"


def how_many(flips: Sequence[Flip]) -> str:
    """Count questions for a title. One with several modes counts once."""
    questions = len({flip.case_id for flip in flips})
    return f"{questions}, {len(flips)} times in all modes" if questions < len(flips) else f"{questions}"


def broke(review: Review) -> list[Flip]:
    """Return the questions that broke. If nothing is decided, a call that failed says nothing of its question."""
    unasked = "api-error" if undecided(review) else None
    return [flip for flip in review.comparison.broke if flip.cause is None or flip.cause.code != unasked]


def title(what: str, flips: Sequence[Flip]) -> str:
    """Name questions by what happened to them, with their number."""
    return f"Questions that {what} ({how_many(flips)})"


def fallen_title(flips: Sequence[Flip]) -> str:
    """Name questions that are listed with the broken ones, by what they are."""
    missed = [flip.kind == "missed" for flip in flips]
    if all(missed):
        # of a question that is new, or asks something else now, nothing is known of before
        before = all(flip.since == "same" for flip in flips)
        return title(f"must pass and {'failed before too' if before else 'do not'}", flips)
    new = [flip.since == "added" for flip in flips if flip.kind != "missed"]
    kinds = {"must pass": any(missed), "got worse without breaking": not all(new), "are new and below usual": any(new)}
    return title(", or ".join(kind for kind, some in kinds.items() if some), flips)


def about(run: Run) -> dict[str, str]:
    """Return what a run tells of itself, by name: its description, and the versions that no API tells."""
    versions = {name.replace("_", " ").capitalize(): run.fingerprint.get(name) for name in _VERSIONS}
    texts = {"About": run.config.about.get(DESCRIPTION), **versions}
    return {name: text for name, text in texts.items() if isinstance(text, str) and text}


def operations_line(scorecard: Scorecard) -> str:
    """Write how the calls went in one line; nothing where that is not known."""
    return "" if scorecard.operations is None else " · ".join(_calls(scorecard, scorecard.operations))


def _calls(scorecard: Scorecard, operations: Operations) -> Iterator[str]:
    left = operations.failures.get("aborted", 0)
    calls = counted(operations.calls - left, "call")
    # one call can be tried again several times
    again = counted(operations.retries, "retry", "retries") if operations.retries else "0 retried"
    yield f"{calls}, {operations.failed - left} failed, {again}"
    if left:
        yield f"{counted(left, 'call')} not made"
    if (empty := operations.rates.get("empty_result_rate")) is not None and empty.value:
        yield f"{round(empty.value * empty.n)} without any passage"
    if (repeated := Repeated.of(scorecard.fingerprint)) is not None:
        missing = f", {repeated.failed} without a second answer" if repeated.failed else ""
        differ = f"{repeated.differ} of {repeated.compared} ranked differently" if repeated.differ or missing else ""
        yield f"{repeated.asked} asked {often(repeated.times)}{missing}, {differ or 'all ranked alike'}"
    if type(probes := scorecard.fingerprint.get("probes")) is int:
        yield f"{probes} asked for invariants"
    if found := score.found_headings(scorecard.fingerprint.get("found_headings")):
        passages, matches = map(sum, zip(*found.values(), strict=True))
        yield f"headings of {counted(passages, 'passage')} found by text ({counted(matches, 'match', 'matches')})"
    for step, label in (("client_ms", "latency"), ("retrieval_ms", "retrieval")):
        if times := operations.latency.get(step):
            yield f"{label} p50 {fixed(times['p50'], 0)} ms, p95 {fixed(times['p95'], 0)} ms"
    coverage = operations.coverage or {}
    if "docs_processed" in coverage:
        counts = ((coverage["docs_processed"], "document"), (coverage.get("chunks_embedded", "?"), "passage"))
        sizes = (f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in counts)
        yield f"index {', '.join(sizes)}"


def natural(name: str) -> tuple[str | int, ...]:
    """Order `hit_at_3` before `hit_at_10`."""
    return tuple(int(part) if part.isdigit() else part for part in name.split("_"))
