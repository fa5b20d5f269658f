"""A search function or retriever of Python, asked in lines of JSON. It needs the standard library alone.

python shim.py rag.retriever:build --vault notes=/path/of/notes

raggate is not installed where this runs. It recognises what LangChain, LlamaIndex and Haystack return.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import importlib.metadata
import inspect
import json
import math
import os
import sys
import traceback
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable  # noqa: UP035 - also for Pythons older than raggate's

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Search = Callable[[dict[str, Any]], Any]

QUESTIONS = frozenset("question query q text prompt input message search term query_text query_str".split())
COUNTS = ("k", "top_k", "limit", "n", "top_n", "n_results", "num_results", "max_results", "count", "size")
NOTES = frozenset("vault vaults notes path directory folder root docs docs_dir data data_dir corpus".split())
METHODS = ("retrieve", "similarity_search", "invoke", "get_relevant_documents", "search", "query", "run")
LISTS = ("documents", "hits", "results", "matches", "chunks", "passages", "nodes", "docs", "contexts", "source_nodes")
PATHS = tuple(
    "rel_path relative_path file_path filepath path source file filename file_name document doc note url".split()
)
TEXTS = ("text", "page_content", "content", "chunk", "passage", "body", "snippet")
SCORES = ("score", "similarity", "relevance", "relevance_score")
HEADINGS = ("heading_path", "headings", "header_path", "section", "heading")
LEVELS = tuple(f"{name}{n}" for n in range(1, 7) for name in ("Header ", "Header_", "header_", "h", "H"))
MAX_HITS = 1000
MAX_METADATA = 1000
"""Characters of one value of the metadata."""


class Unusable(Exception):
    """What was named cannot be asked; the message says why, and what to type."""


def named(spec: str) -> Any:
    """Import what `module:name` stands for."""
    module, _, path = spec.partition(":")
    if not path:
        raise Unusable(f"expected module:name, such as rag.retriever:build, found {spec!r}")
    found = importlib.import_module(module)
    for name in path.split("."):
        if not hasattr(found, name):
            there = ", ".join(sorted(key for key in vars(found) if not key.startswith("_"))[:20])
            raise Unusable(f"{module} has no {name!r}. It has {there or 'nothing'}")
        found = getattr(found, name)
    return found


def search_of(found: Any, vaults: dict[str, str]) -> Search:
    """Return what asks: the function that was named, or what it builds of the notes."""
    if inspect.isclass(found) or (inspect.isroutine(found) and not takes_a_question(found)):
        found = built(found, vaults)
    if inspect.isroutine(found):
        return asking(found)
    if hasattr(found, "as_retriever") and not hasattr(found, "similarity_search"):
        # an index of LlamaIndex, whose retriever is made for a number of hits
        return lambda asked: found.as_retriever(similarity_top_k=asked["k"]).retrieve(asked["question"])
    for name in METHODS:
        if callable(getattr(found, name, None)):
            return asking(getattr(found, name))
    if callable(found):
        return asking(found)
    raise Unusable(f"the {type(found).__name__} has no method {', '.join(METHODS)}: name a function that searches")


def parameters(function: Any) -> list[inspect.Parameter]:
    """Return the parameters that can be given by name or place; none if a function does not tell them."""
    try:
        told = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [one for one in told if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]


def takes_a_question(function: Any) -> bool:
    """Return whether the first parameter of a function is a question, so that it searches and builds nothing."""
    first = parameters(function)[:1]
    return bool(first) and first[0].name.lower() in QUESTIONS


def built(make: Any, vaults: dict[str, str]) -> Any:
    """Call what builds a retriever, with the directory of the notes if it takes one."""
    own = parameters(make)
    needed = [one.name for one in own if one.default is one.empty]
    given: Any = next(iter(vaults.values())) if len(vaults) == 1 else dict(vaults)
    if len(needed) > 1 or (needed and not vaults):
        why = "one parameter at most, the directory of the notes" if len(needed) > 1 else "--vault for its parameter"
        raise Unusable(f"{make.__name__}({', '.join(needed)}): expected {why}")
    takes = needed or [one.name for one in own[:1] if vaults and one.name.lower() in NOTES]
    if not takes:
        return finished(make())
    return finished(make(Path(given) if isinstance(given, str) else given))


def asking(function: Any) -> Search:
    """Return what calls a function with a question, and with the number of hits, mode and vaults if it takes them."""
    own = parameters(function)
    names = [one.name for one in own]
    count = next((name for name in COUNTS if name in names[1:]), None)
    rest = [one.name for one in own[1:] if one.default is one.empty and one.name not in (count, "mode", "vaults")]
    if count is None and len(rest) == 1:
        count = rest.pop()

    def search(asked: dict[str, Any]) -> Any:
        wanted = [name for name in ("mode", "vaults") if name in names[1:]]
        given: dict[str, Any] = {name: asked[name] for name in wanted if name in asked}
        if count is not None:
            given[count] = asked["k"]
        if own and own[0].kind is inspect.Parameter.KEYWORD_ONLY:
            return function(**{names[0]: asked["question"]}, **given)
        return function(asked["question"], **given)

    return search


_loop: asyncio.AbstractEventLoop | None = None


def finished(value: Any) -> Any:
    """Wait for what is awaitable, always in the same loop."""
    global _loop  # noqa: PLW0603 - a retriever may be bound to the loop that built it
    if not inspect.isawaitable(value):
        return value
    _loop = _loop or asyncio.new_event_loop()

    async def waited() -> Any:
        return await value

    return _loop.run_until_complete(waited())


def hits_in(result: Any, vaults: dict[str, str]) -> list[dict[str, Any]]:
    """Read what a search returned."""
    for name in LISTS:
        inner = result.get(name) if isinstance(result, dict) else getattr(result, name, None)
        if isinstance(inner, (list, tuple)):
            result = inner
            break
    if result is None or isinstance(result, (str, bytes, dict)) or not hasattr(result, "__iter__"):
        raise Unusable(f"expected a list of hits, found {type(result).__name__}")
    return [hit_of(item, vaults) for item in islice(result, MAX_HITS)]


def hit_of(item: Any, vaults: dict[str, str]) -> dict[str, Any]:
    """Read one hit: a dict, a text, a pair with a score, or an object of a library."""
    fields, metadata = parts_of(item)
    known = {**metadata, **fields}
    hit: dict[str, Any] = {"text": next((known[name] for name in TEXTS if isinstance(known.get(name), str)), "")}
    path = next((known[name] for name in PATHS if isinstance(known.get(name), (str, Path)) and known[name]), None)
    if path is not None:
        hit["path"], vault = in_vault(str(path), vaults)
        if vault and len(vaults) > 1:
            hit["vault"] = vault
    headings = headings_in(known)
    if headings:
        hit["heading_path"] = headings
    score = next((number for name in SCORES if (number := number_of(known.get(name))) is not None), None)
    if score is not None:
        hit["score"] = score
    if metadata:
        hit["metadata"] = {str(name): plain(value) for name, value in islice(metadata.items(), 50)}
    return hit


def parts_of(item: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields and the metadata of a hit."""
    if isinstance(item, tuple) and not hasattr(item, "_asdict"):
        return of_tuple(item)
    if isinstance(item, str):
        return {"text": item}, {}
    if hasattr(item, "node"):  # NodeWithScore of LlamaIndex
        fields, metadata = parts_of(item.node)
        return {**fields, "score": getattr(item, "score", None)}, metadata
    if isinstance(item, dict):
        fields = item
    elif hasattr(item, "_asdict"):
        fields = item._asdict()
    else:
        names = (*PATHS, *TEXTS, *SCORES, *HEADINGS, "metadata", "meta")
        fields = {name: value for name in names if (value := getattr(item, name, None)) is not None}
        if callable(getattr(item, "get_content", None)):  # a node of LlamaIndex
            fields["text"] = item.get_content()
    metadata = next((fields[name] for name in ("metadata", "meta") if isinstance(fields.get(name), dict)), {})
    return fields, metadata


def of_tuple(item: tuple[Any, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read a pair of a hit and its score, or a path, a text and a score."""
    numbers = [number for part in item if (number := number_of(part)) is not None]
    others = [part for part in item if number_of(part) is None]
    if len(others) == 1 and not isinstance(others[0], str):
        fields, metadata = parts_of(others[0])
    elif others and all(isinstance(part, str) for part in others):
        fields, metadata = dict(zip(("path", "text"), others)), {}  # noqa: B905 - not in older Pythons
    else:
        raise Unusable(f"expected (hit, score) or (path, text), found a tuple of {len(item)}")
    return ({**fields, "score": numbers[0]} if numbers else fields), metadata


def number_of(value: Any) -> float | None:
    """Return a finite number, also one of numpy; None for what is none."""
    if isinstance(value, (str, bytes, bool)) or not hasattr(value, "__float__"):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def headings_in(known: dict[str, Any]) -> Any:
    """Return the headings above a hit, as a text or a list; None if it tells none."""
    for name in HEADINGS:
        value = known.get(name)
        if isinstance(value, str) and name == "header_path":  # of LlamaIndex: /Recipes/Bread/
            return [part for part in value.split("/") if part]
        if isinstance(value, str) and value:
            return value
        if isinstance(value, (list, tuple)) and all(isinstance(part, str) for part in value):
            return list(value)
    if isinstance(known.get("header"), str):  # of Haystack
        return [part for part in (*(known.get("parent_headers") or ()), known["header"]) if isinstance(part, str)]
    return [known[level] for level in LEVELS if isinstance(known.get(level), str)]


def in_vault(path: str, vaults: dict[str, str]) -> tuple[str, str]:
    """Return the path of a note in its vault, and the name of the vault; as it is if it is in none."""
    note = Path(path[len("file://") :] if path.startswith("file://") else path)
    if not note.is_absolute() and not os.path.exists(note):  # noqa: PTH110 - of a name that is too long, too
        return path, ""
    for name, directory in vaults.items():
        try:
            return note.resolve().relative_to(Path(directory).resolve()).as_posix(), name
        except ValueError:
            continue
    return path, ""


def plain(value: Any) -> Any:
    """Return a value that JSON has, of a bounded length."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value[:20]]
    return str(value)[:MAX_METADATA]


def versions() -> dict[str, str]:
    """Return the distributions that are loaded, by name."""
    told: dict[str, list[str]] = getattr(importlib.metadata, "packages_distributions", dict)()
    loaded = {name.split(".")[0] for name in list(sys.modules)}
    names = sorted({owner for top, owners in told.items() if top in loaded for owner in owners})
    return {name: importlib.metadata.version(name) for name in names[:100]}


def output(found: Any, vaults: dict[str, str], lines: Iterable[str]) -> Iterator[str]:
    """Yield the line that what was named is ready, and then a line for every question."""
    search = search_of(found, vaults)
    yield json.dumps({"ready": True, "versions": versions()}) + "\n"
    for line in lines:
        asked = json.loads(line)
        try:
            answer: dict[str, Any] = {"hits": hits_in(finished(search({"k": 10, **asked})), vaults)}
        except Exception as error:  # noqa: BLE001 - whatever it raises is its answer
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"[:500]}
        yield json.dumps({"id": asked["id"], **answer}) + "\n"


def main() -> None:
    """Build the retriever, and answer questions until the standard input ends."""
    parser = argparse.ArgumentParser(description="Ask a function of Python in lines of JSON.")
    parser.add_argument("target", metavar="MODULE:NAME")
    parser.add_argument("--vault", action="append", default=[], metavar="NAME=PATH")
    given = parser.parse_args()
    pairs = [part.partition("=") for part in given.vault]
    vaults = {name: path for name, _, path in pairs}
    # whatever the function prints or reads is kept from the lines
    lines = os.fdopen(os.dup(0), encoding="utf-8")
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    # this file's own directory is no part of your program
    sys.path[0] = str(Path.cwd())
    try:
        for line in output(named(given.target), vaults, lines):
            out.write(line)
            out.flush()
    except Unusable as error:
        sys.exit(f"{given.target}: {error}")


if __name__ == "__main__":
    main()
