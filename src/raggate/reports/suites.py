"""Several suites of one step, worst first: the comment, the step summary, and the end of a terminal. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from raggate.base.escape import log_line, markdown as safe
from raggate.base.numbers import counted
from raggate.models.publication import Links, Publication
from raggate.models.suites import NOT_RUN, SuiteOutcome, ranked, worst
from raggate.reports import comment
from raggate.reports.parts import header, sections
from raggate.reports.parts.document import (
    COMMENT_LIMIT,
    EACH_SUITE,
    KEPT,
    SUITE_NAME,
    Paragraph,
    Part,
    Span,
    Table,
    bold,
    line,
    page,
    utf16_units,
    with_folds,
)
from raggate.reports.parts.markup import inert

_HEADLINE = 160
_LINES = 10
_ABOVE = frozenset(("verdict", "notes", "earlier pushes", "the workflow run"))
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


def render_alert(outcomes: Sequence[SuiteOutcome], publication: Publication, *, sticky: str, rerun: bool) -> str:
    """Render the short comment that is posted anew when a step that passed does so no more."""
    lost = [outcome for outcome in ranked(outcomes) if outcome.verdict not in {"pass", NOT_RUN}]
    named = [f"- {_titled(one)}. {inert(one.headline, limit=300, middle=True)}" for one in lost[: comment.TOP]]
    more = [f"- … and {counted(len(lost) - comment.TOP, 'more suite')}"] if len(lost) > comment.TOP else []
    everything = comment.whole("Everything that changed", sticky, publication)
    head = f"{comment.lost(overall(outcomes), '', rerun=rerun)} {summed(outcomes)}."
    return comment.paragraphs(head, "\n".join([*named, *more]), everything)


def render(
    outcomes: Sequence[SuiteOutcome],
    publication: Publication,
    links_of: LinksOf,
    *,
    size: Callable[[str], int] = utf16_units,
    limit: int = COMMENT_LIMIT,
) -> str:
    """Render the page about all suites of a step: a line for each, worst first, and what each says if there is room."""
    ordered = ranked(outcomes)
    lines = [line(bold(f"{summed(ordered)}.")), line("Each has its own verdict, and the worst is that of the step.")]
    rows = [
        (outcome.suite, f"{header.sign(outcome.verdict)} {outcome.verdict}", Span(outcome.headline))
        for outcome in ordered
    ]
    table = Table(("suite", "verdict", "why"), rows, whole=True)
    parts = [
        header.head(overall(ordered), "", lines),
        header.notes(publication),
        header.pushes(publication),
        Part(name="reasons", blocks=(table,), rank=KEPT),
    ]
    text = page(parts, size, limit, links=publication.links)
    more = f"<sub>What other suites say is {sections.elsewhere(publication)}.</sub>"
    return with_folds(text, (_fold(outcome, publication, links_of) for outcome in ordered), size, limit, more)


def _fold(outcome: SuiteOutcome, publication: Publication, links_of: LinksOf) -> tuple[str, str]:
    own = Publication(links=links_of(outcome), relayed=publication.relayed)
    parts = list(_parts(outcome, own))
    return _titled(outcome), page(parts, utf16_units, EACH_SUITE, links=own.links, elsewhere=sections.elsewhere(own))


def _titled(outcome: SuiteOutcome) -> str:
    return f"{header.sign(outcome.verdict)} {safe(outcome.suite, limit=SUITE_NAME)}: {safe(outcome.verdict, limit=40)}"


def _parts(outcome: SuiteOutcome, publication: Publication) -> Iterator[Part]:
    """Yield what a suite has to say below its line of the table."""
    parts = [] if outcome.not_run else comment.parts_of(outcome.ended, publication)
    numbers = map(line, header.number_lines(outcome.review)) if outcome.review is not None else ()
    texts = [outcome.headline] if outcome.failure is None else list(outcome.failure.lines)
    if len(texts) > _LINES:
        texts[_LINES:] = [f"… and {len(texts) - _LINES} more"]
    reasons = (line(Span(text, limit=600)) for text in texts)
    lines = (*numbers, *reasons, line(Span(outcome.config, "soft")))
    yield Part(name="verdict", blocks=(Paragraph(lines),), rank=KEPT)
    yield from (part for part in parts if part.name not in _ABOVE)


def render_text(outcomes: Sequence[SuiteOutcome]) -> str:
    """Render the overview that ends a command of several suites; its last line is that of one suite alone."""
    code = worst(outcome.code for outcome in outcomes)
    verdicts = max(len(outcome.verdict) for outcome in outcomes)
    names = max(len(log_line(outcome.suite, limit=SUITE_NAME)) for outcome in outcomes)
    rows = (
        f"  {log_line(outcome.verdict):{verdicts}}  {log_line(outcome.suite, limit=SUITE_NAME):{names}}  "
        f"{log_line(outcome.headline, limit=_HEADLINE)}".rstrip()
        for outcome in ranked(outcomes)
    )
    verdict = log_line(overall(outcomes))
    return "\n".join([f"{summed(outcomes)}", *rows, "", f"verdict: {verdict} (exit {code}), that of the worst"])
