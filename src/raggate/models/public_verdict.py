"""The verdict as programs see it: what `raggate.check` returns, and `raggate check --json` prints. Frozen, and stable.

Fields are added, and none is taken away or means another thing, without a new major version of raggate.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from msgspec import Struct

from raggate.models.answer import VerdictKind
from raggate.models.verdict import Review

SideKind = Literal["working tree", "revision", "image", "url", "run"]


class Reason(Struct, frozen=True, kw_only=True):
    """One clause of a verdict: a stable code for programs and a sentence for people."""

    code: str
    message: str


class Metric(Struct, frozen=True, kw_only=True):
    """One gated metric of one mode and slice (`overall` for all questions), on both sides.

    Attributes:
        mode: the retrieval mode.
        slice: the slice of the golden set.
        metric: its name, such as `hit_at_5`.
        direction: whether higher or lower values are better.
        baseline: its value there; None where it does not apply or there is no baseline. Unrounded, as `current`.
        current: its value in the run, over the same questions.
        delta: current minus baseline; None where one of them is None.
        allowed: how much worse it may be; None where no tolerance is set.
        limit: the floor or ceiling; None where none is set.
        n: over how many questions the current value is.
        status: what was decided of it, such as `worse`, `below floor`, `within`, `same`, `better`.
    """

    mode: str
    slice: str
    metric: str
    direction: Literal["higher", "lower"]
    baseline: float | None
    current: float | None
    delta: float | None
    allowed: float | None
    limit: float | None
    n: int
    status: str


class Question(Struct, frozen=True, kw_only=True):
    """A question that got worse, or that must pass and does not. Its texts come from the golden set and the API.

    Attributes:
        case_id: its id in the golden set; `mode` how it was asked.
        kind: `broke` (it was found before), `fell` (found, but worse) or `missed` (it must pass, and does not).
        question: what was asked.
        expected: the passage that answers it, in words.
        before: the rank of that passage in the baseline, from 1; None for not in the list.
        after: the same in the run.
        why: the likely cause in a sentence; empty where none is known.
        must_pass: whether the golden set marks it so.
        counts: whether it is one of those that make the verdict red.
        trace_id: the W3C trace id that it was asked with; None where none was sent.
    """

    case_id: str
    mode: str
    kind: Literal["broke", "fell", "missed"]
    question: str
    expected: str
    before: int | None
    after: int | None
    why: str
    must_pass: bool
    counts: bool
    trace_id: str | None


class Verdict(Struct, frozen=True, kw_only=True):
    """What the gate decided, and where the evidence is.

    Attributes:
        outcome: `pass`, `regression`, `cannot tell`, `invariant broken` or `interrupted`; `partial` or `failed in part`
            where a part of the questions was asked.
        exit_code: what `raggate check` ends with for it.
        headline: the verdict in a sentence or two.
        suite: the suite of the configuration.
        run_id: the run's name.
        run_directory: where the run and its reports are; verdict.json there tells more.
        cases: how many questions of the golden set were scored.
        compared: how many of them are the same in the baseline.
        part_of: how many the golden set has, where only a part of them was asked; None for a whole run.
        reasons: why it is not a pass; empty for one.
        warnings: what is worth knowing, and decided nothing.
        metrics: the gated metrics.
        lost: the questions that got worse, those that count first.
    """

    outcome: VerdictKind
    exit_code: int
    headline: str
    suite: str
    run_id: str
    run_directory: Path
    cases: int
    compared: int
    reasons: tuple[Reason, ...]
    warnings: tuple[Reason, ...]
    metrics: tuple[Metric, ...]
    lost: tuple[Question, ...]
    part_of: int | None = None

    UNTRUSTED: ClassVar = "same-process"
    """The code of the warning that the tested code could have changed the verdict."""

    @property
    def passed(self) -> bool:
        """Whether it is a pass, the only outcome that lets a change in."""
        return self.exit_code == 0

    @property
    def trusted(self) -> bool:
        """Whether what was tested ran outside raggate's own process, so that it could not change the verdict there."""
        return not any(reason.code == self.UNTRUSTED for reason in self.warnings)

    def __str__(self) -> str:
        """Write it in a few lines, for the message of an assertion."""
        lost = [f"  {question.case_id} ({question.mode}): {question.question}" for question in self.lost[:10]]
        more = [f"  … and {len(self.lost) - 10} more"] if len(self.lost) > 10 else []
        return "\n".join(
            [
                f"{self.outcome}: {self.headline}",
                *lost,
                *more,
                *(f"  {reason.message}" for reason in self.warnings if reason.code == self.UNTRUSTED),
                f"  report: {self.run_directory}/summary.md",
            ]
        )


class SideRow(Struct, frozen=True, kw_only=True):
    """One of two builds, as programs get it.

    Attributes:
        kind: what it is.
        name: as it was named.
        commit: its commit; null where that is not known.
        run_id: its run.
    """

    kind: SideKind
    name: str
    commit: str | None
    run_id: str


class Side(SideRow, frozen=True, kw_only=True):
    """One of two builds, and where its run is."""

    directory: Path

    @property
    def title(self) -> str:
        """Name it in a few words, its commit included."""
        if self.kind == "working tree":
            return "the working tree"
        commit = f" ({self.commit[:12]})" if self.commit and self.kind == "revision" else ""
        return f"{self.kind} {self.name}{commit}"


class DiffDocument(Struct, frozen=True, kw_only=True):
    """Two builds, one held against the other, as programs get it.

    Attributes:
        schema: `raggate/diff/1`.
        base: the first build.
        head: the second build.
        verdict: as of `check`, with base in place of the baseline.
    """

    schema: str
    base: SideRow
    head: SideRow
    verdict: Verdict


class SideBySide(Struct, frozen=True, kw_only=True):
    """Base and head, and the review of the head with the base in place of a baseline."""

    base: Side
    head: Side
    review: Review
