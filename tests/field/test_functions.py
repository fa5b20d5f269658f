"""Functions on the libraries that people use, gated as their examples show, and broken in three ways each."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from field.worked_example import Example, Output, as_shown, blocks, expected_codes

pytestmark = [pytest.mark.field, pytest.mark.timeout(900)]

Shown = Callable[[str], tuple[Example, Output]]
QUESTIONS = 87
FEWER = "fewer distinct passages come back (10.0 → 1.0 on average)"
OTHER_HEADINGS = "the note came back under a heading that does not name the section"
NO_SUCH_NOTE = "invariant-notes_exist"


@pytest.fixture(scope="module")
def shown(field_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """Return what runs the first commands of a README, once for each example."""
    return cache(lambda name: as_shown(name, tmp_path_factory.mktemp(name), field_programs, seconds=600))


@pytest.mark.parametrize(
    ("name", "found", "cause"),
    [("chroma", 57, FEWER), ("haystack", 59, OTHER_HEADINGS), ("langchain", 49, FEWER), ("llamaindex", 64, FEWER)],
)
def test_the_readme_is_true(shown: Shown, tmp_path: Path, name: str, found: int, cause: str) -> None:
    """What `init` wrote passes as it is, `found` of 87 questions hit, and the change shown is red with its cause."""
    commands, fault = blocks(name)
    example, output = shown(name)
    assert output.codes == expected_codes(commands), output.text
    hits = next(row for row in example.verdict()["metrics"] if row["metric"] == "hit_at_5")
    assert hits["current"] == pytest.approx(found / QUESTIONS, abs=0.0001)
    changed = example.copied(tmp_path / "try")
    broken = changed.run(fault)
    assert broken.codes == expected_codes(fault), broken.text
    assert cause in changed.likely_cause()


@pytest.mark.parametrize(
    ("name", "old", "new", "code", "said"),
    [
        ("chroma", "=[*texts]", "=[text[:80] for text in texts]", 1, "texts are cut to 80 characters"),
        ("chroma", "notes.rglob", "notes.glob", 1, "nothing comes from the folder Runbooks"),
        ("haystack", "notes.rglob", "notes.glob", 1, "nothing comes from the folder Architecture any more"),
        ("haystack", "str(note)", "note.name", 4, NO_SUCH_NOTE),
        ("langchain", '"*.md"', '"[!R]*/**/*.md"', 1, "notes come back for no question any more"),
        ("langchain", "range(1, 7)", "range(1, 2)", 1, OTHER_HEADINGS),
        ("llamaindex", "recursive=True", "recursive=False", 1, "nothing comes from the folder Architecture any more"),
        ("llamaindex", "_documents(documents)", "_documents(documents[:60])", 1, "nothing comes from the folder docs"),
    ],
)
def test_a_fault_is_red_with_its_cause(
    shown: Shown, tmp_path: Path, name: str, old: str, new: str, code: int, said: str
) -> None:
    """One edit of the retriever is red, and the report names what it did; an impossible answer breaks an invariant."""
    changed = shown(name)[0].copied(tmp_path / "try")
    changed.edit("rag.py", old, new)
    assert changed.check() == code
    verdict = changed.verdict()
    assert said in (verdict["diagnosis"]["likely"] if code == 1 else verdict["reasons"][0]["code"])
