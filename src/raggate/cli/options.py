"""The options that several commands have, what their values may be, and the request that a command makes of them."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from raggate.base.files import RUNS
from raggate.frontends import console, output

if TYPE_CHECKING:
    from raggate.pipeline.request import Request

PATH = click.Path(path_type=Path)
DIRECTORY = click.Path(path_type=Path, file_okay=False)
FORMAT_NAMES = ("junit", "sarif", "markdown", "json")
"""Of `raggate.reports.FORMATS`, which is not loaded for the names alone; a test compares them."""
_CONFIG = Path("raggate.yml")
_CHOICE = ("matching", "cases", "slices", "failed", "limit")
_OVERRIDES = ("api_image", "api_build", "api_url", "base_image")
ASKED, JUDGED, WRITTEN = "What is asked", "What it is judged by", "Where it goes"
"""Sections of options in a help."""

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
Decorator = Callable[[FunctionT], FunctionT]


class FiniteRange(click.FloatRange):
    """A range of numbers that also refuses `nan` and the infinities.

    Every comparison with `nan` is false, so that click's own range lets it pass, and a limit of it would limit nothing.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; click ends with exit code 2 when it is none, not finite or out of the range."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


class RunName(click.ParamType[Path]):
    """A run directory: a path, `latest`, or the beginning of a name among the runs of the configuration.

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
        config_file = next((path for path in configs if isinstance(path, Path)), _CONFIG)
        return named(str(value), runs_of(config_file))


RUN = RunName()


def runs_of(config_file: Path) -> Path:
    """Return where run directories of a configuration lie."""
    return config_file.parent / RUNS


class _Option(click.Option):
    def __init__(self, *args: Any, section: str = "Options", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


class Command(click.Command):
    """A command whose help shows its options by section."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each section, in the order in which its first option stands."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                sections.setdefault(getattr(parameter, "section", "Options"), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def option(section: str, *names: str, **kwargs: Any) -> Decorator[Any]:
    """Make an option of a section."""
    return click.option(*names, cls=_Option, section=section, **kwargs)


def choice(flag: str, *values: str, help: str, name: str = "", default: str = "") -> Decorator[Any]:  # noqa: A002
    """Make an option of a few values. The first is the default unless named, `name` is the parameter's."""
    names, usual = (flag, name) if name else (flag,), default or values[0]
    return click.option(*names, type=click.Choice(values), default=usual, show_default=True, help=help)


def config(help: str = "The configuration file.") -> Decorator[Any]:  # noqa: A002
    """Make the option that names the configuration; its parameter is `config_file`."""
    # eager, for what a run is named by depends on it: see RunName
    return option(
        ASKED, "--config", "-c", "config_file", type=PATH, default=_CONFIG, show_default=True, help=help, is_eager=True
    )


def _together(*options: Decorator[Any]) -> Decorator[Any]:
    def apply(function: Any) -> Any:
        for one in reversed(options):
            function = one(function)
        return function

    return apply


CONFIGS = option(
    ASKED,
    "--config",
    "-c",
    "config_files",
    multiple=True,
    default=(str(_CONFIG),),
    show_default=True,
    help="The configuration file. Repeatable, `*` stands for any text: each suite gets its own verdict.",
    is_eager=True,
)
API_URL = option(ASKED, "--api-url", metavar="URL", help="Ask the API that is already running at this address.")
API = _together(
    option(ASKED, "--api-image", metavar="IMAGE", help="Ask this container image of the API."),
    option(ASKED, "--api-build", metavar="DIR", help="Build the API from this directory and ask it."),
    API_URL,
)
CHOICE = _together(
    option(
        ASKED,
        "-k",
        "matching",
        metavar="EXPR",
        help="Ask what fits by id, text, tag or category: 'a and not (b or c)'.",
    ),
    option(ASKED, "--case", "cases", metavar="ID", multiple=True, help="Ask only this question. Repeatable."),
    option(
        ASKED, "--slice", "slices", metavar="NAME=VALUE", multiple=True, help="Ask only this slice: tag=x. Repeatable."
    ),
    option(ASKED, "--failed", is_flag=True, help="Ask only the questions that were broken last time."),
    option(ASKED, "--limit", type=click.IntRange(1), help="Ask at most so many questions, in golden-set order."),
)
RESUME = option(ASKED, "--resume", type=PATH, metavar="DIR", help="Continue a killed run: its directory, or name.")
AGAINST = option(
    JUDGED, "--against", metavar="REF", help="Read settings, questions, notes and baseline from this git revision."
)
BASELINE = option(
    JUDGED, "--baseline", "baseline_file", type=PATH, help="Use this baseline file, with --against of that revision."
)
OUT = option(WRITTEN, "--out", type=PATH, help="Write run directories here.")
FULL_TEXT = option(
    WRITTEN, "--store-full-text", "full_text", is_flag=True, help="Keep whole passage texts in the run directory."
)
REPORTS = option(
    WRITTEN, "--report", "reports", metavar="FORMAT=FILE", multiple=True, help=f"Also write {', '.join(FORMAT_NAMES)}."
)


def request_of(config_file: Path, **flags: Any) -> Request:
    """Make the request of a command of the options above."""
    from raggate.config.overrides import Overrides
    from raggate.models.golden import Choice
    from raggate.pipeline.request import Request, Voice
    from raggate.reports.progress import Progress

    chosen = {name: flags.pop(name) for name in _CHOICE if name in flags}
    instead = {name: flags.pop(name) for name in _OVERRIDES if name in flags}
    return Request(
        config_file=config_file,
        environment=click.get_current_context().obj,
        overrides=Overrides(**instead),
        choice=Choice(**chosen),
        voice=Voice(say=console.say, progress=(lambda: Progress(io.StringIO())) if output.quiet() else Progress),
        **flags,
    )
