"""Several suites of one step -> GitHub: a check run for each, and one comment, one summary and annotations for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from raggate.errors import RaggateError
from raggate.github import pull_comment
from raggate.github.publish import GitHubReporter, Settings, StepOutcome, could_not, log_commands
from raggate.github.rest.repository import Repository
from raggate.github.runner.event import Event
from raggate.models.publication import Links, Publication, Push, RunFailure
from raggate.models.suites import SuiteOutcome, ranked
from raggate.reports import comment, suites as pages
from raggate.reports.annotations import Annotation
from raggate.text.redact import redact


class SuitesReporter:
    """Shows several suites of a step on GitHub. Failing to show something is said and nothing more.

    Args:
        event: what started the run.
        repository: where it is shown; None without a token.
        settings: what the workflow asks for, for all of them.
        name: what tells the step from the others that comment on the pull request.
        notes: trusted sentences that belong under the verdict.
        say: takes a line about what could not be shown.

    `outcomes` holds how the suites ended, once they have, and `failed` tells whether the comment could not be written.
    """

    def __init__(
        self,
        event: Event,
        repository: Repository | None,
        settings: Settings,
        *,
        name: str,
        notes: Sequence[str],
        say: Callable[[str], None],
    ) -> None:
        self.event = event
        self.repository = repository
        self.settings = settings
        # no suite is called so
        self._key = f"suites:{name}"
        self._notes = tuple(notes)
        self._reporters: dict[str, GitHubReporter] = {}
        self._say = say
        self._warnings = 0
        self.outcomes: tuple[SuiteOutcome, ...] = ()
        self.failed = False

    def of_suite(self, suite: str, check_run: str, prefix: str) -> GitHubReporter:
        """Give what shows one suite alone: its check run and its issue, and no comment.

        Args:
            suite: its name.
            check_run: the name of its check run; empty for none.
            prefix: the directory of its configuration in the repository, empty or `folder/`.
        """
        own = replace(self.settings, comment="never", check_run=check_run, prefix=prefix)
        reporter = self._reporters[suite] = GitHubReporter(self.event, self.repository, own, self.warn)
        return reporter

    def finish(self, outcomes: Sequence[SuiteOutcome], failure: RunFailure | None, code_name: str) -> str:
        """Comment on the pull request. Returns the address; empty where there is no comment.

        Args:
            outcomes: how each suite ended.
            failure: why no suite was judged; None where at least one was.
            code_name: the verdict of the step.
        """
        self.outcomes = tuple(outcomes)
        if self.repository is None or not self.settings.comments_on(self.event):
            return ""
        try:
            return self._comment(self.repository, failure, code_name) or ""
        except (RaggateError, ValueError) as error:
            self.failed = True
            self.warn(could_not("comment on the pull request", error))
            return ""

    def summary(self, *, limit: int) -> str:
        """Render the step summary, in at most `limit` bytes of UTF-8."""
        return self._clean(pages.render_summary(self.outcomes, self._publication(), self._links_of, limit=limit))

    def annotate(self, *, lenient: bool) -> list[str]:
        """Give the log commands for the annotations of the step, those of the worst suite first."""
        notes: list[Annotation] = []
        for outcome in ranked(self.outcomes):
            if outcome.review is not None and outcome.suite in self._reporters:
                notes += self._reporters[outcome.suite].annotations(of_step(outcome))
        return log_commands(notes, lenient=lenient, warnings=self._warnings)

    def warn(self, text: str) -> None:
        """Say what could not be shown, and count it: the runner shows few warnings."""
        self._warnings += 1
        self._say(text)

    def _comment(self, repository: Repository, failure: RunFailure | None, code_name: str) -> str | None:
        publication = self._publication()

        def render(pushes: Sequence[Push]) -> str:
            current = replace(publication, pushes=tuple(pushes))
            if failure is not None:
                return self._clean(comment.render_failure(failure, current))
            return self._clean(pages.render(self.outcomes, current, self._links_of))

        def alert(url: str, rerun: bool) -> str:  # noqa: FBT001 - as it is called
            if failure is not None:
                return self._clean(comment.render_failure_alert(failure, publication, sticky=url, rerun=rerun))
            return self._clean(pages.render_alert(self.outcomes, publication, sticky=url, rerun=rerun))

        notable = failure is not None or any(
            of_step(outcome).notable for outcome in self.outcomes if not outcome.not_run
        )
        words = pull_comment.Words(
            key=self._key,
            verdict=code_name,
            notable=notable,
            render=render,
            alert=alert,
            moved=frozenset(outcome.suite for outcome in self.outcomes if _named_by_the_base(outcome)),
            outdated=lambda url, suite, push: self._clean(
                pages.render_outdated(suite, push, publication.links, sticky=url)
            ),
        )
        return pull_comment.publish(
            repository,
            self.event,
            words,
            when=self.settings.comment,
            again=not self.settings.relayed,
            login=self.settings.login or None,
            say=self.warn,
        )

    def _publication(self) -> Publication:
        links = self.event.links(self.event.head)
        # where nothing was judged, no policy was applied
        relayed = self.settings.relayed and any(outcome.review is not None for outcome in self.outcomes)
        return Publication(links=links, relayed=relayed, notes=self._notes, base=self.event.base_ref)

    def _links_of(self, outcome: SuiteOutcome) -> Links | None:
        reporter = self._reporters.get(outcome.suite)
        return None if reporter is None else reporter.links(of_step(outcome))

    def _clean(self, text: str) -> str:
        return redact(text, self.settings.secrets)


def of_step(outcome: SuiteOutcome) -> StepOutcome:
    """Give how a suite ended as what a step of this suite alone would show."""
    return StepOutcome(code=outcome.code, review=outcome.review, failure=outcome.failure)


def _named_by_the_base(outcome: SuiteOutcome) -> bool:
    """Say whether the files that judge name the suite: a change may give one that it brings any name."""
    return bool(outcome.not_run) or (outcome.review is not None and not outcome.review.context.first_run)
