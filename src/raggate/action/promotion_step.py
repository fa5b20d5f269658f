"""What the step that promotes does for one suite: a run of it, checked -> the file that is proposed as its baseline."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from raggate.action import steps
from raggate.action.promote_inputs import PromoteInputs
from raggate.cli import console
from raggate.config.overrides import Overrides
from raggate.config.schema import Config
from raggate.errors import CannotTell
from raggate.gate import baseline
from raggate.github import earlier_run, eligibility
from raggate.github.earlier_run import Downloaded
from raggate.github.promotion import ProposedFile
from raggate.github.rest import commits
from raggate.github.runner.event import Event
from raggate.github.step_context import Runner, StepState, prefix_of
from raggate.inputs import sources
from raggate.inputs.suite_list import SuiteFile
from raggate.inputs.trusted import Inputs, InputSource, load_trusted
from raggate.models.promotion import BaselineCandidate
from raggate.models.provenance import Evidence
from raggate.models.run import Run
from raggate.pipeline import check as pipeline, run_directory
from raggate.pipeline.trusted_inputs import check_names
from raggate.reports import promotion as report
from raggate.scoring import score
from raggate.text.guarded import Guarded
from raggate.text.quote import cut
from raggate.text.redact import redact


class Prepared(Struct, frozen=True, kw_only=True):
    """The baseline of a suite that passed every check: what it is, what is told of it, and the file."""

    proposal: BaselineCandidate
    context: report.PromotionContext
    file: ProposedFile

    @property
    def suite(self) -> str:
        """The name of the suite."""
        return self.proposal.comparison.scorecard.suite


class PromotionStep(Guarded, Struct, frozen=True, kw_only=True):
    """One step that promotes: what it was asked for, and the branch it goes to at the commit that is at.

    `config` is the configuration in the checkout.
    """

    inputs: Mapping[str, str]
    event: Event
    runner: Runner
    state: StepState
    remote: sources.Remote
    config: Path
    target: str
    head: str

    def check_checkout(self) -> None:
        """Refuse a checkout that is not the head of the branch; raises CannotTell."""
        there = sources.commit_of(self.config.parent, sources.Remote(workspace=self.runner.workspace))
        if there != self.head:
            raise CannotTell(
                f"the checkout is at {cut(there, limit=12)}, and {cut(self.target)} is at {self.head[:12]}: "
                "only the head of the branch is promoted",
                hint="Somebody may have pushed meanwhile. Start the workflow again.",
            )

    def trusted(self) -> AbstractContextManager[Inputs]:
        """Open what the head of the branch holds; the place of its baseline is checked at once."""

        def accept(settings: Config, name: str) -> Config:
            changed = check_names(Overrides(suite=self.inputs["suite"] or None).apply(settings), name)
            commits.check_file(self._baseline_path(changed))
            return changed

        source = InputSource(
            root=self.config.parent,
            config_name=self.config.name,
            against=self.head,
            remote=self.remote,
            folder=posixpath.dirname(self.inputs["config"]),
        )
        return load_trusted(source, accept)

    def prepare(self, asked: PromoteInputs, adopted: Callable[[], Downloaded] | None) -> Prepared:
        """Measure the suite, or take what an earlier run measured of it, and check that it may become the baseline.

        Args:
            adopted: gives what the earlier run left; None to measure now.

        Raises:
            RaggateError: every reason why it may not.
        """
        # opened first, so that what is wrong with them is told before anything is measured
        with self.trusted() as trusted:
            run, evidence = self.measure(trusted) if adopted is None else earlier_run.adopt(adopted(), trusted)
            proposal = eligibility.propose(run, trusted, asked.terms(self.event.triggering_actor))
            context = self.context(trusted, proposal, evidence)
            return Prepared(proposal=proposal, context=context, file=self.file(trusted, proposal))

    def measure(self, trusted: Inputs) -> tuple[Run, Evidence]:
        """Measure the checkout by the files of the head of the branch; give the run as its directory holds it."""
        request = steps.request_of(self.inputs, self.runner, self.state, against=self.head, remote=self.remote)
        result = pipeline.run(request)
        console.show_run(result)
        run = run_directory.read(result.directory)
        eligibility.check_measured(run, trusted, self.head, "this run")
        evidence = Evidence(
            run=self.event.run_id,
            attempt=self.event.attempt,
            event=self.event.name,
            commit=self.head,
            url=self.event.run_url,
            image=eligibility.image_of(run),
        )
        return run, evidence

    def selector(self, asked: PromoteInputs, now: datetime) -> earlier_run.RunSelector:
        """Return the earlier run that is asked for."""
        return earlier_run.RunSelector(
            target=self.target,
            head=self.head,
            run=asked.run or 0,
            attempt=asked.attempt,
            artifact=self.inputs["artifact"],
            workflow=self.inputs["workflow"],
            max_age_days=asked.max_age_days,
            now=now.isoformat(),
        )

    def of_suite(self, suite: SuiteFile) -> PromotionStep:
        """Return the same for one suite of a list."""
        inputs = {**self.inputs, "config": suite.config, "suite": suite.suite}
        return replace(self, inputs=inputs, config=self.runner.workspace / suite.config)

    def context(self, trusted: Inputs, proposal: BaselineCandidate, evidence: Evidence) -> report.PromotionContext:
        """Return what is told beside the values."""
        settings = trusted.config
        links = self.event.links(self.head, prefix=prefix_of(self.config, self.runner.workspace))
        written = baseline.read(proposal.data, "the new baseline", score.directions(settings.score.k))
        return report.PromotionContext(
            target=self.target,
            evidence=evidence,
            links=links,
            hashes={
                "golden set": trusted.golden.hash,
                "vault": trusted.vault.hash,
                "configuration": eligibility.configuration_hash(settings),
            },
            accepted=written.accepted,
            opened=False,
        )

    def file(self, trusted: Inputs, proposal: BaselineCandidate) -> ProposedFile:
        """The file that the baseline is to be, in place of the present one; raises UsageError where it cannot."""
        path = self._baseline_path(trusted.config)
        commits.check_file(path, data := proposal.data)
        present = trusted.baseline.data if trusted.baseline is not None else None
        return ProposedFile(path=path, present=present, data=data)

    def redacted(self, page: str) -> str:
        """Return what people read without the token."""
        return redact(page, (self.inputs["github-token"],))

    def _baseline_path(self, settings: Config) -> str:
        return posixpath.normpath(prefix_of(self.config, self.runner.workspace) + settings.baseline_path)


def signed(context: report.PromotionContext, commit: commits.Committed | None) -> report.PromotionContext:
    """Tell in a promotion's page whether its commit is signed."""
    unsigned = "" if commit is None or commit.verified else commit.reason
    return replace(context, unsigned=unsigned)
