"""Retrieval labels of pragmata: one judgment per chunk in, golden cases with graded chunks out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from raggate.inputs.golden import complete
from raggate.labels.models import RetrievalJudgment
from raggate.models.golden import Case, Support
from raggate.text.anchors import fold
from raggate_interop.golden_rows import Note, note
from raggate_interop.labels.metrics import grade
from raggate_interop.pragmata.records import CanonicalRecord

MISLEADING = "misleading"


def to_cases(
    judgments: Iterable[RetrievalJudgment], records: Sequence[CanonicalRecord]
) -> tuple[tuple[Case, ...], tuple[Note, ...]]:
    """Make a case of each judged query. Its id is the record's; one without a relevant chunk is one to abstain from.

    Args:
        records: the canonical records, for document ids and languages; found by the text of the query.

    Returns:
        The cases in the order of the file, and what was dropped.
    """
    by_record: dict[str, list[RetrievalJudgment]] = {}
    for judgment in judgments:
        by_record.setdefault(judgment.record, []).append(judgment)
    # a query may stand in several records, of other answers or other chunks
    by_query: dict[str, list[CanonicalRecord]] = {}
    for record in records:
        by_query.setdefault(fold(record.query), []).append(record)
    cases, notes = [], []
    for name, rows in by_record.items():
        about = by_query.get(fold(rows[0].query), [])
        documents = {chunk: document for record in about for chunk, document in record.documents.items()}
        languages = dict.fromkeys(record.language for record in about if record.language)
        grades = {judgment.chunk_id: grade(judgment.labels) for judgment in rows}
        relevant = {chunk: value for chunk, value in grades.items() if value > 0}
        case = Case(
            id=name,
            question=rows[0].query,
            answerable=bool(relevant),
            gold_supports=tuple(Support(rel_path="", chunk_id=chunk, grade=value) for chunk, value in relevant.items()),
            expected_chunk_ids=tuple(relevant),
            expected_doc_ids=tuple(dict.fromkeys(documents[chunk] for chunk in relevant if chunk in documents)),
            lang=next(iter(languages), None),
        )
        cases.append(complete(case))
        notes += _dropped(case, rows, grades)
        if records and not about:
            notes.append(note(name, "doc_id", "dropped", "no record has this query, so its documents are not known"))
    return tuple(cases), tuple(notes)


def _dropped(case: Case, rows: Sequence[RetrievalJudgment], grades: Mapping[str, int]) -> list[Note]:
    zero = sum(value == 0 for value in grades.values())
    misleading = sum(judgment.labels.get(MISLEADING, False) for judgment in rows)
    notes = []
    if zero:
        notes.append(note(case.id, "labels", "dropped", f"{zero} chunks judged not relevant"))
    if misleading:
        notes.append(note(case.id, MISLEADING, "dropped", f"{misleading} chunks"))
    if not case.answerable:
        notes.append(note(case.id, "answerable", "changed", "no chunk is relevant, so it became one to abstain from"))
    return notes
