"""A workflow run's artifact: found by what GitHub lists, downloaded as GitHub received it, and unpacked within bounds.

Anybody may have made the zip archive: its files are data.
"""

from __future__ import annotations

import hashlib
import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from raggate.base.dates import days_between
from raggate.base.errors import CannotTell
from raggate.base.files import unzipped
from raggate.base.jsonio import fields
from raggate.base.quote import cut, quoted
from raggate.github.rest.repository import Repository
from raggate.pipeline import result_rows

RESULTS, PACKED_RESULTS = result_rows.PLAIN, result_rows.RESULTS
"""The answers of a run: what is packed in the artifact is given unpacked."""

FILES = ("config.json", "golden.jsonl", RESULTS, PACKED_RESULTS, "probes.jsonl", "verdict.json")
"""The names that are taken; nothing else in an artifact is even unpacked."""

MOST_BYTES = 128 << 20
MOST_ENTRIES = 5000
MOST_RATIO = 200
"""The most unpacked bytes for each packed one, in an entry of more than 1 MiB."""

MOST_CONFIG_BYTES, MOST_PROBES_BYTES = 16 << 20, 64 << 20
MOST = {"config.json": MOST_CONFIG_BYTES, "probes.jsonl": MOST_PROBES_BYTES}
"""Bytes that are taken of these files, as they are parsed or held as a whole."""
_RATIO_FROM_BYTES = 1 << 20
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_LOCAL_MARK, _CENTRAL_MARK, _EMPTY_MARK = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1 | 0x40 | 0x2000
_NAME = re.compile(r"[^/\\\x00-\x1f\x7f]+(/[^/\\\x00-\x1f\x7f]+)*/?")
_DRIVE = re.compile(r"[A-Za-z]:")
_HINT = "raggate reads only a run directory as actions/upload-artifact packed it."
# whatever zipfile may raise for bytes that are not what it expects
_BAD_BYTES = (zipfile.BadZipFile, zlib.error, struct.error, EOFError)
_BROKEN = (*_BAD_BYTES, RuntimeError, OSError, ValueError, LookupError, ArithmeticError)
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})", re.IGNORECASE)
_AGAIN = "Run the workflow again: artifacts are kept for a limited time only."


class Artifact(Struct, frozen=True, kw_only=True):
    """An artifact, as GitHub lists it; an `object` is not checked yet. The digest is None if GitHub has none."""

    id: int
    name: str
    run: int
    size: object
    expired: object
    digest: object


def find(repository: Repository, run: int, name: str, *, since: str = "") -> Artifact | None:
    """Find the newest artifact of a name that a workflow run left; None if it left none.

    `since` is when the attempt started that left it, as a run keeps those of its earlier attempts; empty if any will
    do.
    """
    path = f"{repository.path}/actions/runs/{run}/artifacts"
    listed = map(fields, repository.github.pages(path, key="artifacts", name=name))
    # a server that does not know the parameter gives all of them
    named = (item for item in listed if item.get("name") == name and type(item.get("id")) is int)
    counted = (item for item in named if not since or _not_before(item.get("created_at"), since))
    newest = max(counted, key=lambda item: (str(item.get("created_at") or ""), item["id"]), default=None)
    if newest is None:
        return None
    return Artifact(
        id=newest["id"],
        name=name,
        run=run,
        size=newest.get("size_in_bytes"),
        expired=newest.get("expired"),
        digest=newest.get("digest"),
    )


def download(repository: Repository, artifact: Artifact) -> tuple[Mapping[str, bytes], ...]:
    """Download an artifact as `find` gave it, and take the run directories from it; see `unpack`."""
    which = f"the artifact {quoted(artifact.name, limit=80)} of run {artifact.run}"
    if artifact.expired is not False:
        raise CannotTell(f"{which} has expired", hint=_AGAIN)
    if type(artifact.size) is not int or artifact.size > MOST_BYTES:
        shown = cut(repr(artifact.size), limit=40)
        raise CannotTell(f"{which} is too large: at most {MOST_BYTES} bytes are taken, found {shown}")
    data = repository.github.download(f"{repository.path}/actions/artifacts/{artifact.id}/zip", limit=MOST_BYTES)
    _verify(data, artifact.digest, which)
    return unpack(data)


def _not_before(created: object, since: str) -> bool:
    elapsed = days_between(since, created)
    return elapsed is not None and elapsed >= 0


def _verify(data: bytes, digest: object, which: str) -> None:
    if digest is None:
        return
    expected = _DIGEST.fullmatch(digest) if isinstance(digest, str) else None
    if expected is None:
        raise CannotTell(f"{which}: expected a digest `sha256:...`, found {cut(repr(digest), limit=100)}")
    if hashlib.sha256(data).hexdigest() != expected[1].lower():
        raise CannotTell(f"{which} is not what GitHub received: its sha256 digest differs", hint=_AGAIN)


def unpack(data: bytes) -> tuple[Mapping[str, bytes], ...]:
    """Take the files of every run directory from a zip archive, by the names of their folders. None lies in another.

    An archive with anything suspicious in it is refused as a whole. Each run has names of `FILES` and their contents;
    answers are given as `RESULTS`, also if they were packed.
    """
    if not data.startswith((_LOCAL_MARK, _EMPTY_MARK)):
        raise _refusal("it is not a zip archive")
    # looked for before zipfile makes an object of every entry: it believes no count, so each entry has this mark
    if data.count(_CENTRAL_MARK) > MOST_ENTRIES:
        raise _refusal(f"it has more than {MOST_ENTRIES} entries")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            _check(entries)
            _check_places(data, entries, archive.start_dir)
            runs = tuple(_read(archive, _folders(entries)))
    except _BROKEN as error:
        raise _refusal(f"it is broken ({type(error).__name__}: {cut(error, limit=120)})") from error
    return tuple(_with_results(runs))


def _check(entries: Sequence[zipfile.ZipInfo]) -> None:
    names: set[str] = set()
    for entry in entries:
        problem = _problem(entry)
        if entry.orig_filename in names:
            problem = "the name occurs twice"
        if problem:
            raise _refusal(f"entry {quoted(entry.orig_filename, limit=80)}: {problem}")
        names.add(entry.orig_filename)
    if sum(entry.file_size for entry in entries) > MOST_BYTES:
        raise _refusal(f"it is larger than {MOST_BYTES} bytes")


def _problem(entry: zipfile.ZipInfo) -> str:
    """Return what is wrong with an entry by what the archive says of it; empty for nothing."""
    name, kind = entry.orig_filename, stat.S_IFMT(entry.external_attr >> 16)
    if entry.filename != name or not _NAME.fullmatch(name):
        return "the name is absolute, or has a backslash, an empty part or a control character, or is not the only one"
    if {".", ".."} & set(name.split("/")) or _DRIVE.match(name):
        return "the name may lead out of a directory"
    if kind not in {0, stat.S_IFREG, stat.S_IFDIR} or (kind == stat.S_IFDIR and not entry.is_dir()):
        return "it is a link or another thing that is no file"
    if entry.flag_bits & _ENCRYPTED:
        return "it is encrypted"
    if entry.compress_type not in _METHODS:
        return f"it is packed in a way that is not supported ({entry.compress_type})"
    if entry.file_size > _RATIO_FROM_BYTES and entry.file_size > MOST_RATIO * entry.compress_size:
        return f"unpacked it would be more than {MOST_RATIO} times as large"
    return ""


def _check_places(data: bytes, entries: Sequence[zipfile.ZipInfo], end: int) -> None:
    """See that no two entries share bytes, by which few bytes could stand for many."""
    spans = sorted(_span(data, entry) for entry in entries)
    starts = [start for start, _ in spans[1:]]
    if any(stop > following for (_, stop), following in zip(spans, [*starts, end], strict=False)):
        raise _refusal("its entries overlap")


def _span(data: bytes, entry: zipfile.ZipInfo) -> tuple[int, int]:
    start = entry.header_offset
    # an entry that lies outside of the archive is a struct.error
    mark, name_size, extra_size = _LOCAL_HEADER.unpack_from(data, start)
    if mark != _LOCAL_MARK:
        raise zipfile.BadZipFile("an entry has no header")
    return start, start + _LOCAL_HEADER.size + name_size + extra_size + entry.compress_size


def _folders(entries: Sequence[zipfile.ZipInfo]) -> list[dict[str, zipfile.ZipInfo]]:
    """Return the folders that hold files of a run directory, but those inside of such a folder."""
    by_folder: dict[tuple[str, ...], dict[str, zipfile.ZipInfo]] = {}
    for entry in entries:
        *folder, name = entry.filename.split("/")
        if name in FILES:
            by_folder.setdefault(tuple(folder), {})[name] = entry
    tops: list[tuple[str, ...]] = []
    # what lies in a folder follows it at once
    for place in sorted(by_folder):
        if not tops or place[: len(tops[-1])] != tops[-1]:
            tops.append(place)
    if not tops:
        raise _refusal("it has no file of a run directory")
    return [by_folder[place] for place in tops]


def _read(archive: zipfile.ZipFile, runs: Sequence[Mapping[str, zipfile.ZipInfo]]) -> Iterator[Mapping[str, bytes]]:
    room = MOST_BYTES
    for chosen in runs:
        files: dict[str, bytes] = {}
        for name, entry in chosen.items():
            if entry.file_size > (most := MOST.get(name, MOST_BYTES)):
                raise _refusal(f"entry {name!r}: larger than {most} bytes")
            # one byte more than there may be tells whether the archive lies
            with archive.open(entry) as stream:
                content = stream.read(min(entry.file_size, room) + 1)
            if len(content) > room:
                raise _refusal(f"it unpacks to more than {MOST_BYTES} bytes")
            if len(content) != entry.file_size:
                raise _refusal(f"entry {name!r} has another size than the archive says")
            room -= len(content)
            files[name] = content
        yield files


def _with_results(runs: Sequence[Mapping[str, bytes]]) -> Iterator[Mapping[str, bytes]]:
    """Put the answers of each run in place of what they are packed in, within the bounds of the archive itself."""
    room = MOST_BYTES - sum(len(data) for files in runs for name, data in files.items() if name != PACKED_RESULTS)
    for files in runs:
        if (packed := files.get(PACKED_RESULTS)) is None:
            yield files
            continue
        if RESULTS in files:
            raise _refusal(f"it has {RESULTS} and {PACKED_RESULTS}")
        try:
            content = unzipped(packed, min(room, max(_RATIO_FROM_BYTES, MOST_RATIO * len(packed))))
        except ValueError as error:
            raise _refusal(f"entry {PACKED_RESULTS!r}: {cut(error, limit=120)}") from error
        room -= len(content)
        yield {**{name: data for name, data in files.items() if name != PACKED_RESULTS}, RESULTS: content}


def _refusal(reason: str) -> CannotTell:
    return CannotTell(f"the artifact is refused: {reason}", hint=_HINT)
