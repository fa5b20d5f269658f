"""A review -> annotations: what to show at a line of a file in the pull request, and what beside the run. Pure."""

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from raggate.base.escape import plain
from raggate.config.schema import Config
from raggate.models.comparison import Finding, Flip
from raggate.models.publication import Links
from raggate.models.verdict import Review
from raggate.reports.parts import questions, reasons
from raggate.reports.parts.reasons import greeted

MESSAGE_CHARACTERS = 4096
TITLE_CHARACTERS = 255
PATH_CHARACTERS = 1024
_SHOWN = 10
"""Annotations of a level that the runner shows."""

Level = Literal["notice", "warning", "error"]


class Annotation(Struct, frozen=True, kw_only=True):
    """A message for the log, not escaped yet, with a file and a line of the repository or without both."""

    level: Level
    path: str | None
    line: int | None
    title: str
    message: str


def annotations(review: Review, links: Links | None, *, changed: Collection[str] = ()) -> list[Annotation]:
    """Return the annotations of a review, most important first: verdict, invariants, questions that broke.

    A pass without a warning has none, and a run that broke off names no question. Nothing is put on lines of `changed`
    files, relative to the configuration, which are other ones in the pull request.
    """
    prefix = links.prefix if links is not None else ""
    broke = review.comparison.broke if review.run.stopped is None else ()
    with_verdict = review.verdict.outcome != "pass" or review.verdict.warnings
    return [
        *([_verdict(review)] if with_verdict else []),
        *map(_finding, review.findings),
        *(_question(flip, review, prefix, frozenset(changed)) for flip in broke),
    ]


def for_log(annotations: Sequence[Annotation], *, taken: Mapping[Level, int] | None = None) -> list[Annotation]:
    """Keep as many of each level as the runner shows beside those `taken`; the last says how many are left."""
    kept: list[Annotation] = []
    levels: tuple[Level, ...] = ("error", "warning", "notice")
    for level in levels:
        of_level = [annotation for annotation in annotations if annotation.level == level]
        shown = of_level[: max(_SHOWN - (taken or {}).get(level, 0), 0)]
        if len(of_level) > len(shown) and shown:
            more = f" (+{len(of_level) - len(shown)} more)"
            message = plain(shown[-1].message, limit=MESSAGE_CHARACTERS - len(more), middle=True) + more
            shown[-1] = replace(shown[-1], message=message)
        kept += shown
    return kept


def _verdict(review: Review) -> Annotation:
    verdict = review.verdict
    level: Level = "error" if verdict.outcome != "pass" else "warning"
    if review.context.first_run and greeted(review):
        level = "notice"
    return _annotation(level, f"raggate ({review.run.suite}): {verdict.outcome}", verdict.headline)


def _finding(finding: Finding) -> Annotation:
    level: Level = "error" if finding.level == "error" else "warning"
    message = f"{finding.message} {'; '.join(finding.examples)}"
    return _annotation(level, f"Invariant {finding.invariant} {finding.state}", message)


def _question(flip: Flip, review: Review, prefix: str, changed: frozenset[str]) -> Annotation:
    # a question is among the causes when the verdict is red because of what got worse
    level: Level = "error" if review.verdict.outcome == "regression" else "warning"
    must = "Must-pass question" if flip.must_pass else "Question"
    mode = f" ({flip.mode})" if review.scorecard.several_modes else ""
    parts = [
        f"{plain(flip.question)} {questions.rank_change(flip)}{': ' + plain(flip.why) if flip.why else ''}.",
        f"Expected: {plain(flip.gold)}.",
    ]
    if risen := reasons.instead(flip):
        parts.append(f"In its place: {plain(risen)}.")
    path, line = _place(flip, review, changed)
    placed = f"{prefix}{path}" if path is not None else None
    if placed is not None and (len(placed) > PATH_CHARACTERS or plain(placed, limit=PATH_CHARACTERS) != placed):
        placed, line = None, None
    return _annotation(level, f"{must} {plain(flip.case_id, limit=100)} broke{mode}", " ".join(parts), placed, line)


def _place(flip: Flip, review: Review, changed: frozenset[str]) -> tuple[str | None, int | None]:
    """Return the gold note's line, else the question's in the golden set, else nothing."""
    note = review.context.source_lines.get(flip.case_id)
    if note is not None and note.path not in changed:
        return note.path, note.line
    config = review.run.config
    line = next((case.line for case in review.run.golden.cases if case.id == flip.case_id), 0)
    if isinstance(config, Config) and config.golden not in changed and line > 0:
        return config.golden, line
    return None, None


def _annotation(level: Level, title: str, message: str, path: str | None = None, line: int | None = None) -> Annotation:
    return Annotation(
        level=level,
        path=path,
        line=line,
        title=plain(title, limit=TITLE_CHARACTERS),
        message=plain(message, limit=MESSAGE_CHARACTERS, middle=True),
    )
