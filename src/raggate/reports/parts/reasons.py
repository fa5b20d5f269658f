"""Why a verdict is no pass: the reasons a page still has to tell, causes of lost questions, broken invariants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raggate.base.quote import cut
from raggate.models.comparison import GROUPS, Diagnosis, Finding, Flip
from raggate.models.verdict import Reason, Review
from raggate.reports.parts import formatting
from raggate.reports.parts.document import KEPT, Bullets, Part, Span, bold, line

_MERGING = frozenset(("breaks-gate", "retires-suite", "baseline-outdated"))
"""What stands above any good news, because a merge ends the gate."""

NAMED = "Most likely cause"
"""How a sentence begins that names one."""
SHOWN = 6
"""Causes and changes that are listed, of each."""
REPAIRS = {
    "lists_ordered": "sort by the final score after the last reranker, return no NaN, and number the passages last",
    "chunk_ids_unique": "drop repeated passages before the list is cut to its length",
    "chunks_distinct": "drop passages of the same place and text, or index each note once",
    "chunk_ids_stable": "make the id from the note and the section, not from a counter",
    "scope_respected": "filter by vault before ranking, in every ranker",
    "vaults_known": "return the vault's name with each passage",
    "notes_exist": "index the fixture vault alone, and return paths relative to the vault",
    "headings_exist": "return the headings as they are in the note, all levels of them",
    "text_in_note": "return the note's own text, and index the vault again if it is older than the notes",
    "golden_kept_apart": "name golden set, baselines and .git in .dockerignore, and keep them out of the vaults",
    "abstained_is_empty": "return no references with an answer that abstains",
    "index_complete": "answer the health check only when indexing has ended, and read its log for notes left out",
    "no_empty_documents": "look for what the chunker drops in these notes",
    "list_deep_enough": "raise `ask.k`, or let the API return as many passages as it is asked for",
    "must_be_deterministic": "break ties by the passage's id, and search without a random seed",
    "private_withheld": "leave private and deleted notes out of the index",
    "principals_isolated": "filter by what the principal may see before ranking",
    "lists_alike": "look at what became of the lists: filters, thresholds, the number of candidates",
}
"""Invariant -> what is usually amiss where it does not hold."""
_UNSEEN = "Let the API return what the rule needs"


def greeted(review: Review) -> bool:
    """Return whether a review is a first run, with nothing wrong but the missing baseline."""
    codes = {reason.code for reason in review.verdict.reasons}
    # a part of the questions cannot become the baseline that is missing
    return bool(codes) and codes <= {"first-run", "no-baseline"} and review.run.selection is None


def merging(review: Review) -> list[Reason]:
    """Return what a merge would break, where the verdict's own sentence does not say it."""
    reasons = () if formatting.breaks_alone(review) else review.verdict.reasons
    return [reason for reason in (*reasons, *review.verdict.warnings) if reason.code in _MERGING]


def first_cause(review: Review) -> Reason | None:
    """Return why there is no verdict, to be said before anything else; None where there is one."""
    unsaid = review.verdict.outcome == "cannot tell" and not formatting.breaks_alone(review)
    return next(iter(formatting.deciding(review)), None) if unsaid else None


def further_reasons(review: Review) -> Iterator[Reason]:
    """Yield the reasons that neither the first sentence, a greeting, a table, a list nor another part tells."""
    if greeted(review):
        return
    above = {reason.code for reason in merging(review)}
    # the first one is the sentence of a verdict that is no regression
    said = 0 if review.verdict.outcome in {"regression", "failed in part"} else 1
    for reason in formatting.deciding(review)[said:]:
        if reason.invariant is None and reason.code not in above and not _shown(reason, review):
            yield reason


def _shown(reason: Reason, review: Review) -> bool:
    """Return whether the verdict's sentences, the table of metrics or the lists of questions show a reason."""
    if reason.code == "worse" and reason.case_id is not None:
        return any((flip.case_id, flip.mode) == (reason.case_id, reason.mode) for flip in review.comparison.flips)
    if reason.code in {"worse", "below-floor"}:
        # one that is worse by questions that could not be compared is red for what no table has
        rows = [row.delta for row in formatting.main_rows(review.verdict.rows) if not row.by_others]
        place = (reason.mode, reason.slice, reason.metric)
        return any((row.mode, row.slice, row.metric) == place for row in rows)
    if reason.code == "must-pass":
        # a list of questions shows one answer of each, and not how many of several miss
        missed = [flip for flip in review.fallen if flip.kind == "missed" and not review.run.repeats]
        listed = [flip for flip in review.comparison.broke if flip.must_pass] + missed
        return any((flip.case_id, flip.mode) == (reason.case_id, reason.mode) for flip in listed)
    return reason.code == "composite-worse"


def further_warnings(review: Review) -> list[Reason]:
    """Return the warnings that no other part tells: not invariants, slices that are tabled, and what merging breaks."""
    rows = [] if formatting.undecided(review) else formatting.slice_rows(review.verdict.rows)
    tabled = {("slice-worse", row.delta.mode, row.delta.slice) for row in rows}
    above = {reason.code for reason in merging(review)}
    others = (reason for reason in formatting.warnings(review) if reason.invariant is None and reason.code not in above)
    return [reason for reason in others if (reason.code, reason.mode, reason.slice) not in tabled]


def capital(reason: Reason) -> str:
    """Begin a sentence with a capital, but not one that begins with the name of a metric."""
    named = reason.metric is not None and reason.case_id is None
    return reason.message if named else reason.message[:1].upper() + reason.message[1:]


def sentence(reason: Reason) -> str:
    """Return the same as a whole sentence."""
    text = capital(reason)
    return text if text.endswith((".", "!", "?")) else f"{text}."


def likely(review: Review) -> str:
    """Return the sentence that names the most likely cause, or says that none shows; empty where nothing got worse."""
    return "" if (diagnosis := _told(review)) is None else diagnosis.likely


def beside(review: Review) -> tuple[str, str]:
    """Return a label and the versions that a change edits beside the notes, which are often the cause."""
    unseen = likely(review) and not likely(review).startswith(NAMED)
    label = "Look first at what changed beside the notes:" if unseen else "Changed beside the notes:"
    return label, ", ".join(review.context.dependencies)


def total(review: Review) -> str:
    """Return how questions that broke and that got worse add up to the red ones; empty unless both do, in one mode."""
    broke, fallen = review.comparison.broke, review.fallen
    red = [[flip for flip in flips if review.verdict.is_red(flip)] for flips in (broke, fallen)]
    one_mode = not review.scorecard.several_modes and all(flip.kind == "fell" for flip in fallen)
    decided = review.verdict.outcome in {"regression", "failed in part"}
    if not decided or not all(red) or not one_mode:
        return ""
    parts = [
        f"{'all ' if len(own) == len(flips) else f'{len(own)} of '}{len(flips)} that {verb}"
        for own, flips, verb in zip(red, (broke, fallen), ("broke", "got worse without breaking"), strict=True)
    ]
    return f"{sum(map(len, red))} questions make it red: {parts[0]} and {parts[1]}."


def _told(review: Review) -> Diagnosis | None:
    return None if review.verdict.outcome == "pass" or formatting.undecided(review) else review.diagnosis


def changes(review: Review) -> list[str]:
    """Return the changes of the whole that the sentence on the likely cause leaves out."""
    diagnosis = _told(review)
    return [change for change in diagnosis.changes if change not in diagnosis.likely][:SHOWN] if diagnosis else []


def changed(review: Review) -> str:
    """Return what changed as a whole below a pass, in one sentence; empty if nothing shows."""
    changes = review.diagnosis.changes if review.diagnosis is not None and review.verdict.outcome == "pass" else ()
    shown = "; ".join(cut(change, limit=200) for change in changes[:SHOWN])
    return f"What changed as a whole: {shown}." if shown else ""


def group(flip: Flip) -> str:
    """Name what a question broke by, as others that broke so."""
    return GROUPS[flip.cause.code] if flip.cause is not None else "no cause is known"


def grouped(flips: Sequence[Flip]) -> dict[str, list[Flip]]:
    """Put questions together that broke by the same cause: those that must pass first, then the largest group."""
    groups: dict[str, list[Flip]] = {}
    for flip in flips:
        groups.setdefault(group(flip), []).append(flip)
    in_order = sorted(groups.items(), key=lambda item: (not any(flip.must_pass for flip in item[1]), -len(item[1])))
    return dict(in_order)


def remaining(flip: Flip) -> str:
    """Return what a question's own cause says beyond the name of its group."""
    bare = flip.cause is not None and flip.cause.code == "not-listed" and not flip.cause.passage
    return "" if bare else flip.why.removeprefix(group(flip)).lstrip(": ")


def instead(flip: Flip) -> str:
    """Return the passage in the place of the one that is expected; empty if none is known, or the cause says it."""
    risen = flip.displaced_by or ""
    if not risen or (flip.gold != risen and not flip.gold.startswith(f"{risen} (+")):
        return risen
    told = flip.cause is not None and flip.cause.code == "snippet-gone"
    snippets = flip.support is not None and flip.support.snippets
    return "another piece of the same section, without the snippet" if snippets and not told else ""


def findings(review: Review) -> Part:
    """List the invariants that do not hold, those that break the gate first."""
    breaks = any(finding.level == "error" for finding in review.findings)
    items = []
    for finding in review.findings:
        sign = "⛔" if finding.level == "error" else "⚠️"
        first = line(f"{sign} ", bold(finding.message, 160), f" ({kind(finding)}: {finding.invariant})")
        examples = (line(Span(example)) for example in finding.examples)
        items.append((first, *examples, line(Span(repair(finding), "own"))))
    title = f"Invariants not met ({len(items)})"
    rank = KEPT if breaks else 2
    return Part(name="invariants", title=title, blocks=(Bullets(items),), folded=not breaks, rank=rank)


def kind(finding: Finding) -> str:
    """Return how grave a finding is."""
    level = "error" if finding.level == "error" else "warning"
    return f"{level}, could not be checked" if finding.unseen else level


def repair(finding: Finding) -> str:
    """Return what to do: in the API, or with the key that turns the rule off."""
    known = REPAIRS.get(finding.invariant)
    if known is None:
        return f"{_UNSEEN}."
    advice = _UNSEEN if finding.unseen else f"{known[:1].upper()}{known[1:]}"
    level = "warn" if finding.level == "error" else "off"
    return f"{advice}. If you accept this, set `invariants.{finding.invariant}: {level}`."
