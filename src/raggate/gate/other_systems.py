"""What another system gives the gate: to read its metrics files as baselines, and to score a run as it would. Pure.

The gate knows none of them. The front ends hand them in, as `raggate_interop` has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from raggate.errors import UsageError
from raggate.models.baseline import Baseline, Restated
from raggate.models.run import Run
from raggate.models.scorecard import Scorecard

if TYPE_CHECKING:
    from pathlib import Path

OWN_METRICS_KEY = "by_retriever"
"""The key by which a metrics file has means in the shape that raggate writes."""


class Scores(Protocol):
    """Gives the system's own aggregates of one mode of a run; raises UsageError where its code would stop."""

    def __call__(self, run: Run, mode: str, *, full_text: bool) -> dict[str, Any]:
        """Score whole texts with `full_text`, else those cut to what a run directory keeps."""


class OtherSystem(Struct, frozen=True, kw_only=True):
    """Another system, as far as the gate has to do with it.

    Attributes:
        name: its name, as in the configuration's `score.compat`.
        metrics_key: the top-level key by which a metrics file is taken for one of theirs.
        bare_metrics: turns the content of such a file into the shape of `OWN_METRICS_KEY`; takes the content, the
            file's name for messages, and its directory if it is on disk. Raises FileError for a damaged file. None
            where it has that shape already.
        restate: gives a run's means by their definitions, beside a baseline of theirs. Raises UsageError where they
            cannot be computed.
        scores: gives their numbers of a run, for `score.compat`; None where that cannot be asked for.
    """

    name: str
    metrics_key: str
    restate: Callable[[Run, Scorecard, Baseline], Restated]
    bare_metrics: Callable[[dict[str, Any], str, Path | None], dict[str, Any]] | None = None
    scores: Scores | None = None


def restate(run: Run, scorecard: Scorecard, baseline: Baseline) -> Restated:
    """Score a run by the definitions that a bare metrics file was made with."""
    if baseline.restate is None:
        return Restated(baseline=baseline)
    try:
        return baseline.restate(run, scorecard, baseline)
    except UsageError as error:
        return Restated(baseline=baseline, problems=(f"the run has no means by their definitions: {error.message}",))


def compat_scores(
    run: Run, wanted: Iterable[str], systems: Sequence[OtherSystem], *, full_text: bool
) -> dict[str, dict[str, Any]]:
    """Score a run as other systems' own code would; never gated, and beside raggate's own numbers.

    Args:
        run: a labelled run, in memory or from a run directory: the result is the same.
        wanted: the names of the systems whose numbers are wanted.
        systems: every system that is known.
        full_text: whether the run keeps whole texts, which their code then scores; else it scores cut ones.

    Returns:
        By system and then by mode: their aggregates; or `problem` alone where their code would stop.
    """
    if not (names := list(wanted)):
        return {}
    modes = list(dict.fromkeys(item.result.mode for item in run.results))
    by_name = {system.name: system.scores for system in systems if system.scores is not None}
    return {name: {mode: _scores(by_name[name], run, mode, full_text=full_text) for mode in modes} for name in names}


def _scores(scores: Scores, run: Run, mode: str, *, full_text: bool) -> dict[str, Any]:
    try:
        return scores(run, mode, full_text=full_text)
    except UsageError as error:
        # what their code stops at must not stop the gate
        return {"problem": error.message}
