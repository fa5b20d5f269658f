"""What stands in a run directory of probes is what was asked, and nothing in it is trusted."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from builders import make_chunk
from probed import make_probe
from raggate.errors import UsageError
from raggate.models.run import Leak, ProbeAnswer
from raggate.pipeline import probe_rows
from raggate.service.answer_limits import MAX_NAME
from tables import each_row


def read(data: bytes) -> Sequence[ProbeAnswer]:
    """Read the content of a file."""
    return probe_rows.read(io.BytesIO(data), "probes.jsonl")


def test_what_is_written_is_read() -> None:
    """Probes, answers and failures come back as they were, whatever letters they hold; each on a line of its own."""
    answers = (
        make_probe("spelling", make_chunk(), question="WHAT\x1b[31m\u2028?", variant="capitals"),
        replace(make_probe("heading", make_chunk()), strange_texts=(0,), leaks=(Leak(rank=1, note="work/b.md"),)),
        make_probe("principal", failed=True, principal="anna"),
    )
    stored = probe_rows.write(answers, full_text=False)
    assert read(stored) == answers
    assert len(stored.splitlines()) == 3
    assert b"\x1b" not in stored


def test_long_texts_are_cut_as_those_of_the_suite() -> None:
    """A chunk's text is kept to 200 characters and a hash, or whole where that is asked for."""
    (answer,) = answers = (make_probe("heading", make_chunk(text="x" * 201)),)
    (again,) = read(probe_rows.write(answers, full_text=False))
    assert again.result.response is not None
    (chunk,) = again.result.response.chunks
    assert (chunk.text, len(chunk.text_hash or "")) == ("x" * 200 + "...", 32)
    assert read(probe_rows.write(answers, full_text=True)) == (answer,)


@each_row(
    ("old", "new", "words"),
    [
        (b'"kind":"heading"', b'"kind":"other"', "probes.jsonl:1: not a probe: probe.kind"),
        (b'"mode":"hybrid"', b'"mode":7', "probes.jsonl:1: not a probe: probe.mode"),
        (b'"failure":null', b'"failure":{"kind":"status","message":"no"}', "expected either a response or a failure"),
        (b'"chunk_id":"c1"', b'"chunk_id":"' + b"c" * (MAX_NAME + 1) + b'"', "chunk_id of chunk 1: expected at most"),
        (b'"strange_texts":[]', b'"strange_texts":[1]', "probes.jsonl:1: the labels do not fit the retrieved chunks"),
        (b'"leaks":[]', b'"leaks":[{"rank":2,"note":"a"}]', "probes.jsonl:1: the labels do not fit"),
        (b"{", b"[", "probes.jsonl:1"),
    ],
)
def test_what_is_no_probe_is_refused(old: bytes, new: bytes, words: str) -> None:
    """A row that does not hold what it should is named by its line."""
    stored = probe_rows.write((make_probe("heading", make_chunk()),), full_text=False)
    assert old in stored
    with pytest.raises(UsageError) as caught:
        read(stored.replace(old, new, 1))
    assert words in caught.value.message


def test_a_row_from_before_texts_were_looked_up() -> None:
    """A run directory of an earlier version is read; nothing is known of its texts."""
    answers = (make_probe("heading", make_chunk()),)
    row = json.loads(probe_rows.write(answers, full_text=True))
    del row["strange_texts"], row["leaks"]
    assert read(json.dumps(row).encode()) == answers


def test_neither_a_response_nor_a_failure_is_none() -> None:
    """An answer is one of both."""
    answer = make_probe("heading", make_chunk())
    neither = replace(answer, result=replace(answer.result, response=None))
    with pytest.raises(UsageError, match="either a response or a failure"):
        read(probe_rows.write((neither,), full_text=True))
