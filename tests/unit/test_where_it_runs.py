"""The page on where raggate runs: a cell that claims something names a test that exists, or says how it is known."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from tables import each_row

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "where-it-runs.md"
FEATURES = [
    *("gate", "comment", "check", "summary", "artifact", "fork report"),
    *("shards", "promote", "promote with `run-id`", "commands", "issue"),
]
WORDS = {"not tried", "none", "by hand", "the workflow's", "the directory", "the job", "the step", "the stage"}
"""What a cell may say without a test: that there is nothing, that nobody has seen it, or what stands in its place."""

_CELL = re.compile(r"\[[a-z -]+\]\[([0-9]+)\]")
_DEFINITION = re.compile(r'^\[([0-9]+)\]: (\.\./tests/[\w/]+\.py) "(test_\w+)"$', re.MULTILINE)
_INLINE = re.compile(r'\[[a-z -]+\]\((\.\./tests/[\w/]+\.py) "(test_\w+)"\)')


def rows() -> list[list[str]]:
    """Give the cells of the table, with its head."""
    lines = PAGE.read_text(encoding="utf-8").split("\n\n")[2].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith("|---")]


@cache
def names(file: Path) -> frozenset[str]:
    """Give the functions of a file of tests, and what it imports of another one."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    return frozenset(
        own | {alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    )


@cache
def numbered() -> dict[str, tuple[str, str]]:
    """Give what the cells of the table refer to: file and name of a test, by the number of the link."""
    defined = _DEFINITION.findall(PAGE.read_text(encoding="utf-8"))
    assert len({number for number, _, _ in defined}) == len(defined)
    return {number: (file, name) for number, file, name in defined}


def test_every_place_has_all_features() -> None:
    """A place is one row, with a cell for every feature."""
    head, *places = rows()
    assert head == ["", *FEATURES]
    assert len({place for place, *_ in places}) >= 9
    assert {len(row) for row in places} == {len(FEATURES) + 1}


@each_row("row", rows()[1:], ids=lambda row: row[0])
def test_every_cell_names_its_test(row: list[str]) -> None:
    """A cell is a link to a test that exists, or one of the words that claim none."""
    for cell in row[1:]:
        if cell in WORDS:
            continue
        match = _CELL.fullmatch(cell)
        assert match is not None, cell
        file, name = numbered()[match[1]]
        assert name in names((PAGE.parent / file).resolve()), cell


def test_every_other_test_that_the_page_names() -> None:
    """So does what stands below the table, and no number is left that no cell has."""
    links = _INLINE.findall(PAGE.read_text(encoding="utf-8"))
    assert len(links) >= 2
    for file, name in links:
        assert name in names((PAGE.parent / file).resolve()), name
    cells = "".join(cell for row in rows() for cell in row)
    assert set(_CELL.findall(cells)) == numbered().keys()
    assert len(numbered()) >= 30


def test_lines_of_the_table_can_be_read() -> None:
    """The table is read in its source too: no line of it is wider than a wide screen."""
    assert max(map(len, PAGE.read_text(encoding="utf-8").split("\n\n")[2].splitlines())) <= 160
