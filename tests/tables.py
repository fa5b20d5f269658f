"""A table of a pure function's cases as one test: as strict as one test for each row, at a hundredth of the cost."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from typing import Any

import pytest

Test = Callable[..., None]
Names = str | Sequence[str]


def each_row(names: Names, rows: Iterable[Any], *, ids: Callable[[Any], Any] | Iterable[str] | None = None) -> Any:
    """Let one test try every row, as `pytest.mark.parametrize` lets one test each, with the same arguments.

    For rows without fixtures that would need a fresh one. Every row is tried, and each that fails is reported with its
    name. Two tables above each other are tried in every combination.
    """
    words = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    table = [*_read(words, [*rows], ids)]
    assert table, "a table without rows claims nothing"

    def one_test_of(test: Test) -> Test:
        @wraps(test)
        def every_row(*own: Any, **others: Any) -> None:
            wrong: list[BaseException] = []
            for number, (name, row) in enumerate(table):
                try:
                    test(*own, **row, **others)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - told with all others
                    error.add_note(f"in the row {name or f'{number}: {tuple(row.values())!r:.200}'}")
                    wrong.append(error)
            if wrong:
                raise BaseExceptionGroup(f"{len(wrong)} of {len(table)} rows", wrong)

        # what pytest still has to fill in
        asked = inspect.signature(test)
        left = [parameter for name, parameter in asked.parameters.items() if name not in words]
        every_row.__signature__ = asked.replace(parameters=left)  # type: ignore[attr-defined]
        return every_row

    return one_test_of


def _read(
    words: Sequence[str], rows: Sequence[Any], ids: Callable[[Any], Any] | Iterable[str] | None
) -> Iterator[tuple[str | None, dict[str, Any]]]:
    given = [*ids] if ids is not None and not callable(ids) else None
    for number, row in enumerate(rows):
        # a row with a name of its own is one that pytest.param made
        own = getattr(row, "id", None) if hasattr(row, "marks") else None
        values = row.values if hasattr(row, "marks") else (row,) if len(words) == 1 else tuple(row)
        assert len(values) == len(words), f"row {number} has {len(values)} values for {', '.join(words)}"
        shown = ids(values[0]) if callable(ids) else None
        name = given[number] if given else own or shown
        yield name and str(name), dict(zip(words, values, strict=True))
