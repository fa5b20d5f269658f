"""The same build asked several times: what its own noise is, and what that means for the gate."""

from __future__ import annotations

from dataclasses import replace

from raggate.gate import calibration
from raggate.models.calibration import Calibration
from raggate.pipeline import measure
from raggate.pipeline.request import Request
from raggate.pipeline.result import RunResult
from raggate.pipeline.trusted_inputs import load_inputs
from raggate.text import deadlines

AS_CONFIGURED = "as configured"
"""The policy of the configuration."""


def calibrate(request: Request, runs: int, *, boot_each: bool) -> tuple[RunResult, Calibration]:
    """Ask everything several times; leave a run directory, which can be promoted, and with it the noise.

    Args:
        request: what the front end asks for.
        runs: how often, at least twice.
        boot_each: whether the API is booted for each of them, and not once for all.

    Raises:
        RunFailed: as `measure.measure`. A run that stopped early is given back; `run.stopped` says why.
    """
    with load_inputs(request) as inputs:
        boots = runs if boot_each else 1
        asking = replace(inputs, config=inputs.config.asking(repeat=runs))
        directory, run, scorecard = measure.measure(request, asking, boots=boots)
        red, pairs = 0, 0
        if run.stopped is None:
            with measure.failure_reports(directory, asking.config), deadlines.after_asking(runs * len(run.results)):
                red, pairs = calibration.alarms(calibration.separate(run), asking.config.gate)
        alarms = {AS_CONFIGURED: red}
        measured = Calibration(run=run, scorecard=scorecard, boots=boots, pairs=pairs, alarms=alarms)
        return RunResult(run=run, directory=directory), measured
