"""The table of limits says what the code does, names a test for each row, and leaves no bound in bytes out."""

from __future__ import annotations

import ast
import importlib
import re
import time
from pathlib import Path

import pytest

from own_source import INTEROP, MODULES, source, tree
from raggate.base import yamlio
from raggate.base.errors import UsageError
from raggate.github.rest.git_objects import Objects
from raggate.github.runner import event
from raggate.inputs import git
from raggate.inputs.git_objects import Limits
from raggate.service import build_context
from raggate_interop.kebab import golden
from tables import each_row

ROOT = Path(__file__).parents[2]
PAGE = (
    (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8").partition("## Limits of what comes from outside")[2]
)
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| input")]
NUMBER = re.compile(r"`([a-z_.]+)\.([A-Z_]+)` ([\d,]+(?:e\d+)?)(?: ([KMG])iB)?")
EVENT = {
    "GITHUB_EVENT_NAME": "pull_request",
    "GITHUB_REPOSITORY": "a/b",
    "GITHUB_RUN_ID": "1",
    "GITHUB_RUN_ATTEMPT": "1",
    "GITHUB_SERVER_URL": "https://git.example.org",
    "GITHUB_API_URL": "https://git.example.org/api/v3",
    "GITHUB_SHA": "a" * 40,
}
FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
BOUND = re.compile(r"\b(?:MAX|MOST)_(?:\w+_)?BYTES\b")


@each_row(("module", "name", "digits", "unit"), NUMBER.findall(PAGE))
def test_each_number_is_the_code_s(module: str, name: str, digits: str, unit: str) -> None:
    """Every number on the page is that of the constant it stands beside."""
    full = module if module.startswith(f"{INTEROP}.") else f"raggate.{module}"
    value = getattr(importlib.import_module(full), name)
    assert value == float(digits.replace(",", "")) * FACTORS[unit]


@each_row("row", ROWS, ids=lambda row: row.split("|")[1].strip())
def test_each_row_has_its_test(row: str) -> None:
    """Every input names at least one bound and a test that exists."""
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert len(cells) == 5
    file, _, function = cells[4].strip("`").partition("::")
    text = (ROOT / file).read_text(encoding="utf-8")
    assert function == "*" or f"def {function}(" in text
    assert NUMBER.search(row)


def test_no_bound_in_bytes_is_missing() -> None:
    """Every constant of the code that bounds something in bytes is on the page, with its module."""
    bounds = set()
    # a syntax tree takes a hundred times as long as a look for the name
    for path in (path for path in MODULES if BOUND.search(source(path))):
        module = path.removesuffix(".py").replace("/", ".")
        for node in tree(path).body:
            names = [target.id for target in getattr(node, "targets", ()) if isinstance(target, ast.Name)]
            bounds |= {(module, name) for name in names if BOUND.fullmatch(name)}
    assert bounds
    assert not bounds - {(module, name) for module, name, _, _ in NUMBER.findall(PAGE)}


@each_row(
    ("limits", "row"), [(git.LIMITS, "objects of git, locally"), (Objects.limits, "objects of git, by GitHub's API")]
)
def test_limits_of_objects(limits: Limits, row: str) -> None:
    """What is read of one directory is told as it is in the code."""
    line = next(line for line in ROWS if line.startswith(f"| {row} |"))
    size = limits.directory_bytes >> 20
    assert f"{limits.files:,} files of a directory" in line
    assert f"{f'{size >> 10} GiB' if size % 1024 == 0 else f'{size} MiB'} of a directory" in line
    assert f"{limits.file_bytes >> 20} MiB" in line


def test_a_suite_in_yaml() -> None:
    """A golden set in YAML may be larger than a configuration, up to its own bound."""
    entry = b"- {id: a, query: hello, expected_doc_ids: [d]}\n"
    padded = entry + b"#" * (yamlio.MAX_SUITE_BYTES - len(entry))
    assert len(golden.read_golden(padded, "g.yaml").queries) == 1
    with pytest.raises(UsageError, match="expected at most 1048576"):
        golden.read_golden(padded + b"#", "g.yaml")


def test_an_ignore_file(tmp_path: Path) -> None:
    """Of an ignore file that may rule a build context only the beginning counts."""
    (tmp_path / ".dockerignore").write_text("a\n" + "#" * build_context.MAX_BYTES + "\nb\n", encoding="utf-8")
    assert build_context.patterns(tmp_path) == ["a"]


@pytest.mark.parametrize("body", [b"[" * 1_000_000, b'{"a":' * 100_000, b"9" * 1_000_000, b'{"number": ' + b"1" * 9999])
def test_a_deep_event(body: bytes, tmp_path: Path) -> None:
    """An event that is nested deeper, or has longer numbers, than any of GitHub's is a usage error at once."""
    path = tmp_path / "event.json"
    path.write_bytes(body)
    begun = time.process_time()
    with pytest.raises(UsageError, match=r"event\.json"):
        event.read({**EVENT, "GITHUB_EVENT_PATH": str(path)})
    assert time.process_time() - begun < 5
