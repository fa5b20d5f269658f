"""JSON that is nested thousands of levels deep is refused by its place, whoever has written the file."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from raggate.base.errors import UsageError
from raggate.github.untrusted_run import without_results
from raggate.judges import canary, cassette
from raggate.judges.replies import parse
from raggate_interop.trec_beir import rankings

DEEP = b'{"id": "x", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
LIST = b"[" * 900 + b"]" * 900 + b"\n"


@pytest.mark.parametrize("line", [DEEP, LIST])
@pytest.mark.parametrize(
    "read",
    [
        cassette.read,
        canary.read,
        lambda line, place: rankings._read_other(line, f"{place}:1"),
    ],
)
def test_a_deep_row_is_refused_by_its_line(read: Callable[[bytes, str], object], line: bytes) -> None:
    """The refusal is a usage error that names file and line."""
    with pytest.raises(UsageError, match=r"rows.jsonl:1"):
        read(line, "rows.jsonl")


def test_a_deep_reply_of_a_judge_is_no_grade() -> None:
    """A judge's reply that is nested without end is a reply that cannot be read."""
    with pytest.raises(ValueError, match="expected one JSON object"):
        parse(DEEP.decode()[:9_000], cassette.Line)


def test_a_deep_verdict_of_a_fork_says_nothing() -> None:
    """A verdict.json of a fork that cannot be read is one of a run that measured nothing."""
    assert without_results(DEEP, "small").exit_code == 3
