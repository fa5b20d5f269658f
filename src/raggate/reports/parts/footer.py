"""What every page ends with: what to do on a first run, how to reproduce, and where the numbers come from."""

from __future__ import annotations

from math import comb

from raggate.models.publication import Links, Publication
from raggate.models.scorecard import EPSILON, OVERALL
from raggate.models.selection import naming
from raggate.models.verdict import GatedMetric, Review
from raggate.reports.parts import advice, formatting
from raggate.reports.parts.budget import KEPT, Section
from raggate.reports.parts.markup import code_block, commit_link, folded, keyed, listed, live_link
from raggate.reports.parts.reasons import greeted
from raggate.scoring import figures
from raggate.text.dates import days_between
from raggate.text.escape import markdown as safe, plain

CHANCE = 0.05
"""How likely chance alone may be to give a gain that is told as one."""

MOST_WORDS = 600
"""Characters of the options that name questions in a command to copy."""

NAMED = 3
"""Metrics that an offer names."""


def next_steps(review: Review) -> Section:
    """Explain a first run, and what to do to have a gate after it."""
    if not (review.context.first_run or greeted(review)):
        return Section(name="what to do next", rank=2, variants=())
    asked = review.scorecard.questions
    measured = f"{asked} {'question was' if asked == 1 else 'questions were'} asked and scored"
    until = f"The verdict is “{review.verdict.outcome}” (exit {review.verdict.exit_code}) until a baseline is promoted."
    if not review.context.first_run:
        intro = f"{measured}. {until}"
    elif greeted(review):
        intro = f"{measured} with this pull request's own configuration, questions and notes. {until}"
    else:
        intro = "This pull request introduces raggate: it was measured with its own files. There is no baseline yet."
    steps = [f"- {keyed(step)}" for step in advice.first_steps(review)]
    text = "\n".join([intro, "", "**What to do next**", "", *steps])
    return Section(name="what to do next", rank=2, variants=(text, intro))


def offer(review: Review) -> Section:
    """Offer to promote after merging, when the change makes something better beyond noise and nothing gated worse."""
    rows = [row for row in review.verdict.rows if row.gated and row.delta.slice == OVERALL]
    better = [row for row in rows if row.status == "better" and _beyond_noise(row)]
    worse = any(row.status in {"within", "worse", "below floor", "vanished"} for row in rows)
    if review.verdict.outcome != "pass" or worse or not better:
        return Section(name="an offer to promote", rank=3, variants=())
    gains = (f"{figures.title(row.delta.metric)} {figures.change(row.delta)}" for row in better[:NAMED])
    named = safe(", ".join(gains))
    more = f" and {len(better) - NAMED} more" if len(better) > NAMED else ""
    text = (
        f"### 📈 Better: {named}{more}\n\nOnce this is merged, promote it (the promotion workflow, or "
        "`raggate promote <run directory>`): until then a later change can lose this gain unnoticed."
    )
    return Section(name="an offer to promote", rank=3, variants=(text,))


def _beyond_noise(row: GatedMetric) -> bool:
    """Say whether a gain is more than chance: a one-sided sign test over the questions that moved, at 5%.

    Without single questions to count, a gain beyond the tolerance has to do.
    """
    improved, regressed = row.delta.improved, row.delta.regressed
    if improved is None or regressed is None:
        return abs(row.delta.delta or 0.0) > (row.allowed or 0.0) + EPSILON
    moved = improved + regressed
    return moved > 0 and sum(comb(moved, count) for count in range(improved, moved + 1)) / 2**moved <= CHANCE


def reproduce(review: Review) -> Section:
    """Write what to do next, and the commands for it, where there are any: all of it, and what broke alone."""
    step, command, broke = advice.next_step(review), review.run.provenance.reproduce, broken_alone(review)
    blocks = [code_block(command)] if command else [""]
    if command and broke:
        blocks.insert(0, code_block(command, f"{command} {broke}"))
    if not step:
        variants = [folded("Reproduce locally", block) for block in blocks]
    else:
        variants = ["\n\n".join(filter(None, (f"**Next:** {keyed(step)}", block))) for block in blocks]
    return Section(name="how to reproduce", rank=KEPT, variants=tuple(filter(None, variants)))


def broken_alone(review: Review) -> str:
    """Give the options that ask again what broke or counts against a change; empty where that is too much to name."""
    if review.verdict.outcome != "regression":
        return ""
    broke = [flip for flip in review.comparison.broke if not flip.waived]
    counts = [*broke, *filter(review.verdict.is_red, review.fallen)]
    words = naming(tuple(dict.fromkeys(flip.case_id for flip in counts)))
    # what would have to be cut, or made harmless, asks for something else
    return words if len(words) <= MOST_WORDS and plain(words, limit=MOST_WORDS) == words else ""


def provenance(review: Review, publication: Publication) -> Section:
    """Write in small print which baseline and which files decided, and how the calls went."""
    links = publication.links
    promotion = safe(formatting.promotion_note(review), limit=600, middle=True)
    operations = safe(formatting.operations_line(review.scorecard), limit=500, middle=True)
    about = [safe(f"{name}: {text}", limit=500) for name, text in formatting.about(review.run).items()]
    run = "Workflow run that measured" if publication.relayed else "Workflow run with the full report"
    baseline, link = _baseline(review, links), live_link(run, links.run if links is not None else None, links)
    lines = [*about, baseline, _trusted(review, links), operations, promotion, link]
    small = ("<br>\n".join(filter(None, chosen)) for chosen in (lines, (baseline, link)))
    variants = tuple(f"<sub>{text}</sub>" if text else "" for text in small)
    return Section(name="where the numbers come from", rank=2, variants=variants)


def _baseline(review: Review, links: Links | None) -> str:
    baseline = review.comparison.baseline
    if baseline is None:
        return ""
    origin = baseline.provenance
    parts = [safe(baseline.source, limit=200)]
    if baseline.scorecard.run_id:
        parts.append(f"run {safe(baseline.scorecard.run_id, limit=120)}")
    measured = origin.get("measured")
    if isinstance(measured, str):
        parts.append(f"measured {safe(measured.partition('T')[0], limit=40)}{_age(review, measured)}")
    checkout = origin.get("checkout")
    commit = checkout.get("commit") if isinstance(checkout, dict) else None
    if isinstance(commit, str):
        parts.append(f"of {commit_link(links, commit)}")
    return f"Baseline: {', '.join(parts)}; {formatting.compared(review.comparison)}"


def _age(review: Review, measured: str) -> str:
    """Say how old a baseline was when the run started, in whole days."""
    days = days_between(measured, review.run.started)
    codes = {reason.code for reason in review.verdict.warnings}
    if days is None or days < 0:
        return " (later than this run ⚠️)" if "future-baseline" in codes else ""
    age = "the same day" if days < 1 else "1 day old" if days < 2 else f"{int(days)} days old"
    return f" ({age}{' ⚠️' if 'stale-baseline' in codes else ''})"


def _trusted(review: Review, links: Links | None) -> str:
    lines = []
    if against := review.run.provenance.against:
        commit = commit_link(links, against)
        baseline = review.comparison.baseline
        own = baseline is not None and baseline.commit == against
        inputs = "Configuration, golden set, vault and baseline" if own else "Configuration, golden set and vault"
        lines.append(f"{inputs}: those of commit {commit}")
    if ignored := review.run.provenance.ignored:
        lines.append(f"Not used, because that commit's own files count: {listed(ignored, most=8)}")
    return "<br>\n".join(lines)
