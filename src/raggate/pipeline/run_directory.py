"""The run directory: sole owner of its layout. Files are written whole or not at all, and read as untrusted."""

from __future__ import annotations

import filecmp
import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, NotRequired, TypeVar, get_args

from msgspec import DecodeError, ValidationError, convert
from msgspec.json import Decoder
from msgspec.structs import replace
from pydantic import TypeAdapter, ValidationError as UnfitError
from typing_extensions import TypedDict

from raggate.base import files, jsonio
from raggate.base.dates import now
from raggate.base.errors import Interrupted, RaggateError, UsageError
from raggate.base.files import RUNS, read_file, stored_lines, write_atomic
from raggate.base.jsonio import JsonObject, as_dict, dumps, fields, holds_more, parse_object
from raggate.base.quote import cut, first_problem, quoted
from raggate.config.imported import ImportedConfig, RunConfig, System
from raggate.config.schema import Config
from raggate.config.values import Name
from raggate.gate import waivers
from raggate.inputs import golden
from raggate.models.golden import Golden, Selection
from raggate.models.judging import Judging
from raggate.models.provenance import Fingerprint, Provenance, exact_image
from raggate.models.run import Probing, Run
from raggate.models.verdict import ReportContext
from raggate.pipeline import result_rows
from raggate.pipeline.request import Request, RunFailed
from raggate.reports import OF_CHECK, Reports, encoded
from raggate.service import signals

T = TypeVar("T")
SCHEMA = "raggate/run/1"

HINT = "Name the directory of one run, such as `raggate check` leaves in .raggate/runs."
_SUITE: TypeAdapter[str] = TypeAdapter(Name)
MOST_VALUES = 100_000
"""Values in a stored configuration: what is checked takes a thousand times the memory of one that does not fit."""
_SHARD = re.compile(r"shard-[0-9]+-of-[0-9]+.*")
_LEFT_OUT = {"api_image", "command", "build", "measured", "resumed"}
"""Keys that a run has no place for where they say nothing."""


class _Words(TypedDict):
    """What a run says of itself, beside its questions and answers, as its `config.json` holds it."""

    suite: str
    started: str
    duration_s: float
    stopped: str | None
    interrupted: bool
    log: tuple[str, ...]
    judging: NotRequired[Judging | None]
    selection: NotRequired[Selection | None]


def check_place(root: Path, out: str = RUNS) -> None:
    """Refuse a directory for run directories, relative to an absolute `root`, that a change could have moved."""
    path = root
    for part in Path(out).parts:
        path /= part
        if path.is_symlink():
            raise UsageError(
                f"the run directory would be behind the symbolic link {quoted(path)}",
                hint="Remove the link, or name another directory with --out.",
            )
        if path.exists() and not path.is_dir():
            raise UsageError(
                f"the run directories would go into {quoted(path)}, which is a file",
                hint="Remove the file, or name another directory with --out.",
            )


def safe_runs(request: Request) -> Path:
    """Return the directory that run directories are made in, after `check_place` of the usual one."""
    if request.out is None:
        check_place(request.root)
    return request.runs()


def write_reports(directory: Path, reports: Reports[T], value: T) -> None:
    """Write every report there is of a value."""
    for name, render in reports.items():
        write_atomic(directory / name, encoded(render(value)))


def create(parent: Path, started: str) -> Path:
    """Make a fresh directory named after the start, `YYYYMMDD_HHMMSS`."""
    return fresh(parent, started.replace("-", "").replace(":", "").replace("T", "_").removesuffix("Z"))


def fresh(parent: Path, name: str, again: str = "_") -> Path:
    """Make a directory, with a number where there is one of this name already."""
    for attempt in range(1, 1000):
        path = parent / (name if attempt == 1 else f"{name}{again}{attempt}")
        try:
            path.mkdir(parents=True)
            _ignore(parent)
        except FileExistsError:
            continue
        except OSError as error:
            if error.errno in files.FULL:
                raise
            raise UsageError(
                f"cannot make the run directory {path}: {error.strerror}",
                hint="Remove the file, or name another directory with --out.",
            ) from None
        return path
    raise UsageError(f"cannot make a run directory in {parent}: {name} exists a thousand times")


def way_to(root: Path, directory: Path) -> str:
    """Return the way from a run directory up to a directory that it lies in, such as `../../`; else nothing."""
    root, directory = root.resolve(), directory.resolve()
    return "../" * len(directory.relative_to(root).parts) if directory.is_relative_to(root) else ""


def _ignore(parent: Path) -> None:
    top = next((path for path in (parent, parent.parent) if path.name == ".raggate"), None)
    marker = top / ".gitignore" if top else None
    if marker is None:
        return
    with suppress(FileExistsError):  # a link is there too, wherever it leads
        handle = os.open(marker, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        with os.fdopen(handle, "wb") as stream:
            stream.write(b"*\n")


def of_suite(run: Run, suite: str) -> Run:
    """Return an imported run to a suite, whose baseline it can then be held against and become."""
    try:
        name = _SUITE.validate_python(suite)
    except UnfitError:
        raise UsageError(
            f"--suite: expected letters, digits, '.', '_' and '-', found {quoted(suite)}",
            hint="It is the name given by `suite` in raggate.yml.",
        ) from None
    return replace(run, suite=name, config=run.config.model_copy(update={"suite": name}))


def write(directory: Path, run: Run, *, full_text: bool = False) -> None:
    """Write the files that a run is read from again; chunk texts are cut unless `full_text`."""
    config = {
        "schema": SCHEMA,
        "run_id": run.run_id,
        "suite": run.suite,
        "started": run.started,
        "stopped": run.stopped,
        "interrupted": run.interrupted,
        "log": list(run.log),
        **({"private": list(run.probes.private)} if run.probes.private else {}),
        "duration_s": run.duration_s,
        "golden": {
            "name": run.golden.name,
            "hash": run.golden.hash,
            **({"part_of": run.golden.part_of} if run.golden.part_of is not None else {}),
        },
        "fingerprint": run.fingerprint,
        **({"judging": run.judging} if run.judging is not None else {}),
        **({"selection": run.selection} if run.selection is not None else {}),
        "config": written(run),
    }
    write_atomic(directory / "config.json", dumps(config, pretty=True))
    write_atomic(directory / "golden.jsonl", golden.written(run.golden))
    results = chain(run.results, run.repeats)
    result_rows.write_packed(directory, result_rows.lines(results, full_text=full_text))
    if run.probes.answers:
        write_atomic(directory / result_rows.PROBES, result_rows.write_probes(run.probes.answers, full_text=full_text))


def read(
    directory: Path, *, named: Path | None = None, config: RunConfig | None = None, cases: Golden | None = None
) -> Run:
    """Read a run directory, in which nothing is trusted.

    Args:
        named: what messages call it in its place; `Path()` for its files alone.
        config: the configuration to use instead of the one in the directory.
        cases: its questions, where they are known.
    """
    named = directory if named is None else named
    if _SHARD.fullmatch(directory.name) and not (directory / "config.json").exists():
        hint = "Merge the directories of all shards first: `raggate merge DIR...`."
        raise UsageError(f"{named}: one shard of a run, which says nothing alone", hint=hint)
    config_path = named / "config.json"
    stored = _read_config(directory, config_path)
    if cases is None:
        # its cases are those that were scored: rules that came later do not make them unreadable
        shown = named / "golden.jsonl"
        cases = golden.load(stored_lines(directory / shown.name, HINT, name=shown), str(shown), rules=False)
    rows_name, rows = result_rows.packed_lines(directory, HINT, named=named)
    first, later = result_rows.read(rows, rows_name, cases)
    path, shown = directory / result_rows.PROBES, named / result_rows.PROBES
    lines = stored_lines(path, HINT, name=shown) if os.path.lexists(path) else ()
    probes = result_rows.read_probes(lines, str(shown))
    try:
        run_id, settings = str(stored["run_id"]), dict(stored["config"])
        provenance = Provenance()
        if config is None:
            config, provenance = read_config(settings, run_id)
        private = tuple(str(note) for note in stored.get("private", ()))
        return Run(
            run_id=run_id,
            golden=_named(cases, stored["golden"]),
            results=first,
            repeats=later,
            config=config,
            provenance=provenance,
            probes=Probing(answers=probes, private=private),
            fingerprint=_fingerprint(stored["fingerprint"]),
            **convert({name: stored[name] for name in _Words.__annotations__ if name in stored}, _Words),
        )
    except (UnfitError, ValidationError) as error:
        raise UsageError(f"{config_path}: {first_problem(error)}", hint=HINT) from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"{config_path}: not a complete run configuration ({cut(repr(error))})") from None


def same_questions(one: Path, other: Path) -> bool:
    """Return whether two run directories hold the same questions, byte for byte."""
    own, others = one / "golden.jsonl", other / "golden.jsonl"
    plain = all(path.is_file() and not path.is_symlink() for path in (own, others))
    return plain and filecmp.cmp(own, others, shallow=False)


def _read_config(directory: Path, config_path: Path) -> dict[str, Any]:
    stored = parse_object(read_file(directory / "config.json", HINT, name=config_path, follow=False), str(config_path))
    if problem := jsonio.schema_problem(stored.get("schema"), SCHEMA):
        raise UsageError(
            f"{config_path}: {problem}", hint="Measure again, or read it with the version of raggate that wrote it."
        )
    return stored


def stored_config(directory: Path) -> JsonObject:
    """Return the configuration that a run says it was made with, as it stands there; it raises as `read`."""
    return fields(_read_config(directory, directory / "config.json").get("config"))


def stored_provenance(directory: Path) -> Provenance:
    """Return where a run says it comes from."""
    try:
        return provenance(stored_config(directory))
    except ValidationError as error:
        problem = f"its origin cannot be read: {first_problem(error)}"
        raise UsageError(f"{directory / 'config.json'}: {problem}", hint=HINT) from None


def _named(cases: Golden, stored: JsonObject) -> Golden:
    name, part_of = str(stored["name"]), stored.get("part_of")
    if part_of is not None and not (type(part_of) is int and part_of > len(cases.cases)):
        raise ValueError("golden.part_of: expected more questions than were asked")
    return replace(cases, name=name, part_of=part_of)


def _fingerprint(stored: JsonObject) -> Fingerprint:
    notes = stored.get("notes")
    if notes is not None and not (isinstance(notes, dict) and all("/" in note for note in notes)):
        raise ValueError("fingerprint.notes: expected vault/path -> hash")
    modes = stored.get("modes", [])
    if not (isinstance(modes, list) and all(isinstance(mode, str) for mode in modes)):
        raise ValueError("fingerprint.modes: expected names")
    return dict(stored)


def written(run: Run) -> JsonObject:
    """Return configuration and provenance as `config.json` holds them: side by side."""
    provenance, config = run.provenance, run.config
    if isinstance(config, ImportedConfig):
        asked = {key: run.fingerprint[key] for key in ("k", "modes", "retrieval_only") if key in run.fingerprint}
        scored = config.model_dump(mode="json", exclude_unset=True, exclude={"system", "settings"})
        return {"ask": asked, **scored, config.system: config.settings}
    checkout = {key: value for key, value in as_dict(provenance.checkout).items() if value is not None}
    stored = {**config.model_dump(mode="json"), **as_dict(provenance), "checkout": checkout}
    return {key: value for key, value in stored.items() if value or key not in _LEFT_OUT}


def provenance(stored: JsonObject) -> Provenance:
    """Take the provenance out of it."""
    kept = {key: value for key, value in stored.items() if key in Provenance.__struct_fields__}
    return convert({**kept, "api_image": exact_image(str(stored.get("api_image")))}, Provenance)


def read_config(stored: JsonObject, run_id: str) -> tuple[RunConfig, Provenance]:
    """Take configuration and provenance apart. Keys that neither has are those of other versions, and left out."""
    system = next((name for name in get_args(System) if name in stored), None)
    model = Config if system is None else ImportedConfig
    settings = {key: value for key, value in stored.items() if key in model.model_fields}
    if system is not None:
        settings |= {"system": system, "settings": stored[system]}
    if holds_more(settings, MOST_VALUES):
        raise UsageError(f"the configuration stored with run {cut(run_id)} has more than {MOST_VALUES} values")
    try:
        return model.model_validate(settings, strict=True), provenance(stored)
    except (UnfitError, ValidationError) as error:
        problem = first_problem(error, whole="its settings")
        raise UsageError(f"the configuration stored with run {cut(run_id)} cannot be read: {problem}") from None


@contextmanager
def failure_reports(directory: Path, settings: Config) -> Iterator[None]:
    """Leave the reason in the run directory when what is done in it ends without a verdict."""
    try:
        try:
            with signals.unwrapped():
                # of an earlier check, whose verdict it came too late for
                signals.go_on()
                yield
        except RaggateError as error:
            with signals.deferred():
                failed = _failed(directory, error, settings)
            raise failed from error
    except KeyboardInterrupt:
        with signals.deferred() as came:
            hint = f"What was done so far is in {display_path(directory)}."
            failed = _failed(directory, Interrupted("interrupted before there was a verdict", hint=hint), settings)
            # whoever sent these wants what is done already
            came.clear()
        raise failed from None


def begun(stack: ExitStack, make: Callable[[], Path], settings: Config) -> Path:
    """A run directory that `make` gives, in which `failure_reports` is entered before a signal can come."""
    with signals.deferred():
        directory = make()
        stack.enter_context(failure_reports(directory, settings))
    return directory


def display_path(directory: Path, root: Path | None = None) -> str:
    """Name a run directory from where people are, or from the configuration: where a machine has it is nobody's."""
    path = Path.cwd() / directory
    parents = [Path.cwd()] if root is None else [Path.cwd(), root]
    relative = (path.relative_to(parent) for parent in parents if path.is_relative_to(parent))
    return next(relative, Path(path.name)).as_posix()


def _failed(directory: Path, error: RaggateError, settings: Config) -> RunFailed:
    standing_waivers = waivers.waiver_statuses(settings.waivers, now())
    failed = RunFailed(error, suite=settings.suite, waivers=standing_waivers, directory=directory)
    write_reports(directory, OF_CHECK, failed.failure)
    return failed


DELETE_IT = "Delete this file: `raggate compare` works without it."
ASIDE_FILE = "aside.json"
"""What reports tell beside a run."""


def write_context(directory: Path, context: ReportContext) -> None:
    """Write `aside.json`, what reports tell that is not of the run itself."""
    write_atomic(directory / ASIDE_FILE, dumps(replace(context, forge=""), pretty=True))


def read_context(directory: Path) -> ReportContext:
    """Read `aside.json`; an empty one when there is none."""
    path = directory / ASIDE_FILE
    if not path.exists():
        return ReportContext()
    try:
        return replace(Decoder(ReportContext).decode(read_file(path, HINT)), forge="")
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: {cut(error)}", hint=DELETE_IT) from None
