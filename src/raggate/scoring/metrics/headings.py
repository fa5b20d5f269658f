"""Heading metrics of one case: how much of the list is headings without text, and how much headings decide its order.

`heading_dominance_rate` in `retrieval` is substrate's specification; two of its programs measure something
else under the same name, which have names of their own here.
"""

from __future__ import annotations

from collections.abc import Hashable

from raggate.models.run import Chunk, LabelledResult
from raggate.scoring.metrics.documents import Document, document_of, documents_of, relevant_documents
from raggate.scoring.metrics.ranking import labelled, once

LEXICAL_SHARE = 0.7
"""From this share of the final score on, the lexical score decides a chunk's place."""


def heading_only_hit(item: LabelledResult, k: int) -> float | None:
    """Share of the first k chunks that are a heading without any text below it.

    Formula: chunks among the first k whose text is empty but for their heading / chunks among the first k.
    Null: empty lists, lists without any text, and failed calls.
    Also: heading_only_hit_rate (substrate).
    Source: substrate's heading_only_hit_rate.
    """
    chunks = _bodiless_chunks(item)[:k]
    return sum(bodiless for _, bodiless in chunks) / len(chunks) if chunks else None


def lexical_dominance(item: LabelledResult, k: int) -> float | None:
    """Share of the first k chunks whose final score is mostly their lexical score, which headings are rich in.

    Formula: chunks among the first k with score_lexical / score_final >= 0.7 / chunks among the first k that tell both;
        with a final score of 0 or less a chunk is not dominated.
    Null: lists in which no chunk has both scores, and failed calls.
    Also: heading_dominance_rate (substrate's build_metrics).
    Source: heading_dominance_rate as substrate's build_metrics has it, for one query.
    """
    known = [lexical for chunk in item.result.chunks[:k] if (lexical := _is_lexical(chunk)) is not None]
    return sum(known) / len(known) if known else None


def heading_first(item: LabelledResult, k: int) -> float | None:
    """Share, among documents with several chunks in the first k, whose highest chunk is a heading without text.

    Formula: documents with two or more of the first k chunks, the first of them with no text but its heading /
        documents with two or more of the first k chunks.
    Null: lists in which no document has several chunks, lists without any text, and failed calls.
    Also: heading_dominance_rate (substrate's heading_bias).
    Source: heading_dominance_rate as substrate's heading_bias has it.
    """
    documents: dict[Document, list[bool]] = {}
    for chunk, bodiless in _bodiless_chunks(item)[:k]:
        documents.setdefault(document_of(chunk), []).append(bodiless)
    several = [chunks for chunks in documents.values() if len(chunks) > 1]
    return sum(chunks[0] for chunks in several) / len(several) if several else None


def list_of(item: LabelledResult) -> Hashable:
    """Return all that a metric of documents and headings sees of a result: few results differ in it."""
    chunks, numbers = item.result.chunks, dict[Document, int]()
    documents = tuple([numbers.setdefault(document, len(numbers)) for document in documents_of(item)])
    lexical = tuple([_is_lexical(chunk) for chunk in chunks])
    relevant = relevant_documents(item) if labelled(item.case) else None
    return documents, relevant, lexical, item.labels.bodiless, any(chunk.text for chunk in chunks)


def _is_lexical(chunk: Chunk) -> bool | None:
    """Return whether the lexical score decides a chunk's place; None where one of the scores is not told."""
    lexical, final = chunk.score_lexical, chunk.score_final
    return None if lexical is None or final is None else final > 0 and lexical / final >= LEXICAL_SHARE


@once
def _bodiless_chunks(item: LabelledResult) -> tuple[tuple[Chunk, bool], ...]:
    """Return the chunks, and whether each is bodiless; none where the API returns no text at all."""
    chunks = item.result.chunks
    return tuple(zip(chunks, item.labels.bodiless, strict=True)) if any(chunk.text for chunk in chunks) else ()
