"""Texts are measured as people read them, and docstrings open with what the caller gets."""

import re
from pathlib import Path

from tools import prose

BARE_TEST = re.compile(r'^ *def (test_\w+)\((?:[^()]|\([^()]*\))*\)[^:\n]*:\n(?!\s+""")', re.MULTILINE)


def test_every_test_says_what_it_claims() -> None:
    """A test has a docstring; a helper needs one only where its name does not say what it is."""
    tests = Path(__file__).parents[1].rglob("test_*.py")
    assert [name for path in tests for name in BARE_TEST.findall(path.read_text(encoding="utf-8"))] == []


def test_no_more_docstrings_open_with_give_or_say() -> None:
    """A new docstring says "Return …", "Parse …" or names a thing."""
    assert len(prose.barred()) <= prose.MOST_BARRED


def test_code_and_tables_are_no_prose() -> None:
    """Of a page only the sentences count: fences, tables, headings and addresses are left out."""
    page = "# Title\n\n```sh\nraggate check\n```\n\n| a | b |\n|---|---|\n\nYou [read](page.md) this; fine.\n"
    assert prose.prose(page).split() == ["You", "[read]", "this;", "fine."]
    assert prose.numbers(prose.prose(page)) == (4, 0.0, 250.0, 250.0)


def test_a_long_sentence_is_counted() -> None:
    """One of two sentences has 26 words."""
    assert prose.numbers(f"{'word ' * 25}word. Short one.") == (28, 50.0, 0.0, 0.0)
