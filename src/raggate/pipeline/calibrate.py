"""The same build asked several times: what its own noise is, and what that means for the gate."""

from __future__ import annotations

from msgspec.structs import replace

from raggate.gate import calibration
from raggate.inputs.trusted import Inputs
from raggate.models.calibration import Calibration
from raggate.pipeline import measure
from raggate.pipeline.failure_reports import failure_reports
from raggate.pipeline.request import Request
from raggate.pipeline.result import RunResult
from raggate.pipeline.trusted_inputs import load_inputs
from raggate.text import deadlines


def calibrate(request: Request, runs: int, *, boot_each: bool) -> tuple[RunResult, Calibration]:
    """Ask everything several times; leave a run directory, which can be promoted, and with it the noise.

    Args:
        runs: how often, at least twice.

    Raises:
        RunFailed: as `measure.measure`. A run that broke off is given back; `run.stopped` says why.
    """
    with load_inputs(request) as inputs:
        boots = runs if boot_each else 1
        asking = replace(inputs, config=inputs.config.asking(repeat=runs))
        directory, run, scorecard = measure.measure(request, asking, boots=boots, command="calibrate")
        measured = Calibration(run=run, scorecard=scorecard, boots=boots, pairs=0, alarms={})
        if run.stopped is None:
            with failure_reports(directory, asking.config), deadlines.after_asking(runs * len(run.results)):
                measured = _judged(measured, asking)
        return RunResult(run=run, directory=directory), measured


def _judged(measured: Calibration, inputs: Inputs) -> Calibration:
    """Add what the gate makes of the runs."""
    run, settings = measured.run, inputs.config
    alarms, pairs = calibration.alarms_by_policy(calibration.separate(run), settings.gate)
    return replace(measured, pairs=pairs, alarms=alarms)
