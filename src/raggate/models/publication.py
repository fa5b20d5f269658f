"""The nouns of publishing: where things can be looked at, and how the pushes before this one ended. Frozen."""

from __future__ import annotations

from typing import Self

from msgspec import Struct

from raggate.base.errors import RaggateError
from raggate.models.waiver import WaiverStatus


class Links(Struct, frozen=True, kw_only=True):
    """What links in a report are made of. It comes from the runner or from GitHub's API, never from the change.

    Attributes:
        server: scheme and host of the web pages, without a final slash.
        repository: `owner/name`.
        commit: commit the golden set and the notes were read from, None when it is not known.
        head: the commit under test, None when it is not known.
        prefix: directory of the configuration in the repository, `` or `folder/`.
        run: address of the workflow run, whose summary holds the full report; None outside a workflow.
    """

    server: str
    repository: str
    commit: str | None = None
    head: str | None = None
    prefix: str = ""
    run: str | None = None


class Push(Struct, frozen=True, kw_only=True):
    """How one push of a pull request was judged. `verdict` names the outcome as verdict.json does.

    `run` and `attempt` order pushes: workflow runs are numbered upwards, and a rerun is another attempt.
    """

    head: str
    verdict: str
    run: int
    attempt: int = 1

    @property
    def order(self) -> tuple[int, int]:
        """What tells the newer of two pushes."""
        return self.run, self.attempt


class RunFailure(Struct, frozen=True, kw_only=True):
    """A run without a verdict, as reports tell it. All of it is untrusted text; `suite` may be unknown, and `run_id`.

    There is at least one line: of a file with several problems, one each. `claimed` says that how it ended is what an
    untrusted run says of itself, and `relayed` that it ended where a trusted workflow judges what such a run measured.
    """

    label: str
    exit_code: int
    lines: tuple[str, ...]
    hint: str = ""
    log: tuple[str, ...] = ()
    suite: str | None = None
    waivers: tuple[WaiverStatus, ...] = ()
    run_id: str = ""
    claimed: bool = False
    relayed: bool = False

    @property
    def message(self) -> str:
        """The lines, one below the other."""
        return "\n".join(self.lines)

    @classmethod
    def of(cls, error: RaggateError, suite: str, waivers: tuple[WaiverStatus, ...] = (), *, run_id: str = "") -> Self:
        """Return the failure for a run that ended with an error."""
        return cls(
            label=error.label,
            exit_code=int(error.exit_code),
            lines=tuple(filter(str.strip, error.lines)) or ("no reason is known",),
            hint=error.hint,
            log=error.log,
            suite=suite,
            waivers=waivers,
            run_id=run_id,
        )


class Publication(Struct, frozen=True, kw_only=True):
    """What a comment tells beside the review.

    Attributes:
        links: what its links are made of; None where there is no forge.
        pushes: how this and earlier pushes of the pull request were judged, oldest first; the last is this one.
        relayed: whether another, trusted workflow judges what an untrusted run has measured (a fork's).
        base: the branch that the change goes into; a foreign name. Empty where there is none.
        notes: trusted sentences that belong under the verdict, such as that the step is green because of `fail-on`.
    """

    links: Links | None = None
    pushes: tuple[Push, ...] = ()
    relayed: bool = False
    base: str = ""
    notes: tuple[str, ...] = ()
