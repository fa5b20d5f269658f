"""The comment on the pull request of an event: what it says -> published, and what could not be is said."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct, field

from raggate.github import sticky
from raggate.github.rest.repository import Repository
from raggate.github.runner.event import Event
from raggate.models.publication import Push

_WHY_NOT: Mapping[str, str] = {
    "stale": "a newer push is being judged, or has been",
    "closed": "it is not open any more",
}


class Words(Struct, frozen=True, kw_only=True):
    """What a comment says.

    Attributes:
        key: what it is known by, beside all others on the pull request: the suite.
        verdict: how the push was judged.
        notable: whether there is anything to tell: no pass, or something that moved.
        render: gives the text for the pushes so far, the last of which is this one.
        alert: gives the text of the loud comment, as `sticky.Update.alert` does; it takes whether the very commit that
            passed was judged again.
        moved: as `sticky.Update.moved`.
        leaves: as `sticky.Update.leaves`.
        outdated: as `sticky.Update.outdated`.
    """

    key: str
    verdict: str
    notable: bool
    render: Callable[[Sequence[Push]], str]
    alert: Callable[[str, bool], str]
    moved: Collection[str] = ()
    leaves: bool = False
    outdated: Callable[[str, str, Push], str] = field(default=lambda _url, _suite, _push: "")


def publish(
    repository: Repository,
    event: Event,
    words: Words,
    *,
    when: str,
    again: bool,
    login: str | None,
    say: Callable[[str], None],
) -> str | None:
    """Bring the comment up to date. Returns its address; None where there is none.

    Args:
        repository: where; the token may write to pull requests.
        event: what happened, on a pull request.
        words: what it says.
        when: `always`, or `on-change` for only what is notable.
        again: whether a push that is told already is told anew.
        login: who writes with the token, where that is an app's own.
        say: takes a line about what was not shown.

    Raises:
        GitHubError: when GitHub refuses.
        ValueError: as `sticky.publish`, and for an event without a pull request.
    """
    if event.number is None:
        raise ValueError("there is no pull request")
    push = Push(head=event.head, verdict=words.verdict, run=event.run_id, attempt=event.attempt)
    update = sticky.Update(
        suite=words.key,
        push=push,
        render=words.render,
        alert=lambda url, passed: words.alert(url, passed.head == push.head),
        begins=when != "on-change" or words.notable,
        again=again,
        moved=words.moved,
        leaves=words.leaves,
        outdated=words.outdated,
    )
    published = sticky.publish(repository, number=event.number, update=update, login=login)
    for note in published.notes:
        say(note)
    if published.state in _WHY_NOT:
        say(f"did not comment on pull request {event.number}: {_WHY_NOT[published.state]}")
    return published.url
