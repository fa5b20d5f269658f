"""A run or shard that is being asked: by what, and its answers on disk as they come, so that it can be resumed.

`asking.json` says by what it is asked, and `results.jsonl` gets a row for each answer. Of a run both are gone once it
is whole. Who could write them could have given the answers: see docs/shards.md.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from msgspec import DecodeError, Struct, field
from msgspec.json import Decoder
from msgspec.structs import asdict, replace

from raggate import __version__
from raggate.base.errors import CannotTell, UsageError
from raggate.base.files import naming, read_file, stored_lines, write_atomic
from raggate.base.jsonio import dumps
from raggate.base.quote import cut
from raggate.config.schema import Config
from raggate.inputs import sources
from raggate.inputs.trusted import Inputs
from raggate.models.asking import AskedApi, Asking, Ended, Means
from raggate.models.golden import Case, hash_of_list
from raggate.models.provenance import Checkout, exact_image
from raggate.models.run import Result
from raggate.pipeline import result_rows
from raggate.pipeline.answers import AnswersSoFar, index_counts, index_values
from raggate.pipeline.request import Request, unheard
from raggate.pipeline.run_directory import safe_runs
from raggate.scoring.score import METRICS_VERSION
from raggate.service.ask import questions_of

HEADER = "asking.json"
SCHEMA = "raggate/asking/2"
_ANEW = "Start again without --resume."
MOST_HEADER = 4 << 20
_API_WORDS = {
    "url": "the API's address",
    "image": "the API's image",
    "source": "the checkout that the API is built from",
}
_WORDS = {
    "raggate_version": "the version of raggate",
    "metrics_version": "the version of the metrics",
    "golden": "the golden set",
    "config": "the configuration",
    "vault": "the vault",
    "command": "the command",
    "shard": "the shard",
    "questions": "which questions are asked",
    "commit": "the commit that is checked out",
    "against": "the commit of --against",
}
Key = tuple[str, str, int]
"""Mode, id and repeat of a call."""


class _Stored(Asking, frozen=True, kw_only=True):
    schema: str


def means(request: Request, inputs: Inputs, seen: Checkout | None = None) -> Means:
    """Return by what these inputs measure; `seen` is what was just seen of the checkout, None to look."""
    settings = inputs.config
    return Means(
        raggate_version=__version__,
        metrics_version=METRICS_VERSION,
        suite=settings.suite,
        golden=inputs.golden.hash,
        config=hashlib.sha256(dumps(settings.model_dump(mode="json"))).hexdigest(),
        vault=inputs.vault.hash,
        api=_api(settings, request.root, request.remote, seen),
        modes=tuple(settings.ask.modes),
        repeat=settings.ask.repeat,
    )


def _api(settings: Config, root: Path, remote: sources.Remote | None, seen: Checkout | None) -> AskedApi:
    api = settings.api
    if api.url is not None:
        return AskedApi(kind="url")
    if api.container is not None and api.container.image is not None:
        return AskedApi(kind="image", name=api.container.image, id=exact_image(api.container.image))
    # a run writes what its judges reply, which changes nothing of the API
    replies = None if settings.judging is None else settings.judging.cassette
    return AskedApi(kind="source", id=sources.tree_id(root, remote, but=replies, seen=seen))


def differences(before: Means, here: Means) -> list[str]:
    """Name in words what two ways to measure differ in."""
    words = {**_WORDS, "api": _API_WORDS[here.api.kind]}
    return [words.get(key, key) for key, value in asdict(here).items() if getattr(before, key) != value]


def differ(names: Sequence[str]) -> str:
    """Return the message that these differ."""
    return f"{', '.join(names)} {'differs' if len(names) == 1 else 'differ'}"


def asking(
    request: Request,
    inputs: Inputs,
    cases: Sequence[Case],
    command: str,
    started: str,
    checkout: Checkout,
    shard: str = "",
) -> Asking:
    """Return by what these cases are asked here, from a time on, ISO 8601."""
    return Asking(
        means=means(request, inputs, checkout),
        command=command,
        shard=shard,
        questions=hash_of_list(case.id for case in cases),
        commit=checkout.commit or "",
        against=inputs.against or "",
        started=started,
    )


def read_header(directory: Path, named: Path | None = None) -> Asking:
    """Read by what a run or shard is asked; nothing in it is trusted. `named` is what messages call its directory."""
    shown = (directory if named is None else named) / HEADER
    content = read_file(directory / HEADER, _ANEW, most_bytes=MOST_HEADER, name=shown, follow=False)
    try:
        stored = Decoder(_Stored).decode(content)
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{shown}: damaged: {cut(error)}", hint=_ANEW) from None
    if stored.schema != SCHEMA:
        raise UsageError(f"{shown}: schema is {cut(stored.schema)}, but this raggate reads {SCHEMA}", hint=_ANEW)
    return Asking(**{name: getattr(stored, name) for name in Asking.__struct_fields__})


def write_header(directory: Path, header: Asking) -> None:
    """Write by what a run or shard is asked."""
    write_atomic(directory / HEADER, dumps({"schema": SCHEMA, **asdict(header)}, pretty=True))


class UnfinishedRun(Struct, kw_only=True):
    """The answers on disk; a context, in which nobody else can add any.

    `checkout` is what was checked out when it began or was resumed; `resumes` says that some answers are there already.
    """

    directory: Path
    asking: Asking
    checkout: Checkout
    resumes: bool = False
    say: Callable[[str], None] = unheard
    _booted: bool = False
    _answered: set[Key] = field(default_factory=set)
    _stack: ExitStack = field(default_factory=ExitStack)
    _stream: BinaryIO | None = None

    @property
    def _path(self) -> Path:
        return self.directory / result_rows.PLAIN

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            if self.resumes:
                for name in (HEADER, result_rows.PLAIN):
                    _refuse_foreign(self.directory / name)
                self._go_on()
            flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CREAT | (0 if self.resumes else os.O_EXCL)
            stream = stack.enter_context(os.fdopen(os.open(self._path, flags, 0o644), "r+b", buffering=0))
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise UsageError(f"{self.directory}: another process is asking there right now") from None
            whole = sum(map(len, self._lines()))
            stream.truncate(whole)
            stream.seek(whole)
            self._stream, self._stack = stream, stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._stack:
            if not self._booted:
                # nothing was asked
                self.done()

    def _go_on(self) -> None:
        """Check that the settings have not changed since the run started."""
        before = read_header(self.directory)
        keys = ("command", "shard", "questions", "commit", "against")
        differing = differences(before.means, self.asking.means)
        differing += [_WORDS[key] for key in keys if getattr(before, key) != getattr(self.asking, key)]
        if differing:
            problem = f"cannot be resumed, because it was asked with other settings: {differ(differing)}"
            hint = f"Give the same files and flags as before. {_ANEW}"
            raise UsageError(f"{self.directory}: {problem}", hint=hint)
        if before.means.api.kind == "source" and not before.means.api.id:
            problem = "outside git raggate cannot tell whether the API's source is unchanged"
            raise UsageError(f"{self.directory}: {problem}", hint=_ANEW)
        # the header was written as the API was up, and the answers after it
        took = 0.0
        with suppress(FileNotFoundError):
            took = self._path.stat().st_mtime - (self.directory / HEADER).stat().st_mtime
        self.asking, self._booted = replace(before, seconds=before.seconds + max(took, 0.0)), True

    def _lines(self) -> Iterator[bytes]:
        """Yield the whole lines: a process that was killed may have left a part of one."""
        return (line for line in stored_lines(self._path) if line.endswith(b"\n"))

    def load(self, answers: AnswersSoFar, cases: Sequence[Case]) -> None:
        """Put the answers that are there into `answers`; they must be to these questions."""
        if not self.resumes:
            return
        means = self.asking.means
        due = {
            (mode, case.id, repeat)
            for case, mode in questions_of(cases, means.modes)
            for repeat in range(1, means.repeat + 1)
        }
        kept: dict[Key, Result] = {}
        for number, row in enumerate(result_rows.read_asked(self._lines(), str(self._path)), 1):
            result = row.whole
            key = (result.mode, result.case_id, result.repeat)
            if key not in due or key in kept or row.again or row.probe:
                place = f"{self._path}:{number}"
                raise UsageError(f"{place}: an answer to an unknown question, or a second answer")
            kept[key] = result
        self._answered = {*kept}
        answers.results.extend(kept.values())
        answers.failed += sum(result.failure is not None for result in kept.values())
        there = "answer is" if len(kept) == 1 else "answers are"
        self.say(f"{len(kept)} {there} there from before. Only the others are asked")

    def left(self, questions: Sequence[tuple[Case, str]], repeat: int) -> Sequence[tuple[Case, str]]:
        """Return those of the questions that are not answered yet, for the time that `repeat` counts."""
        return [(case, mode) for case, mode in questions if (mode, case.id, repeat) not in self._answered]

    def note_boot(self, answers: AnswersSoFar) -> None:
        """Note that the API is up, before it is asked anything."""
        images, index = tuple(dict.fromkeys(answers.images)), index_counts(answers.index)
        if self._answered:
            self._refuse_other_api(images, index, answers)
            self.asking = replace(self.asking, resumed=self.asking.resumed + 1)
        else:
            # nothing was answered before, so nothing can be mixed
            self.asking = replace(self.asking, images=images, index=index, resumed=0)
        self._booted = True
        write_header(self.directory, self.asking)

    def _refuse_other_api(self, images: tuple[str, ...], index: Mapping[str, int], answers: AnswersSoFar) -> None:
        if self.asking.images != images:
            raise CannotTell(f"{self.directory}: the API runs from another image than before", hint=_ANEW)
        if self.asking.index != index:
            counts = f"{_counts(index)}, it was {_counts(self.asking.index)}"
            raise CannotTell(f"{self.directory}: the API has another index than before: {counts}", hint=_ANEW)
        if self.asking.means.api.kind == "url" and not index_values(answers.results, answers.index):
            problem = "the API reports nothing about its index, which may have changed"
            raise CannotTell(f"{self.directory}: {problem}", hint=_ANEW)

    def can_be_resumed(self, answers: AnswersSoFar) -> bool:
        """Return whether it could be resumed if it ended now: whether anything tells that the API is the same."""
        api = self.asking.means.api
        tells = api.id if api.kind == "source" else api.kind == "image" or index_values(answers.results, answers.index)
        return bool(self._booted and tells)

    def add(self, result: Result) -> None:
        """Keep an answer; once this returns, a process that is killed has it."""
        left = memoryview(result_rows.asked_line(result))
        try:
            while self._stream is not None and left:
                left = left[self._stream.write(left) :]
        except OSError as error:
            raise naming(error, self._path) from error

    def check_index(self, answers: AnswersSoFar) -> None:
        """Refuse answers that were given from several indexes, as far as they tell."""
        values = index_values(answers.results, None) if self._answered else {}
        if several := [key for key, texts in values.items() if len(texts) > 1]:
            problem = "answers from before and after the interruption come from different indexes"
            raise CannotTell(f"{self.directory}: {problem}: {', '.join(several)}", hint=_ANEW)

    def end(self, ended: Ended, rows: Iterable[bytes]) -> None:
        """Pack all rows of a shard, and note how it ended."""
        result_rows.write_packed(self.directory, rows)
        self.asking, self._booted = replace(self.asking, ended=ended), True
        write_header(self.directory, self.asking)
        self._path.unlink()

    def done(self) -> None:
        """Remove the files, now that all is whole."""
        for name in (HEADER, result_rows.PLAIN):
            (self.directory / name).unlink(missing_ok=True)


def place(request: Request) -> Path:
    """Find the directory that is resumed: a path, or a name among the runs."""
    named = request.resume or Path()
    directory = named if named.is_dir() else safe_runs(request) / named
    if not (directory / HEADER).exists() or not (directory / result_rows.PLAIN).exists():
        raise UsageError(
            f"{named}: nothing to resume there. The run is missing, complete, or never began to ask",
            hint="`raggate runs` lists the runs. You can only resume a run that was killed while it asked.",
        )
    if request.action:
        raise UsageError("--resume does not work in the action: remove it")
    _refuse_foreign(directory)
    return directory


def _refuse_foreign(path: Path) -> None:
    with suppress(FileNotFoundError):
        if path.is_symlink() or path.stat().st_uid != os.geteuid():
            raise UsageError(f"{path}: a link, or another user's directory, which raggate does not trust", hint=_ANEW)


def _counts(index: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {key}" for key, count in sorted(index.items())) or "not told"
