"""Workflows that run the action x configuration -> inputs with which the action refuses that configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from raggate.config.schema import Config
from raggate.errors import UsageError
from raggate.models.lint import LintFinding
from raggate.text import yamlio
from raggate.text.jsonio import fields

_ACTION = re.compile(r"(?:.*/)?raggate(?:-action)?@.*")
_USUAL = "raggate.yml"
_CONTAINER_ONLY = ("api-image", "api-build")
_OF_CHANGES = frozenset(("pull_request", "merge_group"))


def check_workflows(settings: Config, workflows: Mapping[str, bytes], config: str) -> Iterator[LintFinding]:
    """Check the steps that gate by a configuration.

    Args:
        workflows: the workflow files by their paths; what GitHub could not read either is left out.
        config: the path of the configuration, as the input `config` has it.
    """
    for path, data in workflows.items():
        try:
            document = yamlio.parse(data, path)
        except UsageError:
            continue
        events = fields(document.value).get("on")
        named = map(str, events) if isinstance(events, list | dict) else [str(events)]
        changes = not _OF_CHANGES.isdisjoint(named)
        for at, inputs in _steps(document.value):
            if config not in str(inputs.get("config", _USUAL)).split():
                continue
            for name, message in _refused(settings, inputs, changes=changes):
                yield LintFinding("unfit-workflow", path, document.line((*at, "with", name)), name, message)


def _steps(workflow: Any) -> Iterator[tuple[yamlio.Path, dict[str, Any]]]:
    """Yield the steps that run the action, each with its inputs."""
    for name, job in fields(fields(workflow).get("jobs")).items():
        steps = fields(job).get("steps")
        for number, step in enumerate(steps if isinstance(steps, list) else ()):
            if _ACTION.fullmatch(str(fields(step).get("uses", ""))):
                yield ("jobs", name, "steps", number), fields(fields(step).get("with"))


def _refused(settings: Config, inputs: Mapping[str, Any], *, changes: bool) -> Iterator[tuple[str, str]]:
    """Name the inputs with which the action refuses these settings, each with why."""
    for name in _CONTAINER_ONLY:
        value = str(inputs.get(name) or "")
        # an expression may be empty
        if value and "${{" not in value and settings.api.container is None:
            yield name, f"the workflow gives `{name}`, and the configuration has no `api.container`"
    for backend in ("command", "program"):
        allowed = "allow-command" in inputs or inputs.get("api-url")
        if changes and not allowed and getattr(settings.api, backend) is not None:
            yield "allow-command", f"the action refuses `api.{backend}` on pull requests"
