"""Document metrics of one case: the list of chunks as the list of its documents, and how much text it is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from operator import attrgetter

from raggate.models.golden import Case
from raggate.models.run import Chunk, LabelledResult, Response
from raggate.scoring.metrics.ranking import labelled, once

Document = tuple[str | None, str]
"""A document: its vault, None where the API does not tell, and its id or path."""

MAX_TYPES = 20
"""Types of documents that are counted apart."""

UNKNOWN = "unknown"
"""The type of documents that have none."""

_PLACE = attrgetter("vault", "doc_id", "rel_path")
_EXTENSION = re.compile(r"[^/]\.([A-Za-z][A-Za-z0-9]{0,7})\Z")


def document_precision(item: LabelledResult, k: int) -> float | None:
    """Share of the first k documents that a gold support names, whatever the section. A short list is divided by k.

    Formula: documents of gold supports among the first k distinct documents / k.
    Null: unanswerable cases. A failed call is 0.
    Also: P@k (TREC, of documents).
    Source: TREC P@k at the level of documents, with documents deduplicated first.
    """
    if not labelled(item.case):
        return None
    return sum(relevant_documents(item)[:k]) / k


def duplicate_doc_rate(item: LabelledResult, k: int) -> float | None:
    """Share of the first k chunks whose document already appeared higher up.

    Formula: chunks among the first k that are not the first of their document / chunks among the first k.
    Null: empty lists and failed calls.
    Also: duplicate_doc_rate (substrate).
    Source: substrate's duplicate-document rate.
    """
    diversity = diversity_rate(item, k)
    return None if diversity is None else 1 - diversity


def diversity_rate(item: LabelledResult, k: int) -> float | None:
    """Share of the first k chunks whose document did not appear higher up.

    Formula: distinct documents among the first k chunks / chunks among the first k.
    Null: empty lists and failed calls.
    Also: diversity_rate (substrate).
    Source: substrate's diversity rate; the inverse of duplicate_doc_rate.
    """
    documents = documents_of(item)[:k]
    return len(set(documents)) / len(documents) if documents else None


@once
def documents_of(item: LabelledResult) -> list[Document]:
    """Return the document of each chunk."""
    return [document_of(chunk) for chunk in item.result.chunks]


@once
def relevant_documents(item: LabelledResult) -> tuple[bool, ...]:
    """For each document, first kept: whether the case names it."""
    chunks, documents = item.result.chunks, documents_of(item)
    relevant = {
        document
        for document, chunk, supports in zip(documents, chunks, item.labels.matches, strict=True)
        if supports or _is_named(chunk, item.case)
    }
    return tuple([document in relevant for document in dict.fromkeys(documents)])


class DocumentTypes:
    """Counts, over a whole run, the distinct documents and the chunks that came back of each type."""

    def __init__(self) -> None:
        self._chunks: Counter[tuple[str | None, str | None, str]] = Counter()

    def add(self, response: Response) -> None:
        """Count one more answer."""
        self._chunks.update(map(_PLACE, response.chunks))

    def counts(self) -> dict[str, dict[str, int]]:
        """Return `documents` and `chunks` per file extension, with `unknown` and, beyond `MAX_TYPES`, `other`."""
        chunks: Counter[str] = Counter()
        documents: dict[str, set[Document]] = {}
        for (vault, doc_id, path), times in self._chunks.items():
            name = path if doc_id is None else doc_id
            extension = _EXTENSION.search(name)
            kind = extension[1].lower() if extension else UNKNOWN
            chunks[kind] += times
            documents.setdefault(kind, set()).add((vault, name))
        types = sorted(chunks.keys() - {UNKNOWN}, key=lambda kind: (-len(documents[kind]), kind))
        counts: dict[str, dict[str, int]] = {}
        for kind in sorted(chunks):
            entry = counts.setdefault("other" if kind in types[MAX_TYPES:] else kind, {"documents": 0, "chunks": 0})
            entry["documents"] += len(documents[kind])
            entry["chunks"] += chunks[kind]
        return dict(sorted(counts.items()))


def document_of(chunk: Chunk) -> Document:
    """Return the document of a chunk."""
    return chunk.vault, chunk.document


def _is_named(chunk: Chunk, case: Case) -> bool:
    for support in case.gold_supports:
        if support.doc_id is not None:
            if support.doc_id == chunk.document:
                return True
        elif support.rel_path and support.rel_path == chunk.rel_path and case.may_be_in(chunk.vault, support):
            return True
    return False


def context_chars(item: LabelledResult, k: int) -> float | None:
    """Characters of the texts of the first k chunks. Fewer are cheaper, and no better by themselves.

    Formula: sum of the characters of the texts of the first k chunks.
    Null: lists without any text, lists that were stored with cut texts only, and failed calls.
    Also: nobody else.
    Source: raggate.
    """
    lengths = lengths_of(item)
    return None if lengths is None else float(sum(lengths[:k]))


@once
def lengths_of(item: LabelledResult) -> Sequence[int] | None:
    """Return the characters of each chunk's whole text; None where they are not known."""
    response, labels = item.result.response, item.labels
    if response is None or (labels.truncated and not labels.lengths):
        return None
    lengths = labels.lengths or [len(chunk.text) for chunk in response.chunks]
    return None if lengths and not any(lengths) else lengths
