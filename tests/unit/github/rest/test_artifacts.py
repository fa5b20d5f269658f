"""Archives that anybody may have made: what is taken from them, and that nothing else comes of them."""

from __future__ import annotations

import gzip
import io
import random
import struct
import time
import tracemalloc
import zipfile
from unittest import mock

import pytest
from hypothesis import given, strategies as st

from raggate.base.errors import CannotTell
from raggate.github.rest import artifacts
from raggate.github.rest.artifacts import FILES, unpack
from tables import each_row
from tries import tried

GOOD = {"config.json": b"{}", "golden.jsonl": b"{}\n" * 50, "results.jsonl": b""}
LIMIT = 1 << 20


def packed(files: dict[str, bytes], *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Pack files in a usual way."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def one(name: str = "config.json", content: bytes = b"{}", *, mode: int = 0o100644, twice: bool = False) -> bytes:
    """Pack one entry whose name and mode are what they are told to be, beside a good one."""
    info = zipfile.ZipInfo(name)
    info.filename, info.external_attr = name, mode << 16
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("results.jsonl", b"")
        archive.writestr(info, content)
        if twice:
            archive.filelist[-1].filename = "x"
            archive.NameToInfo.clear()
            archive.writestr("config.json", b"[]")
            archive.filelist[-2].filename = "config.json"
    return stream.getvalue()


def changed(data: bytes, offset: int, form: str, value: int) -> bytes:
    """Change a field of the first entry in the central directory."""
    start = data.index(b"PK\x01\x02") + offset
    return data[:start] + struct.pack(form, value) + data[start + struct.calcsize(form) :]


def overlapping() -> bytes:
    """Return an archive whose entries all stand for the bytes of the first."""
    data = packed(dict.fromkeys(("config.json", "aside.json"), b"x" * 5000))
    second = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 4)
    return data[: second + 42] + struct.pack("<I", 0) + data[second + 46 :]


@each_row("folder", ["", "run/", "20260101_000000/"])
@each_row("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_run_directory(folder: str, method: int) -> None:
    """The files of a run directory come out as they went in, from the top or from one folder, and others do not."""
    files = {f"{folder}{name}": content for name, content in GOOD.items()}
    assert unpack(packed({**files, f"{folder}log.txt": b"x", f"{folder}a/config.json": b"x"}, method=method))[0] == GOOD


HOSTILE = {
    "nothing": (b"", "not a zip"),
    "no zip": (b'{"verdict": "pass"}', "not a zip"),
    "gzip": (b"\x1f\x8b\x08" + bytes(50), "not a zip"),
    "only a start": (b"PK\x03\x04" + bytes(100), "broken"),
    "empty": (packed({}), "no file of a run directory"),
    "nothing expected": (packed({"x.txt": b""}), "no file of a run directory"),
    "traversal": (one("../config.json"), "lead out"),
    "traversal inside": (one("a/../../config.json"), "lead out"),
    "absolute": (one("/config.json"), "absolute"),
    "backslash": (one("..\\config.json"), "backslash"),
    "drive": (one("C:config.json"), "lead out"),
    "NUL": (changed(packed({"config.jsonX": b""}), 46 + 11, "B", 0), "control"),
    "empty part": (one("a//config.json"), "empty part"),
    "link": (one(content=b"/etc/passwd", mode=0o120777), "a link"),
    "device": (one(mode=0o020666), "a link"),
    "directory that is none": (one(mode=0o040755), "a link"),
    "encrypted": (changed(packed(GOOD), 8, "<H", 1), "encrypted"),
    "unsupported": (changed(packed(GOOD), 10, "<H", 14), "not supported"),
    "other name in its header": (packed(GOOD).replace(b"config.json", b"Config.json", 1), "broken"),
    "wrong CRC": (changed(packed(GOOD), 16, "<I", 1), "broken"),
    "truncated": (packed(GOOD)[:-30], "broken"),
    "smaller than it says": (changed(packed({"config.json": b"x" * 900}), 24, "<I", 901), "size"),
    "larger than it says": (changed(packed({"config.json": bytes(900)}), 24, "<I", 10), "broken"),
    "declared too large": (changed(packed(GOOD), 24, "<I", LIMIT + 1), "grow|more than"),
    "in all too large": (packed({"a": b"x" * LIMIT, "config.json": b"x"}, method=0), "is larger than"),
    "ratio": (packed({"config.json": bytes(LIMIT + 1)}), "times as large"),
    "ratio beside": (packed({"a": bytes(LIMIT + 1), "config.json": b""}), "times as large"),
    "overlapping": (overlapping(), "overlap"),
    "twice": (one(twice=True), "twice"),
    "answers twice": (
        packed({**GOOD, "results.jsonl.gz": gzip.compress(b"")}),
        "has results.jsonl and results.jsonl.gz",
    ),
    "answers cut": (packed({"results.jsonl.gz": gzip.compress(b"x")[:-1]}), "results.jsonl.gz.: not a whole gzip file"),
    "answers of nothing": (packed({"results.jsonl.gz": b""}), "results.jsonl.gz.: not a whole gzip file"),
    "answers not packed": (packed({"results.jsonl.gz": b"{}"}), "results.jsonl.gz.: not a whole gzip file"),
    "answers too large": (
        packed({"results.jsonl.gz": gzip.compress(bytes(LIMIT + 1))}, method=0),
        "results.jsonl.gz.: it unpacks to more than",
    ),
    "central entry elsewhere": (changed(packed(GOOD), 42, "<I", 0x7FFFFFFF), "broken"),
}


@pytest.mark.parametrize(("data", "reason"), HOSTILE.values(), ids=HOSTILE)
def test_hostile(data: bytes, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive with anything suspicious in it is refused as a whole, with the reason."""
    monkeypatch.setattr(artifacts, "MOST_BYTES", LIMIT)
    with pytest.raises(CannotTell, match=reason):
        unpack(data)


@each_row("name", ["config.json", "probes.jsonl"])
@each_row("folder", ["", "run/"])
def test_a_file_larger_than_it_can_be(name: str, folder: str) -> None:
    """What is parsed, or held in memory, as a whole has a bound of its own."""
    with mock.patch.dict(artifacts.MOST, {name: 100}):
        assert unpack(packed({f"{folder}{name}": b"x" * 100}))[0] == {name: b"x" * 100}
        with pytest.raises(CannotTell, match=f"entry '{name}': larger than 100 bytes"):
            unpack(packed({f"{folder}{name}": b"x" * 101}))


def test_very_many_entries() -> None:
    """An archive of 100,000 entries is refused before there is an object for each."""
    record = b"PK\x01\x02" + bytes(24) + struct.pack("<H", 1) + bytes(16) + b"x"
    directory = record * 100_000
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(directory), 4, 0)
    data = b"PK\x03\x04" + directory + end
    start = time.monotonic()
    tracemalloc.start()
    with pytest.raises(CannotTell, match="more than 5000 entries"):
        unpack(data)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1 << 20
    assert time.monotonic() - start < 5


def test_names_are_shown_harmlessly() -> None:
    """A hostile name does not reach the message with control characters."""
    with pytest.raises(CannotTell) as caught:
        unpack(one("\x1b[31m\n::error::x\u202e"))
    assert not {"\x1b", "\n", "\u202e"} & set(caught.value.message)


@tried(80, deadline=2000)
@given(
    base=st.sampled_from([packed(GOOD), packed(GOOD, method=0), overlapping(), one("../x"), b"PK\x05\x06" + bytes(18)]),
    changes=st.lists(st.tuples(st.integers(0, 1000), st.binary(min_size=1, max_size=4)), max_size=6),
    cut=st.integers(0, 40),
)
def test_whatever_the_bytes(base: bytes, changes: list[tuple[int, bytes]], cut: int) -> None:
    """Whatever the bytes, the archive is refused or gives only expected names within the limit."""
    data = bytearray(base)
    for place, content in changes:
        start = place % len(base)
        data[start : start + len(content)] = content
    try:
        with mock.patch.object(artifacts, "MOST_BYTES", 500):
            found = unpack(bytes(data[: len(data) - cut]))
    except CannotTell:
        return
    assert all(set(files) <= set(FILES) for files in found)
    assert sum(len(content) for files in found for content in files.values()) <= 500


RUN = {"config.json": b"{}", "results.jsonl": b"x"}


@each_row(
    ("folders", "runs"),
    [
        ([""], 1),
        (["a"], 1),
        (["a", "b"], 2),
        (["services/a/.raggate/runs/1", "services/b/.raggate/runs/1"], 2),
        (["a", "a/preview", "a-b", "a/b/c"], 2),
        (["", "a"], 1),
        (["a/b", "a/c", "a.b"], 3),
    ],
)
def test_the_runs_of_several_suites(folders: list[str], runs: int) -> None:
    """Each folder with files of a run directory is one, and what lies in such a folder is a part of it and no other."""
    files = {f"{folder}/{name}".lstrip("/"): data for folder in folders for name, data in RUN.items()}
    assert unpack(packed({**files, "other/trace.jsonl": b"{}"})) == (RUN,) * runs


def test_several_suites_have_one_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many folders there are, together they unpack to no more than one artifact may."""
    monkeypatch.setattr(artifacts, "MOST_BYTES", LIMIT)
    large = {f"{folder}/results.jsonl": bytes(range(256)) * (LIMIT // 512) for folder in "abc"}
    assert len(unpack(packed(dict([*large.items()][:2]), method=zipfile.ZIP_STORED))) == 2
    with pytest.raises(CannotTell, match="larger than"):
        unpack(packed(large, method=zipfile.ZIP_STORED))


def test_packed_answers_of_several_suites_have_one_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers that are packed once more count by what they unpack to, those of all runs together."""
    answers = random.Random(1).randbytes(LIMIT // 2 - 1000)  # noqa: S311 - no secret
    runs = {f"{folder}/{artifacts.PACKED_RESULTS}": gzip.compress(answers) for folder in "ab"}
    monkeypatch.setattr(artifacts, "MOST_BYTES", LIMIT)
    assert unpack(packed(runs)) == ({artifacts.RESULTS: answers},) * 2
    # the answers of the second run are few bytes in the archive, and too many beside those of the first
    more = {**runs, f"b/{artifacts.PACKED_RESULTS}": gzip.compress(bytes(LIMIT // 2 + 2000))}
    with pytest.raises(CannotTell, match="unpacks to more than"):
        unpack(packed(more))
