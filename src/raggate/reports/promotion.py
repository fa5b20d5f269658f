"""The text of a promotion: values before and after, what is accepted with them, and where they come from. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct, field
from msgspec.structs import replace

from raggate.models.baseline import AcceptedDrop, RatchetEntry
from raggate.models.comparison import Flip
from raggate.models.promotion import NOTES, BaselineCandidate, MetricChange
from raggate.models.provenance import Evidence
from raggate.models.publication import Links
from raggate.models.scorecard import EPSILON
from raggate.models.suites import SuiteOutcome
from raggate.models.verdict import Reason
from raggate.reports.parts import formatting, questions
from raggate.reports.parts.budget import COMMENT_LIMIT, KEPT, Section, fit, utf16_units
from raggate.reports.parts.markup import bullets, commit_link, folded, heading_alert, inert, link, listed, table
from raggate.scoring import figures
from raggate.text.escape import markdown as safe, plain
from raggate.text.numbers import counted

LONGEST_TITLE = 256
"""Characters; GitHub refuses a pull request with a longer title."""

CHECKS = """\
A workflow opened this pull request. With a workflow's own token such events start no workflows, or only after somebody
with write access has approved them. If required checks are missing below, do one of these:

- press **Approve workflows to run**, where that is offered;
- close this pull request and open it again;
- push an empty commit to its branch: `git commit --allow-empty --message "Run the checks" && git push`;
- let that workflow use the token of a GitHub App, whose pull requests start workflows like anybody's."""


SHOWN = 100
"""Questions of a kind, and rows of a table, on the fullest page."""
_SHORT = 10
_KINDS = {
    "metric-down": "lower values",
    "removed-cases": "questions that are gone",
    "no-match": "no match",
}
"""What a title says of what is accepted, by the code of the reason."""
_OTHER_KIND = "less evidence"
NAME = 80
"""Characters of the name of a suite."""
_PAGES = (30_000, 6_000)
_NAMES = 10_000
"""Characters of a line that names suites, of which a list has at most a hundred."""


def title_text(text: str) -> str:
    """Make one line of a title or a commit message that mentions nobody, closes no issue and skips no workflow."""
    return re.sub(r"[@#[]|:(?=//)|\bGH-(?=\d)", "\\g<0>\u2060", plain(text, limit=600), flags=re.IGNORECASE)


def pull_title(text: str) -> str:
    """Make a title that GitHub takes, as `title_text` does."""
    line = title_text(text)
    return line if len(line) <= LONGEST_TITLE else f"{line[: LONGEST_TITLE - 1]}…"


def unsigned_warning(why: str) -> str:
    """Warn that GitHub did not sign the commit of a pull request; `why` is the reason it gives."""
    return (
        f"**GitHub did not sign the commit of this pull request** ({inert(why, limit=80)}). A rule that requires "
        "signed commits will keep it from being merged."
    )


class PromotionContext(Struct, frozen=True, kw_only=True):
    """What is told of a promotion beside the values.

    Attributes:
        target: the branch the baseline is for.
        evidence: where the run comes from.
        links: what links are made of; its `run` is the workflow run that promotes.
        hashes: what was measured by, as name and hash: golden set, vault, configuration.
        accepted: by mode and metric, what will have been accepted of it.
        unsigned: why GitHub did not sign the commit; empty where it did, or there is none yet.
        opened: whether this is the text of a pull request, which says how its checks are started.
    """

    target: str
    evidence: Evidence
    links: Links
    hashes: Mapping[str, str] = field(default_factory=dict)
    accepted: Mapping[str, Mapping[str, RatchetEntry]] = field(default_factory=dict)
    unsigned: str = ""
    opened: bool = True


Entry = tuple[BaselineCandidate, PromotionContext]
"""The baseline of a suite, and what is told beside it."""


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
    """Render a promotion: the same for the same facts, to the byte.

    Args:
        entries: the suites, at least one. The first says what is told of all: target, links, signature.
        limit: most UTF-16 units; at least `budget.SMALLEST_LIMIT`. A line for each of several suites is always kept.
    """
    if len(entries) == 1:
        return _render_one(*entries[0], limit=limit)
    return _fitted([*_several(entries)], entries[0][1], limit)


def _fitted(sections: Sequence[Section], context: PromotionContext, limit: int) -> str:
    return fit(sections, limit, utf16_units, elsewhere=link("in the workflow run", context.links.run, context.links))


def _several(entries: Sequence[Entry]) -> Iterator[Section]:
    first, context = entries[0]
    reason = inert(str(first.provenance.get("reason") or ""), limit=500)
    lines = [
        f"**The baselines of {counted(len(entries), 'suite')} on {safe(context.target, limit=120)} become others.**",
        f"Reason: {reason}",
        *([unsigned_warning(context.unsigned)] if context.unsigned else []),
    ]
    accepts = any(kinds_accepted(proposal) for proposal, _ in entries)
    head = "## 📌 raggate: new baselines\n\n" + heading_alert("CAUTION" if accepts else "NOTE", *lines)
    yield Section(name="the promotion", rank=KEPT, variants=(head,))
    rows = ([_name(proposal), _run(proposal), _all_accepted(proposal)] for proposal, _ in entries)
    yield Section(name="the suites", rank=KEPT, variants=(table(["suite", "run", "accepted with it"], rows),))
    # what accepts a loss is shortened last
    ordered = sorted(entries, key=lambda one: not kinds_accepted(one[0]))
    yield from (_page(*one, rank) for rank, one in enumerate(ordered, 2))
    yield Section(name="checks", rank=1, variants=(f"### Checks\n\n{CHECKS}",) if context.opened else ())


def _page(proposal: BaselineCandidate, context: PromotionContext, rank: int) -> Section:
    """Fold what a promotion of this suite alone says, under its name."""
    alone = replace(context, opened=False, unsigned="")
    pages = (_render_one(proposal, alone, limit=limit).strip() for limit in _PAGES)
    name = _name(proposal)
    return Section(name=f"suite {name}", rank=rank, variants=tuple(folded(name, page) for page in pages))


def _name(proposal: BaselineCandidate) -> str:
    return safe(proposal.comparison.scorecard.suite, limit=NAME)


def _run(proposal: BaselineCandidate) -> str:
    return safe(proposal.comparison.scorecard.run_id, limit=NAME)


def _all_accepted(proposal: BaselineCandidate) -> str:
    return safe(" and ".join(sorted(kinds_accepted(proposal))) or "nothing")


def _render_one(proposal: BaselineCandidate, context: PromotionContext, *, limit: int) -> str:
    sections = [
        _opening(proposal, context),
        _accepts(proposal),
        _values(proposal, context),
        _questions(proposal, "broke", "Questions lost", rank=2),
        _questions(proposal, "fixed", "Questions gained", rank=4),
        _cases(proposal),
        _ratchet(context),
        _origin(proposal, context),
        Section(name="checks", rank=1, variants=(f"### Checks\n\n{CHECKS}",) if context.opened else ()),
    ]
    return _fitted(sections, context, limit)


def _opening(proposal: BaselineCandidate, context: PromotionContext) -> Section:
    scorecard = proposal.comparison.scorecard
    first = proposal.comparison.baseline is None
    replaces = "the first baseline" if first else "the baseline"
    lines = [
        f"**Run {safe(scorecard.run_id, limit=80)} becomes {replaces} of suite {safe(scorecard.suite, limit=80)} on "
        f"{safe(context.target, limit=120)}.**",
        f"Reason: {inert(str(proposal.provenance.get('reason') or ''), limit=500)}",
    ]
    if context.unsigned:
        lines.append(unsigned_warning(context.unsigned))
    head = "## 📌 raggate: a new baseline\n\n" + heading_alert("CAUTION" if _accepted(proposal) else "NOTE", *lines)
    return Section(name="the promotion", rank=KEPT, variants=(head,))


def _accepts(proposal: BaselineCandidate) -> Section:
    if not proposal.reasons:
        return Section(name="what is accepted", rank=KEPT, variants=())
    # what explains the others must not be cut off after them
    reasons = sorted(
        proposal.reasons, key=lambda reason: (reason.code in {"slice-worse", "vanished"}, reason.code not in NOTES)
    )
    head = f"### What is accepted with it ({len(reasons)})\n\n"

    def line(reason: Reason, width: int) -> str:
        return f"- ⚠️ {inert(reason.message, limit=width, middle=True)}"

    variants = tuple(
        head + bullets(reasons, partial(line, width=width), most) for most, width in ((SHOWN, 500), (_SHORT, 120))
    )
    return Section(name="what is accepted", rank=KEPT, variants=variants)


def _values(proposal: BaselineCandidate, context: PromotionContext) -> Section:
    rows = sorted(proposal.rows, key=_worst_first)
    if not rows:
        return Section(name="values", rank=KEPT, variants=())
    several = len({row.change.mode for row in rows}) > 1
    head = ["", "metric", *(["mode"] if several else []), "before", "after", "change", "cases"]
    cells = [_row(row, several=several) for row in rows]
    variants = []
    for most in (SHOWN, 30, _SHORT):
        more = f"\n\n… and {len(cells) - most} more" if len(cells) > most else ""
        shown = table(head, cells[:most], numbers=("before", "after", "change"))
        variants.append(f"### Metrics\n\n{shown}{more}\n\n<sub>{_caption(rows, context)}</sub>")
    return Section(name="values", rank=KEPT, variants=tuple(variants))


def _caption(rows: Sequence[MetricChange], context: PromotionContext) -> str:
    target = safe(context.target, limit=120)
    means = any(_by_means(row) for row in rows)
    if not means and all(row.same_cases or not row.shared for row in rows):
        return f'Values over all cases; "before" is the baseline on {target}.'
    lines = [f'Values over all cases of each side; "before" is the baseline on {target}.']
    if any(row.shared for row in rows):
        lines.append(
            "The change is over the shared cases; the values differ also by those added, removed or relabelled."
        )
    if means:
        lines.append(
            'Where it says "means", the change is that of the values; other cases or settings can be part of it.'
        )
    return " ".join(lines)


def _row(row: MetricChange, *, several: bool) -> list[str]:
    kind, change = _kind(row), figures.change(row.change)
    # as a share of other cases a count would mislead
    both = replace(row.change, baseline=row.before, current=row.after, binary=row.change.binary and row.same_cases)
    return [
        formatting.MARKS[kind],
        safe(row.change.metric, limit=60),
        *([safe(row.change.mode, limit=60)] if several else []),
        figures.side(both, row.before),
        figures.side(both, row.after),
        f"**{change}**" if kind == "worse" else change,
        _cases_of(row),
    ]


def _cases_of(row: MetricChange) -> str:
    """Return how many cases the values are over, and what the change is over where that is not the same."""
    if row.same_cases:
        return formatting.cases(row.change)
    counts = f"{row.before.n} → {row.after.n}" if row.before.n else str(row.after.n)
    if row.shared:
        return f"{counts}; shared {formatting.cases(row.change)}"
    return f"{counts}; means" if _by_means(row) else counts


def _by_means(row: MetricChange) -> bool:
    return not row.shared and row.change.delta is not None


def _worst_first(row: MetricChange) -> tuple[object, ...]:
    order = {"vanished": 0, "worse": 1, "better": 2, "same": 3}[_kind(row)]
    return (order, -abs(row.change.delta or 0.0), row.change.mode, row.change.metric)


def _kind(row: MetricChange) -> str:
    if row.vanished:
        return "vanished"
    if row.down or row.sunk:
        return "worse"
    return "better" if row.gain > EPSILON else "same"


def _questions(proposal: BaselineCandidate, kind: str, name: str, *, rank: int) -> Section:
    flips = [flip for flip in proposal.comparison.flips if flip.kind == kind]
    if not flips:
        return Section(name=name.lower(), rank=rank, variants=())
    several = proposal.comparison.scorecard.several_modes
    heading = f"{name} ({formatting.how_many(flips)})"
    texts = (
        bullets(flips, partial(_question, width=width, several=several), most)
        for most, width in ((SHOWN, 300), (_SHORT, 120))
    )
    variants = (folded(heading, text, opened=kind == "broke") for text in texts)
    return Section(name=name.lower(), rank=rank, variants=(*variants, f"<sub>{heading}</sub>"))


def _question(flip: Flip, width: int, *, several: bool) -> str:
    mode = f" · {safe(flip.mode, limit=40)}" if several else ""
    must = " 🔒 must pass" if flip.must_pass else ""
    asked = inert(flip.question, limit=width)
    return f"- **{asked}**{must} · {questions.rank_change(flip)} <sub>{safe(flip.case_id, limit=80)}{mode}</sub>"


def _cases(proposal: BaselineCandidate) -> Section:
    golden = proposal.comparison.golden
    kinds = {
        "added": golden.added,
        "removed": golden.removed,
        "asked or labelled differently": golden.relabelled,
        "in other slices": golden.refiled,
        "no longer must-pass": golden.released,
    }
    lines = [f"- {len(names)} {kind}: {listed(names)}" for kind, names in kinds.items() if names]
    notes = [str(change) for change in proposal.comparison.vault_changes]
    lines += (
        [f"- {counted(len(notes), 'note')} of the vault {'differs' if len(notes) == 1 else 'differ'}: {listed(notes)}"]
        if notes
        else []
    )
    settings = proposal.comparison.config_changes
    lines += [f"- {safe(key, limit=80)}: {inert(old)} → {inert(new)}" for key, old, new in settings[:SHOWN]]
    text = "### Since the present baseline\n\n" + "\n".join(lines)
    return Section(name="questions and notes", rank=3, variants=(text,) if lines else ())


def _ratchet(context: PromotionContext) -> Section:
    rows = [
        (mode, metric, entry) for mode, entries in sorted(context.accepted.items()) for metric, entry in entries.items()
    ]
    if not rows:
        return Section(name="ratchet", rank=5, variants=())
    several = len(context.accepted) > 1
    # what has been given up most stands first
    rows.sort(key=lambda row: (row[2].lowered is None, row[2].moved is None, -row[2].drops, row[0], row[1]))
    moved = any(entry.moved for _, _, entry in rows)
    cells = [
        [
            safe(metric, limit=60),
            *([safe(mode, limit=60)] if several else []),
            figures.amount(metric, entry.best),
            figures.distance(metric, entry.drops) if entry.drops > EPSILON else "0",
            safe(entry.since, limit=20) or "–",
            _lowered(metric, entry.lowered),
            *([_lowered(metric, entry.moved)] if moved else []),
        ]
        for mode, metric, entry in rows[:SHOWN]
    ]
    head = ["metric", *(["mode"] if several else []), "best accepted", "given up since", "since", "last lowered"]
    head += ["last lowered by other questions"] if moved else []
    noun = "value" if several else "metric"
    given = sum(entry.drops > EPSILON for _, _, entry in rows)
    heading = f"The ratchet: small drops since the best accepted value ({given} of {counted(len(rows), noun)})"
    full = folded(heading, table(head, cells, numbers=("best accepted", "given up since")))
    return Section(name="ratchet", rank=5, variants=(full, f"<sub>{heading}</sub>"))


def _lowered(metric: str, low: AcceptedDrop | None) -> str:
    if low is None:
        return "–"
    by = f" by {inert(low.by, limit=60)}" if low.by else ""
    values = figures.both(metric, low.before, low.after)
    return f"{safe(low.on, limit=20)}{by}: {values}, {inert(low.reason, limit=120)}"


def _origin(proposal: BaselineCandidate, context: PromotionContext) -> Section:
    full = "\n".join(f"- {name}: {value}" for name, value in _facts(proposal, context))
    return Section(name="where it comes from", rank=KEPT, variants=(f"### Where it comes from\n\n{full}",))


def _facts(proposal: BaselineCandidate, context: PromotionContext) -> Iterator[tuple[str, str]]:
    evidence, links, known = context.evidence, context.links, proposal.provenance
    named = f"workflow run {evidence.run}, attempt {evidence.attempt}, {safe(evidence.event, limit=40)}"
    yield "measured by", link(named, evidence.url, links)
    yield "measured", inert(str(known.get("measured") or ""), limit=40)
    yield "commit", commit_link(links, evidence.commit)
    if evidence.artifact:
        digest = f", {_code(evidence.digest)}" if evidence.digest else ""
        yield "taken from", f"the artifact {inert(evidence.artifact, limit=80)}{digest}"
    if evidence.image:
        yield "image of the API", _code(evidence.image)
    if evidence.adopted:
        yield "promoted by", link("this workflow run", links.run, links)
    yield "started by", inert(str(known.get("promoted_by") or ""), limit=100)
    yield "raggate", inert(str(known.get("raggate_version") or ""), limit=40)
    yield "replaces", f"run {safe(str(known['previous']), limit=80)}" if known.get("previous") else "nothing"
    for name, value in context.hashes.items():
        yield safe(name, limit=40), _code(value)


def _code(text: str) -> str:
    """Set a hash or an image's name as code, where nothing in it could end that; as text otherwise."""
    harmless = text.replace(":", "").replace("/", "").replace("-", "").replace(".", "").replace("_", "")
    known = harmless.replace("@", "").isalnum() and harmless.isascii() and len(text) <= 300
    return f"`{text}`" if known else inert(text)


def _accepted(proposal: BaselineCandidate) -> list[Reason]:
    """Return what needed a permission, without notes."""
    return [reason for reason in proposal.reasons if reason.code not in NOTES]


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
