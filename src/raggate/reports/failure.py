"""The page of a run that ended without a verdict: the reason, what to do, and the API's last words."""

from __future__ import annotations

from collections.abc import Mapping

from raggate.base.errors import ExitCode
from raggate.models.publication import Publication, RunFailure
from raggate.reports.parts import header
from raggate.reports.parts.document import KEPT, Paragraph, Part, Span, bold, line

SHOWN_LINES = 30
"""Lines of a message of several problems."""

_NEXT: Mapping[int, str] = {
    ExitCode.USAGE: "Correct what is named above, then push or run it again. Nothing was measured.",
    ExitCode.CANNOT_TELL: "Find the cause in the log, then run the job again. Nothing is said about the quality of "
    "this change: it could not be measured well enough.",
    ExitCode.INTERRUPTED: "Run the job again for a verdict: it was cancelled before there was one.",
    ExitCode.INTERNAL: "Please report it: this is a bug in raggate, not in this change. The traceback is in the log of "
    "the job.",
}
_RELAYED: Mapping[int, str] = {
    ExitCode.USAGE: "Correct what is named above in the files of the base branch, or in the workflow that judges: a "
    "push to this change corrects neither. Nothing was judged.",
    ExitCode.CANNOT_TELL: "What is above says why; the log of the workflow run may say more. Nothing is said about the "
    "quality of this change: it could not be judged.",
}
"""Where a trusted workflow judges what an untrusted run has measured."""

_CLAIMED = (
    "Look into the log of the run: all that is known of it is its own word. Nothing is said about the quality of this "
    "change."
)
_KILLED = (
    "Run the job again; if it ends so again, look at its log and at the memory of the runner. It ended without a word, "
    "as when it is killed or out of memory."
)


def sections_of(failure: RunFailure, publication: Publication) -> list[Part]:
    """Return the parts of a page about a run without a verdict."""
    first, *others = failure.lines[:SHOWN_LINES]
    lines = [line(Span(first, "bold", 1500)), *(line(Span(text, limit=1500)) for text in others)]
    if len(failure.lines) > SHOWN_LINES:
        lines.append(line(f"… and {len(failure.lines) - SHOWN_LINES} more"))
    hint = (Paragraph((line(Span(failure.hint, limit=600)),)),) if failure.hint else ()
    steps = {**_NEXT, **_RELAYED} if failure.relayed else _NEXT
    step = _CLAIMED if failure.claimed else steps.get(failure.exit_code, _KILLED)
    target = publication.links.run if publication.links is not None else None
    run = line(Span("Workflow run with the log", target=target)) if target else line(f"run {failure.run_id}")
    return [
        header.head(failure.label, failure.suite or "", lines),
        header.notes(publication),
        Part(name="the hint", blocks=hint, rank=1),
        Part(name="what to do next", blocks=(Paragraph((line(bold("Next:"), f" {step}"),)),), rank=KEPT),
        header.waivers(failure.waivers),
        header.log(failure.log),
        header.pushes(publication),
        Part(
            name="the workflow run", blocks=(Paragraph((run,), soft=True),) if target or failure.run_id else (), rank=2
        ),
    ]
