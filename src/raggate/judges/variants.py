"""What a judge sees of an answer -> the same without any other content: in another order, longer, shorter. Pure.

The words that are added and taken away are part of what was measured: whoever changes them raises `WORDING`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from raggate.judges.material import Material
from raggate.models.judging_bias import Variant
from raggate.text.lots import lot

T = TypeVar("T")

WORDING = 1
"""The version of the words that make an answer longer or shorter."""

_OPENING = "The question that was asked is the following: {question}\n\nThe reply to this question follows here.\n\n"
_CLOSING = (
    "\n\nThis was the reply to the question that was asked, which is repeated here for reference: {question}\n\n"
    "The text of the reply ends here, with this sentence."
)

_SENTENCE_END = re.compile(r"(?<=[.!?])(\s+)")
# white space of one line alone: else as many empty lines would each be looked through to their end
_LIST_OR_TABLE = re.compile(r"^[^\S\n]*(?:[-*+|>#]|\d+[.)]\s|```|~~~)", re.MULTILINE)
_PLEASANTRIES = (
    r"(?:certainly|sure|of course|absolutely|great question|good question|thank you for (?:your|the) question)",
    r"(?:i'd be|i would be|i am|i'm) happy to help(?: you)?(?: with (?:that|this))?",
    r"i hope (?:this|that) (?:helps|answers your question)",
    r"(?:please )?(?:let me know|feel free to ask) if you have any (?:other |further |more )?questions",
    r"is there anything else (?:i can help (?:you )?with|you would like to know)",
)
_EMPTY = re.compile(rf"(?:{'|'.join(_PLEASANTRIES)})[.!?]*", re.IGNORECASE)


def reversed_order(material: Material, _name: str) -> Material:
    """Turn passages and key facts around. Passages keep their numbers, which the answer may cite."""
    return replace(material, passages=material.passages[::-1], key_facts=material.key_facts[::-1])


def shuffled_order(material: Material, name: str) -> Material:
    """Put passages and key facts into an order that the name of the answer draws, another one where there is one."""
    passages, key_facts = _shuffled(material.passages, name), _shuffled(material.key_facts, name)
    return replace(material, passages=passages, key_facts=key_facts)


def longer(material: Material, _name: str) -> Material:
    """Restate the question before and after the answer, and say where it begins and ends."""
    opening, closing = (text.format(question=material.question.strip()) for text in (_OPENING, _CLOSING))
    return replace(material, answer=f"{opening}{material.answer.strip()}{closing}")


def shorter(material: Material, _name: str) -> Material:
    """Leave out sentences that stand earlier word for word, and pleasantries of English.

    Lists, tables and code are left as they are: what stands in them twice may do so for a reason.
    """
    if _LIST_OR_TABLE.search(material.answer):
        return material
    answer = material.answer.strip()
    kept = "".join(_new_sentences(answer)).strip()
    # without any sentence it would be no answer
    return replace(material, answer=kept) if kept and kept != answer else material


def _new_sentences(text: str) -> Iterator[str]:
    """Give the sentences that are no pleasantry and stand nowhere earlier, each with the white space before it."""
    seen: set[str] = set()
    space = ""
    for place, part in enumerate(_SENTENCE_END.split(text)):
        if place % 2:
            space = part
        elif part not in seen and not _EMPTY.fullmatch(part):
            seen.add(part)
            yield space + part


def _shuffled(items: Sequence[T], name: str) -> tuple[T, ...]:
    places = range(len(items))
    drawn = sorted(places, key=lambda place: lot(name, str(place)))
    if drawn in ([*places], [*places][::-1]) and len(items) > 2:
        # neither the order that it has nor the one turned around, which is measured by itself
        drawn = [*drawn[1:], drawn[0]]
    return tuple(items[place] for place in drawn)


VARIANTS: Mapping[Variant, Callable[[Material, str], Material]] = {
    "again": lambda material, _: material,
    "reversed": reversed_order,
    "shuffled": shuffled_order,
    "longer": longer,
    "shorter": shorter,
}
"""By name: takes what judges see and the name of the answer. What comes back the same is not shown once more."""
