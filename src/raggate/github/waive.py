"""`/raggate waive`: a pull request that adds a waiver to the configuration of the branch that judges.

The pull request in which it is asked for is not written to, and nothing of it is read: configuration and golden set
are those of its base branch.
"""

from __future__ import annotations

import hashlib
import re
from functools import partial

from msgspec import Struct

from raggate.config import schema
from raggate.config.retrieval_modes import asked_in
from raggate.config.schema import Config
from raggate.config.waiver_settings import Waiver
from raggate.config.waiver_text import with_waivers
from raggate.github import bases, proposal, waiver_request
from raggate.github.comment_commands import Unclear
from raggate.github.fork_comment import ForkRun
from raggate.github.proposal import Change, ProposedFile, Standing, Words
from raggate.github.reply import Reply
from raggate.github.rest.commits import Committed
from raggate.github.rest.exchange import address
from raggate.github.rest.failures import GitHubError
from raggate.github.rest.git_objects import Objects
from raggate.github.rest.pulls import Pull
from raggate.github.rest.repository import Repository
from raggate.github.runner.event import WrittenComment
from raggate.github.waiver_request import WaiverRequest
from raggate.inputs import golden, golden_part
from raggate.inputs.committed import Commit
from raggate.models.golden import Golden
from raggate.models.publication import Links
from raggate.pipeline.trusted_inputs import check_names
from raggate.reports import waiver as words
from raggate.reports.parts.markup import inert, link, listed
from raggate.scoring import figures, score
from raggate.text.dates import days_until
from raggate.text.jsonio import dumps
from raggate.text.nearest import nearest_few
from raggate.text.redact import redact
from raggate.text.scratch import scratch_directory

_WORDS = Words(file="configuration", act="command", again="Give the command again.")
_MARK = "Raggate-Waiver"
_MARKED = re.compile(rf"^{_MARK}: [1-9][0-9]{{0,18}}$", re.MULTILINE)
_MAY_NOT = (
    "GitHub does not let the token of this workflow write to the repository, so nothing was proposed: `waive` needs "
    "the permission `contents: write`, which the job in docs/commands.md has."
)


class _Base(Struct, frozen=True, kw_only=True):
    """The base branch of a pull request: its name, its head, and what stands there. `data` is the configuration."""

    branch: str
    head: str
    data: bytes
    name: str
    settings: Config
    golden: Golden


class _Refusal(Exception):
    """Why nothing is proposed, as Markdown in which nothing foreign is live."""


def waive(
    repository: Repository,
    gate: ForkRun,
    pull: Pull,
    comment: WrittenComment,
    argument: str,
    links: Links,
    *,
    token: str,
    now: str,
) -> Reply:
    """Propose a waiver by a pull request against the base branch, once for the same questions.

    Args:
        repository: where the pull request goes into; the token may write contents and pull requests.
        gate: the gate, in a checkout of trusted code.
        pull: the pull request in which it is asked for.
        comment: which asks, by somebody who may write.
        argument: what follows the command.
        links: what links are made of.
        token: which must stand in nothing that is written.
        now: ISO 8601 timestamp in UTC.

    Raises:
        UsageError: for a base branch that is not judged, and inputs there that cannot be used or added to.
        CannotTell: when somebody else wrote at the same time.
        GitHubError: when GitHub refuses.
    """
    try:
        request, days_left = _request(argument, now)
        bases.check(pull.base_ref, gate.event.default_branch, gate.bases)
        base = _base(repository, gate, pull)
        waivers = _waivers(request, base, comment.author)
        _refuse_standing(waivers, base, now)
        what = words.WaiverProposal(
            waivers=waivers,
            questions=_questions(waivers, base),
            suite=base.settings.suite,
            path=gate.config_path,
            target=base.branch,
            days_left=days_left,
            number=pull.number,
            comment=comment.id,
            links=links,
        )
        return _propose(repository, base, what, pull, token)
    except _Refusal as refusal:
        return Reply(text=str(refusal), done=False)


def _request(argument: str, now: str) -> tuple[WaiverRequest, int]:
    """Give what is asked for, and the whole days until its last one."""
    request = waiver_request.parse(argument)
    if isinstance(request, Unclear):
        raise _Refusal(request.why)
    days_left = days_until(request.day, now)
    if days_left is None or days_left < 0:
        raise _Refusal(f"{request.day} is over in UTC: the last day of a waiver is today or later.")
    return request, days_left


def branch_of(path: str, target: str, waivers: list[Waiver]) -> str:
    """Name the branch that proposes to waive something: the same for the same, whoever asks, why and until when."""
    what = sorted([waiver.metric or "", waiver.case or "", waiver.mode or ""] for waiver in waivers)
    slug = re.sub(r"[^A-Za-z0-9]+", "-", (what[0][0] or what[0][1])[:40]).strip("-").lower() or "question"
    return f"raggate/waive-{slug}-{hashlib.sha256(dumps([path, target, what])).hexdigest()[:12]}"


def _base(repository: Repository, gate: ForkRun, pull: Pull) -> _Base:
    head = repository.head_of(pull.base_ref)
    if head is None:
        branch = inert(pull.base_ref, limit=120)
        raise _Refusal(f"GitHub shows no branch {branch} to this workflow: it is gone, or the token may not read it.")
    with scratch_directory() as scratch:
        commit = Commit(Objects(repository), head, gate.prefix, scratch)
        file = gate.config_file.name
        try:
            data = commit.read(file)
        except FileNotFoundError:
            where = f"{inert(gate.config_path, limit=200)} on {inert(pull.base_ref, limit=120)}"
            raise _Refusal(f"There is no {where}, so there is nothing to add a waiver to.") from None
        name = commit.describe(file)
        settings = check_names(schema.load(data, name), name)
        try:
            whole = golden.load(commit.read(settings.golden), commit.describe(settings.golden))
        except FileNotFoundError:
            raise _Refusal(f"There is no golden set {inert(settings.golden, limit=200)}.") from None
        cases = golden_part.part_of(whole, settings.questions, partial(schema.refused, data, name))
    return _Base(branch=pull.base_ref, head=head, data=data, name=name, settings=settings, golden=cases)


def _waivers(request: WaiverRequest, base: _Base, owner: str) -> list[Waiver]:
    """Make the waivers that are asked for, of what there is."""
    settings = base.settings
    if request.mode is not None and request.mode not in settings.ask.modes:
        modes = listed(settings.ask.modes)
        raise _Refusal(f"No question is asked in mode {inert(request.mode, limit=80)}; expected one of {modes}.")
    waiver = Waiver(case="-", mode=request.mode, owner=owner, reason=request.reason, expires=request.day)
    if request.metric:
        metrics = [name for name in score.directions(settings.score.k) if settings.gate.rule(name) is not None]
        metric = figures.key(request.names, metrics)
        _check_known([metric], metrics, "The gate judges no metric")
        return [waiver.model_copy(update={"case": None, "metric": metric})]
    ids = [case.id for case in base.golden.cases]
    names = request.questions(ids)
    if names is None:
        raise _Refusal("One question or several could be meant. Add the waiver by hand.")
    noun = base.golden.noun.capitalize()
    _check_known(names, ids, f"{noun} on {inert(base.branch, limit=120)} has no question")
    for case in base.golden.cases:
        if case.id in names and request.mode is not None and not asked_in(case.modes, request.mode):
            question = inert(case.id, limit=80)
            raise _Refusal(f"Question {question} is not asked in mode {inert(request.mode, limit=80)}.")
    return [waiver.model_copy(update={"case": name}) for name in names]


def _questions(waivers: list[Waiver], base: _Base) -> list[words.Question]:
    by_id = {case.id: case for case in base.golden.cases}
    cases = [by_id[waiver.case] for waiver in waivers if waiver.case is not None]
    return [words.Question(id=case.id, text=case.question, must_pass=case.must_pass) for case in cases]


def _check_known(names: list[str], known: list[str], problem: str) -> None:
    for name in names:
        if name not in known:
            like = nearest_few(name, known)
            advice = f" Like it: {listed(like)}." if like else ""
            raise _Refusal(f"{problem} {inert(name, limit=80)}.{advice}")


def _refuse_standing(waivers: list[Waiver], base: _Base, now: str) -> None:
    """Refuse what is or was waived: as long already, or for less long, which a second waiver would not make longer."""
    for waiver in waivers:
        for old in base.settings.waivers:
            if (old.metric, old.case) != (waiver.metric, waiver.case) or old.mode not in {None, waiver.mode}:
                continue
            subject = inert(waiver.case or waiver.metric or "", limit=80)
            where, owner = f"on {inert(base.branch, limit=120)}", f"by {inert(old.owner, limit=80)}"
            if old.expires >= waiver.expires:
                raise _Refusal(f"{subject} is waived {where} already, until {old.expires} {owner}: {inert(old.reason)}")
            if (days_until(old.expires, now) or 0) < 0:
                stands, then = f"The waiver of {subject} {where} {owner} ended with {old.expires}", "It"
            else:
                stands = f"{subject} is waived {where} until {old.expires} {owner}"
                then = "When that day is over, that waiver"
            raise _Refusal(
                f"{stands}: {inert(old.reason)}\n\n{then} makes the gate red, whatever is added to it. "
                "Renew it by hand: change its `expires`."
            )


def _propose(repository: Repository, base: _Base, what: words.WaiverProposal, pull: Pull, token: str) -> Reply:
    waivers = [*what.waivers]

    def body(commit: Committed) -> str:
        return redact(words.render(what, unsigned="" if commit.verified else commit.reason), (token,))

    change = Change(
        words=_WORDS,
        branch=branch_of(what.path, base.branch, waivers),
        target=base.branch,
        head=base.head,
        files=(ProposedFile(path=what.path, present=base.data, data=with_waivers(base.data, base.name, waivers)),),
        title=words.title(what),
        message="\n".join((*words.message(what), "", f"{_MARK}: {what.comment}")),
        body=body,
    )
    try:
        result = proposal.propose(repository, change, lambda standing: _refuse_other(standing, change, what, pull))
    except GitHubError as error:
        if error.denied and error.permission == "contents: write":
            return Reply(text=_MAY_NOT, done=False)
        raise
    same = result.commit is not None and not result.commit.changed
    return Reply(text=words.reply(what, result.url, already=same and result.state != "created"), done=True)


def _refuse_other(standing: Standing, change: Change, what: words.WaiverProposal, pull: Pull) -> None:
    """Leave alone what is on the branch by anybody's hand, and the pull request in which the command was given."""
    opened = standing.pull or {}
    page = link("the pull request from there", address(opened.get("html_url")), what.links) if opened else ""
    if opened.get("number") == pull.number:
        raise _Refusal("This is the pull request that proposes the waiver. Change its file here, or close it.")
    if not _MARKED.search(standing.message):
        where = f"the branch {inert(change.branch)}"
        raise _Refusal(
            f"The last commit on {where} is not one that this command made, so nothing is written onto it. "
            + (f"Look at {page}." if page else "Delete the branch, then give the command again.")
        )
