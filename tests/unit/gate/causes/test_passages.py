"""Passages: how gold supports and chunks are named, and which of them hold which rank."""

from __future__ import annotations

from builders import make_case, make_case_score, make_chunk, make_chunks, make_labelled, make_result, make_support
from probed import probed
from raggate.gate.causes.passages import Asked, first_ranks, holders, of_chunk, place, possible, ranked, unmatched
from raggate.models.golden import Support
from raggate.models.run import Chunk
from raggate.models.scorecard import ListEntry
from raggate.scoring.score import list_entries
from tables import each_row


@each_row(
    ("support", "vaults", "name"),
    [
        (make_support("d/a.md", "# A"), ("work",), "work/d/a.md › A"),
        (make_support("d/a.md", "# A"), ("work", "home"), "d/a.md › A"),
        (make_support("d/a.md", None, vault="home"), ("work",), "home/d/a.md"),
        (make_support("", None, chunk_id="c9"), (), "chunk c9"),
        (make_support("", None, doc_id="d9"), (), "document d9"),
    ],
)
def test_a_passage_is_named_as_far_as_the_golden_set_tells(
    support: Support, vaults: tuple[str, ...], name: str
) -> None:
    """A passage is named by vault, note and section, or by the id that stands for them."""
    assert place(support, make_case(gold_supports=(support,), vaults=vaults)) == name


@each_row(
    ("chunk", "name"),
    [
        (make_chunk(vault="work"), "work/a.md › A"),
        (make_chunk(heading_path=""), "a.md"),
        (make_chunk(rel_path="", heading_path="", doc_id="d9"), "d9"),
        (make_chunk("c9", rel_path="", heading_path=""), "c9"),
    ],
)
def test_a_chunk_is_named_as_far_as_the_api_tells(chunk: Chunk, name: str) -> None:
    """A chunk is named likewise, or by its document's id or its own."""
    assert of_chunk(chunk) == name


def test_repeated_chunks_hold_no_rank() -> None:
    """Ranks count the chunks that did not stand higher up already; positions are those in the answer."""
    other = make_chunk("other", rel_path="b.md")
    item = make_labelled(make_case(), make_result("q1", other, other, make_chunk("gold")))
    assert [(rank, position) for rank, position, _ in ranked(item)] == [(1, 0), (2, 2)]


def test_unmatched_passages_are_those_that_no_chunk_meets() -> None:
    """Of two passages the one that did not come back is left."""
    case = make_case(gold_supports=(make_support(), make_support("b.md")))
    assert unmatched(make_labelled(case, make_result("q1", make_chunk()))) == (make_support("b.md"),)


def test_possible_notes() -> None:
    """What the API tells counts, else every note of that path; of an unknown path none."""
    known = holders(probed())
    assert known == {"a.md": {"work", "home"}, "b.md": {"work"}, "diary.md": {"home"}}
    assert possible(make_chunk(rel_path="a.md"), known) == ("home/a.md", "work/a.md")
    assert possible(make_chunk(rel_path="a.md", vault="elsewhere"), known) == ("elsewhere/a.md",)
    assert possible(make_chunk(rel_path="x.md"), known) == ()


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
