"""The kind of value that a command line takes for a run directory: a path, `latest`, or the beginning of a name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

USUAL_OUT = Path(".raggate/runs")
"""Where run directories lie if no configuration says otherwise."""


def out_of(config_file: Path) -> Path:
    """Return where run directories of a configuration lie; the usual place where it cannot be read."""
    from raggate.config import schema
    from raggate.errors import RaggateError
    from raggate.text.files import read_file

    try:
        return config_file.parent / schema.load(read_file(config_file), str(config_file)).out
    except RaggateError:
        return config_file.parent / USUAL_OUT


class RunName(click.ParamType[Path]):
    """A run directory, by a path or by what stands for one of those of the configuration that is named beside it.

    Options that name the configuration have to be eager, so that they are read before.
    """

    name = "run"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path; a name that stands for no run, or for several, is a usage error."""
        from raggate.pipeline.stored_runs import LATEST, named

        path = Path(value)
        if str(value) != LATEST and (path.exists() or path.name != str(value)):
            return path

        given = ctx.params if ctx is not None else {}
        configs = [given.get(name) for name in ("config_file", "policy_file")]
        configs += map(Path, given.get("config_files") or ())
        # an option that was not given may hold a stand-in by now
        config_file = next((path for path in configs if isinstance(path, Path)), Path("raggate.yml"))
        return named(str(value), out_of(config_file))


RUN = RunName()
