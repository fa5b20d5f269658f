"""Two builds, each booted and asked the same questions -> one held against the other.

Questions, notes, settings and policy are those of the working tree on both sides, but for a side that is a stored run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from raggate.base.errors import CannotTell, UsageError
from raggate.base.quote import cut, quoted
from raggate.config.overrides import Overrides
from raggate.config.schema import Config
from raggate.gate import promote
from raggate.gate.evaluation import evaluate_run
from raggate.gate.invariants import invariants
from raggate.inputs import dependencies, git, golden, sources
from raggate.inputs.trusted import Inputs
from raggate.models.baseline import Baseline
from raggate.models.golden import Selection
from raggate.models.provenance import Checkout, versions_of
from raggate.models.public_verdict import Side, SideBySide, SideKind
from raggate.models.run import Run
from raggate.models.scorecard import Scorecard
from raggate.models.verdict import ReportContext
from raggate.pipeline import check, measure, run_directory, stored_runs
from raggate.pipeline.asking import Build
from raggate.pipeline.request import Request
from raggate.pipeline.trusted_inputs import load_inputs
from raggate.reports import OF_CHECK, OF_DIFF
from raggate.scoring import score

WORKING_TREE = "."
"""Stands for the API as the working tree has it."""

FOLDER = "diff"
"""Folder of the head's run directory with the reports of a comparison of two builds."""

_KINDS: tuple[tuple[str, SideKind], ...] = (("ref:", "revision"), ("image:", "image"), ("run:", "run"))
_HINT = (
    "Name a git revision, an image, an address, or a run directory. If a name is ambiguous, write ref:, image: or run: "
    "before it. `.` is the working tree."
)

Meant = tuple[SideKind, str]
"""What a side is, and its name without a prefix that says so; of a stored run, its directory."""


class Asked(Struct, frozen=True, kw_only=True):
    """A side that was asked, or had been: its run and scores."""

    side: Side
    run: Run
    scorecard: Scorecard


def diff(request: Request, base: str, head: str) -> SideBySide:
    """Ask both sides, each a revision, an image, an address, a run directory or the working tree, and compare."""
    with load_inputs(request) as inputs:
        # before either is asked, which leaves a run that is the latest then
        sides = [_meant(request, inputs.config, name) for name in (base, head)]
        if all(kind == "run" for kind, _ in sides) and len({Path(value).resolve() for _, value in sides}) == 1:
            raise UsageError(f"{cut(sides[0][1])}: both sides name the same run", hint=_HINT)
        selection = check.choose(request, inputs)
        before = _asked(request, inputs, sides[0], selection)
        # how large its index was tells when the other's is complete
        after = _asked(request, inputs, sides[1], selection, baseline_of(before, selection))
        baseline = baseline_of(before, after.run.selection)
        edited = _dependencies(request, before.run.provenance.checkout, after.run.provenance.checkout, sides[1])
        edited = dependencies.loaded(versions_of(before.run.fingerprint), versions_of(after.run.fingerprint), edited)
        context = ReportContext(dependencies=edited)
        review = evaluate_run(after.run, after.scorecard, baseline, policy=inputs.config, context=context)
        again = replace(review.run.provenance, reproduce=request.diffing(base, head))
        review = replace(review, run=replace(review.run, provenance=again))
        both = SideBySide(base=before.side, head=after.side, review=review)
        folder = after.side.directory / FOLDER
        folder.mkdir(exist_ok=True)
        run_directory.write_reports(folder, OF_CHECK, both.review)
        run_directory.write_reports(folder, OF_DIFF, both)
        return both


def _dependencies(request: Request, base: Checkout, head: Checkout, meant: Meant) -> tuple[str, ...]:
    """Describe the versions that differ between two sides; none if the commit of one is not known."""
    if base.commit is None or head.commit is None:
        return ()
    on_disk = meant[0] == "working tree" and head.dirty is True
    return dependencies.changes(request.root, base.commit, head.commit, on_disk=on_disk, branched=False)


def baseline_of(base: Asked, part: Selection | None) -> Baseline:
    """Return a side as what another is held against.

    A partial run is only held against for the sake of another: what it did not ask, no whole run may be compared by.
    """
    run = base.run
    if part is not None and run.selection is not None and set(part.asked) <= set(run.selection.asked):
        run = replace(run, golden=golden.asked_of(run.golden, run.selection), selection=None)
    unfit: tuple[str, ...] = ()
    try:
        findings = invariants.check_answers(base.run, run.config.invariants, run.config.gate)
        promote.refuse_unmeasured(run, base.scorecard, findings, run.config.gate, "be compared with")
    except CannotTell as error:
        unfit = (error.message,)
    return Baseline(
        source=base.side.title,
        scorecard=base.scorecard,
        provenance=promote.provenance(base.run, base.scorecard),
        unfit=unfit,
    )


def _asked(
    request: Request, inputs: Inputs, meant: Meant, selection: Selection | None, before: Baseline | None = None
) -> Asked:
    kind, value = meant
    if kind == "run":
        directory = Path(value)
        run = run_directory.read(directory)
        return _as_asked(kind, directory.name, run, score.score(run, run.config.score.k), directory)
    with _build(request, inputs.config, kind, value) as build:
        request.say(f"{kind}{'' if kind == 'working tree' else f' {cut(value)}'}:")
        asking = replace(inputs, config=inputs.config.model_copy(update={"api": build.api}))
        titled = replace(build, title="" if kind == "working tree" else f"{kind} {cut(value)}")
        directory, run, scorecard = measure.measure(
            request, asking, baseline=before, selection=selection, build=titled, command="diff"
        )
        return _as_asked(kind, value, run, scorecard, directory)


def _meant(request: Request, settings: Config, name: str) -> Meant:
    kind, value = _kind_of(request, settings, name)
    return (kind, str(stored_runs.named(value, request.runs()))) if kind == "run" else (kind, value)


def _as_asked(kind: SideKind, name: str, run: Run, scorecard: Scorecard, directory: Path) -> Asked:
    commit = run.provenance.checkout.commit
    side = Side(kind=kind, name=name, commit=commit, run_id=run.run_id, directory=directory)
    return Asked(side=side, run=run, scorecard=scorecard)


def _kind_of(request: Request, settings: Config, name: str) -> Meant:
    for prefix, kind in _KINDS:
        if name.startswith(prefix):
            return kind, name.removeprefix(prefix)
    if name == WORKING_TREE:
        return "working tree", name
    if name.startswith(("http://", "https://")):
        return "url", name
    looks: tuple[tuple[SideKind, Callable[[], bool]], ...] = (
        ("run", lambda: name == stored_runs.LATEST or (Path(name) / "config.json").is_file()),
        ("revision", lambda: _commit(request, name) is not None),
        ("run", lambda: any(run.name.startswith(name) for run in stored_runs.stored_runs(request.runs()))),
        ("image", lambda: settings.api.container is not None),
    )
    for kind, fits in looks:
        if fits():
            return kind, name
    raise UsageError(f"{quoted(name)}: neither a revision nor a run directory here", hint=_HINT)


def _commit(request: Request, revision: str) -> str | None:
    checkout = git.find(request.root, None)
    return git.resolve(checkout, revision) if checkout and revision else None


@contextmanager
def _build(request: Request, settings: Config, kind: SideKind, value: str) -> Iterator[Build]:
    if kind == "revision":
        with _of_revision(request, settings, value) as build:
            yield build
        return
    if kind == "image" and settings.api.container is None:
        raise UsageError(
            f"image {quoted(value)}: an image needs the section `api.container` in {request.config_place}, with at "
            "least the API's `port`",
            hint="An image alone does not say where the API listens and how it finds its notes.",
        )
    given = Overrides(api_image=value if kind == "image" else None, api_url=value if kind == "url" else None)
    checkout = sources.head(request.root) if kind == "working tree" else Checkout()
    yield Build(api=given.apply(settings).api, root=request.root, name=value, checkout=checkout)


@contextmanager
def _of_revision(request: Request, settings: Config, revision: str) -> Iterator[Build]:
    commit, top = _commit(request, revision), sources.top_of(request.root, None)
    if commit is None or top is None:
        problem = f"no such revision in the repository of {request.config_place}"
        raise UsageError(f"{quoted(revision)}: {problem}", hint=_HINT)
    if settings.api.command is None and not any(container.build for container in settings.api.containers().values()):
        problem = "a revision needs an API that raggate builds or runs, with `api.command` or `api.container.build`"
        raise UsageError(f"{quoted(revision)}: {problem}", hint="Name images or addresses instead.")
    with sources.at(top, commit) as source:
        root = source.directory(".") / request.root.resolve().relative_to(top.resolve())
        checkout = Checkout(commit=commit, dirty=False)
        yield Build(api=settings.api, root=root, name=revision, source=f"base of {request.root}", checkout=checkout)
