"""A configuration -> the API up, one question asked of it, and what the answer filled. Nothing is kept on disk."""

from __future__ import annotations

from functools import partial

from raggate.base import dates
from raggate.base.errors import UsageError
from raggate.base.files import read_file, scratch_directory
from raggate.config import schema
from raggate.config.question_settings import asked_in
from raggate.config.schema import Config
from raggate.gate.filled_fields import examine
from raggate.inputs import golden, vault
from raggate.inputs.notes import Notes
from raggate.inputs.trusted import Inputs
from raggate.models.golden import Case, Golden
from raggate.models.service import IndexState
from raggate.models.smoke_test import SmokeTest
from raggate.pipeline.asking import Build, Place, booted
from raggate.pipeline.request import Request
from raggate.pipeline.trusted_inputs import working_tree
from raggate.scoring.score import label

_READY_S = 4.0
"""How long an API that runs already may take until it is ready."""
_ANSWER_S = 10.0
_SETTLE_S = 0.2


def smoke_test(request: Request, question: str | None, *, name: str = "--question") -> SmokeTest:
    """Bring the API up, ask one question, and say what the answer filled.

    Without a question it is the first of the suite that has an answer; else `name` says where it comes from.
    """
    settings, vaults = working_tree(request)
    texts = vault.load(vaults)
    vault.say_malformed(texts, request.say)
    if question is not None and not question.strip():
        raise UsageError("--question: expected some text")
    case = _first(request, settings) if question is None else Case(id=name, question=question, answerable=True)
    mode = next(mode for mode in settings.ask.modes if asked_in(case.modes, mode))
    hurried = _in_a_hurry(settings)
    whole = Golden(name="", cases=(case,), hash="")
    inputs = Inputs(config=hurried, golden=whole, vault=texts, baseline=None, against=None)
    looks: list[IndexState] = []
    with scratch_directory() as out:
        place = Place(out=out, runs=out, counted=looks.append)
        with booted(request, inputs, Build(api=hurried.api, root=request.root), place, {}) as up:
            answered = up.adapter.ask([(case, mode)], up.api, on_result=lambda *_: None)
            result = up.clean(answered.results[0])
    with dates.after_asking(1):
        labelled = Notes(texts).label(label(case, result))
    return examine(labelled, settings, texts, looks[-1] if looks else None)


def _first(request: Request, settings: Config) -> Case:
    path, name = request.root / settings.golden, request.place(settings.golden)
    if not path.is_file():
        raise UsageError(f"{name}: no such file", hint="Add a golden set, or ask something with `--question TEXT`.")
    refuse = partial(schema.refused, read_file(request.config_file), request.config_place)
    whole = golden.load(read_file(path), name, snippets=settings.score.reads_snippets)
    cases = golden.part_of(whole, settings.questions, refuse).cases
    asked = [case for case in cases if any(asked_in(case.modes, mode) for mode in settings.ask.modes)]
    if not asked:
        raise UsageError(f"{name}: no question is for the modes that are asked", hint="`--question` is.")
    return next((case for case in asked if case.answerable), asked[0])


def _in_a_hurry(settings: Config) -> Config:
    ready = settings.api.ready
    if settings.api.url is not None:
        shorter = {"timeout": min(ready.timeout, _READY_S), "settle": min(ready.settle, _SETTLE_S)}
        ready = ready.model_copy(update=shorter)
    api = settings.api.model_copy(update={"ready": ready})
    ask = settings.ask.model_copy(update={"timeout": min(settings.ask.timeout, _ANSWER_S)})
    return settings.model_copy(update={"api": api, "ask": ask})
