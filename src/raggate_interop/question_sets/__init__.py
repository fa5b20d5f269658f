"""Question sets of others, by format. A reader is a function of a path; add it and one line to READERS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from raggate_interop.question_sets import beir_folder, flat, promptfoo, squad
from raggate_interop.question_sets.questions import Question

READERS: dict[str, Callable[[Path], Iterator[Question]]] = {
    "csv": partial(flat.read, keys=flat.ANYBODYS),
    "ragas": partial(flat.read, keys=flat.RAGAS),
    "deepeval": partial(flat.read, keys=flat.DEEPEVAL),
    "promptfoo": promptfoo.read,
    "inspect": partial(flat.read, keys=flat.INSPECT),
    "rag-ci": partial(flat.read, keys=flat.RAG_CI),
    "squad": squad.read,
    "beir": beir_folder.read,
}
"""Takes a file, or BEIR's folder. `csv` is a question with an answer or a context, by anybody, whatever the suffix."""
