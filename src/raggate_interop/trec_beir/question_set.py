"""A BEIR folder -> questions: each query with the texts of its relevant documents. Any of them answers it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from raggate.inputs.authoring.question_sets import Question
from raggate_interop.trec_beir import beir


def read(path: Path, split: str = "test") -> Iterator[Question]:
    """Read the judged queries of a split."""
    queries, qrels = beir.read_queries(path), beir.read_qrels(path, split)
    wanted = {name for grades in qrels.values() for name, grade in grades.items() if grade > 0}
    corpus = {name: text for name, text in beir.iter_corpus(path) if name in wanted}
    for name, grades in qrels.items():
        if not queries.get(name, "").strip():
            continue
        relevant = [(doc, grade) for doc, grade in grades.items() if grade > 0 and corpus.get(doc, "").strip()]
        yield Question(
            place=f"{path / beir.QUERIES}: query {name}",
            question=queries[name].strip(),
            contexts=tuple(corpus[doc] for doc, _ in relevant),
            grades=tuple(grade for _, grade in relevant),
            documents=tuple(doc for doc, _ in relevant),
            needed="any",
            id=name,
        )


def recognises(path: Path) -> bool:
    """Return whether a path is such a folder."""
    return (path / beir.QUERIES).is_file()
