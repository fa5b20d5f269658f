"""Run records and baselines of substrate: what was measured in, a key and a file name that is safe out.

A run record says which commit, corpus, queries and settings metrics belong to. The key puts these together, so that
only runs of the same corpus, queries and settings are compared; it holds `/` and `:`, so the file has another name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import StrictBool, StrictInt, StrictStr, TypeAdapter
from typing_extensions import TypedDict

from raggate.base.errors import UsageError
from raggate.base.files import opened, read_file, reading
from raggate.base.jsonio import parse
from raggate.config.question_settings import ALIASES
from raggate_interop.json_shapes import check, json_lines

MAX_BYTES = 256 << 20

_MAX_NAME = 255
"""Bytes that a file name may have."""
_READABLE = 80
"""Characters of the key that a file name shows, before the hash of the whole."""


def script_mode(mode: str) -> str:
    """Return the name of a mode as results, traces and metrics by mode write it: `bm25`, as all else says, is `fts`."""
    return next((alias for alias, name in ALIASES.items() if name == mode), mode)


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    return parse(read_bytes(path), str(path))


def read_lines(path: Path) -> Iterator[tuple[str, Any]]:
    """Read JSON lines; blank ones are skipped. Gives `file:line` and the value."""
    with reading(path), opened(path) as stream:
        yield from json_lines(stream, str(path))


def read_bytes(path: Path) -> bytes:
    """Return the content of a file without its byte order mark."""
    return read_file(path, most_bytes=MAX_BYTES).removeprefix(b"\xef\xbb\xbf")


class _Git(TypedDict):
    commit: StrictStr
    branch: StrictStr
    dirty: StrictBool


class _Corpus(TypedDict):
    path: StrictStr
    hash: StrictStr


class _Queries(TypedDict):
    path: StrictStr
    version: StrictStr


class _Rag(TypedDict):
    chunk_size: StrictInt
    chunk_overlap: StrictInt
    rrf_k: StrictInt
    rerank_enabled: StrictBool
    expansion_enabled: StrictBool


class _Settings(TypedDict):
    embedding_model: StrictStr
    fts_impl: StrictStr
    rag_v2: _Rag


class _Record(TypedDict):
    run_id: StrictStr
    git: _Git
    corpus: _Corpus
    queries: _Queries
    settings: _Settings
    metrics: dict[str, Any]


_RECORD: TypeAdapter[Any] = TypeAdapter(_Record)


def read_record(path: Path) -> dict[str, Any]:
    """Read a run record."""
    value = read_json(path)
    if not isinstance(value, dict) or not {"metrics", "settings", "corpus"} <= value.keys():
        raise UsageError(
            f"{path} is not a run record, so it has no key",
            hint="Name a record (--record) or a key (--key). A record has corpus, queries, settings and metrics.",
        )
    return dict(check(_RECORD, value, str(path)))


def baseline_key(record: Mapping[str, Any]) -> str:
    """Return their key of a run record, letter by letter."""
    settings = record["settings"]
    rag = settings["rag_v2"]
    parts = [
        record["corpus"]["hash"],
        record["queries"]["version"],
        settings["embedding_model"],
        settings["fts_impl"],
        f"chunk_size={rag['chunk_size']}",
        f"chunk_overlap={rag['chunk_overlap']}",
        f"rrf_k={rag['rrf_k']}",
        f"rerank={int(rag['rerank_enabled'])}",
        f"expand={int(rag['expansion_enabled'])}",
    ]
    return "__".join(parts)


def baseline_name(key: str) -> str:
    """Return the file name of a key: what of it is safe on every file system, and a hash of the whole."""
    digest = hashlib.sha256(key.encode()).hexdigest()
    # most of the hash of the corpus says nothing to a reader
    short = re.sub(r"sha256:([0-9a-f]{8})[0-9a-f]+", r"\1", key)
    safe = re.sub(r"[^A-Za-z0-9=_]+", "-", short).strip("-")[:_READABLE].rstrip("-_")
    return f"{safe or 'baseline'}-{digest[:12]}.json"


def baseline_path(directory: Path, key: str) -> Path:
    """Return the file of a key in a directory of baselines: the safe name, or the plain key where that file exists.

    Their scripts write it by the plain key: its `/`, as in the name of an embedding model, makes a directory there.
    """
    safe = directory / baseline_name(key)
    if not safe.exists() and "\0" not in key:
        parts = f"{key}.json".split("/")
        # a key can be longer than a file name may be, and must not lead out of the directory
        if all(part not in {"", ".", ".."} and len(part.encode()) <= _MAX_NAME for part in parts):
            named = directory.joinpath(*parts)
            if named.is_file() and named.resolve().is_relative_to(directory.resolve()):
                return named
    return safe
