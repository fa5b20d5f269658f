"""What a reader loses by a fault, and changes that harm nobody on average."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from builders import make_ranked_run
from raggate.models.run import Chunk, Failure, LabelledResult, Response, Result
from raggate.prove.trials import harmed, harmed_share, harmless
from tables import each_row

DEPTH = 3


def question(rank: int | None = 1) -> LabelledResult:
    (item,) = make_ranked_run(rank).results
    return item


def answer(item: LabelledResult) -> Response:
    assert item.result.response is not None
    return item.result.response


def with_response(item: LabelledResult, **fields: Any) -> Result:
    return replace(item.result, response=replace(answer(item), **fields))


def first(item: LabelledResult, **fields: Any) -> tuple[Chunk, ...]:
    chunk, *rest = answer(item).chunks
    return (replace(chunk, **fields), *rest)


TEXT = "one two three four five six"


@each_row(
    ("change", "lost"),
    [
        ({}, False),
        ({"chunk_id": "other", "heading_path": "Other"}, False),
        ({"text": "one two three four"}, False),
        ({"text": "one two three"}, True),
        ({"text": f"and {TEXT} seven"}, False),
        ({"rel_path": "other.md"}, True),
        ({"vault": "other"}, True),
    ],
)
def test_a_passage_is_its_note_and_two_thirds_of_its_words(change: dict[str, Any], lost: bool) -> None:
    """Ids and headings are nothing to a reader; another note, or half a text, is a loss."""
    item = question()
    clean = replace(item, result=with_response(item, chunks=first(item, text=TEXT)))
    assert harmed(clean, with_response(clean, chunks=first(clean, **change)), DEPTH) is lost


@each_row(
    ("before", "after", "lost"), [(1, 3, False), (1, 4, True), (3, None, True), (4, None, False), (None, 1, False)]
)
def test_a_passage_that_leaves_the_first_chunks_is_lost(before: int | None, after: int | None, lost: bool) -> None:
    """What a reader never saw cannot be lost."""
    assert harmed(question(before), question(after).result, DEPTH) is lost


def test_a_call_that_fails_and_a_wrong_word_on_abstaining_are_losses() -> None:
    """So is an answer to a question that has none; a call that failed before is none."""
    item = question()
    failed = replace(item.result, response=None, failure=Failure(kind="status", message="no"))
    silent = with_response(item, abstained=True)
    assert harmed(item, failed, DEPTH)
    assert not harmed(replace(item, result=failed), item.result, DEPTH)
    assert harmed(item, silent, DEPTH)
    unanswerable = replace(item, case=replace(item.case, answerable=False), result=silent)
    assert harmed(unanswerable, item.result, DEPTH)
    assert not harmed(replace(unanswerable, result=item.result), silent, DEPTH)


def test_the_share_is_that_of_the_worst_mode() -> None:
    """One of two questions of the one mode, none of the other's."""
    items = [question(), question(None)]
    clean = [*items, *(replace(item, result=replace(item.result, mode="lexical")) for item in items)]
    after = [question(None).result, *(item.result for item in clean[1:])]
    assert harmed_share(clean, after, DEPTH) == 0.5
    assert harmed_share(clean, [item.result for item in clean], DEPTH) == 0.0


RANKS = [1, 1, 1, 2, 3, None] * 20


def ranks_after(number: int, must_pass: bool = False) -> list[int | None]:
    """Return where the passages stand after a harmless change."""
    items = [replace(item, case=replace(item.case, must_pass=must_pass)) for item in make_ranked_run(*RANKS).results]
    texts = {item.case.id: item for item in items}
    found = {item.case.id: item.case.gold_supports[0] for item in items}

    def passage(item: LabelledResult) -> Chunk | None:
        support = found[item.case.id]
        return replace(answer(texts[item.case.id]).chunks[0], chunk_id="found", rel_path=support.rel_path)

    places: list[int | None] = []
    for item, result in zip(items, harmless(items, number, passage), strict=True):
        assert result.response is not None
        paths = [chunk.rel_path for chunk in result.response.chunks]
        gold = item.case.gold_supports[0].rel_path
        places.append(paths.index(gold) + 1 if gold in paths else None)
    return places


def test_a_harmless_change_moves_as_much_up_as_down() -> None:
    """Over forty changes a fifth of the questions is touched, and the share at rank 1 stays, but for chance."""
    moved, at_first = 0, 0
    for number in range(1, 41):
        after = ranks_after(number)
        moved += sum(new != old for new, old in zip(after, RANKS, strict=True))
        at_first += after.count(1)
    # a fifth is touched, and a third of those draw their own rank again
    assert 0.10 < moved / (40 * len(RANKS)) < 0.20
    assert abs(at_first / (40 * len(RANKS)) - 0.5) < 0.02


def test_a_harmless_change_is_the_same_each_time_and_spares_what_must_pass() -> None:
    """Its lots are those of its number; a question that must pass is never touched."""
    assert ranks_after(1) == ranks_after(1) != ranks_after(2)
    assert ranks_after(1, must_pass=True) == RANKS
