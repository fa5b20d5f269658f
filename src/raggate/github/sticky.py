"""A judged push -> the one comment of its suite on the pull request, and a loud one when a pass was lost.

GitHub's API cannot change a comment on the condition that nobody else has in the meantime. So every write is followed
by a look at what stands there: of two runs at the same time one comment is left, with the newer run's text. Only a
write by the older run that GitHub carries out after the newer run's last look can escape; the next push repairs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct

from raggate.base.errors import RaggateError
from raggate.base.jsonio import fields
from raggate.github import marker
from raggate.github.marker import State
from raggate.github.rest.client import GitHubError, unexpected
from raggate.github.rest.repository import Repository
from raggate.github.rest.thread import Comment, Thread
from raggate.models.publication import Push

LOUD = frozenset(("regression", "invariant broken", "cannot tell", "usage error", "internal error"))
"""Ends that get a comment of their own if they follow a pass. A cancelled run was somebody's own wish."""

_MOST_ROUNDS = 8


class Update(Struct, frozen=True, kw_only=True):
    """What a comment is to say of a push.

    `render` returns the text without marker lines for the pushes so far; this one is the last. `alert` gives the loud
    comment for the address of the other, and the push that passed. A comment is begun if it `begins`; a reported push
    is reported `again` if verdict or text differ.
    """

    suite: str
    push: Push
    render: Callable[[tuple[Push, ...]], str]
    alert: Callable[[str, Push], str]
    begins: bool = True
    again: bool = True


class Published(Struct, frozen=True, kw_only=True):
    """What became of it, and what went wrong without being in the way, one sentence each.

    `stale`: a newer push is being judged, or was. `closed`: the pull request is.
    """

    state: Literal["created", "updated", "unchanged", "stale", "closed", "not-needed"]
    url: str = ""
    notes: tuple[str, ...] = ()


def publish(repository: Repository, *, number: int, update: Update) -> Published:
    """Bring a suite's comment up to date, unless the pull request has moved on."""
    path = f"{repository.path}/pulls/{number}"
    pull = fields(repository.github.get(path))
    head = pull.get("head")
    if not isinstance(head, dict):
        raise unexpected("a pull request", where=f"GET {path}")
    if pull.get("state") != "open" or pull.get("merged") is True:
        return Published(state="closed")
    if head.get("sha") != update.push.head:
        return Published(state="stale")
    return _Upsert(Thread(repository, number=number, locked=pull.get("locked") is True), update).carry_out()


class _Conversation(Struct, frozen=True):
    """What stands in the conversation: comments of the suite, with their states, and loud ones. Oldest first."""

    comments: tuple[Comment, ...]
    alerts: tuple[Comment, ...]

    @property
    def newest(self) -> tuple[Comment | None, State | None]:
        """The comment about the newest push; of equals the oldest comment."""
        states = [(comment, marker.decode(comment.body)) for comment in self.comments]
        return max(states, key=lambda pair: (_order(pair[1]), -pair[0].id), default=(None, None))

    @property
    def pushes(self) -> list[Push]:
        """Every push that any of the comments knows, oldest first."""
        states = [marker.decode(comment.body) for comment in self.comments]
        by_order = {push.order: push for state in states if state for push in state.pushes}
        return [by_order[order] for order in sorted(by_order)]

    def since(self, passed: Push | None, suite: str) -> list[tuple[tuple[int, int], Comment]]:
        """The loud comments about pushes after one that passed, oldest first, with the orders of their pushes."""
        least = passed.order if passed else (-1, -1)
        about = [(marker.alert_order(alert.body, suite), alert) for alert in self.alerts]
        return [(order, alert) for order, alert in about if order is not None and order > least]


class _Upsert:
    """One run's attempt. It goes around until what stands there needs no change."""

    def __init__(self, thread: Thread, update: Update) -> None:
        self._thread = thread
        self._update = update
        self._wrote: Literal["created", "updated"] | None = None
        self._made: Comment | None = None
        self._alert: Comment | None = None
        self._notes: list[str] = []

    def carry_out(self) -> Published:
        """Go around. See `publish`."""
        last: Comment | None = None
        for _ in range(_MOST_ROUNDS):
            conversation = self._look()
            newest, state = conversation.newest
            last = conversation.comments[0] if conversation.comments else last
            if newest is None:
                if not self._update.begins:
                    return Published(state="not-needed")
                self._create()
            elif _order(state) > self._update.push.order or self._is_current(state):
                if self._leave(conversation, newest.body):
                    self._withdraw(conversation, state)
                    return self._done(newest, "unchanged" if self._is_current(state) else "stale")
            elif state is not None and self._is_settled(conversation, state):
                if not self._tell_loudly(newest, conversation, state.pushes):
                    return self._done(newest, self._wrote or "unchanged")
            else:
                self._write(conversation)
        if self._wrote and last is not None:
            return self._done(last, self._wrote)
        raise GitHubError(
            "the comment changes each time raggate is about to write it",
            hint="Let one run at a time publish for a pull request: add `concurrency:` to the workflow.",
        )

    def _look(self) -> _Conversation:
        comments = self._thread.own()
        if self._made and self._made.id not in {comment.id for comment in comments}:
            # a list may lag behind
            made = self._thread.read(self._made.id)
            comments += [made] if made else []
        line = marker.comment_line(self._update.suite)
        of_suite = [comment for comment in comments if marker.first_line(comment.body) == line]
        alerts = [comment for comment in comments if marker.alert_order(comment.body, self._update.suite)]
        return _Conversation(tuple(sorted(of_suite, key=lambda comment: comment.id)), tuple(alerts))

    def _create(self) -> None:
        body = self._body(State(suite=self._update.suite, pushes=(self._update.push,)))
        made = self._thread.create(body, lambda: next(iter(self._look().comments), None))
        if not _same(made.body, body):
            # while it was open whether this run's was written, another run's was
            return
        self._made, self._wrote = made, "created"

    def _is_settled(self, conversation: _Conversation, state: State) -> bool:
        if len(conversation.comments) > 1 or state.pushes[-1:] != (self._update.push,):
            return False
        return self._wrote is not None or _same(conversation.comments[0].body, self._body(state))

    def _is_current(self, state: State | None) -> bool:
        """Return whether the comment is about this push already and is not to be written again."""
        return not self._update.again and _order(state) == self._update.push.order

    def _write(self, conversation: _Conversation) -> None:
        """Put this push into the oldest comment, and take the others away, unless that one changes just now."""
        target = conversation.comments[0]
        before = [push for push in conversation.pushes if push.order < self._update.push.order]
        pushes = (*before[1 - marker.MOST_PUSHES :], self._update.push)
        body = self._body(State(suite=self._update.suite, pushes=pushes))
        if self._replace(target, body):
            self._wrote = "updated" if self._made is None or self._made.id != target.id else self._wrote
            self._clear(conversation)

    def _leave(self, conversation: _Conversation, body: str) -> bool:
        """Keep a newer run's text in the oldest comment alone. False when there was something to do for it."""
        if len(conversation.comments) == 1:
            return True
        if self._replace(conversation.comments[0], body):
            self._clear(conversation)
        return False

    def _replace(self, target: Comment, body: str) -> bool:
        now = self._thread.read(target.id)
        if now is None or now.body != target.body:
            return False
        return _same(now.body, body) or self._thread.edit(target.id, body)

    def _clear(self, conversation: _Conversation) -> None:
        for comment in conversation.comments[1:]:
            self._thread.remove(comment.id)

    def _tell_loudly(self, comment: Comment, conversation: _Conversation, pushes: Sequence[Push]) -> bool:
        """Post a loud comment if a pass was lost and none tells so, which is True; fold it away after a pass."""
        push, passed = pushes[-1], _last_pass(pushes[:-1])
        alerts = conversation.since(passed, self._update.suite)
        try:
            if push.verdict == "pass":
                decided = [each for each in pushes[:-1] if each.verdict in LOUD or each is passed]
                # but not what a newer run has just posted
                older = [alert for order, alert in alerts if order < push.order]
                for alert in older if decided[-1:] != [passed] else ():
                    self._thread.minimize(alert)
            elif push.verdict in LOUD and passed is not None and not alerts and self._alert is None:
                line = marker.alert_line(self._update.suite, push.order)

                def find_existing() -> Comment | None:
                    return next((one for one in self._look().alerts if marker.first_line(one.body) == line), None)

                self._alert = self._thread.create(f"{line}\n{self._update.alert(comment.url, passed)}", find_existing)
                return True
        except RaggateError as error:
            self._notes.append(f"the comment about the lost pass was not brought up to date: {error.message}")
        self._withdraw(conversation, State(suite=self._update.suite, pushes=tuple(pushes)))
        return False

    def _withdraw(self, conversation: _Conversation, state: State | None) -> None:
        """Take this run's loud comment back where a newer run passed, or an earlier comment tells of the same loss."""
        if self._alert is None or state is None:
            return
        alerts = conversation.since(_last_pass(state.pushes), self._update.suite)
        if not alerts or alerts[0][1].id != self._alert.id:
            self._thread.remove(self._alert.id)

    def _done(self, comment: Comment, state: Literal["created", "updated", "unchanged", "stale"]) -> Published:
        return Published(state=state, url=comment.url, notes=tuple(self._notes))

    def _body(self, state: State) -> str:
        return marker.encode(state) + self._update.render(state.pushes)


def _order(state: State | None) -> tuple[int, int]:
    return max((push.order for push in state.pushes), default=(-1, -1)) if state else (-1, -1)


def _last_pass(pushes: Sequence[Push]) -> Push | None:
    return next((push for push in reversed(pushes) if push.verdict == "pass"), None)


def _same(first: str, second: str) -> bool:
    """Whether two texts are the same for GitHub, which may change how lines end."""
    return first.replace("\r\n", "\n").rstrip() == second.replace("\r\n", "\n").rstrip()
