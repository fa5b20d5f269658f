"""What causes claim, held against what was really seen: whatever an API returns and a baseline holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import given, strategies as st

from builders import make_case, make_case_score, make_chunk, make_labelled, make_response, make_result, make_support
from raggate.gate.causes.cause_wording import sentence
from raggate.gate.causes.causes import find_cause
from raggate.gate.causes.passages import Asked
from raggate.models.comparison import Cause, CauseEvidence, ListEvidence
from raggate.models.run import Chunk, LabelledResult, Response
from raggate.scoring.metrics.ranking import first_hit, ranking
from raggate.scoring.score import list_entries
from tries import tried

NAMES = st.sampled_from(("a", "b", "docs/a", "mail/c"))
SCORES = st.none() | st.floats(-1, 2)
CHUNKS = st.builds(
    lambda path, number, vault, final, vector, heading, text: make_chunk(
        str(number),
        rel_path=f"{path}.md",
        vault=vault,
        score_final=final,
        score_vector=vector,
        heading_path=heading,
        text=text,
    ),
    NAMES,
    st.integers(0, 2),
    st.sampled_from((None, "work", "home")),
    SCORES,
    SCORES,
    st.sampled_from(("# A", "# A > ## B", "# Z", "", "\u202e# ::error::")),
    st.sampled_from(("the sentence", "", "# A\nelse")),
)
FOLDERS = st.none() | st.lists(st.sampled_from(("work/docs", "work/mail", "work/", "work", "docs", "")), max_size=3)
LIMITS = st.none() | st.tuples(st.floats(0, 1), st.floats(0, 1))
WEIGHTS = st.none() | st.dictionaries(st.sampled_from(("vector", "lexical")), st.floats(0, 1), max_size=2)
LISTS = st.builds(
    ListEvidence,
    weights=st.tuples(WEIGHTS, WEIGHTS),
    thresholds=st.tuples(LIMITS, LIMITS),
    floors=st.tuples(SCORES, SCORES),
    rescored=st.dictionaries(st.sampled_from(("final", "vector")), st.booleans(), max_size=2),
    unordered=st.booleans(),
    shift=st.none() | st.floats(0, 3),
    overtaking=st.integers(0, 3),
    renumbered=st.booleans(),
)
EVIDENCE = st.builds(
    CauseEvidence,
    notes=st.sets(st.sampled_from(("work/a.md", "work/docs/a.md", "home/a.md", "work/mail/c.md"))),
    changes=st.dictionaries(st.just("work/b.md"), st.sampled_from(("added", "changed", "removed"))),
    lists=st.builds(lambda lists: {"hybrid": lists}, LISTS),
    retrieved=st.dictionaries(NAMES.map("{}.md".format), st.sets(st.sampled_from(("# A", "# Ab", "")))),
    gone=st.dictionaries(
        st.sampled_from(("a.md", "docs/a.md", "mail/c.md")), st.sets(st.sampled_from(("work", "home")))
    ),
    recut=st.booleans(),
    documents=st.none() | st.tuples(st.integers(0, 9), st.integers(0, 9)),
    folders=st.builds(
        lambda before, now: {"hybrid": (before, now)},
        st.dictionaries(st.sampled_from(("several", "served")), st.integers(0, 20)),
        st.dictionaries(st.sampled_from(("several", "served")), st.integers(0, 20)),
    ),
    beyond=st.builds(lambda kinds: {"hybrid": kinds}, st.sets(st.sampled_from(("selected", "available")))),
)


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A cause and all that was there to be seen, looked at by other means than causes do."""

    cause: Cause
    item: LabelledResult
    was: LabelledResult
    evidence: CauseEvidence
    metric: str
    at: int | None
    after: int | None

    @property
    def gold(self) -> str:
        """The path of the passage's note."""
        return self.item.case.gold_supports[0].rel_path

    @property
    def response(self) -> Response:
        """The answer."""
        return self.item.result.response or make_response()

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """What came back."""
        return self.response.chunks

    @property
    def finals(self) -> list[float]:
        """Its final scores."""
        return [chunk.score_final for chunk in self.chunks if chunk.score_final is not None]

    @property
    def before(self) -> tuple[Chunk, ...]:
        """What had come back in the baseline's run."""
        return (self.was.result.response or make_response()).chunks

    @property
    def own(self) -> float:
        """The score that the passage had in the baseline; 9 where it had none, which no other score reaches."""
        score = self.before[self.at - 1].score_final if self.at is not None else None
        return 9.0 if score is None else score

    @property
    def steady(self) -> bool:
        """Whether chunks are listed by the scores they had."""
        return self.lists.rescored.get("final") is False and not self.lists.unordered

    @property
    def lists(self) -> ListEvidence:
        """What all lists show."""
        return self.evidence.lists["hybrid"]

    @property
    def back(self) -> bool:
        """Whether the passage's chunk of the baseline came back: any of its note, where ids are given anew."""
        if self.at is not None and self.lists.renumbered:
            return self.before[self.at - 1].rel_path in {chunk.rel_path for chunk in self.chunks}
        return self.at is not None and self.before[self.at - 1].chunk_id in {chunk.chunk_id for chunk in self.chunks}

    def holders(self) -> set[str]:
        """Name the vaults that have a note of the passage's path, of those it may be in."""
        vaults = {note.partition("/")[0] for note in self.evidence.notes if note.partition("/")[2] == self.gold}
        return vaults & set(self.item.case.vaults) if self.item.case.vaults else vaults

    def of_folder(self, name: str) -> list[Chunk]:
        """Return the chunks whose path is in a folder, in whatever vault."""
        inner = name.partition("/")[2] if "/" in name else name
        return [chunk for chunk in self.chunks if inner and chunk.rel_path.startswith(f"{inner}/")]


def _outscored(seen: Seen) -> bool:
    return seen.own > min(seen.finals, default=9.0) and seen.steady and not seen.back


def _not_searched(seen: Seen) -> bool:
    skipped = seen.evidence.folders["hybrid"][1].get("served") == 0
    limited = "selected" not in seen.evidence.beyond["hybrid"]
    return limited and seen.cause.subject in (seen.response.selected_folders or ()) and (skipped or _outscored(seen))


def _below(seen: Seen) -> bool:
    if seen.cause.after is not None:
        limits = seen.lists.thresholds[1]
        return seen.response.abstained and limits is not None and max(seen.finals) <= (limits[0] or 0.0)
    floor = seen.lists.floors[1]
    return floor is not None and seen.own < floor and len(seen.chunks) < len(seen.before) and not seen.back


def _fell(seen: Seen) -> bool:
    if seen.after is not None:
        return seen.at is not None and seen.after > seen.at
    last = seen.chunks[-1].score_final
    # what other weights make of the baseline's scores is looked at in test_score_causes
    below = last is not None and (not seen.steady or seen.own <= last + 1e-5)
    return seen.cause.last == last and below and not seen.back and not seen.lists.unordered


def _of_its_note(seen: Seen) -> bool:
    return seen.chunks[(seen.cause.rank or 0) - 1].rel_path == seen.gold


def _gone_from_the_index(seen: Seen) -> bool:
    documents, gone = seen.evidence.documents, seen.evidence.gone
    fewest = sum(len(vaults) or 1 for vaults in gone.values())
    return documents is not None and documents[0] - documents[1] >= fewest and seen.gold in gone and seen.at is not None


def _left_out(seen: Seen) -> bool:
    selected = seen.response.selected_folders or ()
    # scope is lost by selection whatever came back; a passage only by one that is a limit
    decides = seen.metric == "scope_miss_rate" or "selected" not in seen.evidence.beyond["hybrid"]
    return decides and f"work/{seen.gold.rpartition('/')[0]}" not in selected


def _folder_gone(seen: Seen) -> bool:
    return "available" not in seen.evidence.beyond["hybrid"] and seen.gold not in seen.evidence.retrieved


def _may_be_out(seen: Seen) -> bool:
    """Whether a passage that may have been put out by scores was listed, and scored no more than others moved."""
    if seen.cause.stood_clear:
        return True
    last = min(seen.finals, default=9.0)
    moved = seen.lists.shift is None or seen.own == 9.0 or seen.own - last <= seen.lists.shift
    weighed = seen.lists.weights[1] is not None and seen.lists.rescored.get("vector") is False
    below = seen.lists.unordered or len(seen.finals) < len(seen.chunks) or weighed or moved
    return seen.at is not None and not seen.back and below


HOLDS: dict[str, Callable[[Seen], bool]] = {
    "nothing-retrieved": lambda seen: not seen.chunks,
    "note-not-in-vault": lambda seen: bool(seen.evidence.notes) and not seen.holders(),
    "note-not-indexed": _gone_from_the_index,
    "folder-left-out": _left_out,
    "folder-not-indexed": _folder_gone,
    "folder-not-searched": _not_searched,
    "list-cut": lambda seen: (seen.at or 0) > len(seen.chunks) > 0 and not seen.back,
    "chunk-not-searched": _outscored,
    "anchor-gone": lambda seen: seen.evidence.recut and "# A" not in seen.evidence.retrieved[seen.gold],
    "below-threshold": _below,
    "demoted": _fell,
    "not-listed": _may_be_out,
    "abstained": lambda seen: seen.response.abstained,
    **dict.fromkeys(
        ("snippet-gone", "text-foreign", "heading-differs", "other-section", "other-vault"),
        _of_its_note,
    ),
}


@given(
    now=st.lists(CHUNKS, max_size=4, unique_by=lambda chunk: chunk.chunk_id),
    before=st.lists(CHUNKS, max_size=4, unique_by=lambda chunk: chunk.chunk_id),
    selected=FOLDERS,
    available=FOLDERS,
    evidence=EVIDENCE,
    gold=st.sampled_from(("a.md", "docs/a.md")),
    snippets=st.sampled_from(((), ("the sentence",))),
    vaults=st.sampled_from(((), ("work",))),
    metric=st.sampled_from(("hit_at_5", "ndcg_at_10", "scope_miss_rate", "false_abstention_rate", "recall_all_at_10")),
    abstained=st.booleans(),
)
@tried(150)
def test_no_cause_is_claimed_that_was_not_seen(
    now: list[Chunk],
    before: list[Chunk],
    selected: list[str] | None,
    available: list[str] | None,
    evidence: CauseEvidence,
    gold: str,
    snippets: tuple[str, ...],
    vaults: tuple[str, ...],
    metric: str,
    abstained: bool,
) -> None:
    """Whatever an API returns and a baseline holds, what a cause says is true of them."""
    case = make_case(gold_supports=(make_support(gold, snippets=snippets),), vaults=vaults)
    folders = {
        "selected_folders": None if selected is None else tuple(selected),
        "available_folders": None if available is None else tuple(available),
    }
    item = make_labelled(case, make_result("q1", response=make_response(*now, abstained=abstained, **folders)))
    was = make_labelled(case, make_result("q1", *before))
    at, after = (first_hit(ranking(side)) for side in (was, item))
    old = make_case_score("q1", rank=at, entries=list_entries(was, 10))
    cause = find_cause(Asked(item=item, metric=metric, before=at, after=after, old=old, evidence=evidence))
    assert sentence(cause)
    seen = Seen(cause=cause, item=item, was=was, evidence=evidence, metric=metric, at=at, after=after)
    assert HOLDS.get(cause.code, lambda _: True)(seen), sentence(cause)
