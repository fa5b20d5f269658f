"""What is wrong with a configuration -> problems with their lines, and the keys that were meant."""

from __future__ import annotations

from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from raggate.errors import Problem
from raggate.text.yamlio import Document, dotted, sentence

SHOWN_PROBLEMS = 10


def of(error: ValidationError, document: Document, root: type[BaseModel]) -> tuple[list[Problem], int]:
    """Give the problems that are shown, in the order of the file, and how many others there are.

    Args:
        error: what the model says.
        document: the file.
        root: the model of the whole file, which knows its keys.
    """
    problems = error.errors(include_url=False)
    places = [tuple(part for part in problem["loc"] if not _is_union_tag(part)) for problem in problems]
    enclosing = {where[:depth] for where in places for depth in range(len(where))}
    # of the branches of a union the one that got furthest is the one that was meant
    meant = [(where, problem) for where, problem in zip(places, problems, strict=True) if where not in enclosing]
    meant.sort(key=lambda item: document.line(item[0]))
    shown: dict[Problem, None] = {}
    for done, (where, problem) in enumerate(meant):
        # explaining takes longer than finding, and a file can be wrong in thousands of places
        if len(shown) == SHOWN_PROBLEMS:
            return [*shown], len({place for place, _ in meant[done:]})
        known_keys = _known_keys(where[:-1], root) if problem["type"] == "extra_forbidden" else ()
        text = sentence(where, problem, known_keys)
        shown[Problem(document.name, document.line(where), text, dotted(where))] = None
    return [*shown], 0


def _is_union_tag(part: int | str) -> bool:
    return isinstance(part, str) and (
        part in {"Rule", "float", "[key]"} or part.startswith(("constrained", "literal["))
    )


def _known_keys(path: tuple[int | str, ...], root: type[BaseModel]) -> tuple[str, ...]:
    annotation: Any = root
    for part in path:
        model = _model_in(annotation)
        if get_origin(annotation) in {dict, list}:
            annotation = get_args(annotation)[-1]
        elif model is not None and part in model.model_fields:
            annotation = model.model_fields[str(part)].annotation
        else:
            return ()
    model = _model_in(annotation)
    return tuple(model.model_fields) if model and get_origin(annotation) is not dict else ()


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for part in get_args(annotation) if (model := _model_in(part))), None)
