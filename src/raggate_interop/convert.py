"""Golden sets from one format to another: a source and a target in, a written file and a list of what was lost out.

What a format cannot say is found by going there and back: whatever of a case does not return the same is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from raggate.base.errors import UsageError
from raggate.base.files import read_file, scratch_directory, write_atomic
from raggate.base.jsonio import dumps
from raggate.base.quote import cut
from raggate.inputs import golden
from raggate.models.golden import Case
from raggate_interop.golden_rows import Note, Row, case_row, differences, note
from raggate_interop.kebab import golden as kebab_golden
from raggate_interop.kebab.golden import GoldenFile, Unlabelled
from raggate_interop.labels.models import RetrievalJudgment
from raggate_interop.labels.score import consolidate
from raggate_interop.pragmata import records as pragmata_records
from raggate_interop.pragmata.records import CanonicalRecord
from raggate_interop.pragmata.sheets import read_sheet
from raggate_interop.results import Converted
from raggate_interop.substrate import golden as substrate_golden
from raggate_interop.substrate.golden import QuerySet
from raggate_interop.terminal import refuse_replacing
from raggate_interop.trec_beir import beir, golden_graded
from raggate_interop.trec_beir.golden_graded import Graded, Unit

MAX_BYTES = 256 << 20

SEED_KEYS = (
    *("id", "question", "answerable", "expected_key_facts", "gold_supports", "required_support_groups"),
    *("recency_conflict_rule", "tags", "vaults", "folders", "category", "difficulty"),
)
"""The keys of helloworld's own eval_set.jsonl."""

_SEED_SUPPORT = ("rel_path", "heading_path", "snippets")
_TARGET = "the converted golden set"

PRAGMATA = "pragmata"
"""What can only be read."""


class Options(Struct, frozen=True, kw_only=True):
    """What some formats need beside a path.

    `topics` and `topics_out` are the topics of a TREC source and target, `split` names the judgements of a BEIR folder,
    `unit` is what TREC and BEIR call a document, `unlabelled` what kebab's entries without labels are, and `records`
    are canonical records for pragmata's labels.
    """

    topics: Path | None = None
    topics_out: Path | None = None
    split: str = "test"
    unit: Unit = "document"
    unlabelled: Unlabelled = "refuse-to-guess"
    records: Path | None = None


class Format(Protocol):
    """A format as raggate cases see it. `native` is whatever its own module makes of a file.

    `load` also tells what no case holds of a file, `rows` what is said, by the id of the case. `asides` tells what the
    format takes otherwise than raggate, though it comes back as it was. `save` writes `files`, whole or not at all.
    """

    def load(self, path: Path) -> tuple[Any, tuple[Note, ...]]: ...
    def decode(self, native: Any) -> tuple[Case, ...]: ...
    def encode(self, cases: Sequence[Case]) -> Any: ...
    def rows(self, native: Any) -> Mapping[str, Row]: ...
    def asides(self, cases: Sequence[Case]) -> Iterable[Note]: ...
    def save(self, native: Any, path: Path) -> None: ...
    def files(self, path: Path) -> tuple[Path, ...]: ...


def rows_of(cases: Iterable[Case]) -> dict[str, Row]:
    """Return what cases say, by id."""
    return {case.id: case_row(case, golden.complete(replace(case, gold_supports=())).gold_supports) for case in cases}


class _OneFile:
    def __init__(self, options: Options) -> None:
        self.options = options

    def files(self, path: Path) -> tuple[Path, ...]:
        return (path,)

    def asides(self, cases: Sequence[Case]) -> Iterable[Note]:
        return ()


class _Raggate(_OneFile):
    """raggate's own `eval_set.jsonl`."""

    def load(self, path: Path) -> tuple[tuple[Case, ...], tuple[Note, ...]]:
        return tuple(golden.load(read_bytes(path), str(path)).cases), ()

    def decode(self, native: tuple[Case, ...]) -> tuple[Case, ...]:
        return native

    def encode(self, cases: Sequence[Case]) -> tuple[Case, ...]:
        return tuple(golden.load(b"".join(map(golden.write_case, cases)), _TARGET).cases)

    def rows(self, native: tuple[Case, ...]) -> Mapping[str, Row]:
        return rows_of(native)

    def save(self, native: tuple[Case, ...], path: Path) -> None:
        write_atomic(path, b"".join(map(golden.write_case, native)))


class _Helloworld(_Raggate):
    """helloworld's `eval_set.jsonl`: the same lines, with its twelve keys alone."""

    def encode(self, cases: Sequence[Case]) -> tuple[Case, ...]:
        # an answerable case without a place in the notes is one that their scripts cannot score
        lines = [line for case in cases if (line := _seed_line(case))]
        return tuple(golden.load(b"".join(lines), _TARGET).cases) if lines else ()

    def save(self, native: tuple[Case, ...], path: Path) -> None:
        write_atomic(path, b"".join(map(_seed_line, native)))


class _Kebab(_OneFile):
    """kebab's golden YAML."""

    def load(self, path: Path) -> tuple[GoldenFile, tuple[Note, ...]]:
        native = kebab_golden.read_golden(read_bytes(path), str(path))
        return native, tuple(note("", "", "dropped", text) for text in native.ignored)

    def decode(self, native: GoldenFile) -> tuple[Case, ...]:
        return kebab_golden.to_cases(native, unlabelled=self.options.unlabelled)

    def encode(self, cases: Sequence[Case]) -> GoldenFile:
        # without labels an entry is one to refuse there, whatever it says of itself
        entries = [kebab_golden.from_case(case) for case in cases]
        queries = tuple(entry for entry in entries if not entry.answerable or entry.labelled or entry.forbidden)
        return GoldenFile(name=_TARGET, queries=queries, hash=kebab_golden.digest(queries), ignored=())

    def rows(self, native: GoldenFile) -> Mapping[str, Row]:
        written = {query.id: query.model_dump(exclude_defaults=True) for query in native.queries}
        return {
            name: {key: list(value) if isinstance(value, tuple) else value for key, value in row.items()}
            for name, row in written.items()
        }

    def save(self, native: GoldenFile, path: Path) -> None:
        write_atomic(path, kebab_golden.write_golden(native.queries))


class _Substrate(_OneFile):
    """substrate's `queries.json`: an object with a version, or a bare array. Either form is read."""

    bare = False

    def load(self, path: Path) -> tuple[QuerySet, tuple[Note, ...]]:
        native = substrate_golden.read_queries(path)
        about = {"version": native.version, "description": native.description, **native.extra}
        return native, tuple(note("", key, "dropped", cut(value, limit=60)) for key, value in about.items() if value)

    def decode(self, native: QuerySet) -> tuple[Case, ...]:
        return substrate_golden.to_cases(native)

    def encode(self, cases: Sequence[Case]) -> QuerySet:
        pairs = zip(cases, substrate_golden.from_cases(cases), strict=True)
        return QuerySet(queries=tuple(query for case, query in pairs if query.expected_docs or not case.answerable))

    def rows(self, native: QuerySet) -> Mapping[str, Row]:
        # queries without an id are known by the one that their case gets
        return {case.id: query.row() for case, query in zip(self.decode(native), native.queries, strict=True)}

    def asides(self, cases: Sequence[Case]) -> Iterable[Note]:
        return _without_answer(cases)

    def save(self, native: QuerySet, path: Path) -> None:
        substrate_golden.write_queries(path, native, bare=self.bare)


class _SubstrateArray(_Substrate):
    """`queries.json` written as a bare array."""

    bare = True


class _Graded(_OneFile):
    def decode(self, native: Graded) -> tuple[Case, ...]:
        return golden_graded.to_cases(native, self.options.unit)

    def encode(self, cases: Sequence[Case]) -> Graded:
        return golden_graded.from_cases(cases, self.options.unit)

    def rows(self, native: Graded) -> Mapping[str, Row]:
        return golden_graded.rows(native)

    def asides(self, cases: Sequence[Case]) -> Iterable[Note]:
        return _without_answer(cases)


class _Trec(_Graded):
    """A TREC qrels file with its topics."""

    def load(self, path: Path) -> tuple[Graded, tuple[Note, ...]]:
        native = golden_graded.read_trec(path, self._topics(self.options.topics, "--topics"))
        return native, golden_graded.refused(native, self.options.unit)

    def save(self, native: Graded, path: Path) -> None:
        golden_graded.refuse_unjudged(native, self.options.unit)
        golden_graded.write_trec(native, path, self._topics(self.options.topics_out, "--topics-out"))

    def files(self, path: Path) -> tuple[Path, ...]:
        return (path, self._topics(self.options.topics_out, "--topics-out"))

    def _topics(self, path: Path | None, flag: str) -> Path:
        if path is None:
            raise UsageError(f"TREC keeps questions in a file of their own: expected {flag} FILE")
        return path


class _Beir(_Graded):
    """Queries and judgements of a BEIR folder."""

    def load(self, path: Path) -> tuple[Graded, tuple[Note, ...]]:
        native = Graded(queries=beir.read_queries(path), qrels=beir.read_qrels(path, self.options.split))
        return native, golden_graded.refused(native, self.options.unit)

    def save(self, native: Graded, path: Path) -> None:
        golden_graded.refuse_unjudged(native, self.options.unit)
        beir.write_folder(path, self.options.split, queries=native.queries, qrels=native.qrels)

    def files(self, path: Path) -> tuple[Path, ...]:
        return (path / beir.QUERIES, path / "qrels" / f"{self.options.split}.tsv")


FORMATS: dict[str, Callable[[Options], Format]] = {
    "raggate": _Raggate,
    "helloworld": _Helloworld,
    "kebab": _Kebab,
    "substrate": _Substrate,
    "substrate-array": _SubstrateArray,
    "trec": _Trec,
    "beir": _Beir,
}
"""What can be read and written."""


def read_pragmata(path: Path, options: Options) -> tuple[tuple[Case, ...], tuple[Note, ...]]:
    """Read retrieval labels of pragmata, a CSV file or a directory of them, as cases."""
    if path.suffix.lower() in {".json", ".jsonl"}:
        raise UsageError(
            f"{path}: canonical records have no labels",
            hint="Give the CSV of retrieval labels as SOURCE, and this file with --records.",
        )
    if path.is_dir():
        sheets = [read_sheet(read_bytes(file), str(file)) for file in sorted(path.glob("*.csv"))]
    else:
        sheets = [read_sheet(read_bytes(path), str(path), task="retrieval")]
    sheets = [sheet for sheet in sheets if sheet.task == "retrieval"]
    judgments = [row for sheet in sheets for row in sheet.judgments if isinstance(row, RetrievalJudgment)]
    if not judgments:
        raise UsageError(f"{path}: no retrieval labels here")
    records: tuple[CanonicalRecord, ...] = ()
    if options.records is not None:
        records = pragmata_records.read_records(read_bytes(options.records), str(options.records))
    units = consolidate(judgments)
    cases, notes = pragmata_records.to_cases(units, records)
    aside = []
    if len(units) < len(judgments):
        aside.append(note("", "annotator_id", "dropped", "several annotators: the majority of each label counts"))
    if discarded := sum(len(sheet.discarded) for sheet in sheets):
        aside.append(note("", "response_status", "dropped", f"{discarded} rows that were discarded"))
    return cases, (*aside, *notes)


def read_bytes(path: Path) -> bytes:
    """Return the content of a file."""
    return read_file(path, most_bytes=MAX_BYTES)


def _without_answer(cases: Sequence[Case]) -> Iterable[Note]:
    for case in cases:
        if not case.answerable:
            yield note(case.id, "answerable", "changed", "a query without expected documents counts as a miss there")


def _seed_line(case: Case) -> bytes:
    row = {key: value for key, value in rows_of([case])[case.id].items() if key in SEED_KEYS}
    supports = [
        {key: support[key] for key in _SEED_SUPPORT if key in support}
        for support in row.get("gold_supports", ())
        if "rel_path" in support
    ]
    if case.answerable and not supports:
        return b""
    lists: dict[str, list[str]] = {key: [] for key in ("expected_key_facts", "tags", "vaults", "folders")}
    filed = {"category": case.category, "difficulty": case.difficulty}
    optional = {"required_support_groups": None, "recency_conflict_rule": None}
    return dumps({**lists, **filed, **optional, **row, "gold_supports": supports}) + b"\n"


def convert(
    source: Path, target: Path, *, from_format: str, to_format: str, options: Options, strict: bool, overwrite: bool
) -> Converted:
    """Convert a golden set. Every target is read back before it is put in its place; `strict` writes no lossy one."""
    writer = FORMATS[to_format](options)
    files = writer.files(target)
    for path in files:
        refuse_replacing(path, force=overwrite)
    cases, notes = read(source, from_format, options)
    native, losses = through(writer, cases)
    notes = (*notes, *losses)
    lost, filled = tuple(one for one in notes if one.lost), tuple(one for one in notes if not one.lost)
    if strict and lost:
        return Converted(cases=len(cases), written=0, files=(), lost=lost, filled=filled)
    _check(native, target, to_format, options)
    target.parent.mkdir(parents=True, exist_ok=True)
    writer.save(native, target)
    return Converted(cases=len(cases), written=len(writer.decode(native)), files=files, lost=lost, filled=filled)


def read(source: Path, name: str, options: Options) -> tuple[tuple[Case, ...], tuple[Note, ...]]:
    """Read a golden set of a format; also tell what cases cannot hold of it."""
    if name == PRAGMATA:
        return read_pragmata(source, options)
    reader = FORMATS[name](options)
    native, notes = reader.load(source)
    cases = reader.decode(native)
    if not cases:
        raise UsageError(f"{source}: no case is left that has a label")
    return cases, (*notes, *compared(reader.rows(native), reader.rows(reader.encode(cases))))


def through(writer: Format, cases: tuple[Case, ...]) -> tuple[Any, tuple[Note, ...]]:
    """Return what a format can say of cases, and tell what it cannot."""
    native = writer.encode(cases)
    back = writer.decode(native)
    if not back:
        raise UsageError(
            "no case has a label that the target format can express",
            hint="See docs/migrating.md for what each format can express.",
        )
    return native, (*writer.asides(cases), *compared(rows_of(cases), rows_of(back)))


def compared(before: Mapping[str, Row], after: Mapping[str, Row]) -> tuple[Note, ...]:
    """Compare two sets of rows, case by case."""
    return tuple(note for name, row in before.items() for note in differences(name, row, after.get(name)))


def _check(native: Any, target: Path, name: str, options: Options) -> None:
    """Write to a place of its own and read it back, so that nothing is written that its own reader refuses."""
    with scratch_directory() as directory:
        path, topics = directory / (target.name or "target"), directory / "raggate-topics"
        form = FORMATS[name](replace(options, topics=topics, topics_out=topics))
        form.save(native, path)
        try:
            back, _ = form.load(path)
        except UsageError as error:
            message = error.message.replace(str(path), str(target))
            raise UsageError(f"raggate's own reader refuses the result: {message}", hint=error.hint) from None
        if form.rows(back) != form.rows(native):
            raise UsageError(f"{target}: the result reads back differently")
