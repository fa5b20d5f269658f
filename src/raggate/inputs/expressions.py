"""An expression of words, `fees and not (eu or "bank card")` -> what says whether it fits some texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from raggate.base.errors import UsageError
from raggate.base.quote import quoted

MAX_LENGTH = 1000
"""Characters of an expression."""

MAX_DEPTH = 50
"""Parentheses and `not` within each other."""

Fits = Callable[[Sequence[str]], bool]
"""Takes texts in lower case, and says whether an expression fits them."""

_TOKEN = re.compile(r"""\s*(?:(?P<sign>[()])|"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<word>[^\s()"']+))""")
_OPERATORS = frozenset(("and", "or", "not"))
_HINT = "Write words with and, or, not and parentheses; in quotes what has blanks: -k 'fees and not \"bank card\"'."


class Token(Struct, frozen=True):
    """A piece of an expression: its column from 1, its text, and whether it is searched for or an operator."""

    column: int
    text: str
    searched: bool


def compiled(expression: str) -> Fits:
    """Read an expression. Each word fits if one of the texts holds it, in whatever case.

    `not` binds closest, then `and`, then `or`. An error names the column.
    """
    if len(expression) > MAX_LENGTH:
        raise UsageError(f"-k: {len(expression)} characters, expected at most {MAX_LENGTH}", hint=_HINT)
    reader = _Reader(expression)
    fits = reader.either(0)
    if reader.token is not None:
        raise reader.unexpected("'and', 'or' or the end")
    return fits


def words_of(expression: str) -> list[str]:
    """Return the words that an expression searches for, in lower case."""
    return [token.text.casefold() for token in _tokens(expression) if token.searched]


def _tokens(expression: str) -> list[Token]:
    tokens, position, end = [], 0, len(expression.rstrip())
    while position < end:
        match = _TOKEN.match(expression, position)
        if match is None:
            start = position + len(expression[position:]) - len(expression[position:].lstrip())
            raise _problem(expression, start + 1, "this quote is not closed")
        kind = match.lastgroup or "word"
        text = match[kind]
        searched = kind != "sign" and not (kind == "word" and text in _OPERATORS)
        column = match.start(kind) - (kind in {"double", "single"}) + 1
        if searched and not text.strip():
            raise _problem(expression, column, "there is nothing between the quotes")
        tokens.append(Token(column, text, searched))
        position = match.end()
    return tokens


def _problem(expression: str, column: int, problem: str) -> UsageError:
    return UsageError(f"-k {quoted(expression)}: column {column}: {problem}", hint=_HINT)


class _Reader:
    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._left = _tokens(expression)

    @property
    def token(self) -> Token | None:
        return self._left[0] if self._left else None

    def either(self, depth: int) -> Fits:
        parts = [self._all(depth)]
        while self._taken("or"):
            parts.append(self._all(depth))
        return parts[0] if len(parts) == 1 else lambda texts: any(part(texts) for part in parts)

    def _all(self, depth: int) -> Fits:
        parts = [self._single(depth + 1)]
        while self._taken("and"):
            parts.append(self._single(depth + 1))
        return parts[0] if len(parts) == 1 else lambda texts: all(part(texts) for part in parts)

    def _single(self, depth: int) -> Fits:
        token = self.token
        if token is not None and depth > MAX_DEPTH:
            raise _problem(self._expression, token.column, f"more than {MAX_DEPTH} levels deep")
        if self._taken("not"):
            negated = self._single(depth + 1)
            return lambda texts: not negated(texts)
        if self._taken("("):
            inner = self.either(depth)
            if not self._taken(")"):
                raise self.unexpected("')'")
            return inner
        if token is None or not token.searched:
            raise self.unexpected("a word, 'not' or '('")
        wanted = self._left.pop(0).text.casefold()
        return lambda texts: any(wanted in text for text in texts)

    def _taken(self, operator: str) -> bool:
        taken = self.token is not None and not self.token.searched and self.token.text == operator
        if taken:
            self._left.pop(0)
        return taken

    def unexpected(self, expected: str) -> UsageError:
        token = self.token
        column = len(self._expression.rstrip()) + 1 if token is None else token.column
        seen = "it ends here" if token is None else f"found {quoted(token.text)}"
        return _problem(self._expression, column, f"expected {expected}; {seen}")
