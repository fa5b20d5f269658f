"""The text of a promotion of several suites: what each accepts, and its page; or why none is promoted. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from raggate.models.promotion import BaselineCandidate
from raggate.models.suites import SuiteOutcome
from raggate.reports import promotion
from raggate.reports.parts.budget import COMMENT_LIMIT, KEPT, Section, fit, utf16_units
from raggate.reports.parts.markup import folded, heading_alert, inert, link, table
from raggate.reports.parts.pull_requests import CHECKS, unsigned_warning
from raggate.reports.promotion import PromotionContext
from raggate.text.escape import markdown as safe
from raggate.text.numbers import counted

Entry = tuple[BaselineCandidate, PromotionContext]
"""The baseline of a suite, and what is told beside it."""

NAME = 80
"""Characters of the name of a suite."""

_PAGES = (30_000, 6_000)
_NAMES = 10_000
"""Characters of a line that names suites, of which a list has at most a hundred."""


def title(proposals: Sequence[BaselineCandidate]) -> str:
    """Write the title of the pull request and the commit: one harmless line, without Markdown."""
    suites = ", ".join(proposal.comparison.scorecard.suite for proposal in proposals)
    kinds = set[str]().union(*map(promotion.kinds_accepted, proposals))
    return f"Baselines of {len(proposals)} suites{promotion.accepting(kinds)}: {suites}"


def render(entries: Sequence[Entry], *, limit: int = COMMENT_LIMIT) -> str:
    """Render a promotion of several suites.

    Args:
        entries: each of them; at least one. The first says what is told of all: target, links, signature.
        limit: UTF-16 units that it may take. A line for each suite is always kept, and says what is accepted.
    """
    links = entries[0][1].links
    where = link("in the workflow run", links.run, links)
    return fit([*_sections(entries)], limit, utf16_units, elsewhere=where)


def _sections(entries: Sequence[Entry]) -> Iterator[Section]:
    first, context = entries[0]
    reason = inert(str(first.provenance.get("reason") or ""), limit=500)
    lines = [
        f"**The baselines of {counted(len(entries), 'suite')} on {safe(context.target, limit=120)} become others.**",
        f"Reason: {reason}",
        *([unsigned_warning(context.unsigned)] if context.unsigned else []),
    ]
    accepts = any(promotion.kinds_accepted(proposal) for proposal, _ in entries)
    head = "## 📌 raggate: new baselines\n\n" + heading_alert("CAUTION" if accepts else "NOTE", *lines)
    yield Section(name="the promotion", rank=KEPT, variants=(head,))
    rows = ([_name(proposal), _run(proposal), _accepted(proposal)] for proposal, _ in entries)
    yield Section(name="the suites", rank=KEPT, variants=(table(["suite", "run", "accepted with it"], rows),))
    # what accepts a loss is shortened last
    ordered = sorted(entries, key=lambda one: not promotion.kinds_accepted(one[0]))
    yield from (_page(*one, rank) for rank, one in enumerate(ordered, 2))
    yield Section(name="checks", rank=1, variants=(f"### Checks\n\n{CHECKS}",) if context.opened else ())


def _page(proposal: BaselineCandidate, context: PromotionContext, rank: int) -> Section:
    """Fold what a promotion of this suite alone says, under its name."""
    alone = replace(context, opened=False, unsigned="")
    pages = (promotion.render(proposal, alone, limit=limit).strip() for limit in _PAGES)
    name = _name(proposal)
    return Section(name=f"suite {name}", rank=rank, variants=tuple(folded(name, page) for page in pages))


def _name(proposal: BaselineCandidate) -> str:
    return safe(proposal.comparison.scorecard.suite, limit=NAME)


def _run(proposal: BaselineCandidate) -> str:
    return safe(proposal.comparison.scorecard.run_id, limit=NAME)


def _accepted(proposal: BaselineCandidate) -> str:
    return safe(" and ".join(sorted(promotion.kinds_accepted(proposal))) or "nothing")


def render_refused(refused: Sequence[SuiteOutcome], passed: Sequence[str]) -> str:
    """Render why nothing was promoted: each suite that was refused with the reason, and what the others can do."""
    first, *others = (inert(line, limit=_NAMES) for line in _why(refused, passed))
    head = heading_alert("CAUTION", f"**{first}**", *others)
    rows = (
        [safe(one.suite, limit=NAME), safe(one.verdict, limit=40), inert(one.headline, limit=600, middle=True)]
        for one in refused
    )
    return "## 📌 raggate: no new baseline\n\n" + head + "\n\n" + table(["suite", "refused as", "why"], rows) + "\n"


def refusal(refused: Sequence[SuiteOutcome], passed: Sequence[str], *, between: str = ", ") -> str:
    """Say the same for a log, in one line that is not escaped; `between` the others is what sets them apart there."""
    return " ".join(_why(refused, passed, between))


def _why(refused: Sequence[SuiteOutcome], passed: Sequence[str], between: str = ", ") -> list[str]:
    of = counted(len(refused) + len(passed), "suite")
    names = ", ".join(one.suite for one in refused)
    lines = [f"Nothing was written: of {of}, {len(refused)} cannot be promoted: {names}."]
    if passed:
        lines.append(f"The others pass their checks. To promote them alone, name these: {between.join(passed)}")
    return lines
