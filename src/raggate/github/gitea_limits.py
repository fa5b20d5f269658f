"""What raggate refuses on Gitea and Forgejo, each with the one sentence that says why."""

from __future__ import annotations

from collections.abc import Mapping

from raggate.errors import UsageError
from raggate.github.runner.event import Event

_COMMANDS: Mapping[str, tuple[str, str]] = {
    "comment": (
        "their API does not say whose code a run measured, so nobody can tell what an artifact is worth",
        "The first run comments itself where its token may; a change from a fork has its report in the log of the run.",
    ),
    "respond": (
        "their events do not say whether a person or a program wrote a comment",
        "Run the gate's workflow again from its page.",
    ),
}
_PROMOTING: Mapping[str, tuple[str, str]] = {
    "run-id": (
        "their API gives no digest of an artifact, so nothing vouches for what is downloaded",
        "Leave `run-id` empty: the head of the default branch is measured then.",
    ),
    "direct-commit": (
        "their API writes onto a branch wherever it is by then, so another commit could get between",
        "Leave `direct-commit` at `false`: a pull request proposes the baseline.",
    ),
}


def check(event: Event, inputs: Mapping[str, str]) -> None:
    """Refuse what those servers do not vouch for, before anything is done.

    Args:
        event: what started the run.
        inputs: the action's inputs.

    Raises:
        UsageError: naming the input and the reason.
    """
    if not event.gitea:
        return
    command = inputs["command"]
    if command in _COMMANDS:
        _refuse(f"command: {command}", *_COMMANDS[command])
    for name, words in _PROMOTING.items():
        if command == "promote" and inputs[name] not in {"", "false"}:
            _refuse(f"{name}: {inputs[name]}", *words)


def _refuse(asked: str, why: str, hint: str) -> None:
    raise UsageError(f"`{asked}` is refused on Gitea and Forgejo: {why}", hint=hint)
