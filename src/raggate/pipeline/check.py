"""The way through the program as code: one short function per command. It composes the stages and decides nothing.

golden set + vault -> boot -> ask -> score -> compare -> decide -> report
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from raggate.base import dates
from raggate.base.errors import CannotTell, ExitCode, RaggateError, UsageError
from raggate.base.files import write_atomic
from raggate.base.numbers import counted
from raggate.base.quote import cut, listed, nearest_few, quoted, suggestion
from raggate.config import schema
from raggate.config.imported import RunConfig
from raggate.config.schema import Config
from raggate.config.service_settings import Api
from raggate.gate import completeness, promote, recheck as gate, waivers
from raggate.gate.evaluation import evaluate_run
from raggate.gate.invariants import invariants
from raggate.gate.noise import is_measured, noisy
from raggate.inputs import dependencies, expressions, git, sources, vault
from raggate.inputs.notes import Notes
from raggate.inputs.trusted import Inputs
from raggate.models.answer import VerdictKind
from raggate.models.baseline import Baseline
from raggate.models.golden import EVERYTHING, Case, Choice, Golden, Selection, by_id
from raggate.models.promotion import BaselineCandidate
from raggate.models.provenance import versions_of
from raggate.models.run import Run
from raggate.models.scorecard import CaseScore, Scorecard
from raggate.models.verdict import Recheck, ReportContext, Review, SourceLine
from raggate.pipeline import measure, previewing, run_directory, stored_runs
from raggate.pipeline.asking import Booted, Build, Place, booted
from raggate.pipeline.request import CheckResult, Request, RunResult
from raggate.pipeline.run_directory import begun
from raggate.pipeline.trusted_inputs import load_inputs, read_baseline
from raggate.reports import OF_CHECK
from raggate.scoring import noise, repeats, score
from raggate.scoring.score import slices_of
from raggate.service import signals
from raggate.service.ask import questions_of

KEPT_BASELINE = "baseline.json"
"""A run directory's copy of the baseline it was held against."""


_GRADES_ALONE = "only judges' grades count against the change, and raggate does not grade repeated answers"
Keeps = Callable[[Case], bool]


def check(request: Request) -> CheckResult:
    """Do everything: boot, ask, score, compare, decide, report."""
    with load_inputs(request) as inputs:
        waivers.check_cases(inputs.config, inputs.golden, request.config_place)
        baseline = read_baseline(inputs)
        selection = choose(request, inputs)
        directory, measured, scorecard = measure.measure(request, inputs, baseline=baseline, selection=selection)
        return conclude(request, inputs, baseline, directory, measured, scorecard)


def conclude(
    request: Request,
    inputs: Inputs,
    baseline: Baseline | None,
    directory: Path,
    measured: Run,
    scorecard: Scorecard,
    *,
    source: Path | None = None,
) -> CheckResult:
    """Compare, decide and report a run and its scores in its directory.

    `source` is the directory that the run was read from, None for one that was just asked.
    """
    with ExitStack() as stack:
        begun(stack, lambda: directory, inputs.config)
        if inputs.baseline is not None:
            # the run directory tells by itself what it was held against
            write_atomic(directory / KEPT_BASELINE, inputs.baseline.data)
        own = source is None
        resolved = False
        if previewing.by_another_commit(inputs):
            with previewing.merged(request, previewing.measured_at(measured, asking=own)) as change:
                resolved = expired_waivers_resolved(change, request.config_name, measured.started)
        whole = measured.selection is None
        before = stored_runs.before(request, inputs, directory, source) if whole else ()
        context = ReportContext(
            first_run=inputs.first_run,
            brings=_by_brought(inputs, measured, scorecard),
            expired_waivers_resolved=resolved,
            root=run_directory.way_to(request.root, directory),
            forge=notes_address(request, measured, first_run=inputs.first_run),
            dependencies=_dependencies(request, inputs, measured, baseline, asking=own),
            trend=before,
        )
        evaluation = evaluate_run(measured, scorecard, baseline, context=context)
        # a function of this process has neither a new start nor a base build
        asked = recheck(request, inputs, directory, evaluation, own=own) if request.retriever is None else None
        if asked is not None:
            context = replace(context, recheck=asked)
            evaluation = evaluate_run(measured, scorecard, baseline, context=context)
        look = partial(previewing.preview_of, request, inputs, directory, evaluation, asking=own)
        review = with_source_lines(previewing.with_preview(evaluation, look), inputs)
        run_directory.write_context(directory, review.context)
        write_reports(directory, review)
        signals.settle()
        return CheckResult(review=review, directory=directory)


def _by_brought(inputs: Inputs, measured: Run, scorecard: Scorecard) -> VerdictKind | Literal[""]:
    """Return the outcome by the baseline that a change brings with its first configuration; empty without one.

    It decides nothing: nobody has reviewed that file.
    """
    if inputs.brought is None:
        return ""
    try:
        brought = read_baseline(replace(inputs, baseline=inputs.brought))
    except RaggateError:
        return "cannot tell"
    return evaluate_run(measured, scorecard, brought).verdict.outcome


def _dependencies(
    request: Request, inputs: Inputs, measured: Run, baseline: Baseline | None, *, asking: bool
) -> tuple[str, ...]:
    """Describe the versions that the change edits, and those that a program loads otherwise than the baseline's."""
    edited = measure.versions_changed(request, inputs, measured.provenance.checkout, asking=asking)
    before = {} if baseline is None else baseline.scorecard.fingerprint
    return dependencies.loaded(versions_of(before), versions_of(measured.fingerprint), edited)


def run(request: Request) -> RunResult:
    """Boot, ask and score; leave a run directory without a verdict."""
    with load_inputs(request) as inputs:
        directory, measured, _ = measure.measure(request, inputs, selection=choose(request, inputs), command="run")
        return RunResult(run=measured, directory=directory)


def choose(request: Request, inputs: Inputs) -> Selection | None:
    """Return which questions are asked; None for all of them."""
    if request.choice == EVERYTHING:
        return None
    selection = selected(request.choice, inputs.golden, partial(_broken, request, inputs))
    if selection is not None:
        request.say(f"{selection.sentence}. A partial run never passes, and you cannot promote it")
    return selection


def with_failed_fixed(request: Request) -> Request:
    """Return the request with the questions that `--failed` stands for now."""
    with load_inputs(request) as inputs:
        return replace(request, broken=_broken(request, inputs))


def _broken(request: Request, inputs: Inputs) -> frozenset[str]:
    return request.broken or stored_runs.broken(request.runs(), inputs.config.suite)


def expired_waivers_resolved(change: sources.Source, config_name: str, started: str) -> bool:
    """Return whether a change's own configuration has no waiver left that has expired; it has no other say."""
    try:
        settings = schema.load(change.read(config_name), change.describe(config_name))
    except (RaggateError, OSError):
        return False
    return all(waiver.state != "expired" for waiver in waivers.waiver_statuses(settings.waivers, started))


def write_reports(directory: Path, review: Review) -> None:
    """Write the reports of a verdict into a run directory."""
    with dates.after_asking(len(review.run.results)):
        run_directory.write_reports(directory, OF_CHECK, review)


def propose(
    run: Run, settings: RunConfig, terms: promote.Terms, read: Callable[[], Baseline | None]
) -> BaselineCandidate:
    """Return the baseline that a run would become; `read` gives the baseline there is, once the run is good enough."""
    scorecard = score.score(run, settings.score.k)
    findings = invariants.check_answers(run, settings.invariants, settings.gate)
    promote.refuse_unmeasured(run, scorecard, findings, settings.gate)
    promote.refuse_other_origin(run)
    present, problem = None, ""
    try:
        present = read()
    except UsageError as error:
        problem = error.message
        if not (terms.allow_regression and terms.reason):
            hint = f"Restore the file from git, or replace it: {terms.permission}."
            raise UsageError(error.message, hint=hint) from None
    incomparable = completeness.obstacles(scorecard, present)
    if present is not None and not incomparable:
        # how noisy the API is was measured for the comparisons to come too
        scorecard = noise.kept(scorecard, present.scorecard.fingerprint)
    return promote.propose(run, scorecard, present, settings.gate, terms, incomparable=incomparable, unreadable=problem)


def with_source_lines(review: Review, inputs: Inputs) -> Review:
    """Add where in the vault the gold supports of the questions that flipped stand."""
    cases = by_id(inputs.golden.cases)
    lines: dict[str, SourceLine] = {}
    with dates.after_asking(len(review.run.results)):
        for flip in (*review.comparison.flips, *review.fallen, *review.misses):
            if flip.support is not None:
                line = vault.locate(inputs.vault, flip.support, cases[flip.case_id].vaults, inputs.config.vault)
                if line is not None:
                    lines[flip.case_id] = line
    return replace(review, context=replace(review.context, source_lines=lines))


SHORT_S = 120.0
"""Seconds of a run, booting included, up to which another start is no burden."""

FOLDER, AGAIN = "base", "again"
"""Folders of a run directory with the logs of the base build, and of the change when it is asked again."""


def recheck(request: Request, inputs: Inputs, directory: Path, review: Review, *, own: bool = True) -> Recheck | None:
    """Ask the base build what counts against the change, and both sides what flipped, again.

    An API that is not known to be noisy is asked once, of a new start: two starts of one build may rank otherwise. The
    base build of one whose noise was never measured is asked whether the configuration says so or not. `own` says that
    the build that lies here is the one that was measured.
    """
    if review.verdict.outcome != "regression":
        return None
    settings = inputs.config
    known_noisy = own and noisy(review.comparison)
    times = _times_again(settings, review.run, known_noisy=known_noisy) if own else 0
    base = settings.asks_base or (known_noisy and _may_ask_base(inputs, review))
    if known_noisy and settings.api.url is not None and settings.recheck != "off":
        request.say(
            "this API is known to be noisy, but raggate did not start it, so it cannot restart it and ask again"
        )
    if not (times or base):
        return None
    graded = gate.graded(review.verdict)
    lost = gate.against(review.verdict) - graded
    gained = gate.gained(review.verdict, review.comparison) if times else frozenset()
    questions = [
        (case, mode)
        for case, mode in questions_of(inputs.golden.cases, settings.ask.modes)
        if (mode, case.id) in lost | gained
    ]
    names = [(mode, case.id) for case, mode in questions]
    asked = Recheck(
        asked=tuple(name for name in names if name in lost), gained=tuple(name for name in names if name in gained)
    )
    if not asked.asked and not (known_noisy or base):
        return None
    if not asked.asked:
        return replace(asked, problem=_GRADES_ALONE if graded else "no single question clearly got worse")
    asking = Asking(request=request, inputs=inputs, directory=directory, review=review, questions=questions)
    if base:
        asked = _of_the_base(asking, asked, times or 1)
    return _of_the_change(asking, asked, times) if times else asked


def _times_again(settings: Config, run: Run, *, known_noisy: bool) -> int:
    """Return how often what flipped is asked again: of a steady API once, if the run, booting included, was short."""
    if known_noisy:
        return settings.confirmations
    return min(settings.confirmations, 1) if run.duration_s <= SHORT_S else 0


def _is_built(api: Api) -> bool:
    return api.command is not None or (api.container is not None and api.container.build is not None)


def _may_ask_base(inputs: Inputs, review: Review) -> bool:
    """Return whether the base commit can be built, of an API whose noise the baseline does not know."""
    api, baseline = inputs.config.api, review.comparison.baseline
    return _is_built(api) and inputs.against is not None and baseline is not None and not is_measured(baseline)


class Asking(Struct, frozen=True, kw_only=True):
    """What is asked again, and beside what run."""

    request: Request
    inputs: Inputs
    directory: Path
    review: Review
    questions: Sequence[tuple[Case, str]]

    def say(self, who: str) -> None:
        """Report progress."""
        questions = counted(len({case.id for case, _ in self.questions}), "question")
        self.request.say(f"asking {questions} again, of {who}")


def _of_the_base(asking: Asking, asked: Recheck, times: int) -> Recheck:
    try:
        with base_build(asking.request, asking.inputs) as build:
            asking.say(f"the base build ({cut(build.name)})")
            return replace(asked, build=build.name, base=_scores(asking, build, FOLDER, times))
    except RaggateError as error:
        if error.exit_code == ExitCode.INTERRUPTED:
            raise
        return replace(asked, problem=error.message)


def _of_the_change(asking: Asking, asked: Recheck, times: int) -> Recheck:
    """Ask the change again in a process of its own, which has not been asked before."""
    build = Build(api=asking.inputs.config.api, root=asking.request.root)
    asking.say("a new start of the change")
    try:
        return replace(asked, again=_scores(asking, build, AGAIN, times))
    except RaggateError as error:
        if error.exit_code == ExitCode.INTERRUPTED:
            raise
        asking.request.say(f"the loss counts, because asking again failed: {error.message}")
        return asked


@contextmanager
def base_build(request: Request, inputs: Inputs) -> Iterator[Build]:
    """Return the base build; source that it is made of is gone on leaving."""
    api, name = _base_api(inputs)
    if api.command is None and not any(settings.build for settings in api.containers().values()):
        yield Build(api=api, root=request.root, name=name)
        return
    top = sources.top_of(request.root, request.remote)
    if inputs.against is None or top is None:
        raise CannotTell("name the base commit with --against, so that raggate can build its API")
    with sources.at(top, inputs.against, request.remote) as source:
        tree = source.directory(".")
        root = tree / request.root.relative_to(top)
        yield Build(api=api, root=root, name=name or f"commit {inputs.against[:12]}", source=f"base of {request.root}")


def _base_api(inputs: Inputs) -> tuple[Api, str]:
    """Return the settings of the base build, and its name where that is not the commit's."""
    api, image = inputs.config.api, inputs.config.base_image
    if image is None:
        if not _is_built(api):
            raise CannotTell(
                "`recheck: ref` needs an API that raggate builds itself, by `api.command` or `api.container.build`"
            )
        return api, ""
    if api.container is None:
        raise CannotTell(f"`recheck: {image}` needs the section api.container, which the image is run by")
    container = api.container.model_copy(update={"image": image, "build": None})
    return api.model_copy(update={"container": container}), f"image {image}"


def _scores(asking: Asking, build: Build, folder: str, times: int) -> tuple[tuple[CaseScore, ...], ...]:
    """Score a build's answers as those of the run; each time it is booted anew if the baseline knows of noise."""
    baseline = asking.review.comparison.baseline
    before = baseline.scorecard.fingerprint if baseline is not None else {}
    place = Place(out=asking.directory / folder, runs=asking.directory.parent)
    place.out.mkdir(exist_ok=True)
    starts = times if repeats.noisy(before) else 1
    rounds = []
    for _ in range(starts):
        with booted(asking.request, asking.inputs, build, place, before) as up:
            rounds += [_score_once(asking, up) for _ in range(times // starts)]
    return tuple(rounds)


def _score_once(asking: Asking, up: Booted) -> tuple[CaseScore, ...]:
    asked = up.adapter.ask(asking.questions, up.api, on_result=lambda *_: None)
    if asked.stopped:
        raise CannotTell(asked.stopped)
    notes = Notes(asking.inputs.vault)
    items = tuple(
        notes.label(score.label(case, up.clean(result)))
        for (case, _), result in zip(asking.questions, asked.results, strict=True)
    )
    # these answers and no others of the run, which may have asked everything several times
    alone = replace(asking.review.run, results=items, repeats=())
    return tuple(score.score(alone, asking.inputs.config.score.k).cases)


def selected(choice: Choice, golden: Golden, broken: Callable[[], frozenset[str]]) -> Selection | None:
    """Choose the questions; None where all are asked, so that the run is whole. `broken` gives those of `--failed`."""
    keeps = [*_keeps(choice, golden)]
    if choice.failed:
        last = broken()
        keeps.append(lambda case: case.id in last)
    asked = [case.id for case in golden.cases if all(keep(case) for keep in keeps)]
    if not asked:
        raise _nothing(choice, golden)
    asked = asked[: choice.limit]
    if len(asked) == len(golden.cases):
        return None
    return Selection(asked=tuple(asked), of=len(golden.cases), words=choice.words)


def _keeps(choice: Choice, golden: Golden) -> Iterator[Keeps]:
    cases, check = golden.cases, partial(_check, golden)
    if choice.matching is not None:
        fits = expressions.compiled(choice.matching)
        yield lambda case: fits(_texts(case))
    if choice.cases:
        check("--case", choice.cases, [case.id for case in cases], "question")
        yield lambda case: case.id in choice.cases
    if choice.slices:
        names = dict.fromkeys(name for case in cases for name in slices_of(case))
        check("--slice", choice.slices, list(names), "slice")
        for dimension in dict.fromkeys(name.partition("=")[0] for name in choice.slices):
            wanted = {name for name in choice.slices if name.partition("=")[0] == dimension}
            yield lambda case, wanted=wanted: not wanted.isdisjoint(slices_of(case))  # type: ignore[misc]


def _texts(case: Case) -> list[str]:
    return [text.casefold() for text in (case.id, case.question, case.category, *case.tags)]


def _check(golden: Golden, option: str, given: Sequence[str], known: Sequence[str], noun: str) -> None:
    for value in given:
        if value not in known:
            like = ", ".join(map(cut, nearest_few(value, known)))
            some = f"It has {listed([*map(cut, known)], most=10)}." if known else f"There is no {noun} at all."
            hint = f"The nearest: {like}." if like else some
            raise UsageError(f"{option}: {golden.noun} has no {noun} {quoted(value)}", hint=hint)


def _nothing(choice: Choice, golden: Golden) -> UsageError:
    """Name the nearest ids and words."""
    ids = [case.id for case in golden.cases]
    place = golden.name if golden.part_of is None else f"the suite's part of {golden.name}"
    problem = f"no question of {place} fits {choice.words}, so nothing was asked"
    if choice.matching is None:
        return UsageError(problem, hint="A question must fit all options together. Leave some out.")
    searched = expressions.words_of(choice.matching)
    like = list(dict.fromkeys(name for word in searched for name in nearest_few(word, ids)))[:5]
    words = (word.strip(".,:;?!()\"'") for case in golden.cases for text in _texts(case) for word in text.split())
    meant = suggestion(searched[0], dict.fromkeys(words)) if searched else ""
    return UsageError(f"{problem}{meant}", hint=f"The nearest ids: {', '.join(map(cut, like))}." if like else "")


def notes_address(request: Request, run: Run, *, first_run: bool) -> str:
    """Return the address of the configuration's directory on the forge that a job names; the page checks its shape."""
    names = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "CI_PROJECT_URL")
    server, repository, project = map(request.environment.get, names)
    provenance = run.provenance
    if not (server and repository) and not project:
        return ""
    files = f"{server}/{repository}/blob" if server and repository else f"{project}/-/blob"
    trusted = None if first_run else provenance.against
    commit = trusted or (provenance.checkout.commit if provenance.checkout.dirty is False else None)
    workspace = request.remote.workspace if request.remote else None
    checkout = git.find(request.root, workspace)
    if commit is None or (checkout is None and trusted is None):
        return ""
    prefix = sources.prefix_of(request.root, checkout, workspace)
    directories = [f"{prefix}{path}" for path in getattr(run.config, "vault", {}).values()]
    if trusted is None and checkout is not None and not _in_commit(checkout, commit, directories):
        return ""
    return f"{files}/{commit}/{quote(prefix, errors='replace')}"


def _in_commit(checkout: git.Checkout, commit: str, directories: list[str]) -> bool:
    """Return whether a commit has these directories: a job may have fetched its notes from elsewhere."""
    with git.reading(checkout, like=commit) as reader:
        return all(reader.run("cat-file", "-e", f"{commit}:{path}").returncode == 0 for path in directories)
