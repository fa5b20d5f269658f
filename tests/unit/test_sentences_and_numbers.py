"""What is written for people: no code takes its data from a sentence, and a measured number is written in one way."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

import pytest

from own_source import MODULES, tree
from tables import each_row

SENTENCES = frozenset(("headline", "hint", "message", "problem", "reason", "sentence", "sentences", "why"))
"""What text made for people is called, as a variable or a field."""

PARSING = frozenset(
    "endswith find index partition removeprefix removesuffix replace rpartition rsplit split splitlines startswith "
    "translate".split()
)
"""What takes a text apart, or compares a part of it."""

ALLOWED = {
    ("base/errors.py", "out_of_memory"): "Python and its loader have only words for it",
    ("base/yamlio.py", "_expectation"): "pydantic's own words, beginning with what others do not begin with",
    ("base/quote.py", "first_problem"): "msgspec names the place behind its own words",
    ("github/untrusted_run.py", "without_results"): "a foreign text is shown line by line",
    ("reports/parts/reasons.py", "remaining"): "the words that stand above a group are not said again below it",
    ("labelling/session.py", "_unwritable"): "the id that stands before the message is not said twice",
    ("raggate_interop/convert.py", "_check"): "a scratch file's name becomes the one of the target",
}
"""Where text is taken apart all the same, and why that is no reading of data."""


JUDGED = (ast.Call, ast.Compare, ast.FormattedValue)
"""The expressions that a rule looks at."""


def judged(inside: ast.AST) -> list[ast.AST]:
    """Return those of a piece of source."""
    return [node for node in ast.walk(inside) if isinstance(node, JUDGED)]


@pytest.fixture(scope="module")
def expressions() -> dict[str, list[ast.AST]]:
    """Return those of every module, by its path in the package: one walk through all of the source for all rules."""
    return {name: judged(tree(name)) for name in MODULES}


def name_of(node: ast.expr) -> str:
    """Return what a value is called: its variable's or its field's name; of `str(error)` the error is its message."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str":
        return "message" if [name_of(value) for value in node.args] == ["error"] else ""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def parsed_sentences(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Find where text for people is taken apart or looked into: the line, and what is done there."""
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner, method = name_of(node.func.value), node.func.attr
            arguments = {name_of(argument) for argument in node.args}
            if (owner in SENTENCES and method in PARSING) or (owner == "re" and arguments & SENTENCES):
                yield node.lineno, method
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            looked_for = isinstance(node.left, ast.Constant | ast.JoinedStr)
            if looked_for and name_of(node.comparators[0]) in SENTENCES:
                yield node.lineno, "in"


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def excused_lines(module: str) -> set[int]:
    """Return the lines of the functions of a module that may take text apart."""
    return {
        line
        for function in functions(tree(module))
        if (module, function.name) in ALLOWED
        for line in range(function.lineno, (function.end_lineno or function.lineno) + 1)
    }


def test_no_sentence_is_data(expressions: dict[str, list[ast.AST]]) -> None:
    """What a message, a hint or a headline says is nowhere read back by its words."""
    assert len(expressions) > 200
    places = [
        f"{module}:{line}: {how}"
        for module, nodes in expressions.items()
        for line, how in parsed_sentences(nodes)
        if line not in excused_lines(module)
    ]
    assert places == [], "give the fact a field of its own"


@each_row(
    "code",
    [
        'reason.message.startswith("must-pass")',
        'error.hint.replace("a", "b")',
        'str(error).split("\\n")',
        'message.partition(". ")',
        '"locked" in error.message',
        're.search("x", error.message)',
    ],
)
def test_sentences_that_are_taken_apart_are_seen(code: str) -> None:
    """Each way to read a sentence as data is one that the rule sees."""
    assert list(parsed_sentences(judged(ast.parse(code))))


def test_nothing_is_excused_that_is_not_there() -> None:
    """Every exception is of a function that still takes text apart."""
    for module, name in ALLOWED:
        bodies = [function for function in functions(tree(module)) if function.name == name]
        assert any(list(parsed_sentences(judged(body))) for body in bodies), f"{module}: {name}"


WRITERS = {
    "base/numbers.py": "the rule itself",
    "raggate_interop/kebab/metrics.py": "kebab's 32-bit floats, by the digits that it writes",
    "raggate_interop/kebab/report.py": "kebab's report, rounded as kebab rounds",
    "raggate_interop/helloworld/compare.py": "the lines of helloworld's scripts",
    "raggate_interop/substrate/gate.py": "the lines of substrate's check",
    "raggate_interop/substrate/metrics.py": "substrate's own means, bit for bit",
    "action/main.py": "a moment in whole seconds, read by the post step alone",
}
"""The modules that give a number its decimals, and why."""


def decimals_set(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Find where a float is given its decimals: a format that names a float's type, or a rounding to decimals."""
    for node in nodes:
        if isinstance(node, ast.FormattedValue) and isinstance(node.format_spec, ast.JoinedStr):
            spec = "".join(str(part.value) for part in node.format_spec.values if isinstance(part, ast.Constant))
            if spec and spec[-1] in "eEfFgG%":
                yield node.lineno, spec
        elif isinstance(node, ast.Call) and name_of(node.func) == "round" and len(node.args) > 1:
            yield node.lineno, "round"


def test_numbers_are_written_in_one_way(expressions: dict[str, list[ast.AST]]) -> None:
    """No module but one gives a number its decimals, apart from those that write another tool's own text."""
    places = {module: list(decimals_set(nodes)) for module, nodes in expressions.items()}
    others = {module: lines for module, lines in places.items() if lines and module not in WRITERS}
    assert others == {}, "base/numbers.py has how numbers are written"
    assert sorted(WRITERS) == [module for module, lines in places.items() if lines]


@each_row("code", ['f"{x:.4f}"', 'f"{x:+.1%}"', 'f"{x:g}"', 'f"{x:>{width}.3f}"', "round(x, 3)"])
def test_decimals_that_are_set_are_seen(code: str) -> None:
    """Each way to give a number its decimals is one that the rule sees."""
    assert list(decimals_set(judged(ast.parse(code))))
