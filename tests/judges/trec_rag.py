"""The human citation-support judgements of TREC RAG 2024, out of the archive of a package that holds them.

Assessors read a sentence of an answer and the passage it cites, without a model's prediction in view, and said whether
the passage supports it: 2 in full, 1 in part, 0 not at all. The passages carry terms of their own: they are read where
they are, and nothing of them is kept in the repository.
"""

from __future__ import annotations

import gzip
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

ARCHIVE = Path(__file__).parents[2] / ".venv" / "trec-rag" / "ir_axioms-1.2.5.tar.gz"
"""Where `make judges` puts it."""

POINTS = {"2": 5, "1": 3, "0": 0}
"""Full support, some and none, on the scale of groundedness."""

_SUPPORT = "final.citation_judgments_without_prediction.20241025.jsonl"
_PASSAGES = "crowd/study1_retrieval.jsonl.gz"
_TOPICS = "topics.rag24.test.txt"


def canary_lines(archive: Path, each: int, longest: int, seed: int = 0) -> list[dict[str, Any]]:
    """Return a canary set: so many judgements of each degree of support, drawn by a seed, each with its passage.

    Args:
        archive: where they are.
        each: how many.
        longest: characters that a passage may have, at most.
        seed: of the draw.
    """
    by_degree: dict[int, list[dict[str, Any]]] = {}
    for case in judgements(archive):
        if len(case["passages"][0]["text"]) <= longest:
            by_degree.setdefault(case["value"], []).append(case)
    draw = Random(seed)  # noqa: S311 - a sample, not cryptography
    return [case for degree in sorted(by_degree) for case in draw.sample(by_degree[degree], each)]


def relevancy_lines(archive: Path, each: int, longest: int, seed: int = 0) -> list[dict[str, Any]]:
    """Return a canary set of context relevancy: does the passage help to say whether the sentence is true?

    It does where people found that it supports the sentence in full, and does not where they found no support; what it
    supports in part is left out.
    """
    lines = []
    for case in canary_lines(archive, each, longest, seed):
        if case["value"] != POINTS["1"]:
            sentence = case["answer"].removesuffix(" [1]")
            asked = {"question": f"Is this true: {sentence}", "answer": "", "references": []}
            value = 1 if case["value"] == POINTS["2"] else 0
            lines.append({**case, **asked, "score": "context_relevancy", "value": value})
    return lines


def judgements(archive: Path) -> Iterator[dict[str, Any]]:
    """Yield every judgement whose passage has its text, as a line of a canary set."""
    data = _read(archive)
    topics = dict(line.split("\t", 1) for line in data[_TOPICS].decode().splitlines())
    texts: dict[str, str] = {}
    for line in gzip.decompress(data[_PASSAGES]).splitlines():
        row = json.loads(line)
        texts.update(zip(row["references_ids"], row["references_texts"], strict=True))
    for line in data[_SUPPORT].splitlines():
        row = json.loads(line)
        for sentence in row["sentences"]:
            for citation in sentence["citations"]:
                reference, support = citation["reference"], citation["support"]
                if reference in texts and support in POINTS:
                    yield {
                        "id": f"{row['run_id']} {row['topic_id']} {sentence['sentenceID']} {citation['citationID']}",
                        "score": "groundedness",
                        "question": topics[row["topic_id"]],
                        "answer": f"{sentence['text']} [1]",
                        "passages": [{"source": reference, "text": texts[reference]}],
                        "references": [reference],
                        "value": POINTS[support],
                        "by": "an assessor of TREC RAG 2024",
                    }


def _read(archive: Path) -> dict[str, bytes]:
    wanted = {_SUPPORT, _PASSAGES, _TOPICS}
    data = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            name = member.name.partition("/data/")[2]
            if name in wanted and (stream := tar.extractfile(member)) is not None:
                data[name] = stream.read()
    return data
