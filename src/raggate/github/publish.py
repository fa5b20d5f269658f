"""What was decided -> GitHub: the comment, the issue, annotations and the step summary. It changes no verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from raggate.base.errors import ExitCode, RaggateError
from raggate.base.redact import Guarded, redact
from raggate.github import branch_issue, sticky
from raggate.github.branch_issue import BranchRun
from raggate.github.rest.repository import Repository
from raggate.github.runner import commands
from raggate.github.runner.event import Event
from raggate.github.runner.results import name_of
from raggate.models.publication import Links, Publication, Push
from raggate.models.suites import SuiteOutcome, ranked, worst
from raggate.reports import comment, suites as pages
from raggate.reports.annotations import Annotation, annotations as annotated, for_log
from raggate.reports.parts.document import utf8_bytes

ISSUE_BYTES = 60_000
"""GitHub takes 65,535 characters."""

_WHY_NOT: Mapping[str, str] = {"stale": "a newer push is judged instead", "closed": "it is closed"}


class Settings(Guarded, Struct, frozen=True, kw_only=True):
    """What a workflow asks for.

    `comment` is `always`, `on-change` (if something differs from the baseline or did not pass) or `never`; `relayed`
    says that an untrusted run measured what is shown; `secrets` must stand in nothing that is shown.
    """

    comment: str = "always"
    issue: bool = False
    relayed: bool = False
    secrets: tuple[str, ...] = ()

    def comments_on(self, event: Event) -> bool:
        """Return whether a comment tells of this event, if there is a token for it."""
        return self.comment != "never" and event.comments


class StepReporter(Guarded, Struct):
    """Shows a step on GitHub: one comment, one summary and annotations for all suites, and an issue for each.

    A step of one configuration has the page of its suite, and one with a list a page of all; `name` tells the latter
    from others on the same pull request. Failing to show something is said and nothing more. `prefixes` has the
    directory of each configuration in the repository, empty or `folder/`.
    """

    event: Event
    repository: Repository | None
    settings: Settings
    say: Callable[[str], None]
    name: str | None = None
    outcomes: tuple[SuiteOutcome, ...] = ()
    prefixes: dict[str, str] = field(default_factory=dict)
    failed: bool = False
    url: str = ""
    warnings: int = 0

    def finish_suite(self, outcome: SuiteOutcome) -> None:
        """Show how a suite ended as soon as it has: in the issue about the branch, if there is to be one."""
        if self.repository is None or not self.settings.issue:
            return
        branch, page = self.event.head_ref, self._publication(outcome)
        run = BranchRun(
            branch=branch,
            suite=outcome.suite,
            push=self._push(name_of(outcome.code)),
            links=self._links_of(outcome),
            title=comment.issue_title(outcome.ended, branch),
            report=lambda pushes: self.clean(
                comment.render_issue(outcome.ended, page, pushes, branch, limit=ISSUE_BYTES)
            ),
        )
        try:
            branch_issue.tell(self.repository, run)
        except (RaggateError, ValueError) as error:
            self._could_not("write the issue about the branch", error)

    def finish(self, outcomes: Sequence[SuiteOutcome]) -> None:
        """Comment on the pull request."""
        self.outcomes = tuple(outcomes)
        number = self.event.number
        if self.repository is None or number is None or not self.settings.comments_on(self.event):
            return
        try:
            published = sticky.publish(self.repository, number=number, update=self._update())
        except (RaggateError, ValueError) as error:
            self._could_not("comment on the pull request", error)
            return
        for note in published.notes:
            self._warn(note)
        if published.state in _WHY_NOT:
            self._warn(f"did not comment on pull request {number}: {_WHY_NOT[published.state]}")
        self.url = published.url

    @property
    def code(self) -> int:
        """The exit code of the worst suite."""
        return worst(outcome.code for outcome in self.outcomes)

    @property
    def verdict(self) -> str:
        """The verdict of the step; a pass only if one was measured."""
        return pages.overall(self.outcomes) if self.code == ExitCode.PASS else name_of(self.code)

    def tells(self, code: int) -> bool:
        """Whether the summary says how a step ended that ends with this exit code."""
        alone = self._alone
        return bool(self.outcomes) and self.code == code and (alone is None or alone.review is not None)

    def summary(self, *, limit: int) -> str:
        """Render the step summary, in at most `limit` bytes of UTF-8."""
        if (alone := self._alone) is not None:
            return self.clean(comment.render_summary(alone.ended, self._publication(alone), limit=limit))
        return self.clean(
            pages.render(self.outcomes, self._publication(), self._links_of, size=utf8_bytes, limit=limit)
        )

    def annotate(self, *, lenient: bool) -> list[str]:
        """Return the log commands for the annotations of the step, as many as the runner shows, the worst suite first.

        If the step is `lenient`, green all the same, none is an error, and a warning says so already.
        """
        notes = [note for outcome in ranked(self.outcomes) for note in self._annotations(outcome)]
        if lenient:
            notes = [replace(note, level="warning") if note.level == "error" else note for note in notes]
        # what could not be shown has been said by warnings too
        kept = for_log(notes, taken={"warning": self.warnings + int(lenient)})
        return [
            commands.annotation(note.level, note.title, note.message, path=note.path, line=note.line) for note in kept
        ]

    def clean(self, text: str) -> str:
        """Return a text without secrets."""
        return redact(text, self.settings.secrets)

    def _annotations(self, outcome: SuiteOutcome) -> list[Annotation]:
        review = outcome.review
        if review is None:
            return []
        notes = annotated(review, self._links_of(outcome), changed=frozenset(review.run.provenance.ignored))
        return [replace(note, message=self.clean(note.message)) for note in notes]

    def _publication(self, outcome: SuiteOutcome | None = None) -> Publication:
        """What a page tells beside the verdict of a suite, or of all of them."""
        told = self.outcomes if outcome is None else (outcome,)
        # if nothing was judged, no policy was applied
        relayed = self.settings.relayed and any(one.review is not None for one in told)
        links = self.event.links(self.event.head) if outcome is None else self._links_of(outcome)
        notes = tuple(dict.fromkeys(note for one in told for note in one.notes))
        return Publication(links=links, relayed=relayed, notes=notes, base=self.event.base_ref)

    def _could_not(self, action: str, error: RaggateError | ValueError) -> None:
        """Warn why something is not shown, and what would let it be."""
        self.failed = True
        hint = f" {error.hint}" if isinstance(error, RaggateError) and error.hint else ""
        self._warn(f"could not {action}: {error}{hint}")

    def _warn(self, text: str) -> None:
        # the runner shows few warnings
        self.warnings += 1
        self.say(text)

    @property
    def _alone(self) -> SuiteOutcome | None:
        """The outcome that has the page for itself; None if the page is about a list."""
        return next((first for first in self.outcomes[:1] if self.name is None or not first.suite), None)

    def _links_of(self, outcome: SuiteOutcome) -> Links:
        review = outcome.review
        trusted = review.judged_by if review is not None else None
        return self.event.links(self.event.head, inputs_at=trusted, prefix=self.prefixes.get(outcome.config, ""))

    def _push(self, verdict: str) -> Push:
        return Push(head=self.event.head, verdict=verdict, run=self.event.run_id, attempt=self.event.attempt)

    def _update(self) -> sticky.Update:
        push = self._push(self.verdict)
        return sticky.Update(
            # no suite is called so
            suite=self.outcomes[0].suite if self.name is None else f"suites:{self.name}",
            push=push,
            render=self._page,
            alert=lambda url, passed: self._alert(url, rerun=passed.head == push.head),
            begins=self.settings.comment != "on-change" or any(outcome.notable for outcome in self.outcomes),
            # a run that could comment itself has done so, with all that only its own workspace tells
            again=not self.settings.relayed,
        )

    def _page(self, pushes: tuple[Push, ...]) -> str:
        alone = self._alone
        publication = replace(self._publication(alone), pushes=pushes)
        if alone is None:
            return self.clean(pages.render(self.outcomes, publication, self._links_of))
        return self.clean(comment.render(alone.ended, publication))

    def _alert(self, url: str, *, rerun: bool) -> str:
        alone = self._alone
        publication = self._publication(alone)
        if alone is None:
            return self.clean(pages.render_alert(self.outcomes, publication, sticky=url, rerun=rerun))
        return self.clean(comment.render_alert(alone.ended, publication, sticky=url, rerun=rerun))
