"""The known faults of answers: how many questions and notes each strikes, and what it leaves alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from hypothesis import given, strategies as st
from msgspec.structs import replace

from builders import make_chunk, make_chunks, make_response, make_result
from raggate.models.golden import Vault
from raggate.models.run import Chunk, Reference, Response
from raggate.prove import faults
from raggate.prove.faults import FAULTS, AnswerFault, lot, struck
from tables import each_row

NOTES = [("personal", f"p{number}.md") for number in range(10)] + [("work", f"w{number}.md") for number in range(10)]
VAULT = Vault(
    directories={"personal": Path("personal"), "work": Path("work")},
    texts=dict.fromkeys(NOTES, "Text of the note."),
    notes={},
    hash="",
)
RESULTS = [
    make_result(
        f"q{number}",
        *(
            make_chunk(f"c{number}-{place}", vault=vault, rel_path=path, rank=place + 1)
            for place, (vault, path) in enumerate(NOTES[number % 20 :] + NOTES[: number % 20])
        ),
    )
    for number in range(100)
]
"""A hundred questions, of which each gets a chunk of every one of 20 notes."""


def fault(name: str, size: str) -> AnswerFault:
    """Return a known fault."""
    (match,) = [fault for fault in FAULTS if (fault.name, fault.size) == (name, size)]
    return match


@each_row(("size", "count"), [("5%", 1), ("10%", 2), ("20%", 4), ("40%", 8)])
def test_a_share_of_the_notes_is_gone_from_every_answer(size: str, count: int) -> None:
    """Of twenty notes as many are in no answer any more as the fault says, and the same ones it says it is about."""
    dropped = fault("notes dropped", f"{size} of the notes")
    left = {
        (chunk.vault, chunk.rel_path)
        for result in dropped.apply(RESULTS, VAULT)
        if result.response is not None
        for chunk in result.response.chunks
    }
    assert set(NOTES) - left == dropped.notes(VAULT)
    assert len(dropped.notes(VAULT)) == count


def test_answers_are_exchanged_among_the_questions_that_are_struck() -> None:
    """A question gets the whole answer of another one, of the same mode, and nobody else's is touched."""
    results = [
        make_result(f"q{number}", *make_chunks(f"{mode}{number}.md"), mode=mode)
        for mode in ("hybrid", "vector")
        for number in range(20)
    ]
    spoilt = fault("answers of other questions", "10% of the questions").apply(results, VAULT)
    pairs = [
        (before.response.chunks[0].rel_path, after.response.chunks[0].rel_path)
        for before, after in zip(results, spoilt, strict=True)
        if before.response and after.response and before.response != after.response
    ]
    assert len(pairs) == 4
    assert all(was[:6] == now[:6] for was, now in pairs)
    assert sorted(was for was, _ in pairs) == sorted(now for _, now in pairs)


def test_a_vault_that_is_not_searched_is_the_last_of_several() -> None:
    """The notes of the second vault are gone; where there is only one vault, nothing is."""
    lost = fault("a vault is not searched", "the last")
    assert lost.notes(VAULT) == {note for note in NOTES if note[0] == "work"}
    one = Vault(directories={"work": Path("work")}, texts={("work", "w1.md"): "x"}, notes={}, hash="")
    assert lost.notes(one) == frozenset()
    assert lost.apply(RESULTS, one) == RESULTS


@each_row("each", FAULTS, ids=lambda each: f"{each.name}, {each.size}")
def test_every_fault_is_the_same_in_every_run(each: AnswerFault) -> None:
    """Nothing is drawn anew, results keep their order, and a call that failed stays a failed call."""
    failed = make_result("failed", failure=None, response=None)
    spoilt = each.apply([*RESULTS, failed], VAULT)
    assert spoilt == each.apply([*RESULTS, failed], VAULT)
    assert [result.case_id for result in spoilt] == [*(result.case_id for result in RESULTS), "failed"]
    assert spoilt[-1] == failed
    assert each.apply([], VAULT) == []


def test_every_fault_is_on_its_page() -> None:
    """The page names each fault, and each of its sizes that is a number."""
    page = (Path(__file__).parents[3] / "docs" / "prove.md").read_text(encoding="utf-8")
    for each in FAULTS:
        (row,) = [line for line in page.splitlines() if line.startswith("| ") and each.name in line.split("|")[1]]
        assert all(number in row for number in re.findall(r"\d+", each.size)), row


TEXT = "one two three"


@each_row(
    ("change", "field", "value", "changed"),
    [
        (partial(faults.text_cut, length=100), "text", TEXT, TEXT),
        (partial(faults.text_cut, length=13), "text", TEXT, TEXT),
        (partial(faults.text_cut, length=9), "text", TEXT, "one two"),
        (partial(faults.text_cut, length=7), "text", TEXT, "one two"),
        (partial(faults.text_cut, length=2), "text", TEXT, "on"),
        (faults.title_alone, "heading_path", "# A > ## B > ### C", "# A"),
        (faults.title_alone, "heading_path", "# A", "# A"),
        (faults.title_alone, "heading_path", "", ""),
        (partial(faults.other_vault, vaults=("personal", "work")), "vault", "personal", "work"),
        (partial(faults.other_vault, vaults=("personal", "work")), "vault", "work", "personal"),
        (partial(faults.other_vault, vaults=("personal", "work")), "vault", None, None),
        (partial(faults.other_vault, vaults=("work",)), "vault", "work", "work"),
    ],
)
def test_a_fault_of_chunks(change: Callable[[Chunk], Chunk], field: str, value: str | None, changed: str) -> None:
    """Texts are cut between words where there are several, headings lose all but the title, vaults are the next."""
    assert getattr(change(make_chunk(**{field: value})), field) == changed


@each_row(
    ("text", "half"),
    [("one two three four", "one two"), ("one two three", "one two"), ("one", "one"), ("", "")],
)
def test_an_outdated_note_has_the_first_half_of_its_text(text: str, half: str) -> None:
    """The second half was not written yet; a chunk of another note is as it was."""
    response = make_response(make_chunk(vault="work", text=text), make_chunk(vault="personal", text=text))
    old = faults.outdated(response, frozenset({("work", "a.md")}))
    assert [chunk.text for chunk in old.chunks] == [half, text]


def test_a_removed_note_stands_above_the_others() -> None:
    """A note that the vault does not have comes first, and the last chunk is gone; an empty list stays empty."""
    response = faults.removed_note_back(make_response(*make_chunks("a.md", "b.md", "c.md")))
    assert [chunk.rel_path for chunk in response.chunks] == ["a (removed).md", "a.md", "b.md"]
    assert [chunk.rank for chunk in response.chunks] == [1, 2, 3]
    assert len({chunk.chunk_id for chunk in response.chunks}) == 3
    assert faults.removed_note_back(make_response()) == make_response()


def test_abstaining_cites_nothing_and_keeps_what_was_retrieved() -> None:
    """An answer that abstains by fault breaks no invariant by itself."""
    cited = Reference(vault="work", rel_path="a.md", heading_path="# A", chunk_index=0)
    answer = replace(make_response(make_chunk()), answer="It is so.", references=(cited,))
    silent = faults.abstaining(answer)
    assert (silent.abstained, silent.answer, silent.references) == (True, "", ())
    assert silent.chunks == answer.chunks
    assert faults.abstaining(make_response()).answer is None


KEYS = [f"case-{number}" for number in range(40)]


def test_a_share_is_exact_and_at_least_one() -> None:
    """Of 40 questions 5% are 2, 10% are 4 and 1% is 1; no share is none, and of nothing there is none."""
    assert [len(struck(KEYS, share, "fault")) for share in (0.05, 0.1, 0.01, 0.0, 1.0)] == [2, 4, 1, 0, 40]
    assert struck([], 0.5, "fault") == frozenset()


def test_the_same_are_struck_in_every_run() -> None:
    """The draw is a hash of fault and name: it is the same whatever the order, and another for another fault."""
    assert struck(KEYS, 0.1, "a") == struck(KEYS[::-1], 0.1, "a") == struck(KEYS * 2, 0.1, "a")
    assert struck(KEYS, 0.1, "a") != struck(KEYS, 0.1, "b")
    # sha256 of the bytes 61 00 62, computed by another program
    assert lot("a", "b").hex().startswith("59b271ae1bbcb1d3")


@given(st.sets(st.text(), min_size=1), st.floats(0, 1), st.floats(0, 1))
def test_a_larger_fault_strikes_all_that_a_smaller_one_does(keys: set[str], one: float, other: float) -> None:
    """Sizes of one fault are nested, whatever the names are, lone surrogates included."""
    smaller, larger = sorted((one, other))
    assert struck(keys, smaller, "fault") <= struck(keys, larger, "fault") <= keys


FIVE = make_response(*make_chunks("a.md", "b.md", "c.md", "d.md", "e.md"))
"""Five chunks with the ranks 1 to 5 and the scores 1, 1/2, 1/3, 1/4 and 1/5."""


def paths(response: Response) -> str:
    """Return the notes of an answer in order, a letter each."""
    return "".join(chunk.rel_path[0] for chunk in response.chunks)


@each_row(
    ("response", "order"),
    [
        (faults.first_demoted(FIVE, 1), "bacde"),
        (faults.first_demoted(FIVE, 2), "bcade"),
        (faults.first_demoted(FIVE, 9), "bcdea"),
        (faults.cut_list(FIVE, 3), "abc"),
        (faults.cut_list(FIVE, 9), "abcde"),
        (faults.duplicated(FIVE, 2), "aabbc"),
        (faults.duplicated(FIVE, 3), "aaabb"),
    ],
)
def test_order(response: Response, order: str) -> None:
    """Each fault gives the list that is written here."""
    assert paths(response) == order


@each_row("depth", [0, 1, 3, 5, 9])
def test_a_shuffle_stays_within_its_depth(depth: int) -> None:
    """What stands below the depth stays; what stands within it are the same chunks, shuffled by the question."""
    orders = [paths(faults.shuffled_top(FIVE, depth, f"q{number}")) for number in range(10)]
    assert {order[depth:] for order in orders} == {"abcde"[depth:]}
    assert {"".join(sorted(order[:depth])) for order in orders} == {"abcde"[:depth]}
    assert depth < 5 or len(set(orders)) > 5


def test_ranks_and_scores_are_those_of_the_list() -> None:
    """A list that is cut and turned round has the ranks 1 to 3 and its own scores, the highest first."""
    turned = faults.ranked(FIVE, FIVE.chunks[2::-1])
    assert paths(turned) == "cba"
    assert [chunk.rank for chunk in turned.chunks] == [1, 2, 3]
    assert [chunk.score_final for chunk in turned.chunks] == [1, 1 / 2, 1 / 3]


def test_what_is_not_told_stays_so() -> None:
    """No rank and no score is made up where the API tells none, and a partial score moves with its chunk."""
    first, second = make_chunk("x", rank=None), make_chunk("y", rank=None, score_final=0.5)
    turned = faults.ranked(make_response(), (first, second))
    assert [(chunk.rank, chunk.score_final) for chunk in turned.chunks] == [(None, None), (None, 0.5)]


def test_duplicates_have_ids_of_their_own() -> None:
    """No id occurs twice, which an invariant would see at once; an empty id stays empty."""
    assert [chunk.chunk_id for chunk in faults.duplicated(FIVE, 2).chunks] == ["c1", "c1-1", "c2", "c2-1", "c3"]
    nameless = make_response(make_chunk(""), make_chunk(""))
    assert [chunk.chunk_id for chunk in faults.duplicated(nameless, 2).chunks] == ["", ""]


def test_notes_are_told_by_vault_and_path() -> None:
    """A note of the same path in another vault stays; a chunk without a vault goes by its path."""
    lost = faults.of_notes(frozenset({("work", "a.md")}))
    assert lost(make_chunk(vault="work"))
    assert not lost(make_chunk(vault="personal"))
    assert lost(make_chunk(vault=None))
    assert not lost(make_chunk(vault=None, rel_path="b.md"))


def test_a_note_that_is_gone_is_not_cited() -> None:
    """What an answer cites of a dropped note goes with it."""
    cited = tuple(
        Reference(vault="work", rel_path=path, heading_path="# A", chunk_index=0) for path in ("a.md", "b.md")
    )
    left = faults.without(replace(FIVE, references=cited), frozenset({("work", "a.md")}))
    assert (paths(left), left.references) == ("bcde", cited[1:])


@given(st.integers(0, 12), st.integers(0, 12), st.text(max_size=3))
def test_every_fault_takes_lists_of_any_length(length: int, size: int, question: str) -> None:
    """Whatever a list has, ranks are contiguous afterwards, scores fall, and no chunk is made up."""
    response = make_response(*make_chunks(*(f"{number}.md" for number in range(length))))
    for other in (
        faults.shuffled_top(response, size, question),
        faults.first_demoted(response, size),
        faults.cut_list(response, size),
        faults.duplicated(response, size + 1),
    ):
        assert [chunk.rank for chunk in other.chunks] == list(range(1, len(other.chunks) + 1))
        scores = [chunk.score_final or 0.0 for chunk in other.chunks]
        assert scores == sorted(scores, reverse=True)
        assert {chunk.rel_path for chunk in other.chunks} <= {chunk.rel_path for chunk in response.chunks}
        assert len(other.chunks) <= length
