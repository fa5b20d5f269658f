"""`/raggate explain q17`: what the last run of a pull request says of one question, judged by the base commit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from raggate.github import fork_comment
from raggate.github.fork_comment import ForkRun
from raggate.github.publish import StepOutcome
from raggate.github.reply import Reply
from raggate.github.rest import runs
from raggate.github.rest.exchange import address
from raggate.github.rest.pulls import Pull
from raggate.github.rest.repository import Repository
from raggate.github.runner.event import SourceRun
from raggate.models.publication import Links
from raggate.models.verdict import Review
from raggate.reports import one_question
from raggate.reports.parts.markup import commit_link, inert, link, listed
from raggate.text.nearest import nearest_few

_CLAIMED = "<sub>What was retrieved is what the run itself says. It was judged anew by the base commit's files.</sub>"


def explain(repository: Repository, gate: ForkRun, pull: Pull, case_id: str, links: Links) -> Reply:
    """Explain how a question stands in the newest run for the head of a pull request.

    Args:
        repository: where the pull request goes into; the token may read actions and contents.
        gate: the gate, in a checkout of trusted code.
        pull: the pull request.
        case_id: which question, as somebody wrote it.
        links: what links are made of.

    Raises:
        CannotTell: when there is no such workflow file.
        GitHubError: when GitHub refuses.
    """
    head = commit_link(links, pull.head_sha)
    record = runs.newest(repository, pull, gate.workflow)
    if record is None:
        return Reply(
            text=f"There is no run of the gate's workflow for {head}, so nothing can be explained.", done=False
        )
    name = link(f"run {record['id']}", address(record.get("html_url")), links)
    if record.get("status") != "completed":
        return Reply(text=f"The gate's {name} for {head} has not ended yet. Ask again when it has.", done=False)
    event = replace(gate.event, source_run=_source(record, pull))
    outcome = fork_comment.evaluate(repository, replace(gate, event=event), pull)
    where = f"{head}, {name}"
    if outcome.review is None:
        return _without_review(outcome, where)
    return of_question(outcome.review, case_id, where, replace(links, prefix=gate.prefix))


def _source(record: Mapping[str, Any], pull: Pull) -> SourceRun:
    return SourceRun(
        id=int(record["id"]),
        attempt=runs.attempt_of(record),
        event="pull_request",
        head_sha=pull.head_sha,
        head_branch=str(record.get("head_branch") or ""),
        head_repository=pull.head_repository,
        conclusion=str(record.get("conclusion") or ""),
        run_started_at=str(record.get("run_started_at") or ""),
        path=str(record.get("path") or ""),
    )


def _without_review(outcome: StepOutcome, where: str) -> Reply:
    reason = outcome.reason
    lines = [f"There is no verdict for {where}, so no question can be explained:"]
    lines += [inert(text, limit=600, middle=True) for text in (*reason.lines[:3], reason.hint) if text]
    return Reply(text="\n\n".join(lines), done=False)


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
        return Reply(text=f"{where}:\n\n{sentence}", done=False)
    if (part := review.run.selection) is not None:
        # of the golden set the run has what it asked alone
        sentence = f"{part.sentence[:1].upper()}{part.sentence[1:]}. Question {question} is not among these."
        return Reply(text=f"{where}:\n\n{sentence}", done=False)
    names = nearest_few(case_id, ids)
    advice = f" Like it: {listed(names)}." if names else ""
    return Reply(text=f"{golden.noun.capitalize()} of the base commit has no question {question}.{advice}", done=False)
