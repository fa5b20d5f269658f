"""Document metrics: a list of chunks as a list of documents."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from builders import make_case, make_chunk, make_failure, make_labelled, make_result, make_support
from raggate.models.golden import Support
from raggate.models.run import Chunk, LabelledResult, Result
from raggate.scoring.metrics import documents
from raggate.scoring.metrics.documents import context_chars
from tables import each_row


def ranked(*chunks: Chunk, supports: tuple[Support, ...] | None = None) -> LabelledResult:
    """Label a list of chunks; `# A` of a.md is gold unless given."""
    case = make_case() if supports is None else make_case(gold_supports=supports)
    return make_labelled(case, make_result("q1", *chunks))


def types_of(results: Iterable[Result]) -> dict[str, dict[str, int]]:
    """Count the types of what came back."""
    types = documents.DocumentTypes()
    for result in results:
        if result.response is not None:
            types.add(result.response)
    return types.counts()


def chunk(number: int, rel_path: str, **fields: str) -> Chunk:
    """Build a chunk with an id of its own."""
    return make_chunk(f"c{number}", rel_path=rel_path, **fields)


LIST = (chunk(1, "b.md"), chunk(2, "b.md"), chunk(3, "a.md", heading_path="# Other"), chunk(4, "c.md"))


@each_row(
    ("k", "precision", "duplicates"),
    [(1, 0.0, 0.0), (2, 0.5, 0.5), (3, 1 / 3, 1 / 3), (4, 0.25, 0.25), (10, 0.1, 0.25)],
)
def test_values_at_k(k: int, precision: float, duplicates: float) -> None:
    """Precision counts distinct documents and divides by k; duplicates count the chunks that are there."""
    item = ranked(*LIST)
    assert documents.document_precision(item, k) == pytest.approx(precision)
    assert documents.duplicate_doc_rate(item, k) == pytest.approx(duplicates)
    assert documents.diversity_rate(item, k) == pytest.approx(1 - duplicates)


def test_a_document_is_named_by_id_path_and_vault() -> None:
    """The id of a document counts before its path, a chunk's id names its document, and another vault is another."""
    by_id = (Support(rel_path="", doc_id="d1"),)
    assert documents.document_precision(ranked(chunk(1, "x.md", doc_id="d1"), supports=by_id), 1) == 1
    assert documents.document_precision(ranked(chunk(1, "d1"), supports=by_id), 1) == 1
    by_chunk = (Support(rel_path="", chunk_id="c2"),)
    assert documents.document_precision(ranked(chunk(1, "x.md"), chunk(2, "x.md"), supports=by_chunk), 1) == 1
    in_work = (make_support("a.md", vault="work"),)
    assert documents.document_precision(ranked(chunk(1, "a.md", vault="personal"), supports=in_work), 1) == 0
    two = ranked(chunk(1, "a.md", vault="personal"), chunk(2, "a.md", vault="work"))
    assert documents.duplicate_doc_rate(two, 5) == 0


def test_null_and_failed() -> None:
    """An empty list and a failed call have no duplicates to count; precision is then 0, and null if unanswerable."""
    failed = make_labelled(make_case(), make_result(failure=make_failure()))
    for item in (ranked(), failed):
        assert documents.document_precision(item, 5) == 0
        assert documents.duplicate_doc_rate(item, 5) is None
        assert documents.diversity_rate(item, 5) is None
    assert documents.document_precision(make_labelled(make_case(answerable=False)), 5) is None


def test_coverage_by_type() -> None:
    """Documents count once over a run, chunks each time; a hidden file and one without extension are unknown."""
    results = [
        make_result("q1", chunk(1, "n/A.MD"), chunk(2, "n/A.MD"), chunk(3, ".md")),
        make_result("q2", chunk(1, "n/A.MD"), chunk(4, "d.x/file"), chunk(5, "b.pdf")),
        make_result("q3", failure=make_failure()),
    ]
    assert types_of(results) == {
        "md": {"documents": 1, "chunks": 3},
        "pdf": {"documents": 1, "chunks": 1},
        "unknown": {"documents": 2, "chunks": 2},
    }


@each_row(
    ("doc_id", "kind"),
    [
        ("n/a.md", "md"),
        ("talk.mp3", "mp3"),
        ("10.1000.182", "unknown"),
        ("doc.9f3c21", "unknown"),
        ("See Smith et al. 2004", "unknown"),
        ("note.héé", "unknown"),
    ],
)
def test_only_extensions_of_files_are_types(doc_id: str, kind: str) -> None:
    """A type is up to eight letters and digits behind the last dot of the last part, else unknown."""
    coverage = types_of([make_result("q1", chunk(1, "x.md", doc_id=doc_id))])
    assert coverage == {kind: {"documents": 1, "chunks": 1}}


@given(st.lists(st.from_regex(r"d[0-9]{1,3}\.[a-z][a-z0-9]{0,7}", fullmatch=True), max_size=60))
def test_types_are_bounded(ids: list[str]) -> None:
    """However ids look there are at most 20 types, `unknown` and `other`, the most frequent kept, nothing uncounted."""
    coverage = types_of([make_result("q1", *(chunk(n, i) for n, i in enumerate(ids)))])
    assert len(coverage) <= documents.MAX_TYPES + 2
    assert sum(counts["chunks"] for counts in coverage.values()) == len(ids)
    assert sum(counts["documents"] for counts in coverage.values()) == len(set(ids))


def texts(*texts: str, truncated: bool = False, lengths: tuple[int, ...] = ()) -> LabelledResult:
    """Label a list of chunks with these texts."""
    item = make_labelled(
        make_case(), make_result("q1", *(make_chunk(f"c{at}", text=it) for at, it in enumerate(texts)))
    )
    return replace(item, labels=replace(item.labels, truncated=truncated, lengths=lengths))


@each_row(
    ("labelled", "k", "value"),
    [
        pytest.param(texts("four", "fünf!", "six"), 2, 9.0, id="two of three"),
        pytest.param(texts("four", ""), 5, 4.0, id="a short list"),
        pytest.param(texts(), 5, 0.0, id="an empty list brings nothing"),
        pytest.param(texts("", ""), 5, None, id="an API that returns no texts"),
        pytest.param(texts("cut...", "cut...", truncated=True, lengths=(900, 80)), 2, 980.0, id="texts that were cut"),
        pytest.param(texts("cut...", truncated=True), 5, None, id="cut texts of unknown length"),
        pytest.param(make_labelled(make_case(), make_result("q1", failure=make_failure())), 5, None, id="failed call"),
    ],
)
def test_context_chars(labelled: LabelledResult, k: int, value: float | None) -> None:
    """The context is the characters of the whole texts of the first k chunks."""
    assert context_chars(labelled, k) == value
