"""The step that promotes: a run of the default branch's head, or an earlier one -> a pull request with the baseline."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from raggate.action import steps
from raggate.action.promote_inputs import Asked
from raggate.cli import main
from raggate.cli.hooks import Caller
from raggate.config.overrides import Overrides
from raggate.config.schema import Config
from raggate.errors import CannotTell, ExitCode, RaggateError, UsageError
from raggate.gate import baseline
from raggate.github import earlier_run, eligibility, promotion
from raggate.github.promotion import Change, Proposed
from raggate.github.rest import commits
from raggate.github.rest.client import GitHub
from raggate.github.rest.git_objects import Objects
from raggate.github.runner import event, secrets
from raggate.github.step_context import Record, Runner, prefix_of
from raggate.inputs import sources
from raggate.inputs.trusted import ConfigHooks, Inputs, InputSource, load_trusted
from raggate.interop.systems import SYSTEMS
from raggate.models.promotion import Proposal
from raggate.models.provenance import Evidence
from raggate.models.publication import Links
from raggate.models.run import Run
from raggate.pipeline import check as pipeline
from raggate.pipeline import run_directory
from raggate.reports import promotion as report
from raggate.reports.markup import link
from raggate.scoring import score
from raggate.text.escape import log_line, plain

STARTED_BY = frozenset(("workflow_dispatch", "schedule", "push"))
"""Events that may promote. None of them runs code that has not been merged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a promotion goes: the configuration in the checkout, and the branch at the commit it is at."""

    workspace: Path
    config: Path
    prefix: str
    target: str
    head: str

    def path(self, settings: Config) -> str:
        """Give the path of the baseline in the repository."""
        return posixpath.normpath(self.prefix + settings.baseline_path)


def promote_baseline(
    inputs: Mapping[str, str],
    happened: event.Event,
    github: GitHub | None,
    runner: Runner,
    record: Record,
    *,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> int:
    """Propose a new baseline, or with `dry-run` show what it would be. Returns the exit code of the step.

    Args:
        inputs: the action's inputs.
        happened: what started the run.
        github: the API.
        runner: the runner's side.
        record: is told the suite, the run directory, outputs and step summary.
        now: the time.

    Raises:
        RaggateError: for inputs that cannot be used, and every reason not to promote.
    """
    record.fail_on = "regression"  # a promotion has nothing that may be waved through
    asked = Asked.of(inputs)
    if github is None:
        raise UsageError("the input github-token is empty, and `command: promote` needs it")
    place = _place(inputs, happened, github, runner)
    if asked.run is None:
        _check_checkout(place)
    # opened first, so that what is wrong with them is told before anything is measured
    with load_trusted(_where(github, happened, place), _checks(inputs, record, place)) as trusted:
        run: Run | None = None
        if asked.run is None:
            code = _measure(inputs, happened, github, place, runner, record)
            if code != ExitCode.PASS or record.directory is None:
                return code or int(ExitCode.INTERNAL)
            run = run_directory.read(record.directory)
        run, evidence = _vouched(run, trusted, github, _wanted(asked, inputs, happened, place, now()), happened, place)
        proposal = eligibility.propose(run, trusted, asked.terms(happened.triggering_actor), SYSTEMS)
        told = _circumstances(happened, place, trusted, proposal, evidence)
        change = _change(inputs, happened, place, trusted, proposal, told)
    if asked.dry_run:
        record.summary = f"> [!NOTE]\n> A dry run: nothing was written.\n\n{_page(inputs, proposal, told)}"
        return int(ExitCode.PASS)
    done = (promotion.commit_directly if asked.direct else promotion.propose)(github, happened.repository, change)
    _tell(done, change, record, told.links)
    record.summary += _page(inputs, proposal, _signed(told, done.commit))
    return int(ExitCode.PASS)


def _place(inputs: Mapping[str, str], happened: event.Event, github: GitHub, runner: Runner) -> Place:
    """Find the branch and the commit it is at, on which alone a baseline is promoted.

    Raises:
        UsageError: for an event or a branch that must not promote, or a configuration outside the workspace.
        CannotTell: for a branch that is not there.
    """
    if happened.name not in STARTED_BY:
        raise UsageError(
            f"a baseline is not promoted on the event {happened.name}: it could be code that nobody has merged",
            hint="Use `on: workflow_dispatch`; docs/promotion.md has the whole workflow.",
        )
    target = happened.default_branch or commits.default_branch(github, happened.repository)
    if happened.head_ref != target:
        raise UsageError(
            f"this workflow was started on {plain(happened.head_ref)!r}; "
            f"a baseline is promoted on {plain(target)!r} only",
            hint=f"Choose the branch {plain(target)} where the workflow is started.",
        )
    config = runner.workspace / inputs["config"]
    if not config.resolve().is_relative_to(runner.workspace.resolve()):
        raise UsageError(f"input 'config': {log_line(inputs['config'])!r} lies outside the workspace")
    head = commits.head_of(github, happened.repository, target)
    if head is None:
        raise CannotTell(f"there is no branch {plain(target)!r} in {happened.repository}")
    return Place(
        workspace=runner.workspace, config=config, prefix=prefix_of(config, runner.workspace), target=target, head=head
    )


def _check_checkout(place: Place) -> None:
    """See that the checkout is the head of the branch.

    Raises:
        CannotTell: naming both.
    """
    there = sources.head(place.config.parent, sources.Remote(workspace=place.workspace)).commit
    if there != place.head:
        raise CannotTell(
            f"the checkout is at {plain(str(there), limit=12)}, and {plain(place.target)} is at {place.head[:12]}: "
            "only the head of the branch is promoted",
            hint="Somebody may have pushed meanwhile. Start the workflow again.",
        )


def _measure(
    inputs: Mapping[str, str],
    happened: event.Event,
    github: GitHub,
    place: Place,
    runner: Runner,
    record: Record,
) -> int:
    """Measure the checkout by the files of the head of the branch."""

    def created(directory: Path) -> None:
        record.directory = directory
        steps.announce(runner, directory)

    def configured(suite: str) -> None:
        record.suite = suite

    def failed(error: RaggateError) -> None:
        record.error = error

    flags = ("config", "suite", "api-image", "api-build", "api-url", "against", "out")
    given = {**inputs, "against": place.head}
    words = ["run", *(f"--{name}={given[name]}" for name in flags if given[name])]
    remote = _remote(github, happened, place)
    return main.run_command(
        words,
        Caller(created=created, configured=configured, failed=failed, remote=remote, action=True, fence=steps.fence),
    )


def _remote(github: GitHub, happened: event.Event, place: Place) -> sources.Remote:
    return sources.Remote(workspace=place.workspace, objects=Objects(github, happened.repository))


def _where(github: GitHub, happened: event.Event, place: Place) -> InputSource:
    return InputSource(
        root=place.config.parent,
        config_name=place.config.name,
        against=place.head,
        remote=_remote(github, happened, place),
    )


def _checks(inputs: Mapping[str, str], record: Record, place: Place) -> ConfigHooks:
    def adjust(settings: Config) -> Config:
        changed = Overrides(suite=inputs["suite"] or None).apply(settings)
        record.suite = changed.suite
        return changed

    def check(settings: Config, name: str) -> None:
        pipeline.check_names(settings, name)
        commits.check_file(place.path(settings))

    return ConfigHooks(adjust=adjust, check=check)


def _vouched(
    run: Run | None, trusted: Inputs, github: GitHub, wanted: earlier_run.Wanted, happened: event.Event, place: Place
) -> tuple[Run, Evidence]:
    """Give the run that was measured here, or the one that is wanted, verified either way."""
    if run is None:
        adopted = earlier_run.adopt(github, wanted, trusted)
        return adopted.run, adopted.evidence
    eligibility.check_measured(run, trusted, place.head, "this run")
    return run, _measured_here(happened, run, place)


def _wanted(
    asked: Asked, inputs: Mapping[str, str], happened: event.Event, place: Place, now: datetime
) -> earlier_run.Wanted:
    return earlier_run.Wanted(
        repository=happened.repository,
        target=place.target,
        head=place.head,
        run=asked.run or 0,
        attempt=asked.attempt,
        artifact=inputs["artifact"],
        workflow=inputs["workflow"],
        max_age_days=asked.max_age_days,
        now=now.isoformat(),
    )


def _measured_here(happened: event.Event, run: Run, place: Place) -> Evidence:
    return Evidence(
        run=happened.run_id,
        attempt=happened.attempt,
        event=happened.name,
        commit=place.head,
        url=happened.run_url,
        image=eligibility.image_of(run),
    )


def _circumstances(
    happened: event.Event, place: Place, trusted: Inputs, proposal: Proposal, evidence: Evidence
) -> report.Circumstances:
    settings = trusted.config
    links = Links(
        server=happened.server_url,
        repository=happened.repository,
        commit=place.head,
        head=place.head,
        prefix=place.prefix,
        run=happened.run_url,
    )
    written = baseline.read(proposal.data, "the new baseline", score.directions(settings.score.k))
    return report.Circumstances(
        target=place.target,
        evidence=evidence,
        links=links,
        hashes={
            "golden set": trusted.golden.hash,
            "vault": trusted.vault.hash,
            "configuration": eligibility.configuration_hash(settings),
        },
        accepted=written.accepted,
    )


def _change(
    inputs: Mapping[str, str],
    happened: event.Event,
    place: Place,
    trusted: Inputs,
    proposal: Proposal,
    told: report.Circumstances,
) -> Change:
    path = place.path(trusted.config)
    commits.check_file(path, proposal.data)
    known, evidence = proposal.provenance, told.evidence
    lines = [
        f"Reason: {known.get('reason')}",
        f"Promoted by: {known.get('promoted_by')}",
        f"Measured at: {evidence.commit}",
        f"Measured by: workflow run {evidence.run}, attempt {evidence.attempt} ({evidence.event})",
    ]

    def body(commit: commits.Committed) -> str:
        shown = replace(_signed(told, commit), opened=True)
        return secrets.redact(report.render(proposal, shown), (inputs["github-token"],))

    return Change(
        suite=trusted.config.suite,
        target=place.target,
        head=place.head,
        path=path,
        present=trusted.baseline.data if trusted.baseline is not None else None,
        data=proposal.data,
        title=_inert(report.title(proposal)),
        message="\n".join(_inert(line) for line in lines),
        body=body,
        order=(happened.run_id, happened.attempt),
    )


def _signed(told: report.Circumstances, commit: commits.Committed | None) -> report.Circumstances:
    unsigned = "" if commit is None or commit.verified else commit.reason
    return replace(told, unsigned=unsigned, opened=False)


def _page(inputs: Mapping[str, str], proposal: Proposal, told: report.Circumstances) -> str:
    return secrets.redact(report.render(proposal, replace(told, opened=False)), (inputs["github-token"],))


def _tell(done: Proposed, change: Change, record: Record, links: Links) -> None:
    """Put into outputs, log and summary what became of it."""
    commit = done.commit
    record.outputs |= {
        "pull-request-url": done.url,
        "commit": commit.sha if commit is not None else "",
        "verified": str(commit.verified).lower() if commit is not None else "",
    }
    said = {
        "created": "A pull request proposes the baseline",
        "updated": "The open pull request proposes this baseline now",
        "unchanged": "The open pull request proposes this baseline already",
        "committed": f"The baseline was committed onto {plain(change.target)}",
        "nothing": f"The baseline on {plain(change.target)} is this one already: nothing was written",
    }[done.state]
    for line in (f"{said}{': ' + done.url if done.url else ''}", *done.notes):
        steps.say(line)
    if commit is not None and not commit.verified:
        steps.warn("the commit is not verified", f"GitHub did not sign {commit.sha[:12]}: {commit.reason}")
    lines = [link(said, done.url, links) + ".", *(plain(note, limit=500) for note in done.notes)]
    record.summary = "> [!NOTE]\n" + "<br>\n".join(f"> {line}" for line in lines) + "\n\n"


def _inert(text: str) -> str:
    """Make one line of a title or a commit message that mentions nobody and closes no issue."""
    return re.sub(r"[@#]|:(?=//)|\bGH-(?=\d)", "\\g<0>\u2060", plain(text, limit=600), flags=re.IGNORECASE)
