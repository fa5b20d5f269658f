"""The way through a proof: boot -> ask -> the same again -> every known fault -> what the gate made of each."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from raggate import __version__
from raggate.base.dates import now
from raggate.base.errors import CannotTell, Interrupted, UsageError
from raggate.base.files import read_file, scratch_directory
from raggate.base.numbers import counted, points, rounded, setting
from raggate.base.quote import cut, enumerated, listed, quoted
from raggate.config.gate_settings import MIN_CAUGHT, Fault
from raggate.config.schema import Config
from raggate.config.service_settings import Api
from raggate.gate import waivers, wording
from raggate.gate.evidence import ALPHA, MARGIN
from raggate.gate.statistics.distributions import beta_quantile
from raggate.inputs import git
from raggate.inputs.leaks import visible
from raggate.inputs.trusted import Inputs
from raggate.models.gate_proof import FaultKind, GateProof, Trial, Untried, Watch
from raggate.models.golden import Case, Vault
from raggate.models.scorecard import EPSILON, MetricValue
from raggate.models.verdict import CompositeTest
from raggate.pipeline import run_directory
from raggate.pipeline.asking import Booted, Build, Place, booted, check_modes
from raggate.pipeline.request import Request
from raggate.pipeline.run_directory import begun
from raggate.pipeline.trusted_inputs import load_inputs
from raggate.prove import faults
from raggate.prove.trials import Bench
from raggate.reports import OF_PROOF
from raggate.scoring import figures
from raggate.service import ask
from raggate.service.ask import AskResult

EXCUSED = frozenset(("few-cases", "no-evidence", "waived"))
"""Codes of warnings about a loss that would be red but for the policy or a waiver."""

SHOWN_NOTES = 3
"""Notes that a sentence names."""


HARMLESS = 40
"""Harmless changes that are judged: a gate that is red by chance in 5% of them is so in 5 of them in 1 of 20 proofs."""

NEWS = 10
"""Runs without a fault from one progress message to the next."""
MAX_PATCH_BYTES = 16 << 20
MAX_COPY_BYTES = 4 << 30
TIMEOUT_S = 60
_NO_OBJECT = "0" * 40


def unasked_notes(cases: Iterable[Case], vault: Vault) -> tuple[str, ...]:
    """Name the notes that no question expects an answer from, as `vault/rel_path`, sorted.

    A support that names no vault is of every one that has such a note, or of those its question is limited to.
    """
    asked = set()
    for case in cases:
        for support in case.gold_supports:
            names = case.vaults_of(support) or tuple(vault.directories)
            asked |= {(name, support.rel_path) for name in names}
    return tuple(sorted("/".join(note) for note in vault.texts if note not in asked))


def watch(
    metric: str, values: Mapping[str, MetricValue], tolerance: float | None, runs: Sequence[Trial]
) -> Watch | None:
    """Return how well the watched metric stands, and the smallest loss that can be seen; None without a value.

    `values` are those without a fault, by mode, and `runs` without a fault tell how much questions move by themselves.
    """
    if not values:
        return None
    lowest = min(values.values(), key=lambda value: value.value or 0.0)
    tests = (test for run in runs for test in _deciding(run) if test.fewest_losses is not None)
    return Watch(
        metric=metric,
        value=lowest.value or 0.0,
        n=lowest.n,
        tolerance=tolerance,
        visible=max((test.visible_drop for test in tests), default=None),
    )


def _deciding(trial: Trial) -> tuple[CompositeTest, ...]:
    evidence = trial.evidence
    return () if evidence is None or evidence.policy == "threshold" else evidence.tests


def alarm_limit(alarms: int, runs: int) -> float:
    """Return the share of false alarms that so many runs leave possible with 95% confidence.

    Source: the upper end of Clopper and Pearson 1934, Biometrika 26, 404-413, one-sided.
    """
    return 1.0 if alarms >= runs else beta_quantile(alarms + 1, runs - alarms, 0.95)


def explanation(trial: Trial, watched: Watch, unasked: Iterable[str]) -> str:
    """Return why a trial was not caught, by the rule that decided."""
    silent = sorted(set(trial.notes) & set(unasked))
    have = (
        f"{len(silent)} of its {counted(len(trial.notes), 'note')} {'has' if len(silent) == 1 else 'have'} no question"
    )
    of_notes = f"; {have}: {listed([cut(note, limit=80) for note in silent], SHOWN_NOTES)}" if silent else ""
    if not trial.changed:
        return f"no answer changed{of_notes}"
    name, tolerance = figures.title(watched.metric), watched.tolerance
    if trial.drop is None:
        return f"{name} applies to no question"
    fell = f"{counted(trial.changed, 'answer')} changed, and {name} did not fall"
    allowed = ""
    if trial.drop > EPSILON:
        fell = f"{name} fell by {figures.distance(watched.metric, trial.drop, beside=tolerance or 0.0)}"
        allowed = ", and it is not gated"
        if tolerance is not None:
            allowed = f", and up to {figures.tolerated(watched.metric, tolerance)} is allowed"
    excuses = [warning for warning in trial.warnings if warning.code in EXCUSED]
    if excuses:
        # the one of the watched metric, if there is one
        first = min(excuses, key=lambda warning: warning.metric != watched.metric)
        return f"{fell}; this loss only warns: {cut(first.message, limit=200)}{of_notes}"
    if tolerance is not None and trial.drop > tolerance + EPSILON:
        return f"not explained: {fell}{allowed}"
    return f"{fell}{allowed}; {_together(trial)}{of_notes}"


def _together(trial: Trial) -> str:
    """Return why the test of all questions did not show a loss."""
    tests = _deciding(trial)
    if not tests:
        return "no test decides beside the tolerances"
    test = min(tests, key=lambda each: each.adjusted)
    if test.fewest_losses is None:
        return f"{counted(test.units, 'unit')} {wording.are(test.units)} too few to distinguish a loss from chance"
    if not test.lost:
        return f"no question got worse in {enumerated(test.metrics)}"
    needs = [f"p < {setting(ALPHA)}"] if test.adjusted >= ALPHA else []
    needs += [f"a drop of more than {points(MARGIN)}"] if test.drop <= MARGIN + EPSILON else []
    seen = f"a loss of {points(test.visible_drop)} is seen four times out of five"
    return f"{wording.composite(test)}, and to be red it takes {enumerated(needs)}; {seen}"


def prove(request: Request, runs: int) -> tuple[Path, GateProof]:
    """Try every known fault on the gate, and leave the reports in the run directory, also when it is interrupted."""
    with load_inputs(request) as given:
        waivers.check_cases(given.config, given.golden, request.config_place)
        # what the configuration asks twice decides nothing here
        inputs = replace(given, config=given.config.asking_once())
        check_declared(request, inputs)
        started = now()
        parent = run_directory.safe_runs(request)
        with ExitStack() as stack:
            directory = begun(stack, lambda: run_directory.create(parent, started), inputs.config)
            request.voice.created(directory)
            work = _Work(request, inputs, directory, started, runs)
            try:
                work.do()
            except KeyboardInterrupt:
                if work.bench is None:
                    raise
                run_directory.write_reports(directory, OF_PROOF, work.proof(interrupted=True))
                clean = counted(len(work.repeats), "run")
                message = f"interrupted after {clean} without a fault and {len(work.trials)} with one"
                raise Interrupted(message, hint="proof.md of the run directory has their results.") from None
            result = work.proof()
            run_directory.write_reports(directory, OF_PROOF, result)
            return directory, result


@dataclass
class _Work:
    """One proof, and how far it has come. `unharmed` begins with the baseline held against itself."""

    _request: Request
    _inputs: Inputs
    _directory: Path
    _started: str
    _runs: int
    bench: Bench | None = None
    unharmed: list[Trial] = field(default_factory=list)
    harmless: list[Trial] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)
    untried: list[Untried] = field(default_factory=list)
    _done: int = 0

    def __post_init__(self) -> None:
        self._begin = time.monotonic()
        self._questions = ask.questions_of(self._inputs.golden.cases, self._settings.ask.modes)
        self._planned = len(faults.FAULTS) + len(self._settings.faults)

    @property
    def repeats(self) -> list[Trial]:
        """The runs without a fault that were asked for."""
        return self.unharmed[1:]

    @property
    def _settings(self) -> Config:
        return self._inputs.config

    def do(self) -> None:
        """Try everything."""
        check_modes(self._request, self._inputs)
        build = Build(api=self._settings.api, root=self._request.root)
        place = Place(out=self._directory, runs=self._directory.parent)
        with booted(self._request, self._inputs, build, place, {}) as live:
            bench = self.bench = self._measure_clean(live)
            self._repeat(bench, live)
        self._request.say(f"judging {HARMLESS} harmless changes")
        self.harmless.extend(bench.harmless(number) for number in range(1, HARMLESS + 1))
        self._try_answers(bench)
        for name, fault in self._settings.faults.items():
            self._try_declared(bench, name, fault)

    def proof(self, *, interrupted: bool = False) -> GateProof:
        """Return the result of the proof so far."""
        if self.bench is None:
            raise CannotTell("nothing was measured")
        settings, bench = self._settings, self.bench
        rule = settings.gate.rule(bench.metric)
        watched = watch(bench.metric, bench.watched(), rule.tolerance if rule else None, self.unharmed)
        if watched is None:
            raise CannotTell(
                f"{bench.metric} applies to no question, so no fault can be measured by it",
                hint="Write questions with gold supports: a proof needs some that have an answer.",
            )
        public = visible(self._inputs.vault, settings.private)
        unasked = unasked_notes(self._inputs.golden.cases, public)
        return GateProof(
            suite=settings.suite,
            run_id=self._directory.name,
            started=self._started,
            version=__version__,
            questions=len({case.id for case, _ in self._questions}),
            modes=tuple(settings.ask.modes),
            watch=watched,
            min_caught=MIN_CAUGHT,
            planned=self._runs,
            repeats=tuple(self.repeats),
            harmless=tuple(self.harmless),
            alarm_limit=alarm_limit(sum(trial.caught for trial in self.harmless), len(self.harmless)),
            trials=tuple(_explained(trial, watched, unasked) for trial in self.trials),
            untried=tuple(self.untried),
            unasked=unasked,
            notes=len(public.texts),
            duration_s=rounded(time.monotonic() - self._begin, 1),
            interrupted=interrupted,
        )

    def _ask(self, live: Booted) -> AskResult:
        asked = live.adapter.ask(self._questions, live.api, on_result=lambda *_: None)
        return replace(asked, results=tuple(map(live.clean, asked.results)))

    def _measure_clean(self, live: Booted) -> Bench:
        self._request.say("asking without a fault, as the baseline of the proof")
        begin = time.monotonic()
        asked = self._ask(live)
        if asked.stopped:
            raise CannotTell(f"without any fault, {asked.stopped}", log=live.log_tail())
        bench = Bench.of(
            self._request, self._inputs, self._directory, self._started, asked.results, time.monotonic() - begin
        )
        control = bench.trial(bench.clean, name="none")
        if control.caught:
            raise CannotTell(
                f"without any fault the verdict is already {control.outcome}, which would hide every "
                f"fault: {wording.some([reason.message for reason in control.reasons])}",
                hint="Make `raggate check` green first.",
            )
        self.unharmed.append(control)
        return bench

    def _repeat(self, bench: Bench, live: Booted) -> None:
        for number in range(1, self._runs + 1):
            asked = self._ask(live)
            self.unharmed.append(bench.trial(asked.results, name="none", stopped=asked.stopped))
            if number % NEWS == 0 or number == self._runs:
                alarms = sum(trial.caught for trial in self.repeats)
                self._request.say(
                    f"{number} of {counted(self._runs, 'run')} without a fault, {counted(alarms, 'false alarm')}"
                )

    def _try_answers(self, bench: Bench) -> None:
        vault = self._inputs.vault
        for fault in faults.FAULTS:
            notes = fault.notes(vault)
            results = fault.apply(bench.clean, vault)
            self._keep(bench.trial(results, name=fault.name, size=fault.size, notes=notes))

    def _try_declared(self, bench: Bench, name: str, fault: Fault) -> None:
        kind: FaultKind = "patch" if isinstance(fault, str) else "env"
        self._request.say(f"booting the API with {name}")
        out = self._directory / "faults" / name
        out.mkdir(parents=True)
        try:
            with with_fault(self._request, self._inputs, name) as build:
                # an adapter of a program starts what the configuration names
                config = self._settings.model_copy(update={"api": build.api})
                inputs, place = replace(self._inputs, config=config), Place(out=out, runs=self._directory.parent)
                # an index as large as without the fault is waited for no longer than that of a change
                with booted(self._request, inputs, build, place, bench.run.fingerprint) as live:
                    asked = self._ask(live)
                    stopped = asked.stopped or ask.ended_early(live.api)
        except CannotTell as error:
            # an API that does not come up is no pass; what a check of it would say is the same
            self._keep(bench.unmeasured(error, name=name, kind=kind))
            return
        except UsageError as error:
            # what was tried so far is not lost for it
            self._done += 1
            self._request.say(f"{name} cannot be made: {error.message}")
            self.untried.append(Untried(name=name, size="", why=error.message))
            return
        self._keep(bench.trial(asked.results, name=name, kind=kind, stopped=stopped))

    def _keep(self, trial: Trial) -> None:
        self._done += 1
        sized = f"{trial.name}, {trial.size}" if trial.size else trial.name
        self._request.say(f"fault {self._done} of {self._planned}: {sized}: {trial.outcome}")
        if trial.changed or trial.notes or trial.caught or trial.kind != "answers":
            self.trials.append(trial)
        else:
            self.untried.append(
                Untried(name=trial.name, size=trial.size, why="this fault changes no answer of your API")
            )


def _explained(trial: Trial, watched: Watch, unasked: Sequence[str]) -> Trial:
    return trial if trial.caught else replace(trial, explanation=explanation(trial, watched, unasked))


@contextmanager
def patched_copy(root: Path, patch: str, name: str) -> Iterator[Path]:
    """Copy the files of a directory that git does not ignore, apply a patch to the copy, and remove it on leaving.

    The patch and its paths are relative to the directory; `name` is what messages call the key that names it.
    """
    path = root / patch
    if not path.resolve().is_relative_to(root.resolve()):
        raise UsageError(f"{name}: {quoted(patch)} leads out of the directory of the configuration")
    purpose = f"{name} names it, relative to the configuration."
    content = read_file(path, purpose, most_bytes=MAX_PATCH_BYTES, name=Path(patch))
    with scratch_directory() as folder:
        copy = folder / (root.name or "project")
        _copy_files(root, copy, name)
        _apply(content, copy, f"{name} ({quoted(patch)})")
        yield copy


def _copy_files(root: Path, copy: Path, name: str) -> None:
    checkout = git.find(root)
    if checkout is None:
        raise UsageError(
            f"{name}: {cut(root.name)} is not in a git checkout, so raggate cannot tell which files are source",
            hint="Declare the fault with `env`, or put the project into git.",
        )
    prefix = os.path.relpath(root.resolve(), checkout.top.resolve())
    with git.reading(checkout, like=_NO_OBJECT) as reader:
        paths = [checkout.top / path for path in reader.listed(prefix)]
    # what is listed as a directory is a repository of its own
    paths = [path for path in paths if path.is_symlink() or path.is_file()]
    if sum(path.lstat().st_size for path in paths) > MAX_COPY_BYTES:
        raise UsageError(f"{name}: the files that git does not ignore have more than {MAX_COPY_BYTES} bytes")
    copy.mkdir()
    for source in paths:
        target = copy / os.path.relpath(source, checkout.top / prefix)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target, follow_symlinks=False)


def _apply(patch: bytes, copy: Path, name: str) -> None:
    program = shutil.which("git") or "git"
    try:
        done = subprocess.run(
            [program, "apply", "--whitespace=nowarn", "-"],
            cwd=copy,
            env=_environment(copy),
            input=patch,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(f"{name}: git took longer than {TIMEOUT_S} s to apply it") from None
    if done.returncode != 0:
        raise UsageError(
            f"{name}: does not apply: {git.stderr_line(done)}",
            hint="Write it again in the directory of the configuration: `git diff --relative > FILE`.",
        )


def _environment(copy: Path) -> Mapping[str, str]:
    """Keep git from every repository around the copy, and from settings that a person has."""
    return {
        "PATH": os.defpath,
        "LC_ALL": "C",
        "HOME": "/nonexistent",
        "GIT_CEILING_DIRECTORIES": str(copy.parent),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }


def check_declared(request: Request, inputs: Inputs) -> None:
    """Refuse faults that cannot be made, before anything is started."""
    settings = inputs.config
    for own_name, fault in settings.faults.items():
        name = f"{request.config_place}: faults.{own_name}"
        if settings.api.url is not None:
            raise UsageError(
                f"{name}: with api.url you start the API, so raggate cannot boot it with a fault",
                hint="Let raggate start it (`api.command` or `api.container`), or take the fault out.",
            )
        if not isinstance(fault, str):
            continue
        container = settings.api.container
        # what a command interprets is its own source
        if container.build is None if container is not None else settings.api.command is None:
            raise UsageError(
                f"{name}: a patch needs an API that raggate builds: add api.command.build or api.container.build",
                hint="Or declare the fault with variables.",
            )
        with patched_copy(request.root, fault, name):
            pass


@contextmanager
def with_fault(request: Request, inputs: Inputs, name: str) -> Iterator[Build]:
    """Return the build of the API that has a fault."""
    fault = inputs.config.faults[name]
    if not isinstance(fault, str):
        yield Build(api=_with_environment(inputs.config.api, fault), root=request.root, name=name)
        return
    with patched_copy(request.root, fault, f"{request.config_place}: faults.{name}") as copy:
        source = f"{name} of {request.root}"
        yield Build(api=inputs.config.api, root=copy, name=name, source=source)


def _with_environment(api: Api, environment: dict[str, str]) -> Api:
    """Return the settings by which the API has these variables, in place of those of its own."""
    kind = next(name for name in ("command", "container", "program") if getattr(api, name) is not None)
    backend = getattr(api, kind)
    return api.model_copy(update={kind: backend.model_copy(update={"env": {**backend.env, **environment}})})
