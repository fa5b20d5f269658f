"""A BEIR folder as a file of questions for `raggate golden import`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from raggate.base.errors import UsageError
from raggate.inputs.authoring import question_sets
from raggate.inputs.authoring.question_sets import Question, detect

CONTEXT = "The Rhine rises in the canton of Grisons."


def test_a_beir_folder(tmp_path: Path) -> None:
    """A query has the texts of its relevant documents, any of which answers it, with their grades."""
    corpus = [{"_id": "d1", "title": "", "text": CONTEXT}, {"_id": "d2", "title": "", "text": "other"}]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in corpus))
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "Where?"}\n')
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n")
    assert detect(tmp_path) == "beir"
    [question] = question_sets.read(tmp_path, "beir")
    assert question == Question(
        place=f"{tmp_path / 'queries.jsonl'}: query q1",
        question="Where?",
        contexts=(CONTEXT,),
        grades=(2,),
        documents=("d1",),
        needed="any",
        id="q1",
    )


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    """A folder that no format recognises is refused with the formats that are folders."""
    with pytest.raises(UsageError, match="expected a file, or a folder of the format beir"):
        detect(tmp_path)
