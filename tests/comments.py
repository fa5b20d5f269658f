"""Comments of every kind, each rendered when it is asked for."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from builders import make_flip
from raggate.models.publication import Links, Publication, Push, RunFailure
from raggate.models.verdict import Review
from raggate.reports import comment
from raggate.reports.parts.document import SMALLEST_LIMIT
from reviews import headings_otherwise, review

OURS = "https://forge.example/team/notes-api/"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
LINKS = Links(
    server="https://forge.example",
    repository="team/notes-api",
    commit=COMMIT,
    head="f" * 40,
    run=f"{OURS}actions/runs/42",
)
LINKED = Publication(links=LINKS)
PUSHED = Publication(
    links=LINKS,
    pushes=tuple(
        Push(head=f"{number}a{number}b{number}c{number}d" * 5, verdict=verdict, run=number)
        for number, verdict in enumerate(("pass", "pass", "cannot tell", "pass", "regression"), 1)
    ),
)
RELAYED = Publication(links=LINKS, relayed=True, notes=("The step is green all the same, because of fail-on: never.",))
USAGE = RunFailure(
    label="usage error",
    exit_code=2,
    lines=(
        "raggate.yml:14: gate.tolerence: unknown key. Did you mean 'tolerance'?",
        "raggate.yml:20: ask.k: expected a number from 1, found 'ten'",
    ),
    hint="docs/configuration.md lists every key.",
    suite="notes",
)
NOT_READY = RunFailure(
    label="cannot tell",
    exit_code=3,
    lines=("the API was not ready after 60 s: GET /api/health: connection refused",),
    hint="Is it listening on the port that {port} stands for?",
    log=("listening on :8080", "", "panic: no vault"),
    suite="notes",
)
INTERRUPTED = RunFailure(label="interrupted", exit_code=130, lines=("interrupted after 3 of 24 calls",), suite="notes")
KILLED = RunFailure(label="killed", exit_code=137, lines=("the container was killed (exit code 137)",))
CRASHED = RunFailure(
    label="internal error", exit_code=70, lines=("KeyError: 'mode'",), hint="Report it.", suite="notes"
)
FAILURES = {"usage-error": USAGE, "not-ready": NOT_READY}
"""Runs without a verdict, of which a terminal says it in words of its own."""

STICKY = f"{OURS}pull/7#issuecomment-1"


def foreign_enough() -> Review:
    """Return a regression with more questions than fit."""
    found = review("placed")
    flips = tuple(make_flip(f"q{number}", why="not found. " * 20) for number in range(200))
    return replace(found, comparison=replace(found.comparison, flips=flips))


KINDS: dict[str, Callable[[], str]] = {
    "pass": lambda: comment.render(review("pass"), LINKED),
    "pass-with-warnings": lambda: comment.render(review("slightly-worse"), LINKED),
    "regression": lambda: comment.render(review("placed"), PUSHED),
    "regression-short": lambda: comment.render(foreign_enough(), LINKED, limit=SMALLEST_LIMIT),
    "cannot-tell": lambda: comment.render(review("cannot-tell"), LINKED),
    "no-baseline": lambda: comment.render(review("first-run"), LINKED),
    "invariant-broken": lambda: comment.render(review("invariant-broken"), LINKED),
    "first-run": lambda: comment.render(review("introduced"), LINKED),
    "nothing-matches": lambda: comment.render(review("nothing-matches"), LINKED),
    "headings-otherwise": lambda: comment.render(headings_otherwise(), LINKED),
    "new-mode": lambda: comment.render(review("new-mode"), LINKED),
    "relayed": lambda: comment.render(review("placed"), RELAYED),
    "preview": lambda: comment.render(review("preview"), LINKED),
    "breaks-the-gate": lambda: comment.render(review("breaks-the-gate"), LINKED),
    "several-modes": lambda: comment.render(review("several-modes"), LINKED),
    "bare-metrics-file": lambda: comment.render(review("bare-metrics-file"), LINKED),
    "waivers": lambda: comment.render(review("waived"), LINKED),
    "without-links": lambda: comment.render(review("placed"), Publication()),
    "usage-error": lambda: comment.render(USAGE, LINKED),
    "not-ready": lambda: comment.render(NOT_READY, LINKED),
    "interrupted": lambda: comment.render(INTERRUPTED, PUSHED),
    "killed": lambda: comment.render(KILLED, LINKED),
    "internal-error": lambda: comment.render(CRASHED, LINKED),
    "alert": lambda: comment.render_alert(review("placed"), LINKED, sticky=STICKY),
    "alert-ended": lambda: comment.render_alert(NOT_READY, LINKED, sticky=STICKY),
    "alert-rerun": lambda: comment.render_alert(review("placed"), LINKED, sticky=STICKY, rerun=True),
    "alert-invariant": lambda: comment.render_alert(review("invariant-broken"), LINKED),
}
