"""A run -> what other systems' own code would say of it, for those that the configuration names; never gated.

Their definitions differ from raggate's on purpose or by mistake, so these numbers stand apart from raggate's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from raggate.config.schema import Compat
from raggate.errors import UsageError
from raggate.models.run import Run

_Scored = Callable[..., dict[str, Any]]
"""Takes a run, the mode that is scored, and as `full_text` whether whole texts are."""


def compat_scores(run: Run, systems: Iterable[Compat], *, full_text: bool) -> dict[str, dict[str, Any]]:
    """Score a run as other systems do.

    Args:
        run: a labelled run, in memory or from a run directory: the result is the same.
        systems: whose numbers are wanted.
        full_text: whether the run keeps whole texts, which their code then scores; else it scores cut ones.

    Returns:
        By system and then by mode: their aggregates; or `problem` alone where their code would stop.
    """
    modes = list(dict.fromkeys(item.result.mode for item in run.results))
    return {
        system: {mode: _scores(_SYSTEMS[system], run, mode, full_text=full_text) for mode in modes}
        for system in systems
    }


def _scores(scored: _Scored, run: Run, mode: str, *, full_text: bool) -> dict[str, Any]:
    try:
        return scored(run, mode, full_text=full_text)
    except UsageError as error:
        # what their code stops at must not stop the gate
        return {"problem": error.message}


def _helloworld(run: Run, mode: str, *, full_text: bool) -> dict[str, Any]:
    """Give the `aggregate_metrics` that `raggate helloworld export` writes for one mode of the run."""
    from raggate.interop.helloworld.metrics import aggregate_metrics
    from raggate.interop.helloworld.write import run_config, to_rows

    results = [item.result for item in run.results if item.result.mode == mode]
    cases = {case.id: case for case in run.golden.cases}
    questions = {name: case.question for name, case in cases.items()}
    return aggregate_metrics(results, to_rows(results, questions, run_config(run), full_text=full_text), cases)


_SYSTEMS: dict[Compat, _Scored] = {"helloworld": _helloworld}
