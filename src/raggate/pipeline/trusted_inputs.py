"""A request -> the trusted inputs, read and checked, also against what the shelves know."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from raggate.base.errors import RaggateError, UsageError
from raggate.base.quote import suggestion
from raggate.config.schema import Config
from raggate.gate import baseline as baseline_file, evidence, waivers
from raggate.inputs.trusted import Inputs, InputSource, load_trusted
from raggate.models.baseline import Baseline
from raggate.pipeline.request import Request, RunFailed
from raggate.scoring import figures, score


@contextmanager
def load_inputs(request: Request) -> Iterator[Inputs]:
    """Read what is trusted."""
    suite = ""

    def accept(settings: Config, name: str) -> Config:
        nonlocal suite
        changed = request.overrides.apply(settings)
        suite = changed.suite
        return check_names(changed, name)

    try:
        with load_trusted(source_of(request), accept) as inputs:
            yield inputs
    except RunFailed:
        raise
    except RaggateError as error:
        raise RunFailed(error, suite=suite) from error


def source_of(request: Request) -> InputSource:
    """Return where the inputs of a request are read from."""
    return InputSource(
        root=request.root,
        config_name=request.config_name,
        folder=request.folder,
        against=request.against,
        remote=request.remote,
        first_run=request.first_run,
        baseline_file=request.baseline_file,
    )


def check_names(settings: Config, name: str) -> Config:
    """Check what the configuration names of the shelves, which `config` does not know, and give it back."""
    metrics = score.directions(settings.score.k)
    for metric, rule in settings.gate.metrics.items():
        if metric not in metrics and rule not in (False, "off"):
            raise UsageError(
                f"{name}: gate.metrics: no metric {metric!r} at the cut-offs {settings.score.k}"
                f"{suggestion(figures.key(metric, metrics), metrics)}",
                hint=f"Known: {', '.join(metrics)}.",
            )
    evidence.check_names(settings.gate, metrics, settings.score.k, name)
    waivers.check_names(settings, metrics, name)
    return settings


def read_baseline(inputs: Inputs) -> Baseline | None:
    """Read the baseline of the inputs, which may be a metrics file of another system; None when there is none."""
    if inputs.baseline is None:
        return None
    stored = inputs.baseline
    directions = score.directions(inputs.config.score.k)
    baseline = baseline_file.read(stored.data, stored.place or stored.name, directions)
    return replace(baseline, source=stored.name, commit=stored.commit)
