"""Several suites of one step, worst first: the comment, the step summary, and the end of a terminal. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from raggate.models.publication import Links, Publication
from raggate.models.suites import NOT_RUN, SuiteOutcome, ranked, worst
from raggate.reports import failure
from raggate.reports.parts import header, sections
from raggate.reports.parts.budget import COMMENT_LIMIT, KEPT, Section, fit, utf8_bytes, utf16_units
from raggate.reports.parts.markup import folded, inert, live_link, table
from raggate.text.escape import log_line, markdown as safe
from raggate.text.numbers import counted

TOP = 3
"""Suites that a loud comment names."""

NAME = 80
"""Characters of the name of a suite."""

_HEADLINE = 160
_PAGE = 30_000
_SHORT_PAGE = 6_000
_ABOVE = frozenset(("verdict", "notes", "earlier pushes", "the message", "the workflow run"))
"""Sections of a suite's own comment that all suites of a step have in common, or that its first lines say."""

LinksOf = Callable[[SuiteOutcome], Links | None]
"""What the links about one suite are made of."""


def summed(outcomes: Sequence[SuiteOutcome]) -> str:
    """Count the suites by how they ended, worst first: `40 suites: 1 cannot tell, 2 regression, 37 pass`."""
    kinds = Counter(outcome.verdict for outcome in ranked(outcomes))
    return f"{counted(len(outcomes), 'suite')}: {', '.join(f'{count} {kind}' for kind, count in kinds.items())}"


def overall(outcomes: Sequence[SuiteOutcome]) -> str:
    """Name how the step ended: the verdict of its worst suite; a pass only where one was measured."""
    return ranked(outcomes)[0].verdict


def render(
    outcomes: Sequence[SuiteOutcome], publication: Publication, links_of: LinksOf, *, limit: int = COMMENT_LIMIT
) -> str:
    """Render the comment about all suites of a step.

    Args:
        outcomes: how each ended; at least one.
        limit: UTF-16 units that it may take. A line for each suite is always kept; what is cut is named.
    """
    where = sections.elsewhere(publication)
    return fit(_sections(outcomes, publication, links_of, full=False), limit, utf16_units, elsewhere=where)


def render_summary(outcomes: Sequence[SuiteOutcome], publication: Publication, links_of: LinksOf, *, limit: int) -> str:
    """Render the step summary about all suites of a step, in at most `limit` bytes of UTF-8; see `render`."""
    where = "in the run directories"
    return fit(_sections(outcomes, publication, links_of, full=True), limit, utf8_bytes, elsewhere=where)


def render_alert(outcomes: Sequence[SuiteOutcome], publication: Publication, *, sticky: str, rerun: bool) -> str:
    """Render the short comment that is posted anew when a step that passed does so no more; see `comment`."""
    when = "on a re-run of the same commit" if rerun else "since the last push"
    verdict = overall(outcomes)
    lost = [outcome for outcome in ranked(outcomes) if outcome.verdict not in {"pass", NOT_RUN}]
    named = [
        f"- {header.sign(outcome.verdict)} {safe(outcome.suite, limit=NAME)}: {safe(outcome.verdict, limit=40)}. "
        f"{inert(outcome.headline, limit=300, middle=True)}"
        for outcome in lost[:TOP]
    ]
    more = [f"- … and {counted(len(lost) - TOP, 'more suite')}"] if len(lost) > TOP else []
    everything = live_link("Everything that changed", sticky, publication.links)
    head = f"{header.sign(verdict)} **raggate: {safe(verdict, limit=40)} {when}.** {summed(outcomes)}."
    return "\n\n".join(filter(None, [head, "\n".join([*named, *more]), everything])) + "\n"


def _sections(
    outcomes: Sequence[SuiteOutcome], publication: Publication, links_of: LinksOf, *, full: bool
) -> list[Section]:
    def of_suite(outcome: SuiteOutcome) -> Publication:
        return Publication(links=links_of(outcome), relayed=publication.relayed)

    ordered = ranked(outcomes)
    return [
        _opening(ordered),
        header.notes(publication),
        header.pushes(publication),
        _overview(ordered),
        # the best are shortened first
        *(_block(outcome, of_suite(outcome), place, full=full) for place, outcome in enumerate(ordered, 5)),
        *_workflow_run(publication),
    ]


def _opening(ordered: Sequence[SuiteOutcome]) -> Section:
    lines = [f"**{summed(ordered)}.**", "Each has its own verdict, and the worst is that of the step."]
    return Section(name="verdict", rank=KEPT, variants=(header.head(overall(ordered), None, lines),))


def _overview(ordered: Sequence[SuiteOutcome]) -> Section:
    """Write a line for each suite; there is none that leaves it out."""
    variants = tuple(
        table(
            ["suite", "verdict", *(["why"] if width else [])],
            (
                [
                    safe(outcome.suite, limit=NAME),
                    f"{header.sign(outcome.verdict)}&nbsp;{safe(outcome.verdict, limit=40)}",
                    *([inert(outcome.headline, limit=width, middle=True)] if width else []),
                ]
                for outcome in ordered
            ),
        )
        for width in (300, 100, 0)
    )
    return Section(name="reasons", rank=KEPT, variants=variants)


def _block(outcome: SuiteOutcome, publication: Publication, rank: int, *, full: bool) -> Section:
    """Fold what one suite has to say, under its name."""
    name = safe(outcome.suite, limit=NAME)
    title = f"{header.sign(outcome.verdict)} {name}: {safe(outcome.verdict, limit=40)}"
    parts = list(_page(outcome, publication, full=full))
    where = sections.elsewhere(publication)
    pages = (fit(parts, limit, utf16_units, elsewhere=where) for limit in (_PAGE, _SHORT_PAGE))
    return Section(name=f"suite {name}", rank=rank, variants=tuple(folded(title, page.strip()) for page in pages))


def _page(outcome: SuiteOutcome, publication: Publication, *, full: bool) -> Iterator[Section]:
    review = outcome.review
    now = "now" if full else "this PR"
    figures = [] if review is None else [safe(line, limit=600, middle=True) for line in header.number_lines(review)]
    first = [*figures, *_reasons(outcome), f"<sub>{inert(outcome.config, limit=200)}</sub>"]
    yield Section(name="verdict", rank=KEPT, variants=("<br>\n".join(first),))
    if review is not None:
        parts = sections.sections_of(review, publication, now=now, full=full)
    else:
        parts = failure.sections_of(outcome.failure, publication) if outcome.failure is not None else []
    yield from (part for part in parts if part.name not in _ABOVE)


def _reasons(outcome: SuiteOutcome) -> list[str]:
    if outcome.failure is None:
        return [f"**{inert(outcome.headline, limit=600, middle=True)}**"]
    shown = [inert(line, limit=600, middle=True) for line in outcome.failure.lines[:10]]
    left = len(outcome.failure.lines) - len(shown)
    return [f"**{shown[0]}**", *shown[1:], *([f"… and {left} more"] if left > 0 else [])]


def _workflow_run(publication: Publication) -> Iterator[Section]:
    links = publication.links
    words = "Workflow run that measured" if publication.relayed else "Workflow run with the whole reports"
    run = live_link(words, links.run if links is not None else None, links)
    if run:
        yield Section(name="the workflow run", rank=2, variants=(f"<sub>{run}</sub>",))


def render_text(outcomes: Sequence[SuiteOutcome]) -> str:
    """Render the overview that ends a command of several suites; its last line is that of one suite alone.

    Args:
        outcomes: how each ended; at least one.
    """
    code = worst(outcome.code for outcome in outcomes)
    verdicts = max(len(outcome.verdict) for outcome in outcomes)
    names = max(len(log_line(outcome.suite, limit=NAME)) for outcome in outcomes)
    rows = (
        f"  {log_line(outcome.verdict):{verdicts}}  {log_line(outcome.suite, limit=NAME):{names}}  "
        f"{log_line(outcome.headline, limit=_HEADLINE)}".rstrip()
        for outcome in ranked(outcomes)
    )
    verdict = log_line(overall(outcomes))
    return "\n".join([f"{summed(outcomes)}", *rows, "", f"verdict: {verdict} (exit {code}), that of the worst"])
