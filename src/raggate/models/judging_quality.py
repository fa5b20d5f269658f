"""The nouns of how well judging went: what was judged, and whether judges agree with people and each other. Frozen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Self

from msgspec import field
from pydantic import ValidationError

from raggate.config.judge_settings import IN_POINTS
from raggate.models.fingerprint import Fingerprint
from raggate.models.judging import Judgement, Usage, usage_of
from raggate.text.jsonio import JsonObject
from raggate.text.shapes import Shape, Stored
from raggate.text.struct_fields import as_dict

Scale = Literal["points", "share", "yes_no"]
"""What a score counts in: points from 0 to 5, a share from 0 to 1, or 0 for no and 1 for yes."""

JUDGES = "judges"
"""The key of a fingerprint that says who judged what, by which prompts: equal ones make scores comparable."""

JUDGING = "judging"
"""The key of a fingerprint that says how judging went."""

_SCALES: Mapping[str, Scale] = {
    **dict.fromkeys(IN_POINTS, "points"),
    "faithfulness": "share",
    "context_relevancy": "share",
    # of passages that have a label
    **dict.fromkeys(("topically_relevant", "evidence_sufficient", "misleading"), "share"),
}
_APART: Mapping[Scale, float] = {"points": 1.0, "share": 0.2, "yes_no": 0.0}


def scale_of(score: str) -> Scale:
    """Return the scale of a score; labels, and whatever else is told apart, are yes or no."""
    return _SCALES.get(score, "yes_no")


def highest(score: str) -> float:
    """Return the highest value of a score; the lowest of all is 0."""
    return 5.0 if scale_of(score) == "points" else 1.0


def disagree(score: str, first: float, second: float) -> bool:
    """Return whether two values are more than a point, or a fifth of a share, apart, or differ as yes and no."""
    return abs(first - second) > _APART[scale_of(score)] + 1e-9


def judged_scores(fingerprint: Fingerprint) -> frozenset[str]:
    """Return the scores that judges give in a run; none where nothing is judged."""
    return frozenset(map(str, _listed(fingerprint, "scores")))


def judges_of(fingerprint: Fingerprint) -> tuple[tuple[str, str], ...]:
    """Name the models that judged a run, each with its build, which is empty where none is stated."""
    models = [model for model in _listed(fingerprint, "models") if isinstance(model, Mapping)]
    return tuple((str(model.get("model") or ""), str(model.get("build") or "")) for model in models)


def _listed(fingerprint: Fingerprint, key: str) -> Sequence[object]:
    judges = fingerprint.get(JUDGES)
    value = judges.get(key) if isinstance(judges, Mapping) else None
    return value if isinstance(value, list | tuple) else ()


class Coverage(Stored, frozen=True, kw_only=True):
    """How far one score was judged.

    Attributes:
        expected: answers that have something to judge.
        judged: those that have a value.
        reasons: how many have none, by reason.
        usage: what their replies took, whether in this run or before; one that equal answers share counts once.
    """

    expected: int
    judged: int
    reasons: Mapping[str, int] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)

    @classmethod
    def of(cls, score: str, answers: Iterable[Sequence[Judgement]]) -> Self:
        """Return how far a score was judged, by what judges said of each answer."""
        given = [judgement for judgements in answers for judgement in judgements if judgement.score == score]
        expected = [judgement for judgement in given if judgement.reason != "nothing_to_judge"]
        return cls(
            expected=len(expected),
            judged=sum(judgement.value is not None for judgement in expected),
            reasons=dict(sorted(Counter(item.reason for item in expected if item.reason is not None).items())),
            usage=usage_of(given),
        )

    @property
    def gaps(self) -> str:
        """How many have none, by reason, in words; empty where all have one."""
        return ", ".join(f"{number} {reason}" for reason, number in self.reasons.items())

    @property
    def share(self) -> float | None:
        """The share that was judged; None where there was nothing to judge."""
        return self.judged / self.expected if self.expected else None


class CanaryAgreement(Stored, frozen=True, kw_only=True):
    """How far the judges agree with people on one score of the canary set.

    Attributes:
        cases: cases that people graded.
        judged: those that the judges graded too.
        answers: how many different answers are among those; 0 in runs from before they were counted.
        kappa: Cohen's, with quadratic weights; None where it is not defined.
        low: the lower end of its 95% interval, and `high` the upper one.
    """

    cases: int
    judged: int
    answers: int = 0
    kappa: float | None = None
    low: float | None = None
    high: float | None = None


class Canary(Stored, frozen=True, kw_only=True):
    """The canary set and what came of it.

    Attributes:
        hash: of the set's content.
        floor: the kappa that the judges must have.
        scores: the agreement, by score.
        replayed: whether all of it came from the cassette: it tells nothing of the server as it is today.
    """

    hash: str
    floor: float
    scores: Mapping[str, CanaryAgreement]
    replayed: bool = False


class SpotCheck(Stored, frozen=True, kw_only=True):
    """A seeded sample of the answers, judged once more: how many values, and the share that disagrees.

    `by` is the second model, or empty for the same one with another wording. The rate is None where nothing was judged
    twice.
    """

    disagreement_rate: float | None
    spot_check_n: int
    by: str = ""

    @property
    def who(self) -> str:
        """Who judged once more, in words."""
        return self.by or "the same judge in other words"


class JudgingSummary(Stored, frozen=True, kw_only=True):
    """How judging a run went, by score.

    `canary` and `spot_check` are None unless they were asked for.
    """

    min_coverage: float
    scores: Mapping[str, Coverage]
    canary: Canary | None = None
    spot_check: SpotCheck | None = None

    def stored(self) -> JsonObject:
        """Return it as a fingerprint holds it."""
        return as_dict(self)

    @classmethod
    def of(cls, fingerprint: Fingerprint) -> JudgingSummary | None:
        """Read it from a fingerprint; None where nothing was judged, or it cannot be read."""
        stored = fingerprint.get(JUDGING)
        if stored is None:
            return None
        try:
            return _SUMMARY.validate_python(stored)
        except ValidationError:
            return None

    @property
    def usage(self) -> Usage:
        """What all replies took."""
        return Usage.total(coverage.usage for coverage in self.scores.values())


_SUMMARY: Shape[JudgingSummary] = Shape(JudgingSummary)
