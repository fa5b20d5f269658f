"""Document metrics of one case: the list of chunks as the list of the documents they are from, first kept."""

from __future__ import annotations

import re
from collections.abc import Sequence

from raggate.models.golden import Case
from raggate.models.run import Chunk, LabelledResult, Result
from raggate.scoring.metrics.ranking import chunks_of, labelled, once

Document = tuple[str | None, str]
"""A document: its vault, None where the API does not tell, and its id or path."""

MAX_TYPES = 20
"""Types of documents that are told apart; ids that only look like file names could be of any number."""

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
    return sum(_relevant_documents(item)[:k]) / k


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
    documents = _documents(item)[:k]
    return len(set(documents)) / len(documents) if documents else None


@once
def _documents(item: LabelledResult) -> list[Document]:
    """Give the document of each chunk."""
    return [document_of(chunk) for chunk in chunks_of(item)]


@once
def _relevant_documents(item: LabelledResult) -> list[bool]:
    """Say of each document, first kept, whether the case names it."""
    chunks, documents = chunks_of(item), _documents(item)
    relevant = {
        document
        for document, chunk, supports in zip(documents, chunks, item.labels.matches, strict=True)
        if supports or _is_named(chunk, item.case)
    }
    return [document in relevant for document in dict.fromkeys(documents)]


def coverage_by_document_type(results: Sequence[Result]) -> dict[str, dict[str, int]]:
    """Count, over a whole run, the distinct documents and the chunks that came back of each type.

    Returns:
        Per file extension, in lower case, `documents` and `chunks`; `unknown` are those whose id does not end in one,
        `other` those of types beyond the `MAX_TYPES` that most documents are of.
    """
    chunks: dict[str, int] = {}
    documents: dict[str, set[Document]] = {}
    for result in results:
        for chunk in result.response.chunks if result.response else ():
            document = document_of(chunk)
            extension = _EXTENSION.search(document[1])
            kind = extension[1].lower() if extension else "unknown"
            chunks[kind] = chunks.get(kind, 0) + 1
            documents.setdefault(kind, set()).add(document)
    types = sorted(chunks.keys() - {"unknown"}, key=lambda kind: (-len(documents[kind]), kind))
    counts: dict[str, dict[str, int]] = {}
    for kind in sorted(chunks):
        entry = counts.setdefault("other" if kind in types[MAX_TYPES:] else kind, {"documents": 0, "chunks": 0})
        entry["documents"] += len(documents[kind])
        entry["chunks"] += chunks[kind]
    return dict(sorted(counts.items()))


def document_of(chunk: Chunk) -> Document:
    """Give the document of a chunk."""
    return chunk.vault, chunk.rel_path if chunk.doc_id is None else chunk.doc_id


def _is_named(chunk: Chunk, case: Case) -> bool:
    for support in case.gold_supports:
        if support.doc_id is not None:
            if support.doc_id == document_of(chunk)[1]:
                return True
        elif support.rel_path and support.rel_path == chunk.rel_path:
            allowed = (support.vault,) if support.vault else case.vaults
            if chunk.vault is None or not allowed or chunk.vault in allowed:
                return True
    return False
