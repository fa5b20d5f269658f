"""A comment on a pull request that asks raggate for something -> done, where its author may, and answered once.

The comment is hostile text. It is read by `comment_commands.parse` alone, and no part of it gets into a shell.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from raggate.errors import ExitCode, RaggateError, UsageError
from raggate.github import comment_commands, named_suite, reply as replies
from raggate.github.comment_commands import Command, Unclear
from raggate.github.explain import explain
from raggate.github.fork_comment import ForkRun
from raggate.github.recheck import recheck
from raggate.github.reply import Reply
from raggate.github.rest import pulls
from raggate.github.rest.repository import Repository
from raggate.github.rest.thread import Comment, Thread
from raggate.github.runner.event import WrittenComment
from raggate.github.waive import waive
from raggate.models.publication import Links
from raggate.text.redact import redact

_DONE, _NOT_DONE = "the command was carried out", "the command was not carried out; the reply says why"


class Response(Struct, frozen=True):
    """What became of a comment: a sentence for the log, the exit code, and the reply's address, empty for none."""

    message: str
    code: int = int(ExitCode.PASS)
    url: str = ""


def respond(
    repository: Repository, gate: ForkRun, *, configs: Sequence[str] = (), token: str, login: str, now: str
) -> Response:
    """Do what a comment asks for, and answer it, unless that was done before.

    Args:
        repository: where the pull request is.
        gate: the event `issue_comment`, and the gate that the comment is about.
        configs: paths and patterns of a list of configurations; empty where there is one, which `gate` names.
        token: which must stand in nothing that is shown.
        login: who writes with it, where that is an app's own; empty otherwise.
        now: ISO 8601 timestamp in UTC.

    Raises:
        UsageError: for another event.
        GitHubError: when GitHub cannot be asked who the author is, or the reply cannot be written.
    """
    if gate.event.name != "issue_comment":
        raise UsageError(
            f"a response to a comment needs the event issue_comment, not {gate.event.name}",
            hint="docs/commands.md has the whole workflow.",
        )
    comment = gate.event.comment
    command = None if comment is None else comment_commands.parse(comment.body)
    if comment is None or command is None:
        return Response(message="not a new comment on a pull request that is addressed to raggate: nothing to do")
    if not comment.person:
        return Response(message="the comment was not written by a person: nothing is done for it")
    thread = Thread(repository, number=comment.number, login=login or None, locked=False)
    if not repository.may_write(comment.author):
        # no reply: whoever may not write makes raggate write nothing
        thread.react(comment.id, "-1")
        return Response(message="the author of the comment may not write to the repository: nothing is done for it")
    if (before := _reply_to(thread, comment.id)) is not None:
        return Response(message="the comment was answered before: nothing is done again", url=before.url)
    thread.react(comment.id, "eyes")
    reply, code = _carry_out(repository, gate, configs, comment, command, token=token, now=now)
    text = redact(replies.body(comment.id, reply), (token,))
    made = thread.create(text, lambda: _reply_to(thread, comment.id))
    thread.react(comment.id, "+1" if reply.done else "-1")
    return Response(message=_DONE if reply.done else _NOT_DONE, code=code, url=made.url)


def _carry_out(
    repository: Repository,
    gate: ForkRun,
    configs: Sequence[str],
    comment: WrittenComment,
    command: Command | Unclear,
    *,
    token: str,
    now: str,
) -> tuple[Reply, int]:
    """Give the reply, and the exit code: an error of the workflow's or of GitHub's makes the step red, too."""
    if isinstance(command, Unclear):
        return replies.usage(command.why), int(ExitCode.PASS)
    if command.name == "help":
        return replies.usage(), int(ExitCode.PASS)
    try:
        pull = pulls.find(repository, comment.number)
        if pull is None:
            return Reply(text="This pull request is not open.", done=False), int(ExitCode.PASS)
        links = Links(server=gate.event.server_url, repository=repository.name)
        if command.name == "recheck":
            return recheck(repository, pull, gate.workflow, links), int(ExitCode.PASS)
        chosen = named_suite.choose(repository, gate, configs, pull, command)
        if isinstance(chosen, Reply):
            return chosen, int(ExitCode.PASS)
        own, argument = chosen
        if command.name == "explain":
            return explain(repository, own, pull, argument, links), int(ExitCode.PASS)
        reply = waive(repository, own, pull, comment, argument, links, token=token, now=now)
        return reply, int(ExitCode.PASS)
    except RaggateError as error:
        return replies.failure(error), int(error.exit_code)


def _reply_to(thread: Thread, comment: int) -> Comment | None:
    return next((written for written in thread.own() if replies.answers(written.body) == comment), None)
