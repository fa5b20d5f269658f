"""Lines are added to a golden set in its own style, and nothing else of it changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given, strategies as st

from builders import make_case, make_support
from raggate.inputs import golden
from raggate.inputs.authoring.golden_file import new_id, with_cases
from tables import each_row
from tries import tried

OWN = Path(__file__).parents[4] / "golden" / "eval_set.jsonl"
ROW = {"question": "Where?", "id": "a1", "answerable": True, "tags": [], "gold_supports": [{"rel_path": "a.md"}]}
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80).filter(str.strip)


def added(data: bytes, **fields: Any) -> str:
    """Return what is added to a file for one case."""
    whole = with_cases(data, [make_case("new", question="Größe?", **fields)])
    assert whole.startswith(data)
    return whole[len(data) :].decode()


def line(**dumping: Any) -> bytes:
    """Write a line of a golden set."""
    return json.dumps(ROW, **dumping).encode() + b"\n"


def test_a_line_is_written_as_the_others_are() -> None:
    """Every line of this repository's own golden set is written back as it stands."""
    data = OWN.read_bytes()
    assert with_cases(data, golden.load(data, "own").cases) == data + data


def test_keys_stand_as_in_the_other_lines() -> None:
    """Keys keep the order of the file; what every line has is written, and what is a default elsewhere is not."""
    new = added(line())
    assert list(json.loads(new)) == ["question", "id", "answerable", "tags", "gold_supports"]
    assert json.loads(new)["gold_supports"] == [{"rel_path": "a.md", "heading_path": "# A"}]


@each_row(
    "data, wanted",
    [
        (line(), '"question": "Größe?"'),
        (line(separators=(",", ":")), '"question":"Größe?"'),
        (line().replace(b"Where", b"\\u00e4"), '"question": "Gr\\u00f6\\u00dfe?"'),
        (b"", '"question": "Größe?"'),
    ],
)
def test_letters_and_blanks(data: bytes, wanted: str) -> None:
    """Blanks after commas and escapes of letters are as in the file."""
    assert wanted in added(data)


@each_row(
    "data, wanted", [(line()[:-1], "\n{"), (line()[:-1] + b"\r\n", "{"), (b"\xef\xbb\xbf" + line(), "{"), (b"", "{")]
)
def test_ends_of_lines(data: bytes, wanted: str) -> None:
    """A last line without its end gets one, and ends are those of the file."""
    new = added(data)
    assert new.startswith(wanted)
    assert new.endswith("\r\n" if b"\r" in data else "}\n")


@given(TEXT, TEXT, TEXT)
@tried(40)
def test_whatever_is_asked(question: str, rel_path: str, snippet: str) -> None:
    """A case with any text is one line that reads back to the same case."""
    support = make_support(rel_path, snippets=(snippet,))
    case = make_case("new", question=question, gold_supports=(support,))
    [_, back] = golden.load(with_cases(line(), [case]), "g").cases
    assert (back.question, back.gold_supports, back.hash) == (question, (support,), case.hash)


@each_row(
    "question, taken, beside, wanted",
    [
        ("How long does it rest?", [], [], "how-long-does-it-rest"),
        ("How long does it rest?", ["how-long-does-it-rest"], [], "how-long-does-it-rest-2"),
        ("?!", [], [], "question"),
        ("Q", ["work-001", "work-009", "home-3"], [], "q"),
        ("Q", ["work-001", "work-009", "home-3"], ["work-001"], "work-010"),
        ("Q", ["work-001", "work-009", "home-3"], ["home-3"], "home-4"),
        ("Q", ["a", "b", "work-1"], ["a", "b", "work-1"], "q"),
        ("Q", ["7" * 5000], ["7" * 5000], "q"),
    ],
)
def test_ids(question: str, taken: list[str], beside: list[str], wanted: str) -> None:
    """An id is the next number where those of its vault are numbered, else made of words, and always new."""
    assert new_id(question, taken, beside) == wanted


@given(TEXT, st.lists(st.text(max_size=6), max_size=6))
@tried(40)
def test_an_id_is_new_and_can_be_read(question: str, taken: list[str]) -> None:
    """Whatever is asked, the id is of the golden set's kind, and nobody else's."""
    name = new_id(question, taken, taken)
    assert name not in taken
    assert 0 < len(name) <= 200
    assert name.strip()
