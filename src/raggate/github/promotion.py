"""New baselines -> the pull request that proposes them; or, where wanted, a commit on the branch itself.

Of two promotions the one whose workflow run began later counts, whichever ends first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from raggate.errors import CannotTell
from raggate.github import proposal
from raggate.github.proposal import Change, PullRequestResult, Standing, Words
from raggate.github.rest import commits
from raggate.github.rest.repository import Repository
from raggate.inputs.git_objects import object_id

WORDS = Words(
    file="baseline",
    act="promotion",
    again="Start the promotion again: it is then computed against the present state.",
)

_MARK = "Raggate-Promotion"
_ORDER = re.compile(rf"^{_MARK}: ([1-9][0-9]{{0,18}})\.([1-9][0-9]{{0,8}})$", re.MULTILINE)


def branch_of(suite: str) -> str:
    """Name the branch that proposes a suite's baseline. Different suites have different ones.

    Raises:
        ValueError: for what cannot be the name of a suite.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", suite):
        raise ValueError(f"not the name of a suite: {suite!r}")
    # what git takes for a part of a branch's name: no `..`, no dot and no `.lock` at the end
    slug = re.sub(r"\.(?=\.|$|lock$)", "-", suite)
    # a sum tells names apart that would share a branch
    unique = slug if slug == suite else f"{slug}-{object_id('blob', suite.encode(), like='')[:7]}"
    return f"raggate/baseline-{unique}"


def branch_of_several(suites: Sequence[str]) -> str:
    """Name the branch that proposes the baselines of several suites. Others of them have another one."""
    names = "\n".join(sorted(suites)).encode()
    return f"raggate/baselines-{len(suites)}-{object_id('blob', names, like='')[:12]}"


def message(lines: Sequence[str], *, run: int, attempt: int) -> str:
    """Write what a commit says below its title.

    Args:
        lines: harmless as text.
        run: the workflow run that promotes, by which a newer promotion is told from an older one.
        attempt: of that run.
    """
    return "\n".join((*lines, "", f"{_MARK}: {run}.{attempt}"))


def propose(repository: Repository, change: Change) -> PullRequestResult:
    """Propose a baseline by a pull request: a new one, or the one that is open already.

    Args:
        repository: where; the token may write contents and pull requests.
        change: the baseline, with a `message`.

    Raises:
        Moved: when another promotion wrote at the same time.
        CannotTell: when the target has another baseline by now, or a newer promotion stands in the pull request.
        GitHubError: when GitHub refuses.
    """
    return proposal.propose(repository, change, lambda standing: _refuse_older(change, standing))


def commit_directly(repository: Repository, change: Change) -> PullRequestResult:
    """Commit a baseline onto the target itself, if that is still at the commit it was computed against.

    Raises:
        Moved: when the target has another commit by now.
        GitHubError: when GitHub refuses, also because the branch is protected.
    """
    commit = commits.update(
        repository,
        branch=change.target,
        expected_head=change.head,
        onto=change.head,
        files=change.contents,
        message=proposal.commit_message(change),
    )
    return PullRequestResult(state="committed" if commit.changed else "nothing", commit=commit)


def _refuse_older(change: Change, standing: Standing) -> None:
    newest, own = (_ORDER.search(text) for text in (standing.message, change.message))
    if standing.pull is None or newest is None or own is None:
        return
    if (int(newest[1]), int(newest[2])) > (int(own[1]), int(own[2])):
        raise CannotTell(
            f"a newer promotion (workflow run {newest[1]}) is in the pull request of {change.branch}; "
            f"this one (run {own[1]}) does not replace it",
            hint="Start a new promotion if this baseline is the one that is wanted.",
        )
