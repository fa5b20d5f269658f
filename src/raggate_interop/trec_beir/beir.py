"""BEIR folders: queries.jsonl and qrels/<split>.tsv, read and written, and corpus.jsonl, read line by line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from raggate.base.errors import UsageError
from raggate.base.quote import cut, quoted
from raggate_interop.trec_beir.rankings import Grades, bad_grade, open_binary, write_whole

CORPUS = "corpus.jsonl"
QUERIES = "queries.jsonl"
HEADER = ("query-id", "corpus-id", "score")


def iter_corpus(folder: Path) -> Iterator[tuple[str, str]]:
    """Read id and text of each document; ids are not checked for repetition, as that would hold them all."""
    for place, row in _rows(folder / CORPUS):
        yield _id(row, place), _text(row, "text", place)


def read_queries(folder: Path) -> dict[str, str]:
    """Read the queries: text per id."""
    queries: dict[str, str] = {}
    for place, row in _rows(folder / QUERIES):
        query_id = _id(row, place)
        if query_id in queries:
            raise UsageError(f"{place}: query {quoted(query_id)} occurs twice")
        queries[query_id] = _text(row, "text", place)
    return queries


def read_qrels(folder: Path, split: str = "test", *, keep_first: bool = False) -> dict[str, dict[str, int]]:
    """Read the judgements of a split, in any order of lines: grade per document per query.

    Args:
        keep_first: of several judgements of a document for a query count the first.
    """
    path, parsed = _split_file(folder, split), Grades()
    name = str(path)
    qrels: dict[str, dict[str, int]] = {}
    with open_binary(path) as stream:
        for number, line in enumerate(stream, 1):
            cells = _cells(line, f"{name}:{number}", first=number == 1)
            if number == 1:
                _check_header(cells, name)
                continue
            if not cells:
                continue
            query_id, doc_id, written = cells
            grades = qrels.setdefault(query_id, {})
            if doc_id in grades and not keep_first:
                raise UsageError(
                    f"{name}:{number}: document {quoted(doc_id)} of query {quoted(query_id)} occurs twice",
                    hint="Remove one of them, or keep the first with --keep-first.",
                )
            try:
                grades.setdefault(doc_id, parsed[written])
            except ValueError:
                raise bad_grade(f"{name}:{number}", written) from None
    return qrels


def write_folder(
    folder: Path, split: str, *, queries: Mapping[str, str], qrels: Mapping[str, Mapping[str, int]]
) -> None:
    """Write queries and the judgements of a split; there is no corpus."""
    import orjson

    with write_whole(folder / QUERIES) as stream:
        for query_id, text in queries.items():
            if not query_id:
                raise UsageError("an id is empty")
            try:
                line = orjson.dumps({"_id": query_id, "text": text, "metadata": {}})
            except TypeError as error:
                raise UsageError(f"{quoted(query_id)} cannot be written as JSON: {error}") from None
            stream.write(line + b"\n")
    with write_whole(_split_file(folder, split)) as stream:
        stream.write(("\t".join(HEADER) + "\n").encode())
        for query_id, grades in qrels.items():
            if query_id not in queries:
                raise UsageError(f"split {cut(split)} judges query {quoted(query_id)}, which is not there")
            for doc_id, grade in grades.items():
                stream.write(b"%b\t%b\t%d\n" % (_cell(query_id), _cell(doc_id), grade))


def _split_file(folder: Path, split: str) -> Path:
    if not split or split in {".", ".."} or set(split) & set("/\\\0"):
        raise UsageError(f"split {quoted(split)}, expected the name of a file in qrels/ without its suffix")
    return folder / "qrels" / f"{split}.tsv"


def _cells(line: bytes, place: str, *, first: bool) -> list[str]:
    """Split a line at its tabs; ids may hold spaces. A blank line has no cells."""
    try:
        text = line.decode("utf-8-sig" if first else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise UsageError(f"{place}: is not UTF-8") from None
    if not text:
        return []
    cells = text.split("\t")
    if len(cells) != len(HEADER) or not all(cells):
        raise UsageError(f"{place}: expected three columns with tabs between: {', '.join(HEADER)}")
    return cells


def _check_header(cells: list[str], name: str) -> None:
    if tuple(cells) != HEADER:
        raise UsageError(
            f"{name}:1: expected the header {', '.join(HEADER)}",
            hint="Add the header, because other tools skip the first line.",
        )


def _cell(text: str) -> bytes:
    try:
        written = text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"id {quoted(text)} is not Unicode text") from None
    if not written or set(text) & set("\t\r\n"):
        raise UsageError(f"id {quoted(text)} is empty or contains a tab or a line end, which qrels cannot express")
    return written


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read JSON lines: where each stands, and the object."""
    import orjson

    name = str(path)
    with open_binary(path) as stream:
        for number, line in enumerate(stream, 1):
            data = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if not data.strip():
                continue
            try:
                row = orjson.loads(data)
            except ValueError as error:
                raise UsageError(f"{name}:{number}: is not JSON: {error}") from None
            if not isinstance(row, dict):
                raise UsageError(f"{name}:{number}: {quoted(row, limit=60)}, expected a JSON object")
            yield f"{name}:{number}", row


def _id(row: Mapping[str, Any], place: str) -> str:
    value = row.get("_id")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value:
        raise UsageError(f"{place}: _id is {quoted(value, limit=60)}, expected a text or a number")
    return value


def _text(row: Mapping[str, Any], key: str, place: str) -> str:
    # null and nothing at all are written for a document without a title
    value = row.get(key) or ""
    if not isinstance(value, str):
        raise UsageError(f"{place}: {key} is {quoted(value, limit=60)}, expected a text")
    return value
