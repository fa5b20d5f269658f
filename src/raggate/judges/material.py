"""A case and its answer -> what judges see of them: all of the text, as the API gave it."""

from __future__ import annotations

from msgspec import Struct

from raggate.models.run import LabelledResult, Reference
from raggate.scoring.metrics.citations import has_citation
from raggate.text.jsonio import JsonObject


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

    def of_passages(self, *, answered: bool = True) -> JsonObject:
        """Return question and passages, and the answer with what it cites, as a rubric sees them."""
        answer = {"answer": self.answer, "references": list(self.references)} if answered else {}
        passages = [{"number": item.number, "source": item.source, "text": item.text} for item in self.passages]
        return {"question": self.question, **answer, "passages": passages}

    def gap(self, *, passages: bool = False, refusals: bool = False) -> str:
        """Return why there is nothing to judge; empty where there is.

        Args:
            refusals: whether the answer of an API that says it refused is judged all the same.
        """
        if not self.answer.strip():
            return "there is no answer"
        if self.abstained and not refusals:
            return "the API refused to answer"
        return self.no_passages() if passages else ""

    def no_passages(self) -> str:
        """Say that nothing was retrieved; empty where something was."""
        return "" if any(passage.text.strip() for passage in self.passages) else "nothing was retrieved"


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
