"""One labelled answer -> which of its fields are filled, from where, and what those that are empty cost. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from raggate.base.field_paths import joined, parse
from raggate.base.numbers import counted
from raggate.base.quote import cut, quoted
from raggate.config.mapped_settings import ChunkFields, rule_of
from raggate.config.schema import Config
from raggate.gate.headings import unsplit
from raggate.inputs.headings import heading_paths
from raggate.models.golden import Vault
from raggate.models.run import LabelledResult, Response
from raggate.models.service import IndexState
from raggate.models.smoke_test import FilledField, SmokeTest

_SEVERAL_VAULTS = "notes with the same path in two vaults cannot be distinguished"
_NO_ANSWER = "no answer came, so there is nothing to score"
_OWN_ID = "raggate makes one from the other fields"
_EMPTY = "the list of passages is empty, so its fields are unknown. Is the index filled? Try another `--question`"


_OF_CHUNKS = {
    "rel_path": ("rel_path", "no label of a note can match, only ids of documents"),
    "heading_path": ("heading_path", "labels that name a heading never match; only labels of whole notes can"),
    "text": ("text", "labels with snippets never match, and raggate cannot check that a text is in its note"),
    "score": ("score_final", "raggate cannot check that scores fall down the list, nor explain a loss by them"),
    "score_vector": ("score_vector", ""),
    "score_lexical": ("score_lexical", ""),
    "id": ("chunk_id", ""),
    "doc_id": ("doc_id", ""),
    "vault": ("vault", ""),
}
"""A field -> the part of a chunk that it is, and what it costs that no chunk tells it."""


_OF_INDEX = {
    "documents": "an index that lacks notes looks complete, and only questions that lose by it can tell",
    "chunks": "raggate cannot see that a change cuts your notes into fewer passages",
}
"""A count of the index, and what it costs that the API does not tell it."""


def examine(item: LabelledResult, settings: Config, notes: Vault, index: IndexState | None = None) -> SmokeTest:
    """Return what one answer filled, and what `check` would make of it; `index` is None if it was not asked for."""
    failure, response = item.result.failure, item.result.response
    if response is None:
        reason = failure.message if failure else "not asked"
        return SmokeTest(case=item.case, result=item.result, unknown=(f"the question got no answer: {reason}",))
    matched = (position for position, supports in enumerate(item.labels.matches, 1) if supports)
    return SmokeTest(
        case=item.case,
        result=item.result,
        fields=(*_of_chunks(response, settings), *_of_answer(response, settings), *_of_index(index, settings)),
        rank=next(matched, None),
        unknown=() if response.chunks else (_EMPTY,),
        broken=tuple(_violations("error", item, response, settings, notes)),
        hints=(
            *_violations("warn", item, response, settings, notes),
            *_unsplit(response, notes),
            *_hints(item, response, settings),
        ),
    )


def _of_chunks(response: Response, settings: Config) -> Iterator[FilledField]:
    chunks = response.chunks
    for name, (part, usual) in _OF_CHUNKS.items():
        values = [value for chunk in chunks if (value := getattr(chunk, part)) not in (None, "")]
        cost = _SEVERAL_VAULTS if name == "vault" and len(settings.vault) > 1 else usual
        yield FilledField(
            name=name,
            source=_source(name, settings),
            filled=len(values),
            of=len(chunks),
            first=cut(values[0], limit=200) if values else "",
            cost=cost if chunks and not values else "",
        )


def _source(name: str, settings: Config) -> str:
    mapping = settings.ask.response
    if mapping is None:
        return f"adapter {settings.ask.adapter}"
    fields = mapping.chunks
    written: str | list[str] | None = fields.told_headings if name == "heading_path" else getattr(fields, name)
    if name == "heading_path" and fields.headings_by_text:
        by_text = "the place of the text in its note"
        return by_text if written is None else f"{_all_paths(fields, written)}, or {by_text}"
    if written is None:
        through_prefix = name == "vault" and "{vault}" in (fields.path_prefix or "")
        return _OWN_ID if name == "id" else "path_prefix" if through_prefix else ""
    return _all_paths(fields, written)


def _all_paths(fields: ChunkFields, written: str | Sequence[str]) -> str:
    if isinstance(written, str):
        return _whole_path(fields, written)
    # the others are beside the first
    return " + ".join([_whole_path(fields, written[0]), *written[1:]])


def _whole_path(fields: ChunkFields, written: str) -> str:
    steps = parse(written).steps
    if parse(written).many:
        return written
    if fields.columns:
        begin, steps = fields.columns.get(str(steps[0]) if steps else "", ""), steps[1:]
    else:
        begin = fields.list
    whole = begin if begin and parse(begin).many else f"{begin}[*]"
    return reduce(joined, steps, whole)


def _of_answer(response: Response, settings: Config) -> Iterator[FilledField]:
    given, adapter = settings.ask.response, f"adapter {settings.ask.adapter}"
    if not settings.ask.retrieval_only:
        source = (given.answer or "") if given else adapter
        cost = "" if response.answer or response.abstained else _NO_ANSWER
        first = cut(response.answer or "", limit=200)
        yield FilledField(name="answer", source=source, filled=int(bool(first)), of=1, first=first, cost=cost)
        cited = given.references.list if given and given.references else ""
        source = cited if given else adapter
        paths = [reference.rel_path for reference in response.references]
        first = cut(paths[0], limit=200) if paths else ""
        yield FilledField(name="references", source=source, filled=int(bool(paths)), of=1, first=first)
    if given is None or given.abstained is not None:
        source = rule_of(given.abstained).path if given else adapter
        # nothing there is no abstention either, so a misspelled path must not look like one that leads to false
        filled, first = (1, "true") if response.abstained else (None, "false, or nothing is there")
        yield FilledField(name="abstained", source=source, filled=filled, of=1, first=first)


def _of_index(index: IndexState | None, settings: Config) -> Iterator[FilledField]:
    """Yield the counts of the index; a missing number of chunks costs nothing more if that of documents is missing."""
    if index is None:
        return
    for name, cost in _OF_INDEX.items():
        count: int | None = getattr(index, name)
        missing = count is None and (name == "documents" or index.documents is not None)
        yield FilledField(
            name=name,
            source=_index_source(name, settings),
            filled=int(count is not None),
            of=1,
            first="" if count is None else str(count),
            cost=cost if missing else "",
        )


def _index_source(name: str, settings: Config) -> str:
    """Return where a count of the index is read from; empty for nowhere."""
    ask = settings.ask
    if ask.response is None:
        return f"adapter {ask.adapter}"
    if settings.api.stdio and ask.adapter == "mapped":
        return f"{name} of its first line"
    return (getattr(ask.index, name) or "") if ask.index else ""


def _violations(level: str, item: LabelledResult, response: Response, settings: Config, notes: Vault) -> Iterator[str]:
    rules = settings.invariants
    if rules.notes_exist == level:
        yield from _strangers(response, notes)
    for rule, positions, what in (
        ("headings_exist", item.labels.strange_headings, "headings that the note does not have"),
        ("text_in_note", item.labels.strange_texts, "a text that is not in the note"),
    ):
        if getattr(rules, rule) == level and positions:
            chunk = response.chunks[positions[0]]
            shown = chunk.heading_path if "headings" in what else chunk.text
            where = f"{cut(chunk.rel_path, limit=100)}, {quoted(shown, limit=80)}"
            yield f"{rule}: {len(positions)} of {counted(len(response.chunks), 'passage')}: {what}, such as {where}"


def _strangers(response: Response, notes: Vault) -> Iterator[str]:
    paths = {path for _, path in notes.texts}
    strange = [chunk.rel_path for chunk in response.chunks if chunk.rel_path not in paths]
    if not strange:
        return
    message = f"notes_exist: {len(strange)} of {counted(len(response.chunks), 'passage')}"
    if not any(strange):
        yield f"{message} without the path of a note; for an API that returns ids only see docs/adapters.md"
        return
    message += f": the vault has no note with such a path: {quoted(strange[0], limit=100)}"
    prefix = prefix_of(strange, paths)
    if prefix is not None:
        message += f"; chunks.path_prefix {quoted(prefix, limit=100)} removes what comes before it"
    yield message


def prefix_of(strange: Sequence[str], paths: set[str]) -> str | None:
    """Return what all of some paths begin with, and what is followed by the path of a note wherever it is known.

    None where there is no such beginning. A note that is not known, such as one without text, does not contradict it.
    """
    beginnings = set()
    for path in strange:
        parts = path.split("/")
        # the longest note path that it ends in
        tails = ("/".join(parts[start:]) for start in range(1, min(len(parts), 50)))
        tail = next((tail for tail in tails if tail in paths), None)
        if tail is not None:
            beginnings.add(path[: len(path) - len(tail)])
    prefix = beginnings.pop() if len(beginnings) == 1 else None
    return prefix if prefix is not None and all(path.startswith(prefix) for path in strange) else None


def _unsplit(response: Response, notes: Vault) -> Iterator[str]:
    named = {chunk.rel_path for chunk in response.chunks}
    paths = {path: heading_paths(text, path) for (_, path), text in notes.texts.items() if path in named}
    returned = [(chunk.heading_path, paths.get(chunk.rel_path, ())) for chunk in response.chunks]
    if apart := unsplit(returned):
        example = next(heading for heading, of_note in returned if unsplit([(heading, of_note)]))
        yield f"{apart}, such as {quoted(example, limit=80)}"


def _hints(item: LabelledResult, response: Response, settings: Config) -> Iterator[str]:
    depth, deepest = len(response.chunks), max(settings.score.k)
    asked = item.case.k or settings.ask.k
    if 0 < depth < min(asked, deepest):
        yield (
            f"{counted(depth, 'passage')} came, but raggate requested {asked} and scores {deepest}: is `{{k}}` sent, "
            "does the API cap it, or is that all it finds?"
        )
    if item.case.gold_supports and not any(item.labels.matches):
        yield "the expected passage is not in the list (one question says little)"
    if response.unasked:
        yield "the API generated an answer although raggate asked for retrieval only: that takes time and may cost"
