"""Question sets of others, by format. A reader is a function of a path; add it and one line to READERS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from raggate import plugins
from raggate.inputs.authoring.question_sets import flat, promptfoo, squad
from raggate.inputs.authoring.question_sets.questions import Question

READERS: dict[str, Callable[[Path], Iterator[Question]]] = {
    "csv": partial(flat.read, keys=flat.ANYBODYS),
    "ragas": partial(flat.read, keys=flat.RAGAS),
    "deepeval": partial(flat.read, keys=flat.DEEPEVAL),
    "promptfoo": promptfoo.read,
    "inspect": partial(flat.read, keys=flat.INSPECT),
    "rag-ci": partial(flat.read, keys=flat.RAG_CI),
    "squad": squad.read,
}
"""Each takes a file. `csv` is a question with an answer or a context, by anybody, whatever the suffix."""


def read(path: Path, form: str) -> Iterator[Question]:
    """Read the questions of a file, or of a folder in a format of another package.

    Raises:
        UsageError: naming the place, for what has another shape.
    """
    reader = READERS[form] if form in READERS else plugins.load(plugins.GOLDEN_FORMATS, form).read
    return reader(path)
