"""A comment on a pull request that asks raggate for something -> done, if its author may, and answered once.

The comment is hostile text. `parse` alone reads it, and no part of it gets into a shell.
"""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from raggate.base.errors import ExitCode, RaggateError, UsageError
from raggate.base.quote import nearest_few
from raggate.base.redact import redact
from raggate.github import fork_comment
from raggate.github.fork_comment import ForkRun
from raggate.github.rest import pulls
from raggate.github.rest.client import address
from raggate.github.rest.git_objects import Objects
from raggate.github.rest.pulls import Pull
from raggate.github.rest.repository import Repository
from raggate.github.rest.thread import Comment, Thread
from raggate.github.runner.event import source_run
from raggate.inputs import sources, suite_list
from raggate.models.publication import Links
from raggate.models.verdict import Review
from raggate.reports import one_question
from raggate.reports.parts.markup import commit_link, inert, link, listed

MOST_CHARACTERS = 300
"""The longest command."""

TAKES = {"recheck": "", "explain": "q17", "help": ""}
"""Command -> an example of what follows it, empty for nothing."""

_DOES = {
    "recheck": "runs the gate again for the newest commit of this pull request",
    "explain": "shows where a question's passage was and is, why, and both lists",
    "help": "shows this list",
}
_ADDRESS = "/raggate"
_ADDRESSED = re.compile(rf"{_ADDRESS}(?=\s|\Z)")
_COMMAND = re.compile(rf"{_ADDRESS} +([a-z]{{1,20}})(?: +(\S.*))?")
_MOST_SUITES = 20
_DONE, _NOT_DONE = "the command was carried out", "the command was not carried out: the reply says why"
_CLAIMED = "<sub>The run itself says what it retrieved. The base commit's files judged that again.</sub>"


class Command(Struct, frozen=True, kw_only=True):
    """What a comment asks for: a name in `TAKES`, and what follows it, which is foreign text on one line."""

    name: str
    argument: str = ""


class Reply(Struct, frozen=True, kw_only=True):
    """What came of a command. `text` is Markdown in which nothing foreign is live; `done` is whether it was done."""

    text: str
    done: bool = False


class Response(Struct, frozen=True):
    """What became of a comment: a sentence for the log, the exit code, and the reply's address, empty for none."""

    message: str
    code: int = int(ExitCode.PASS)
    url: str = ""


def respond(repository: Repository, gate: ForkRun, *, token: str) -> Response:
    """Do what a comment asks for, and answer it, unless that was done before. The token is shown nowhere."""
    if gate.event.name != "issue_comment":
        raise UsageError(
            f"`command: respond` needs the event issue_comment, found {gate.event.name}",
            hint="docs/github.md has the whole workflow.",
        )
    comment = gate.event.comment
    command = None if comment is None else parse(comment.body)
    if comment is None or command is None:
        return Response(message="nothing to do: this is not a new comment on a pull request that begins with /raggate")
    if not comment.author:
        return Response(message="nothing to do: no person wrote the comment")
    thread = Thread(repository, number=comment.number)
    if not repository.may_write(comment.author):
        # no reply: whoever may not write makes raggate write nothing
        thread.react(comment.id, "-1")
        return Response(message="nothing to do: the author of the comment may not write to the repository")
    if (before := _reply_to(thread, comment.id)) is not None:
        return Response(message="nothing to do: the comment was answered before", url=before.url)
    thread.react(comment.id, "eyes")
    code = ExitCode.PASS
    try:
        reply = _carry_out(repository, gate, comment.number, command)
    except RaggateError as error:
        # a mistake in the workflow, or an error of GitHub's: the step is red, too
        lines = (inert(error.message, limit=600, middle=True), inert(error.hint, limit=600))
        reply, code = Reply(text="\n\n".join(filter(None, lines))), error.exit_code
    text = redact(f"{_mark(comment.id)}\n{reply.text}\n", (token,))
    made = thread.create(text, lambda: _reply_to(thread, comment.id))
    thread.react(comment.id, "+1" if reply.done else "-1")
    return Response(message=_DONE if reply.done else _NOT_DONE, code=int(code), url=made.url)


def _carry_out(repository: Repository, gate: ForkRun, number: int, command: Command | str) -> Reply:
    if isinstance(command, str):
        return _usage(command)
    if command.name == "help":
        return _usage()
    pull = pulls.find(repository, number)
    if pull is None:
        return Reply(text="This pull request is not open.")
    links = Links(server=gate.event.server_url, repository=repository.name)
    if command.name == "recheck":
        return _recheck(repository, pull, gate.workflow, links)
    chosen = _choose(repository, gate, pull, command)
    return chosen if isinstance(chosen, Reply) else _explain(repository, chosen[0], pull, chosen[1], links)


def _reply_to(thread: Thread, comment: int) -> Comment | None:
    return next((written for written in thread.own() if written.body.startswith(_mark(comment))), None)


def _mark(comment: int) -> str:
    """Return the first line of the reply to a comment, which does not show."""
    return f"<!-- raggate:reply {comment} -->"


def parse(body: str) -> Command | str | None:
    """Read a comment. Returns the command, or a sentence that says why it is none; None if it asks for nothing.

    A command is the whole comment, one line of at most `MOST_CHARACTERS` printable characters with spaces between
    words: whoever reads it sees all that it does.
    """
    if not _ADDRESSED.match(body):
        return None
    text = body.rstrip(" \t\r\n")
    if text == _ADDRESS:
        return Command(name="help")
    if len(text) > MOST_CHARACTERS or not text.isprintable():
        return f"Write the command alone, on one line of at most {MOST_CHARACTERS} printable characters."
    match = _COMMAND.fullmatch(text)
    if match is None or match[1] not in TAKES:
        return "There is no such command."
    name, argument = match[1], match[2] or ""
    if bool(argument) != bool(TAKES[name]):
        return f"Write nothing after `{name}`." if argument else f"`{name}` needs the id of a question."
    return Command(name=name, argument=argument)


def _usage(why: str = "") -> Reply:
    """List the commands, below why the comment was none of them."""
    rows = "\n".join(f"- `{' '.join(filter(None, (_ADDRESS, name, TAKES[name])))}` {_DOES[name]}" for name in TAKES)
    return Reply(text=f"{why}\n\n{rows}" if why else rows, done=not why)


def _choose(repository: Repository, gate: ForkRun, pull: Pull, command: Command) -> tuple[ForkRun, str] | Reply:
    """Return the gate of the suite that `SUITE: …` names, and the rest; or a reply if no suite of the base is meant."""
    if not gate.configs:
        return gate, command.argument
    remote = sources.Remote(workspace=gate.workspace, objects=Objects(repository))
    suites = {
        suite.suite: suite for suite in suite_list.find(gate.configs, against=pull.base_sha, remote=remote, among=())
    }
    name, _, rest = command.argument.partition(": ")
    if rest and name in suites:
        suite, argument = suites[name], rest.strip()
    elif len(suites) == 1:
        (suite,), argument = suites.values(), command.argument
    else:
        names = [*suites]
        example = f"{_ADDRESS} {command.name} {inert(names[0], limit=80)}: {TAKES[command.name]}"
        known = listed(names, most=_MOST_SUITES)
        return Reply(text=f"Which suite do you mean? Begin with its name: {known}. For example: {example}")
    return gate.of_suite(suite), argument


def _recheck(repository: Repository, pull: Pull, workflow: str, links: Links) -> Reply:
    """Start the newest run for the head of a pull request again."""
    head = commit_link(links, pull.head_sha)
    run = pulls.newest_run(repository, pull, workflow)
    if run is None:
        return Reply(text=f"There is no run of the gate's workflow for {head}, so there is nothing to start again.")
    name = link(f"Run {run['id']}", address(run.get("html_url")), links)
    if run.get("status") != "completed":
        return Reply(text=f"{name} for {head} has not ended yet, so it is not started again.")
    if run.get("conclusion") == "action_required":
        return Reply(text=f"{name} for {head} waits for approval. Approve it on its page.")
    attempt = pulls.rerun(repository, run)
    return Reply(
        text=f"{name} for {head} starts again, as attempt {attempt}. The same base commit judges it. "
        "If a newer one should judge, update the branch.",
        done=True,
    )


def _explain(repository: Repository, gate: ForkRun, pull: Pull, case_id: str, links: Links) -> Reply:
    """Explain how a question stands in the newest run for the head of a pull request; `case_id` is foreign text."""
    head = commit_link(links, pull.head_sha)
    record = pulls.newest_run(repository, pull, gate.workflow)
    if record is None:
        return Reply(text=f"There is no run of the gate's workflow for {head}, so nothing can be explained.")
    name = link(f"run {record['id']}", address(record.get("html_url")), links)
    if record.get("status") != "completed":
        return Reply(text=f"The gate's {name} for {head} has not ended yet. Ask again when it has.")
    event = replace(gate.event, source_run=source_run(record))
    outcome = fork_comment.evaluate(repository, replace(gate, event=event), pull)
    where = f"{head}, {name}"
    if outcome.review is None:
        reason = outcome.reason
        lines = [f"There is no verdict for {where}, so no question can be explained:"]
        lines += [inert(text, limit=600, middle=True) for text in (*reason.lines[:3], reason.hint) if text]
        return Reply(text="\n\n".join(lines))
    return of_question(outcome.review, case_id, where, replace(links, prefix=gate.prefix))


def of_question(review: Review, case_id: str, where: str, links: Links) -> Reply:
    """Explain a question of a review; `where` says which run that is of."""
    links = replace(links, commit=review.run.provenance.against)
    text = one_question.render(review, case_id, links)
    if text:
        return Reply(text=f"{where}:\n\n{text}\n\n{_CLAIMED}", done=True)
    golden, question = review.run.golden, inert(case_id, limit=80)
    ids = [case.id for case in golden.cases]
    if case_id in ids:
        sentence = f"The run has no answer to question {question}, which the base commit's golden set has."
        return Reply(text=f"{where}:\n\n{sentence}")
    names = nearest_few(case_id, ids)
    advice = f" Like it: {listed(names)}." if names else ""
    return Reply(text=f"{golden.noun.capitalize()} of the base commit has no question {question}.{advice}")
