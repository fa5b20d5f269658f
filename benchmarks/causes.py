"""How often a report names the cause: single faults in, the verdict's diagnosis out.

The example API is asked the golden set once. A small server then gives these answers again, each time with one fault
in them, and `raggate check` judges it against a baseline of the answers without a fault. What the report says is read
from verdict.json: the cause is named (in the sentence about the likely cause), half named (beside it, or by its
symptom), vague ("does not show"), wrong (another cause is called the most likely), or the fault makes nothing red and
nothing is said. Run as `python -m benchmarks.causes [--only PATTERN]`; it takes some minutes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.request
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DEPTH = 12
"""Chunks of an answer of the example API, at most; a deeper list is kept to move up from."""
DEEP = 60
WEIGHTS = {"score_vector": 0.4, "score_lexical": 0.6}
"""How the example API makes a final score."""
DIAGNOSED = re.compile(r"^Most likely cause|In common:")
LEFT_OUT = r"passages? come back for no question"
PATHS = ("/api/v1/ask", "/api/health", "/api/index/status")

Chunk = dict[str, Any]
Answer = dict[str, Any]
Answers = dict[str, Answer]
Fault = Callable[[Answers], None]
Edit = tuple[str, str, str]


@dataclass(frozen=True)
class Row:
    """A fault, and the words by which a report names it.

    `apply` puts it into recorded answers, those of an API that tells no folders and no counts if `untold`. `env` and
    `edits` (file, text, its replacement) put it into the example API itself, which is built and asked.
    """

    name: str
    apply: Fault | None
    named: str
    half: str = ""
    untold: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    edits: Sequence[Edit] = ()


def chunks_of(answer: Answer) -> list[Chunk]:
    """Return the chunks of an answer, best first."""
    chunks: list[Chunk] = answer["debug"]["retrieved_chunks"]
    return chunks


def put(answer: Answer, chunks: Sequence[Chunk]) -> None:
    """Put chunks into an answer, with the ranks of their places."""
    for rank, chunk in enumerate(chunks, 1):
        chunk["rank"] = rank
    answer["debug"]["retrieved_chunks"] = list(chunks)


def lot(*parts: object) -> float:
    """Return a number from 0 to 1 that is always the same for the same parts."""
    return int.from_bytes(sha256("\0".join(map(str, parts)).encode()).digest()[:6]) / 2**48


def each_list(change: Callable[[list[Chunk]], Sequence[Chunk]]) -> Fault:
    """Make a fault of a change of every list."""

    def apply(answers: Answers) -> None:
        for answer in answers.values():
            put(answer, change(chunks_of(answer)))

    return apply


def each_chunk(change: Callable[[Chunk], object]) -> Fault:
    """Make a fault of a change of every chunk."""

    def apply(answers: Answers) -> None:
        for answer in answers.values():
            for chunk in chunks_of(answer):
                change(chunk)

    return apply


def some_questions(chosen: Callable[[str], bool], change: Callable[[Answer], object]) -> Fault:
    """Make a fault of the questions whose text is chosen."""

    def apply(answers: Answers) -> None:
        for key, answer in answers.items():
            if chosen(str(json.loads(key)["question"])):
                change(answer)

    return apply


def share(size: float) -> Callable[[str], bool]:
    """Choose a share of the questions."""
    return lambda question: lot("question", question) < size


def lost(gone: Callable[[Chunk], bool]) -> Fault:
    """Take chunks out of the index, and out of its counts."""

    def apply(answers: Answers) -> None:
        notes: dict[str, list[bool]] = {}
        chunks: dict[str, bool] = {}
        for answer in answers.values():
            for chunk in chunks_of(answer):
                chunks[chunk["chunk_id"]] = gone(chunk)
        for answer in answers.values():
            for chunk in chunks_of(answer):
                notes.setdefault(chunk["rel_path"], []).append(chunks[chunk["chunk_id"]])
        whole = sum(all(states) for states in notes.values())
        for answer in answers.values():
            put(answer, [chunk for chunk in chunks_of(answer) if not gone(chunk)])
            recount(answer, -whole, -sum(chunks.values()))

    return apply


def recount(answer: Answer, documents: int | None, chunks: int | None) -> None:
    """Change the counts of the index, or take them away."""
    coverage = answer["debug"]["indexing_coverage"]
    for names, by in ((("docs_processed",), documents), (("chunks_embedded", "chunks_attempted"), chunks)):
        for name in names:
            if by is None:
                coverage.pop(name, None)
            else:
                coverage[name] = coverage.get(name, 0) + by


def rescored(score: Callable[[Chunk], float]) -> Fault:
    """Replace the final scores of chunks, and sort by them."""

    def change(chunks: list[Chunk]) -> Sequence[Chunk]:
        for chunk in chunks:
            chunk["score_final"] = round(score(chunk), 6)
        return sorted(chunks, key=lambda chunk: -chunk["score_final"])

    return each_list(change)


def weighed(vector: float, lexical: float) -> Fault:
    """Weigh the two scores otherwise."""
    return rescored(lambda chunk: vector * chunk["score_vector"] + lexical * chunk.get("score_lexical", 0.0))


def without_part(part: str) -> Fault:
    """Let one of the two scores be 0 everywhere."""

    def score(chunk: Chunk) -> float:
        chunk[part] = 0.0
        return sum(weight * float(chunk.get(name, 0.0)) for name, weight in WEIGHTS.items())

    return rescored(score)


def boosted(which: Callable[[Chunk], bool], by: float) -> Fault:
    """Multiply the scores of some chunks."""
    return rescored(lambda chunk: float(chunk["score_final"]) * (by if which(chunk) else 1.0))


def folder(chunk: Chunk) -> str:
    """Return the folder of a chunk's note."""
    return str(chunk["rel_path"]).rpartition("/")[0]


def below(least: float, *, abstains: bool) -> Fault:
    """Return nothing that scores less."""

    def apply(answers: Answers) -> None:
        for answer in answers.values():
            kept = [chunk for chunk in chunks_of(answer) if chunk["score_final"] >= least]
            put(answer, kept)
            if abstains and not kept:
                answer["abstained"] = True

    return apply


def one_a_note(chunks: list[Chunk]) -> Sequence[Chunk]:
    """Keep the first chunk of each note."""
    return list({chunk["rel_path"]: chunk for chunk in reversed(chunks)}.values())[::-1]


def doubled(times: int, chunks: list[Chunk]) -> Sequence[Chunk]:
    """Return each chunk several times, under ids of their own."""
    return [
        {**chunk, "chunk_id": chunk["chunk_id"] if not copy else f"{chunk['chunk_id']}-{copy}"}
        for chunk in chunks
        for copy in range(times)
    ]


def shuffled(depth: int, answers: Answers) -> None:
    """Shuffle the first chunks; the scores stay where they are."""
    for key, answer in answers.items():
        chunks = chunks_of(answer)
        scores = [chunk["score_final"] for chunk in chunks]
        order = sorted(chunks[:depth], key=lambda chunk: lot(key, chunk["chunk_id"])) + chunks[depth:]
        for chunk, score in zip(order, scores, strict=True):
            chunk["score_final"] = score
        put(answer, order)


def reversed_lists(chunks: list[Chunk]) -> Sequence[Chunk]:
    """Sort the wrong way round; the scores fit the new order."""
    top = chunks[:DEPTH]
    scores = [chunk["score_final"] for chunk in top]
    for chunk, score in zip(reversed(top), scores, strict=True):
        chunk["score_final"] = score
    return top[::-1]


def of_one_cache_key(key_of: Callable[[str], str], answers: Answers) -> None:
    """Answer every question like the first one that has the same key."""
    first: dict[str, Answer] = {}
    for key, answer in answers.items():
        kept = first.setdefault(key_of(str(json.loads(key)["question"])), deepcopy(answer))
        answer.update(deepcopy(kept))


def folders_told(change: Callable[[list[str]], Sequence[str]], *, keep: bool = False) -> Fault:
    """Select other folders, and return nothing from outside of them."""

    def apply(answers: Answers) -> None:
        for answer in answers.values():
            told = answer["debug"]["folder_selection"]
            told["selected_folders"] = list(change(told["selected_folders"]))
            names = {name.partition("/")[2] for name in told["selected_folders"]}
            if not keep:
                put(answer, [chunk for chunk in chunks_of(answer) if folder(chunk) in names])

    return apply


def outside_selection(answers: Answers) -> None:
    """Return just what is not in the selected folders."""
    pool = sorted(
        {chunk["chunk_id"]: chunk for answer in answers.values() for chunk in chunks_of(answer)}.values(),
        key=lambda chunk: -chunk["score_final"],
    )
    for key, answer in answers.items():
        names = {name.partition("/")[2] for name in answer["debug"]["folder_selection"]["selected_folders"]}
        others = sorted((c for c in pool if folder(c) not in names), key=lambda c: lot(key, c["chunk_id"]))[:DEPTH]
        scores = sorted((round(0.1 + 0.2 * lot(key, c["rel_path"]), 6) for c in others), reverse=True)
        put(answer, [{**c, "score_final": score} for c, score in zip(others, scores, strict=True)])


def first_folder_skipped(answers: Answers) -> None:
    """Select folders as before, and search all but the first."""
    for answer in answers.values():
        first = [name.partition("/")[2] for name in answer["debug"]["folder_selection"]["selected_folders"][:1]]
        put(answer, [chunk for chunk in chunks_of(answer) if folder(chunk) not in first])


def but_one(fault: Fault) -> Fault:
    """Let a fault spare the first answer, which has a chunk from outside of all its folders."""

    def apply(answers: Answers) -> None:
        key = next(key for key, answer in answers.items() if chunks_of(answer))
        odd = deepcopy(answers[key])
        fault(answers)
        odd["debug"]["folder_selection"]["selected_folders"] = ["work/Elsewhere", "personal/Elsewhere"]
        answers[key] = odd

    return apply


def folder_gone(name: str) -> Fault:
    """Leave a folder out of the index, and out of what the API tells of folders."""
    drop = lost(lambda chunk: folder(chunk) == name or folder(chunk).startswith(f"{name}/"))

    def apply(answers: Answers) -> None:
        drop(answers)
        for answer in answers.values():
            selection = answer["debug"]["folder_selection"]
            for key in ("selected_folders", "available_folders"):
                kept = [one for one in selection.get(key, []) if one.partition("/")[2].partition("/")[0] != name]
                selection[key] = kept

    return apply


def untell(answers: Answers) -> None:
    """Take folders and counts out of all answers."""
    for answer in answers.values():
        answer["debug"]["folder_selection"].clear()
        recount(answer, None, None)


def words(chunk: Chunk, count: int) -> str:
    """Return the first words of a chunk."""
    return " ".join(str(chunk["text"]).split(" ")[:count])


def cut_texts(length: int) -> Fault:
    """Cut all texts to so many characters."""
    return each_chunk(lambda chunk: chunk.update(text=chunk["text"][:length]))


def other_texts(chunks: list[Chunk]) -> Sequence[Chunk]:
    """Replace the text of each chunk by that of the next one."""
    texts = [chunk["text"] for chunk in chunks]
    for chunk, text in zip(chunks, [*texts[1:], *texts[:1]], strict=True):
        chunk["text"] = text
    return chunks


def headings(change: Callable[[list[str]], str]) -> Fault:
    """Replace the headings."""
    return each_chunk(lambda chunk: chunk.update(heading_path=change(chunk["heading_path"].split(" > "))))


def paths(change: Callable[[str], str]) -> Fault:
    """Replace the paths."""
    return each_chunk(lambda chunk: chunk.update(rel_path=change(chunk["rel_path"])))


def emptied(answer: Answer) -> None:
    """Return nothing."""
    put(answer, [])


def first_lost(answer: Answer) -> None:
    """Return all but the best five chunks."""
    put(answer, chunks_of(answer)[5:])


def abstaining(answer: Answer) -> None:
    """Abstain."""
    answer["abstained"] = True


def cut_answer(depth: int, answer: Answer) -> None:
    """Return no more than so many chunks."""
    put(answer, chunks_of(answer)[:depth])


def has_table(text: str) -> bool:
    """Return whether a text has rows of a table."""
    return len(re.findall(r"^\s*\|", text, re.MULTILINE)) > 1


def _lists() -> Iterator[Row]:
    for skip in (1, 2, 3, 5, 10):
        named = rf"first {skip}\b.*(skipped|missing|left out|come back no more)|ranks? {skip + 1}|page"
        yield Row(f"first {skip} of each list skipped", each_list(lambda c, n=skip: c[n:]), named, "first|rank")
    for depth in (1, 3, 5, 8):
        yield Row(
            f"lists cut to {depth}", each_list(lambda c, n=depth: c[:n]), r"fewer|at most|cut|longest|ends|shorter"
        )
    yield Row(
        "one chunk a note", each_list(one_a_note), r"(a|each|every|per|one) (note|chunk).*(twice|once|one)", "note"
    )
    for times in (2, 3):
        yield Row(
            f"chunks {times} times",
            each_list(partial(doubled, times)),
            r"copies|same text|twice|distinct|several times",
        )
    yield Row("lists reversed", each_list(reversed_lists), r"revers|opposite|upside|wrong way", "order|rank")
    for depth in (3, 12):
        yield Row(
            f"top {depth} shuffled",
            partial(shuffled, depth),
            r"order|shuffl|other scores|same (chunks|passages)",
            "rank",
        )


def _index() -> Iterator[Row]:
    fewer = r"fewer documents|documents?[^.]*(→|before)|index[^.]*lost|note is not|no answer contains"
    for size in (0.02, 0.05, 0.1, 0.2, 0.4):
        yield Row(f"{size:.0%} of notes dropped", lost(lambda c, s=size: lot("note", c["rel_path"]) < s), fewer)
    gone = (
        r"notes?[^.]*(no|not|any) (longer|more|come|in any)|no answer (contains|holds)|gone from all|come back for no"
    )
    for size in (0.05, 0.1, 0.2):
        drop = lost(lambda c, s=size: lot("note", c["rel_path"]) < s)
        yield Row(f"{size:.0%} of notes dropped, not counted", drop, gone, "not among", untold=True)
    for nth in (2, 3, 5):
        drop = lost(lambda c, n=nth: lot("chunk", c["chunk_id"]) < 1 / n)
        yield Row(f"a chunk in {nth} dropped", drop, rf"(fewer )?chunks[^.]*(→|before|cut into)|{LEFT_OUT}")
    parts: dict[str, Callable[[str], bool]] = {
        "code": lambda text: "```" in text or "    " in text,
        "tables": has_table,
        "lists": lambda text: len(re.findall(r"^\s*[-*] ", text, re.MULTILINE)) > 1,
        "long texts": lambda text: len(text) > 400,
        "short texts": lambda text: len(text) < 80,
        "digits": lambda text: bool(re.search(r"\d{2}", text)),
    }
    for what, holds in parts.items():
        kind = what.split()[0].removesuffix("s")
        for counted in (True, False):
            drop = lost(lambda c, h=holds: h(c["text"]))
            name = f"chunks with {what} dropped{'' if counted else ', not counted'}"
            named = rf"chunks[^.]*(→|before|cut into|fewer)|{kind}|{LEFT_OUT}"
            yield Row(name, drop, named, "shorter|longer|not among", untold=not counted)
    for name in ("Recipes", "Runbooks", "Home", "Incidents", "docs", "Data"):
        words = rf"{name}"
        drop = folder_gone(name)
        yield Row(f"folder {name} not indexed", drop, rf"{words}|folder", fewer)
        yield Row(f"folder {name} not indexed, nothing told", drop, words, gone, untold=True)


def _scores() -> Iterator[Row]:
    weights = r"weights?|no longer counts|no (chunk|passage) has a"
    for vector, lexical in ((1.0, 0.0), (0.0, 1.0), (0.1, 0.9), (0.8, 0.2), (0.6, 0.4)):
        yield Row(f"weights {vector} and {lexical}", weighed(vector, lexical), weights, "scores")
    for part in WEIGHTS:
        yield Row(f"{part} is 0", without_part(part), rf"{weights}|other .* scores", "scores")
    for digits in (0, 1, 2):
        yield Row(
            f"scores rounded to {digits} digits",
            rescored(lambda c, d=digits: round(c["score_final"], d) - 1e-6 * lot(c["chunk_id"])),
            r"round|different scores|tie|same score",
            "scores",
        )
    for least in (0.2, 0.3, 0.4, 0.5):
        yield Row(
            f"nothing below {least}",
            below(least, abstains=False),
            r"scores below|threshold|below which|nothing comes back|fewer",
            "fewer",
        )
        yield Row(
            f"abstains below {least}", below(least, abstains=True), r"scores? below|threshold|below which|abstain"
        )
    boosts: dict[str, Callable[[Chunk], bool]] = {
        "first sections": lambda c: " > " not in c["heading_path"],
        "short texts": lambda c: len(c["text"]) < 120,
        "long texts": lambda c: len(c["text"]) > 300,
        "journal": lambda c: "Journal" in c["rel_path"],
        "READMEs": lambda c: c["rel_path"].endswith("README.md"),
        "meetings": lambda c: "Meetings" in c["rel_path"],
    }
    for what, which in boosts.items():
        for by in (0.5, 2.0):
            yield Row(
                f"scores of {what} x {by}",
                boosted(which, by),
                r"other (final )?scores|scores? .*(rose|fell)|overtak",
                "scores|ranking",
            )
    yield Row(
        "noise in the scores",
        rescored(lambda c: c["score_final"] * (0.7 + 0.6 * lot(c["text"]))),
        "other (final )?scores",
        "scores",
    )


def _folders() -> Iterator[Row]:
    fewer = r"fewer folders|folder selection|folders? (is|are) selected"
    for count in (1, 2, 3):
        yield Row(f"{count} folders selected", folders_told(lambda names, n=count: names[:n]), fewer, "folder")
    yield Row(
        "first folder not selected",
        folders_told(lambda names: names[1:]),
        f"{fewer}|first folder|selects first",
        "folder",
    )
    yield Row(
        "first folder skipped", first_folder_skipped, r"selects? first|first folder|nothing came from it", "folder"
    )
    for name, fault in {
        "first folder not selected": folders_told(lambda names: names[1:]),
        "first folder skipped": first_folder_skipped,
    }.items():
        words = f"{fewer}|first folder|selects? first|nothing came from it"
        yield Row(f"{name}, one answer odd", but_one(fault), words, "folder")
    yield Row(
        "folder filter inverted", outside_selection, r"outside (of )?(the )?select|not selected|inverted", "folder"
    )
    yield Row("first folder skipped, not told", first_folder_skipped, r"folder|rank|not among", "show", untold=True)


def _texts() -> Iterator[Row]:
    for length in (40, 100, 200):
        yield Row(f"texts cut to {length}", cut_texts(length), r"cut|characters|shorter", "snippet")
    for count in (5, 15):
        yield Row(
            f"first {count} words",
            each_chunk(lambda c, n=count: c.update(text=words(c, n))),
            "cut|shorter|words|characters",
            "snippet",
        )
    yield Row("texts empty", each_chunk(lambda c: c.update(text="")), r"without a text of its own|no text|empty")
    yield Row(
        "texts of the next chunk", each_list(other_texts), r"text of its own|not the note's|other (note|text|section)"
    )
    yield Row("texts in capitals", each_chunk(lambda c: c.update(text=c["text"].upper())), r"text", "snippet")
    yield Row(
        "texts without digits", each_chunk(lambda c: c.update(text=re.sub(r"\d", "", c["text"]))), r"text", "snippet"
    )
    told = r"heading"
    yield Row("headings empty", headings(lambda _: ""), told)
    yield Row("headings: the last", headings(lambda names: names[-1]), told)
    yield Row("headings: the first", headings(lambda names: names[0]), told)
    yield Row("headings: another separator", headings(" / ".join), told)
    yield Row("headings: lower case", headings(lambda names: " > ".join(names).lower()), told)
    path = r"note|path|vault"
    yield Row("paths in lower case", paths(str.lower), path)
    yield Row("paths without .md", paths(lambda path: path.removesuffix(".md")), path)
    yield Row("paths below data/", paths(lambda path: f"data/{path}"), path)
    yield Row("file names alone", paths(lambda path: path.rpartition("/")[2]), path)


def _passages() -> Iterator[Row]:
    text = r"times the text|% of the text|shorter|cut"
    yield Row("passages 5 times as long", each_chunk(lambda c: c.update(text=" ".join([c["text"]] * 5))), text)
    longest = each_list(lambda c: [{**c[0], "text": " ".join([c[0]["text"]] * 1290)}, *c[1:]] if c else c)
    yield Row("first passage 1,290 times as long", longest, text)
    yield Row(
        "passages half as long", each_chunk(lambda c: c.update(text=c["text"][: len(c["text"]) // 2])), text, "snippet"
    )


def _questions() -> Iterator[Row]:
    nothing = r"nothing (was retrieved|comes back|came back)"
    for size in (0.05, 0.1, 0.3):
        yield Row(f"nothing for {size:.0%} of the questions", some_questions(share(size), emptied), nothing)
        yield Row(
            f"best five lost for {size:.0%} of the questions",
            some_questions(share(size), first_lost),
            r"first|rank|not among",
            "show",
        )
        yield Row(f"abstains on {size:.0%} of the questions", some_questions(share(size), abstaining), "abstain")
        yield Row(
            f"{size:.0%} of the lists cut to 2",
            some_questions(share(size), partial(cut_answer, 2)),
            "list ends|fewer|shorter|cut",
        )
    kinds: dict[str, tuple[Callable[[str], bool], str]] = {
        "digits": (lambda text: bool(re.search(r"\d", text)), "digit|number"),
        "more than 90 characters": (lambda text: len(text) > 90, "long|characters"),
        "non-ASCII letters": (lambda text: not text.isascii(), "ASCII|letters|accent|umlaut"),
        "quotes": (lambda text: any(mark in text for mark in "\"'’"), "quot|apostrophe"),
        "capitals inside": (lambda text: bool(re.search(r" [A-Z]", text)), "capital"),
    }
    for what, (holds, named) in kinds.items():
        yield Row(
            f"questions with {what} lose their best five",
            some_questions(holds, first_lost),
            named,
            "first|rank|not among",
        )
        yield Row(f"nothing for questions with {what}", some_questions(holds, emptied), named, nothing)
    other = r"another question|same (answer|list)|different lists"
    yield Row("cache key: first word", partial(of_one_cache_key, lambda q: q.split()[0]), other, "show")
    yield Row("cache key: 12 characters", partial(of_one_cache_key, lambda q: q[:12]), other, "show")
    yield Row("cache key: length", partial(of_one_cache_key, lambda q: str(len(q))), other, "show")


def _switched() -> Iterator[Row]:
    """Yield the faults that the example API's variables and its patch switch on."""
    weights, folders = (
        r"weights?|no longer counts|no (chunk|passage) has a",
        "fewer folders|folder selection|selects? first",
    )
    switches = {
        "NOTES_DISABLE=vector": weights,
        "NOTES_DISABLE=lexical": weights,
        "NOTES_VECTOR_WEIGHT=2": weights,
        "NOTES_FOLDER_COUNT=1": folders,
        "NOTES_FOLDERS=off": "folder",
        "NOTES_CHUNK_MAX=120": "other chunks|cut into",
        "NOTES_CHUNK_MAX=5000": "other chunks|cut into",
        "NOTES_MIN_SCORE=0.5": "scores? below|below which",
        "NOTES_DROP_FOLDERS=work/Runbooks": "Runbooks|fewer documents|documents of the same notes",
    }
    for switch, named in switches.items():
        yield Row(switch, None, named, "scores", env=dict([switch.split("=")]))
    told = ("\treturn selected\n}\n\nfunc rank", "\treturn selected[min(1, len(selected)-1):]\n}\n\nfunc rank")
    yield Row("first-folder-skipped.patch", None, f"{folders}|first folder", "folder", edits=[("folders.go", *told)])


def kept_lines(condition: str, before: str = "") -> Edit:
    """Let the chunker keep the lines of a section for which a condition of Go holds."""
    begin = "\tfor len(lines) > 0 && isBlank(lines[0]) {"
    keep = f"if {condition} {{\n\t\t\tkept = append(kept, line)\n\t\t}}"
    loop = f"for _, line := range lines {{\n\t\t{before}\n\t\t{keep}\n\t}}"
    return ("chunk.go", begin, f"\tkept, fenced := []string{{}}, false\n\t{loop}\n\tlines, _ = kept, fenced\n{begin}")


def _edited() -> Iterator[Row]:
    """Yield faults in the source of the example API: of its chunker, its words and its embeddings."""
    embedded, fence = (
        'features(p.headingPath + "\\n" + p.text)',
        'if strings.HasPrefix(line, "```") {\n\t\t\tfenced = !fenced\n\t\t}',
    )
    scores = "other [^.]*scores"
    faults: dict[str, tuple[str, list[Edit]]] = {
        "headings not indexed": (
            f"headings|{scores}",
            [("index.go", embedded, "features(p.text)"), ("index.go", "\tcount(p.headingPath, headingBoost)\n", "")],
        ),
        "embeddings of headings": (f"headings|{scores}", [("index.go", embedded, "features(p.headingPath)")]),
        "embeddings of the first 60 bytes": (
            f"section|{scores}",
            [("index.go", embedded, "features(p.text[:min(60, len(p.text))])")],
        ),
        "case of words kept": (f"case|capital|{scores}", [("terms.go", "strings.ToLower(text)", "text")]),
        "stop words kept": (f"hold no word|{scores}", [("terms.go", "if !stopWords[w] {", "if len(w) > 0 {")]),
        "digits not indexed": (
            f"digit|number|{scores}",
            [("terms.go", "!unicode.IsLetter(r) && !unicode.IsDigit(r)", "!unicode.IsLetter(r)")],
        ),
        "ASCII letters alone": (
            f"ASCII|{scores}",
            [("terms.go", "!unicode.IsLetter(r) &&", "(r > 127 || !unicode.IsLetter(r)) &&")],
        ),
        "words not stemmed": (scores, [("terms.go", "list[i] = stem(w)", "list[i] = w")]),
        "scores of one digit": (
            "round|different scores",
            [("retrieve.go", "math.Round(x*1e6) / 1e6", "math.Round(x*10) / 10")],
        ),
        "code left out of chunks": ("code|chunks|shorter", [kept_lines("!fenced", fence)]),
        "tables left out of chunks": ("table|chunks|shorter", [kept_lines('!strings.HasPrefix(line, "|")')]),
    }
    for name, (named, edits) in faults.items():
        yield Row(name, None, named, "ranking|rank", edits=edits)


def rows() -> list[Row]:
    """Return all faults."""
    recorded = [*_lists(), *_index(), *_scores(), *_folders(), *_texts(), *_passages(), *_questions()]
    return [*recorded, *_switched(), *_edited()]


@contextmanager
def example(env: Mapping[str, str] = MappingProxyType({}), edits: Sequence[Edit] = ()) -> Iterator[str]:
    """Build and start the example API, with other variables and another source."""
    binary = Path(tempfile.mkdtemp()) / "notes-api"
    source = ROOT / "examples/notes-api"
    if edits:
        source = shutil.copytree(source, binary.parent / "source")
    for name, text, other in edits:
        before = (source / name).read_text()
        assert before.count(text) == 1, (name, text)
        (source / name).write_text(before.replace(text, other))
    subprocess.run(["go", "build", "-o", binary, "."], cwd=source, check=True)
    vaults = {f"VAULT_{name.upper()}_PATH": str(ROOT / "golden/vault" / name) for name in ("personal", "work")}
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with subprocess.Popen(
        [binary], env={**os.environ, **vaults, **env, "API_PORT": str(port)}, stderr=subprocess.DEVNULL
    ) as api:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            api.kill()
            shutil.rmtree(binary.parent)


class Server(ThreadingHTTPServer):
    """Answers as the example API did, with one fault at a time; what it has not heard yet it asks the API."""

    daemon_threads = True

    def __init__(self, api: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.api = api
        self.heard: Answers = {}
        self.spoilt: Answers = {}
        self.lock = threading.Lock()

    def spoil(self, *faults: Fault | None) -> None:
        """Put faults into all that was heard."""
        self.spoilt = deepcopy(self.heard)
        for fault in filter(None, faults):
            fault(self.spoilt)

    @contextmanager
    def asking(self, api: str) -> Iterator[None]:
        """Ask another API in place of what was heard."""
        kept = self.api, self.heard
        self.api, self.heard, self.spoilt = api, {}, {}
        try:
            yield
        finally:
            self.api, self.heard = kept

    def answer(self, path: str, body: bytes) -> bytes:
        """Return a body: of a question the kept one, as deep as lists are."""
        if not path.startswith(PATHS[0]):
            return fetched(self.api + path, None)
        asked = json.loads(body)
        key = json.dumps(asked | {"k": 0}, sort_keys=True)
        with self.lock:
            if key not in self.spoilt:
                deep = json.dumps(asked | {"k": DEEP}).encode()
                self.heard[key] = json.loads(fetched(self.api + path, deep))
                self.spoilt[key] = deepcopy(self.heard[key])
            answer = self.spoilt[key]
        shallow = {
            **answer,
            "debug": {**answer["debug"], "retrieved_chunks": chunks_of(answer)[: max(DEPTH, asked["k"])]},
        }
        return json.dumps(shallow).encode()


class Handler(BaseHTTPRequestHandler):
    """Reads a request and writes what the server answers."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: Server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        """Write no log."""

    def do_GET(self) -> None:
        """Answer any request."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        answer = self.server.answer(self.path, body)
        self.send_response_only(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
        self.wfile.flush()

    do_POST = do_GET  # noqa: N815 - the name of the base class


def fetched(url: str, body: bytes | None) -> bytes:
    """Return the body of an answer."""
    with urllib.request.urlopen(urllib.request.Request(url, data=body), timeout=30) as answer:
        content: bytes = answer.read()
        return content


def project(folder_path: Path, url: str) -> Path:
    """Write a configuration that asks the server."""
    folder_path.mkdir()
    golden = ROOT / "golden"
    (folder_path / "golden").symlink_to(golden)
    config = folder_path / "raggate.yml"
    vaults = "".join(f"  {name}: golden/vault/{name}\n" for name in ("personal", "work"))
    config.write_text(
        f"suite: causes\ngolden: golden/eval_set.jsonl\nvault:\n{vaults}api: {{url: '{url}'}}\n"
        "ask: {modes: [hybrid], k: 5}\n"
    )
    return config


def command(config: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run raggate in the directory of a configuration."""
    return subprocess.run(
        [sys.executable, "-m", "raggate", *arguments], cwd=config.parent, capture_output=True, text=True, check=False
    )


def newest(config: Path) -> dict[str, Any]:
    """Return the newest verdict."""
    newest_run = max((config.parent / ".raggate/runs").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    content: dict[str, Any] = json.loads((newest_run / "verdict.json").read_bytes())
    shutil.rmtree(newest_run)
    return content


def judged(row: Row, verdict: Mapping[str, Any]) -> tuple[str, str]:
    """Return what a report makes of a fault, and the sentence it rests on."""
    diagnosis = verdict.get("diagnosis") or {}
    likely = str(diagnosis.get("likely") or "")
    beside = [*diagnosis.get("changes", ()), *(str(item.get("message")) for item in verdict.get("warnings", ()))]
    reasons = [str(item.get("message")) for item in verdict.get("reasons", ())]
    invariant = [text for text in reasons if "“" in text]
    whys = Counter(str(flip.get("why")) for flip in verdict.get("flips", ()) if flip.get("kind") == "broke")
    common = [why for why, times in whys.items() if 2 * times >= sum(whys.values())]
    named, half = re.compile(row.named, re.IGNORECASE), re.compile(row.half or row.named, re.IGNORECASE)
    if named.search(likely) and DIAGNOSED.search(likely):
        return "named", likely
    if verdict["verdict"] == "pass" and not named.search(" ".join(beside)):
        return "unseen", str(verdict.get("headline"))
    if any(named.search(text) for text in (*invariant, *reasons[:1])):
        return "named", reasons[0]
    if any(named.search(text) or half.search(text) for text in (likely, *beside, *common)):
        return ("half", likely or " | ".join(beside)[:300])
    if DIAGNOSED.search(likely):
        return "wrong", likely
    return ("vague" if likely or verdict["verdict"] != "pass" else "none"), likely or str(reasons[:2])


def main() -> None:
    """Try all faults, and print a table."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="faults whose name a pattern finds")
    parser.add_argument("--all", action="store_true", help="print those that are named too")
    options = parser.parse_args()
    chosen = [row for row in rows() if re.search(options.only, row.name)]
    counts: Counter[str] = Counter()
    with example() as api, tempfile.TemporaryDirectory() as folder_name:
        server = Server(api)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        configs = {}
        for untold in (False, True):
            url = f"http://127.0.0.1:{server.server_address[1]}"
            config = configs[untold] = project(Path(folder_name) / str(untold), url)
            command(config, "check")
            if untold:
                # only recorded answers are spoiled, and the check above has recorded them
                server.spoil(untell)
                command(config, "check")
            done = command(config, "promote", "latest", "--reason", "the answers without a fault")
            if done.returncode != 0:
                sys.exit(done.stderr)
            shutil.rmtree(config.parent / ".raggate/runs")
        print("| fault | verdict | cause | what is said |\n|---|---|---|---|")
        for row in chosen:
            config = configs[row.untold]
            if row.apply is None:
                with example(row.env, row.edits) as other, server.asking(other):
                    command(config, "check")
            else:
                server.spoil(row.apply, untell if row.untold else None)
                command(config, "check")
            verdict = newest(config)
            kind, sentence = judged(row, verdict)
            counts[kind] += 1
            if options.all or kind != "named":
                text = sentence.replace("|", "\\|").replace("\n", " ")
                print(f"| {row.name} | {verdict['verdict']} | {kind} | {text[:260]} |", flush=True)
    seen = sum(counts.values()) - counts["unseen"]
    told = counts["named"] + counts["half"]
    print(f"\n{len(chosen)} faults, {seen} seen: {dict(counts)}; named or half {told / max(seen, 1):.0%}")


if __name__ == "__main__":
    main()
