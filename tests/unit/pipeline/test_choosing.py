"""Which questions a command line chooses, and what it is refused for."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from builders import make_case, make_golden
from raggate.errors import UsageError
from raggate.models.selection import EVERYTHING, Choice, Selection, naming
from raggate.pipeline.choosing import selected
from tables import each_row

GOLDEN = make_golden(
    make_case("fees-1", question="What does a card cost?", tags=("money", "cards"), difficulty="hard"),
    make_case("fees-2", question="What does a transfer cost?", tags=("money",), difficulty="easy"),
    make_case("vpn-1", question="How do I join the VPN?", tags=("it",), difficulty="hard", vaults=("work",)),
    make_case("vpn-2", question="Who is the admiral?", answerable=False, category="trick"),
)


def broken(*cases: str) -> Callable[[], frozenset[str]]:
    """Say that these questions were broken in the last run."""
    return lambda: frozenset(cases)


def chosen(**choice: object) -> tuple[str, ...] | None:
    """Choose, and give the ids; None for all of them."""
    selection = selected(Choice(**choice), GOLDEN, broken("vpn-2", "fees-1", "gone"))  # type: ignore[arg-type]
    return None if selection is None else selection.asked


@each_row(
    ("choice", "asked"),
    [
        ({"matching": "fees"}, ("fees-1", "fees-2")),
        ({"matching": "CARD"}, ("fees-1",)),
        ({"matching": "trick or it and vpn"}, ("vpn-1", "vpn-2")),
        ({"cases": ("vpn-1", "fees-1")}, ("fees-1", "vpn-1")),
        ({"tags": ("cards", "it")}, ("fees-1", "vpn-1")),
        ({"slices": ("difficulty=hard",)}, ("fees-1", "vpn-1")),
        ({"slices": ("difficulty=hard", "tag=money")}, ("fees-1",)),
        ({"slices": ("difficulty=hard", "difficulty=easy")}, ("fees-1", "fees-2", "vpn-1")),
        ({"slices": ("answerable=false",)}, ("vpn-2",)),
        ({"failed": True}, ("fees-1", "vpn-2")),
        ({"failed": True, "matching": "fees"}, ("fees-1",)),
        ({"limit": 1}, ("fees-1",)),
        ({"matching": "vpn", "limit": 1}, ("vpn-1",)),
        # all of them is the whole suite
        ({"limit": 4}, None),
        ({"matching": "fees or vpn"}, None),
    ],
)
def test_what_is_chosen(choice: dict[str, object], asked: tuple[str, ...] | None) -> None:
    """All that is said must hold; the questions keep the order of the golden set, and the limit comes last."""
    assert chosen(**choice) == asked


@each_row(
    ("choice", "problem", "hint"),
    [
        ({"cases": ("fees-3",)}, "--case: the golden set has no question 'fees-3'", "The nearest: fees-2, fees-1"),
        ({"cases": ("zebra",)}, "--case: the golden set has no question 'zebra'", "It has fees-1, fees-2"),
        ({"tags": ("mony",)}, "--tag: the golden set has no tag 'mony'", "The nearest: money"),
        ({"slices": ("difficulty=hrad",)}, "--slice: the golden set has no slice", "difficulty=hard"),
        ({"matching": "fes-1"}, "fits -k fes-1: nothing was asked; did you mean 'fees-1'?", "The nearest ids: fees-1"),
        ({"cases": ("vpn-1",), "tags": ("money",)}, "fits --case vpn-1 --tag money: nothing was asked", "say less"),
    ],
)
def test_what_is_refused(choice: dict[str, object], problem: str, hint: str) -> None:
    """What no question has is a usage error that names the nearest there is."""
    with pytest.raises(UsageError) as caught:
        chosen(**choice)
    assert problem in caught.value.message
    assert hint in caught.value.hint


def test_what_is_like_nothing_is_told_no_nearest() -> None:
    """Ids that have hardly a letter of what was searched for are not called near."""
    with pytest.raises(UsageError) as caught:
        chosen(matching="zebra")
    assert caught.value.hint == ""


def test_a_question_that_the_suite_leaves_out_may_stand_in_the_file() -> None:
    """Of a suite that asks a part of its file nothing is said of the rest."""
    part = replace(GOLDEN, part_of=9)
    for choice, problem in (
        (Choice(cases=("tea",)), "--case: the suite's part of the golden set has no question 'tea'"),
        (Choice(matching="tea"), f"no question of the suite's part of {GOLDEN.name} fits -k tea"),
    ):
        with pytest.raises(UsageError, match=problem):
            selected(choice, part, broken())


def test_the_words_of_a_choice() -> None:
    """A choice is written as it is typed, quoted for a shell, and a partial run says so in its first words."""
    choice = Choice(matching="a and b", cases=("x y",), tags=("t",), slices=("difficulty=hard",), failed=True, limit=2)
    assert choice.words == "-k 'a and b' --case 'x y' --tag t --slice difficulty=hard --failed --limit 2"
    assert EVERYTHING.words == ""
    part = Selection(asked=("x",), of=203, words="-k x")
    assert part.sentence == "partial: 1 of 203 questions chosen (-k x)"


def test_too_many_to_name() -> None:
    """A command line names up to 20 questions one by one, and more not at all."""
    assert naming(("a", "b")) == "--case a --case b"
    assert naming(tuple(map(str, range(20)))).count("--case") == 20
    assert naming(tuple(map(str, range(21)))) == ""
