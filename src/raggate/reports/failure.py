"""What is left when a run ended without a verdict: the same files, with the reason and the API's last words."""

from __future__ import annotations

from collections.abc import Mapping

from raggate.errors import ExitCode
from raggate.models.comparison import GoldenChanges
from raggate.models.publication import Publication, RunFailure
from raggate.reports.parts import header
from raggate.reports.parts.budget import KEPT, Section
from raggate.reports.parts.markup import live_link
from raggate.reports.verdict_file import SCHEMA
from raggate.text.escape import markdown as safe, plain
from raggate.text.jsonio import as_dict, dumps

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
    parts = [section.variants[0] for section in _sections(failure) if section.variants]
    return "\n\n".join([*filter(None, parts), f"<sub>run {safe(failure.run_id)}</sub>"]) + "\n"


def sections_of(failure: RunFailure, publication: Publication) -> list[Section]:
    """Return the sections of a comment about a run without a verdict."""
    opening, hint, waivers, log = _sections(failure)
    links = publication.links
    steps = {**_NEXT, **_RELAYED} if failure.relayed else _NEXT
    step = _CLAIMED if failure.claimed else steps.get(failure.exit_code, _KILLED)
    run = live_link("Workflow run with the log", links.run if links is not None else None, links)
    return [
        opening,
        header.notes(publication),
        hint,
        Section(name="what to do next", rank=KEPT, variants=(f"**Next:** {step}",)),
        waivers,
        log,
        header.pushes(publication),
        Section(name="the workflow run", rank=2, variants=(f"<sub>{run}</sub>" if run else "",)),
    ]


def _sections(failure: RunFailure) -> tuple[Section, Section, Section, Section]:
    suite = failure.suite or ""
    variants = []
    for width, most, wide in ((1500, SHOWN_LINES, 300), (300, 10, 60), (200, 3, 60)):
        first, *others = [safe(line, limit=width, middle=True) for line in failure.lines[:most]]
        lines = [f"**{first}**" if first.strip() else first, *others]
        if len(failure.lines) > most:
            lines.append(f"… and {len(failure.lines) - most} more")
        variants.append(header.head(failure.label, safe(suite, limit=wide), lines))
    hints = tuple(safe(failure.hint, limit=width, middle=True) for width in (600, 200) if failure.hint)
    return (
        Section(name="the message", rank=KEPT, variants=tuple(variants)),
        Section(name="the hint", rank=1, variants=hints),
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
