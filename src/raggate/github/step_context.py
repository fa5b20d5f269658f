"""The runner's side of a step: its files and workspace, and what is known of the step so far."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from raggate.errors import ExitCode, RaggateError, UsageError
from raggate.github.runner.results import name_of
from raggate.inputs import git, sources
from raggate.models.publication import Ended
from raggate.models.verdict import Review
from raggate.text.escape import log_line

if TYPE_CHECKING:
    from raggate.github.publish import Surface, Told


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """What the runner hands to a step: the workspace, and its files for outputs, state and summary."""

    workspace: Path
    output: Path
    state: Path
    summary: Path

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Self:
        """Read the runner's variables.

        Raises:
            UsageError: for one that is not set, or a workspace that is no directory.
        """
        names = {
            "workspace": "GITHUB_WORKSPACE",
            "output": "GITHUB_OUTPUT",
            "state": "GITHUB_STATE",
            "summary": "GITHUB_STEP_SUMMARY",
        }
        missing = [name for name in names.values() if not environment.get(name)]
        if missing:
            raise UsageError(
                f"{', '.join(missing)}: not set, so this is not a step of a workflow",
                hint="Outside GitHub Actions use `raggate check`.",
            )
        found = cls(**{key: Path(environment[name]) for key, name in names.items()})
        if not found.workspace.is_dir():
            raise UsageError(f"GITHUB_WORKSPACE: {log_line(str(found.workspace))!r} is not a directory")
        return found


def prefix_of(config: Path, workspace: Path) -> str:
    """Give the directory of a file relative to the top of its checkout: nothing, or a path that ends in `/`.

    Raises:
        UsageError: when a link leads there: the change could lead it to other files of the base commit.
    """
    folder = Path(os.path.normpath(workspace / config)).parent
    return sources.prefix_of(folder, git.find(folder, workspace), workspace)


@dataclass(slots=True, kw_only=True)
class Record:
    """What is known of a step so far.

    Attributes:
        suite: as the configuration names it, once that is read.
        directory: the run directory, once there is one.
        review: the review, once there is a verdict.
        error: what ended the run without one.
        fail_on: how red the step may get.
        outputs: more outputs than the run directory tells.
        surface: where on GitHub it is told, once the event is known.
        summary: the step summary, where it is not of a run directory.
    """

    suite: str = ""
    directory: Path | None = None
    review: Review | None = None
    error: RaggateError | None = None
    fail_on: str = "regression"
    outputs: dict[str, str] = field(default_factory=dict)
    surface: Surface | None = None
    summary: str = ""

    def told(self, code: int) -> Told:
        """Give what is to be told of a step that ends with this exit code."""
        from raggate.github.publish import Told

        waived = self.fail_on != "regression" and self.review is not None and code != ExitCode.PASS
        notes = (f"fail-on: {self.fail_on} may keep the step itself green.",) if waived else ()
        if self.review is not None and self.review.verdict.exit_code == code:
            return Told(code=code, review=self.review, notes=notes)
        error = self.error
        ended = Ended(
            label=error.label if error else name_of(code),
            exit_code=code,
            lines=error.lines if error else (_UNSAID.get(code, "The log of the step says more."),),
            hint=error.hint if error else "",
            log=error.log if error else (),
            suite=self.suite,
            waivers=error.waivers if error else (),
        )
        return Told(code=code, ended=ended, notes=notes)


_UNSAID = {
    int(ExitCode.INTERRUPTED): "The step was cancelled before there was a verdict.",
    int(ExitCode.INTERNAL): "raggate itself failed, which is a bug. The log of the step has the details.",
}
