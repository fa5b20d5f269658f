"""A workflow run that has ended -> the run directories that it has left, of one suite or of several."""

from __future__ import annotations

from collections.abc import Mapping

from raggate.errors import CannotTell, ExitCode, RaggateError
from raggate.github.rest import artifacts
from raggate.github.rest.artifacts import Artifact
from raggate.github.rest.repository import Repository
from raggate.github.runner import artifact_upload
from raggate.github.runner.event import SourceRun
from raggate.github.untrusted_run import UntrustedRuns
from raggate.text.quote import cut, quoted


def artifact_of(repository: Repository, run: SourceRun, name: str) -> Artifact:
    """Find the artifact of a name that a run has left.

    Raises:
        CannotTell: when there is none.
        GitHubError: when GitHub cannot be asked.
    """
    artifact = artifacts.find(repository, run.id, name, since=run.run_started_at)
    if artifact is None:
        raise CannotTell(
            f"the run ended ({cut(run.conclusion or 'without a conclusion')}) and left no artifact "
            f"{quoted(name)}, so there is nothing to judge",
            hint="The log of the run says why.",
        )
    return artifact


class LeftRuns:
    """The run directories of several suites: in one artifact, or in one for each where the gate has left them itself.

    Args:
        repository: where the workflow ran.
        run: the run.
        name: of the artifact.
        server_url: where people see the repository, which says who leaves artifacts there.
    """

    def __init__(self, repository: Repository, run: SourceRun, name: str, server_url: str) -> None:
        self._repository = repository
        self._run = run
        self._name = name
        self._each = artifact_upload.is_needed(server_url)
        self._runs: UntrustedRuns | None = None
        self._artifacts: dict[str, Artifact | None] = {}
        self._why: RaggateError | None = None
        try:
            self._runs = UntrustedRuns(artifacts.download_runs(repository, artifact_of(repository, run, name)))
        except RaggateError as error:
            if error.exit_code == ExitCode.INTERRUPTED:
                raise
            self._why = error

    def __contains__(self, suite: str) -> bool:
        if self._runs is not None:
            return suite in self._runs
        try:
            return self._own(suite) is not None
        except RaggateError:
            # whoever takes it is told
            return True

    def of_suite(self, suite: str) -> Mapping[str, bytes]:
        """Give the files of the one run of a suite, by the name that the trusted configuration gives it.

        Raises:
            RaggateError: why there is none.
        """
        if self._runs is not None:
            return self._runs.of_suite(suite)
        own = self._own(suite)
        if own is not None:
            return artifacts.download(self._repository, own)
        assert self._why is not None  # noqa: S101 - one of both is there
        raise self._why

    def _own(self, suite: str) -> Artifact | None:
        if not self._each:
            return None
        # whether there is one is asked before it is taken, and a server answers few requests an hour
        if suite not in self._artifacts:
            name = artifact_upload.name_of(self._name, suite)
            self._artifacts[suite] = artifacts.find(
                self._repository, self._run.id, name, since=self._run.run_started_at
            )
        return self._artifacts[suite]
