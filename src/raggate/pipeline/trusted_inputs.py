"""A request -> the trusted inputs, read and checked, also against what the shelves know."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import isinf
from pathlib import Path

from msgspec.structs import replace

from raggate.base.errors import RaggateError, UsageError
from raggate.base.files import read_file
from raggate.base.quote import quoted, suggestion
from raggate.config import schema
from raggate.config.schema import Config
from raggate.gate import baseline as baseline_file
from raggate.gate.judge_advice import JUDGED
from raggate.inputs.trusted import NO_CONFIG, Inputs, InputSource, load_trusted
from raggate.models.baseline import Baseline
from raggate.models.judging import highest
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


def working_tree(request: Request) -> tuple[Config, dict[str, Path]]:
    """Read the configuration that lies here; give the directories of its vaults too, which must be there."""
    if not request.config_file.is_file():
        raise UsageError(f"{request.config_place}: no such file", hint=NO_CONFIG)
    settings = schema.load(read_file(request.config_file), request.config_place)
    settings = check_names(request.overrides.apply(settings), request.config_place)
    vaults = {name: request.root / folder for name, folder in settings.vault.items()}
    for name, directory in vaults.items():
        if not directory.is_dir():
            problem = f"{request.place(settings.vault[name])}: no such directory (vault {name!r})"
            raise UsageError(problem, hint="Key 'vault' names each vault's notes.")
    return settings, vaults


def check_names(settings: Config, name: str) -> Config:
    """Check the metrics and modes that the configuration names, which `config` does not know, and return it."""
    metrics, gate, waivers = score.directions(settings.score.k), settings.gate, [*enumerate(settings.waivers)]
    # those of the default need not all be there
    composite = [*enumerate(gate.composite if "composite" in gate.model_fields_set else ())]
    named = [("gate.metrics", metric) for metric, rule in gate.metrics.items() if rule not in (False, "off")]
    named += [(f"gate.composite[{number}]", metric) for number, metric in composite]
    named += [(f"waivers[{number}].metric", waiver.metric) for number, waiver in waivers if waiver.metric is not None]
    for place, metric in named:
        if metric not in metrics:
            raise UsageError(
                f"{name}: {place}: no metric {quoted(metric)} at the cut-offs {settings.score.k}"
                f"{suggestion(figures.key(metric, metrics), metrics)}",
                hint=f"Known: {', '.join(metrics)}.",
            )
    for number, metric in composite:
        if metric in JUDGED or isinf(highest(metric)):
            what = "is given by judges" if metric in JUDGED else "is an amount"
            takes = "a composite takes only values from 0 to 1 that raggate computes"
            raise UsageError(
                f"{name}: gate.composite[{number}]: {metric} {what}, but {takes}",
                hint="Remove it here, and gate it by its own tolerance in gate.metrics.",
            )
    for number, waiver in waivers:
        if waiver.mode is not None and waiver.mode not in settings.ask.modes:
            modes = ", ".join(settings.ask.modes)
            raise UsageError(f"{name}: waivers[{number}].mode: expected one of {modes}, found {quoted(waiver.mode)}")
    return settings


def read_baseline(inputs: Inputs) -> Baseline | None:
    """Read the baseline of the inputs, which may be a metrics file of another system; None when there is none."""
    if inputs.baseline is None:
        return None
    stored = inputs.baseline
    directions = score.directions(inputs.config.score.k)
    baseline = baseline_file.read(stored.data, stored.place or stored.name, directions)
    return replace(baseline, source=stored.name, commit=stored.commit)
