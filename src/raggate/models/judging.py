"""The nouns of judging: what a model is asked about an answer, what it replies, and what that says. Frozen.

A judge that cannot be asked, or does not answer as it should, has not judged: there is no value then, and a reason.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, reduce
from math import inf
from typing import Annotated, Literal, Self

from msgspec import Meta, Struct, ValidationError, convert, field

from raggate.base.jsonio import JsonObject, as_dict, dumps
from raggate.config.judge_settings import IN_POINTS, MAX_TOKENS, JudgeModelSettings, JudgingMode
from raggate.models.metric_names import CONTEXT_CHARS, family
from raggate.models.provenance import Fingerprint

TEMPERATURE = 0.0
SEED = 1
MOST_TOKENS = 1_000_000_000
"""The largest count of tokens that is believed of one reply."""

TokenCount = Annotated[int, Meta(ge=0, le=MOST_TOKENS)]

Role = Literal["system", "user", "assistant"]

Task = Literal["retrieval", "grounding", "generation"]
"""What was judged: a chunk for a query, an answer against its context set, or an answer for a query."""
LABELS: dict[Task, tuple[str, ...]] = {
    "retrieval": ("topically_relevant", "evidence_sufficient", "misleading"),
    "grounding": (
        "support_present",
        "unsupported_claim_present",
        "contradicted_claim_present",
        "source_cited",
        "fabricated_source",
    ),
    "generation": ("proper_action", "response_on_topic", "helpful", "incomplete", "unsafe_content"),
}
"""The yes/no questions of each task, in the order of the metrics taxonomy."""

NotJudgedReason = Literal[
    "nothing_to_judge",
    "replay_miss",
    "no_key",
    "budget",
    "deadline",
    "timeout",
    "connection",
    "status",
    "refused",
    "invalid_reply",
    "other_model",
    "unusable_score",
    "disagreement",
]
"""Why there is no value.

`nothing_to_judge`: the API gave no answer, or nothing that the score could hold it against. `replay_miss`: the cassette
does not hold the reply, and no call was allowed. `no_key`: the variable of the key is empty. `budget`, `deadline`: of
the whole run. `timeout`, `connection`, `status`: of the call, after all retries. `refused`: the model declined, was
filtered, or gave no text. `invalid_reply`: not what the schema demands, nor after it was asked for once more.
`other_model`: the server says that another model answered than the one asked for, or another than before.
`unusable_score`: the reply contradicts itself.
`disagreement`: no grade has a majority of a panel.
"""

NOT_ASKED: tuple[NotJudgedReason, ...] = ("replay_miss", "no_key")
"""Why an answer was not judged that no answer can bring about: no judge was to be asked."""


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


class Message(Struct, frozen=True, kw_only=True):
    """One message of a prompt."""

    role: Role
    text: str


class Prompt(Struct, frozen=True, kw_only=True):
    """A rendered prompt.

    Attributes:
        name: of the rubric, such as `groundedness`.
        template: the hash of the rubric and the schema before anything of the answer stood in it: what is the same for
            every question, and makes two runs comparable.
        messages: what is sent.
        schema: the JSON schema that the reply must follow.
        about: what a person who reviews the cassette wants to see of the request; it does not count for its identity.
    """

    name: str
    template: str
    messages: tuple[Message, ...]
    schema: JsonObject
    about: JsonObject = field(default_factory=dict)


class JudgeRequest(Struct, frozen=True, kw_only=True):
    """What one model is asked once: everything that the reply depends on, as far as it is known."""

    model: JudgeModelSettings
    prompt: Prompt

    @property
    def key(self) -> str:
        """The SHA-256 of the whole rendered request, in hexadecimal: the same request has the same key."""
        whole = {
            **self.model.identity,
            "provider": self.model.provider or "openai",
            "messages": [{"role": message.role, "text": message.text} for message in self.prompt.messages],
            "schema": self.prompt.schema,
            "constrained": self.model.json_schema,
            "max_tokens": MAX_TOKENS,
            "temperature": TEMPERATURE,
            "seed": SEED,
        }
        return hashlib.sha256(dumps(whole)).hexdigest()


class Reply(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a server replied: the text, who it says answered, and the tokens it counted, None where it tells none.

    `cut_off` says that the text ended because it may not be longer. A cassette has no further keys: whoever reviews it
    must not be shown what is not read.
    """

    text: str
    model: str = ""
    input_tokens: TokenCount | None = None
    output_tokens: TokenCount | None = None
    cut_off: bool = False


class NotJudged(Struct, frozen=True, kw_only=True):
    """Why there is no reply that says anything. `detail` is a sentence without the reason; it may hold foreign text."""

    reason: NotJudgedReason
    detail: str = ""


class Usage(Struct, frozen=True, kw_only=True):
    """What replies took when they were made, whether in this run or before: the servers' own counts.

    `replies` is how many there are, `untold` how many of them came without a count; `usd` is None as soon as one
    has no price or no count.
    """

    replies: int = 0
    untold: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0

    def __add__(self, other: Usage) -> Usage:
        """Return what both took."""
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Usage(
            replies=self.replies + other.replies,
            untold=self.untold + other.untold,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            usd=usd,
        )

    @classmethod
    def of(cls, model: JudgeModelSettings, reply: Reply) -> Usage:
        """Return what one reply took."""
        read, written = reply.input_tokens, reply.output_tokens
        if read is None or written is None:
            return cls(replies=1, untold=1, usd=None)
        usd = None if model.price is None else (read * model.price[0] + written * model.price[1]) / 1e6
        return cls(replies=1, input_tokens=read, output_tokens=written, usd=usd)

    def amounts(self) -> dict[str, float]:
        """Return tokens and dollars by the names that costs have; nothing that is not known for all replies."""
        if not self.replies or self.untold:
            return {}
        dollars = {} if self.usd is None else {"judge_cost_usd": self.usd}
        return {"judge_tokens": self.input_tokens + self.output_tokens, **dollars}

    @classmethod
    def total(cls, usages: Iterable[Usage]) -> Usage:
        """Return what all of them took."""
        return reduce(cls.__add__, usages, cls())


class Judgement(Struct, frozen=True, kw_only=True):
    """What one score of one answer came out as: a value, or the reason why there is none. Never both, never neither.

    Attributes:
        value: on the scale of the score; None where it was not judged.
        reason: why it was not; None where it was.
        detail: a sentence about the reason. Foreign text may stand in it, as in all texts below.
        reasoning: what the judge gave as its reasons.
        supported: claims of the answer that the judge found in the context.
        unsupported: those it did not.
        passages: the numbers, from 1, of the passages that it is said of, where the value is a share of passages.
        keys: of the requests that were made for it, by which the cassette tells what was asked.
        usage: what their replies took.
        judge: the name of the model; empty for what several gave together.
        votes: what each model of a panel said.
    """

    score: str
    value: float | None
    reason: NotJudgedReason | None = None
    detail: str = ""
    reasoning: str = ""
    supported: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()
    passages: tuple[int, ...] = ()
    keys: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    judge: str = ""
    votes: tuple[Judgement, ...] = ()


def usage_of(judgements: Iterable[Judgement], counted: set[tuple[str, ...]] | None = None) -> Usage:
    """Return what the replies behind judgements took. A reply that several of them rest on was made once.

    Equal answers have the same requests, in whatever mode, and so have scores that follow from one reply.

    Args:
        counted: the requests that an earlier answer has counted; those of this one are added.
    """
    total, counted = Usage(), set() if counted is None else counted
    for judgement in judgements:
        if judgement.keys not in counted:
            total += judgement.usage
        if judgement.keys:
            counted.add(judgement.keys)
    return total


class Spending(Struct, frozen=True, kw_only=True):
    """What one run spent on calls to judges; what came from the cassette cost nothing.

    Attributes:
        calls: that were made, retries included.
        retries: how many of them repeated one that had failed.
        refused: how many were not made because of the budget.
        untold: calls whose tokens no server told, such as those that timed out. The most they can have taken counts.
        usd: US dollars by the models' prices; None where one has no price, or did not tell its tokens.
    """

    calls: int = 0
    retries: int = 0
    refused: int = 0
    untold: int = 0
    tokens: int = 0
    usd: float | None = 0.0


class Judging(Struct, frozen=True, kw_only=True):
    """How the answers of a run were judged: what was spent on them in this run, and how many replies are new."""

    mode: JudgingMode
    spending: Spending
    recorded: int = 0


def scale_of(score: str) -> Scale:
    """Return the scale of a score. Labels, and everything without a scale, are yes or no."""
    return _SCALES.get(score, "yes_no")


@lru_cache(maxsize=1 << 10)  # asked for every question
def highest(score: str) -> float:
    """Return the highest value of a metric; the lowest of all is 0, and an amount has no end."""
    if family(score) == CONTEXT_CHARS:
        return inf
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


class Coverage(Struct, frozen=True, kw_only=True):
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


class CanaryAgreement(Struct, frozen=True, kw_only=True):
    """How far the judges agree with people on one score of the canary set.

    Attributes:
        cases: cases that people graded.
        judged: those that the judges graded too.
        answers: how many different answers are among those.
        kappa: Cohen's, with quadratic weights; None where it is not defined.
        low: the lower end of its 95% interval, and `high` the upper one.
    """

    cases: int
    judged: int
    answers: int = 0
    kappa: float | None = None
    low: float | None = None
    high: float | None = None


class Canary(Struct, frozen=True, kw_only=True):
    """The canary set, by the hash of its content, and what came of it.

    Where it is `replayed`, all came from the cassette: it tells nothing of the server as it is today.
    """

    hash: str
    scores: Mapping[str, CanaryAgreement]
    replayed: bool = False


class SpotCheck(Struct, frozen=True, kw_only=True):
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


class JudgingSummary(Struct, frozen=True, kw_only=True):
    """How judging a run went, by score.

    `canary` and `spot_check` are None unless they were asked for.
    """

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
            return convert(stored, cls)
        except ValidationError:
            return None

    @property
    def usage(self) -> Usage:
        """What all replies took."""
        return Usage.total(coverage.usage for coverage in self.scores.values())
