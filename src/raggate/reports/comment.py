"""Pages of Markdown about a review or a run without one: comment, summary.md, step summary, a branch's issue."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from raggate.base.errors import ExitCode
from raggate.base.escape import markdown as safe, plain
from raggate.models.publication import Links, Publication, Push, RunFailure
from raggate.reports.parts import formatting, header, metric_tables, questions, sections
from raggate.reports.parts.document import (
    COMMENT_LIMIT,
    KEPT,
    SUMMARY_BYTES,
    Line,
    Paragraph,
    Part,
    Span,
    bold,
    commit,
    line,
    markdown_item,
    page,
    utf8_bytes,
    utf16_units,
)
from raggate.reports.parts.markup import commit_link, link, ours

if TYPE_CHECKING:
    from raggate.reports import Ended

SHOWN_LINES = 30
"""Lines of a message of several problems."""

_NEXT: Mapping[int, str] = {
    ExitCode.USAGE: "Correct what is named above, then push or run it again. Nothing was measured.",
    ExitCode.CANNOT_TELL: "Find the cause in the log, then run the job again. This says nothing about your change: it "
    "could not be measured.",
    ExitCode.INTERRUPTED: "Run the job again: it was cancelled before it had a verdict.",
    ExitCode.INTERNAL: "Please report this bug in raggate. Your change did not cause it. The traceback is in the log "
    "of the job.",
}
_RELAYED: Mapping[int, str] = {
    ExitCode.USAGE: "Correct it in the files of the base branch, or in the workflow that judges. A push to this pull "
    "request cannot correct it. Nothing was judged.",
    ExitCode.CANNOT_TELL: "The message above says why, and the log of the workflow run may say more. This says nothing "
    "about your change: it could not be judged.",
}
"""Where a trusted workflow judges what an untrusted run has measured."""

_CLAIMED = "Read the log of that run: nothing else is known about it. This says nothing about your change."
_KILLED = (
    "Run the job again. It stopped without output: it may have been killed, or have run out of memory. If it stops "
    "again, read its log and check the memory of the runner."
)
TOP = 3
"""What a loud comment names."""


def parts_of(ended: Ended, publication: Publication) -> list[Part]:
    """Return the parts of a page about a verdict, or about why there is none."""
    if isinstance(ended, RunFailure):
        return _of_failure(ended, publication)
    return sections.sections_of(ended, publication)


def _of_failure(failure: RunFailure, publication: Publication) -> list[Part]:
    first, *others = failure.lines[:SHOWN_LINES]
    lines = [line(Span(first, "bold", 1500)), *(line(Span(text, limit=1500)) for text in others)]
    if len(failure.lines) > SHOWN_LINES:
        lines.append(line(f"… and {len(failure.lines) - SHOWN_LINES} more"))
    hint = (line(Span(failure.hint, limit=600)),) if failure.hint else ()
    steps = {**_NEXT, **_RELAYED} if failure.relayed else _NEXT
    step = _CLAIMED if failure.claimed else steps.get(failure.exit_code, _KILLED)
    target = publication.links.run if publication.links is not None else None
    known = target or failure.run_id
    run = line(Span("Workflow run with the log", target=target)) if target else line(f"run {failure.run_id}")
    return [
        header.head(failure.label, failure.suite or "", lines),
        header.notes(publication),
        Part(name="the hint", blocks=(Paragraph(hint),), rank=1),
        Part(name="what to do next", blocks=(Paragraph((line(bold("Next:"), f" {step}"),)),), rank=KEPT),
        header.waivers(failure.waivers),
        header.log(failure.log),
        header.pushes(publication),
        Part(name="the workflow run", blocks=(Paragraph((run,), soft=True),) if known else (), rank=2),
    ]


def render(ended: Ended, publication: Publication, *, limit: int = COMMENT_LIMIT) -> str:
    """Render the comment that is kept up to date, in at most `limit` UTF-16 units without its marker lines."""
    where = sections.elsewhere(publication)
    return page(parts_of(ended, publication), utf16_units, limit, links=publication.links, elsewhere=where)


def render_alert(ended: Ended, publication: Publication, *, sticky: str | None = None, rerun: bool = False) -> str:
    """Render the short comment that notifies of a lost pass; with `rerun` the very commit that passed lost it."""
    worst: list[Line] = []
    if isinstance(ended, RunFailure):
        verdict, suite, sentence = ended.label, ended.suite or "", ended.lines[0]
        rest = "The whole message, and what to do next"
    else:
        verdict, suite, sentence = ended.verdict.outcome, ended.run.suite, ended.verdict.headline
        rest, several = "Everything that changed", ended.scorecard.several_modes
        # what was compared says nothing of the change if nothing is decided
        if not formatting.undecided(ended):
            worst = [questions.in_line(flip, several=several) for flip in ended.lost[:TOP]]
            worst = worst or [line(text) for text in metric_tables.in_words(ended, TOP)]
    of_suite = f" (suite {safe(suite, limit=60)})" if suite else ""
    head = f"{lost(verdict, of_suite, rerun=rerun)} {safe(sentence, limit=300, middle=True)}"
    return paragraphs(head, "\n".join(markdown_item([own]) for own in worst), whole(rest, sticky, publication))


def lost(verdict: str, of_suite: str, *, rerun: bool) -> str:
    """The sentence that a pass was lost, and since when."""
    when = "on a re-run of the same commit" if rerun else "since the last push"
    return f"{header.sign(verdict)} **raggate{of_suite}: {safe(verdict, limit=40)} {when}.**"


def whole(text: str, sticky: str | None, publication: Publication) -> str:
    """Link the comment that is kept up to date; empty if its address is not one of the repository."""
    return link(text, sticky, publication.links) if ours(sticky, publication.links) else ""


def paragraphs(*texts: str) -> str:
    """Set paragraphs one below the other, without empty ones."""
    return "\n\n".join(filter(None, texts)) + "\n"


def issue_title(ended: Ended, branch: str) -> str:
    """Name the issue about a branch, in plain text: how many questions broke there, or the verdict."""
    if isinstance(ended, RunFailure):
        what, suite = ended.label, ended.suite or ""
    else:
        what, suite = header.heading(ended) or ended.verdict.outcome, ended.run.suite
    return f"raggate: {what} on {plain(branch, limit=80)} (suite {plain(suite, limit=80)})"


def render_issue(ended: Ended, publication: Publication, pushes: Sequence[Push], branch: str, *, limit: int) -> str:
    """Render the issue about a branch in at most `limit` bytes: the report, and since which push it is red."""
    links, name = publication.links, bold(branch, 100)
    first, newest = (commit(push.head, links) for push in (pushes[0], pushes[-1]))
    last = (", last at ", newest) if len(pushes) > 1 else ()
    told = line(name, " has been red since ", first, *last)
    about = [line("Commits merged together with the first one may be the cause too. A pass closes this issue.")]
    if pushes[-1].verdict == "pass":
        told, about = line("✅ ", name, " passes again: ", newest, ". Red since ", first), []
    blocks = (Paragraph((told,)), Paragraph(tuple(about), soft=True))
    top, *rest = parts_of(ended, publication)
    parts = [top, Part(name="since when", blocks=blocks, rank=KEPT), *rest]
    return page(parts, utf8_bytes, limit, links=links, elsewhere=sections.elsewhere(publication))


def closing(first: Push, passed: Push, links: Links) -> str:
    """The comment that closes the issue: it passes again, and which commit failed first."""
    return f"✅ It passes again: {commit_link(links, passed.head)}. Red since {commit_link(links, first.head)}.\n"


def render_whole(ended: Ended) -> str:
    """Render a whole run, without a limit and without links."""
    return page(parts_of(ended, sections.HERE), utf8_bytes, sys.maxsize)


def render_summary(ended: Ended, publication: Publication, *, limit: int = SUMMARY_BYTES) -> str:
    """Render a whole run for the step summary, with links, in at most `limit` bytes of UTF-8."""
    parts = parts_of(ended, publication)
    return page(parts, utf8_bytes, limit, links=publication.links, elsewhere="in the run directory")
