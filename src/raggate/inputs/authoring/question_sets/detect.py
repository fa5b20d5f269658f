"""A file of questions -> its format, by the keys of its first record."""

from __future__ import annotations

from collections.abc import Callable, Set as AbstractSet
from pathlib import Path

from raggate import plugins
from raggate.errors import UsageError
from raggate.inputs.authoring.question_sets import questions
from raggate.inputs.authoring.question_sets.flat import ANYBODYS
from raggate.text.quote import cut

_SIGNS: dict[str, Callable[[AbstractSet[str]], bool]] = {
    "promptfoo": lambda keys: "vars" in keys or any(key.startswith("__expected") for key in keys),
    "rag-ci": lambda keys: "required_passages" in keys,
    "squad": lambda keys: "paragraphs" in keys or {"question", "context", "answers"} <= keys,
    "ragas": lambda keys: (
        "user_input" in keys or ("question" in keys and bool(keys & {"ground_truth", "ground_truths"}))
    ),
    "deepeval": lambda keys: "input" in keys and bool(keys & {"expected_output", "actual_output"}),
    "inspect": lambda keys: {"input", "target"} <= keys,
    "csv": lambda keys: bool(keys & set(ANYBODYS.question)) and bool(keys & {*ANYBODYS.answers, *ANYBODYS.contexts}),
}
"""By format what its keys have; the first that fits counts."""


def detect(path: Path) -> str:
    """Name the format of a file, or of a folder.

    Raises:
        UsageError: for one that cannot be told, with the keys that were found.
    """
    for form in plugins.names(plugins.GOLDEN_FORMATS):
        if plugins.load(plugins.GOLDEN_FORMATS, form).recognises(path):
            return form
    if path.is_dir():
        known = " or ".join(plugins.names(plugins.GOLDEN_FORMATS))
        raise UsageError(f"{path}: expected a file{f', or a folder of the format {known}' if known else ''}")
    keys = {key.strip().casefold() for key in questions.read(path)[0][1]}
    name = next((name for name, fits in _SIGNS.items() if fits(keys)), None)
    if name is None:
        raise UsageError(
            f"{path}: cannot tell the format by the keys {cut(', '.join(sorted(keys)))}",
            hint="Name it with --from, or call the columns `question`, `answer` and `context`.",
        )
    return name
