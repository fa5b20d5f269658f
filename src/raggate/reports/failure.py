"""What is left when a run ended without a verdict: the same files, with the reason and the API's last words."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from raggate.base.errors import ExitCode
from raggate.base.escape import plain
from raggate.base.jsonio import as_dict, dumps
from raggate.models.comparison import GoldenChanges
from raggate.models.publication import Publication, RunFailure
from raggate.reports.parts import header
from raggate.reports.parts.document import KEPT, Paragraph, Part, Span, bold, line, page, utf8_bytes
from raggate.reports.verdict_file import SCHEMA

SHOWN_LINES = 30
"""Lines of a message of several problems."""

_NEXT: Mapping[int, str] = {
    ExitCode.USAGE: "Correct what is named above and push again. Nothing was measured.",
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
_NO_VALUE = ("diagnosis", "baseline", "against", "repeated", "preview", "recheck")
_NO_ITEMS = (
    "warnings",
    "metrics",
    "flips",
    "fallen",
    "misses",
    "reach",
    "invariants",
    "vault_changes",
    "config_changes",
    "not_used",
    "tests",
)
"""Keys of verdict.json that a run without a verdict has nothing for."""

_KILLED = (
    "Run the job again; if it ends so again, look at its log and at the memory of the runner. It ended without a word, "
    "as when it is killed or out of memory."
)


def render_markdown(failure: RunFailure) -> str:
    """Render why there is no verdict, for summary.md."""
    opening, hint, waivers, log = _parts(failure)
    run = Part(name="the run", blocks=(Paragraph((line(f"run {failure.run_id}"),), soft=True),))
    return page([opening, hint, waivers, log, run], utf8_bytes, sys.maxsize)


def sections_of(failure: RunFailure, publication: Publication) -> list[Part]:
    """Return the parts of a comment about a run without a verdict."""
    opening, hint, waivers, log = _parts(failure)
    links = publication.links
    steps = {**_NEXT, **_RELAYED} if failure.relayed else _NEXT
    step = _CLAIMED if failure.claimed else steps.get(failure.exit_code, _KILLED)
    target = links.run if links is not None else None
    run = (Paragraph((line(Span("Workflow run with the log", target=target)),), soft=True),) if target else ()
    return [
        opening,
        header.notes(publication),
        hint,
        Part(name="what to do next", blocks=(Paragraph((line(bold("Next:"), f" {step}"),)),), rank=KEPT),
        waivers,
        log,
        header.pushes(publication),
        Part(name="the workflow run", blocks=run, rank=2),
    ]


def _parts(failure: RunFailure) -> tuple[Part, Part, Part, Part]:
    first, *others = failure.lines[:SHOWN_LINES]
    lines = [line(Span(first, "bold", 1500)), *(line(Span(text, limit=1500)) for text in others)]
    if len(failure.lines) > SHOWN_LINES:
        lines.append(line(f"… and {len(failure.lines) - SHOWN_LINES} more"))
    hint = (Paragraph((line(Span(failure.hint, limit=600)),)),) if failure.hint else ()
    return (
        header.head(failure.label, failure.suite or "", lines),
        Part(name="the hint", blocks=hint, rank=1),
        header.waivers(failure.waivers),
        header.log(failure.log),
    )


def render_json(failure: RunFailure) -> str:
    """Serialise why there is no verdict, for verdict.json."""
    message = plain(failure.message, limit=1500, middle=True)
    value = {
        "schema": SCHEMA,
        "suite": failure.suite or "",
        "run_id": failure.run_id,
        "verdict": failure.label,
        "exit_code": failure.exit_code,
        "headline": message,
        "reasons": [{"code": failure.label.replace(" ", "-"), "message": message}],
        "compared": 0,
        "golden_changes": as_dict(GoldenChanges()),
        "policy": "",
        "waivers": [as_dict(waiver) for waiver in failure.waivers],
        "first_run": False,
        **dict.fromkeys(_NO_VALUE, None),
        **dict.fromkeys(_NO_ITEMS, ()),
        "promotion_needs_permission": (),
        "hint": plain(failure.hint, limit=1000, middle=True),
        "log": [plain(line) for line in failure.log],
    }
    return dumps(value, pretty=True).decode()
