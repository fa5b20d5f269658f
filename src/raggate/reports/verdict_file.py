"""The decision for programs: verdict.json, `--json` and Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from raggate.base.escape import plain
from raggate.base.jsonio import as_dict, pieces
from raggate.base.numbers import rounded, rounded_or_none
from raggate.models import public_verdict as public
from raggate.models.comparison import Cause, Diagnosis, Flip, GoldenChanges, to_stored
from raggate.models.publication import RunFailure
from raggate.models.verdict import CompositeTest, GatedMetric, Reason, Review
from raggate.reports.parts import evidence, formatting
from raggate.scoring.repeats import Repeated

if TYPE_CHECKING:
    from pathlib import Path

    from raggate.reports import Ended

SCHEMA = "raggate/verdict/1"

_OPTIONAL = frozenset(("trace_id", "values"))
"""Keys of a question that are there where they say something."""

_NO_VALUE = ("diagnosis", "baseline", "against", "repeated", "preview", "recheck")
_NO_ITEMS = (
    *("warnings", "metrics", "flips", "fallen", "misses", "reach", "invariants", "vault_changes", "config_changes"),
    *("dependencies", "not_used", "tests", "promotion_needs_permission"),
)
"""Keys of verdict.json that a run without a verdict has nothing for."""

_PREVIEWED = ("settings", "loosened", "remeasured", "lowered", "outdated", "unmet", "breaks", "unseen", "problems")
_SCORES = ("final", "vector", "lexical")


def render(ended: Ended) -> Iterator[str]:
    """Serialise the verdict, its reasons, the judged rows and the flipped questions, piece by piece."""
    return pieces(_failure(ended) if isinstance(ended, RunFailure) else _review(ended))


def _review(review: Review) -> dict[str, Any]:
    verdict, comparison = review.verdict, review.comparison
    baseline = comparison.baseline
    repeated = Repeated.of(review.scorecard.fingerprint)
    part, preview = review.run.selection, review.context.preview
    partial = part and {"asked": list(part.asked), "of": part.of, "selection": _line(part.words)}
    return {
        "schema": SCHEMA,
        "suite": review.run.suite,
        "run_id": review.run.run_id,
        "verdict": verdict.outcome,
        **({"partial": partial} if partial else {}),
        "exit_code": verdict.exit_code,
        "headline": _line(verdict.headline),
        "reasons": [as_dict(_reason(reason)) for reason in formatting.deciding(review)],
        "warnings": [as_dict(_reason(reason)) for reason in formatting.warnings(review)],
        "baseline": None if baseline is None else {"source": baseline.source, "run_id": baseline.scorecard.run_id},
        "against": review.run.provenance.against,
        "compared": comparison.compared,
        "policy": verdict.evidence.policy if verdict.evidence is not None else "",
        "tests": [_test(test) for test in verdict.evidence.tests] if verdict.evidence is not None else [],
        "metrics": [_row(row) for row in verdict.rows if row.gated or row.status in {"no baseline", "advisory"}],
        "flips": map(_flip, comparison.flips),
        "fallen": map(_flip, review.fallen),
        "misses": map(_flip, review.misses),
        "reach": [_shown(reach, "why") for reach in comparison.reach],
        "diagnosis": None if review.diagnosis is None else _diagnosis(review.diagnosis),
        "promotion_needs_permission": [_line(reason.message) for reason in review.lowers],
        "golden_changes": as_dict(comparison.golden),
        "vault_changes": [str(change) for change in comparison.vault_changes],
        "config_changes": [[_line(part) for part in entry] for entry in comparison.config_changes],
        **({"judging": judged} if (judged := evidence.stored(review.run)) is not None else {}),
        "repeated": None if repeated is None else repeated.stored(),
        "invariants": [_shown(finding, "message", "examples") for finding in review.findings],
        "waivers": [as_dict(waiver) for waiver in review.verdict.waivers],
        "first_run": review.context.first_run,
        "preview": preview and _shown(preview, *_PREVIEWED) | {"rows": [to_stored(delta) for delta in preview.rows]},
        "dependencies": _lines(review.context.dependencies),
        "recheck": None if verdict.recheck is None else _shown(verdict.recheck, "build", "problem"),
        "not_used": list(review.run.provenance.ignored),
        "hint": "",
        "log": [plain(line) for line in review.run.log],
    }


def _failure(failure: RunFailure) -> dict[str, Any]:
    message = _line(failure.message)
    return {
        "schema": SCHEMA,
        "suite": failure.suite or "",
        "run_id": failure.run_id,
        "verdict": failure.label,
        "exit_code": failure.exit_code,
        "headline": message,
        "reasons": [{"code": failure.label.replace(" ", "-"), "message": message}],
        "compared": 0,
        "golden_changes": as_dict(GoldenChanges()),
        "policy": "",
        "waivers": [as_dict(waiver) for waiver in failure.waivers],
        "first_run": False,
        **dict.fromkeys(_NO_VALUE, None),
        **dict.fromkeys(_NO_ITEMS, ()),
        "hint": plain(failure.hint, limit=1000, middle=True),
        "log": [plain(line) for line in failure.log],
    }


def _line(text: str) -> str:
    return plain(text, limit=1500, middle=True)


def _lines(value: Any) -> Any:
    """Make every text in a value one printable line."""
    if isinstance(value, list | tuple):
        return [_lines(part) for part in value]
    return _line(value) if isinstance(value, str) else value


def _shown(value: Struct, *texts: str) -> dict[str, Any]:
    """Return the fields of a struct, those named `texts` as people may see them; ids and paths stay exact."""
    return {key: _lines(part) if key in texts else part for key, part in as_dict(value).items()}


def _flip(flip: Flip) -> dict[str, Any]:
    fields = _shown(flip, "gold", "why", "displaced_by")
    cause = None if flip.cause is None else _filled(flip.cause)
    return {key: value for key, value in fields.items() if key not in _OPTIONAL or value} | {"cause": cause}


def _diagnosis(diagnosis: Diagnosis) -> dict[str, Any]:
    counts = [{"cause": cause, "questions": count} for cause, count in diagnosis.counts]
    explains = [case_id for _, case_id in sorted(diagnosis.explains)]
    return _shown(diagnosis, "changes", "likely") | {"counts": counts, "explains": explains}


def _filled(cause: Cause) -> dict[str, Any]:
    """Return the fields of a cause that say something."""
    empty = ("", None, (), (None, None))
    fields = {key: value for key, value in as_dict(cause).items() if value is not False and value not in empty}
    for side in {"before", "after"} & fields.keys():
        fields[side] = {key: value for key, value in fields[side].items() if key in _SCORES and value is not None}
    return {key: _lines(value) for key, value in fields.items()}


def _row(row: GatedMetric) -> dict[str, Any]:
    delta = row.delta
    return {
        "mode": delta.mode,
        "slice": delta.slice,
        "metric": delta.metric,
        "direction": delta.current.direction,
        "baseline": rounded_or_none(delta.baseline.value),
        "baseline_n": delta.baseline.n,
        "current": rounded_or_none(delta.current.value),
        "current_n": delta.current.n,
        "delta": rounded_or_none(delta.delta),
        "interval": None if delta.interval is None else [rounded(end) for end in delta.interval],
        "lost": delta.regressed,
        "gained": delta.improved,
        "allowed": row.allowed,
        "limit": row.floor,
        "whole": rounded_or_none(delta.run_value.value),
        "whole_n": delta.run_value.n,
        "status": row.status,
        "unproven": row.unproven,
    }


def _test(test: CompositeTest) -> dict[str, Any]:
    facts = {key: rounded(value) if isinstance(value, float) else value for key, value in as_dict(test).items()}
    # the mean of all scores falls by `before - after`; one metric alone can have fallen by more
    facts["largest_drop"] = facts.pop("drop")
    # programs that read it know of one metric
    return {**facts, "fell": {case: names[0] for case, names in test.fell.items()}}


def verdict_of(review: Review, directory: Path) -> public.Verdict:
    """What programs get of a review, whose reports are in a directory. Texts are one printable line each."""
    verdict = review.verdict
    return public.Verdict(
        outcome=verdict.outcome,
        exit_code=int(verdict.exit_code),
        headline=_line(verdict.headline),
        suite=review.run.suite,
        run_id=review.run.run_id,
        run_directory=directory,
        cases=review.scorecard.questions,
        compared=review.comparison.compared,
        reasons=tuple(map(_reason, formatting.deciding(review))),
        warnings=tuple(map(_reason, formatting.warnings(review))),
        metrics=tuple(_metric(row) for row in verdict.rows if row.gated or row.status == "no baseline"),
        lost=tuple(_public_question(flip, review) for flip in sorted(review.lost, key=verdict.is_red, reverse=True)),
        part_of=None if (part := review.run.selection) is None else part.of,
    )


def _reason(reason: Reason) -> public.Reason:
    return public.Reason(code=reason.code, message=_line(reason.message))


def _metric(row: GatedMetric) -> public.Metric:
    delta = row.delta
    return public.Metric(
        mode=delta.mode,
        slice=delta.slice,
        metric=delta.metric,
        direction=delta.current.direction,
        baseline=delta.baseline.value,
        current=delta.current.value,
        delta=delta.delta,
        allowed=row.allowed,
        limit=row.floor,
        n=delta.current.n,
        status=row.status,
    )


def _public_question(flip: Flip, review: Review) -> public.Question:
    return public.Question(
        case_id=flip.case_id,
        mode=flip.mode,
        kind=flip.kind if flip.kind in {"broke", "missed"} else "fell",
        question=_line(flip.question),
        expected=_line(flip.gold),
        before=flip.before,
        after=flip.after,
        why=_line(flip.why),
        must_pass=flip.must_pass,
        counts=review.verdict.is_red(flip),
        trace_id=flip.trace_id,
    )
