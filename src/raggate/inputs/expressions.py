"""An expression of words, `fees and not (eu or "bank card")` -> what says whether it fits some texts."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence

from raggate.base.errors import UsageError
from raggate.base.quote import quoted

MAX_LENGTH = 1000
"""Characters of an expression."""

Fits = Callable[[Sequence[str]], bool]
"""Takes texts in lower case, and says whether an expression fits them."""

_TOKEN = re.compile(r"""\s*(?:(?P<sign>[()])|"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<word>[^\s()"']+))""")
_OPERATORS = frozenset(("and", "or", "not"))
_KNOWN = (ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.Name, ast.Load)
_HINT = (
    "Combine words with and, or, not and parentheses. Put text with blanks in quotes: -k 'fees and not \"bank card\"'."
)


def compiled(expression: str) -> Fits:
    """Read an expression. Each word fits if one of the texts holds it, in whatever case.

    `not` binds closest, then `and`, then `or`, as in Python, whose parser reads it with a name in each word's place.
    """
    words: list[str] = []
    source = []
    for text, searched in _tokens(expression):
        source.append(f"w{len(words)}" if searched else text)
        words += [text.casefold()] if searched else []
    try:
        tree = ast.parse(" ".join(source), mode="eval")
    except (SyntaxError, MemoryError, RecursionError):
        raise _problem(expression) from None
    # two words in a row with parentheses would be a call
    if not all(isinstance(node, _KNOWN) for node in ast.walk(tree)):
        raise _problem(expression)
    return lambda texts: _fits(tree.body, words, texts)


def words_of(expression: str) -> list[str]:
    """Return the words that an expression searches for, in lower case."""
    return [text.casefold() for text, searched in _tokens(expression) if searched]


def _tokens(expression: str) -> list[tuple[str, bool]]:
    if len(expression) > MAX_LENGTH:
        raise UsageError(f"-k: {len(expression)} characters, expected at most {MAX_LENGTH}", hint=_HINT)
    tokens, position, end = [], 0, len(expression.rstrip())
    while position < end:
        match = _TOKEN.match(expression, position)
        kind = (match.lastgroup or "word") if match else ""
        text = match[kind] if match else ""
        if match is None or not text.strip():
            raise _problem(expression)
        tokens.append((text, kind != "sign" and not (kind == "word" and text in _OPERATORS)))
        position = match.end()
    return tokens


def _problem(expression: str) -> UsageError:
    return UsageError(f"-k {quoted(expression)}: not an expression of words", hint=_HINT)


def _fits(node: ast.expr, words: Sequence[str], texts: Sequence[str]) -> bool:
    if isinstance(node, ast.BoolOp):
        parts = (_fits(value, words, texts) for value in node.values)
        return all(parts) if isinstance(node.op, ast.And) else any(parts)
    if isinstance(node, ast.UnaryOp):
        return not _fits(node.operand, words, texts)
    if isinstance(node, ast.Name):
        wanted = words[int(node.id.removeprefix("w"))]
        return any(wanted in text for text in texts)
    raise TypeError(node)
