"""What was decided -> GitHub: the comment, the check run, annotations and the step summary. It changes no verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from raggate.errors import ExitCode, RaggateError
from raggate.github import marker, sticky
from raggate.github.marker import State
from raggate.github.rest import checks
from raggate.github.rest.issues import Issue, Issues
from raggate.github.rest.repository import Repository
from raggate.github.rest.thread import Comment, Thread
from raggate.github.runner import commands
from raggate.github.runner.event import Event
from raggate.github.runner.results import name_of
from raggate.models.publication import Links, Publication, Push
from raggate.models.suites import SuiteOutcome, ranked, worst
from raggate.reports import comment, comment as words, suites as pages
from raggate.reports.annotations import Annotation, annotations as annotated, for_log
from raggate.text.redact import Guarded, redact

CHECK_SUMMARY_BYTES = 60_000
"""GitHub takes 65,535 characters."""

_WHY_NOT: Mapping[str, str] = {
    "stale": "a newer push is being judged, or has been",
    "closed": "it is not open any more",
}


WORSE = frozenset(("regression", "invariant broken"))
"""Verdicts that open an issue. What could not be measured says nothing of the branch: it opens and closes none."""


class Settings(Guarded, Struct, frozen=True, kw_only=True):
    """What a workflow asks for.

    Attributes:
        comment: `always`, `on-change` (only when something differs from the baseline or did not pass) or `never`.
        issue: whether an issue tells that the branch got worse.
        relayed: whether an untrusted run measured what is shown.
        login: who writes with the token, where that is an app's own.
        secrets: values that must stand in nothing that is shown.
    """

    comment: str = "always"
    issue: bool = False
    relayed: bool = False
    secrets: tuple[str, ...] = ()
    login: str = ""

    def comments_on(self, event: Event) -> bool:
        """Return whether a comment tells of this event, where there is a token for it."""
        return self.comment != "never" and event.comments


class SuiteReporter:
    """Shows one suite of a step on GitHub: its check run, and its issue. See `StepReporter`.

    Args:
        step: the reporter of the step.
        check_run: the name of a check run of its own, empty for none.
        prefix: directory of the configuration in the repository, empty or `folder/`.

    `check` is the check run while it is open.
    """

    def __init__(self, step: StepReporter, *, check_run: str, prefix: str) -> None:
        self.event = step.event
        self.repository = step.repository
        self.check_run = check_run
        self.check: int | None = None
        self._step = step
        self._prefix = prefix

    def begin(self) -> int | None:
        """Open the check run before anything is started, if there is to be one. Returns its id."""
        event = self.event
        if self.repository is None or not self.check_run:
            return None
        shown: dict[str, str] = {"head": event.head, "name": self.check_run, "details_url": event.run_url}
        try:
            external_id = f"{event.run_id}.{event.attempt}"
            self.check = checks.begin(self.repository, external_id=external_id, **shown)
        except RaggateError as error:
            self._step.could_not("open the check run", error)
        return self.check

    def finish(self, outcome: SuiteOutcome) -> None:
        """Show how the run ended: check run and issue."""
        self.complete(outcome)
        if self.repository is not None and self._step.settings.issue:
            self._tell_branch(self.repository, outcome)

    def complete(self, outcome: SuiteOutcome) -> None:
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
            title = self._step.clean(why)
            self._complete("skipped", title, lambda: pages.render_skipped(title), list)

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
            self._step.could_not("complete the check run", error)

    def summary(self, outcome: SuiteOutcome, *, limit: int) -> str:
        """Render the report of the whole run, in at most `limit` bytes of UTF-8."""
        publication = self._step.publication(outcome)
        if outcome.review is not None:
            return self._step.clean(comment.render_summary(outcome.review, publication, limit=limit))
        return self._step.clean(comment.render_failure(outcome.reason, publication, limit=limit))

    def annotations(self, outcome: SuiteOutcome) -> list[Annotation]:
        """Return the annotations of a run, most important first."""
        review = outcome.review
        if review is None:
            return []
        notes = annotated(review, self.links(outcome), changed=frozenset(review.run.provenance.ignored))
        return [replace(note, message=self._step.clean(note.message)) for note in notes]

    def _tell_branch(self, repository: Repository, outcome: SuiteOutcome) -> None:
        event = self.event
        run = BranchRun(
            branch=event.head_ref,
            suite=outcome.suite,
            push=Push(head=event.head, verdict=name_of(outcome.code), run=event.run_id, attempt=event.attempt),
            links=self.links(outcome),
            report=lambda: self.summary(outcome, limit=CHECK_SUMMARY_BYTES),
        )
        try:
            tell(repository, run, login=self._step.settings.login or None)
        except (RaggateError, ValueError) as error:
            self._step.could_not("write the issue about the branch", error)

    def links(self, outcome: SuiteOutcome) -> Links:
        """Say what the links about a run are made of."""
        review = outcome.review
        trusted = review.run.provenance.against if review is not None and not review.context.first_run else None
        return self.event.links(self.event.head, inputs_at=trusted, prefix=self._prefix)


class StepReporter:
    """Shows a step on GitHub: a check run for each suite, and one comment, one summary and annotations for all of them.

    A step of one configuration has the page of its suite, and one with a list a page of all. Failing to show something
    is said and nothing more.

    Args:
        event: what started the run.
        repository: where it is shown; None without a token.
        settings: what the workflow asks for.
        say: takes a line about what could not be shown.
        name: tells a step with a list from the others that comment on the pull request; None for one configuration.

    `outcomes` holds how the suites ended, once they have, and `failed` tells whether something could not be shown.
    """

    def __init__(
        self,
        event: Event,
        repository: Repository | None,
        settings: Settings,
        say: Callable[[str], None],
        *,
        name: str | None = None,
    ) -> None:
        self.event = event
        self.repository = repository
        self.settings = settings
        self.outcomes: tuple[SuiteOutcome, ...] = ()
        self.failed = False
        self._name = name
        self._say = say
        self._warnings = 0
        self._reporters: dict[str, SuiteReporter] = {}

    def of_suite(self, config: str, *, check_run: str = "", prefix: str = "") -> SuiteReporter:
        """Return what shows one suite, by its configuration; see `SuiteReporter`."""
        reporter = self._reporters[config] = SuiteReporter(self, check_run=check_run, prefix=prefix)
        return reporter

    def finish(self, outcomes: Sequence[SuiteOutcome]) -> str:
        """Comment on the pull request. Returns the address; empty if there is no comment.

        Args:
            outcomes: how each suite ended; one without a name if no list of suites could be made.
        """
        self.outcomes = tuple(outcomes)
        number = self.event.number
        if self.repository is None or number is None or not self.settings.comments_on(self.event):
            return ""
        try:
            published = sticky.publish(
                self.repository, number=number, update=self._update(), login=self.settings.login or None
            )
        except (RaggateError, ValueError) as error:
            self.could_not("comment on the pull request", error)
            return ""
        for note in published.notes:
            self.warn(note)
        if published.state in _WHY_NOT:
            self.warn(f"did not comment on pull request {number}: {_WHY_NOT[published.state]}")
        return published.url or ""

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
            return self._of(alone).summary(alone, limit=limit)
        return self.clean(pages.render_summary(self.outcomes, self.publication(), self._links_of, limit=limit))

    def annotate(self, *, lenient: bool) -> list[str]:
        """Return the log commands for the annotations of the step, as many as the runner shows, the worst suite first.

        Args:
            lenient: whether the step is green all the same: then none is an error, and a warning says so already.
        """
        notes = [note for outcome in ranked(self.outcomes) for note in self._of(outcome).annotations(outcome)]
        if lenient:
            notes = [replace(note, level="warning") if note.level == "error" else note for note in notes]
        # what could not be shown has been said by warnings too
        kept = for_log(notes, taken={"warning": self._warnings + int(lenient)})
        return [
            commands.annotation(note.level, note.title, note.message, path=note.path, line=note.line) for note in kept
        ]

    def publication(self, outcome: SuiteOutcome | None = None) -> Publication:
        """Say what a page tells beside the verdict of a suite, or of all of them."""
        told = self.outcomes if outcome is None else (outcome,)
        # where nothing was judged, no policy was applied
        relayed = self.settings.relayed and any(one.review is not None for one in told)
        links = self.event.links(self.event.head) if outcome is None else self._links_of(outcome)
        notes = tuple(dict.fromkeys(note for one in told for note in one.notes))
        return Publication(links=links, relayed=relayed, notes=notes, base=self.event.base_ref)

    def clean(self, text: str) -> str:
        """Return a text without secrets."""
        return redact(text, self.settings.secrets)

    def could_not(self, action: str, error: RaggateError | ValueError) -> None:
        """Say why something is not shown, and what would let it be."""
        self.failed = True
        hint = f" {error.hint}" if isinstance(error, RaggateError) and error.hint else ""
        self.warn(f"could not {action}: {error}{hint}")

    def warn(self, text: str) -> None:
        """Say what could not be shown, and count it: the runner shows few warnings."""
        self._warnings += 1
        self._say(text)

    @property
    def _alone(self) -> SuiteOutcome | None:
        """The outcome that has the page for itself; None if the page is about a list."""
        first = self.outcomes[0] if self.outcomes else None
        return first if first is not None and (self._name is None or not first.suite) else None

    def _of(self, outcome: SuiteOutcome) -> SuiteReporter:
        return self._reporters.get(outcome.config) or self.of_suite(outcome.config)

    def _links_of(self, outcome: SuiteOutcome) -> Links:
        return self._of(outcome).links(outcome)

    def _update(self) -> sticky.Update:
        event, listed = self.event, self._name is not None
        push = Push(head=event.head, verdict=self.verdict, run=event.run_id, attempt=event.attempt)
        named = [outcome.suite for outcome in self.outcomes if outcome.named_by_the_base]
        return sticky.Update(
            # no suite is called so
            suite=f"suites:{self._name}" if listed else self.outcomes[0].suite,
            push=push,
            render=lambda pushes: self.clean(self._page(pushes)),
            alert=lambda url, passed: self.clean(self._alert(url, rerun=passed.head == push.head)),
            begins=self.settings.comment != "on-change" or any(outcome.notable for outcome in self.outcomes),
            # a run that could comment itself has done so, with all that only its own workspace tells
            again=not self.settings.relayed,
            moved=frozenset(named) if listed else (),
            leaves=bool(named) and not listed,
            outdated=lambda url, suite, told: self.clean(self._outdated(url, suite, told)),
        )

    def _page(self, pushes: tuple[Push, ...]) -> str:
        alone = self._alone
        publication = replace(self.publication(alone), pushes=pushes)
        if alone is None:
            return pages.render(self.outcomes, publication, self._links_of)
        if alone.review is not None:
            return comment.render(alone.review, publication)
        return comment.render_failure(alone.reason, publication)

    def _alert(self, url: str, *, rerun: bool) -> str:
        alone = self._alone
        publication = self.publication(alone)
        if alone is None:
            return pages.render_alert(self.outcomes, publication, sticky=url, rerun=rerun)
        if alone.review is not None:
            return comment.render_alert(alone.review, publication, sticky=url, rerun=rerun)
        return comment.render_failure_alert(alone.reason, publication, sticky=url, rerun=rerun)

    def _outdated(self, url: str, suite: str, push: Push) -> str:
        if self._name is not None:
            return pages.render_outdated(suite, push, self.publication().links, sticky=url)
        first = self.outcomes[0]
        return comment.render_outdated(first.suite, push, self._links_of(first), sticky=url)


class BranchRun(Struct, frozen=True, kw_only=True):
    """How a run of a branch was judged.

    Attributes:
        branch: the branch; no `:` is in the name of one.
        suite: whose issue it is.
        push: the commit and its verdict.
        links: of the repository.
        report: gives the report of the run as Markdown.
    """

    branch: str
    suite: str
    push: Push
    links: Links
    report: Callable[[], str]

    @property
    def key(self) -> str:
        """What the issue is known by, however long the names are."""
        return marker.slug(f"{self.branch}:{self.suite}")


def tell(repository: Repository, run: BranchRun, *, login: str | None = None) -> str:
    """Bring the issue of a branch up to date. Returns its address; empty where there is none to tell of.

    An issue that a person closed while the branch was worse stays closed until it has passed once.

    Raises:
        GitHubError: when GitHub refuses.
        ValueError: for a push that is none that can be remembered.
    """
    if run.push.verdict not in {*WORSE, "pass"}:
        return ""
    issues = Issues(repository, login=login)
    own = _of_key(issues.own(), run.key)
    newest, state = own[0] if own else (None, None)
    if newest is None or state is None or state.pushes[-1].verdict == "pass":
        begins = run.push.verdict in WORSE and _is_news(repository, run, state)
        return _open(issues, run).url if begins else ""
    if state.pushes[-1].order >= run.push.order:
        return newest.url
    pushes = (state.pushes[0], run.push)
    if run.push.verdict in WORSE:
        issues.rewrite(newest.number, _body(run, pushes))
    else:
        _close(repository, issues, run, own, login)
    return newest.url


def _of_key(issues: list[Issue], key: str) -> list[tuple[Issue, State]]:
    """Return the issues about a branch and suite, the newest first; of others the marker cannot be read."""
    states = [(issue, marker.decode(issue.body)) for issue in issues]
    of_key = [(issue, state) for issue, state in states if state is not None and state.suite == key and state.pushes]
    return sorted(of_key, key=lambda pair: -pair[0].number)


def _is_news(repository: Repository, run: BranchRun, state: State | None) -> bool:
    """Whether a run tells of the branch as it is: not after a newer one, and no old commit that was run again."""
    if state is not None and state.pushes[-1].order > run.push.order:
        return False
    return run.push.attempt == 1 or repository.head_of(run.branch) == run.push.head


def _open(issues: Issues, run: BranchRun) -> Issue:
    body = _body(run, (run.push,))

    def find_existing() -> Issue | None:
        own = _of_key(issues.own(), run.key)
        return next((issue for issue, state in own if state.pushes == (run.push,)), None)

    return issues.create(words.title(run.suite, run.branch), body, find_existing)


def _close(
    repository: Repository, issues: Issues, run: BranchRun, own: list[tuple[Issue, State]], login: str | None
) -> None:
    """Close what is open; two runs at the same time may have opened two. The one that a person closed remembers it."""
    for place, (issue, state) in enumerate(own):
        if not issue.open and place > 0:
            continue
        issues.close(issue.number, _body(run, (state.pushes[0], run.push)))
        if issue.open:
            thread = Thread(repository, number=issue.number, login=login, locked=False)
            line = marker.alert_line(run.key, run.push.order)
            text = words.closing(state.pushes[0], run.push, run.links)
            thread.create(f"{line}\n{text}", partial(_comment_with, thread, line))


def _comment_with(thread: Thread, line: str) -> Comment | None:
    return next((comment for comment in thread.own() if marker.first_line(comment.body) == line), None)


def _body(run: BranchRun, pushes: tuple[Push, ...]) -> str:
    state = State(suite=run.key, pushes=pushes)
    if run.push.verdict == "pass":
        first = words.closing(pushes[0], run.push, run.links) + "\n"
    else:
        first = words.opening(pushes[0], run.push, run.branch, run.links)
    return marker.encode(state) + first + run.report()
