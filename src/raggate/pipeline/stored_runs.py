"""The run directories that lie side by side: which there are, which one a name stands for, what broke, what may go."""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import shutil
from collections.abc import Container, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from raggate.base.errors import ExitCode, RaggateError, UsageError
from raggate.base.files import read_file
from raggate.base.jsonio import fields, parse_object
from raggate.base.quote import cut, quoted
from raggate.gate import history
from raggate.inputs import git
from raggate.inputs.trusted import Inputs
from raggate.models.baseline import MAX_VALUE
from raggate.models.history import History, TrendPoint
from raggate.models.scorecard import OVERALL
from raggate.pipeline import result_rows
from raggate.pipeline.request import Request

LATEST = "latest"
"""Stands for the newest run directory."""

SHOWN = 5
"""Names that a message lists."""

_NAME = re.compile(r"([0-9]{8}_[0-9]{6})(?:_([0-9]{1,3}))?")
_SCHEMAS = {
    "config.json": "raggate/run/",
    "verdict.json": "raggate/verdict/",
    "proof.json": "raggate/proof/",
    "asking.json": "raggate/asking/",
}
"""Files by which a run directory is known, and how what they are begins."""

_HINT = "`raggate runs` lists them. `latest` is the newest run of the configured build."
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_DECIDED = (ExitCode.PASS, ExitCode.REGRESSION, ExitCode.PARTIAL)
"""How runs end that say of each question they were to ask whether it is broken; others may not have asked it."""


class StoredRun(Struct, frozen=True, kw_only=True):
    """A run directory, and what its files say of it; nothing in them is trusted, and what is not known is empty.

    Attributes:
        measured: whether it holds answers.
        partial: how many questions were to be asked, and of how many; None for a whole run.
        stopped: whether it ended before all of them were asked.
        build: the build that it is of, where that is not the API of the configuration.
        damaged: the first of its files that cannot be read.
    """

    directory: Path
    started: datetime
    suite: str
    verdict: str
    measured: bool
    partial: tuple[int, int] | None
    stopped: bool
    size: int
    command: str = ""
    build: str = ""
    damaged: str = ""

    @property
    def name(self) -> str:
        """The name of the directory, which is the id of the run."""
        return self.directory.name


def stored_runs(out: Path) -> list[StoredRun]:
    """Return the run directories in a directory, the newest first. Links, and what raggate did not make, are none."""
    named = [(_started(path.name), path) for path in folders(out)]
    ordered = sorted((place for place in named if place[0] is not None), key=lambda place: _order(place[1].name))
    return [run for started, path in reversed(ordered) if started is not None and (run := _run(path, started))]


def folders(out: Path) -> list[Path]:
    """Return the folders in a directory, which need not be there; links are none."""
    try:
        with os.scandir(out) as entries:
            return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise _closed(out, error) from None


def _closed(folder: Path, error: OSError) -> UsageError:
    hint = "It may belong to another user, such as root in a container. Check with `ls -ld`."
    return UsageError(f"{folder}: cannot be read, so raggate does not know its runs: {error.strerror}", hint=hint)


def is_run(directory: Path) -> bool:
    """Return whether a directory is one of a run: it has such a name, or what only a run leaves."""
    return _started(directory.name) is not None or any(
        _own_or_damaged(directory, name)[0] for name in ("config.json", "proof.json")
    )


def _order(name: str) -> tuple[str, int]:
    match = _NAME.fullmatch(name)
    return (match[1], int(match[2] or 1)) if match else ("", 0)


def _started(name: str) -> datetime | None:
    match = _NAME.fullmatch(name)
    try:
        return datetime.strptime(match[1], "%Y%m%d_%H%M%S").replace(tzinfo=UTC) if match else None
    except ValueError:
        return None


def _run(path: Path, started: datetime) -> StoredRun | None:
    try:
        os.lstat(path / "config.json")
    except PermissionError as error:
        raise _closed(path, error) from None
    except OSError:
        pass  # what is not there makes it no run directory, see below
    read = [_own_or_damaged(path, name) for name in _SCHEMAS]
    config, verdict, proof, asking = (own for own, _ in read)
    damaged = next((name for (_, is_damaged), name in zip(read, _SCHEMAS, strict=True) if is_damaged), "")
    none_ended = config is None and verdict is None and proof is None
    if none_ended and not damaged and (asking is None or _asked_now(path)):
        return None
    decided = verdict or _NOTHING
    of_run = config or decided or fields((asking or _NOTHING).get("means"))
    kind = decided.get("verdict", "") if verdict is not None or proof is None else "proof"
    kind = f"damaged: {damaged}" if damaged else kind
    settings = fields(of_run.get("config"))
    return StoredRun(
        directory=path,
        started=started,
        suite=cut(of_run.get("suite") or "", limit=60),
        verdict=cut(kind, limit=40),
        measured=config is not None and result_rows.exists(path),
        partial=_partial((config or _NOTHING).get("selection")),
        stopped=(config or _NOTHING).get("stopped") is not None or asking is not None,
        size=sum(Path(folder, name).lstat().st_size for folder, _, names in os.walk(path) for name in names),
        command=cut(settings.get("command") or "", limit=20),
        build=cut(settings.get("build") or "", limit=80),
        damaged=damaged,
    )


def _asked_now(path: Path) -> bool:
    try:
        handle = os.open(path / result_rows.PLAIN, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def _own_or_damaged(path: Path, name: str) -> tuple[Mapping[str, Any] | None, bool]:
    """Read a file by which a run directory is known: None if it is not raggate's; and whether it is damaged."""
    file = path / name
    if file.is_symlink() or not file.is_file():
        return None, False
    try:
        stored = parse_object(read_file(file), name)
    except RaggateError:
        return None, True
    return (stored if str(stored.get("schema")).startswith(_SCHEMAS[name]) else None), False


def _partial(stored: object) -> tuple[int, int] | None:
    if not isinstance(stored, dict):
        return None
    asked, of = stored.get("asked"), stored.get("of")
    return (len(asked) if isinstance(asked, list) else 0, of if type(of) is int else 0)


def named(name: str, out: Path, suite: str = "") -> Path:
    """Return the run directory that a name stands for: a path, `latest`, or the beginning of one name in `out`.

    With a suite only its runs count.
    """
    path = Path(name)
    # a change may have a directory named `latest`, and what it holds is not what was measured last
    if (name != LATEST and path.exists()) or "/" in name or os.sep in name or name in {"", ".", ".."}:
        return path
    runs = [run for run in stored_runs(out) if not suite or run.suite in {suite, ""}]
    if name == LATEST:
        # what `raggate diff` asked of another build says nothing of this one;
        # and a damaged run is not passed over for an older one
        newest = next((run for run in runs if run.damaged == "config.json" or (run.measured and not run.build)), None)
        if newest is None:
            problem = (
                f"latest: no run{f' of suite {suite}' if suite else ''} in {out} has answers of the configured build"
            )
            raise UsageError(problem, hint="Make one: `raggate check`.")
        if newest.damaged == "config.json":
            raise _damaged(newest, LATEST)
        refuse_committed(out, [newest.name], LATEST)
        return newest.directory
    fitting = [run for run in runs if run.name.startswith(name)]
    exact = [run for run in fitting if run.name == name]
    if len(exact or fitting) == 1:
        return (exact or fitting)[0].directory
    if fitting:
        names = ", ".join(run.name for run in fitting[:SHOWN]) + (", …" if len(fitting) > SHOWN else "")
        problem = f"{quoted(name)} is the beginning of {len(fitting)} run directories: {names}"
        raise UsageError(problem, hint="Write more of the name.")
    raise UsageError(f"{quoted(name)}: no such directory, and no run in {out} has a name that begins so", hint=_HINT)


def _damaged(run: StoredRun, what: str) -> UsageError:
    command = f"rm -r {shlex.quote(str(run.directory))}"
    hint = f"Delete the run (`{command}`), or make a new one: `raggate check`."
    return UsageError(f"{what}: {run.directory / run.damaged} is damaged", hint=hint)


def refuse_committed(out: Path, names: Sequence[str], what: str) -> None:
    """Refuse runs that were taken as the newest and came with a commit: a change can bring any, of any time."""
    committed = git.tracked(out, names)
    if committed:
        run = out / max(committed)
        raise UsageError(
            f"{what}: git tracks {run}, the newest run. It came with a commit, and may never have been measured",
            hint=f"Delete it (`git rm -r {shlex.quote(str(run))}`), or name another run.",
        )


def broken(out: Path, suite: str) -> frozenset[str]:
    """Return the questions of a suite that were broken when last asked: by its newest runs, back to a whole one.

    A run that could not tell adds what it saw broken, and clears no question.
    """
    status: dict[str, bool] = {}
    names = []
    for run in stored_runs(out):
        if run.damaged and run.suite in {suite, ""}:
            raise _damaged(run, "--failed")
        verdict = _own_or_damaged(run.directory, "verdict.json")[0] if run.measured and run.suite == suite else None
        if verdict is None:
            continue
        fails, decided = _fails(verdict), exit_code_of(verdict) in _DECIDED
        if decided or fails:
            names.append(run.name)
        status |= dict.fromkeys(fails - status.keys(), True)
        if not decided:
            # what it does not name may not have been asked, or not answered
            continue
        asked = (verdict.get("partial") or {}).get("asked") if isinstance(verdict.get("partial"), dict) else None
        status |= dict.fromkeys({*map(str, asked if isinstance(asked, list) else ())} - status.keys(), False)
        if asked is None:
            break
    if not names:
        problem = f"no run of suite {suite!r} in {out} says which questions are broken"
        raise UsageError(f"--failed: {problem}", hint="Run `raggate check` first.")
    refuse_committed(out, names, "--failed")
    cases = frozenset(case for case, fails in status.items() if fails)
    if not cases:
        problem = f"no question was broken when it was last asked (newest run: {names[0]})"
        raise UsageError(f"--failed: {problem}", hint="Run `raggate check` to ask all questions.")
    return cases


def exit_code_of(verdict: Mapping[str, Any]) -> int | None:
    """Return the exit code of a `verdict.json`; None where it has none, for which neither false nor 0.0 is taken."""
    code = verdict.get("exit_code")
    return code if type(code) is int else None


def _fails(verdict: Mapping[str, Any]) -> set[str]:
    """Name the questions that broke by a verdict, or must pass and do not; by a red one, those that fell too."""
    kinds = {"broke", "missed"} | ({"fell"} if exit_code_of(verdict) == ExitCode.REGRESSION else set())
    lists = [value for key in ("flips", "fallen") if isinstance(value := verdict.get(key), list)]
    rows = [row for value in lists for row in value if isinstance(row, dict)]
    return {str(row.get("case_id")) for row in rows if row.get("kind") in kinds}


def remove(run: StoredRun) -> None:
    """Delete a run directory. A link in it goes, and what it leads to stays."""
    if run.damaged or run.directory.is_symlink() or _run(run.directory, run.started) is None:
        raise UsageError(f"{run.directory}: not a run directory any more, so nothing was deleted")
    try:
        shutil.rmtree(run.directory)
    except OSError as error:
        raise UsageError(f"{run.directory}: cannot be deleted: {error.strerror}") from None


MOST_VERSIONS = 10
"""Versions of the baseline that are read: of each only its means, held against its questions."""

MOST_RUNS = 20
"""Run directories that are looked into, the newest."""


def before(request: Request, inputs: Inputs, directory: Path, source: Path | None = None) -> tuple[TrendPoint, ...]:
    """Return what was measured earlier, oldest first, but for what cannot be read and the same run at `source`."""
    wanted = inputs.config.gate.rules()
    suite, past = inputs.config.suite, _past(request, inputs)
    points = [*of_history(past, suite, wanted)]
    if inputs.against is None:
        # a change that another commit judges may hold directories that look like runs
        points += of_runs(directory.parent, suite, wanted, without=(directory, source))
    return tuple(sorted(points, key=lambda point: point.stamp))


def _past(request: Request, inputs: Inputs) -> History:
    path = inputs.config.baseline_path
    if request.baseline_file is not None or inputs.baseline is None:
        return History(path=path, revisions=())
    try:
        return history.revisions(
            request.root, path, limit=MOST_VERSIONS, cutoffs=inputs.config.score.k, at=inputs.against or "HEAD"
        )
    except RaggateError:
        # without git, or with a baseline that no commit has yet
        return History(path=path, revisions=())


def of_history(past: History, suite: str, wanted: Container[str]) -> Iterator[TrendPoint]:
    """Yield the versions of a suite, newest first; those that cannot be read or are of another suite are left out."""
    for revision in past.revisions:
        # a metrics file of another tool need not name its suite
        if revision.baseline is None or revision.baseline.scorecard.suite not in {suite, ""}:
            continue
        measured, scorecard = revision.baseline.provenance.get("measured"), revision.baseline.scorecard
        means = {
            mode: {metric: value.value for metric, value in slices.get(OVERALL, {}).items()}
            for mode, slices in scorecard.slices.items()
        }
        yield TrendPoint(
            kind="baseline",
            stamp=measured if isinstance(measured, str) else revision.stamp,
            name=revision.commit[:8],
            questions=str(scorecard.fingerprint.get("golden") or ""),
            values=_chosen(means, wanted),
        )


def of_runs(
    out: Path, suite: str, wanted: Container[str], *, without: Sequence[Path | None] = ()
) -> Iterator[TrendPoint]:
    """Yield the whole runs of a suite in a directory, but for some of them and what git tracks; links lead to none."""
    left_out = {path.resolve() for path in without if path is not None}
    try:
        folder = out.resolve()
        others = [name for name in sorted(path.name for path in folders(out)) if folder / name not in left_out]
        # a commit can bring any, of any time
        committed = git.tracked(out, others)
    except (OSError, RaggateError):
        return
    for name in [name for name in others if name not in committed][-MOST_RUNS:]:
        point = _of_run(out / name, suite, wanted)
        if point is not None:
            yield point


def _of_run(path: Path, suite: str, wanted: Container[str]) -> TrendPoint | None:
    """Read the means of a run from its metrics.json; nothing where suite or build is another, or a part."""
    try:
        stored = parse_object(read_file(path / "metrics.json", follow=False), "metrics.json")
    except (RaggateError, OSError):
        return None
    if stored.get("suite") != suite or stored.get("complete") is not True or stored.get("build"):
        return None
    means = {mode: fields(fields(buckets).get(OVERALL)) for mode, buckets in fields(stored.get("by_retriever")).items()}
    return TrendPoint(
        kind="run",
        stamp=str(stored.get("timestamp") or ""),
        name=str(stored.get("run_id") or path.name),
        questions=str(stored.get("golden_hash") or ""),
        values=_chosen(means, wanted),
    )


def _chosen(means: Mapping[str, Mapping[str, Any]], wanted: Container[str]) -> dict[str, dict[str, float]]:
    return {
        mode: {
            metric: float(value)
            for metric, value in values.items()
            if metric in wanted and isinstance(value, int | float) and abs(value) <= MAX_VALUE
        }
        for mode, values in means.items()
    }
