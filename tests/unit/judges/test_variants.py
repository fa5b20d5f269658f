"""The same answer in another order and length: what is changed, and that nothing else is."""

from __future__ import annotations

from hypothesis import given, strategies
from msgspec.structs import replace

from judging import make_material
from raggate.judges.material import Passage
from raggate.judges.variants import VARIANTS, longer, reversed_order, shorter, shuffled_order
from tables import each_row

TEN = tuple(Passage(number=number, source=f"{number}.md", text=f"Text {number}.") for number in range(1, 11))


def test_another_order_keeps_numbers_and_everything_else() -> None:
    """Passages and key facts turn around; a passage keeps the number that the answer cites it by."""
    material = make_material(passages=TEN[:3], key_facts=("a", "b"))
    changed = reversed_order(material, "x")
    assert [passage.number for passage in changed.passages] == [3, 2, 1]
    assert changed.key_facts == ("b", "a")
    assert replace(changed, passages=material.passages, key_facts=material.key_facts) == material


@given(strategies.integers(0, 10), strategies.text(max_size=8))
def test_a_shuffle_loses_nothing_and_is_drawn_by_the_name(number: int, name: str) -> None:
    """It has the same passages, the same ones for the same name, and is no order that is shown anyway."""
    material = make_material(passages=TEN[:number])
    changed = shuffled_order(material, name)
    assert sorted(changed.passages, key=lambda passage: passage.number) == list(material.passages)
    assert changed == shuffled_order(material, name)
    if number > 2:
        assert changed.passages not in (material.passages, material.passages[::-1])


def test_a_longer_answer_holds_the_answer_whole() -> None:
    """The question is said again around it; nothing of the answer changes, nor any other part."""
    material = make_material(question="How {hot}?", answer="Very [1].\n\n- so")
    changed = longer(material, "x")
    assert "\n\nVery [1].\n\n- so\n\n" in changed.answer
    assert changed.answer.count("How {hot}?") == 2
    assert replace(changed, answer=material.answer) == material


@each_row(
    ("answer", "kept"),
    [
        ("Sure! It is hot [1]. I hope this helps!", "It is hot [1]."),
        ("It is hot [1]. It is hot [1]. It is red.", "It is hot [1]. It is red."),
        (
            "Great question! It is hot.\n\nIt is red. Let me know if you have any other questions.",
            "It is hot.\n\nIt is red.",
        ),
        # what may stand twice for a reason, what says something, and what would leave nothing
        ("- hot\n- hot", "- hot\n- hot"),
        ("| a |\n|---|\n| a |", "| a |\n|---|\n| a |"),
        ("Sure, it is hot.", "Sure, it is hot."),
        ("It is hot. It is red.", "It is hot. It is red."),
        ("Sure!", "Sure!"),
        ("  It is hot.  It is red. ", "  It is hot.  It is red. "),
    ],
)
def test_a_shorter_answer_lost_nothing(answer: str, kept: str) -> None:
    """Pleasantries and what is said twice word for word go; an answer without either stays as it is."""
    assert shorter(make_material(answer=answer), "x").answer == kept


def test_an_answer_of_empty_lines_is_made_shorter_at_once() -> None:
    """As many lines as an answer may have are each looked at once, not each to the end of the answer."""
    for blank in ("\n", " \n", "\r\n", " "):
        material = make_material(answer="So." + blank * (262_000 // len(blank)) + "So.")
        assert shorter(material, "x").answer == "So."


@given(strategies.text(max_size=200))
def test_every_variant_takes_any_text(text: str) -> None:
    """Whatever stands in question and answer, a variant is made; a shorter one is a part of it in the same order."""
    material = make_material(question=text, answer=text)
    for change in VARIANTS.values():
        assert change(material, text).passages
    rest = iter(text)
    assert all(character in rest for character in shorter(material, "").answer)
