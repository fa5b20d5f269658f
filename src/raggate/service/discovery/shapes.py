"""The shape of an answer that nobody has described: the list of its chunks, and where each holds what. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from itertools import chain, islice
from typing import Any

from msgspec import Struct

from raggate.base.field_paths import find, find_all, parse
from raggate.base.numbers import number_in

MAX_DEPTH = 8
MAX_VALUES = 2_000
MAX_ENTRIES = 50
_WORTH = {"rel_path": 4, "text": 3, "score": 2, "heading_path": 2, "id": 1}
_WHOLE = 3  # more where note and text are there: what lacks one of them may be something around the chunks
_BARE = re.compile(r"[A-Za-z0-9_@:/-]+")
_QUOTABLE = re.compile(r"[^\"\x00-\x1f\x7f]{1,100}")

QUESTION = tuple(
    "question query q querytext searchquery text prompt input message searchtext search term keywords".split()
)
COUNT = tuple(
    "k topk similaritytopk limit topn nresults numresults maxresults maxnumresults maxchunks size top pagesize perpage "
    "n count hits rows".split()
)
LISTS = tuple(
    "chunks hits results matches documents docs passages sources contexts points nodes items children citations "
    "references data output".split()
)
_FIELDS = {
    "rel_path": "relpath relativepath filepath path file notepath docpath documentpath source filename document note "
    "permalink uri url",
    "heading_path": "headingpath headings sectionpath headerpath headingtrail breadcrumbs breadcrumb heading section "
    "headers header",
    "text": "text content pagecontent chunktext body chunk passage matchedchunk snippet entry excerpt document",
    "score": "score scorefinal finalscore rerankscore relevance relevancescore similarity",
    "id": "chunkid id uuid pointid nodeid",
}
FIELDS = {part: tuple(names.split()) for part, names in _FIELDS.items()}
"""Parts of a chunk -> their usual names."""
ANSWERS = ("answer", "response", "reply", "completion", "generatedanswer", "output")
SURELY_A_QUESTION = frozenset(QUESTION[:5])
"""Names of a question that nothing else has, so that whatever takes one can be asked."""
ENDPOINTS = ("search", "retriev", "query", "ask", "question", "find", "lookup", "rag", "answer", "chat")
HEALTH = ("health", "healthz", "ready", "readyz", "readiness", "live", "livez", "status", "ping", "heartbeat")
WRITES = frozenset(
    "add append clear create delete destroy drop edit erase import ingest insert modify patch purge remove rename "
    "replace reset save send submit truncate update upload upsert wipe write".split()
)
"""Words by which an endpoint or a tool says that it writes."""
_MARKS = re.compile(r"[_\-@\s]")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_LONG = 5  # letters of a name that no other word has in it by chance


class Shape(Struct, frozen=True, kw_only=True):
    """Where an answer holds what."""

    list: str
    entries: int
    fields: Mapping[str, str]
    texts: Sequence[str]
    answer: str | None = None


def recognise(root: Any, notes: AbstractSet[str], at: str | None = None) -> Shape | None:
    """Recognise an answer; None when it has no list of chunks."""
    lists = _lists(root) if at is None else _list_at(root, at)
    shapes = [
        (_worth(fields) + (0 if usual is None else 2), -number, path, entries, fields)
        for number, (path, usual, entries) in enumerate(lists)
        if (fields := _fields(root, path, entries, notes)).keys() & {"rel_path", "text"} or at is not None
    ]
    if not shapes:
        return None
    _, _, path, entries, fields = max(shapes, key=lambda shape: shape[:2])
    return Shape(
        list=path,
        entries=len(entries),
        fields=fields,
        texts=[
            leaf
            for leaves in (_leaves(entries), *_around(path, root))
            for leaf, values in leaves.items()
            if all(isinstance(value, str) for value in values)
        ],
        answer=_answer(root),
    )


def values_of(part: str, chunks: Mapping[str, str], root: Any) -> list[Any]:
    """Return a part of every chunk of an answer; nothing where it has no path in `chunks` or cannot be found."""
    if part not in chunks:
        return []
    try:
        entries = find_all(parse(chunks["list"]), root, limit=MAX_VALUES) or ()
        return [find(*entry.start_of(parse(chunks[part]))) for entry in entries]
    except ValueError:
        return []


def leaves_of(chunks: Mapping[str, str], root: Any) -> dict[str, list[Any]]:
    """Return what every path from a chunk leads to, of those that lead somewhere in all chunks of an answer."""
    try:
        entries = find_all(parse(chunks["list"]), root, limit=MAX_VALUES) or ()
    except ValueError:
        return {}
    return _leaves([entry.value for entry in entries[:MAX_ENTRIES]])


def _lists(root: Any) -> Iterator[tuple[str, int | None, list[Any]]]:
    """Yield every list of mappings, or of rows that begin with one; with path, and rank of its name."""
    for path, name, value in islice(_walk("", "", root, 0), MAX_VALUES):
        entries = value[:MAX_ENTRIES] if isinstance(value, list) else []
        heads = [entry[0] if isinstance(entry, list) and entry else entry for entry in entries]
        if heads and all(isinstance(head, dict) for head in heads):
            for whole, _, of_all in _list_at(root, f"{path}[*]" if "[*]" in path else path or "$"):
                yield whole, rank(name, LISTS), of_all


def _worth(fields: Mapping[str, str]) -> int:
    """Weigh what the entries of a list have. A part of the first item of an inner list leaves the other items out."""
    whole = _WHOLE if fields.keys() >= {"rel_path", "text"} else 0
    less = {path: 2 if "[0]" in path[1:] else 1 if "[*]" in path else 0 for path in fields.values()}
    return whole + sum(_WORTH[name] - less[path] for name, path in fields.items())


def _list_at(root: Any, path: str) -> Iterator[tuple[str, int | None, list[Any]]]:
    try:
        entries = find_all(parse(path), root, limit=MAX_VALUES) or []
    except ValueError:
        return
    yield path, None, [entry.value for entry in entries[:MAX_ENTRIES]]


def _walk(path: str, name: str, value: Any, depth: int, every: str = "[*]") -> Iterator[tuple[str, str, Any]]:
    """Yield a value and what is in it, each with its path and key; of a list the first item, which stands for all."""
    yield path, name, value
    if depth == MAX_DEPTH:
        return
    if isinstance(value, dict):
        for key, inner in islice(value.items(), MAX_VALUES):
            if (step := _key(key)) is not None:
                yield from _walk(f"{path}.{step}" if path else step, key, inner, depth + 1, every)
    elif isinstance(value, list) and value:
        yield from _walk(f"{path}{every if isinstance(value[0], dict) else '[0]'}", name, value[0], depth + 1, every)


def _key(key: str) -> str | None:
    if _BARE.fullmatch(key):
        return key
    return f'"{key}"' if _QUOTABLE.fullmatch(key) else None


def _fields(root: Any, at: str, entries: list[Any], notes: AbstractSet[str]) -> dict[str, str]:
    leaves = _leaves(entries)
    fields: dict[str, str] = {}
    for part in ("rel_path", "text", "heading_path", "score", "id"):
        if part == "score" and "[*]" in fields.get("rel_path", ""):
            # groups are in the order of their best chunks, so that the scores of all need not fall
            continue
        free = {path: values for path, values in leaves.items() if path not in fields.values()}
        likeliest = _likeliest(part, free, notes)
        if likeliest is None and part == "rel_path":
            likeliest = next((path for group in _around(at, root) if (path := _likeliest(part, group, notes))), None)
        if likeliest is not None:
            fields[part] = likeliest
    return fields


def _likeliest(part: str, leaves: Mapping[str, list[Any]], notes: AbstractSet[str]) -> str | None:
    """Return the path that leads to a part, of all that may; None where none does."""
    fitting = [path for path, values in leaves.items() if _fits(part, values)]
    ranked = [(_unlikely(part, path, leaves[path], notes), path) for path in fitting]
    return min(((place, path) for place, path in ranked if place is not None), default=(None, None))[1]


def _around(at: str, root: Any) -> Iterator[dict[str, list[Any]]]:
    """Yield what paths lead to in the items that the entries of a list stand in, innermost first."""
    group = at.removesuffix("[*]")
    while "[*]" in group:
        group = group.rpartition("[*]")[0]
        for _, _, items in _list_at(root, group):
            yield {f"{group}[*].{path}": values for path, values in _leaves(items).items() if "[" not in path}


def _leaves(entries: list[Any]) -> dict[str, list[Any]]:
    """Return what every path leads to in all entries, of those that lead somewhere in each."""
    columns: dict[str, list[Any]] = {}
    for number, entry in enumerate(entries):
        for path, _, value in islice(_row(entry), MAX_VALUES):
            if path and value is not None and (number == 0 or len(columns.get(path, ())) == number):
                columns.setdefault(path, []).append(value)
    return {path: values for path, values in columns.items() if len(values) == len(entries)}


def _row(entry: Any) -> Iterator[tuple[str, str, Any]]:
    if not isinstance(entry, list):
        return _walk("", "", entry, MAX_DEPTH - 3, "[0]")
    cells = enumerate(entry[:MAX_ENTRIES])
    return chain.from_iterable(_walk(f"[{number}]", "score", cell, MAX_DEPTH - 3, "[0]") for number, cell in cells)


def _fits(part: str, values: list[Any]) -> bool:
    if part == "score":
        numbers = [number for value in values if (number := number_in(value)) is not None]
        return len(numbers) == len(values) and numbers == sorted(numbers, reverse=True)
    if part == "id":
        named = all(type(value) in (int, str) and value != "" for value in values) and len(set(values)) == len(values)
        # of ids that are places in the list, the same one is another chunk in the next answer
        places = [[str(number) for number in range(first, first + len(values))] for first in (0, 1)]
        return named and [str(value) for value in values] not in places
    if part == "heading_path":
        return all(isinstance(value, str) or is_texts(value) for value in values)
    return all(isinstance(value, str) for value in values) and any(values)


def is_texts(value: Any) -> bool:
    """Return whether a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _unlikely(part: str, path: str, values: list[Any], notes: AbstractSet[str]) -> tuple[int, int, int] | None:
    """Return how unlikely it is that a path leads to a part; None when it cannot be."""
    place = rank(_name(path), FIELDS[part])
    if part != "rel_path":
        return None if place is None else (0, place, path.count("."))
    named = sum(any(value == note or value.endswith(f"/{note}") for note in notes) for value in values)
    if named == len(values):
        # what it holds says more than what it is called, and a path below the notes more than one of a machine
        named_so = len(FIELDS[part]) if place is None else place
        return -2 if notes >= {*values} else -1, named_so, path.count(".")
    if place is None:
        return None
    return 0 if all(value.endswith((".md", ".markdown")) for value in values) else 1, place, path.count(".")


def _name(path: str) -> str:
    # a number beside a document is its score
    return "score" if path.endswith("]") and "." not in path else path.rpartition(".")[2].strip('"')


def _answer(root: Any) -> str | None:
    if not isinstance(root, dict):
        return None
    ranked = [
        (place, key)
        for key, value in islice(root.items(), MAX_VALUES)
        if isinstance(value, str) and _BARE.fullmatch(key) and (place := rank(key, ANSWERS)) is not None
    ]
    return min(ranked)[1] if ranked else None


def plain_name(name: str) -> str:
    """Write a name as the tables do."""
    return _MARKS.sub("", name[:100]).lower()


def words_in(name: str) -> list[str]:
    """Return the words of a name such as `searchNotes` or `search_notes`, in small letters."""
    return [word.lower() for word in _WORD.findall(name)]


def unlikely(name: str) -> int:
    """Return how unlikely it is that something of this name or path takes a question: its place among `ENDPOINTS`.

    It is the number of these where no word says so: `tasks` does not ask.
    """
    words = words_in(name)
    for place, usual in enumerate(ENDPOINTS):
        if any(usual in word if len(usual) >= _LONG else word.startswith(usual) for word in words):
            return place
    return len(ENDPOINTS)


def rank(name: str, usual: tuple[str, ...]) -> int | None:
    """Return the place of a name among the usual ones; None when it is none of them."""
    plain = plain_name(name)
    return usual.index(plain) if plain in usual else None


def best(candidates: Iterable[str], usual: tuple[str, ...]) -> str | None:
    """Return the candidate that is the likeliest, if any is."""
    ranked = [(place, name) for name in candidates if (place := rank(name, usual)) is not None]
    return min(ranked)[1] if ranked else None
