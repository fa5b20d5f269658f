"""Labels that judges gave -> the label files that `raggate labels` reads: a row for each judge and answer, or passage.

A model of a panel is an annotator of its own, so that `raggate labels agreement` tells how far the models agree.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from raggate.base.quote import cut
from raggate.judges.prompts import material_of
from raggate.models.judging import LABELS, Judgement, Task
from raggate.models.run import LabelledResult

_SHOWN = 1000
_TEXTS: dict[Task, tuple[str, ...]] = {
    "retrieval": ("query", "chunk", "chunk_id", "chunk_rank"),
    "grounding": ("answer", "context_set"),
    "generation": ("query", "answer"),
}

NAMES = tuple(f"{task}.csv" for task in _TEXTS)
"""All label files that there can be; others beside them are people's."""


def label_files(items: Sequence[LabelledResult]) -> dict[str, bytes]:
    """Return the files by name, such as `grounding.csv`; only those that have a row.

    A record is a question in a mode, as `<case> <mode>`; an answer without any label of a judge has no row.
    """
    files = {}
    for task, texts in _TEXTS.items():
        rows = [row for item in items if item.result.repeat == 1 for row in _rows(task, item)]
        if rows:
            stream = io.StringIO(newline="")
            header = ("record_uuid", "annotator_id", *texts, *LABELS[task])
            csv.writer(stream, lineterminator="\n").writerows([header, *rows])
            files[f"{task}.csv"] = stream.getvalue().encode()
    return files


def _rows(task: Task, item: LabelledResult) -> Iterator[list[str]]:
    by_label = {judgement.score: judgement for judgement in item.judgements}
    given = [by_label[label] for label in LABELS[task] if label in by_label]
    if len(given) < len(LABELS[task]):
        return
    # of one judge alone, the judgement is the vote
    for votes in zip(*(judgement.votes or (judgement,) for judgement in given), strict=False):
        if any(vote.value is None for vote in votes):
            continue
        for texts, labels in _of_passages(item, votes) if task == "retrieval" else [_of_answer(item, votes)]:
            record = f"{item.case.id} {item.result.mode}"
            yield [record, votes[0].judge, *(texts[name] for name in _TEXTS[task]), *map(str, labels)]


def _of_answer(item: LabelledResult, votes: Sequence[Judgement]) -> tuple[dict[str, str], list[bool]]:
    material = material_of(item)
    sources = "; ".join(passage.source or f"passage {passage.number}" for passage in material.passages)
    texts = {"query": material.question, "answer": material.answer, "context_set": sources or "nothing was retrieved"}
    return {name: _cell(text) for name, text in texts.items()}, [bool(vote.value) for vote in votes]


def _of_passages(item: LabelledResult, votes: Sequence[Judgement]) -> Iterator[tuple[dict[str, str], list[bool]]]:
    """Yield texts and labels of each chunk. One that stands higher up already has no rank of its own."""
    chunks = item.result.chunks
    distinct = [place for place in range(len(chunks)) if place not in item.labels.duplicates]
    for rank, place in enumerate(distinct, 1):
        texts = {
            "query": _cell(item.case.question),
            "chunk": _cell(chunks[place].text) or "no text",
            "chunk_id": _no_formula(chunks[place].chunk_id) if chunks[place].chunk_id.strip() else f"chunk {rank}",
            "chunk_rank": str(rank),
        }
        yield texts, [place + 1 in vote.passages for vote in votes]


def _cell(text: str) -> str:
    """Write a text that people look at: its beginning, and nothing that a spreadsheet would take for a formula."""
    return _no_formula(cut(text, limit=_SHOWN))


def _no_formula(text: str) -> str:
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
