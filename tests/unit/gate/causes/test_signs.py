"""Signs of one change that whole lists show: each on a fault that it must name, and on one that it must not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from builders import make_case, make_case_score, make_chunk, make_flip, make_labelled, make_result, make_support
from raggate.gate.causes.signs import Change, Lists, find_signs, in_common, signs_without_loss
from raggate.models.comparison import Cause
from raggate.models.run import Expected, LabelledResult
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
    paths = [f"Folder{folder}/n{note}.md" for folder in range(12) for note in range(10)]
    answers = {f"q{number}": (answer or answered)(number) for number in range(QUESTIONS)}
    return Lists(pairs=pairs, answers=answers, notes={short_hash(path): path for path in paths})


def answered(
    number: int,
    *,
    text: str = "",
    question: str = "Where is the key?",
    snippet: str = "under the mat",
    heading_path: str = "# A",
    text_hash: str | None = None,
    **labels: Any,
) -> LabelledResult:
    support = make_support(f"Folder{number % 3}/n{number % 10}.md", heading_path, snippets=(snippet,))
    case = make_case(f"q{number}", question=question, gold_supports=(support,))
    chunk = make_chunk(text=text or f"text {'x' * number}", text_hash=text_hash)
    return make_labelled(case, make_result(case.id, chunk), **labels)


def named(sides: Lists) -> list[str]:
    return [sign.words for sign in find_signs(sides)]


def unchanged(_: int, old: list[ListEntry]) -> Places:
    return old


def next_page(number: int, old: list[ListEntry]) -> Places:
    return [place(rank, note=entry.note, chunk=f"d{number}-{rank}", final=0.1) for rank, entry in enumerate(old)]


def copied(_: int, old: list[ListEntry]) -> Places:
    notes = [(entry, copy) for entry in old[:4] for copy in ("", "-copy")]
    return [ListEntry(note=e.note, chunk=f"{e.chunk}{copy}", final=e.final) for e, copy in notes]


def once(_: int, old: list[ListEntry]) -> Places:
    return list({entry.note: entry for entry in reversed(old)}.values())[::-1]


def renamed(_: int, old: list[ListEntry]) -> Places:
    return [place(0, note=f"docs/{entry.note}", chunk=entry.chunk, final=entry.final) for entry in old]


def rescored(_: int, old: list[ListEntry]) -> Places:
    return [place(9, chunk=entry.chunk, final=(entry.final or 0) + 0.2) for entry in old[2:]]


def rounded(number: int, _: list[ListEntry]) -> Places:
    return [place(rank, final=round(entry.final or 0)) for rank, entry in enumerate(graded(number))]


def graded(number: int) -> list[ListEntry]:
    return [place(rank, final=1 - rank / 10 - number / 1000) for rank in range(8)]


def of_folder(number: int) -> list[ListEntry]:
    return [place(rank, note=f"Folder{number % 12}/n{rank // 2}.md", chunk=f"{number}-{rank}") for rank in range(8)]


ALL = f"{QUESTIONS} of {QUESTIONS}"
FOLDERS = "nothing comes from the folders Folder4, Folder5, Folder6 and 2 more any more"


@each_row(
    ("sides", "words"),
    [
        (lists(lambda _, old: old[1:]), f"each list lacks its first result ({ALL} lists begin with the baseline's"),
        (lists(lambda _, old: old[3:]), f"each list lacks its first 3 results ({ALL} lists begin with the baseline's"),
        (lists(next_page), f"the first page of results is skipped ({ALL} lists hold nothing"),
        (lists(lambda _, old: old[::-1]), f"the lists are in reverse order ({ALL})"),
        (lists(once), "each note comes back once (16 lists had several passages of one note, none has now)"),
        (lists(copied), "passages come back several times (64 of 112 repeat the one above, 0 before)"),
        (lists(rounded, before=graded), "scores are rounded (2 different scores for 128 passages, 128 before)"),
        (
            lists(lambda number, _: of_question(number % 8)),
            "questions get the answers of other questions (8 different lists for 16 questions, 16 before)",
        ),
        (
            lists(lambda *_: of_question(0)),
            "all questions get the same list (1 different list for 16 questions, 16 before)",
        ),
        (
            lists(lambda number, old: old if number not in range(4, 9) else [], before=of_folder),
            f"{FOLDERS} (40 came from them before)",
        ),
        (
            lists(lambda _, old: old[:1] + old[2:]),
            "16 of 128 passages come back for no question any more (by their scores they would still rank)",
        ),
        (
            lists(unchanged, answer=lambda number: answered(number, text="x" * min(40, 30 + 2 * number))),
            "texts are cut to 40 characters (11 of 16 have just so many)",
        ),
    ],
)
def test_a_sign_names_its_fault(sides: Lists, words: str) -> None:
    """Every fault that changes all lists in one way is named, with the numbers that show it."""
    assert any(found.startswith(words) for found in named(sides))


@each_row(
    "sides",
    [
        lists(unchanged),
        lists(lambda _, old: [*old, place(19, chunk="another")]),
        lists(lambda _, old: old[:6]),
        lists(lambda _, old: [old[1], old[0], *old[2:]]),
        lists(lambda _, old: old[:1]),
        lists(lambda *_: []),
        # passages that came back several times before, and scores that were as few
        lists(unchanged, before=lambda number: list(copied(number, of_question(number)))),
        lists(unchanged, before=lambda number: list(rounded(number, []))),
        # its notes come back under names that no vault has
        lists(renamed),
        # a stored run keeps the beginnings of texts, with the hashes of the whole ones
        lists(unchanged, answer=lambda number: answered(number, text="x" * min(40, 30 + number), text_hash="0" * 32)),
    ],
)
def test_what_moves_no_whole_list_shows_no_sign(sides: Lists) -> None:
    """Lists that are the same, longer, shorter, swapped in two places, of one place, or empty show none."""
    assert named(sides) == []


def test_what_holds_for_some_lists_is_no_sign() -> None:
    """Twelve of sixteen lists make no rule, and a passage that is gone may be outranked if scores are others."""
    some = named(lists(lambda number, old: old[1:] if number < 12 else old))
    assert not any(words.startswith("each list lacks") for words in some)
    assert not any("passages come back for no question" in words for words in named(lists(rescored)))
    # of one passage that is left there is no order
    first = lists(lambda number, old: [old[0], *(place(rank, chunk=f"{number} {rank}") for rank in (8, 9))])
    assert not any("reverse order" in words for words in named(first))


def test_a_folder_that_is_gone_is_named() -> None:
    """A folder from which places came before, and none comes now, explains the questions that expect its notes."""
    sides = lists(lambda number, old: [] if number % 3 == 0 else old)
    (sign,) = find_signs(sides)
    assert sign.what == "nothing comes from the folder Folder0 any more"
    assert sign.facts == "48 came from it before"
    assert sign.cases == {"q0", "q3", "q6", "q9", "q12", "q15"}


@each_row(
    ("before", "now", "words"),
    [
        (400.0, 350.0, ["passages are shorter (mean length 400 → 350 characters)"]),
        (400.0, 361.0, []),
        (350.0, 400.0, []),
        (None, None, []),
    ],
)
def test_shorter_passages_are_named(before: float | None, now: float | None, words: list[str]) -> None:
    """If passages are shorter by more than a tenth, they explain snippets that are gone; longer ones explain none."""
    sides = lists(lambda _, old: old)
    if before is not None and now is not None:
        sides = replace(sides, lengths=(before, now))
    assert named(sides) == words
    assert [sign.fits for sign in find_signs(sides)] == [("snippet-gone",)] * len(words)


def test_what_is_worth_saying_without_a_loss() -> None:
    """Folders that are gone and shorter passages are told below a pass too; what only explains a loss is not."""
    sides = replace(lists(lambda number, old: [] if number % 3 == 0 else old[1:]), lengths=(40.0, 30.0))
    told = ["nothing comes from the folder Folder0 any more", "passages are shorter"]
    assert [sign.what for sign in signs_without_loss(sides)] == told


def test_notes_that_are_gone_are_told_of_a_loss_alone() -> None:
    """Two notes that come back for no question any more can follow from many changes, so a pass does not tell it."""
    gone = {short_hash(f"Folder0/n{number}.md") for number in (3, 6)}
    sides = lists(lambda _, old: [entry for entry in old if entry.note not in gone])
    assert any(words.startswith("2 notes come back for no question any more") for words in named(sides))
    assert [*signs_without_loss(sides)] == []


def test_a_change_explains_its_own_questions() -> None:
    """One of some questions explains no other, and one of a mode nothing in another mode."""
    change = Change(kind="gone folders", what="a folder is gone", cases={"q1"}, mode="hybrid")
    lost = make_flip("q1", cause=Cause(code="demoted"))
    assert change.fit(lost)
    assert not any(map(change.fit, (replace(lost, case_id="q2"), replace(lost, mode="bm25"))))


CODE = Expected(code=True, section=900)
PLAIN = {"question": "Where is the key?"}


@each_row(
    ("kind", "others", "words"),
    [
        ({"question": "Where is key 1?"}, PLAIN, "hold a digit"),
        ({"question": "Wo ist der Schlüssel?"}, {"question": "Wo ist der Hut?"}, "hold letters beyond ASCII"),
        (
            {"question": "Where is Ann's key?"},
            {"question": "Where is our key?"},
            "hold a quotation mark or an apostrophe",
        ),
        ({"question": "Where is the Key?"}, PLAIN, "hold a capital letter after the first word"),
        ({"question": f"Where is the {'big ' * 30}key?"}, PLAIN, "have more than 130 characters"),
        ({"question": "Key?"}, {"question": "Where is the key of the house in town?"}, "have fewer than 10 characters"),
        ({"expected": Expected(code=True)}, {}, "expect code"),
        ({"expected": Expected(table=True)}, {}, "expect a row of a table"),
        ({"snippet": "at 12:30"}, {}, "expect a number"),
        ({"snippet": "unter der Fußmatte"}, {}, "expect letters beyond ASCII"),
        (
            {"expected": Expected(section=900)},
            {"expected": Expected(section=200)},
            "expect a passage of a section of more than 890 characters",
        ),
    ],
)
def test_what_lost_questions_have_in_common(kind: dict[str, Any], others: dict[str, Any], words: str) -> None:
    """If all lost questions are of a kind, and hardly another one is, that is said; of half of that kind it is not."""
    sides = lists(
        lambda _, old: old, answer=lambda number: answered(number, **{**PLAIN, **(kind if number < 8 else others)})
    )
    told = f"8 of the 8 lost questions {words}, 0 of the 8 others do"
    assert told in in_common(sides, lost_to(range(8)))
    assert in_common(sides, lost_to(range(3))) == in_common(sides, lost_to(range(4, 12))) == []


@each_row(
    ("kind", "others", "words"),
    [
        ("# The lamp{}", "# A", "share a word with the headings of their passage"),
        ("# A", "# The lamp{}", "share no word with the headings of their passage"),
        ("# LAMP{}", "# lamp{}", "write their words in another case than their passage"),
    ],
)
def test_words_that_lost_questions_share_with_headings_are_in_common(kind: str, others: str, words: str) -> None:
    """Questions are lost for their headings if these are not indexed, or nothing else is, or not in this case."""

    def asked(number: int) -> LabelledResult:
        heading = (kind if number < 8 else others).format(number)
        return answered(number, question=f"Where is the lamp{number}?", heading_path=heading)

    told = in_common(lists(lambda _, old: old, answer=asked), lost_to(range(8)))
    assert told == [f"8 of the 8 lost questions {words}, 0 of the 8 others do"]


def test_questions_of_few_own_words_are_in_common() -> None:
    """Questions of words that many others hold are lost if stop words are left out."""

    def asked(number: int) -> LabelledResult:
        return answered(
            number, question="Who is it of?" if number < 8 else f"Who is it of {'abcdefgh'[number - 8]}x y{number}?"
        )

    words = "8 of the 8 lost questions hold no word but those of many questions, 0 of the 8 others do"
    assert words in in_common(lists(lambda _, old: old, answer=asked), lost_to(range(8)))


def test_a_little_longer_is_not_in_common() -> None:
    """Questions that are longer than the others by a few letters are of no other size."""
    sides = lists(
        lambda _, old: old,
        answer=lambda number: answered(number, question=f"Where is the {'dog' if number < 8 else 'd'} of the house?"),
    )
    assert in_common(sides, lost_to(range(8))) == []


def test_two_kinds_at_most_are_in_common() -> None:
    """Of several things that lost questions have in common, the two are told that chance explains least."""
    kind = {"question": "Where is Ann's Key 1?", "snippet": "at 12:30"}
    sides = lists(lambda _, old: old, answer=lambda number: answered(number, **(kind if number < 8 else PLAIN)))
    assert len(in_common(sides, lost_to(range(8)))) == 2


def test_questions_of_one_group_are_one_piece_of_evidence() -> None:
    """Eight lost questions of two notes show no more than two would."""

    def grouped(number: int) -> LabelledResult:
        item = answered(number, **({"question": f"Where is key {number}?"} if number < 8 else PLAIN))
        return replace(item, case=replace(item.case, group=f"g{number // 4}"))

    assert in_common(lists(lambda _, old: old, answer=grouped), lost_to(range(8))) == []


def lost_to(numbers: Iterable[int]) -> frozenset[str]:
    return frozenset(f"q{number}" for number in numbers)
