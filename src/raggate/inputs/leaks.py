"""Which texts of answers hold words of notes that are kept from whoever asked, whatever note they name. Pure.

Words in a row that stand in such a note tell, where they stand in no note that may be seen and not in the question. A
chunker may put the place before a text, so words that the chunk's own note explains are its own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from raggate.base.errors import UsageError
from raggate.base.headings import inside_place
from raggate.base.jsonio import JsonObject
from raggate.base.yamlio import parse
from raggate.config.probe_settings import Principal, Private, bare_tag, marking
from raggate.inputs.headings import front_matter_of
from raggate.inputs.notes import Notes, bare, shingles, words
from raggate.models.golden import Vault
from raggate.models.run import Chunk, LabelledResult, Leak, LeakPart, Reference, Response, Run

ROW = 8
"""Words in a row by which a text is known to be of a note."""

OWN_ALONE = 0.9
"""Share of a passage's words that are its note's, from which on it is not looked at for text of other vaults."""

_TOGETHER = 5_000
"""Answers that are looked through at once: the notes are, for each such lot."""

_Row = tuple[str, ...]
_Asked = tuple[str, Response | None]
"""A question and its answer; None where there was none."""

_OF_CHUNK: tuple[LeakPart, ...] = ("chunk_id", "doc_id", "vault", "rel_path", "heading_path")

_TAG = re.compile(r"(?<![\w/#&])#([\w/-]+)")
_LINE = re.compile(r"^([\w-]+)[ \t]*:[ \t]*(.*)$", re.MULTILINE)
_NO_VALUE = (None, False, "")


class _Text(NamedTuple):
    """A text of a response, where it stands, and what names the note that its words may be of."""

    text: str
    rank: int = 0
    part: LeakPart = ""
    place: Chunk | Reference | None = None


def noted(run: Run, notes: Notes, principals: Mapping[str, Principal]) -> Run:
    """Note in a run with whole texts which answers contain text of a note that is kept back."""
    private = frozenset(run.probes.private)
    results, repeats = (_across(_labelled(items, notes, private), notes) for items in (run.results, run.repeats))
    answers = [*run.probes.answers]
    for name in dict.fromkeys(answer.probe.principal for answer in answers):
        places = [place for place, answer in enumerate(answers) if answer.probe.principal == name]
        asked = [(answers[place].probe.question, answers[place].result.response) for place in places]
        sees = principals[name].sees if name in principals else None
        unseen = () if sees is None else (note for note in notes.texts if not inside_place(note, sees))
        for place, own in zip(places, _leaks(asked, notes, private.union(unseen)), strict=True):
            answers[place] = replace(answers[place], leaks=own)
    return replace(run, results=results, repeats=repeats, probes=replace(run.probes, answers=tuple(answers)))


def made_public(notes: Mapping[str, str], private: Collection[str], texts: Iterable[str]) -> frozenset[str]:
    """Name the private ones of some notes that texts hold words in a row of, which stand in no public one of them."""
    # hashes, as there are as many rows as words
    kept = {hash(row): note for note in sorted(private) for row in _rows(notes[note])}
    leaked = {number: kept[number] for text in texts for row in _rows(text) if (number := hash(row)) in kept}
    # only what was found is looked for in all the others
    for note in notes.keys() - private if leaked else ():
        for row in _rows(notes[note]):
            leaked.pop(hash(row), None)
    return frozenset(leaked.values())


def _labelled(items: Sequence[LabelledResult], notes: Notes, private: frozenset[str]) -> Sequence[LabelledResult]:
    if not private:
        return items
    leaks = _leaks([(item.case.question, item.result.response) for item in items], notes, private)
    return tuple(replace(item, labels=replace(item.labels, leaks=own)) for item, own in zip(items, leaks, strict=True))


def _across(items: Sequence[LabelledResult], notes: Notes) -> Sequence[LabelledResult]:
    """Return answers with the passages noted that hold text of a vault which their question excludes.

    Only passages that are partly of other notes are looked at; most are of their own note alone.
    """
    places: dict[tuple[str, ...], list[int]] = {}
    for place, item in enumerate(items):
        if item.case.vaults and any(share < OWN_ALONE for _, share in item.labels.partly):
            places.setdefault(item.case.vaults, []).append(place)
    labelled = list(items) if places else []
    for vaults, of_them in places.items():
        hidden = frozenset(note for note in notes.texts if note.partition("/")[0] not in vaults)
        asked = [(items[place].case.question, items[place].result.response) for place in of_them]
        for place, leaks in zip(of_them, _leaks(asked, notes, hidden), strict=True):
            labels = items[place].labels
            own = dict.fromkeys((*labels.leaks, *(leak for leak in leaks if leak.rank and not leak.part)))
            labelled[place] = replace(items[place], labels=replace(labels, leaks=tuple(own)))
    return tuple(labelled) if places else items


def _leaks(asked: Sequence[_Asked], notes: Notes, hidden: frozenset[str]) -> Iterator[tuple[Leak, ...]]:
    """Yield for each answer what it holds of hidden notes."""
    for begin in range(0, len(asked), _TOGETHER):
        lot = asked[begin : begin + _TOGETHER]
        texts = {text.text for _, response in lot for text in _texts(response)} if hidden else ()
        kept_back = _only_in(hidden, frozenset(row for text in texts for row in _rows(text)), notes)
        # the same texts come back for many questions, and few hold anything
        telling = frozenset(text for text in texts if not kept_back.keys().isdisjoint(_rows(text))) if kept_back else ()
        for question, response in lot:
            own = [text for text in _texts(response) if text.text in telling] if telling else []
            yield tuple(dict.fromkeys(_of_answer(question, own, kept_back, notes)))


def _only_in(hidden: frozenset[str], wanted: frozenset[_Row], notes: Notes) -> dict[_Row, str]:
    """Those of some words in a row that stand in `hidden` notes, and in no other or its path, each with a note."""
    standing: dict[_Row, str] = {}
    for note in sorted(hidden) if wanted else ():
        for row in wanted.intersection(_rows(notes.texts[note])):
            standing.setdefault(row, note)
    for note in notes.texts.keys() - hidden if standing else ():
        for text in (note, notes.texts[note]):
            for row in _rows(text):
                standing.pop(row, None)
    return standing


def _of_answer(question: str, telling: Sequence[_Text], kept_back: Mapping[_Row, str], notes: Notes) -> Iterator[Leak]:
    in_question = frozenset(_rows(question)) if telling else frozenset()
    for text, rank, part, place in telling:
        for row in _rows(text):
            note = kept_back.get(row)
            if note is not None and row not in in_question and not (place and notes.explains(place, note, row)):
                yield Leak(rank=rank, note=note, part=part)
                break


def _texts(response: Response | None) -> Iterator[_Text]:
    """Yield every text that the API wrote into a response: what is looked at nowhere could hold a note."""
    if response is None:
        return
    for rank, chunk in enumerate(response.chunks, 1):
        yield _Text(chunk.text, rank, "", chunk)
        yield from (_Text(getattr(chunk, part) or "", rank, part, chunk) for part in _OF_CHUNK)
    yield _Text(response.answer or "")
    for cited in response.references:
        for text in (cited.vault, cited.rel_path, cited.heading_path):
            yield _Text(text, part="references", place=cited)
    others: Mapping[LeakPart, Iterable[str]] = {
        "abstain_reason": [response.abstain_reason or ""],
        "model": [response.model or ""],
        "folder_reasoning": [response.folder_reasoning or ""],
        "selected_folders": response.selected_folders or (),
        "available_folders": response.available_folders or (),
        "coverage": _strings(response.coverage or {}),
        "latency": response.latency,
        "cost": response.cost,
    }
    yield from (_Text(text, part=part) for part, texts in others.items() for text in texts)


def _strings(coverage: JsonObject) -> Iterator[str]:
    for key, value in coverage.items():
        inner = value if isinstance(value, dict) else {}
        yield from (key, *inner)
        yield from (text for text in (value, *inner.values()) if isinstance(text, str))


def _rows(text: str) -> Iterator[_Row]:
    for written in dict.fromkeys((text, bare(text))):
        yield from shingles(words(written), ROW)


def private_notes(vault: Vault, private: Private) -> tuple[str, ...]:
    """Name the notes that are marked, as `vault/rel_path`, sorted. Empty notes are in no index and not named."""
    if not private.marks:
        return ()
    return tuple(
        sorted(f"{name}/{path}" for (name, path), text in vault.texts.items() if _marked(name, path, text, private))
    )


def visible(vault: Vault, private: Private) -> Vault:
    """Return the vault without the texts of the notes that are marked: what questions may be about."""
    hidden = frozenset(private_notes(vault, private))
    texts = {(name, path): text for (name, path), text in vault.texts.items() if f"{name}/{path}" not in hidden}
    return replace(vault, texts=texts)


def _marked(name: str, path: str, text: str, private: Private) -> bool:
    if inside_place(f"{name}/{path}", private.places):
        return True
    if not (private.front_matter or private.tags):
        return False
    front_matter = _fields(text)
    return any(_has(front_matter, key, values) for key, values in private.front_matter.items()) or any(
        inside_place(bare_tag(tag), map(bare_tag, private.tags)) for tag in _tags(text, front_matter)
    )


def _fields(text: str) -> dict[str, Any]:
    """Read a note's front matter; line by line where it is no YAML, as others may read it all the same."""
    written = front_matter_of(text)
    try:
        value = parse(written.encode("utf-8", "replace"), "front matter").value
    except UsageError:
        value = {key: entry.strip(" \t\"'") for key, entry in _LINE.findall(written)}
    return {str(key).casefold(): entry for key, entry in value.items()} if isinstance(value, dict) else {}


def _has(front_matter: dict[str, Any], key: str, values: list[str | bool]) -> bool:
    entry = front_matter.get(key.casefold())
    entries = entry if isinstance(entry, list) else [entry]
    if not values:
        return any(item not in _NO_VALUE for item in entries)
    return not set(map(marking, entries)).isdisjoint(map(marking, values))


def _tags(text: str, front_matter: dict[str, Any]) -> Iterator[str]:
    for key in ("tags", "tag"):
        listed = front_matter.get(key)
        items = listed if isinstance(listed, list) else re.split(r"[,\s]+", listed) if isinstance(listed, str) else []
        yield from map(str, items)
    yield from _TAG.findall(text)
