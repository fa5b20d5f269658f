"""What the two lists of a question tell of its passages. What rose above one is specified with the flips."""

from __future__ import annotations

from builders import make_case, make_case_score, make_chunk, make_chunks, make_labelled, make_result, make_support
from raggate.gate.causes.asked import Asked, first_ranks
from raggate.models.scorecard import ListEntry
from raggate.scoring.list_entries import list_entries

A, B = make_chunk("a"), make_chunk("b", rel_path="b.md")
OTHERS = make_chunks("x.md", "y.md", "z.md")
CASE = make_case(gold_supports=(make_support(), make_support("b.md")))


def asked(before: tuple[int | None, tuple[object, ...]], now: tuple[int | None, tuple[object, ...]]) -> Asked:
    """Build a question by its ranks and lists on both sides."""
    was, item = (make_labelled(CASE, make_result("q1", *chunks)) for _, chunks in (before, now))
    old = make_case_score("q1", rank=before[0], entries=list_entries(was, 10))
    return Asked(item=item, metric="hit_at_5", before=before[0], after=now[0], old=old)


def test_first_ranks() -> None:
    """Each passage stands where it stands first."""
    entries = [ListEntry("", "", supports=supports) for supports in ((), (1,), (0, 1), (0,))]
    assert first_ranks(entries) == {1: 2, 0: 3}


def test_which_passage_stood_at_the_rank() -> None:
    """The passage of the baseline's rank is told from others; a rank that its list does not have tells none."""
    found = asked((2, (OTHERS[0], B, A)), (None, OTHERS))
    assert [found.stood(support) for support in CASE.gold_supports] == [False, True]
    assert not any(asked((9, (A,)), (None, OTHERS)).stood(support) for support in CASE.gold_supports)
    assert asked((1, (OTHERS[0], A)), (None, OTHERS)).entry_before is None


def test_a_passage_by_itself() -> None:
    """One of several passages has ranks of its own, on both sides, where it is listed."""
    found = asked((1, (A, OTHERS[0], B)), (1, (A, *OTHERS, B)))
    assert [(one.before, one.after) for one in map(found.at_passage, (0, 1))] == [(1, 1), (3, 5)]
    gone = asked((1, (A, B)), (1, (A,))).at_passage(1)
    assert (gone.before, gone.after) == (2, None)


def test_without_a_case_in_the_baseline() -> None:
    """A question that is not the same there has no list to look into."""
    item = make_labelled(CASE, make_result("q1", A))
    found = Asked(item=item, metric="hit_at_5", before=1, after=None)
    assert (found.old_entries, found.entry_before, found.risen()) == ((), None, None)
