"""Questions that a model writes: which passages it is shown, and which of its questions a person may take.

Nothing of a reply is believed: the answer must stand in the passage and nowhere else, and the question must not give it
away.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from raggate.inputs import headings
from raggate.inputs.authoring.passages import Passage, Stand, TextIndex, passages
from raggate.inputs.authoring.proposals import CaseCheck, Proposal, in_turns, not_asked
from raggate.inputs.notes import spaced, words
from raggate.models.golden import Case, Golden, Vault

LONGEST = 300
"""Characters of a question, and of an answer."""

LEAST_WORDS = 6
"""Words of a passage from which on there is something to ask."""

# "this module", "the text": whoever searches has nothing before them to point at; in English alone
_POINTING = re.compile(
    r" (?:(?:this|these) (?!days |week |month |quarter |year |spring |summer |autumn |winter )"
    r"|the (?:passages?|texts?|notes?|material|document|section|paragraph|json object) )"
)

Flaw = Literal[
    "not one plain line",
    "longer than 300 characters",
    "answer not in the passage",
    "answer elsewhere too",
    "question gives it away",
    "question speaks of its passage",
    "asked of several passages",
    "asked already",
]
"""Why a question is not proposed."""


def passages_to_ask(golden: Golden, vault: Vault, proposed: Iterable[Case]) -> list[Passage]:
    """Return the passages that no question is about, those of notes without any first."""
    supports = [support for case in (*golden.cases, *proposed) for support in case.gold_supports]
    asked = Counter(support.rel_path for support in supports)
    known = {(support.rel_path, support.heading_path) for support in supports}
    fresh = [
        item
        for item in passages(vault)
        if (item.rel_path, item.heading_path) not in known and len(words(item.text)) >= LEAST_WORDS
    ]
    return in_turns(fresh, asked, lambda item: item)


class QuestionCheck:
    """Checks a model's questions against all of the notes."""

    def __init__(self, vault: Vault) -> None:
        self._index = TextIndex(vault)
        self._case = CaseCheck(vault)

    def proposal(self, question: str, answer: str, passage: Passage) -> Proposal | Flaw:
        """Make a proposal of a question and its answer; else say what is wrong with them."""
        question, answer = question.strip(), answer.strip()
        if not all(text.isprintable() and words(text) for text in (question, answer)):
            return "not one plain line"
        if max(len(question), len(answer)) > LONGEST:
            return "longer than 300 characters"
        stands = self._index.stands(answer)
        own = Stand(passage.vault, passage.rel_path, passage.path)
        if own not in stands or not headings.holds(passage.text, answer):
            return "answer not in the passage"
        if len(stands) > 1:
            return "answer elsewhere too"
        case = self._case.case(question, answer, passage)
        if spaced(answer) in spaced(question) or self._case.refuses(case):
            return "question gives it away"
        if _POINTING.search(spaced(question)):
            return "question speaks of its passage"
        return Proposal.of("model", answer, case)


def sifted(proposals: Sequence[Proposal], questions: Sequence[str]) -> tuple[list[Proposal], list[Flaw]]:
    """Keep the proposals that ask of one passage what nobody asked before; give what is wrong with each of the rest.

    A question that a model wrote to several passages is about none of them: each would be its one right answer.
    """
    texts = Counter(spaced(item.case.question) for item in proposals)
    alone = [item for item in proposals if texts[spaced(item.case.question)] == 1]
    kept = not_asked(alone, questions)
    several: list[Flaw] = ["asked of several passages"] * (len(proposals) - len(alone))
    again: list[Flaw] = ["asked already"] * (len(alone) - len(kept))
    return kept, several + again
