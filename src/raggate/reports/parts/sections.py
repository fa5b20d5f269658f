"""A review -> the sections of its page, in reading order: the comment and the summary are made of the same ones."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from raggate.models.comparison import GoldenChanges, NoteChange
from raggate.models.golden import naming
from raggate.models.publication import Links, Publication
from raggate.models.scorecard import EPSILON, OVERALL
from raggate.models.verdict import GatedMetric, Preview, Review
from raggate.reports.parts import advice, evidence, formatting, header, metric_tables, questions, reasons
from raggate.reports.parts.budget import KEPT, Section
from raggate.reports.parts.markup import code_block, commit_link, folded, inert, keyed, link, listed, live_link, table
from raggate.reports.parts.reasons import greeted
from raggate.scoring import figures
from raggate.text.dates import days_between
from raggate.text.escape import markdown as safe, plain
from raggate.text.numbers import counted

CHANCE = 0.05
"""How likely chance alone may be to give a gain that is told as one."""

MOST_WORDS = 600
"""Characters of the options that name questions in a command to copy."""

NAMED = 3
"""Metrics that an offer names."""


SHOWN_SETTINGS = 40
SHOWN_NAMES = 30
HERE = Publication()
"""Nothing published: no links, no earlier pushes."""


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
    """Return whether a gain is more than chance: a one-sided sign test over the questions that moved, at 5%.

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
    """Return the options that ask again what broke or counts against a change; empty where that is too much to name."""
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
    baseline, link = _baseline_line(review, links), live_link(run, links.run if links is not None else None, links)
    lines = [*about, baseline, _trusted(review, links), operations, promotion, link]
    small = ("<br>\n".join(filter(None, chosen)) for chosen in (lines, (baseline, link)))
    variants = tuple(f"<sub>{text}</sub>" if text else "" for text in small)
    return Section(name="where the numbers come from", rank=2, variants=variants)


def _baseline_line(review: Review, links: Links | None) -> str:
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
    """Return how old a baseline was when the run started, in whole days."""
    days = days_between(measured, review.run.started)
    codes = {reason.code for reason in review.verdict.warnings}
    if days is None or days < 0:
        return " (later than this run ⚠️)" if "stale-baseline" in codes else ""
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


def since_baseline(review: Review) -> Section:
    """Fold what differs from the baseline: configuration, golden set and vault."""
    comparison = review.comparison
    settings = [f"- {safe(key)}: {safe(before)} → {safe(now)}" for key, before, now in comparison.config_changes]
    groups = (
        _group("Configuration", settings),
        _group("Golden set", _golden_lines(comparison.golden)),
        _group("Vault", _note_lines(comparison.vault_changes)),
    )
    parts = [group for group in groups if group]
    counts = _counts(settings, comparison.golden, comparison.vault_changes)
    title = f"Changed since the baseline: {', '.join(counts)}"
    variants = (folded(title, "\n\n".join(parts)), f"<sub>{title}</sub>") if parts else ()
    return Section(name="changes since the baseline", rank=6, variants=variants)


def _counts(settings: Sequence[object], golden: GoldenChanges, notes: Sequence[NoteChange]) -> list[str]:
    lists = (golden.added, golden.removed, golden.relabelled, golden.refiled, golden.released)
    questions = {name for names in lists for name in names}
    counts = ((len(settings), "setting"), (len(questions), "question"), (len(notes), "note"))
    return [counted(count, noun) for count, noun in counts if count]


def _golden_lines(golden: GoldenChanges) -> list[str]:
    """List how golden sets differ, what loosens the gate first."""
    return [
        f"- {sign}{label} ({len(names)}): {listed(names, most=SHOWN_NAMES)}"
        for sign, label, names in (
            ("⚠️ ", "removed", golden.removed),
            ("⚠️ ", "no longer must-pass", golden.released),
            ("", "relabelled", golden.relabelled),
            ("", "added", golden.added),
            ("", "filed elsewhere", golden.refiled),
        )
        if names
    ]


def _weakened_lines(preview: Preview) -> list[str]:
    """List the questions that would count for less."""
    names = preview.weakened.items()
    return [f"- ⚠️ {label} ({len(ids)}): {listed(ids, most=SHOWN_NAMES)}" for label, ids in names if ids]


def _note_lines(changes: Sequence[NoteChange]) -> list[str]:
    kinds: dict[str, list[str]] = {}
    for change in changes:
        kinds.setdefault(change.kind, []).append(change.note)
    return [f"- {kind} ({len(names)}): {listed(names, most=SHOWN_NAMES)}" for kind, names in kinds.items()]


def _unmarked_lines(notes: Sequence[str]) -> list[str]:
    return [f"- ⚠️ text no longer private ({len(notes)}): {listed(notes, most=SHOWN_NAMES)}"] if notes else []


def if_merged(review: Review) -> Section:
    """Write what the change's own configuration, questions, notes and baseline would mean; problems come first."""
    preview = review.context.preview
    if preview is None or preview.empty:
        return Section(name="if merged", rank=3, variants=())
    # sorted is stable: settings keep their order otherwise
    settings = sorted(preview.settings, key=lambda setting: _mark(setting[0], preview)[0])
    red = (*preview.breaks, *preview.unseen)
    problems = [f"- ⛔ {inert(problem, limit=500, middle=True)}" for problem in red[:10]]
    problems += [f"- ⚠️ {inert(problem, limit=500, middle=True)}" for problem in preview.problems[:10]]
    parts = [
        "### If merged\n\n<sub>How this pull request changes the gate itself. None of it counted here.</sub>",
        _group("Problems", problems),
        _group("Configuration", _settings(settings, preview)),
        _group("Golden set", [*_golden_lines(preview.golden), *_weakened_lines(preview)]),
        _group("Vault", [*_unmarked_lines(preview.unmarked), *_note_lines(preview.vault)]),
        _baseline(preview),
        _outdated(preview.outdated),
        *(_edited_lines(what, gone, new) for what, gone, new in preview.edited),
        _advisory(preview, several=review.scorecard.several_modes),
    ]
    short = [*parts[:2], _group("Configuration", _settings(settings, preview, most=5, width=60))]
    number = len(red) + len(preview.problems)
    counts = [counted(number, "problem")] if number else []
    counts += _counts(preview.settings, preview.golden, preview.vault)
    counts += [f"{len(preview.loosened)} loosened"] if preview.loosened else []
    counts += [f"baseline {preview.baseline}"] if preview.baseline != "same" else []
    counts += [what for what, _, _ in preview.edited]
    short += [f"<sub>{'; '.join(counts)}</sub>" if counts else ""]
    least = [f"**If merged**: {'; '.join(counts) or 'no change to the gate'}", "\n".join(problems[:1])]
    return Section(
        name="if merged",
        rank=3,
        variants=tuple("\n\n".join(part for part in variant if part) for variant in (parts, short, least)),
    )


def _mark(key: str, preview: Preview) -> tuple[int, str, str]:
    """Return the place of a setting, what stands before it, and what after it."""
    if key in preview.loosened:
        return 0, "⚠️ ", " **(loosens the gate)**"
    if key in preview.remeasured:
        return 1, "", " **(measures or compares something else)**"
    return 2, "", ""


def _settings(
    settings: Sequence[tuple[str, str, str]], preview: Preview, *, most: int = SHOWN_SETTINGS, width: int = 120
) -> list[str]:
    lines = [_setting(setting, _mark(setting[0], preview), width=width) for setting in settings[:most]]
    return [*lines, f"- … and {len(settings) - most} more"] if len(settings) > most else lines


def _group(title: str, lines: Sequence[str]) -> str:
    return f"**{title}**\n\n" + "\n".join(lines) if lines else ""


def _setting(setting: tuple[str, str, str], mark: tuple[int, str, str], *, width: int) -> str:
    key, before, now = (safe(part, limit=width) for part in setting)
    _, sign, meaning = mark
    return f"- {sign}{key}: {before} → {now}{meaning}"


def _baseline(preview: Preview) -> str:
    if preview.baseline == "same":
        return ""
    sentence = {
        "added": "**Baseline**: added.",
        "removed": "**Baseline**: ⚠️ removed. After a merge there is nothing to compare with.",
        "replaced": "**Baseline**: replaced.",
    }[preview.baseline]
    if preview.lowered:
        names = listed(preview.lowered, most=SHOWN_NAMES)
        sentence = f"**Baseline**: ⚠️ replaced, and makes the gate weaker for later changes: {names}."
    if not preview.values:
        return sentence
    lines = [
        [
            safe(figures.title(metric), limit=120),
            figures.amount(metric, before, beside=now),
            figures.amount(metric, now, beside=before),
        ]
        for metric, before, now in preview.values[:60]
    ]
    return f"{sentence}\n\n" + table(("metric", "stored", "replaced by"), lines, numbers=("stored", "replaced by"))


def _outdated(reasons: Sequence[str]) -> str:
    """Return why later runs do not pass beside the baseline that a change leaves."""
    lines = [f"- ⚠️ {inert(reason, limit=500, middle=True)}" for reason in reasons]
    return _group("After a merge no run passes until one is promoted", lines)


def _edited_lines(what: str, gone: int, new: int) -> str:
    return f"**{what}**: ⚠️ {gone} gone or edited, {new} new." if gone or new else ""


def _advisory(preview: Preview, *, several: bool) -> str:
    if not (preview.rows or preview.unmet):
        return ""
    lines = []
    for delta in preview.rows[:60]:
        mode = f" ({safe(delta.mode, limit=60)})" if several else ""
        cases = f"{delta.baseline.n}, {delta.current.n}"
        name = safe(figures.title(delta.metric), limit=120)
        lines.append([f"{name}{mode}", figures.change(delta), figures.course(delta), cases])
    head = ("metric", "change", "counted → its own", "questions")
    note = "Measured on this pull request's own questions and notes; it decides nothing."
    measured = table(head, lines, numbers=head[1:]) if lines else ""
    parts = (f"**A run of its own**\n\n<sub>{note}</sub>", "\n".join(map(_unmet, preview.unmet[:20])), measured)
    return "\n\n".join(filter(None, parts))


def _unmet(entry: tuple[str, str, str]) -> str:
    level, name, example = entry
    sign = "⛔" if level == "error" else "⚠️"
    return f"- {sign} invariant {safe(name, limit=60)} is not met: {inert(example, limit=300, middle=True)}"


def sections_of(
    review: Review, publication: Publication = HERE, *, now: str = "now", full: bool = True
) -> list[Section]:
    """Return the sections.

    Args:
        now: what the column of the values measured is called.
        full: whether tables that can be long hold every row.
    """
    links = publication.links
    rules = [reasons.section(review)]
    # what breaks the gate is read first; what only warns after what was measured
    breaking = any(finding.level == "error" for finding in review.findings)
    return [
        header.opening(review),
        header.notes(publication),
        header.pushes(publication),
        header.why(review),
        next_steps(review),
        header.log(review.run.log, place=advice.log_place(review.run)),
        *(rules if breaking else ()),
        header.waivers(review.verdict.waivers),
        *_compared(review, links, now=now, full=full),
        reproduce(review),
        *_slices(review, now=now, full=full),
        header.warnings(review),
        *(() if breaking else rules),
        offer(review),
        if_merged(review),
        *_folded(review, now=now),
        since_baseline(review),
        provenance(review, publication),
    ]


def _compared(review: Review, links: Links | None, *, now: str, full: bool) -> list[Section]:
    """Return what was compared; where that says nothing of the change, the first questions that broke alone."""
    if formatting.undecided(review):
        few = [] if review.run.stopped is not None else [questions.broke(review, links, most=questions.TOP)]
        return [
            *few,
            Section(name="what was compared", rank=2, variants=(f"<sub>{formatting.left_out(review)}</sub>",)),
        ]
    return [
        metric_tables.deltas(review, now=now),
        evidence.section(review),
        evidence.judging_section(review.run),
        metric_tables.measured(review),
        questions.misses(review, links),
        reasons.summary(review),
        questions.broke(review, links),
        questions.more_broke(review, links),
        questions.fell(review, links),
    ]


def _slices(review: Review, *, now: str, full: bool) -> list[Section]:
    return [] if formatting.undecided(review) else [metric_tables.slices(review, now=now, full=full)]


def _folded(review: Review, *, now: str) -> list[Section]:
    """Return what got better and what stayed, which nobody has to open."""
    if formatting.undecided(review):
        return []
    better = metric_tables.better_slices(review, now=now, full=False)
    return [questions.fixed(review), better, metric_tables.unmoved(review, now=now)]


def elsewhere(publication: Publication) -> str:
    """Return where the full report is."""
    run = publication.links.run if publication.links is not None else None
    return f"in {link('the workflow run', run, publication.links)}"
