"""What a judge must reply to each rubric. The names of the keys are those that the rubrics in `rubrics/` explain.

Reasons stand before grades, so that a model gives its reasons first. Where a schema cannot say that two keys contradict
each other, `contradiction` does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError

from raggate.base.jsonio import JsonObject, distinct
from raggate.base.quote import cut

MOST_CHARACTERS = 200_000
"""The longest reply that is read."""

LONGEST_TEXT = 400
MOST_ITEMS = 60
"""Characters of a text, and entries of a list, in the schema that a server of one's own generates by."""

# the whole reply, and nothing beside it: what stands in the middle of a text may be quoted from the answer
_FENCED = re.compile(r"\s*```(?:json)?[ \t]*\n(.*)\n[ \t]*```\s*", re.DOTALL)
_SHOWN_PROBLEMS = 3
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}

ClaimVerdict = Literal["supported", "partly_supported", "unsupported", "contradicted", "unrelated"]


class ReplyFormat(BaseModel):
    """What a reply must be: an object with these keys, all of them and no others, each of its own type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    def contradiction(self, *, cites: bool, passages: int) -> str:
        """Return how its keys contradict each other or the answer; empty if they do not."""
        return ""


F = TypeVar("F", bound=ReplyFormat)


@cache
def schema_of(expected: type[ReplyFormat]) -> JsonObject:
    """Return the JSON schema of a reply, as a request carries it. It is made once: every prompt asks for it."""
    return expected.model_json_schema()


def parse(text: str, expected: type[F]) -> F:
    """Read a reply: one JSON object, in a fence of Markdown or without."""
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"expected at most {MOST_CHARACTERS} characters")
    fenced = _FENCED.fullmatch(text)
    try:
        value = json.loads(fenced[1] if fenced else text, object_pairs_hook=distinct, parse_constant=_no_number)
        # JSON can spell half a character, which no file and no request can hold
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("expected valid Unicode, found a lone surrogate") from None
    except RecursionError:
        raise ValueError("expected one JSON object, found nesting that is too deep") from None
    except ValueError as error:
        raise ValueError(f"expected one JSON object and nothing else: {error}") from None
    try:
        return expected.model_validate(value)
    except ValidationError as error:
        raise ValueError("; ".join(map(_sentence, error.errors(include_url=False)[:_SHOWN_PROBLEMS]))) from None


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _sentence(problem: Any) -> str:
    place = ".".join(map(str, problem["loc"])) or "the reply"
    return f"{cut(place, limit=80)}: {problem['msg']}"


def unescaped(text: str) -> str:
    """Resolve the escapes of JSON, wherever they stand."""
    characters = _ESCAPE.sub(_meant, text)
    # two escapes are one character beyond the first 65536
    return characters.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if "\\" in text else text


def _meant(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16)) if escape[1] else _CONTROLS.get(escape[2], escape[2])


def bounded(schema: JsonObject, *, passages: int = MOST_ITEMS) -> JsonObject:
    """Return the same schema with a length for every text, which a server that generates by the schema then keeps to.

    A small model may otherwise never come to the end of a text, or of a list of passages. The reply is read without:
    nobody must count letters.

    Args:
        passages: how many there are, at least 1: a list of numbers names no more of them, and no others.
    """
    return {key: _bounded(value, passages) for key, value in schema.items()}


def _bounded(value: object, passages: int) -> object:
    if isinstance(value, list):
        return [_bounded(item, passages) for item in value]
    if not isinstance(value, dict):
        return value
    return {**{key: _bounded(item, passages) for key, item in value.items()}, **_limits(value, passages)}


def _limits(value: JsonObject, passages: int) -> JsonObject:
    match value:
        case {"type": "string"} if "enum" not in value:
            return {"minLength": 1, "maxLength": LONGEST_TEXT}
        case {"type": "array", "items": {"type": "integer"}}:
            return {"maxItems": passages, "items": {"type": "integer", "minimum": 1, "maximum": passages}}
        case {"type": "array"}:
            return {"maxItems": MOST_ITEMS}
        case _:
            return {}


def _no_boolean(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("expected a number, found a boolean")
    return value


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("expected reasons, found none")
    return text


def same_claim(claim: str) -> str:
    """Return what two spellings of a claim have in common: a claim counts once, however often an answer makes it."""
    return " ".join(claim.split()).casefold()


def each_once(claims: list[str]) -> tuple[str, ...]:
    """Return every claim once, as it is spelt first, and no blank one."""
    first: dict[str, str] = {}
    for claim in claims:
        first.setdefault(same_claim(claim), claim)
    return tuple(claim for same, claim in first.items() if same)


Points = Annotated[Literal[0, 1, 2, 3, 4, 5], BeforeValidator(_no_boolean)]
"""The scale of groundedness and correctness. Python takes true for 1; a judge that says it has given no points."""

Reasoning = Annotated[str, AfterValidator(_not_blank)]
"""Why, in a judge's own words. Not every provider's server allows a schema to say that there must be some."""


class GroundednessReply(ReplyFormat):
    """The answer as a whole, against its passages."""

    reasoning: Reasoning
    supported_claims: list[str]
    unsupported_claims: list[str]
    uncited_major_claims: list[str]
    score: Points

    def contradiction(self, *, cites: bool, passages: int) -> str:
        if self.score == 5:
            if self.unsupported_claims:
                return "a score of 5 with unsupported claims"
            if self.uncited_major_claims or not cites:
                return "a score of 5 although major claims have no citation"
        if set(map(same_claim, self.supported_claims)) & set(map(same_claim, self.unsupported_claims)):
            return "a claim that is supported and unsupported"
        if self.score == 0 and self.supported_claims:
            return "a score of 0 with supported claims"
        return ""


class CorrectnessReply(ReplyFormat):
    """The answer against the question, and the facts that people expect."""

    reasoning: Reasoning
    missing_facts: list[str]
    score: Points

    def contradiction(self, *, cites: bool, passages: int) -> str:
        return "a score of 5 with missing facts" if self.score == 5 and self.missing_facts else ""


class Claim(ReplyFormat):
    """One statement of an answer."""

    claim: str
    major: bool
    cited: bool


class ClaimsReply(ReplyFormat):
    """The statements that an answer makes."""

    claims: list[Claim]


class ClaimReply(ReplyFormat):
    """One claim against the passages."""

    reasoning: Reasoning
    verdict: ClaimVerdict


class AbstentionReply(ReplyFormat):
    """Whether an answer is a refusal."""

    reasoning: Reasoning
    abstained: bool


class RecencyConflictReply(ReplyFormat):
    """Whether an answer deals with notes that disagree as its case demands."""

    reasoning: Reasoning
    follows_rule: bool


class ContextRelevancyReply(ReplyFormat):
    """Which passages help to answer the question, by their numbers from 1."""

    reasoning: Reasoning
    helpful_passages: list[int]

    def contradiction(self, *, cites: bool, passages: int) -> str:
        return _wrong_numbers("helpful", self.helpful_passages, passages)


def _wrong_numbers(label: str, numbers: Sequence[int], passages: int) -> str:
    if len(set(numbers)) < len(numbers):
        return f"a passage is listed twice among the {label} ones"
    if any(not 1 <= number <= passages for number in numbers):
        return f"a {label} passage that is not one of the {passages}"
    return ""


class RetrievalLabelsReply(ReplyFormat):
    """The labels of the task `retrieval`: of each the numbers of the passages that have it, from 1."""

    reasoning: Reasoning
    topically_relevant: list[int]
    evidence_sufficient: list[int]
    misleading: list[int]

    def contradiction(self, *, cites: bool, passages: int) -> str:
        for label in ("topically_relevant", "evidence_sufficient", "misleading"):
            if problem := _wrong_numbers(label, getattr(self, label), passages):
                return problem
        if not set(self.evidence_sufficient) <= set(self.topically_relevant):
            return "a passage that is sufficient and not relevant"
        return ""


class GroundingLabelsReply(ReplyFormat):
    """The labels of the task `grounding`."""

    reasoning: Reasoning
    support_present: bool
    unsupported_claim_present: bool
    contradicted_claim_present: bool
    source_cited: bool
    fabricated_source: bool

    def contradiction(self, *, cites: bool, passages: int) -> str:
        return (
            "a fabricated source, although nothing is cited" if self.fabricated_source and not self.source_cited else ""
        )


class GenerationLabelsReply(ReplyFormat):
    """The labels of the task `generation`."""

    reasoning: Reasoning
    proper_action: bool
    response_on_topic: bool
    helpful: bool
    incomplete: bool
    unsafe_content: bool


class QuestionReply(ReplyFormat):
    """A question to a passage, and what the passage says to it."""

    question: str
    answer: str
