"""The text of a promotion: values before and after, what is accepted with them, and where they come from. Pure."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from raggate.base.escape import markdown as safe, plain
from raggate.base.numbers import counted
from raggate.models.baseline import AcceptedDrop, RatchetEntry
from raggate.models.promotion import NOTES, BaselineCandidate, MetricChange
from raggate.models.provenance import Evidence
from raggate.models.publication import Links
from raggate.models.scorecard import EPSILON
from raggate.models.suites import SuiteOutcome
from raggate.models.verdict import Reason
from raggate.reports.parts import formatting, metric_tables, questions, sections
from raggate.reports.parts.document import (
    COMMENT_LIMIT,
    EACH_SUITE,
    KEPT,
    SUITE_NAME,
    Alert,
    Block,
    Bullets,
    Cell,
    Paragraph,
    Part,
    Span,
    Table,
    bulleted,
    commit,
    line,
    page,
    utf16_units,
    with_folds,
)
from raggate.reports.parts.markup import link
from raggate.scoring import figures

LONGEST_TITLE = 256
"""Characters; GitHub refuses a pull request with a longer title."""

_CHECKS = (
    "A workflow opened this pull request, so GitHub may not start its checks. If required checks are missing below, do "
    "one of these:",
    "press “Approve workflows to run”, if GitHub offers it",
    "close this pull request and open it again",
    'push an empty commit to its branch: `git commit --allow-empty --message "Run the checks" && git push`',
    "give that workflow the token of a GitHub App: its pull requests start checks like yours",
)

SHOWN = 100
"""Questions of a kind, and rows of a table, on the fullest page."""
_KINDS = {"metric-down": "lower values", "removed-cases": "questions that are gone", "no-match": "no match"}
"""What a title says of what is accepted, by the code of the reason."""
_OTHER_KIND = "less evidence"
_TITLE = "📌 raggate: {}"
_MARKS = {"vanished": "❌", "worse": "❌", "better": "✅", "same": "▫️"}
_NAMES = 10_000
"""Characters of a line that names suites. A list has at most a hundred."""


def title_text(text: str) -> str:
    """Make one line of a title or a commit message that mentions nobody, closes no issue and skips no workflow."""
    return re.sub(r"[@#[]|:(?=//)|\bGH-(?=\d)", "\\g<0>\u2060", plain(text, limit=600), flags=re.IGNORECASE)


def pull_title(text: str) -> str:
    """Make a title that GitHub takes, as `title_text` does."""
    line = title_text(text)
    return line if len(line) <= LONGEST_TITLE else f"{line[: LONGEST_TITLE - 1]}…"


class PromotionContext(Struct, frozen=True, kw_only=True):
    """The report of a promotion, except the values.

    The run of `links` promotes. `accepted` is by mode and metric, `unsigned` is why GitHub did not sign the commit, and
    `opened` says that this is the text of a pull request.
    """

    target: str
    evidence: Evidence
    links: Links
    hashes: Mapping[str, str] = field(default_factory=dict)
    accepted: Mapping[str, Mapping[str, RatchetEntry]] = field(default_factory=dict)
    unsigned: str = ""
    opened: bool = True


Entry = tuple[BaselineCandidate, PromotionContext]
"""The baseline of a suite, and its report."""


def title(proposals: Sequence[BaselineCandidate]) -> str:
    """Write the title of the pull request and the commit: one harmless line, without Markdown."""
    kinds = set[str]().union(*map(kinds_accepted, proposals))
    accepting = f", accepting {' and '.join(sorted(kinds))}" if kinds else ""
    cards = [proposal.comparison.scorecard for proposal in proposals]
    if len(cards) == 1:
        return f"Baseline of {cards[0].suite}: run {cards[0].run_id}{accepting}"
    return f"Baselines of {len(cards)} suites{accepting}: {', '.join(card.suite for card in cards)}"


def kinds_accepted(proposal: BaselineCandidate) -> set[str]:
    """Return what kinds of loss are accepted with a baseline, in words."""
    return {_KINDS.get(reason.code, _OTHER_KIND) for reason in _accepted(proposal)}


def render(entries: Sequence[Entry], *, limit: int = COMMENT_LIMIT) -> str:
    """Render a promotion; each suite keeps its line, and the first has target, links and signature of all."""
    context = entries[0][1]
    if len(entries) == 1:
        return _page([*_parts(*entries[0]), _checks(context)], context, limit)
    kinds = [" and ".join(sorted(kinds_accepted(proposal))) for proposal, _ in entries]
    cards = [proposal.comparison.scorecard for proposal, _ in entries]
    rows = [(card.suite, card.run_id, kind or "nothing") for card, kind in zip(cards, kinds, strict=True)]
    table = Table(("suite", "run", "accepted with it"), rows, whole=True)
    sentence = f"{counted(len(entries), 'suite')} get a new baseline on {context.target}."
    opening = _head("new baselines", sentence, entries[0][0], context, accepts=any(kinds))
    text = _page([opening, Part(name="the suites", blocks=(table,), rank=KEPT), _checks(context)], context, limit)
    # what accepts a loss is read first
    ordered = sorted(entries, key=lambda one: not kinds_accepted(one[0]))
    folds = (
        (safe(proposal.comparison.scorecard.suite, limit=SUITE_NAME), _page([*_parts(proposal, own)], own, EACH_SUITE))
        for proposal, own in ordered
    )
    more = f"<sub>Other suites are {_elsewhere(context)}.</sub>"
    return with_folds(text, folds, utf16_units, limit, more)


def _page(parts: Sequence[Part], context: PromotionContext, limit: int) -> str:
    return page(parts, utf16_units, limit, links=context.links, elsewhere=_elsewhere(context))


def _elsewhere(context: PromotionContext) -> str:
    return link("in the workflow run", context.links.run, context.links)


def _checks(context: PromotionContext) -> Part:
    why, *steps = (line(Span(text, "own")) for text in _CHECKS)
    blocks: tuple[Block, ...] = (Paragraph((why,)), Bullets([(step,) for step in steps]))
    return Part(name="checks", title="Checks", blocks=blocks if context.opened else (), rank=1)


def _head(
    heading: str, sentence: str, proposal: BaselineCandidate, context: PromotionContext, *, accepts: bool
) -> Part:
    known = proposal.provenance
    accepted = f"{'Accepted' if accepts else 'Started'} by: {known.get('promoted_by') or '–'}"
    lines = [line(Span(sentence, "bold", 600)), line(f"Reason: {known.get('reason') or '–'}"), line(accepted)]
    if context.unsigned:
        unsigned = f"GitHub did not sign the commit of this pull request ({context.unsigned})."
        blocks = "A rule that requires signed commits will block the merge."
        lines.append(line(Span(f"{unsigned} {blocks}", limit=600)))
    alert = Alert("CAUTION" if accepts else "NOTE", tuple(lines))
    return Part(name="the promotion", title=_TITLE.format(heading), blocks=(alert,), rank=KEPT, level=2)


def _parts(proposal: BaselineCandidate, context: PromotionContext) -> Iterator[Part]:
    scorecard, comparison = proposal.comparison.scorecard, proposal.comparison
    replaces = "the first baseline" if comparison.baseline is None else "the baseline"
    sentence = f"Run {scorecard.run_id} becomes {replaces} of suite {scorecard.suite} on {context.target}."
    yield _head("a new baseline", sentence, proposal, context, accepts=bool(_accepted(proposal)))
    yield _accepts(proposal)
    yield _values(proposal, context)
    yield _questions(proposal, "broke", "Questions lost", rank=2)
    yield _questions(proposal, "fixed", "Questions gained", rank=4)
    changes = sections.changed_lines(comparison)
    yield Part(name="questions and notes", title="Since the present baseline", blocks=bulleted(changes), rank=3)
    yield _ratchet(context)
    facts = Bullets([(line(f"{name}: ", *pieces),) for name, *pieces in _facts(proposal, context)])
    yield Part(name="where it comes from", title="Where it comes from", blocks=(facts,), rank=KEPT)
    hashes = Bullets([(line(f"{name}: ", _code(value)),) for name, value in context.hashes.items()])
    yield Part(name="hashes", title="Hashes of what was measured", blocks=(hashes,), folded=True, rank=5)


def _accepts(proposal: BaselineCandidate) -> Part:
    # what explains the others must not be cut off after them
    reasons = sorted(
        proposal.reasons, key=lambda reason: (reason.code in {"slice-worse", "vanished"}, reason.code not in NOTES)
    )
    items = Bullets([(line(Span(f"⚠️ {reason.message}", limit=500)),) for reason in reasons], SHOWN)
    title = f"What is accepted with it ({len(reasons)})"
    return Part(name="what is accepted", title=title, blocks=(items,), rank=KEPT)


def _values(proposal: BaselineCandidate, context: PromotionContext) -> Part:
    rows = sorted(proposal.rows, key=lambda row: (-abs(row.change.delta or 0.0), row.change.mode, row.change.metric))
    rows.sort(key=lambda row: [*_MARKS].index(_kind(row)))
    several = len({row.change.mode for row in rows}) > 1
    head = ("metric", "before", "after", "change", "questions")
    table = Table(head, [_row(row, several=several) for row in rows], ("before", "after", "change"), most=SHOWN)
    text = f'Values over all questions. "Before" is the baseline on {context.target}.'
    if any(row.shared and not row.same_cases for row in rows):
        text += " The change is over shared questions only: others were added, removed or relabelled."
    caption = Paragraph((line(text),), soft=True)
    return Part(name="values", title="Metrics", blocks=(table, caption) if rows else (), rank=KEPT)


def _row(row: MetricChange, *, several: bool) -> tuple[Cell, ...]:
    kind, change = _kind(row), figures.change(row.change)
    # as a share of other cases a count would mislead
    both = replace(row.change, baseline=row.before, current=row.after, binary=row.change.binary and row.same_cases)
    name = metric_tables.name_of(row.change, several=several)
    return (
        f"{_MARKS[kind]} {name}",
        figures.side(both, row.before),
        figures.side(both, row.after),
        Span(change, "bold" if kind == "worse" else ""),
        _cases_of(row),
    )


def _cases_of(row: MetricChange) -> str:
    """Return how many cases the values are over, and what the change is over where that is not the same."""
    if row.same_cases:
        return figures.moved(row.change)
    counts = f"{row.before.n} → {row.after.n}" if row.before.n else str(row.after.n)
    return f"{counts}; shared {figures.moved(row.change)}" if row.shared else counts


def _kind(row: MetricChange) -> str:
    if row.vanished:
        return "vanished"
    if row.down or row.sunk:
        return "worse"
    return "better" if row.gain > EPSILON else "same"


def _questions(proposal: BaselineCandidate, kind: str, name: str, *, rank: int) -> Part:
    flips = [flip for flip in proposal.comparison.flips if flip.kind == kind]
    several = proposal.comparison.scorecard.several_modes
    items = Bullets([(questions.in_line(flip, several=several),) for flip in flips], SHOWN)
    title = f"{name} ({formatting.how_many(flips)})"
    return Part(name=name.lower(), title=title, blocks=(items,), folded=True, rank=rank)


def _ratchet(context: PromotionContext) -> Part:
    """Fold what has been given up since the best value that was accepted, most first."""
    several = len(context.accepted) > 1
    known = [
        (f"{metric} ({mode})" if several else metric, metric, entry)
        for mode, entries in sorted(context.accepted.items())
        for metric, entry in entries.items()
    ]
    rows = [
        (
            name,
            figures.amount(metric, entry.best),
            figures.distance(metric, entry.drops),
            entry.since or "–",
            _lowered(metric, entry.lowered),
        )
        for name, metric, entry in sorted(known, key=lambda row: -row[2].drops)
        if entry.drops > EPSILON
    ]
    head = ("metric", "best accepted", "given up since", "since", "last lowered")
    title = f"Below the best accepted value: {len(rows)} of {counted(len(known), 'value')}"
    table = Table(head, rows, head[1:3], most=SHOWN)
    return Part(name="ratchet", title=title, blocks=(table,), folded=True, rank=5)


def _lowered(metric: str, low: AcceptedDrop | None) -> str:
    if low is None:
        return "–"
    by = f" by {low.by}" if low.by else ""
    return f"{low.on}{by}: {figures.both(metric, low.before, low.after)}, {low.reason}"


def _facts(proposal: BaselineCandidate, context: PromotionContext) -> Iterator[tuple[str | Span, ...]]:
    evidence, links, known = context.evidence, context.links, proposal.provenance
    run = f"workflow run {evidence.run}, attempt {evidence.attempt}, {evidence.event}"
    yield "measured by", Span(run, target=evidence.url)
    yield "measured", str(known.get("measured") or "–")
    yield "commit", commit(evidence.commit, links)
    if evidence.artifact:
        digest = (", ", _code(evidence.digest)) if evidence.digest else ()
        yield "taken from", f"the artifact {evidence.artifact}", *digest
    if evidence.image:
        yield "image of the API", _code(evidence.image)
    if evidence.adopted:
        yield "promoted by", Span("this workflow run", target=links.run)
    yield "raggate", str(known.get("raggate_version") or "–")
    yield "replaces", f"run {known['previous']}" if known.get("previous") else "nothing"


def _code(text: str) -> Span:
    """Set a hash or an image's name as code, where nothing in it could end that; as text otherwise."""
    return Span(text, "code" if re.fullmatch(r"[A-Za-z0-9@:/._-]{1,300}", text) else "")


def _accepted(proposal: BaselineCandidate) -> list[Reason]:
    """Return what needed a permission, without notes."""
    return [reason for reason in proposal.reasons if reason.code not in NOTES]


def render_refused(refused: Sequence[SuiteOutcome], passed: Sequence[str]) -> str:
    """Render why nothing was promoted: each suite that was refused with the reason, and what the others can do."""
    first, *others = _why(refused, passed)
    lines = (line(Span(first, "bold", _NAMES)), *(line(Span(text, limit=_NAMES)) for text in others))
    rows = [(one.suite, one.verdict, Span(one.headline, limit=600)) for one in refused]
    parts = [
        Part(name="", title=_TITLE.format("no new baseline"), blocks=(Alert("CAUTION", lines),), rank=KEPT, level=2),
        Part(name="", blocks=(Table(("suite", "refused as", "why"), rows, whole=True),), rank=KEPT),
    ]
    return page(parts, utf16_units, sys.maxsize)


def refusal(refused: Sequence[SuiteOutcome], passed: Sequence[str], *, between: str = ", ") -> str:
    """The same for a log, in one unescaped line; `between` separates the other suites."""
    return " ".join(_why(refused, passed, between))


def _why(refused: Sequence[SuiteOutcome], passed: Sequence[str], between: str = ", ") -> list[str]:
    of = counted(len(refused) + len(passed), "suite")
    names = ", ".join(one.suite for one in refused)
    lines = [f"Nothing was written: {len(refused)} of {of} cannot be promoted: {names}."]
    if passed:
        lines.append(f"To promote only the others, name these: {between.join(passed)}")
    return lines
