"""Question sets of others: each format by a small file of its own shape, told apart by its keys."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from raggate.base.errors import UsageError
from raggate.cli.golden import FORMATS
from raggate.inputs.authoring import question_sets
from raggate.inputs.authoring.question_sets import READERS, detect, texts
from tables import each_row

CONTEXT = "The Rhine rises in the canton of Grisons."
ASKED = [
    {"id": "s1", "question": "Where?", "answers": [{"text": "Grisons", "answer_start": 33}]},
    {"id": "s2", "question": "Where?", "answers": [], "is_impossible": True},
]
SQUAD = {"version": "v2.0", "data": [{"title": "Rhine", "paragraphs": [{"context": CONTEXT, "qas": ASKED}]}]}
PASSAGE = {"doc_id": "rhine", "char_start": 0, "char_end": 41, "text": CONTEXT}

ANSWER = ("Grisons",)
CHAT = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Where?"}]
PROMPTFOO = """\
tests:
  - vars: {query: 'Where?', context: file://x.md}
    assert:
      - {type: contains, value: Grisons}
      - {type: javascript, value: output.length}
      - {type: not-contains, value: Basel}
  - vars: {lake: 'Where?'}
"""
ASSERTED = "question,__expected,__expected2,__expected3\nWhere?,Grisons,similar(0.8): in Grisons,python: x\n"
RAGAS = 'user_input,reference_contexts,reference,synthesizer_name\nWhere?,"[\'one\', ""it\'s two""]",Grisons,x\n'
SQUAD_LINE = {"question": "Where?", "context": CONTEXT, "answers": {"text": ["Grisons"], "answer_start": [33]}}

FILES: list[tuple[str, str, Any, tuple[str, ...], tuple[str, ...]]] = [
    ("csv", "a.csv", "Question,Answer\nWhere?,Grisons\n", ANSWER, ()),
    ("csv", "a.csv", "question;context\nWhere?;a, b\n", (), ("a, b",)),
    ("csv", "a.tsv", "query\tanswer\nWhere?\tGrisons\n", ANSWER, ()),
    ("csv", "a.jsonl", '{"question": "Where?", "answer": "Grisons"}\n\n', ANSWER, ()),
    ("csv", "a.csv", RAGAS, ANSWER, ("one", "it's two")),
    ("csv", "a.json", [{"user_input": "Where?", "reference_contexts": [CONTEXT], "contexts": ["x"]}], (), (CONTEXT,)),
    # beside an expected answer, the answer is what the service said
    ("csv", "a.json", [{"question": "Where?", "ground_truth": "Grisons", "answer": "y"}], ANSWER, ()),
    ("csv", "a.json", [{"input": "Where?", "expected_output": "Grisons", "context": [CONTEXT]}], ANSWER, (CONTEXT,)),
    ("csv", "a.jsonl", {"input": CHAT, "target": ["Grisons", "Graubünden"], "id": 7}, ("Grisons", "Graubünden"), ()),
    ("csv", "a.jsonl", {"id": "q1", "question": "Where?", "required_passages": [PASSAGE]}, (), (CONTEXT,)),
    ("promptfoo", "a.yaml", PROMPTFOO, ANSWER, ()),
    ("promptfoo", "a.csv", ASSERTED, ("Grisons", "in Grisons"), ()),
    ("squad", "a.json", SQUAD, ANSWER, (CONTEXT,)),
    ("squad", "a.jsonl", SQUAD_LINE, ANSWER, (CONTEXT,)),
]


@pytest.mark.parametrize(("form", "file", "content", "answers", "contexts"), FILES)
def test_formats(
    form: str, file: str, content: Any, answers: tuple[str, ...], contexts: tuple[str, ...], tmp_path: Path
) -> None:
    """A file is told by its keys, and read as question, answers and contexts."""
    path = tmp_path / file
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    assert detect(path) == form
    first, *others = READERS[form](path)
    assert (first.question, first.answers, first.contexts) == ("Where?", answers, contexts)
    rest = [(other.question, other.answers, other.impossible) for other in others]
    assert set(rest) <= {("Where?", (), form == "squad")}


def test_the_command_knows_every_format() -> None:
    """Flag, readers, which are loaded only where one is used, and page name the same formats."""
    assert tuple(READERS) == FORMATS
    page = (Path(__file__).parents[4] / "docs" / "golden-set.md").read_text(encoding="utf-8")
    table = page.partition("## Import questions")[2].partition("\n## ")[0]
    assert tuple(re.findall(r"^\| `([a-z][a-z-]*)` \|", table, re.MULTILINE)) == (*FORMATS, "beir")


@each_row(
    "name, content, message",
    [
        ("a.csv", b"name,colour\nx,y\n", "cannot tell the format by the keys colour, name"),
        ("a.csv", b"question,answer\nWh\xff?,x\n", "a.csv:2: not UTF-8"),
        ("a.csv", b"question,answer\na,b,c\n", "a.csv:2: 3 fields, but the header has 2 columns"),
        ("a.csv", b"question,answer\n<<<<<<< ours,x\n", "merge-conflict"),
        ("a.jsonl", b'{"question": "a", "answer": "b"}\n[1]\n', "a.jsonl:2: expected an object"),
        ("a.json", b'{"x": 1}', "expected a list of records"),
        ("a.yaml", b"tests: &a [*a]\n", "a.yaml"),
        ("a.yaml", b"tests: [!!python/object/apply:os.system [ls]]\n", "unexpected tag"),
        ("a.txt", b"x", "expected a file .csv"),
        ("a.csv", b"question,answer\n ,x\n", "a.csv:2: no question"),
        ("a.csv", b"question,answer\nx," + b"y" * 1_000_001, "A field has at most"),
    ],
)
def test_what_cannot_be_read(name: str, content: bytes, message: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A file that cannot be read is refused with its place and what was expected."""
    path = tmp_path_factory.mktemp("file") / name
    path.write_bytes(content)
    with pytest.raises(UsageError) as refused:
        list(READERS[detect(path)](path))
    assert message in f"{refused.value.message} {refused.value.hint}"


def test_a_file_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file beyond the bounds in bytes or records is refused, the larger one unread."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"question": "a", "answer": "b"}\n' * 3)
    monkeypatch.setattr(question_sets, "MAX_RECORDS", 2)
    with pytest.raises(UsageError, match="more than 2 records"):
        question_sets.records(path)
    monkeypatch.setattr(question_sets, "MAX_BYTES", 50)
    with pytest.raises(UsageError, match="larger than 50 bytes"):
        question_sets.records(path)


@each_row(
    "cell, wanted",
    [
        ('["a", "b"]', ["a", "b"]),
        ("['a', \"it's b\"]", ["a", "it's b"]),
        ("['a\\'s', 'b\\n']", ["a's", "b\n"]),
        ("[a note in brackets]", ["[a note in brackets]"]),
        ("['a' + open('x')]", ["['a' + open('x')]"]),
        ("[]", []),
        (["a", {"text": "b"}, {"other": "c"}, 7, ["d"]], ["a", "b"]),
    ],
)
def test_texts_of_a_cell(cell: object, wanted: list[str]) -> None:
    """A cell is one text, or a list as JSON, Python or numpy writes it; nothing in it is run."""
    assert [*texts(cell)] == wanted


def test_a_cell_that_is_made_to_take_long() -> None:
    """Blanks and quotes without end are read in time that is linear in them."""
    for cell in ("['a'" + "\n" * 300_000 + "x]", "['" + "\\" * 300_001 + "]", "[" + "'a' " * 100_000 + "x]"):
        assert [*texts(cell)] == [cell]
