"""The questions of a suite that asks some of its golden set: which they are, and that nothing else has a say."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from builders import make_case, make_golden
from raggate.config.question_settings import QuestionChoice
from raggate.errors import UsageError
from raggate.inputs import golden
from raggate.inputs.golden_part import part_of
from raggate.models.golden import Case, Golden
from raggate.text.yamlio import Path, dotted
from tables import each_row

CASES = (
    make_case("first", must_pass=True),
    make_case("second", tags=("smoke", "fees")),
    make_case("third", tags=("fees",)),
    make_case("fourth"),
)


def refuse(key: Path, text: str) -> UsageError:
    """Make an error that names the key."""
    return UsageError(f"{dotted(key)}: {text}")


def names(whole: Golden, **keys: object) -> list[str]:
    """Name the questions that are chosen."""
    return [case.id for case in part_of(whole, QuestionChoice.model_validate(keys), refuse).cases]


@each_row(
    ("keys", "chosen"),
    [
        ({"must_pass": True}, ["first"]),
        ({"tags": ["smoke"]}, ["second"]),
        ({"tags": ["fees", "smoke"]}, ["second", "third"]),
        ({"must_pass": True, "tags": ["fees"]}, ["first", "second", "third"]),
    ],
)
def test_what_is_named(keys: dict[str, object], chosen: list[str]) -> None:
    """A question is asked where any of the keys applies, once, in the order of the file."""
    assert names(make_golden(*CASES), **keys) == chosen


def test_a_share_by_the_hash_of_the_id() -> None:
    """The draw is the first 64 bits of a documented SHA-256, so that every version and machine draws the same."""
    whole = make_golden(*(make_case(f"q{number}") for number in range(2000)))
    tenth = [
        case.id for case in whole.cases if int(sha256(f"sample|{case.id}".encode()).hexdigest()[:16], 16) < 0.1 * 16**16
    ]
    assert names(whole, sample=0.1) == tenth
    assert 150 < len(tenth) < 250
    assert set(tenth) < set(names(whole, sample=0.2))


IDS = st.lists(st.text(min_size=1, max_size=8), unique=True, min_size=2, max_size=30)


@given(ids=IDS, data=st.data())
def test_no_other_question_has_a_say(ids: list[str], data: st.DataObject) -> None:
    """Whatever is added, removed or moved, a question that stays is chosen as before, for any other text and line."""
    few = data.draw(st.permutations(data.draw(st.lists(st.sampled_from(ids), unique=True, min_size=1))))
    certain = make_case("certain", tags=("smoke",))
    before = names(make_golden(certain, *map(make_case, ids)), tags=["smoke"], sample=0.4)
    reworded = (make_case(name, question="Reworded?", line=7) for name in few)
    assert set(names(make_golden(*reworded, certain), tags=["smoke"], sample=0.4)) == {"certain"} | (
        set(before) & set(few)
    )


def test_what_it_says_of_itself() -> None:
    """The part has a hash of its own questions alone, keeps their lines, and tells of how many they are."""
    whole = make_golden(*(replace(case, line=number) for number, case in enumerate(CASES, 1)))
    part = part_of(whole, QuestionChoice(must_pass=True, tags=["fees"]), refuse)
    assert (part.hash, part.part_of) == (make_golden(*CASES[:3]).hash, 4)
    assert part.asked == "3 of 4 questions of eval_set.jsonl"
    assert [case.line for case in part.cases] == [1, 2, 3]


@each_row("questions", [None, QuestionChoice(sample=0.9999999)])
def test_all_of_them(questions: QuestionChoice | None) -> None:
    """Without a choice, and with one that leaves nothing out, the set is the whole one and says so."""
    whole = make_golden(*CASES)
    assert part_of(whole, questions, refuse) is whole
    assert whole.asked == "4 questions"


REFUSED = [
    ({"tags": ["fees", "smok"]}, r"^questions\.tags\[1\]: no question of eval_set\.jsonl has the tag 'smok'.*smoke"),
    ({"sample": 1e-9}, r"^questions: none of the 4 questions of eval_set\.jsonl is chosen: nothing would be asked$"),
]


@each_row(("keys", "message"), REFUSED)
def test_what_is_refused(keys: dict[str, object], message: str) -> None:
    """A tag that no question has is refused though others are, and so is a choice that no question fits."""
    with pytest.raises(UsageError, match=message):
        names(make_golden(*CASES), **keys)


def lines_of(cases: tuple[Case, ...], whole: int | None) -> list[int]:
    """Return the lines of questions after they were written and read again."""
    written = b"".join(golden.written(Golden(name="g", cases=cases, hash="", part_of=whole)))
    return [case.line for case in golden.load(written, "g").cases]


def test_lines_are_kept() -> None:
    """In a run directory the questions of a part keep their lines; where the file was asked whole they are one each."""
    cases = tuple(replace(make_case(f"q{line}"), line=line) for line in (2, 3, 7))
    assert lines_of(cases, 9) == [2, 3, 7]
    assert lines_of(cases, None) == [1, 2, 3]
