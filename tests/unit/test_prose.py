"""Texts are measured as people read them, and docstrings open with what the caller gets."""

import re
from pathlib import Path

from tools import prose

BARE_TEST = re.compile(r'^ *def (test_\w+)\((?:[^()]|\([^()]*\))*\)[^:\n]*:\n(?!\s+""")', re.MULTILINE)


def test_every_test_says_what_it_claims() -> None:
    """A test has a docstring; a helper needs one only where its name does not say what it is."""
    tests = Path(__file__).parents[1].rglob("test_*.py")
    assert [name for path in tests for name in BARE_TEST.findall(path.read_text(encoding="utf-8"))] == []


def test_no_docstring_opens_with_give_say_tell_or_hold() -> None:
    """A docstring says "Return …", "Parse …" or names a thing."""
    assert prose.barred() == []


def test_the_openings_of_functions_and_variables_are_read(tmp_path: Path) -> None:
    """A docstring of a module, of a function, or below a variable counts; another text does not."""
    module = '"""Hold it."""\nA = 1\n"""Gives a."""\ndef b():\n    """\n    Tell b.\n    """\nC = "Say c"\n'
    (tmp_path / "module.py").write_text(module, encoding="utf-8")
    assert [text for _, text in prose.docstrings(tmp_path) if prose.BARRED.match(text)] == [
        "Hold it.",
        "Gives a.",
        "Tell b.",
    ]


def test_code_and_tables_are_no_prose() -> None:
    """Of a page only the sentences count: fences, tables, headings and addresses are left out."""
    page = "# Title\n\n```sh\nraggate check\n```\n\n| a | b |\n|---|---|\n\nYou [read](page.md) this; fine.\n"
    assert prose.prose(page).split() == ["You", "[read]", "this;", "fine."]
    assert prose.numbers(prose.prose(page)) == (4, 0.0, 250.0, 250.0)


def test_a_long_sentence_is_counted() -> None:
    """One of two sentences has 26 words."""
    assert prose.numbers(f"{'word ' * 25}word. Short one.") == (28, 50.0, 0.0, 0.0)


def test_no_line_of_src_is_a_riddle() -> None:
    """No docstring, comment or message says "of which", "is told" or "goes without", and no error has a semicolon."""
    assert [*prose.riddles(prose.ROOT / "src")] == []


def test_riddles_and_semicolons_are_found(tmp_path: Path) -> None:
    """A comment with a barred phrase and a semicolon in message or hint are found, a separator of a list is not."""
    module = (
        'A = 1  # it is told\nraise UsageError(f"{A}: no; stop", hint="Do this; or that.")\n'
        'raise CannotTell("; ".join(A))\nB = "one; two"\n'
    )
    (tmp_path / "module.py").write_text(module, encoding="utf-8")
    place = f"{tmp_path}/module.py"
    assert [*prose.riddles(tmp_path)] == [
        f"{place}:1: A = 1  # it is told",
        f"{place}:2: : no; stop",
        f"{place}:2: Do this; or that.",
    ]
