"""Signs of one change that whole lists show: each on a fault that it must name, and on one that it must not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from builders import make_case, make_case_score, make_chunk, make_labelled, make_result, make_support
from raggate.gate.causes.signs import Lists, find_signs, in_common
from raggate.models.comparison import CauseCode
from raggate.models.run import LabelledResult
from raggate.models.scorecard import CaseScore, ListEntry
from raggate.scoring.score import short_hash
from tables import each_row

QUESTIONS = 16
Places = Sequence[ListEntry]


def place(number: int, *, note: str = "", chunk: str = "", final: float | None = None, **fields: Any) -> ListEntry:
    """Build a place of a list; its score falls by its number."""
    score = 1.0 - number / 20 if final is None else final
    return ListEntry(note=short_hash(note or f"n{number}.md"), chunk=chunk or f"c{number}", final=score, **fields)


def of_question(question: int, *, notes: int = 10, length: int = 8) -> list[ListEntry]:
    """Build the list of a question: its own chunks, two from each note."""
    return [
        place(rank, note=f"Folder{question % 3}/n{(question + rank // 2) % notes}.md", chunk=f"c{question}-{rank}")
        for rank in range(length)
    ]


def lists(
    now: Callable[[int, list[ListEntry]], Places],
    before: Callable[[int], list[ListEntry]] = of_question,
    answer: Callable[[int], LabelledResult] | None = None,
) -> Lists:
    pairs: list[tuple[CaseScore, CaseScore]] = []
    for number in range(QUESTIONS):
        old = before(number)
        sides = [make_case_score(f"q{number}", entries=tuple(entries)) for entries in (old, now(number, list(old)))]
        pairs.append((sides[0], sides[1]))
    paths = [f"Folder{folder}/n{note}.md" for folder in range(3) for note in range(10)]
    answers = {f"q{number}": (answer or answered)(number) for number in range(QUESTIONS)}
    return Lists(pairs=pairs, answers=answers, notes={short_hash(path): path for path in paths})


def answered(
    number: int, *, text: str = "", question: str = "Where is the key?", text_hash: str | None = None
) -> LabelledResult:
    support = make_support(f"Folder{number % 3}/n{number % 10}.md", snippets=("under the mat",))
    case = make_case(f"q{number}", question=question, gold_supports=(support,))
    chunk = make_chunk(text=text or f"text {'x' * number}", text_hash=text_hash)
    return make_labelled(case, make_result(case.id, chunk))


def named(sides: Lists) -> list[str]:
    lost: dict[str, CauseCode] = {f"q{number}": "snippet-gone" for number in range(QUESTIONS)}
    return [f"{sign.what} ({sign.facts})" for sign in find_signs(sides, lost)]


def next_page(number: int, old: list[ListEntry]) -> Places:
    return [place(rank, note=entry.note, chunk=f"d{number}-{rank}", final=0.1) for rank, entry in enumerate(old)]


def copied(_: int, old: list[ListEntry]) -> Places:
    notes = [(entry, copy) for entry in old[:4] for copy in ("", "-copy")]
    return [ListEntry(note=e.note, chunk=f"{e.chunk}{copy}", final=e.final) for e, copy in notes]


def once(_: int, old: list[ListEntry]) -> Places:
    return list({entry.note: entry for entry in reversed(old)}.values())[::-1]


Change = Callable[[int, list[ListEntry]], Places]
ALL = f"{QUESTIONS} of {QUESTIONS}"


@each_row(
    "change, words",
    [
        (lambda _, old: old[1:], f"each list lacks its first result ({ALL} lists begin with the baseline's rank 2)"),
        (lambda _, old: old[3:], f"each list lacks its first 3 results ({ALL} lists begin with the baseline's rank 4)"),
        (next_page, f"the first page of results is skipped ({ALL} lists hold nothing"),
        (lambda _, old: old[::-1], f"the lists are in reverse order ({ALL})"),
        (once, "each note comes back once (16 lists had several passages of one note, none has now)"),
        (copied, "passages come back several times (64 of 112 repeat the one above, 0 before)"),
    ],
)
def test_a_sign_names_its_fault(change: Change, words: str) -> None:
    """Every fault that changes all lists in one way is named, with the numbers that show it."""
    assert any(found.startswith(words) for found in named(lists(change)))


@each_row(
    "change",
    [
        lambda _, old: old,
        lambda _, old: [*old, place(19, chunk="another")],
        lambda _, old: old[:6],
        lambda _, old: [old[1], old[0], *old[2:]],
        lambda _, old: old[:1],
        lambda _, old: [],
    ],
)
def test_what_moves_no_whole_list_shows_no_sign(change: Change) -> None:
    """Lists that are the same, longer, shorter, swapped in two places, of one place, or empty show none."""
    assert named(lists(change)) == []


def test_a_few_lists_are_no_sign() -> None:
    """What holds for twelve of sixteen lists is no rule over all of them."""
    found = named(lists(lambda number, old: old[1:] if number < 12 else old))
    assert not any(words.startswith("each list lacks") for words in found)


def test_a_folder_that_is_gone_is_named() -> None:
    """A folder from which places came before, and none comes now, explains the questions that expect its notes."""
    sides = lists(lambda number, old: [] if number % 3 == 0 else old)
    (sign,) = find_signs(sides, {})
    assert sign.what == "nothing comes from the folder Folder0 any more"
    assert sign.facts == "48 came from it before"
    assert sign.cases == {"q0", "q3", "q6", "q9", "q12", "q15"}


def test_notes_by_other_names_are_not_gone() -> None:
    """If paths are told otherwise, no folder is gone: its notes come back under names that no vault has."""

    def renamed(_: int, old: list[ListEntry]) -> Places:
        return [place(0, note=f"docs/{entry.note}", chunk=entry.chunk, final=entry.final) for entry in old]

    assert named(lists(renamed)) == []


def test_passages_that_would_still_rank_are_named() -> None:
    """If best passages vanish and all others keep their scores, they are not searched any more."""
    found = named(lists(lambda _, old: old[:1] + old[2:]))
    assert found == ["16 of 128 passages come back for no question any more (by their scores they would still rank)"]


def test_lost_passages_need_scores_that_are_as_before() -> None:
    """If the other passages have other scores too, a passage that is gone may have been outranked."""
    sides = lists(lambda _, old: [place(9, chunk=entry.chunk, final=(entry.final or 0) + 0.2) for entry in old[2:]])
    assert not any("passages come back for no question" in words for words in named(sides))


def test_answers_of_other_questions_are_named() -> None:
    """If questions that had a list of their own share one now, they get each other's answers."""
    found = named(lists(lambda number, _: of_question(number // 2 * 2)))
    assert "questions get the answers of other questions (8 different lists for 16 questions, 16 before)" in found


def test_scores_of_few_values_are_named() -> None:
    """If nearly all scores are the same few, they are rounded."""
    sides = lists(
        lambda _, old: [place(0, chunk=entry.chunk, final=round(entry.final or 0)) for entry in old],
        before=lambda number: [place(rank, final=1 - rank / 10 - number / 1000) for rank in range(8)],
    )
    assert any(words.startswith("scores are rounded (") for words in named(sides))


def test_texts_that_end_at_one_length_are_named() -> None:
    """If many texts have exactly the length of the longest one, they are cut there."""
    sides = lists(lambda _, old: old, answer=lambda number: answered(number, text="x" * min(40, 30 + 2 * number)))
    assert named(sides) == ["texts are cut to 40 characters (11 of 16 have just so many)"]


def test_texts_that_raggate_cut_itself_are_no_sign() -> None:
    """A stored run keeps the beginnings of texts, with the hashes of the whole ones: that says nothing of the API."""

    def stored(number: int) -> LabelledResult:
        return answered(number, text="x" * min(40, 30 + 2 * number), text_hash="0" * 32)

    assert named(lists(lambda _, old: old, answer=stored)) == []


def test_what_lost_questions_have_in_common_is_named() -> None:
    """If all lost questions hold a digit and hardly another one does, that is said."""
    sides = lists(lambda _, old: old, answer=with_a_digit)
    assert list(in_common(sides, lost_to(8))) == ["8 of the 8 lost questions hold a digit, 0 of the 8 others do"]


def test_what_chance_may_give_is_not_in_common() -> None:
    """Three lost questions that hold a digit, of eight that do, may be chance."""
    assert list(in_common(lists(lambda _, old: old, answer=with_a_digit), lost_to(3))) == []


def with_a_digit(number: int) -> LabelledResult:
    """Build an answer; the first eight questions hold a digit."""
    return answered(number, question=f"Where is key {number}?" if number < 8 else "Where is the key?")


def lost_to(number: int) -> frozenset[str]:
    return frozenset(f"q{index}" for index in range(number))
