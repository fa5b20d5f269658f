"""A regression -> what the build before the change answers to the same questions, and what both answer again.

The base build is the trusted commit's: its source, or an image that the trusted configuration or the workflow names.
Nothing of the change is built or run in its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from raggate.config.service_settings import Api
from raggate.errors import CannotTell, ExitCode, RaggateError
from raggate.gate import recheck as gate
from raggate.gate.noise import noisy
from raggate.inputs import sources
from raggate.inputs.note_labels import Notes
from raggate.inputs.trusted import Inputs
from raggate.models.golden import Case
from raggate.models.recheck import Recheck
from raggate.models.run import Run
from raggate.models.scorecard import CaseScore
from raggate.models.verdict import Review
from raggate.pipeline.booted import Booted, Build, Place, booted
from raggate.pipeline.request import Request
from raggate.scoring import score
from raggate.service.ask import questions_of
from raggate.text.numbers import counted
from raggate.text.quote import cut

_GRADES_ALONE = "all that counts against the change are grades of judges, and what is asked again is not graded"

FOLDER, AGAIN = "base", "again"
"""Folders of a run directory with the logs of the base build, and of the change when it is asked again."""


def recheck(request: Request, inputs: Inputs, directory: Path, review: Review, *, own: bool = True) -> Recheck | None:
    """Ask the base build what counts against the change, and of a noisy API both sides what flipped, again.

    Args:
        own: whether the build that lies here is the one that was measured, so that it may be asked again.

    Returns:
        What was answered; None where none of that is wanted, or nothing is red.

    Raises:
        RaggateError: when it was interrupted; any other error is a part of what it gives.
    """
    settings = inputs.config
    known_noisy = own and noisy(review.comparison)
    times = settings.confirmations if known_noisy else 0
    if review.verdict.outcome != "regression":
        return None
    if known_noisy and settings.api.url is not None and settings.recheck.confirm:
        request.say("no loss is asked again, though this API is known to be noisy: its process is not started anew")
    if not (times or settings.recheck.base != "off"):
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
    if not asked.asked:
        return replace(asked, problem=_GRADES_ALONE if graded else "no single question is known to have got worse")
    asking = Asking(request=request, inputs=inputs, directory=directory, review=review, questions=questions)
    if settings.recheck.base != "off":
        asked = _of_the_base(asking, asked, times or 1)
    return _of_the_change(asking, asked, times) if times else asked


class Asking(Struct, frozen=True, kw_only=True):
    """What is asked again, and beside what run."""

    request: Request
    inputs: Inputs
    directory: Path
    review: Review
    questions: Sequence[tuple[Case, str]]

    def say(self, who: str) -> None:
        """Tell what is done."""
        questions = counted(len({case.id for case, _ in self.questions}), "question")
        self.request.say(f"asking {questions} again, of {who}")

    @contextmanager
    def up(self, build: Build, folder: str) -> Iterator[Booted]:
        """Bring a build up, with a folder of the run directory for its files; it raises as `booted`."""
        baseline = self.review.comparison.baseline
        before = baseline.scorecard.fingerprint if baseline is not None else {}
        place = Place(out=self.directory / folder, runs=self.directory.parent)
        place.out.mkdir()
        with booted(self.request, self.inputs, build, place, before) as up:
            yield up


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
    asking.say("the change, as this API is known to be noisy")
    try:
        return replace(asked, again=_scores(asking, build, AGAIN, times))
    except RaggateError as error:
        if error.exit_code == ExitCode.INTERRUPTED:
            raise
        asking.request.say(f"the loss counts as it is, as it could not be asked again: {error.message}")
        return asked


@contextmanager
def base_build(request: Request, inputs: Inputs) -> Iterator[Build]:
    """Return the base build; source that it is made of is gone on leaving.

    Raises:
        CannotTell: when there is none for this API here.
        UsageError: when the commit cannot be read.
    """
    api, name = _base_api(inputs)
    if api.command is None and not any(settings.build for settings in api.containers().values()):
        yield Build(api=api, root=request.root, name=name)
        return
    top = sources.top_of(request.root, request.remote)
    if inputs.against is None or top is None:
        raise CannotTell("no commit judges this run, whose source it could be built from (--against)")
    with sources.at(top, inputs.against, request.remote) as source:
        tree = source.directory(".")
        root = tree / request.root.relative_to(top)
        yield Build(api=api, root=root, name=name or f"commit {inputs.against[:12]}", source=f"base of {request.root}")


def _base_api(inputs: Inputs) -> tuple[Api, str]:
    """Return the settings of the base build, and its name where that is not the commit's."""
    api, image = inputs.config.api, inputs.config.recheck.image
    if image is None:
        if api.command is None and (api.container is None or api.container.build is None):
            raise CannotTell(
                "`recheck.base: ref` needs an API that raggate builds itself, by `api.command` or `api.container.build`"
            )
        return api, ""
    if api.container is None:
        raise CannotTell("`recheck.base: image` needs the section api.container, which the image is run by")
    container = api.container.model_copy(update={"image": image, "build": None})
    return api.model_copy(update={"container": container}), f"image {image}"


def _scores(asking: Asking, build: Build, folder: str, times: int) -> tuple[tuple[CaseScore, ...], ...]:
    """Boot a build and score its answers as those of the run, of each time it is asked."""
    with asking.up(build, folder) as up:
        return tuple(_score_once(asking, up) for _ in range(times))


def _score_once(asking: Asking, up: Booted) -> tuple[CaseScore, ...]:
    asked = up.adapter.ask(asking.questions, up.api, on_result=lambda *_: None)
    if asked.stopped:
        raise CannotTell(asked.stopped)
    notes = Notes(asking.inputs.vault)
    items = tuple(
        notes.label(score.label(case, up.clean(result)))
        for (case, _), result in zip(asking.questions, asked.results, strict=True)
    )
    run = asking.review.run
    # these answers and no others of the run, which may have asked everything several times
    alone = Run(
        run_id=run.run_id,
        suite=run.suite,
        started=run.started,
        golden=run.golden,
        results=items,
        config=run.config,
        fingerprint=run.fingerprint,
    )
    return tuple(score.score(alone, asking.inputs.config.score.k).cases)
