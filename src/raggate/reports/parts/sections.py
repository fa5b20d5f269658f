"""A review -> the parts of its page, in reading order: comment, summary and summary.md are made of the same ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import comb

from raggate.base.dates import days_between
from raggate.base.numbers import counted
from raggate.base.quote import listed
from raggate.models.comparison import Comparison, GoldenChanges, NoteChange
from raggate.models.publication import Links, Publication
from raggate.models.scorecard import EPSILON, OVERALL
from raggate.models.verdict import GatedMetric, Preview, Review
from raggate.reports.parts import advice, evidence, formatting, header, metric_tables, questions, reasons
from raggate.reports.parts.document import (
    KEPT,
    Block,
    Bullets,
    Command,
    Line,
    Paragraph,
    Part,
    Span,
    Table,
    bold,
    bulleted,
    commit,
    line,
)
from raggate.reports.parts.markup import link
from raggate.reports.parts.reasons import greeted
from raggate.scoring import figures

SHOWN_NAMES = 30

CHANCE = 0.05
"""How likely chance alone may be to make a reported gain."""

NAMED = 3
"""Metrics that an offer names."""

HERE = Publication()
"""Nothing published: no links, no earlier pushes."""


def sections_of(review: Review, publication: Publication = HERE) -> list[Part]:
    """Return the parts of a review's page."""
    links = publication.links
    return [
        header.opening(review),
        changed_beside(review),
        header.notes(publication),
        header.pushes(publication),
        header.why(review),
        first_steps(review),
        next_step(review),
        header.log(review.run.log, place=advice.log_place(review.run)),
        reasons.findings(review),
        *_compared(review, links),
        offer(review),
        *if_merged(review),
        header.waivers(review.verdict.waivers),
        header.warnings(review),
        since_baseline(review),
        provenance(review, publication),
    ]


def changed_beside(review: Review) -> Part:
    """Return which versions the change edits beside the notes, often the cause itself."""
    label, text = reasons.beside(review)
    own = line(bold(label), Span(f" {text}", limit=600))
    return Part(name="changed versions", blocks=(Paragraph((own,)),) if text else (), rank=2)


def _compared(review: Review, links: Links | None) -> list[Part]:
    """Return what was compared; where that says nothing of the change, what broke alone."""
    if formatting.undecided(review):
        left_out = (Paragraph((line(formatting.LEFT_OUT),), soft=True),)
        return [questions.what_broke(review), Part(name="what was compared", blocks=left_out, rank=2)]
    return [
        metric_tables.deciding(review),
        metric_tables.measured(review),
        questions.misses(review, links),
        questions.what_broke(review),
        *questions.lists(review, links),
        metric_tables.slices(review),
        metric_tables.others(review),
        how_sure(review),
    ]


def first_steps(review: Review) -> Part:
    """Explain a first run, and what to do to have a gate after it."""
    if not (review.context.first_run or greeted(review)):
        return Part(name="what to do next", blocks=())
    measured = f"{counted(review.scorecard.questions, 'question')} were asked and scored"
    end = "merge it with its baseline" if review.context.brings else "promote a baseline"
    until = f"The verdict stays “{review.verdict.outcome}” (exit {review.verdict.exit_code}) until you {end}."
    if not review.context.first_run:
        intro = f"{measured}. {until}"
    elif greeted(review):
        intro = f"{measured} with this pull request's own configuration, questions and notes. {until}"
    else:
        intro = "This pull request introduces raggate: it was measured with its own files."
    steps = Bullets([(line(Span(step, "own")),) for step in advice.first_steps(review)])
    blocks = (Paragraph((line(intro),)), Paragraph((line(bold("What to do next")),)), steps)
    return Part(name="what to do next", blocks=blocks, rank=2)


def next_step(review: Review) -> Part:
    """Return what to do next, and one command for it."""
    step, command = advice.next_step(review), advice.command(review)
    told = (line(bold("Next:"), " ", Span(step, "own")),) if step else ()
    title = "" if step else "Reproduce locally"
    blocks = (Paragraph(told), Command(command))
    return Part(name="how to reproduce", title=title, blocks=blocks, folded=not step, rank=KEPT)


def offer(review: Review) -> Part:
    """Offer to promote after merging, when the change makes something better beyond noise and nothing gated worse."""
    rows = [row for row in review.verdict.rows if row.gated and row.delta.slice == OVERALL]
    better = [row for row in rows if row.status == "better" and _beyond_noise(row)]
    worse = any(row.status in {"within", "worse", "below floor", "vanished"} for row in rows)
    if review.verdict.outcome != "pass" or worse or not better:
        return Part(name="an offer to promote", blocks=())
    named = ", ".join(f"{figures.title(row.delta.metric)} {figures.change(row.delta)}" for row in better[:NAMED])
    more = f" and {len(better) - NAMED} more" if len(better) > NAMED else ""
    text = (
        "After the merge, promote it with the promotion workflow or `raggate promote latest`. Until then a later "
        "change can lose this gain unnoticed."
    )
    blocks = (Paragraph((line(Span(text, "own")),)),)
    return Part(name="an offer to promote", title=f"📈 Better: {named}{more}", blocks=blocks, rank=3)


def _beyond_noise(row: GatedMetric) -> bool:
    """Return whether a gain is more than chance: a one-sided sign test over the questions that moved, at 5%.

    Without single questions to count, a gain beyond the tolerance has to do.
    """
    improved, regressed = row.delta.improved, row.delta.regressed
    if improved is None or regressed is None:
        return abs(row.delta.delta or 0.0) > (row.allowed or 0.0) + EPSILON
    moved = improved + regressed
    return moved > 0 and sum(comb(moved, count) for count in range(improved, moved + 1)) / 2**moved <= CHANCE


def how_sure(review: Review) -> Part:
    """Fold what the questions show together, how far lists are judged, and how judges graded."""
    compared = evidence.lines_of(review) if review.verdict.rows or greeted(review) else []
    lines = [*compared, *evidence.judging_sentences(review.run)]
    return Part(name="how sure this is", title="How sure this is", blocks=bulleted(lines), folded=True, rank=5)


def provenance(review: Review, publication: Publication) -> Part:
    """Return in small print which baseline and which files decided, and how the calls went."""
    links = publication.links
    words = "Workflow run that measured" if publication.relayed else "Workflow run with the full report"
    run = [line(Span(words, target=links.run))] if links is not None and links.run else []
    about = [line(f"{name}: {text}") for name, text in formatting.about(review.run).items()]
    operations, promotion = formatting.operations_line(review.scorecard), formatting.promotion_note(review)
    texts = [line(Span(text, limit=600)) for text in (operations, promotion) if text]
    lines = (*_baseline(review, links), *run, *about, *_trusted(review, links), *texts)
    return Part(name="where the numbers come from", blocks=(Paragraph(lines, soft=True),), rank=2)


def _baseline(review: Review, links: Links | None) -> Iterator[Line]:
    baseline = review.comparison.baseline
    if baseline is None:
        return
    parts = [baseline.source]
    if baseline.scorecard.run_id:
        parts.append(f"run {baseline.scorecard.run_id}")
    measured = baseline.provenance.get("measured")
    if isinstance(measured, str):
        days = days_between(measured, review.run.started)
        age = (
            ""
            if days is None or days < 0
            else f" ({counted(int(days), 'day')} old)"
            if days >= 1
            else " (the same day)"
        )
        parts.append(f"measured {measured.partition('T')[0]}{age}")
    checkout = baseline.provenance.get("checkout")
    built = checkout.get("commit") if isinstance(checkout, dict) else None
    of_commit = (", of ", commit(built, links)) if isinstance(built, str) else ()
    yield line(f"Baseline: {', '.join(parts)}", *of_commit, f"; {formatting.compared(review.comparison)}")


def _trusted(review: Review, links: Links | None) -> Iterator[Line]:
    if against := review.judged_by:
        baseline = review.comparison.baseline
        own = baseline is not None and baseline.commit == against
        inputs = f"Configuration, golden set{', vault and baseline' if own else ' and vault'}"
        yield line(f"{inputs}: those of commit ", commit(against, links))
    if ignored := review.run.provenance.ignored:
        yield line(f"Not used, because that commit's own files count: {listed(ignored, 8)}")


def since_baseline(review: Review) -> Part:
    """Fold what differs from the baseline: configuration, golden set and vault."""
    comparison = review.comparison
    counts = _counts(comparison.config_changes, comparison.golden, comparison.vault_changes)
    title = f"Changed since the baseline: {', '.join(counts)}"
    blocks = bulleted(changed_lines(comparison))
    return Part(name="changes since the baseline", title=title, blocks=blocks, folded=True, rank=6)


def changed_lines(comparison: Comparison) -> list[str]:
    """List how configuration, golden set and vault differ from those of the baseline."""
    settings = [f"{key}: {before} → {now}" for key, before, now in comparison.config_changes]
    return [*settings, *_golden_lines(comparison.golden), *_note_lines(comparison.vault_changes)]


def _counts(settings: Sequence[object], golden: GoldenChanges, notes: Sequence[NoteChange]) -> list[str]:
    lists = (golden.added, golden.removed, golden.relabelled, golden.refiled, golden.released)
    ids = {name for names in lists for name in names}
    counts = ((len(settings), "setting"), (len(ids), "question"), (len(notes), "note"))
    return [counted(count, noun) for count, noun in counts if count]


def _golden_lines(golden: GoldenChanges) -> list[str]:
    groups: dict[str, Sequence[str]] = {
        "⚠️ questions removed": golden.removed,
        "⚠️ questions no longer must-pass": golden.released,
        "questions relabelled": golden.relabelled,
        "questions added": golden.added,
        "questions filed elsewhere": golden.refiled,
    }
    return _named_groups(groups)


def _note_lines(changes: Sequence[NoteChange]) -> list[str]:
    kinds: dict[str, list[str]] = {}
    for change in changes:
        kinds.setdefault(f"notes {change.kind}", []).append(change.note)
    return _named_groups(kinds)


def _named_groups(groups: Mapping[str, Sequence[str]]) -> list[str]:
    return [f"{label} ({len(names)}): {listed(names, SHOWN_NAMES)}" for label, names in groups.items() if names]


def if_merged(review: Review) -> list[Part]:
    """Return what the change's own configuration, questions, notes and baseline would mean; problems come first."""
    preview = review.context.preview
    if preview is None or preview.empty:
        return []
    problems = [f"⛔ {text}" for text in (*preview.breaks, *preview.unseen)]
    problems += [f"⚠️ {text}" for text in preview.problems]
    differs = _counts(preview.settings, preview.golden, preview.vault)
    differs += [f"{len(preview.loosened)} loosened"] if preview.loosened else []
    differs += [f"baseline {preview.baseline}"] if preview.baseline != "same" else []
    changed = ", ".join(differs) or "see below"
    intro = f"How this pull request changes the gate itself: {changed}. None of it counted here."
    blocks = (Paragraph((line(intro),)), *bulleted(problems))
    own: list[Block] = [*bulleted(_merged_lines(preview))]
    if preview.rows:
        shown, several = preview.rows[:60], review.scorecard.several_modes
        names = (metric_tables.name_of(delta, several=several) for delta in shown)
        counts = (f"{delta.baseline.n}, {delta.current.n}" for delta in shown)
        rows = [*zip(names, map(figures.change, shown), map(figures.course, shown), counts, strict=True)]
        note = "Measured with this pull request's own questions and notes. It decides nothing."
        head = ("metric", "change", "counted → its own", "questions")
        own += [Paragraph((line(note),), soft=True), Table(head, rows, head[1:])]
    return [
        Part(name="if merged", title="If merged", blocks=blocks, rank=3),
        Part(name="what merging changes", title="What merging changes", blocks=tuple(own), folded=True, rank=3),
    ]


def _merged_lines(preview: Preview) -> list[str]:
    settings = []
    for key, before, now in sorted(preview.settings, key=lambda setting: setting[0] not in preview.loosened):
        meaning = " (loosens the gate)" if key in preview.loosened else ""
        meaning = " (measures or compares something else)" if key in preview.remeasured else meaning
        settings.append(f"{'⚠️ ' if key in preview.loosened else ''}{key}: {before} → {now}{meaning}")
    replaced = [] if preview.baseline == "same" else [f"baseline {preview.baseline}"]
    if preview.baseline == "removed":
        replaced = ["⚠️ baseline removed: after the merge there is nothing to compare with"]
    return [
        *settings,
        *_golden_lines(preview.golden),
        *(f"⚠️ {text}" for text in _named_groups(dict(preview.weakened))),
        *_named_groups({"⚠️ text no longer private": preview.unmarked}),
        *_note_lines(preview.vault),
        *replaced,
        *_named_groups({"⚠️ baseline makes the gate weaker for later changes": preview.lowered}),
        *(f"baseline: {figures.title(name)} {figures.both(name, *values)}" for name, *values in preview.values[:60]),
        *(f"⚠️ after the merge every run fails until you promote a new baseline: {why}" for why in preview.outdated),
        *(f"⚠️ {what}: {gone} gone or edited, {new} new" for what, gone, new in preview.edited),
        *(
            f"{'⛔' if level == 'error' else '⚠️'} {breach} ({'error' if level == 'error' else 'warning'}: {name})"
            for level, name, breach in preview.unmet
        ),
    ]


def elsewhere(publication: Publication) -> str:
    """Return where the full report is, as Markdown."""
    run = publication.links.run if publication.links is not None else None
    return f"in {link('the workflow run', run, publication.links)}"
