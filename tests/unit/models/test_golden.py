"""The hash of a case: it covers every key that a metric reads, which is found out by watching the metrics."""

from __future__ import annotations

from functools import partial
from types import MethodType
from typing import Any

from msgspec.structs import fields, replace

from builders import (
    make_case,
    make_chunk,
    make_failure,
    make_response,
    make_result,
    make_support,
)
from raggate.models.golden import SCORED_KEYS, Case, with_hash
from raggate.models.run import Reference
from raggate.scoring import score
from raggate.scoring.metrics import METRICS
from tables import each_row

KEYS = {field.name for field in fields(Case)}


class Watched:
    """A case that notes which of its keys are read."""

    def __init__(self, case: Case, seen: set[str]) -> None:
        """Watch a case; names of keys are added to `seen`."""
        self._case, self._seen = case, seen

    def __getattr__(self, name: str) -> Any:
        """Return the key's value, and note that it was read."""
        if name in KEYS:
            self._seen.add(name)
        value = getattr(self._case, name)
        # what a method of the case reads is read too
        return partial(value.__func__, self) if isinstance(value, MethodType) else value


def read_by_metrics() -> set[str]:
    """Name the keys of a case that labelling or any metric reads, over answers of every kind."""
    seen: set[str] = set()
    supports = (make_support(grade=2), make_support("b.md", snippets=("fact",), vault="work"), make_support("c.md"))
    rich = make_case(
        gold_supports=supports,
        required_support_groups=((0, 1),),
        recency_conflict_rule="cite_newer",
        expected_key_facts=("fact",),
        must_contain=("fact",),
        forbidden=("wrong",),
        vaults=("work",),
        folders=("docs",),
    )
    chunks = (make_chunk(), make_chunk("c2", rel_path="b.md", text="the fact", vault="work"))
    reference = Reference(vault="work", rel_path="a.md", heading_path="# A", chunk_index=0)
    told: dict[str, Any] = {"answer": "the fact [1]", "references": (reference,), "selected_folders": ("docs",)}
    answers: list[dict[str, Any]] = [
        {"response": make_response(*chunks, **told)},
        {"response": make_response(abstained=True, answer="")},
        {"response": make_response(*chunks)},
        {"failure": make_failure()},
    ]
    for case in (rich, make_case(answerable=False), make_case(gold_supports=(make_support("", None, doc_id="a.md"),))):
        for answer in answers:
            watched: Any = Watched(case, seen)
            item = score.label(watched, make_result(case.id, **answer))
            for metric in METRICS.values():
                for k in (1, 5) if metric.ranked else (None,):
                    metric.function(item) if k is None else metric.function(item, k=k)
    return seen


def test_hash_covers_what_metrics_read() -> None:
    """Every key of a case that a metric or its labels depend on is part of the hash, so that none changes unnoticed."""
    # what an API is asked decides what comes back, and is in the hash too; what does not answer moves unjudged_at_k
    # alone, and a judgement more must not part a question from its baseline
    assert read_by_metrics() - {"id", "not_relevant"} <= {*SCORED_KEYS, "gold_supports", "expected_key_facts"}
    assert {"expected_key_facts", "recency_conflict_rule", "must_contain", "vaults"} <= read_by_metrics()


CHANGED: dict[str, Any] = {
    "question": "Another?",
    "answerable": False,
    "gold_supports": (make_support("other.md"),),
    "required_support_groups": ((0,),),
    "recency_conflict_rule": "cite_both",
    "expected_key_facts": ("less",),
    "vaults": ("work",),
    "folders": ("docs",),
    "k": 3,
    "detail": "brief",
    "expected_doc_ids": ("d1",),
    "must_contain": ("x",),
    "forbidden": ("y",),
}


@each_row("key", sorted(CHANGED))
def test_hash_changes_with(key: str) -> None:
    """A case that says something else under a key of the hash has another hash, and so has one that says less."""
    case = make_case(expected_key_facts=("fact", "less"))
    assert with_hash(replace(case, **{key: CHANGED[key]})).hash != case.hash
    assert set(CHANGED) == {*SCORED_KEYS, "gold_supports", "expected_key_facts"}
