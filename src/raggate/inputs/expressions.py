"""An expression of words, `fees and not (eu or "bank card")` -> what says whether it fits some texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from raggate.errors import UsageError
from raggate.text.quote import quoted

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
    """Read an expression. Each word fits where one of the texts holds it, in whatever case.

    `not` binds closest, then `and`, then `or`.
    """
    if len(expression) > MAX_LENGTH:
        raise UsageError(f"-k: {len(expression)} characters, expected at most {MAX_LENGTH}", hint=_HINT)
    return _Reader(expression).read()


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
        start = match.start(kind) - (kind in {"double", "single"})
        if searched and not text.strip():
            raise _problem(expression, start + 1, "there is nothing between the quotes")
        tokens.append(Token(start + 1, text, searched))
        position = match.end()
    return tokens


def _problem(expression: str, column: int, problem: str) -> UsageError:
    return UsageError(f"-k {quoted(expression)}: column {column}: {problem}", hint=_HINT)


class _Reader:
    """Reads an expression by recursive descent, one method for each rank of operators."""

    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._tokens = _tokens(expression)
        self._next = 0
        self._depth = 0

    def read(self) -> Fits:
        fits = self._either()
        if self._here() is not None:
            raise self._unexpected("'and', 'or' or the end")
        return fits

    def _either(self) -> Fits:
        parts = [self._all()]
        while self._taken("or"):
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else lambda texts: any(part(texts) for part in parts)

    def _all(self) -> Fits:
        parts = [self._single()]
        while self._taken("and"):
            parts.append(self._single())
        return parts[0] if len(parts) == 1 else lambda texts: all(part(texts) for part in parts)

    def _single(self) -> Fits:
        token = self._here()
        self._depth += 1
        if token is not None and self._depth > MAX_DEPTH:
            raise _problem(self._expression, token.column, f"more than {MAX_DEPTH} levels deep")
        if self._taken("not"):
            negated = self._single()
            fits: Fits = lambda texts: not negated(texts)  # noqa: E731 - as the others are
        elif self._taken("("):
            fits = self._either()
            if not self._taken(")"):
                raise self._unexpected("')'")
        else:
            fits = self._word()
        self._depth -= 1
        return fits

    def _word(self) -> Fits:
        token = self._here()
        if token is None or not token.searched:
            raise self._unexpected("a word, 'not' or '('")
        self._next += 1
        wanted = token.text.casefold()
        return lambda texts: any(wanted in text for text in texts)

    def _here(self) -> Token | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _taken(self, operator: str) -> bool:
        token = self._here()
        if token is None or token.searched or token.text != operator:
            return False
        self._next += 1
        return True

    def _unexpected(self, expected: str) -> UsageError:
        token = self._here()
        column = len(self._expression.rstrip()) + 1 if token is None else token.column
        seen = "it ends here" if token is None else f"found {quoted(token.text)}"
        return _problem(self._expression, column, f"expected {expected}; {seen}")
