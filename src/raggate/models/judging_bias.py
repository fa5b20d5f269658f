"""The nouns of what sways judges: grades of an answer as it is and changed without new content. Frozen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from raggate.config.judge_settings import JudgingMode
from raggate.models.judging import Judgement, Spending, Usage

Variant = Literal["again", "reversed", "shuffled", "longer", "shorter"]
"""How an answer was shown once more.

`again`: the same, by another seed; it tells what a judge wavers by without any reason. `reversed`, `shuffled`: passages
and key facts in another order. `longer`, `shorter`: with and without words that say nothing.
"""

BiasFinding = Literal["shown", "lenient or partial", "not shown", "too few"]
"""Whether the grades show a bias; `too few` where there are too few questions for either.

`lenient or partial`: a judge gives its own kind more than others do, and nothing tells whether it gives everybody more.
"""

LEAST_QUESTIONS = 20
"""Questions below which nothing is said of a judge."""


class AnswerGrades(Struct, frozen=True, kw_only=True):
    """What one judge gave one answer for one score, as it is and in the variants that it could tell from that.

    Attributes:
        judge: the name of the model, as the configuration has it.
        answer: the number of the answer among those that were graded.
        case_id: of the question; answers to one question in several modes move together.
        score: such as `groundedness`.
        answered_by: the model that generated the answer; empty where that is not known.
        original: what was given for the answer as it is.
        variants: what was given for the others.
    """

    judge: str
    answer: int
    case_id: str
    score: str
    original: Judgement
    answered_by: str = ""
    variants: Mapping[Variant, Judgement] = field(default_factory=dict)


class Estimate(Struct, frozen=True, kw_only=True):
    """A mean over questions.

    Attributes:
        mean: in the unit of the score.
        low: the lower end of its 95% interval, `high` the upper one; None where the values have no spread to tell.
        p: how likely chance alone gives as much, adjusted for all that was tested; None where it was not tested.
    """

    mean: float
    low: float | None = None
    high: float | None = None
    p: float | None = None


class Shift(Struct, frozen=True, kw_only=True):
    """What a variant does to the grades of a judge.

    Attributes:
        judge: the name of the model.
        score: such as `groundedness`.
        variant: how the answers were shown once more.
        answers: those that have both grades.
        questions: that they are answers to: the independent units.
        not_judged: answers that lack one of the grades, by reason.
        moved: the share of answers whose grade is another one; None without answers.
        moved_low: the lower end of its 95% interval, `moved_high` the upper one.
        shift: the grade of the variant minus that of the answer as it is.
        beyond: of another order, by how much more grades move than when the same is asked again, whatever the
            direction; None for other variants, or where nothing was asked again.
        finding: whether the judge is swayed; of `again` it tells whether there are enough questions alone.
    """

    judge: str
    score: str
    variant: Variant
    answers: int
    questions: int
    not_judged: Mapping[str, int] = field(default_factory=dict)
    moved: float | None = None
    moved_low: float | None = None
    moved_high: float | None = None
    shift: Estimate | None = None
    beyond: Estimate | None = None
    finding: BiasFinding = "too few"


class LengthCorrelation(Struct, frozen=True, kw_only=True):
    """How far the stored grades of a judge go with the length of the answers, in characters, over the whole run.

    `rho` is Spearman's, from -1 to 1, with its 95% interval; None where it is not defined, or of too few questions.
    """

    judge: str
    score: str
    answers: int
    questions: int
    rho: float | None = None
    low: float | None = None
    high: float | None = None


class SelfPreference(Struct, frozen=True, kw_only=True):
    """By how much a judge's grades of its own family's answers are above those of judges of other families.

    Attributes:
        judge: the name of the model.
        family: of models, such as `gpt`.
        score: such as `groundedness`.
        own_questions: questions that its own family answered.
        own: the judge's grade minus the mean of the others', on answers of its own family.
        other_questions: questions that other families answered.
        others: the same on those answers: how lenient it is to anybody.
        preference: `own` minus `others`; None where either has too few questions.
        finding: whether `preference` is above chance; where there is none, whether `own` is (`lenient or partial`).
    """

    judge: str
    family: str
    score: str
    own_questions: int
    other_questions: int
    own: Estimate | None = None
    others: Estimate | None = None
    preference: Estimate | None = None
    finding: BiasFinding = "too few"


class SelfPreferences(Struct, frozen=True, kw_only=True):
    """What was measured of it, or why nothing was; `answered_by` counts the answers by the model that gave them.

    `source` says who names the models: `response`, `configuration`, `command line`, or nothing where nobody does.
    """

    rows: tuple[SelfPreference, ...] = ()
    reason: str = ""
    answered_by: Mapping[str, int] = field(default_factory=dict)
    source: str = ""


class JudgeBias(Struct, frozen=True, kw_only=True):
    """What sways the judges of a run, as measured.

    Attributes:
        run_id: of the run whose answers were graded.
        suite: of that run.
        judges: who judged, by which prompts and parameters, as in a fingerprint.
        seed: what answers are drawn by, and passages shuffled.
        wording: the version of the words that make an answer longer or shorter.
        drawn: how many answers were graded.
        eligible: how many there are to draw from.
        shifts: by judge, score and variant.
        lengths: of the grades that the run holds; empty where it was not judged.
        self_preferences: who prefers answers of its own kind.
        mode: where replies came from.
        spending: what was spent.
        usage: what all replies took when they were made, in this run or before.
        recorded: how many replies are new.
    """

    run_id: str
    suite: str
    judges: Mapping[str, object]
    seed: int
    wording: int
    drawn: int
    eligible: int
    shifts: tuple[Shift, ...]
    lengths: tuple[LengthCorrelation, ...]
    self_preferences: SelfPreferences
    mode: JudgingMode
    spending: Spending
    usage: Usage
    recorded: int = 0

    @property
    def tested(self) -> tuple[Shift | SelfPreference, ...]:
        """What could show a bias: asking the same again shows none."""
        return (*(row for row in self.shifts if row.variant != "again"), *self.self_preferences.rows)

    @property
    def shown(self) -> int:
        """How many biases the grades show."""
        return sum(row.finding == "shown" for row in self.tested)
