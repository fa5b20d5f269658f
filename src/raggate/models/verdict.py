"""The nouns of the decision: judged rows, reasons, the verdict, the preview and the review. Frozen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct, field

from raggate.base.errors import ExitCode
from raggate.base.numbers import counted
from raggate.config.gate_settings import Gate
from raggate.models.answer import EXIT_CODES, VerdictKind
from raggate.models.comparison import Comparison, Delta, Diagnosis, Finding, Flip, GoldenChanges, NoteChange
from raggate.models.history import TrendPoint
from raggate.models.run import Run
from raggate.models.scorecard import OVERALL, CaseScore, Scorecard
from raggate.models.waiver import WaiverStatus

Status = Literal["worse", "below floor", "better", "same", "within", "vanished", "no baseline", "not gated", "advisory"]
Unproven = Literal["", "few cases", "no evidence"]
BaselineState = Literal["same", "added", "removed", "replaced"]
"""What a change does to the baseline file."""


class Recheck(Struct, frozen=True, kw_only=True):
    """What counts against a change, asked on the base build in the same job.

    Attributes:
        asked: those questions, by mode and case id, in the order of the golden set.
        build: what was booted as the base, such as `commit 0123456789ab`; empty when nothing was.
        base: the scores there, of each time they were asked; a question that was not answered has a failure.
        problem: why the base build could not be asked; empty when it was, or was not to be.
        gained: the questions that got better, which are asked again too where the API is known to be noisy.
        again: the change's scores, of each time it was asked again; empty when it was not.
    """

    asked: tuple[tuple[str, str], ...]
    build: str = ""
    base: tuple[tuple[CaseScore, ...], ...] = ()
    problem: str = ""
    gained: tuple[tuple[str, str], ...] = ()
    again: tuple[tuple[CaseScore, ...], ...] = ()


class RecheckOutcome(Struct, frozen=True, kw_only=True):
    """What came of it, in numbers of questions.

    Attributes:
        build: what was booted as the base; empty when nothing was.
        asked: those that count against the change.
        failing: those of them that the base answers no better.
        unanswered: those that the base did not answer.
        problem: why the base build could not be asked; empty when it was.
        times: how often they were asked again of the change, as the API is known to be noisy.
        lost_again: those that did not come back as good as before each time.
    """

    build: str = ""
    asked: int = 0
    failing: int = 0
    unanswered: int = 0
    problem: str = ""
    times: int = 0
    lost_again: int = 0


class GatedMetric(Struct, frozen=True, kw_only=True):
    """A delta and its policy: tolerance `allowed`, limit `floor`, None where unset. A waiver excuses a `waived` row.

    A row is worse `by_others` where the cases that could not be compared make it so, and not those that could. One that
    is worse and `unproven` is a warning: too few cases to judge it by, or no evidence where the policy asks for some.
    `own_p` is the adjusted p-value of the metric's own test, where that is why it is none.
    """

    delta: Delta
    status: Status
    allowed: float | None
    floor: float | None
    gated: bool
    waived: bool = False
    by_others: bool = False
    unproven: Unproven = ""
    own_p: float | None = None

    def decides(self, gate: Gate) -> bool:
        """Return whether the row can make a run red: a slice can where `gate.slices` says so."""
        return self.gated and (self.delta.slice == OVERALL or gate.slices == "fail")


def of_parts(rows: Sequence[GatedMetric]) -> list[GatedMetric]:
    """Return the gated rows of slices; one that holds all cases would only repeat what is said of them."""
    whole = {(row.delta.mode, row.delta.metric): row.delta.current.n for row in rows if row.delta.slice == OVERALL}
    slices = [row for row in rows if row.gated and row.delta.slice != OVERALL]
    return [row for row in slices if row.delta.current.n != whole.get((row.delta.mode, row.delta.metric))]


class CompositeTest(Struct, frozen=True, kw_only=True):
    """Whether the questions of a mode got worse: one paired test of their composite scores, from 0 to 1.

    Attributes:
        metrics: what a score is the mean of, where it applies.
        cases: how many questions have a score on both sides; `lost` of them got worse and `gained` better.
        units: how many of them are independent: questions of one group are one.
        before: the mean score in the baseline; `after` in the run.
        drop: the largest fall of the mean score or of one of the metrics, at least 0.
        p: one-sided, of "the questions did not get worse"; `adjusted` by Holm's method for the modes that are tested.
        visible_drop: the smallest drop that is red four times out of five, as far as this run's own moves tell;
            `told_drop` the smallest that is red or a warning, and `visible_if_alike` the smallest that such a test
            sees if all units have equally many questions.
        largest: how many questions the largest unit has.
        lost_units: of how many units the questions are that got worse.
        fewest_losses: the fewest units that must be lost, none gained, to be significant; None where no loss is.
        fell: the questions that got worse, each with the metrics that did.
        parts: the metrics that scores are really made of, with how many of the questions that got worse did so in each;
            beside those of `metrics` that apply to some question, abstention_accuracy where none applies.
    """

    mode: str
    metrics: tuple[str, ...]
    parts: Mapping[str, int]
    cases: int
    lost: int
    gained: int
    units: int
    before: float
    after: float
    drop: float
    p: float
    adjusted: float
    test: str
    visible_drop: float
    told_drop: float
    fewest_losses: int | None
    visible_if_alike: float = 1.0
    largest: int = 1
    lost_units: int = 0
    fell: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def moves(self) -> str:
        """How many questions got worse and better, in words, and in which metrics, where not in all of them."""
        carried = sorted((part for part in self.parts if self.parts[part]), key=lambda part: -self.parts[part])
        several = {*self.parts.values()} - {self.lost}
        parts = f" ({', '.join(f'{part} in {self.parts[part]}' for part in carried)})" if self.lost and several else ""
        return f"{self.lost} of {counted(self.cases, 'question')} worse{parts}, {self.gained} better"


class CompositeEvidence(Struct, frozen=True, kw_only=True):
    """What a loss takes to be red (`gate.policy`), and what the composite of each mode shows.

    There is no test where single questions cannot be compared: then tolerances alone decide. `harmless_red` is how
    often a harmless change is red, from 0 to 1; 0 if that is seldom.
    """

    policy: str
    tests: tuple[CompositeTest, ...]
    harmless_red: float = 0.0


class Reason(Struct, frozen=True):
    """One clause of a verdict: a stable code for programs and a sentence for people.

    The other fields say what it is about, so that no program reads the sentence. None if it is about no such thing.
    `invariant` names the invariant that does not hold.
    """

    code: str
    message: str
    case_id: str | None = None
    mode: str | None = None
    metric: str | None = None
    slice: str | None = None
    invariant: str | None = None

    @classmethod
    def of_row(cls, code: str, message: str, delta: Delta) -> Reason:
        """Return a reason that is about a row of the comparison, whose name its sentence begins with."""
        return cls(code, message, mode=delta.mode, metric=delta.metric, slice=delta.slice)


class Verdict(Struct, frozen=True, kw_only=True):
    """The decision, its reasons (empty for a pass), warnings, judged rows and waivers.

    `sentences` say it to a reader in a hurry, the most important one first.
    `fell` names the cases that got worse in a metric that makes it red: by mode and case id, these metrics.
    `missed` names those that must pass and do not, each with a metric that says so. `cleared` are those of both that
    count no more after asking again: the base build fails them too, or they came back as good as before. `evidence` is
    what a loss takes, and what there is.
    `recheck` tells how a regression was checked on the base.
    """

    outcome: VerdictKind
    sentences: tuple[str, ...]
    reasons: tuple[Reason, ...] = ()
    warnings: tuple[Reason, ...] = ()
    rows: tuple[GatedMetric, ...] = ()
    waivers: tuple[WaiverStatus, ...] = ()
    fell: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    missed: Mapping[tuple[str, str], str] = field(default_factory=dict)
    cleared: frozenset[tuple[str, str]] = frozenset()
    evidence: CompositeEvidence | None = None
    recheck: RecheckOutcome | None = None

    @property
    def exit_code(self) -> ExitCode:
        """What the process ends with."""
        return EXIT_CODES[self.outcome]

    def is_red(self, flip: Flip) -> bool:
        """Whether a question that got worse is among those that make the verdict red; one that is waived is not."""
        key = (flip.mode, flip.case_id)
        counts = key in self.fell or key in self.missed
        return counts and key not in self.cleared and not flip.waived

    @property
    def headline(self) -> str:
        """The sentences in one line."""
        return " ".join(self.sentences)


class SourceLine(Struct, frozen=True, kw_only=True):
    """A line of a file: path relative to the directory of the configuration, with `/`, and the line from 1."""

    path: str
    line: int


class Preview(Struct, frozen=True, kw_only=True):
    """What the change's own configuration, golden set, vault and baseline would mean if merged. It decides nothing.

    Attributes:
        settings: configuration key, value that counted, value in the change. `loosened`: those that let more through;
            `remeasured`: of the others those by which something else is measured, or held against something else.
        golden: how the change's golden set differs from the one that counted.
        weakened: the questions that would count for less, by what is done to them.
        vault: notes it adds, removes and changes, sorted. `unmarked`: private ones with text in public.
        values: metric over all cases, in the stored baseline and in the change's own, for a replaced baseline.
            `lowered`: what that makes the gate weaker by for later changes. `outdated`: why no later run passes beside
            the baseline that the change leaves; empty where one can, or it leaves none.
        edited: other files that judge: what they hold, how many lines are gone or edited, and how many new.
        rows: the change's golden set and vault measured too: metrics over all its cases, beside those that counted.
            `unmet`: level, name and breach of each invariant that does not hold there, and did where it counted.
        breaks: why its files cannot be used: once it is merged, nothing is measured any more.
        unseen: what of its files could not be looked at, and why.
        retired: whether it takes the suite off the list that the step asks.
        problems: what of it could not be measured.
    """

    settings: tuple[tuple[str, str, str], ...] = ()
    loosened: tuple[str, ...] = ()
    remeasured: tuple[str, ...] = ()
    golden: GoldenChanges = field(default_factory=GoldenChanges)
    weakened: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    vault: tuple[NoteChange, ...] = ()
    unmarked: tuple[str, ...] = ()
    baseline: BaselineState = "same"
    values: tuple[tuple[str, float | None, float | None], ...] = ()
    lowered: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()
    edited: tuple[tuple[str, int, int], ...] = ()
    rows: tuple[Delta, ...] = ()
    unmet: tuple[tuple[str, str, str], ...] = ()
    breaks: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    retired: bool = False
    problems: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether the change leaves everything that decides as it is."""
        return self == Preview()


class ReportContext(Struct, frozen=True, kw_only=True):
    """What reports tell beside the scores, and the run does not say itself. The run directory keeps it.

    Attributes:
        source_lines: by case id, where in the vault its gold support stands, for cases that flipped.
        preview: what the change's own files would mean; None where they are what counted.
        first_run: whether the trusted commit does not have raggate yet, so that the change's own files counted.
        brings: of a first run the outcome by the baseline that the change itself brings; empty if it brings none.
        expired_waivers_resolved: whether the change itself removes or renews every waiver that has expired.
        recheck: what the base build answered to the questions that count against the change; None where not asked.
        dependencies: lock files, manifests and Dockerfiles that the change edits, each with its versions, and packages
            that the program loads otherwise than the baseline's, as texts of somebody else's. They decide nothing.
        root: the way from the run directory to that of the configuration, such as `../../../`, by which a page links
            notes; empty where it is not known.
        forge: the address of that directory on the forge, at the commit that the notes are from, by which a page links
            them wherever it is opened; empty where it is not known. It is never stored: whoever hands a run on could
            lead its readers anywhere.
        trend: what was measured earlier of the same suite, oldest first.
    """

    source_lines: Mapping[str, SourceLine] = field(default_factory=dict)
    preview: Preview | None = None
    first_run: bool = False
    brings: VerdictKind | Literal[""] = ""
    expired_waivers_resolved: bool = False
    recheck: Recheck | None = None
    dependencies: tuple[str, ...] = ()
    root: str = ""
    forge: str = ""
    trend: tuple[TrendPoint, ...] = ()


class Review(Struct, frozen=True, kw_only=True):
    """Everything a report tells: the run, what it was compared with, the decision, and what stands beside the scores.

    `fallen` are the questions that got worse in a gated metric, or must pass and do not, and did not break; those of
    red metrics first. `diagnosis` says why those that make it red got worse, as a whole. `lowers` says of a pass what
    promoting it would need permission for. `misses` are the questions of modes without a baseline that were not found.
    """

    run: Run
    comparison: Comparison
    findings: tuple[Finding, ...]
    verdict: Verdict
    context: ReportContext = field(default_factory=ReportContext)
    fallen: tuple[Flip, ...] = ()
    diagnosis: Diagnosis | None = None
    lowers: tuple[Reason, ...] = ()
    misses: tuple[Flip, ...] = ()

    @property
    def scorecard(self) -> Scorecard:
        """The scores of the run."""
        return self.comparison.scorecard

    @property
    def judged_by(self) -> str | None:
        """The commit whose files judged; None for the files of the checkout, as in a first run."""
        return None if self.context.first_run else self.run.provenance.against

    @property
    def lost(self) -> tuple[Flip, ...]:
        """The questions that got worse, or must pass and do not: those that broke first."""
        return (*self.comparison.broke, *self.fallen)
