"""The nouns of `raggate.models.run`, built with defaults: a test names only the fields it is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from raggate.config.schema import Config
from raggate.models.baseline import Baseline
from raggate.models.comparison import Comparison, Delta, Finding, Flip
from raggate.models.golden import Case, Golden, Support, Vault, digest, with_hash
from raggate.models.run import Chunk, Failure, LabelledResult, Labels, Response, Result, Run
from raggate.models.scorecard import OVERALL, CaseScore, Direction, MetricValue, Operations, Scorecard
from raggate.scoring.score import label


def make_support(rel_path: str = "a.md", heading_path: str | None = "# A", **fields: Any) -> Support:
    """Build a gold support: by default the section `# A` of `a.md`, in any vault, of grade 1."""
    return Support(rel_path=rel_path, heading_path=heading_path, **fields)


def make_case(case_id: str = "q1", **fields: Any) -> Case:
    """Build a case with its true content hash; answerable by `make_support()` unless the fields say otherwise."""
    hashed = "hash" not in fields
    answerable = fields.setdefault("answerable", True)
    fields.setdefault("gold_supports", (make_support(),) if answerable else ())
    fields.setdefault("question", f"Question {case_id}?")
    case = Case(id=case_id, **fields)
    return with_hash(case) if hashed else case


def make_golden(*cases: Case, **fields: Any) -> Golden:
    """Build a golden set with its true content hash."""
    return Golden(**{"name": "eval_set.jsonl", "cases": cases, "hash": digest(list(cases)), **fields})


def make_vault(texts: Mapping[str, str]) -> Vault:
    """Build the vaults of some notes, each named `vault/path`."""
    notes = {(name.partition("/")[0], name.partition("/")[2]): text for name, text in texts.items()}
    return Vault(directories={vault: Path(vault) for vault, _ in notes}, texts=notes, notes={}, hash="")


def make_chunk(chunk_id: str = "c1", **fields: Any) -> Chunk:
    """Build a chunk: by default one that `make_support()` matches."""
    return Chunk(
        **{"chunk_id": chunk_id, "rel_path": "a.md", "heading_path": "# A", "text": "Text of the note.", **fields}
    )


def make_chunks(*rel_paths: str) -> tuple[Chunk, ...]:
    """Build a ranked list with one chunk per note, its ranks and falling scores filled in."""
    return tuple(
        make_chunk(f"c{rank}", rel_path=path, rank=rank, score_final=1 / rank) for rank, path in enumerate(rel_paths, 1)
    )


def make_response(*chunks: Chunk, **fields: Any) -> Response:
    return Response(chunks=chunks, **fields)


def make_failure(kind: str = "timeout", **fields: Any) -> Failure:
    return Failure(**{"kind": kind, "message": "no answer within 60 s", **fields})


def make_result(case_id: str = "q1", *chunks: Chunk, **fields: Any) -> Result:
    """Build a result: a response with the chunks, unless the fields hold a `response` or a `failure`."""
    failure = fields.get("failure")
    response = None if failure else make_response(*chunks)
    defaults = {"mode": "hybrid", "response": response, "failure": None, "retries": 0, "elapsed_ms": 10.0}
    return Result(case_id=case_id, **{**defaults, **fields})


def make_labelled(case: Case | None = None, result: Result | None = None, **labels: Any) -> LabelledResult:
    """Label a result as scoring does, then replace single fields of the labels."""
    case = case or make_case()
    item = label(case, result or make_result(case.id, make_chunk()))
    return replace(item, labels=replace(item.labels, **labels))


def make_ranked(
    matches: Sequence[Iterable[int]],
    *,
    grades: Sequence[int] = (1,),
    groups: Sequence[Sequence[int]] | None = None,
    duplicates: Sequence[int] = (),
) -> LabelledResult:
    """Build a labelled result from what its metrics depend on: per rank the supports it matches, and their grades."""
    case = make_case(
        gold_supports=tuple(make_support(f"{index}.md", grade=grade) for index, grade in enumerate(grades)),
        required_support_groups=None if groups is None else tuple(tuple(group) for group in groups),
    )
    result = make_result(case.id, *make_chunks(*(f"rank{rank}.md" for rank in range(len(matches)))))
    labels = Labels(
        matches=tuple(tuple(found) for found in matches),
        heading_only=(False,) * len(matches),
        bodiless=(False,) * len(matches),
        duplicates=tuple(duplicates),
    )
    return LabelledResult(case=case, result=result, labels=labels)


def make_config(**keys: Any) -> Config:
    """Build a configuration of one vault and an API by its address, scored at rank 1 alone."""
    needed = {"vault": {"work": "vault"}, "api": {"url": "http://127.0.0.1:9000"}, "score": {"k": [1]}}
    return Config.model_validate({**needed, **keys})


@lru_cache(maxsize=1)
def _plain_config() -> Config:
    return make_config()


def make_run(*results: LabelledResult, **fields: Any) -> Run:
    """Build a run; its golden set holds the cases of the results, each once."""
    cases = {item.case.id: item.case for item in results}
    defaults = {
        "run_id": "run-1",
        "suite": "default",
        "started": "2026-01-02T03:04:05Z",
        "golden": make_golden(*cases.values()),
        "config": _plain_config(),
        "fingerprint": {},
        "duration_s": 1.5,
    }
    return Run(results=results, **{**defaults, **fields})


def make_metric(value: float | None = 0.5, n: int = 10, **fields: Any) -> MetricValue:
    """Build a metric value, by default one of which more is better."""
    return MetricValue(value=value, n=n, **{"unscored": 0, "direction": "higher", **fields})


def make_case_score(case_id: str = "q1", values: dict[str, float | None] | None = None, **fields: Any) -> CaseScore:
    """Build the score of one case in the mode `hybrid`, by default a hit at rank 1."""
    defaults = {"mode": "hybrid", "hash": f"hash-{case_id}", "rank": 1, "slices": (OVERALL,)}
    return CaseScore(case_id=case_id, values={"hit_at_5": 1.0} if values is None else values, **{**defaults, **fields})


def make_scorecard(*cases: CaseScore, **fields: Any) -> Scorecard:
    """Build a scorecard whose slices and counts are those of the cases; a metric named `…_rate` is lower-is-better."""
    slices: dict[str, dict[str, dict[str, MetricValue]]] = {}
    counts: dict[str, dict[str, int]] = {}
    for mode in dict.fromkeys(case.mode for case in cases):
        for name in sorted({name for case in cases if case.mode == mode for name in case.slices}):
            members = [case for case in cases if case.mode == mode and name in case.slices]
            slices.setdefault(mode, {})[name] = _means(members)
            counts.setdefault(mode, {})[name] = len(members)
    defaults = {
        "suite": "default",
        "run_id": "run-1",
        "fingerprint": {},
        "slices": slices,
        "counts": counts,
        "operations": None,
    }
    return Scorecard(cases=cases, **{**defaults, **fields})


def make_baseline(scorecard: Scorecard | None = None, **fields: Any) -> Baseline:
    """Build a baseline around a scorecard, by default one without cases."""
    defaults = {"source": "baselines/default.json", "provenance": {}}
    return Baseline(scorecard=scorecard or make_scorecard(), **{**defaults, **fields})


def make_delta(
    baseline: float | None = 0.8, current: float | None = 0.7, *, direction: Direction = "higher", **fields: Any
) -> Delta:
    """Build a delta of two means over the same ten cases."""
    defaults = {
        "mode": "hybrid",
        "slice": OVERALL,
        "metric": "hit_at_5",
        "baseline": make_metric(baseline, 10 if baseline is not None else 0, direction=direction),
        "current": make_metric(current, 10 if current is not None else 0, direction=direction),
        "delta": None if baseline is None or current is None else current - baseline,
    }
    return Delta(**{**defaults, **fields})


def _means(cases: Sequence[CaseScore]) -> dict[str, MetricValue]:
    averaged = {}
    for metric in dict.fromkeys(name for case in cases for name in case.values):
        known = [value for case in cases if (value := case.values.get(metric)) is not None]
        averaged[metric] = make_metric(
            sum(known) / len(known) if known else None,
            len(known),
            unscored=len(cases) - len(known),
            direction="lower" if metric.endswith("_rate") else "higher",
        )
    return averaged


def make_comparison(*deltas: Delta, baseline: Baseline | None = None, **fields: Any) -> Comparison:
    """Build a comparison of one case with a baseline of the same case."""
    same = make_scorecard(make_case_score())
    defaults = {"scorecard": same, "baseline": baseline or make_baseline(same), "compared": 1}
    return Comparison(deltas=deltas, **{**defaults, **fields})


def make_finding(invariant: str = "lists_ordered", level: str = "error", **fields: Any) -> Finding:
    defaults = {"message": "Final scores never rise.", "count": 1, "examples": ("q1 (hybrid): rank 2",)}
    return Finding(**{"invariant": invariant, "level": level, **defaults, **fields})


def make_operations(calls: int = 10, failed: int = 0, **fields: Any) -> Operations:
    """Build operations whose failures, if any, are timeouts."""
    defaults = {"rates": {}, "retries": 0, "latency": {}, "coverage": None}
    failures = {"timeout": failed} if failed else {}
    return Operations(**{"calls": calls, "failed": failed, "failures": failures, **defaults, **fields})


def make_flip(case_id: str = "q1", kind: str = "broke", **fields: Any) -> Flip:
    """Build a flip: by default a question whose passage stood at rank 1 and is not found any more."""
    defaults = {
        "mode": "hybrid",
        "metric": "hit_at_5",
        "question": f"Question {case_id}?",
        "gold": "a.md › A",
        "support": Support(rel_path="a.md", heading_path="# A"),
        "before": 1 if kind == "broke" else None,
        "after": None if kind == "broke" else 1,
        "why": "not among the 5 chunks returned" if kind == "broke" else "",
        "displaced_by": None,
        "must_pass": False,
    }
    return Flip(**{"case_id": case_id, "kind": kind, **defaults, **fields})


def make_ranked_run(*ranks: int | None, **fields: Any) -> Run:
    """Build a run of one question for each rank, at which its passage stands; None where it was not retrieved.

    Fields are those of the run, but for `groups` and `mode`: what each question belongs to, and how it was asked.
    """
    groups, mode = fields.pop("groups", (None,) * len(ranks)), fields.pop("mode", "hybrid")
    rows = enumerate(zip(ranks, groups, strict=True))
    return make_run(*(_ranked(number, rank, group, mode) for number, (rank, group) in rows), **fields)


@lru_cache(maxsize=4096)
def _ranked(number: int, rank: int | None, group: str | None, mode: str) -> LabelledResult:
    paths = [*(f"other{place}.md" for place in range(1, rank)), "a.md"] if rank else ["other.md"]
    case = make_case(f"q{number:03}", group=group)
    return make_labelled(case, make_result(case.id, *make_chunks(*paths), mode=mode))
