"""A workflow run's artifact, which anybody may have written -> the files of a run directory, as data, within bounds."""

from __future__ import annotations

import hashlib
import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from raggate.errors import CannotTell
from raggate.github.rest.failures import GitHubError
from raggate.github.rest.repository import Repository
from raggate.pipeline import results_file
from raggate.text.dates import days_between
from raggate.text.quote import cut, quoted
from raggate.text.zipped import unzipped

RESULTS, PACKED_RESULTS = results_file.PLAIN, results_file.FILE
"""The answers of a run: what is packed in the artifact is given unpacked."""

FILES = (
    "config.json",
    "golden.jsonl",
    RESULTS,
    PACKED_RESULTS,
    "probes.jsonl",
    "baseline.json",
    "aside.json",
    "metrics.json",
    "verdict.json",
    "summary.md",
)
"""The names that are taken; nothing else in an artifact is even unpacked."""

MOST_BYTES = 256 << 20
MOST_ENTRIES = 1000
MOST_RATIO = 200
"""The most unpacked bytes for each packed one, in an entry of more than 1 MiB."""

_RATIO_FROM_BYTES = 1 << 20
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_LOCAL_MARK, _CENTRAL_MARK, _EMPTY_MARK = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1 | 0x40 | 0x2000
_NAME = re.compile(r"[^/\\\x00-\x1f\x7f]+(/[^/\\\x00-\x1f\x7f]+)*/?")
_DRIVE = re.compile(r"[A-Za-z]:")
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})", re.IGNORECASE)
_HINT = "Only a run directory is taken, as raggate wrote it and actions/upload-artifact packed it."
_AGAIN = "Run the workflow again: artifacts are kept for a limited time only."
# whatever zipfile may raise for bytes that are not what it expects
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
    LookupError,
    ArithmeticError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """An artifact, as GitHub lists it.

    Attributes:
        id: by which it is downloaded.
        name: its name, untrusted text.
        run: the id of the workflow run that left it.
        size: bytes of the archive; not known to be a number.
        expired: whether it is gone; not known to be a truth value.
        digest: of the archive, `sha256:` and hexadecimal digits; None where GitHub does not know any.
    """

    id: int
    name: str
    run: int
    size: object
    expired: object
    digest: object

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"the artifact {quoted(self.name, limit=80)} of run {self.run}"


def find(repository: Repository, run: int, name: str, *, since: str = "") -> Artifact | None:
    """Find the newest artifact of a name that a workflow run left.

    Args:
        repository: where the workflow ran; the token may read actions.
        run: the id of the workflow run.
        name: of the artifact.
        since: when the attempt started that left it, as `2026-01-01T00:00:00Z`: a run keeps those of its earlier
            attempts. Empty when that is not known, and any will do.

    Returns:
        The artifact. None when the run left none of that name since then.

    Raises:
        GitHubError: when GitHub refuses, or does not answer in time.
    """
    path = f"{repository.path}/actions/runs/{run}/artifacts"
    listed = repository.github.pages(path, key="artifacts", name=name)
    # a server that does not know the parameter gives all of them
    named = [
        item for item in listed if isinstance(item, dict) and item.get("name") == name and type(item.get("id")) is int
    ]
    if since:
        named = [item for item in named if _not_before(item.get("created_at"), since)]
    if not named:
        return None
    newest = max(named, key=lambda item: (str(item.get("created_at") or ""), item["id"]))
    return Artifact(
        id=newest["id"],
        name=name,
        run=run,
        size=newest.get("size_in_bytes"),
        expired=newest.get("expired"),
        digest=newest.get("digest"),
    )


def download(repository: Repository, artifact: Artifact) -> Mapping[str, bytes]:
    """Download an artifact, and take the files of a run directory from it.

    Args:
        repository: where the workflow ran; the token may read actions.
        artifact: as `find` gave it.

    Returns:
        Name, one of `FILES`, -> content.

    Raises:
        CannotTell: when the artifact has expired, is too large, is not what GitHub received, or is refused.
        GitHubError: when GitHub refuses, or does not answer in time.
    """
    which = artifact.label
    if artifact.expired is not False:
        raise CannotTell(f"{which} has expired", hint=_AGAIN)
    if type(artifact.size) is not int or artifact.size > MOST_BYTES:
        shown = cut(repr(artifact.size), limit=40)
        raise CannotTell(f"{which} is too large: at most {MOST_BYTES} bytes are taken; found {shown}")
    try:
        path = f"{repository.path}/actions/artifacts/{artifact.id}/zip"
        data = repository.github.download(path, limit=MOST_BYTES)
    except GitHubError as error:
        if error.status == 410:
            raise CannotTell(f"{which} has expired", hint=_AGAIN) from error
        raise
    _verify(data, artifact.digest, which)
    return unpack(data)


def unpack(data: bytes) -> Mapping[str, bytes]:
    """Take the files of a run directory from a zip archive. They stand at its top, or all in exactly one folder.

    Args:
        data: the archive, which says that it holds at most `MOST_BYTES`, and does.

    Returns:
        Name, one of `FILES`, -> content; at least one. Answers are given as `RESULTS`, also where they were packed.

    Raises:
        CannotTell: naming why the archive is refused. An archive with anything suspicious in it is refused as a whole.
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
            files = dict(_read(archive, _chosen(entries)))
    except _BROKEN as error:
        raise _refusal(f"it is broken ({type(error).__name__}: {cut(error, limit=120)})") from error
    return _with_results(files) if PACKED_RESULTS in files else files


def write_run(files: Mapping[str, bytes], directory: Path) -> None:
    """Write files as `unpack` gave them into an empty directory, for `raggate.pipeline.run_directory.read`.

    Raises:
        ValueError: for a name that is not one of `FILES`; nothing is then written.
        OSError: when a file cannot be written, or exists already.
    """
    strange = sorted(set(files) - set(FILES))
    if strange:
        raise ValueError(f"not a file of a run directory: {strange[0]!r}")
    for name, content in files.items():
        with (directory / name).open("xb") as stream:
            stream.write(content)


def _not_before(created: object, since: str) -> bool:
    elapsed = days_between(since, created)
    return elapsed is not None and elapsed >= 0


def _verify(data: bytes, digest: object, which: str) -> None:
    if digest is None:
        return
    expected = _DIGEST.fullmatch(digest) if isinstance(digest, str) else None
    if expected is None:
        raise CannotTell(f"{which}: expected a digest `sha256:...`; found {cut(repr(digest), limit=100)}")
    if hashlib.sha256(data).hexdigest() != expected[1].lower():
        raise CannotTell(f"{which} is not what GitHub received: its sha256 digest differs", hint=_AGAIN)


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
    """Tell what is wrong with an entry by what the archive says of it; empty for nothing."""
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
        return f"it would grow to more than {MOST_RATIO} times its size"
    return ""


def _check_places(data: bytes, entries: Sequence[zipfile.ZipInfo], end: int) -> None:
    """See that no two entries share bytes, by which few bytes could stand for many."""
    spans = sorted(_span(data, entry) for entry in entries)
    starts = [start for start, _ in spans[1:]]
    if any(stop > following for (_, stop), following in zip(spans, [*starts, end], strict=False)):
        raise _refusal("its entries overlap")


def _span(data: bytes, entry: zipfile.ZipInfo) -> tuple[int, int]:
    start = entry.header_offset
    if not 0 <= start <= len(data) - _LOCAL_HEADER.size:
        raise zipfile.BadZipFile("an entry lies outside of the archive")
    mark, name_size, extra_size = _LOCAL_HEADER.unpack_from(data, start)
    if mark != _LOCAL_MARK:
        raise zipfile.BadZipFile("an entry has no header")
    return start, start + _LOCAL_HEADER.size + name_size + extra_size + entry.compress_size


def _chosen(entries: Sequence[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    files = {entry.filename: entry for entry in entries if not entry.is_dir()}
    tops = {name.split("/")[0] for name in files}
    folder = f"{tops.pop()}/" if len(tops) == 1 and not tops & set(files) else ""
    for prefix in ("", folder):
        taken = {name: files[prefix + name] for name in FILES if prefix + name in files}
        if taken:
            return taken
    raise _refusal("it has no file of a run directory, at its top or in the one folder at its top")


def _read(archive: zipfile.ZipFile, chosen: Mapping[str, zipfile.ZipInfo]) -> Iterator[tuple[str, bytes]]:
    room = MOST_BYTES
    for name, entry in chosen.items():
        # one byte more than there may be tells whether the archive lies
        with archive.open(entry) as stream:
            content = stream.read(min(entry.file_size, room) + 1)
        if len(content) > room:
            raise _refusal(f"it unpacks to more than {MOST_BYTES} bytes")
        if len(content) != entry.file_size:
            raise _refusal(f"entry {name!r} has another size than the archive says")
        room -= len(content)
        yield name, content


def _with_results(files: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """Put the answers in place of what they are packed in, within the bounds of the archive itself."""
    others = {name: content for name, content in files.items() if name != PACKED_RESULTS}
    if RESULTS in others:
        raise _refusal(f"it has {RESULTS} and {PACKED_RESULTS}")
    packed = files[PACKED_RESULTS]
    room = MOST_BYTES - sum(map(len, others.values()))
    try:
        content = unzipped(packed, min(room, max(_RATIO_FROM_BYTES, MOST_RATIO * len(packed))))
    except ValueError as error:
        raise _refusal(f"entry {PACKED_RESULTS!r}: {cut(error, limit=120)}") from error
    return {**others, RESULTS: content}


def _refusal(reason: str) -> CannotTell:
    return CannotTell(f"the artifact is refused: {reason}", hint=_HINT)
