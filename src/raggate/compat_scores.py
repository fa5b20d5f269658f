"""A run -> what other systems' own code would say of it, for those that the configuration names; never gated.

Their definitions differ from raggate's on purpose or by mistake, so these numbers stand apart from raggate's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from raggate.config import Compat
from raggate.errors import UsageError
from raggate.models import Run


def compat_scores(run: Run, systems: Iterable[Compat]) -> dict[str, dict[str, Any]]:
    """Score a run as other systems do.

    Args:
        run: a labelled run, with whole texts or with the cut ones of a run directory: the result is the same.
        systems: whose numbers are wanted.

    Returns:
        By system and then by mode: their aggregates; or `problem` alone where their code would stop.
    """
    modes = list(dict.fromkeys(item.result.mode for item in run.results))
    return {system: {mode: _told(_SYSTEMS[system], run, mode) for mode in modes} for system in systems}


def _told(scored: Callable[[Run, str], dict[str, Any]], run: Run, mode: str) -> dict[str, Any]:
    try:
        return scored(run, mode)
    except UsageError as error:
        # what their code stops at must not stop the gate
        return {"problem": error.message}


def _helloworld(run: Run, mode: str) -> dict[str, Any]:
    """Give the `aggregate_metrics` that `raggate helloworld export` writes for one mode of the run."""
    from raggate.compat.helloworld import aggregate_metrics
    from raggate.formats.helloworld_write import run_config, to_rows

    results = [item.result for item in run.results if item.result.mode == mode]
    cases = {case.id: case for case in run.golden.cases}
    questions = {name: case.question for name, case in cases.items()}
    return aggregate_metrics(results, to_rows(results, questions, run_config(run)), cases)


_SYSTEMS: dict[Compat, Callable[[Run, str], dict[str, Any]]] = {"helloworld": _helloworld}
