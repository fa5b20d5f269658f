"""The nouns of `raggate lint`: every check with its stable id, what one of them finds, and all that was found."""

from __future__ import annotations

from typing import Literal, NamedTuple

from msgspec import Struct

Severity = Literal["error", "warning", "note"]
"""An error is what `raggate check` would refuse or be red for; a warning is worth a change; a note is to be known."""


class ModeOutlook(Struct, frozen=True, kw_only=True):
    """What the questions of a mode can show.

    Attributes:
        mode: the mode.
        questions: how many are asked in it, in `units` independent groups.
        visible_drop: the smallest drop that is red four times out of five, and `told_drop` the smallest that is red
            or a warning. Questions are lost whole, the hardest loss to see.
        blind: whether no loss can be told from chance, so that tolerances alone decide.
        enough: how many questions it takes to see a drop of 5 points as red or a warning, and as red; None where no
            number does.
        harmless_red: how often a harmless change is red, from 0 to 1; 0 if that is seldom.
        small: the gated metrics of too few questions to be judged alone, each with their number.
    """

    mode: str
    questions: int
    units: int
    visible_drop: float
    told_drop: float
    blind: bool = False
    enough: tuple[int | None, int | None] = (None, None)
    harmless_red: float = 0.0
    small: tuple[tuple[str, int], ...] = ()


class Outlook(Struct, frozen=True, kw_only=True):
    """What a suite can show. `part_of` counts the questions of the golden set where it asks some of them, else None."""

    suite: str
    policy: str
    questions: int
    modes: tuple[ModeOutlook, ...]
    part_of: int | None = None


class Check(NamedTuple):
    """One check: how loud it is, what it looks for, and what to do about it."""

    severity: Severity
    title: str
    remedy: str


CHECKS: dict[str, Check] = {
    "invalid-config": Check(
        "error", "The configuration cannot be read.", "Correct the key; docs/configuration.md lists every one."
    ),
    "invalid-golden": Check(
        "error",
        "A line of the golden set is not a valid question.",
        "Correct the line; docs/golden-set.md describes every key.",
    ),
    "missing-anchor": Check(
        "error",
        "A gold support names a note, heading or snippet that is not in the vault.",
        "Use the closest match in the message, or label the question again.",
    ),
    "unusable-inputs": Check(
        "error", "A file or a name that `raggate check` needs is missing or wrong.", "Do what the message says."
    ),
    "expired-waiver": Check(
        "error",
        "A waiver has expired, which makes the gate red.",
        "Remove the waiver, or renew it with a reason.",
    ),
    "broad-waiver": Check(
        "warning",
        "A waiver holds for more than a year, or waivers leave out most questions, so the gate judges little.",
        "Let waivers end soon, and waive the few questions that a change loses on purpose.",
    ),
    "duplicate-question": Check(
        "warning",
        "Two questions ask the same in the same scope, so one counts twice.",
        "Remove one of them, or join their supports.",
    ),
    "near-duplicate-question": Check(
        "warning",
        "Two questions ask nearly the same and are not of one group, so they count as independent evidence.",
        "Give both the same `group`, or ask something else in one of them.",
    ),
    "leaked-heading": Check(
        "warning",
        "A question quotes headings of its gold supports, of three words or of half its own, so any keyword search "
        "finds the passage.",
        "Ask in the words of somebody who does not know the note.",
    ),
    "leaked-answer": Check(
        "warning",
        "A question contains a snippet of its gold support, so it gives away its answer.",
        "Ask for the snippet without quoting it.",
    ),
    "ambiguous-anchor": Check(
        "warning",
        "A gold support names several places at once, so that any of them counts as found.",
        "Add a snippet that occurs only in the intended place, name its vault, or rename a heading.",
    ),
    "missing-snippet": Check(
        "warning",
        "A gold support names a long section, or one of code or a table, without a snippet: any piece of it counts as "
        "found, also if the piece that answers is lost.",
        "Add a snippet: some words of the text that answers, as `raggate golden add` proposes.",
    ),
    "malformed-note": Check(
        "warning",
        "A note is not UTF-8, so raggate and the API may read its text differently.",
        "Save it as UTF-8, for example with `iconv -f latin1 -t utf8`.",
    ),
    "no-unanswerable": Check(
        "note",
        "No question is unanswerable, so nothing shows whether the API abstains when it should.",
        "Add questions that no note answers, with `answerable: false`.",
    ),
    "unasked-note": Check(
        "note",
        "No question is about this note, so nobody notices if it can no longer be found.",
        "Ask something that only this note answers.",
    ),
    "no-baseline": Check(
        "note", "There is no baseline, so only floors and ceilings can be gated.", "Run `raggate check`, then promote."
    ),
    "stale-baseline": Check(
        "warning", "The baseline is older than 90 days, or from the future.", "Promote a newer run."
    ),
    "other-settings": Check(
        "warning",
        "The baseline was measured with other settings, so that no run can be compared with it.",
        "Promote a run with today's settings, or restore the old ones.",
    ),
    "removed-question": Check(
        "warning",
        "A question of the baseline is missing from those of the suite.",
        "Restore it, or promote a run without it.",
    ),
    "unread-heading": Check(
        "warning",
        "A gold support names a heading, and the configuration reads no `heading_path` from answers, or no answer of "
        "the baseline has one: it never matches.",
        "Map `chunks.heading_path`, let the API return it, find it by the text (`{from: text}`), or name the note "
        "alone, with a snippet where part answers.",
    ),
    "unread-abstention": Check(
        "note",
        "Questions are unanswerable, and the configuration reads from no answer whether the API abstained.",
        "Map `abstained` where the API says so; where it cannot, the questions measure nothing.",
    ),
    "impossible-question": Check(
        "warning",
        "A question was not found in any mode when the baseline was measured, so that it shows no loss.",
        "Check its label; if it is right, the question can only show gains.",
    ),
    "smallest-loss": Check(
        "note", "The smallest drop that is seen 4 times in 5.", "Add questions, in more groups, to see smaller ones."
    ),
    "no-visible-loss": Check(
        "warning", "No loss can be distinguished from chance, whatever its size.", "Add questions, in more groups."
    ),
    "often-red": Check(
        "warning",
        "The policy is often red by a change that harms nothing.",
        "Set gate.policy to evidence, or add questions.",
    ),
    "few-questions": Check(
        "warning",
        "A gated metric applies to fewer questions than gate.min_cases.",
        "Add questions that it applies to.",
    ),
}
"""By id, in the order of the report. Ids are an interface: renaming one breaks somebody's settings."""


class LintFinding(NamedTuple):
    """What a check found, and where.

    Attributes:
        check: its id, a key of `CHECKS`.
        path: the file, relative to the configuration's directory.
        line: from 1, also if the finding is about the whole file.
        key: the key of the configuration, or the id of the case; empty where there is neither.
        message: one sentence, which may hold foreign text as it is.
    """

    check: str
    path: str
    line: int
    key: str
    message: str

    @property
    def severity(self) -> Severity:
        """How loud its check is."""
        return CHECKS[self.check].severity


class LintReport(Struct, frozen=True, kw_only=True):
    """All that was found, most important first, and what the suite can show; None where its files cannot be used.

    `gate_line` is where the configuration, `config`, says how it is gated; `ignored` are checks that are left out.
    """

    config: str
    findings: tuple[LintFinding, ...]
    outlook: Outlook | None = None
    gate_line: int = 1
    ignored: frozenset[str] = frozenset()


def in_order(findings: list[LintFinding]) -> tuple[LintFinding, ...]:
    """Sort findings: by severity, then as `CHECKS` lists them, then by place."""
    loudness = {"error": 0, "warning": 1, "note": 2}
    order = {name: (loudness[check.severity], place) for place, (name, check) in enumerate(CHECKS.items())}
    return tuple(sorted(findings, key=lambda finding: (*order[finding.check], finding.path, finding.line)))


class LintRow(Struct, frozen=True, kw_only=True):
    """A finding, as programs get it.

    Attributes:
        check: the id of the check.
        severity: how loud it is.
        path: the file.
        line: the line; 0 for the whole file.
        key: the key, or the id of the question.
        message: what was found.
        fix: what to do.
    """

    check: str
    severity: Severity
    path: str
    line: int
    key: str
    message: str
    fix: str


class LintDocument(Struct, frozen=True, kw_only=True):
    """What was found, as programs get it.

    Attributes:
        config: the configuration.
        findings: what was found, most important first.
        outlook: what the suite can show.
    """

    config: str
    findings: tuple[LintRow, ...]
    outlook: Outlook | None
