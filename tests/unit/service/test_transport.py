"""Server-sent events out of pieces."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, strategies as st

from raggate.service.transport import Events
from tables import each_row

STREAM = b': hi\r\n\r\nid: 1\ndata:\n\nevent: message\ndata: {"a":\ndata: 1}\n\ndata:two\r\rretry: 5\n\ndata: not whole'


def read(*pieces: bytes) -> list[tuple[str, bytes]]:
    events = Events()
    return [event for piece in pieces for event in events.feed(piece)]


@each_row(
    ("stream", "events"),
    [
        (b"", []),
        (b"data: a\n\n", [("message", b"a")]),
        (b"data:a\r\ndata: b\r\n\r\n", [("message", b"a\nb")]),
        (b"data: a\n", []),
        (b": a\n\nevent: x\n\n", []),
        (b"data\n\n", [("message", b"")]),
        (b"event: hit\ndata: a\n\ndata: b\n\n", [("hit", b"a"), ("message", b"b")]),
        (b"\xef\xbb\xbfdata: a\n\n", [("message", b"a")]),
        (STREAM, [("message", b""), ("message", b'{"a":\n1}'), ("message", b"two")]),
    ],
)
def test_events_are_read(stream: bytes, events: list[tuple[str, bytes]]) -> None:
    """Every event that is whole gives name and data; comments, what has no data and what is unfinished give nothing."""
    assert read(stream) == events


@given(st.lists(st.integers(0, len(STREAM)), max_size=6), st.binary(max_size=30))
def test_it_does_not_matter_where_a_stream_is_cut(cuts: list[int], more: bytes) -> None:
    """The same events come of any pieces, line ends of two characters included."""
    whole = STREAM + more
    places = [0, *sorted(cuts), len(whole)]
    pieces = [whole[start:end] for start, end in pairwise(places)]
    assert read(*pieces) == read(whole)
