"""A rubric and what is to be graded -> the messages of a request.

Rubrics are files of the package. What is graded is foreign text, and reaches the model as the strings of a JSON object
alone, between two lines that name the hash of that object: no text can hold its own hash, so none can end the material.
What is the same for every answer comes first, up to the hash: a server that keeps what it has read reads that once.
Line breaks, characters that are not seen, and what models take for their own control tokens stand there as escapes of
JSON, which no tokenizer reads as such.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache
from importlib import resources
from typing import Literal

from msgspec import Struct

from raggate.base.jsonio import JsonObject, dumps, fields, printable
from raggate.base.quote import cut
from raggate.judges.replies import ReplyFormat, bounded, schema_of
from raggate.models.judging import Message, Prompt
from raggate.models.run import LabelledResult, Reference
from raggate.scoring.metrics.citations import has_citation

Frame = Literal["first", "second", "question"]
"""The wording around the material. A spot check by the same model uses the second; `question` asks for no grade."""

Need = Literal["answer", "no refusal", "passages", "rule"]
"""What of an answer it takes to judge it."""

# chat templates mark turns by <|…|>, <s>, <start_of_turn>, [INST], [gMASK] or [|…|]; servers read those in messages too
_CONTROL_TOKEN = re.compile(r"\[(?=\||/?[a-z]{0,3}[A-Z_]{3,40}\])")
_MARK_LENGTH = 16
_SHOWN = 160


def render(
    rubric: str,
    material: JsonObject,
    expected: type[ReplyFormat],
    *,
    frame: Frame = "first",
    limited: bool = False,
) -> Prompt:
    """Return the prompt that asks for a grade.

    Args:
        limited: whether the schema limits the length of texts and lists, which not every provider's own server allows.
    """
    data = as_data(material)
    mark = hashlib.sha256(data.encode()).hexdigest()[:_MARK_LENGTH]
    numbers = max(1, len(_passages(material)))
    schema = bounded(schema_of(expected), passages=numbers) if limited else schema_of(expected)
    return Prompt(
        name=rubric,
        template=template(rubric, expected, frame=frame),
        messages=(
            Message(role="system", text=_text(rubric)),
            Message(role="user", text=_text(f"frame_{frame}").format(mark=mark, material=data)),
        ),
        schema=schema,
        about=_about(material, mark),
    )


def template(rubric: str, expected: type[ReplyFormat], *, frame: Frame = "first") -> str:
    """Return the hash of all that a prompt holds before anything is graded: rubric, frame and schema."""
    parts = {"rubric": _text(rubric), "frame": _text(f"frame_{frame}"), "schema": schema_of(expected)}
    return hashlib.sha256(dumps(parts)).hexdigest()


def as_data(material: JsonObject) -> str:
    """Write what is graded as JSON in which no text begins a line, ends the material or is a control token."""
    return without_control_tokens(dumps(material, pretty=True).decode()).strip()


def without_control_tokens(text: str) -> str:
    """Write as escapes of JSON what is not seen, and what models take for their own control tokens."""
    return _CONTROL_TOKEN.sub(r"\\u005b", printable(text).replace("<", r"\u003c"))


def _about(material: JsonObject, mark: str) -> JsonObject:
    """Which answer it is, for people: the beginnings of its texts, and where passages are from, not their texts."""
    texts = {key: cut(value, limit=_SHOWN) for key in ("question", "answer", "claim") if (value := material.get(key))}
    sources = [fields(item).get("source") for item in _passages(material)]
    return {**texts, **({"sources": sources} if sources else {}), "material": mark}


def _passages(material: JsonObject) -> list[object]:
    passages = material.get("passages")
    return passages if isinstance(passages, list) else []


@lru_cache(maxsize=32)
def _text(name: str) -> str:
    return resources.files("raggate.judges").joinpath("rubrics", f"{name}.md").read_text(encoding="utf-8").strip()


class Passage(Struct, frozen=True, kw_only=True):
    """One retrieved passage: its number from 1, the note and section it is from, and its whole text."""

    number: int
    source: str
    text: str


class Material(Struct, frozen=True, kw_only=True):
    """What is graded of one answer. All texts are foreign.

    Attributes:
        question: as it was asked.
        answer: as the API gave it; empty where it gave none, or did not answer.
        passages: what it retrieved, in its order.
        references: what it says it cites.
        key_facts: what people expect of the answer; empty where they did not say.
        rule: the case's `recency_conflict_rule`; empty where it has none.
        answerable: whether the vault holds an answer.
        abstained: whether the API says that it refused.
        cites: whether the answer cites anything, in its text or by a reference.
    """

    question: str
    answer: str
    passages: tuple[Passage, ...] = ()
    references: tuple[str, ...] = ()
    key_facts: tuple[str, ...] = ()
    rule: str = ""
    answerable: bool = True
    abstained: bool = False
    cites: bool = False

    def shown(self, *keys: str) -> JsonObject:
        """Return parts of it as a rubric sees them."""
        whole = {
            "question": self.question,
            "answer": self.answer,
            "references": list(self.references),
            "passages": [{"number": item.number, "source": item.source, "text": item.text} for item in self.passages],
            "expected_key_facts": list(self.key_facts),
            "rule": self.rule,
            "answerable": self.answerable,
        }
        return {key: whole[key] for key in keys}

    def gap(self, needs: Iterable[Need]) -> str:
        """Return why there is nothing to judge for want of what is needed; empty where nothing is missing."""
        gaps: dict[Need, str] = {
            "answer": "" if self.answer.strip() else "there is no answer",
            "no refusal": "the API refused to answer" if self.abstained else "",
            "passages": "" if any(item.text.strip() for item in self.passages) else "nothing was retrieved",
            "rule": "" if self.rule else "the question has no recency_conflict_rule",
        }
        return next((gaps[need] for need in needs if gaps[need]), "")


def material_of(item: LabelledResult) -> Material:
    """Return what judges see of one answer."""
    case, response = item.case, item.result.response
    if response is None:
        return Material(question=case.question, answer="", answerable=case.answerable)
    passages = tuple(
        Passage(number=number, source=_source(chunk.rel_path, chunk.heading_path), text=chunk.text)
        for number, chunk in enumerate(response.chunks, 1)
    )
    return Material(
        question=case.question,
        answer=response.answer or "",
        passages=passages,
        references=tuple(map(_reference, response.references)),
        key_facts=case.expected_key_facts,
        rule=case.recency_conflict_rule or "",
        answerable=case.answerable,
        abstained=response.abstained,
        cites=bool(response.references) or has_citation(response),
    )


def _reference(reference: Reference) -> str:
    return _source(reference.rel_path, reference.heading_path)


def _source(path: str, heading: str) -> str:
    return f"{path}, {heading}" if heading else path
