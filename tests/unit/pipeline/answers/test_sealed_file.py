"""A file of kept answers is believed as a whole, as whoever has the key has written it, or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from builders import make_chunk, make_response, make_result
from raggate.errors import UsageError
from raggate.models.provenance import KeptFrom
from raggate.pipeline.answers import sealed_file
from raggate.pipeline.answers.sealed_file import Header

KEY = b"k" * 32
HEADER = Header(origin=KeptFrom(run="20260102_030405", asked="2026-01-02T03:04:05Z"), index={"chunks": 3})
TEXTS = ("a\u2028", "bü")
RESULTS = tuple(make_result(case_id=text[0], response=make_response(make_chunk(text=text))) for text in TEXTS)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with two answers."""
    path = tmp_path / "kept.answers"
    sealed_file.write(path, KEY, HEADER, zip(("mark-a", "mark-b"), RESULTS, strict=True))
    return path


def test_what_is_written_is_read(file: Path) -> None:
    """Each answer is there under the mark of its request, with the run that gave it; nothing else is."""
    kept = sealed_file.read(file, KEY)
    assert kept is not None
    assert kept.header == HEADER
    found = kept.at("mark-b")
    assert found is not None
    assert found.response == RESULTS[1].response
    assert kept.at("mark-c") is kept.at(None) is None
    assert sealed_file.read(file.with_name("other"), KEY) is None


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-30])


def _unsealed(path: Path) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


def _edited(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"rank":', b'"rank": ', 1))


def _without_a_line(path: Path) -> None:
    first, _, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([first, *rest]))


def _linked(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _another_key(path: Path) -> None:
    sealed_file.write(path, b"x" * 32, HEADER, [("mark-a", RESULTS[0])])


def test_a_file_of_another_image_is_no_file_of_this_one(file: Path) -> None:
    """What was sealed under one name, which says what answers depend on, is not believed under another one."""
    copied = file.with_name("other.answers")
    copied.write_bytes(file.read_bytes())
    with pytest.raises(UsageError, match="renamed"):
        sealed_file.read(copied, KEY)
    assert sealed_file.read(file, KEY) is not None


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (_cut, "it ends without its seal"),
        (_unsealed, "it ends without its seal"),
        (_edited, "its seal is not that of this key"),
        (_without_a_line, "its seal is not that of this key"),
        (_another_key, "its seal is not that of this key"),
        (_linked, "symbolic link"),
        (_pipe, "no file"),
        (_folder, "no file"),
        (lambda path: path.write_bytes(path.read_bytes() + b"more"), "it goes on behind its seal"),
        (lambda path: path.write_bytes(b""), "it ends without its seal"),
        (lambda path: path.write_bytes(b"[" * 100_000), "it ends without its seal"),
        (lambda path: path.write_bytes(b"{}\nseal \xff\n"), "its seal is not that of this key"),
    ],
)
def test_a_hostile_file_is_refused(file: Path, harm: Callable[[Path], None], words: str) -> None:
    """What is cut, edited, sealed by another key, a link, a pipe, a folder or no JSON is refused in one sentence."""
    harm(file)
    with pytest.raises(UsageError, match=words):
        sealed_file.read(file, KEY)


def test_a_file_and_its_lines_are_bounded(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing larger than its bound is read, nor a line that does not end within it."""
    monkeypatch.setattr(sealed_file, "MOST_LINE", 50)
    with pytest.raises(UsageError, match="without its seal"):
        sealed_file.read(file, KEY)
    monkeypatch.setattr(sealed_file, "MOST_BYTES", 100)
    with pytest.raises(UsageError, match="larger than 100 bytes"):
        sealed_file.read(file, KEY)


@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_bit_that_is_changed_is_seen(tmp_path_factory: pytest.TempPathFactory, place: float, bit: int) -> None:
    """Whichever bit of a file is another one, the whole of it is refused."""
    path = tmp_path_factory.mktemp("bits") / "kept.answers"
    sealed_file.write(path, KEY, HEADER, zip(("mark-a", "mark-b"), RESULTS, strict=True))
    data = bytearray(path.read_bytes())
    data[int(place * len(data))] ^= 1 << bit
    path.write_bytes(data)
    with pytest.raises(UsageError):
        sealed_file.read(path, KEY)
