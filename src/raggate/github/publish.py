"""What was decided -> GitHub: the comment, the check run, annotations and the step summary. It changes no verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from raggate.errors import ExitCode, RaggateError
from raggate.github import branch_issue, pull_comment
from raggate.github.branch_issue import BranchRun
from raggate.github.rest import checks
from raggate.github.rest.repository import Repository
from raggate.github.runner import commands
from raggate.github.runner.event import Event
from raggate.github.runner.results import name_of
from raggate.models.publication import Links, Publication, Push, RunFailure
from raggate.models.verdict import Review
from raggate.reports import comment, markdown, suites
from raggate.reports.annotations import Annotation, annotations as annotated, for_log
from raggate.reports.parts.budget import COMMENT_LIMIT
from raggate.text.guarded import Guarded
from raggate.text.redact import redact

CHECK_SUMMARY_BYTES = 60_000
"""GitHub takes 65,535 characters."""


class Settings(Guarded, Struct, frozen=True, kw_only=True):
    """What a workflow asks for.

    Attributes:
        comment: `always`, `on-change` (only when something differs from the baseline or did not pass) or `never`.
        check_run: the name of a check run of its own, empty for none.
        prefix: directory of the configuration in the repository, `` or `folder/`.
        issue: whether an issue tells that the branch got worse.
        relayed: whether an untrusted run measured what is shown.
        login: who writes with the token, where that is an app's own.
        secrets: values that must stand in nothing that is shown.
    """

    comment: str = "always"
    check_run: str = ""
    prefix: str = ""
    issue: bool = False
    relayed: bool = False
    secrets: tuple[str, ...] = ()
    login: str = ""

    def comments_on(self, event: Event) -> bool:
        """Say whether a comment tells of this event, where there is a token for it."""
        return self.comment != "never" and event.comments


class StepOutcome(Struct, frozen=True, kw_only=True):
    """How a run ended: its exit code, with a review or with the reason there is none; trusted sentences go beside."""

    code: int
    review: Review | None = None
    failure: RunFailure | None = None
    notes: tuple[str, ...] = ()

    @property
    def suite(self) -> str:
        """The suite, as far as it is known."""
        return self.review.run.suite if self.review is not None else self.reason.suite or ""

    @property
    def reason(self) -> RunFailure:
        """Why there is no review."""
        return self.failure or RunFailure(label=name_of(self.code), exit_code=self.code, lines=("The log says more.",))

    @property
    def notable(self) -> bool:
        """Whether there is anything to tell: no pass, or something that moved."""
        review = self.review
        if self.code != ExitCode.PASS or review is None:
            return True
        moved = any(row.delta.delta for row in review.verdict.rows if row.gated and row.status != "same")
        previewed = review.context.preview is not None and not review.context.preview.empty
        return bool(moved or previewed or review.verdict.warnings or review.comparison.flips)


class GitHubReporter:
    """Shows one run on GitHub: what stands where, for whom. Failing to show it is said and nothing more.

    Args:
        event: what started the run.
        repository: where it is shown; None without a token.
        settings: what the workflow asks for.
        say: takes a line about what could not be shown.

    `failed` tells whether something could not, `warnings` how many lines `say` took, and `check` is the check run
    while it is open.
    """

    def __init__(
        self, event: Event, repository: Repository | None, settings: Settings, say: Callable[[str], None]
    ) -> None:
        self.event = event
        self.repository = repository
        self.settings = settings
        self.say = say
        self.check: int | None = None
        self.failed = False
        self.warnings = 0

    def begin(self) -> int | None:
        """Open the check run before anything is started, if there is to be one. Returns its id."""
        event = self.event
        if self.repository is None or not self.settings.check_run:
            return None
        shown: dict[str, str] = {"head": event.head, "name": self.settings.check_run, "details_url": event.run_url}
        try:
            external_id = f"{event.run_id}.{event.attempt}"
            self.check = checks.begin(self.repository, external_id=external_id, **shown)
        except RaggateError as error:
            self._could_not("open the check run", error)
        return self.check

    def finish(self, outcome: StepOutcome) -> dict[str, str]:
        """Show how the run ended: check run and comment. Returns the outputs that tell where."""
        outputs = {"comment-url": ""}
        if self.repository is None:
            return outputs
        self.complete(outcome)
        if self.settings.issue:
            self._tell_branch(self.repository, outcome)
        if self.settings.comments_on(self.event):
            try:
                outputs["comment-url"] = self._comment(self.repository, outcome) or ""
            except (RaggateError, ValueError) as error:
                self._could_not("comment on the pull request", error)
        return outputs

    def complete(self, outcome: StepOutcome) -> None:
        """Complete the check run, if one is open."""
        if self.check is None:
            return
        base = self.event.base_ref
        title = f"{name_of(outcome.code)}{f' (base {base})' if base else ''}"
        self._complete(
            checks.conclusion_of(outcome.code),
            title,
            lambda: self.summary(outcome, limit=CHECK_SUMMARY_BYTES),
            lambda: self.annotations(outcome),
        )

    def skip(self, why: str) -> None:
        """Make the check run of a suite that was not run, if there is to be one: it is skipped, which is no success."""
        self.begin()
        if self.check is not None:
            title = self._clean(why)
            self._complete("skipped", title, lambda: suites.render_skipped(title), list)

    def _complete(
        self,
        conclusion: checks.Conclusion,
        title: str,
        summary: Callable[[], str],
        annotations: Callable[[], Sequence[Annotation]],
    ) -> None:
        if self.repository is None or self.check is None:
            return
        try:
            checks.complete(
                self.repository,
                run_id=self.check,
                conclusion=conclusion,
                title=title,
                summary=summary(),
                annotations=annotations(),
            )
            self.check = None
        except (RaggateError, ValueError) as error:
            self._could_not("complete the check run", error)

    def summary(self, outcome: StepOutcome, *, limit: int) -> str:
        """Render the report of the whole run: the step summary, and that of the check run.

        Args:
            outcome: how it ended.
            limit: most bytes of UTF-8.
        """
        publication = self._publication(outcome)
        if outcome.review is not None:
            return self._clean(markdown.render_summary(outcome.review, publication, limit=limit))
        return self._clean(comment.render_failure(outcome.reason, publication, limit=limit))

    def annotate(self, outcome: StepOutcome, *, lenient: bool) -> list[str]:
        """Give the log commands for the annotations of the step, as many as the runner shows.

        Args:
            outcome: how it ended.
            lenient: whether the step is green all the same: then none is an error, and a warning says so already.
        """
        # what could not be shown has been said by warnings too
        return log_commands(self.annotations(outcome), lenient=lenient, warnings=self.warnings)

    def annotations(self, outcome: StepOutcome) -> list[Annotation]:
        """Give the annotations of a run, most important first."""
        review = outcome.review
        if review is None:
            return []
        notes = annotated(review, self.links(outcome), changed=frozenset(review.run.provenance.ignored))
        return [replace(note, message=self._clean(note.message)) for note in notes]

    def _tell_branch(self, repository: Repository, outcome: StepOutcome) -> None:
        event = self.event
        run = BranchRun(
            branch=event.head_ref,
            suite=outcome.suite,
            push=Push(head=event.head, verdict=name_of(outcome.code), run=event.run_id, attempt=event.attempt),
            links=self.links(outcome),
            report=lambda: self.summary(outcome, limit=CHECK_SUMMARY_BYTES),
        )
        try:
            branch_issue.tell(repository, run, login=self.settings.login or None)
        except (RaggateError, ValueError) as error:
            self._could_not("write the issue about the branch", error)

    def _comment(self, repository: Repository, outcome: StepOutcome) -> str | None:
        publication = self._publication(outcome)
        review = outcome.review

        def render(pushes: Sequence[Push]) -> str:
            current = replace(publication, pushes=tuple(pushes))
            if review is not None:
                return self._clean(comment.render(review, current, limit=COMMENT_LIMIT))
            return self._clean(comment.render_failure(outcome.reason, current, limit=COMMENT_LIMIT))

        def alert(url: str, rerun: bool) -> str:  # noqa: FBT001 - as it is called
            if review is not None:
                return self._clean(comment.render_alert(review, publication, sticky=url, rerun=rerun))
            return self._clean(comment.render_failure_alert(outcome.reason, publication, sticky=url, rerun=rerun))

        words = pull_comment.Words(
            key=outcome.suite,
            verdict=name_of(outcome.code),
            notable=outcome.notable,
            render=render,
            alert=alert,
            # a change may give a suite that it brings any name
            leaves=review is not None and not review.context.first_run,
            outdated=lambda url, _, push: self._clean(
                comment.render_outdated(outcome.suite, push, publication.links, sticky=url)
            ),
        )
        return pull_comment.publish(
            repository,
            self.event,
            words,
            when=self.settings.comment,
            # a run that could comment itself has done so, with all that only its own workspace tells
            again=not self.settings.relayed,
            login=self.settings.login or None,
            say=self._say,
        )

    def _publication(self, outcome: StepOutcome) -> Publication:
        # where nothing was judged, no policy was applied
        relayed = self.settings.relayed and outcome.review is not None
        return Publication(links=self.links(outcome), relayed=relayed, notes=outcome.notes, base=self.event.base_ref)

    def links(self, outcome: StepOutcome) -> Links:
        """Say what the links about a run are made of."""
        review = outcome.review
        trusted = review.run.provenance.against if review is not None and not review.context.first_run else None
        return self.event.links(self.event.head, inputs_at=trusted, prefix=self.settings.prefix)

    def _clean(self, text: str) -> str:
        return redact(text, self.settings.secrets)

    def _could_not(self, action: str, error: RaggateError | ValueError) -> None:
        self.failed = True
        self._say(could_not(action, error))

    def _say(self, text: str) -> None:
        self.warnings += 1
        self.say(text)


def could_not(action: str, error: RaggateError | ValueError) -> str:
    """Say why something is not shown, and what would let it be."""
    hint = f" {error.hint}" if isinstance(error, RaggateError) and error.hint else ""
    return f"could not {action}: {error}{hint}"


def log_commands(notes: Sequence[Annotation], *, lenient: bool, warnings: int) -> list[str]:
    """Write annotations of a step as log commands, as many as the runner shows.

    Args:
        notes: the annotations, most important first.
        lenient: whether the step is green all the same: then none is an error, and a warning says so already.
        warnings: how many other warnings the step prints.
    """
    if lenient:
        notes = [replace(note, level="warning") if note.level == "error" else note for note in notes]
    kept = for_log(notes, taken={"warning": warnings + int(lenient)})
    return [commands.annotation(note.level, note.title, note.message, path=note.path, line=note.line) for note in kept]
