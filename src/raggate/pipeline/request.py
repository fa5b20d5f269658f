"""What a front end asks for, beside the configuration: cli or action -> Request -> pipeline."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from msgspec import Struct

from raggate.base.errors import RaggateError
from raggate.base.files import RUNS, below
from raggate.base.redact import Guarded
from raggate.config.overrides import Overrides
from raggate.inputs.sources import Remote
from raggate.models.golden import EVERYTHING, Choice, Selection, naming
from raggate.models.publication import RunFailure
from raggate.models.run import Run
from raggate.models.verdict import Review
from raggate.models.waiver import WaiverStatus
from raggate.reports.progress import Progress

USUAL = "raggate.yml"
"""The configuration that is read where no other is named."""

AS_CONFIGURED = Overrides()

_JOBS = ("CI", "JENKINS_URL", "TF_BUILD")
"""Variables that CI systems set in every job, also of a branch that a pull request may be opened for later: most, old
Jenkins and Azure."""

_CHANGES = ("CI_MERGE_REQUEST_IID", "CHANGE_ID", "BITBUCKET_PR_ID", "SYSTEM_PULLREQUEST_PULLREQUESTID")
"""Variables that CI systems set where they run for a change: GitLab, Jenkins, Bitbucket, Azure."""


def unheard(_: object) -> None:
    """Hear nothing."""


class Voice(Struct, frozen=True, kw_only=True):
    """How a front end hears what is done: in lines, by a display of the questions, and of a run directory at once."""

    say: Callable[[str], None]
    progress: Callable[[], AbstractContextManager[Progress]] = Progress
    created: Callable[[Path], None] = unheard


class Request(Guarded, Struct, frozen=True, kw_only=True):
    """What a front end asks for, beside the configuration.

    Attributes:
        config_file: the configuration, as it was named; relative to the working directory, or absolute.
        environment: raggate's own environment. A backend hands on the variables that its settings name.
        voice: how the front end hears what is done.
        overrides: what counts instead of the configuration, and what it is refused for.
        against: revision that the trusted inputs are read from; None for the working tree.
        out: where run directories go, in place of `.raggate/runs`.
        baseline_file: a baseline file on disk, in place of the suite's.
        full_text: keep whole chunk texts on disk.
        remote: opens a revision that the local repository does not have; None outside the action.
        first_run: what the first run takes from the change's own configuration, if a revision without a configuration
            means one; None if that is an error.
        broken: the questions that `--failed` stands for; None for those that the stored runs name.
        resume: the directory of a run or shard that was killed and goes on, or its name.
        head: the full id of the commit under test; None for the checkout's.
        matched: whether a pattern names the configuration: without the file there is no such suite.
        reports: reports that also go into files, as `FORMAT=FILE`.
        retriever: a function or retriever of this process, asked in place of the configured program.
    """

    config_file: Path
    environment: Mapping[str, str]
    voice: Voice
    overrides: Overrides = AS_CONFIGURED
    against: str | None = None
    out: Path | None = None
    baseline_file: Path | None = None
    full_text: bool = False
    remote: Remote | None = None
    first_run: frozenset[str] | None = None
    choice: Choice = EVERYTHING
    broken: frozenset[str] | None = None
    resume: Path | None = None
    head: str | None = None
    matched: bool = False
    reports: tuple[str, ...] = ()
    retriever: object | None = None

    def say(self, line: str) -> None:
        """Report progress to the front end, in one harmless line."""
        self.voice.say(line)

    @property
    def action(self) -> bool:
        """Whether raggate was started as the container action."""
        return self.remote is not None

    @property
    def root(self) -> Path:
        """The absolute directory of the configuration file."""
        if self.against is None:
            return Path(os.path.realpath(self.config_file)).parent
        # a revision knows files by their paths; a link could lead from one to another
        return Path(os.path.normpath(Path.cwd() / self.config_file)).parent

    @property
    def in_job(self) -> bool:
        """Whether a CI system runs this: then nobody edits files, and only what is committed is merged."""
        job = any(self.environment.get(name, "").lower() not in {"", "0", "false"} for name in _JOBS)
        return job or self.remote is not None or _judges_change(self.environment)

    def runs(self) -> Path:
        """Return the directory of all runs: `out`, or the usual one."""
        return self.out or self.root / RUNS

    @property
    def config_name(self) -> str:
        """The name of the configuration file in its directory."""
        return self.config_file.name

    @property
    def folder(self) -> str:
        """What errors call the directory of the configuration: its path from where people are, or as it was named."""
        parent, here = self.config_file.parent, Path.cwd()
        return (parent.relative_to(here) if parent.is_relative_to(here) else parent).as_posix()

    @property
    def config_place(self) -> str:
        """What errors call the configuration; see `folder`."""
        return self.place(self.config_name)

    def place(self, path: str) -> str:
        """Name for errors what the configuration names, from where people are."""
        return below(self.folder, path)

    @property
    def reproduce(self) -> str:
        """The command line that does the same, for reports."""
        return command_line("check", str(self.config_file), self._flags)

    @property
    def _flags(self) -> dict[str, object]:
        given = self.overrides
        flags = {"api-image": given.api_image, "api-build": given.api_build}
        flags |= {"api-url": given.api_url, "base-image": given.base_image, "against": self.against}
        return {**flags, "baseline": self.baseline_file}

    def reproducing(self, selection: Selection | None) -> str:
        """The command line that asks the same questions; by id where which they are depends on earlier runs."""
        return " ".join([self.reproduce, *self._choosing(selection)])

    def _choosing(self, selection: Selection | None) -> list[str]:
        if selection is None:
            return []
        return [(naming(selection.asked) or selection.words) if self.choice.failed else selection.words]

    def resuming(self, command: str, directory: Path, selection: Selection | None = None, **more: object) -> str:
        """The command line by which a run that ends too early goes on; `more` are further flags, without dashes."""
        flags = {**self._flags, **more, "out": self.out, "resume": os.path.relpath(directory)}
        words = [command_line(command, str(self.config_file), flags)]
        words += ["--store-full-text"] if self.full_text else []
        reports = (f"--report {shlex.quote(report)}" for report in self.reports)
        return " ".join([*words, *reports, *self._choosing(selection)])

    def diffing(self, base: str, head: str) -> str:
        """The command line that holds two builds against each other in the same way."""
        sides = [shlex.quote(side) for side in (base, head)]
        words = [self.choice.words] if self.choice.words else []
        return " ".join([command_line("diff", str(self.config_file), {}), *words, *sides])

    def promoting(self, directory: str) -> str:
        """The command line that makes a run directory the baseline of the same suite, in the same place."""
        return command_line(
            f"promote {shlex.quote(directory)}", str(self.config_file), {"baseline": self.baseline_file}
        )


def _judges_change(environment: Mapping[str, str]) -> bool:
    event = environment.get("GITHUB_EVENT_NAME", "")
    number = environment.get("BUILDKITE_PULL_REQUEST", "false")
    return (
        event.startswith(("pull_request", "issue_comment", "merge_group"))
        or number not in {"", "false"}
        or any(environment.get(name) for name in _CHANGES)
    )


def command_line(command: str, config: str, flags: Mapping[str, object]) -> str:
    """Write a command of raggate as it is typed, with those of the flags that have a value."""
    given = {"config": None if config == USUAL else config, **flags}
    words = [word for name, value in given.items() if value for word in (f"--{name}", str(value))]
    return " ".join(["raggate", command, *map(shlex.quote, words)])


class CheckResult(Struct, frozen=True, kw_only=True):
    """A verdict, and the run directory that holds it and what it rests on."""

    review: Review
    directory: Path


class RunResult(Struct, frozen=True, kw_only=True):
    """A measured run, and its run directory. It may have broken off; `run.stopped` says why."""

    run: Run
    directory: Path


class RunFailed(RaggateError):
    """A request that ended without a verdict: any other error of raggate, with what was known by then.

    Attributes:
        failure: the reason as reports tell it, with the suite, once known, and the waivers, once a run has begun.
        directory: the run directory, which holds the reason too; None when none was made.
    """

    def __init__(
        self, error: RaggateError, *, suite: str, waivers: tuple[WaiverStatus, ...] = (), directory: Path | None = None
    ) -> None:
        super().__init__(error.lines, hint=error.hint, log=error.log)
        self.exit_code = error.exit_code
        self.label = error.label
        self.failure = RunFailure.of(error, suite, waivers, run_id=directory.name if directory else "")
        self.directory = directory
