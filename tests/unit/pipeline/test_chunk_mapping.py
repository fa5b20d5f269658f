"""One answer -> how its chunks are read: what somebody said before what is recognised."""

from __future__ import annotations

import pytest

from raggate.errors import UsageError
from raggate.pipeline.chunk_mapping import Wanted, check_fields, chunks_of, shape_of

ROOT = {"hits": [{"where": "/v/Keys.md", "body": "a"}, {"where": "/v/Food.md", "body": "b"}]}


def test_what_somebody_said_counts() -> None:
    """A part that was named takes the place of the one that was recognised; the rest stays."""
    wanted = Wanted(url="", question="q", notes={"Keys.md": (), "Food.md": ()}, fields={"text": "where"})
    shape = shape_of(ROOT, wanted)
    assert shape is not None
    assert chunks_of(shape, ROOT, wanted) == {
        "list": "hits",
        "rel_path": "where",
        "path_prefix": "/v/",
        "text": "where",
    }


def test_nothing_names_the_note() -> None:
    """The texts that there are are named, and how one of them is said to be it."""
    wanted = Wanted(url="", question="q")
    shape = shape_of(ROOT, wanted)
    assert shape is not None
    with pytest.raises(UsageError, match="its texts are where and body"):
        chunks_of(shape, ROOT, wanted)


def test_a_part_that_no_chunk_has() -> None:
    """A misspelt part is named with the nearest."""
    with pytest.raises(UsageError, match="did you mean 'rel_path'"):
        check_fields(Wanted(url="", question="q", fields={"relpath": "x"}))
