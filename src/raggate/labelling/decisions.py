"""One decision of a person, as a line of the journal; and what it is about."""

from __future__ import annotations

from hashlib import sha256
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from raggate.inputs.golden_rules import place_key
from raggate.models.golden import Support
from raggate.text.jsonio import dumps

GRADES = {
    0: "does not answer",
    1: "answers",
    2: "answers well",
    3: "best answer",
}
"""What a grade says. From 1 on, which a gold support without a grade has, the place is gold; 0: `not_relevant`."""

LONGEST_NAME = 60

Kind = Literal["grade", "skip", "settle", "set", "accept", "reject", "reopen", "draft", "written"]
Key = Literal["must_pass", "category", "difficulty"]
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, pattern=r"^[^\p{Cc}]*[^\s\p{Cc}][^\p{Cc}]*$")]
_Label = Annotated[str, Field(max_length=200)]


class Where(BaseModel):
    """A place of the notes, or the id of a chunk or document, as the golden set names it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rel_path: str = ""
    heading_path: str | None = None
    vault: str | None = None
    chunk_id: str | None = None
    doc_id: str | None = None

    @classmethod
    def of(cls, support: Support) -> Where:
        """Name what a support names."""
        return cls(**{name: getattr(support, name) for name in cls.model_fields})

    def support(self, grade: int) -> Support:
        """Return the support of some grade that names it."""
        return Support(grade=grade, **self.model_dump())

    @property
    def id(self) -> str:
        """Twelve hex digits that tell it from other places."""
        return sha256(dumps(place_key(self.support(1)))).hexdigest()[:12]


def words_of(question: str) -> str:
    """Return eight hex digits that tell the words of a question from others."""
    return sha256(question.encode()).hexdigest()[:8]


class Decision(BaseModel):
    """What one person did.

    Attributes:
        at: when, ISO 8601 in UTC.
        by: who.
        do: `grade` a passage (none takes a grade back), `skip` it, `settle` what people grade differently, `set` a key
            of a question, `accept`, `reject` or `reopen` a proposal, `draft` its words while they are typed; `written`
            stands where all before it went into the golden set.
        case: the id of the question.
        asked: eight hex digits of its words at that time; see `words_of`.
        where: the passage.
        grade: 0 to 3.
        misleading: whether the passage looks like an answer and is none.
        key: which key of the question, with its `value`.
        proposal: the id of the proposal.
        text: its question in the person's words; empty for its own. Of a grade, the snippet that a chunk must hold.
        line: the proposed case as a line of a golden set, so that it outlives the list of proposals.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    at: str
    by: Name
    do: Kind
    case: _Label = ""
    asked: Annotated[str, Field(pattern=r"^([0-9a-f]{8})?$")] = ""
    where: Where | None = None
    grade: Annotated[int, Field(ge=0, le=3)] | None = None
    misleading: bool = False
    key: Key | None = None
    value: bool | _Label | None = None
    proposal: Annotated[str, Field(pattern=r"^([0-9a-f]{8})?$")] = ""
    text: Annotated[str, Field(max_length=20_000)] = ""
    line: str = ""

    @model_validator(mode="after")
    def _is_whole(self) -> Decision:
        if self.do in {"grade", "skip", "settle"} and (not self.case or self.where is None):
            raise ValueError(f"{self.do}: needs case and where")
        if self.do == "settle" and self.grade is None:
            raise ValueError("settle: needs a grade")
        if self.do == "set" and (not self.case or self.key is None or isinstance(self.value, bool) != self._is_flag):
            raise ValueError("set: needs case, key and a value of its type")
        if self.do in {"accept", "reject", "reopen", "draft"} and not self.proposal:
            raise ValueError(f"{self.do}: needs proposal")
        return self

    @property
    def _is_flag(self) -> bool:
        return self.key == "must_pass"
