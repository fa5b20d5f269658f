"""The shim: a function or retriever of Python becomes a program that answers in lines of JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from raggate.service.functions import SHIM
from tables import each_row

LIBRARIES = """
class Document:  # of LangChain
    def __init__(self, page_content, **metadata):
        self.page_content, self.metadata, self.id = page_content, metadata, None

class HaystackDocument:
    def __init__(self, content, score, **meta):
        self.content, self.score, self.meta, self.embedding = content, score, meta, None

class TextNode:  # of LlamaIndex
    def __init__(self, text, **metadata):
        self.text, self.metadata = text, metadata
    def get_content(self):
        return self.text

class NodeWithScore:
    def __init__(self, node, score):
        self.node, self.score = node, score

class Number:  # of numpy
    def __float__(self):
        return 0.5
"""
HIT = {"path": "a.md", "text": "Rest it."}


def answered(root: Path, code: str, target: str, *lines: Mapping[str, Any]) -> tuple[list[dict[str, Any]], str, int]:
    """Run the shim in a directory with the code as `rag.py` and a note, ask, and return answers, log and exit code."""
    (root / "notes").mkdir(exist_ok=True)
    (root / "notes" / "a.md").write_text("# A\n")
    (root / "rag.py").write_text(LIBRARIES + code)
    given = "".join(json.dumps({"id": number, **line}) + "\n" for number, line in enumerate(lines, 1))
    words = [sys.executable, "-S", str(SHIM), target, "--vault", f"notes={root / 'notes'}"]
    done = subprocess.run(words, cwd=root, input=given, capture_output=True, text=True, timeout=60, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr, done.returncode


@each_row(
    ("returned", "hit"),
    [
        ("[{'path': 'a.md', 'text': 'Rest it.'}]", HIT),
        ("[{'source': 'notes/a.md', 'content': 'Rest it.', 'score': 2}]", {**HIT, "score": 2.0}),
        ("{'hits': [{'path': 'a.md', 'text': 'Rest it.', 'headings': ['A']}]}", {**HIT, "heading_path": ["A"]}),
        ("(hit for hit in [('a.md', 'Rest it.')])", HIT),
        ("[({'path': 'a.md', 'text': 'Rest it.'}, Number())]", {**HIT, "score": 0.5}),
        ("['Rest it.']", {"text": "Rest it."}),
        (
            "[Document('Rest it.', source=str(NOTE), **{'Header 1': 'A', 'Header 2': 'B'})]",
            {**HIT, "heading_path": ["A", "B"]},
        ),
        (
            "[NodeWithScore(TextNode('Rest it.', file_path=str(NOTE), Header_1='A', Header_2='B'), 0.5)]",
            {**HIT, "score": 0.5, "heading_path": ["A", "B"]},
        ),
        (
            "[NodeWithScore(TextNode('Rest it.', file_path=str(NOTE), header_path='/A/'), 0.5)]",
            {**HIT, "score": 0.5, "heading_path": ["A"]},
        ),
        ("{'documents': [HaystackDocument('Rest it.', 0.5, file_path=str(NOTE))]}", {**HIT, "score": 0.5}),
        ("[{'path': 'a.md', 'text': 'Rest it.', 'score': float('nan')}]", HIT),
    ],
)
def test_what_a_function_returns_is_read(tmp_path: Path, returned: str, hit: dict[str, Any]) -> None:
    """The path is that in the vault, and the library is not imported."""
    code = (
        f"from pathlib import Path\nNOTE = Path('notes/a.md').resolve()\ndef search(question):\n    return {returned}"
    )
    (ready, answer), log, code_of_end = answered(tmp_path, code, "rag:search", {"question": "How long?"})
    assert code_of_end == 0, log
    assert ready["ready"] is True
    (told,) = answer["hits"]
    told.pop("metadata", None)
    assert told == hit


@each_row(
    ("code", "target", "asked"),
    [
        ("def search(query, top_k=3):\n    return [f'{query}|{top_k}']", "rag:search", "q|7"),
        ("def search(question, many):\n    return [f'{question}|{many}']", "rag:search", "q|7"),
        ("def search(question, mode='x'):\n    return [f'{question}|{mode}']", "rag:search", "q|dense"),
        ("async def search(question):\n    return [question]", "rag:search", "q"),
        ("def build(vault):\n    return lambda text: [f'{text}|{vault.name}']", "rag:build", "q|notes"),
        ("class R:\n    def retrieve(self, q): return [q]\ndef build(): return R()", "rag:build", "q"),
        ("class R:\n    def run(self, query, top_k=1): return {'documents': [f'{query}|{top_k}']}", "rag:R", "q|7"),
        ("class S:\n    def similarity_search(self, q, k=4): return [f'{q}|{k}']\nstore = S()", "rag:store", "q|7"),
        (
            "class I:\n    def as_retriever(self, similarity_top_k): self.k = similarity_top_k; return self\n"
            "    def retrieve(self, q): return [f'{q}|{self.k}']\nindex = I()",
            "rag:index",
            "q|7",
        ),
    ],
)
def test_a_retriever_is_asked_as_it_wants(tmp_path: Path, code: str, target: str, asked: str) -> None:
    """A function, a builder, a class and an object are told apart, and get the number of hits if they take it."""
    lines = {"question": "q", "k": 7, "mode": "dense"}
    (_, answer), _, _ = answered(tmp_path, code, target, lines)
    assert answer["hits"] == [{"text": asked}]


def test_prints_input_and_errors_harm_no_other_answer(tmp_path: Path) -> None:
    """What it prints is log, `input()` gets nothing, and what it raises is the answer to that question alone."""
    search = "def search(question):\n    print('asked')\n    return [input()] if question == 'in' else [question]"
    code = f"print('loading')\n{search}"
    (_, failed, fine), log, _ = answered(tmp_path, code, "rag:search", {"question": "in"}, {"question": "out"})
    assert failed == {"id": 1, "error": "EOFError: EOF when reading a line"}
    assert fine == {"id": 2, "hits": [{"text": "out"}]}
    assert "loading" in log
    assert "asked" in log


@each_row(
    ("code", "target", "said"),
    [
        ("x = 1", "rag:buidl", "rag has no 'buidl'. It has Document"),
        ("x = 1", "rag", "expected module:name, such as rag.retriever:build, found 'rag'"),
        ("x = 1", "rag:x", "the int has no method retrieve, similarity_search"),
        (
            "def build(a, b): ...",
            "rag:build",
            "build(a, b): expected one parameter at most, the directory of the notes",
        ),
        ("def build(): raise ValueError('no model')", "rag:build", "ValueError: no model"),
    ],
)
def test_what_cannot_be_asked_ends_with_a_sentence(tmp_path: Path, code: str, target: str, said: str) -> None:
    """Nothing is ready, and the log says what to change."""
    lines, log, code_of_end = answered(tmp_path, code, target)
    assert lines == []
    assert said in log
    assert code_of_end == 1
