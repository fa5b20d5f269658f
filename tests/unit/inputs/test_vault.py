"""The fixture vault: which files are notes, what is refused, what its hash tells."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from builders import make_support
from raggate.base.errors import CannotTell, UsageError
from raggate.inputs import vault
from raggate.models.golden import Support
from raggate.models.verdict import SourceLine


def write(directory: Path, notes: dict[str, bytes]) -> Path:
    """Write files below a directory."""
    for name, content in notes.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return directory


def refusal(directory: Path) -> str:
    """Return the message with which a vault is refused."""
    with pytest.raises(UsageError) as caught:
        vault.load({"work": directory})
    return str(caught.value)


def test_notes_of_all_vaults(tmp_path: Path) -> None:
    """All Markdown files of all vaults are notes, by vault and path; the same path may stand in both."""
    work = write(tmp_path / "w", {"a.md": b"one", "docs/b.md": b"two"})
    personal = write(tmp_path / "p", {"a.md": b"three"})
    loaded = vault.load({"work": work, "personal": personal})
    assert loaded.texts == {("work", "a.md"): "one", ("work", "docs/b.md"): "two", ("personal", "a.md"): "three"}
    assert sorted(loaded.notes) == ["personal/a.md", "work/a.md", "work/docs/b.md"]
    assert loaded.directories == {"work": work, "personal": personal}


def test_not_a_note(tmp_path: Path) -> None:
    """Other files, the editor's own directory, what a linked directory holds and empty files are no notes."""
    names = ("b.txt", "b.MD", "b.md.bak", ".obsidian/b.md", "docs/.obsidian/b.md")
    directory = write(tmp_path / "v", {"a.md": b"\n", **dict.fromkeys(names, b"y"), "empty.md": b""})
    (directory / "linked").symlink_to(write(tmp_path / "other", {"b.md": b"y"}))
    assert set(vault.load({"work": directory}).texts) == {("work", "a.md")}


@pytest.mark.parametrize(
    ("content", "place"),
    [
        pytest.param(b"\xef\xbb\xbf# \xc3\x84\n", None, id="UTF-8"),
        pytest.param("# A\n\nZürich\n".encode("latin1"), (6, 3), id="another encoding"),
        pytest.param(b"\xef\xbb\xbf\xff", (3, 1), id="behind a byte order mark"),
        pytest.param(b"a\xc3", (1, 1), id="cut within a character"),
    ],
)
def test_what_is_not_utf8_is_placed(tmp_path: Path, content: bytes, place: tuple[int, int] | None) -> None:
    """The first byte that is no UTF-8 is known by its offset in the file and its line, and a run names the note."""
    loaded = vault.load({"work": write(tmp_path, {"a.md": content})})
    lines: list[str] = []
    vault.say_malformed(loaded, lines.append)
    if place is None:
        assert (loaded.malformed, lines) == ({}, [])
        return
    assert loaded.malformed == {("work", "a.md"): place}
    assert lines == [f"note work/a.md is not UTF-8 at byte {place[0]}; what cannot be read became \ufffd"]


def test_a_folder_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Notes that nobody can look at are no notes that are not there."""
    listed = os.scandir
    write(tmp_path, {"a.md": b"# A", "private/b.md": b"# B"})

    def closed(place: str) -> object:
        if Path(place).name == "private":
            raise PermissionError(errno.EACCES, "Permission denied", place)
        return listed(place)

    monkeypatch.setattr(os, "scandir", closed)
    assert refusal(tmp_path) == "vault 'work': folder private cannot be read: Permission denied"


@pytest.mark.parametrize(("names", "refused"), [(4, False), (5, True)])
def test_the_notes_of_a_change_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: int, refused: bool
) -> None:
    """One note under many names takes so much memory beyond the notes that it would be beside, and no more."""
    monkeypatch.setattr(vault, "MOST_NEW_BYTES", 3 << 20)
    trusted = vault.load({"work": write(tmp_path / "base", {"a.md": b"x" * (1 << 20)})})
    change = write(tmp_path / "change", {f"{name}.md": b"x" * ((1 << 20) - 100) for name in range(names)})
    if refused:
        with pytest.raises(CannotTell, match="its notes take 3 MiB more memory than those of the base"):
            vault.load({"work": change}, trusted)
    else:
        assert len(vault.load({"work": change}, trusted).texts) == names


@pytest.mark.parametrize(("levels", "refused"), [(200, False), (201, True)])
def test_folders_without_end(tmp_path: Path, levels: int, refused: bool) -> None:
    """Folders that lie inside one another are followed so far and no further."""
    write(tmp_path, {f"{'d/' * levels}a.md": b"# A"})
    if refused:
        assert refusal(tmp_path) == "vault 'work': folders lie more than 200 deep inside one another"
    else:
        assert len(vault.load({"work": tmp_path}).texts) == 1


def test_hash(tmp_path: Path) -> None:
    """The hash of a vault changes with its notes and with nothing else."""
    directory = write(tmp_path, {"a.md": b"one", "docs/b.md": b"two"})
    before = vault.load({"work": directory}).hash
    assert vault.load({"work": write(directory, {"c.md": b""})}).hash == before
    assert vault.load({"work": write(directory, {"a.md": b"other"})}).hash != before


def test_no_note_at_all(tmp_path: Path) -> None:
    """Vaults without a single note measure nothing and are refused."""
    assert refusal(write(tmp_path, {"a.txt": b"x", "b.md": b""})) == "the vault has no note"


def test_link_out_of_the_vault(tmp_path: Path) -> None:
    """A note that is a link to a file outside is refused, so that no other file is read into a report."""
    directory = write(tmp_path / "v", {"a.md": b"x"})
    write(tmp_path, {"secret.md": b"s"})
    (directory / "docs").mkdir()
    (directory / "docs" / "b.md").symlink_to("../../secret.md")
    assert refusal(directory) == "vault 'work': docs/b.md is a link that leaves the vault"


@pytest.mark.parametrize("kind", ["dangling", "loop", "pipe"])
def test_no_file(tmp_path: Path, kind: str) -> None:
    """A link to nothing, a link to itself and a pipe are named, and none of them hangs or crashes the reader."""
    path = write(tmp_path, {"a.md": b"x"}) / "b.md"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("b.md" if kind == "loop" else "nowhere.md")
    assert refusal(tmp_path) == "vault 'work': b.md is neither a file nor a link to one"


def test_large_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A note that is too large is refused before it is read."""
    monkeypatch.setattr(vault, "MAX_NOTE_BYTES", 4)
    assert vault.load({"work": write(tmp_path, {"a.md": b"1234"})}).texts["work", "a.md"] == "1234"
    assert refusal(write(tmp_path, {"a.md": b"12345"})) == "vault 'work': a.md is larger than 4 bytes"


@pytest.mark.parametrize(
    ("support", "vaults", "expected"),
    [
        (make_support("a.md", "# T > ## B"), ("work",), SourceLine(path="golden/w/a.md", line=3)),
        (make_support("a.md", None, vault="personal"), ("work",), SourceLine(path="p/a.md", line=1)),
        (make_support("only.md", "# X"), (), SourceLine(path="p/only.md", line=1)),
        (make_support("nowhere.md", "# X"), ("work",), None),
    ],
)
def test_place(tmp_path: Path, support: Support, vaults: tuple[str, ...], expected: SourceLine | None) -> None:
    """A gold support stands at a line of a file: of its own vault, of the case's, or of that which has the note."""
    work = write(tmp_path / "w", {"a.md": b"# T\n\n## B\n"})
    personal = write(tmp_path / "p", {"a.md": b"# T\n", "only.md": b"# X\n"})
    notes = vault.load({"work": work, "personal": personal})
    assert vault.locate(notes, support, vaults, {"work": "./golden/w/", "personal": "p"}) == expected


@pytest.mark.parametrize("name", [b"caf\xe9.md", b"\xff/a.md"])
def test_a_name_that_is_not_utf8(name: bytes, tmp_path: Path) -> None:
    """A note whose name or folder is not UTF-8 is a usage error that names it in characters that print."""
    place = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    place.parent.mkdir(exist_ok=True)
    place.write_text("# A\n", encoding="utf-8")
    with pytest.raises(
        UsageError, match=r"^vault 'v': the name of note \\x|^vault 'v': the name of note caf\\xe9\.md"
    ) as caught:
        vault.load({"v": tmp_path})
    assert str(caught.value).encode().decode().isprintable()
