"""A regression -> what the build before the change answers to the same questions, booted in the same job.

The base build is the trusted commit's: its source, or an image that the trusted configuration or the workflow names.
Nothing of the change is built or run in its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from raggate.config.service_settings import Api
from raggate.errors import CannotTell, ExitCode, RaggateError
from raggate.gate import recheck as gate
from raggate.inputs import notes as standing, sources
from raggate.inputs.trusted import Inputs
from raggate.models.golden import Case
from raggate.models.recheck import Recheck
from raggate.models.scorecard import CaseScore
from raggate.models.verdict import Review
from raggate.pipeline.booted import Build, Place, booted
from raggate.pipeline.request import Request
from raggate.scoring import score
from raggate.service.ask import questions_of
from raggate.text.numbers import counted
from raggate.text.quote import cut

FOLDER = "base"
"""Folder of a run directory with the logs of the base build."""


def recheck(request: Request, inputs: Inputs, directory: Path, review: Review) -> Recheck | None:
    """Ask the base build what counts against the change; None where that is not wanted, or nothing is red.

    Args:
        request: what the front end asks for.
        inputs: what was measured by.
        directory: the run directory.
        review: what was decided so far.

    Raises:
        RaggateError: when it was interrupted; any other error is a part of what it gives.
    """
    settings = inputs.config
    if settings.recheck.base == "off" or review.verdict.outcome != "regression":
        return None
    due = gate.against(review.verdict)
    questions = [item for item in questions_of(inputs.golden.cases, settings.ask.modes) if (item[1], item[0].id) in due]
    asked = Recheck(asked=tuple((mode, case.id) for case, mode in questions))
    if not questions:
        return replace(asked, problem="no single question is known to have got worse")
    try:
        with base_build(request, inputs) as build:
            request.say(f"asking {counted(len(questions), 'question')} of the base build too ({cut(build.name)})")
            return replace(asked, build=build.name, base=_scores(request, inputs, build, questions, directory, review))
    except RaggateError as error:
        if error.exit_code == ExitCode.INTERRUPTED:
            raise
        return replace(asked, problem=error.message)


@contextmanager
def base_build(request: Request, inputs: Inputs) -> Iterator[Build]:
    """Give the base build; source that it is made of is gone on leaving.

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
    """Give the settings of the base build, and its name where that is not the commit's."""
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


def _scores(
    request: Request,
    inputs: Inputs,
    build: Build,
    questions: Sequence[tuple[Case, str]],
    directory: Path,
    review: Review,
) -> tuple[CaseScore, ...]:
    """Boot the base build and score its answers as those of the run."""
    baseline = review.comparison.baseline
    before = baseline.scorecard.fingerprint if baseline is not None else {}
    place = Place(out=directory / FOLDER, runs=directory.parent)
    place.out.mkdir()
    with booted(request, inputs, build, place, before) as up:
        asked = up.adapter.ask(questions, up.api, on_result=lambda *_: None)
        if asked.stopped:
            raise CannotTell(asked.stopped)
        notes = standing.Notes(inputs.vault)
        items = tuple(
            notes.label(score.label(case, up.clean(result)))
            for (case, _), result in zip(questions, asked.results, strict=True)
        )
    return score.score(replace(review.run, results=items), inputs.config.score.k).cases
