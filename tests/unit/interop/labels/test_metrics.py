"""The 16 label-based metrics against values worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from label_builders import flags
from raggate.models.judging import LABELS, Task
from raggate_interop.labels import metrics
from raggate_interop.labels.metrics import LABEL_METRICS, answer_value, dcg, retrieval_values
from raggate_interop.labels.models import METRICS
from tables import each_row

D2 = 0.6309297535714574  # 1 / log2(3)
D4 = 0.43067655807339306  # 1 / log2(5)

NAMES = METRICS["retrieval"]
# letters are topically_relevant, evidence_sufficient, misleading; `-` is a chunk nobody judged
# id, chunks, k, then precision, hit, sufficiency rate, misleading rate, reciprocal rank, nDCG
TABLE: list[tuple[str, str, int | None, tuple[float, ...]]] = [
    ("reference", "ynn nnn yyn", None, (2 / 3, 1, 1 / 3, 0, 1, 0.6885288809404666)),
    ("nothing relevant: no ideal", "nnn nny", None, (0, 0, 0, 1 / 2, 0, 0)),
    ("all relevant: any order is ideal", "ynn ynn", None, (1, 0, 0, 0, 1, 1)),
    ("first relevant at 2", "nny yyn", None, (1 / 2, 1, 1 / 2, 1 / 2, 1 / 2, D2)),
    ("sufficient wins although off topic", "nyn", None, (0, 1, 1, 0, 0, 1)),
    ("tie of grades", "ynn ynn nnn", None, (2 / 3, 0, 0, 0, 1, 1)),
    ("short list divides by k", "yyn", 4, (1 / 4, 1, 1 / 4, 0, 1, 1)),
    ("nothing retrieved, k fixed", "", 4, (0, 0, 0, 0, 0, 0)),
    ("cut at k", "nny nnn nnn yyn", 3, (0, 0, 0, 1 / 3, 0, 0)),
    ("cut before a better one", "ynn nnn nnn yyn", 3, (1 / 3, 0, 0, 0, 1, 1)),
    ("unjudged keeps its rank", "- ynn", 2, (1 / 2, 0, 0, 0, 1 / 2, D2)),
    ("unjudged only", "- -", 2, (0, 0, 0, 0, 0, 0)),
    ("k = 1", "yyy nnn", 1, (1, 1, 1, 1, 1, 1)),
]


def ranked(chunks: str) -> list[dict[str, bool] | None]:
    """Read a list of chunks from letters."""
    return [None if letters == "-" else flags("retrieval", letters) for letters in chunks.split()]


@each_row(("chunks", "k", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_retrieval(chunks: str, k: int | None, expected: Sequence[float]) -> None:
    """Each retrieval metric has the value worked out by hand."""
    assert retrieval_values(ranked(chunks), k) == pytest.approx(dict(zip(NAMES, expected, strict=True)), abs=1e-15)


@each_row("k", [0, -1])
def test_cut_off_out_of_range(k: int) -> None:
    """A cut-off below 1 is refused."""
    with pytest.raises(ValueError, match="at least 1"):
        retrieval_values(ranked("ynn"), k)


def test_ideal_over_all_judged_chunks() -> None:
    """A sufficient chunk that was not retrieved costs nDCG something only when the ideal may choose it."""
    values = ranked("ynn")
    judged = [flags("retrieval", letters) for letters in ("ynn", "yyn")]
    assert retrieval_values(values, 2)["ndcg_at_k"] == 1.0
    # the ideal is 3 at rank 1 and 1 at rank 2
    assert retrieval_values(values, 2, ideal=judged)["ndcg_at_k"] == pytest.approx(1 / (3 + D2))
    # with one place to fill, the ideal is the sufficient one alone
    assert retrieval_values(values, 1, ideal=judged)["ndcg_at_k"] == pytest.approx(1 / 3)


def test_reference_numbers() -> None:
    """The gains are 2^w - 1 with w = 1, 0, 2, which gives the published DCG and ideal."""
    assert dcg([1, 0, 2]) == 2.5
    assert dcg([2, 1, 0]) == pytest.approx(3.630930, abs=5e-7)
    assert dcg([0, 0, 0, 1]) == D4


@each_row(
    ("task", "letters", "expected"),
    [
        ("grounding", "ynnnn", (1, 0, 0, 0, None)),
        ("grounding", "nyyyy", (0, 1, 1, 1, 1)),
        ("grounding", "nnnyn", (0, 0, 0, 1, 0)),
        # made up without being cited is a contradiction in the labels; the condition decides
        ("grounding", "nnnny", (0, 0, 0, 0, None)),
        ("generation", "ynynn", (1, 0, 1, 0, 0)),
        ("generation", "nynyy", (0, 1, 0, 1, 1)),
    ],
)
def test_answers(task: Task, letters: str, expected: tuple[float | None, ...]) -> None:
    """Each metric of an answer is its label; fabrication applies only where something is cited."""
    values = tuple(answer_value(name, flags(task, letters)) for name in METRICS[task])
    assert values == expected


def test_names_and_directions() -> None:
    """There are 16 metrics with the names of the score reports, and six of them are better when lower."""
    assert list(LABEL_METRICS) == [name for names in METRICS.values() for name in names]
    assert len(LABEL_METRICS) == 16
    assert {
        "misleading_context_rate_at_k",
        "unsupported_claim_rate",
        "contradiction_rate",
        "conditional_fabrication_rate",
        "incompleteness_rate",
        "unsafe_content_rate",
    } == {name for name, metric in LABEL_METRICS.items() if metric.direction == "lower"}
    assert [name for name, metric in metrics.LABEL_METRICS.items() if not metric.binary] == [
        name for name in NAMES if name != "sufficiency_hit_at_k"
    ]
    for metric in LABEL_METRICS.values():
        assert set(metric.labels) <= set(LABELS[metric.task])
