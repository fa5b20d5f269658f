"""What raggate has, for other tools: result lists of a run as TREC or JSON lines, and a corpus as a BEIR folder's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from raggate.base.errors import CannotTell, UsageError
from raggate.base.jsonio import dumps
from raggate.base.quote import cut, quoted
from raggate.inputs import vault
from raggate.models.run import Chunk, LabelledResult, Run
from raggate.pipeline import run_directory
from raggate_interop.trec_beir import beir, trec
from raggate_interop.trec_beir.beir import Document
from raggate_interop.trec_beir.rankings import write_whole

Unit = Literal["document", "note", "chunk"]
"""What a list names: documents by their ids (by their paths where the API gives none), notes by path, or chunks."""

Lists = Mapping[str, Sequence[str] | None]


def lists_of(directory: Path, unit: Unit, mode: str | None = None) -> dict[str, tuple[str, ...] | None]:
    """Return per case what a run retrieved, best first and each name once; None for a failed call.

    Raises:
        CannotTell: for a run that did not ask all of its questions.
    """
    lists: dict[str, tuple[str, ...] | None] = {}
    for item in results(directory, mode):
        response = item.result.response
        names = None if response is None else tuple(dict.fromkeys(_name(chunk, unit) for chunk in response.chunks))
        if names is not None and "" in names:
            raise UsageError(f"case {quoted(item.case.id)}: the API returned a {unit} without a name")
        lists[item.case.id] = names
    return lists


def write_lists(lists: Lists, target: Path, form: Literal["trec", "lists"]) -> None:
    """Write a TREC run file, or JSON lines as `raggate evaluate --lists` reads them.

    A failed call is in neither, and an empty list not in a TREC file: whoever scores the file has to count both as
    misses. Scores of a TREC file are made of the ranks.

    Raises:
        OSError: when the file cannot be written.
    """
    if form == "trec":
        trec.write_run(target, ((name, doc_ids) for name, doc_ids in lists.items() if doc_ids))
        return
    with write_whole(target) as stream:
        for name, doc_ids in lists.items():
            if doc_ids is not None:
                stream.write(dumps({"query_id": name, "doc_ids": list(doc_ids)}) + b"\n")


def corpus_of(source: Path) -> Iterable[Document]:
    """Return the documents of a BEIR folder, one by one, or else the notes of a directory by their paths."""
    if (source / beir.CORPUS).is_file():
        return beir.iter_corpus(source)
    if not source.is_dir():
        raise UsageError(f"{source}: expected a directory of notes, or a BEIR folder")
    return _notes(source)


def write_corpus(documents: Iterable[Document], folder: Path) -> int:
    """Write `corpus.jsonl` of a BEIR folder, and count the documents. The rest of the folder stays as it is.

    Raises:
        OSError: when it cannot be written; an old one is then untouched.
    """
    seen: set[str] = set()

    def checked() -> Iterator[Document]:
        for document in documents:
            if document.id in seen:
                raise UsageError(f"document {quoted(document.id)} occurs twice")
            seen.add(document.id)
            yield document

    folder.mkdir(parents=True, exist_ok=True)
    beir.write_corpus(folder, checked())
    return len(seen)


def _notes(directory: Path) -> Iterator[Document]:
    for (_, path), text in vault.load({"notes": directory}).texts.items():
        yield Document(path, text, Path(path).stem)


def _name(chunk: Chunk, unit: Unit) -> str:
    if unit == "chunk":
        return chunk.chunk_id
    return chunk.rel_path if unit == "note" or chunk.doc_id is None else chunk.doc_id


def whole(directory: Path) -> Run:
    """Read a run that asked all of its questions: what other tools read has no place to say that it is a part.

    Raises:
        CannotTell: for a run that did not.
    """
    run = run_directory.read(directory)
    if run.shortfall:
        raise CannotTell(f"{directory}: not a whole run: {cut(run.shortfall)}", hint="Ask all questions first.")
    return run


def results(directory: Path, mode: str | None = None) -> tuple[LabelledResult, ...]:
    """Return the results of a run in one mode.

    Raises:
        CannotTell: for a run that did not ask all of its questions.
    """
    run = whole(directory)
    modes = tuple(dict.fromkeys(item.result.mode for item in run.results))
    if mode is None and len(modes) > 1:
        raise UsageError(f"{directory}: the run has the modes {cut(', '.join(modes))}", hint="Choose one with --mode.")
    if mode is not None and mode not in modes:
        raise UsageError(f"{directory}: no mode {quoted(mode)} here, but {cut(', '.join(modes))}")
    return tuple(item for item in run.results if mode in {None, item.result.mode})


def only_mode(run: Run, wanted: str | None) -> str:
    """Return the mode that `--mode` names, or the only one of the run where it names none."""
    modes = list(dict.fromkeys(item.result.mode for item in run.results))
    mode = modes[0] if wanted is None and len(modes) == 1 else wanted
    if mode is None or mode not in modes:
        raise UsageError(f"--mode: the run has the modes {', '.join(modes) or 'none'}", hint="Choose one of them.")
    return mode
