"""The invariants that do not hold: each by its name, what was seen, and what to do about it."""

from __future__ import annotations

from raggate.models.comparison import Finding
from raggate.models.verdict import Review
from raggate.reports.parts.budget import KEPT, Section
from raggate.reports.parts.markup import inert, keyed
from raggate.text.escape import markdown as safe
from raggate.text.numbers import often

REPAIRS = {
    "ranks_contiguous": "number the chunks 1, 2, 3, … in the order they are returned, after any filter",
    "scores_ordered": "sort by the final score after the last reranker, and return no NaN",
    "chunk_ids_unique": "drop repeated chunks before the list is cut to its length",
    "chunks_distinct": "drop chunks of the same place and text, or index each note once",
    "chunk_ids_stable": "make the id from the note and the section, not from a counter",
    "scope_respected": "filter by vault before ranking, in every ranker",
    "vaults_known": "return the vault's name with each chunk",
    "notes_exist": "index the fixture vault alone, and return paths relative to the vault",
    "headings_exist": "return the headings as they are in the note, all levels of them",
    "text_in_note": "return the note's own text, and index the vault again if it is older than the notes",
    "chunks_have_text": "return the text of every chunk, or of none",
    "golden_kept_apart": "name golden set, baselines and .git in .dockerignore, and keep them out of the vaults",
    "abstained_is_empty": "return no references with an answer that abstains",
    "index_complete": "answer the health check only when indexing has ended, and read its log for notes left out",
    "index_constant": "answer the health check only when indexing has ended, and index nothing while it answers",
    "no_empty_documents": "look for what the chunker drops in these notes",
    "list_deep_enough": "raise `ask.k`, or let the API return as many chunks as it is asked for",
    "must_be_deterministic": "break ties by the chunk's id, and search without a random seed",
    "ties_at_cutoff": "break ties by the chunk's id",
    "top_is_prefix": "rank first and cut to the length last",
    "headings_findable": "index each heading with its section",
    "spelling_ignored": "normalise case, white space and Unicode of question and index alike",
    "nonsense_abstains": "set a lowest score below which nothing comes back",
    "reindex_idempotent": "clear the index before it is built again, and make ids from content",
    "private_withheld": "leave private and deleted notes out of the index",
    "principals_isolated": "filter by what the principal may see before ranking",
    "lists_alike": "look at what became of the lists: filters, thresholds, the number of candidates",
}
"""Invariant -> what is usually amiss where it does not hold."""

_UNSEEN = "Let the API return what the rule needs"


def section(review: Review) -> Section:
    """Write them, those that break the gate first."""
    if not review.findings:
        return Section(name="invariants", rank=KEPT, variants=())
    title = f"### Invariants not met ({len(review.findings)})\n\n"
    full = "\n".join(_finding(finding, examples=5, width=300) for finding in review.findings)
    middle = "\n".join(_finding(finding, examples=1, width=120) for finding in review.findings)
    short = ", ".join(f"{_level(finding)} {safe(finding.invariant, limit=40)}" for finding in review.findings[:20])
    return Section(
        name="invariants",
        rank=KEPT,
        variants=(title + full, title + middle, f"**Invariants not met**: {short}"),
    )


def _finding(finding: Finding, *, examples: int, width: int) -> str:
    name = f"**{safe(finding.invariant, limit=60)}** ({kind(finding)})"
    lines = [f"- {_level(finding)} {name}: {inert(finding.message, limit=width, middle=True)}"]
    lines += [f"  - {inert(example, limit=width, middle=True)}" for example in finding.examples[:examples]]
    return "\n".join([*lines, f"  - {keyed(repair(finding))}"])


def kind(finding: Finding) -> str:
    """Return how grave a finding is, and how often it was seen."""
    level = "error" if finding.level == "error" else "warning"
    unseen = ", could not be checked" if finding.unseen else ""
    return f"{level}{unseen}{f', {often(finding.count)}' if finding.count > 1 else ''}"


def repair(finding: Finding) -> str:
    """Say what to do: in the API, or by which key the rule is not asked for."""
    known = REPAIRS.get(finding.invariant)
    advice = _UNSEEN if finding.unseen or known is None else f"{known[:1].upper()}{known[1:]}"
    if known is None:
        return f"{advice}."
    level = "warn" if finding.level == "error" else "off"
    return f"{advice}; or, if that is how it should be, set `invariants.{finding.invariant}: {level}`."


def _level(finding: Finding) -> str:
    return "⛔" if finding.level == "error" else "⚠️"
