"""What a suite can show, said before anything is asked: the inputs of a check -> Outlook."""

from __future__ import annotations

from raggate.gate.suite_outlook import suite_outlook
from raggate.gate.waivers import check_cases
from raggate.models.outlook import Outlook
from raggate.pipeline.check import read_baseline
from raggate.pipeline.request import Request
from raggate.pipeline.trusted_inputs import load_inputs


def lint(request: Request) -> Outlook:
    """Read and check the inputs as a check does, and say what they can show. Nothing is started, asked or written.

    Raises:
        RunFailed: for inputs that cannot be used.
    """
    with load_inputs(request) as inputs:
        check_cases(inputs.config, inputs.golden, request.config_name)
        return suite_outlook(inputs.config, inputs.golden, read_baseline(inputs, request.systems))
