"""The text of a proposed waiver: what it lets through, until when, why, and who asked for it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from raggate.config.waiver_settings import Waiver
from raggate.models.publication import Links
from raggate.reports.parts.markup import bullets, heading_alert, inert, link
from raggate.reports.parts.pull_requests import CHECKS, pull_title, title_text, unsigned_warning
from raggate.text.numbers import counted
from raggate.text.quote import cut

_LONG = 120
_SHOWN = 20
"""Questions that are listed with their words."""


class Question(Struct, frozen=True, kw_only=True):
    """A question that is waived: its id, its words, and whether it must pass."""

    id: str
    text: str
    must_pass: bool


class WaiverProposal(Struct, frozen=True, kw_only=True):
    """Waivers that somebody asked for in a comment, alike but for the question.

    Attributes:
        waivers: at least one.
        questions: those that are waived; none where it is a metric.
        suite: of the configuration.
        path: of the configuration in the repository.
        target: the branch it is for.
        days_left: whole days until the last one.
        number: of the pull request in which it was asked for.
        comment: the id of the comment.
        links: what links are made of.
    """

    waivers: Sequence[Waiver]
    questions: Sequence[Question]
    suite: str
    path: str
    target: str
    days_left: int
    number: int
    comment: int
    links: Links

    @property
    def first(self) -> Waiver:
        """What all of them have in common."""
        return self.waivers[0]

    @property
    def subject(self) -> str:
        """Name what is waived: foreign text."""
        mode = f" in {self.first.mode}" if self.first.mode else ""
        if self.first.metric is not None:
            return f"metric {self.first.metric}{mode}"
        names = ", ".join(waiver.case or "" for waiver in self.waivers)
        return f"{'question' if len(self.waivers) == 1 else 'questions'} {names}{mode}"

    @property
    def until(self) -> str:
        """The last day, and how far away it is."""
        away = f"{counted(self.days_left, 'day')} from now" if self.days_left else "today"
        return f"{self.first.expires} ({away})"


def title(proposal: WaiverProposal) -> str:
    """Write the title of the pull request and the commit."""
    number = len(proposal.questions)
    # the day is not to be cut off
    subject = (
        f"{number} questions" if number > 1 and len(proposal.subject) > _LONG else cut(proposal.subject, limit=_LONG)
    )
    return pull_title(f"Waive {subject} until {proposal.first.expires}")


def message(proposal: WaiverProposal) -> list[str]:
    """Write the lines of the commit message below the title."""
    asked = f"Asked for by {proposal.first.owner} in pull request {proposal.number}, comment {proposal.comment}"
    return [title_text(f"Reason: {proposal.first.reason}"), title_text(asked)]


def render(proposal: WaiverProposal, *, unsigned: str = "") -> str:
    """Render the text of the pull request.

    Args:
        proposal: the waivers.
        unsigned: why GitHub did not sign the commit; empty where it did.
    """
    subject = inert(proposal.subject, limit=300)
    if proposal.questions:
        opening = f"**{subject[:1].upper()}{subject[1:]} of suite {inert(proposal.suite)} may be lost"
    else:
        opening = f"**{subject[:1].upper()}{subject[1:]} of suite {inert(proposal.suite)} may be worse than allowed"
    lines = [
        f"{opening} on {inert(proposal.target, limit=120)} until {proposal.until}.**",
        f"Reason: {inert(proposal.first.reason, limit=500)}",
        f"Asked for by {inert(proposal.first.owner)} in {asked_in(proposal)}.",
    ]
    if unsigned:
        lines.append(unsigned_warning(unsigned))
    head = "## 🔸 raggate: a waiver\n\n" + heading_alert("CAUTION", *lines)
    asked = bullets(proposal.questions, _question, _SHOWN)
    sections = [head, asked, f"### What it means\n\n{_meaning(proposal)}", f"### Checks\n\n{CHECKS}"]
    return "\n\n".join(filter(None, sections)) + "\n"


def reply(proposal: WaiverProposal, url: str, *, already: bool) -> str:
    """Write the reply to the comment.

    Args:
        proposal: the waivers.
        url: of the pull request.
        already: whether it proposed exactly this before.
    """
    opened = link("A pull request", url, proposal.links)
    verb = "proposes already" if already else "proposes"
    subject, target = inert(proposal.subject), inert(proposal.target, limit=120)
    return (
        f"{opened} {verb} to waive {subject} until {proposal.until}, on the responsibility of "
        f"{inert(proposal.first.owner)}. Nothing is waived before somebody merges it into {target}; the gate judges it "
        "as any other and shows it there, once its checks have run, as a setting that loosens the gate. After the "
        "merge, update the branch of this pull request: `/raggate recheck` alone judges by the base commit of before."
    )


def asked_in(proposal: WaiverProposal) -> str:
    """Link the comment."""
    links = proposal.links
    page = f"{links.server}/{links.repository}/pull/{proposal.number}#issuecomment-{proposal.comment}"
    return link(f"a comment on pull request {proposal.number}", page, links)


def _question(question: Question) -> str:
    marks = " 🔒 must pass" if question.must_pass else ""
    return f"- **{inert(question.text, limit=200)}** <sub>{inert(question.id, limit=80)}</sub>{marks}"


def _meaning(proposal: WaiverProposal) -> str:
    entries = "one entry" if len(proposal.waivers) == 1 else f"{len(proposal.waivers)} entries"
    which = "each" if len(proposal.waivers) > 1 else "the"
    effect = (
        "While it lasts, a loss of the metric is a warning, also below its floor, and so is that of its slices."
        if proposal.first.metric is not None
        else f"While it lasts, {which} question is left out of the means where questions are paired, and is a warning "
        "where it must pass and does not."
    )
    return "\n".join(
        (
            f"- It adds {entries} to `waivers` of {inert(proposal.path, limit=200)} and changes nothing else.",
            f"- {effect} Every report lists it.",
            "- Once it is merged, it counts for every change that is judged by this branch, not for one pull request.",
            f"- It lasts until {proposal.first.expires} in UTC. From the next day on it makes the gate red until "
            "somebody removes or renews it.",
            "- Opened with a workflow's own token, it is not by whoever asked for it: GitHub lets them approve it.",
        )
    )
