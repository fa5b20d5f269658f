"""Causes: what is said of why a question got worse follows from what both sides show, and nothing else is said."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from msgspec.structs import replace

from builders import (
    make_case,
    make_case_score,
    make_chunk,
    make_chunks,
    make_failure,
    make_labelled,
    make_response,
    make_result,
    make_support,
    make_support as support,
)
from raggate.gate.causes.cause_wording import sentence as in_words
from raggate.gate.causes.causes import find_cause, heading_cause, piece_cause, section_cause
from raggate.gate.causes.passages import Asked, ranked
from raggate.models.comparison import Cause, CauseEvidence, ListEvidence
from raggate.models.run import Chunk, LabelledResult, Reference
from raggate.models.scorecard import ListEntry
from raggate.scoring.score import short_hash
from tables import each_row

OTHERS = make_chunks(*(f"other{number}.md" for number in range(1, 11)))
IN_WORK = tuple(replace(chunk, rel_path=f"mail/{chunk.rel_path}", vault="work") for chunk in OTHERS[:3])
"""Three chunks of the folder work/mail."""

NOTES = ("work/docs/a.md", "work/mail/other1.md", "home/docs/a.md")
GOLD_IN_DOCS = {"gold_supports": (support("docs/a.md"),)}
SNIPPET = {"gold_supports": (support(snippets=("the sentence",)),)}
REFERENCE = Reference(vault="work", rel_path="b.md", heading_path="# B", chunk_index=0)


def answer(
    case: dict[str, Any], *chunks: Chunk, labels: dict[str, Any] | None = None, **response: Any
) -> LabelledResult:
    asked = make_case(**case)
    result = make_result(asked.id, response=make_response(*chunks, **response))
    return make_labelled(asked, result, **(labels or {}))


def failed(**fields: Any) -> LabelledResult:
    asked = make_case()
    return make_labelled(asked, make_result(asked.id, failure=make_failure(**fields)))


def why(item: LabelledResult, metric: str = "hit_at_5", *, notes: tuple[str, ...] = (), before: int | None = 1) -> str:
    evidence = CauseEvidence(notes=notes)
    return in_words(find_cause(Asked(item=item, metric=metric, before=before, after=None, evidence=evidence)))


@each_row(
    ("item", "sentence"),
    [
        pytest.param(failed(message="HTTP 500"), "the call failed: HTTP 500", id="failed"),
        pytest.param(failed(kind="aborted", message="not asked"), "it was not asked", id="not-asked"),
        pytest.param(answer({}), "nothing was retrieved", id="nothing"),
        pytest.param(answer({}, *OTHERS[:5]), "not among the 5 passages returned", id="not-returned"),
        pytest.param(
            answer({}, OTHERS[0], make_chunk("x", heading_path="# B")),
            "the note is at rank 2, but with another section",
            id="other-section",
        ),
        pytest.param(
            answer({}, OTHERS[0], OTHERS[0], make_chunk("x", heading_path="# B")),
            "the note is at rank 2, but with another section",
            id="repeated-chunks-hold-no-rank",
        ),
        pytest.param(
            answer({}, make_chunk("x", heading_path="")),
            "the note is at rank 1, but without a heading path",
            id="no-heading-path",
        ),
        pytest.param(
            answer({}, make_chunk("x", heading_path="# B"), labels={"strange_headings": (0,)}),
            "the note is at rank 1, but under # B",
            id="invented-heading",
        ),
        pytest.param(
            answer(SNIPPET, OTHERS[0], make_chunk("x", text="Another piece.")),
            "the section is at rank 2, but without the gold snippet “the sentence” (another piece, cut, or reworded)",
            id="without-the-snippet",
        ),
        pytest.param(
            answer({"gold_supports": (support(snippets=("s" * 101, "b", "c")),)}, make_chunk("x")),
            f"the section is at rank 1, but without the gold snippet “{'s' * 99}…” or any of 2 more "
            "(another piece, cut, or reworded)",
            id="without-a-long-snippet-of-several",
        ),
        pytest.param(
            answer(SNIPPET, make_chunk("x", text=""), labels={"empty": (0,)}),
            "the section is at rank 1, but without a text of its own",
            id="empty-text",
        ),
        pytest.param(
            answer({"gold_supports": (support(), support("b.md"))}, make_chunk("x", rel_path="b.md", heading_path="#")),
            "the note b.md is at rank 1, but with another section",
            id="not-the-passage-that-is-shown",
        ),
    ],
)
def test_what_is_said(item: LabelledResult, sentence: str) -> None:
    """A broken question says what its answer shows of the passage that was expected."""
    assert why(item) == sentence


@each_row(
    ("case", "chunk", "sentence"),
    [
        pytest.param(
            {"vaults": ("work",)},
            make_chunk(vault="home"),
            "the note at rank 1 has the same path, but is in vault home, not in work",
            id="another-vault",
        ),
        pytest.param(
            {"gold_supports": (support(vault="work", snippets=("the sentence",)),), "vaults": ("work", "home")},
            make_chunk(vault="home"),
            "the note at rank 1 has the same path, but is in vault home, not in work",
            id="another-vault-than-the-supports-own",
        ),
        pytest.param(
            {**SNIPPET, "vaults": ("work",)},
            make_chunk(),
            "the section of the note (of vault home or work) is at rank 1, "
            "but without the gold snippet “the sentence” (another piece, cut, or reworded)",
            id="vault-not-told",
        ),
        pytest.param(
            {"vaults": ("work",)},
            make_chunk(vault="work", heading_path="# B"),
            "the note of vault work is at rank 1, but with another section",
            id="the-right-vault",
        ),
    ],
)
def test_vaults_with_notes_of_one_path(case: dict[str, Any], chunk: Chunk, sentence: str) -> None:
    """Where several vaults have a note of the path, the cause says of which one it speaks, as far as that is known."""
    assert why(answer(case, chunk), notes=("home/a.md", "work/a.md")) == sentence


@each_row(
    ("item", "sentence"),
    [
        pytest.param(
            answer({**GOLD_IN_DOCS, "vaults": ("work",)}, *IN_WORK, available_folders=("work/mail", "home/docs")),
            "work/docs is not in the index (available: 2 other folders)",
            id="not-indexed",
        ),
        pytest.param(
            answer(
                {**GOLD_IN_DOCS, "vaults": ("work",), "folders": ("mail",)}, *IN_WORK, available_folders=("work/mail",)
            ),
            "work/docs is not available (available: 1 other folder)",
            id="the-question-asked-for-some-folders",
        ),
        pytest.param(
            answer(
                {**GOLD_IN_DOCS, "vaults": ("work",)},
                *IN_WORK,
                available_folders=("work/mail", "work/docs"),
                selected_folders=("work/mail",),
            ),
            "folder selection left it out (selected: work/mail)",
            id="left-out",
        ),
        pytest.param(
            answer(
                {**GOLD_IN_DOCS, "vaults": ("work",)},
                *IN_WORK,
                selected_folders=("work/mail", "home/1", "home/2", "home/3", "home/4", "home/5"),
            ),
            "its folder is not among the selected ones (selected: work/mail, home/1, home/2, home/3 and 2 more)",
            id="not-selected-and-perhaps-not-indexed",
        ),
    ],
)
def test_folders(item: LabelledResult, sentence: str) -> None:
    """A folder is called missing from the index, left out, or not selected, by what the answer tells of folders."""
    assert why(item, notes=NOTES) == sentence


@each_row(
    "folders",
    [
        pytest.param({"selected_folders": ()}, id="no-limit"),
        pytest.param({"available_folders": ()}, id="no-folders-told"),
        pytest.param({"selected_folders": ("work/docs",)}, id="selected"),
        pytest.param({"selected_folders": ("work/mail-old",)}, id="chunks-come-from-elsewhere"),
        pytest.param({"available_folders": ("work/mail-old",)}, id="more-is-there-than-is-told"),
        pytest.param({"available_folders": ("folder 17", "folder 18")}, id="named-in-another-way"),
    ],
)
def test_folders_that_prove_nothing(folders: dict[str, Any]) -> None:
    """No folder is blamed that was searched, or where the API's folders cannot be held against the notes."""
    item = answer({**GOLD_IN_DOCS, "vaults": ("work",)}, *IN_WORK, **folders)
    assert why(item, notes=NOTES) == "not among the 3 passages returned"


@each_row("other", [support("mail/b.md"), support("", None, chunk_id="c9")])
def test_an_alternative_in_a_searched_folder(other: Any) -> None:
    """Folders are no cause where one of several passages may stand in those that were searched."""
    item = answer(
        {"gold_supports": (support("docs/a.md"), other), "vaults": ("work",)}, *IN_WORK, selected_folders=("work/mail",)
    )
    assert why(item, notes=NOTES) == "not among the 3 passages returned"


@each_row(
    ("before", "after", "supports", "sentence"),
    [
        pytest.param(1, 2, (support(),), "fell among the 3 passages returned", id="lower"),
        pytest.param(
            2,
            2,
            (support(), support("b.md")),
            "b.md › A: not among the 3 passages returned",
            id="same-rank-one-lacks",
        ),
        pytest.param(
            None,
            2,
            (support(),),
            "every expected passage is among the 3 passages returned, the first at rank 2",
            id="not-found-before",
        ),
        pytest.param(
            3,
            2,
            (support(), support("other1.md")),
            "every expected passage is among the 3 passages returned, the first at rank 2",
            id="higher",
        ),
    ],
)
def test_passages_that_are_there(before: int | None, after: int, supports: tuple[Any, ...], sentence: str) -> None:
    """A question is said to have fallen only where its rank is lower; else what lacks is named."""
    item = answer({"gold_supports": supports}, OTHERS[0], make_chunk("gold"), OTHERS[1])
    assert in_words(find_cause(Asked(item=item, metric="ndcg_at_10", before=before, after=after))) == sentence


@each_row(
    ("response", "sentence"),
    [
        pytest.param({"answer": "It is."}, "answered instead of abstaining", id="answered"),
        pytest.param({"answer": None}, "nothing was retrieved, and it did not say so", id="no-answer-was-asked-for"),
        pytest.param(
            {"chunks": OTHERS[:1], "answer": "It is.", "references": (REFERENCE,)},
            "answered instead of abstaining; it cites work/b.md › B",
            id="reference",
        ),
    ],
)
def test_no_abstention(response: dict[str, Any], sentence: str) -> None:
    """An unanswerable question is said to be answered where there is an answer, and to cite what it cites."""
    item = answer({"answerable": False}, *response.pop("chunks", ()), **response)
    assert why(item, "abstention_accuracy") == sentence


@each_row(
    ("item", "sentence"),
    [
        pytest.param(answer({}, abstained=True), "the API abstained", id="abstained"),
        pytest.param(
            answer({}, abstained=True, abstain_reason="no_context"),
            "the API abstained (no_context)",
            id="with-a-reason",
        ),
        pytest.param(answer({}, answer=" "), "the answer is empty, which counts as abstaining", id="empty-answer"),
        pytest.param(failed(message="HTTP 500"), "the call failed: HTTP 500", id="failed-calls-count-but-did-not"),
    ],
)
def test_false_abstention(item: LabelledResult, sentence: str) -> None:
    """Only an API that says so is said to have abstained."""
    assert why(item, "false_abstention_rate") == sentence


def test_metrics_of_the_answer_are_not_explained_by_ranks() -> None:
    """Where a metric of the answer fell, what was retrieved is not given as its cause."""
    item = answer({}, *OTHERS, answer="It is.")
    assert why(item, "key_fact_coverage") == "judged by the answer, not by what was retrieved"


@each_row(
    ("chunk", "sentence"),
    [
        pytest.param(OTHERS[0], "folder selection left it out (selected: work/mail)", id="left-out"),
        pytest.param(
            make_chunk(rel_path="docs/a.md", vault="work"),
            "its folder is not among the selected ones (selected: work/mail)",
            id="came-back-all-the-same",
        ),
    ],
)
def test_the_metric_of_folder_selection(chunk: Chunk, sentence: str) -> None:
    """Where the metric of folder selection is red, selection is the cause, also where it limits nothing."""
    chunk = replace(chunk, rel_path=chunk.rel_path.replace("other", "mail/other"), vault="work")
    folders = {"available_folders": ("work/mail", "work/docs"), "selected_folders": ("work/mail",)}
    item = answer({**GOLD_IN_DOCS, "vaults": ("work",)}, chunk, **folders)
    evidence = CauseEvidence(notes=NOTES)
    asked = Asked(item=item, metric="scope_miss_rate", before=1, after=1, evidence=evidence)
    assert in_words(find_cause(asked)) == sentence


def test_a_question_without_passages() -> None:
    """Of a question that is judged by its answer alone, no passage is said to be missing."""
    item = answer({"gold_supports": (), "must_contain": ("42",)}, OTHERS[0])
    assert why(item, "heading_dominance_rate") == "1 passage returned; no passage is expected"


def entries(*chunks: Chunk, supports: dict[int, tuple[int, ...]] | None = None) -> tuple[ListEntry, ...]:
    """Build the baseline's list of these chunks; `supports` are those matched by rank."""
    return tuple(
        ListEntry(
            short_hash(chunk.rel_path),
            short_hash(chunk.chunk_id),
            chunk.score_final,
            chunk.score_vector,
            chunk.score_lexical,
            (supports or {}).get(rank, ()),
        )
        for rank, chunk in enumerate(chunks, 1)
    )


def explained(
    item: LabelledResult,
    *before: Chunk,
    at: int | None = 1,
    after: int | None = None,
    metric: str = "hit_at_5",
    supports: dict[int, tuple[int, ...]] | None = None,
    **evidence: Any,
) -> Cause:
    """Find the cause of a question whose list in the baseline was this, with its passage at this rank."""
    stood = supports or ({at: (0,)} if at else {})
    old = make_case_score(item.case.id, rank=at, entries=entries(*before, supports=stood))
    lists = {"hybrid": ListEvidence(**evidence.pop("lists", {}))}
    found = CauseEvidence(lists=lists, **evidence)
    return find_cause(Asked(item=item, metric=metric, before=at, after=after, old=old, evidence=found))


def scored(name: str, final: float | None, vector: float | None = None, lexical: float | None = None) -> Chunk:
    """Build a chunk of a note of its own with scores; `gold` is the passage."""
    path = "a.md" if name == "gold" else f"{name}.md"
    scores = {"score_final": final, "score_vector": vector, "score_lexical": lexical}
    return make_chunk(name, rel_path=path, vault="work", **scores)


STEADY = {"rescored": {"final": False}}
RESCORED = {"rescored": {"final": True}}
REWEIGHTED = {"rescored": {"final": True, "vector": False}}
GOLD = scored("gold", 0.8, 0.5, 0.9)


class TestNotes:
    """A note that is gone is said to be, where notes and index say so."""

    def test_not_in_the_vault(self) -> None:
        """A passage's note that no vault of its question has is not in the vault."""
        cause = explained(answer({"vaults": ("work",)}, OTHERS[0]), GOLD, notes=("work/b.md", "home/a.md"))
        assert (cause.code, in_words(cause)) == ("note-not-in-vault", "work/a.md is not in the vault")

    @each_row("notes", [(), ("work/a.md",)])
    def test_in_the_vault_or_not_known(self, notes: tuple[str, ...]) -> None:
        """Nothing is said of a note that is there, or where the notes are not known."""
        assert explained(answer({"vaults": ("work",)}, OTHERS[0]), GOLD, notes=notes).code == "not-listed"

    def test_only_the_passage_that_stood_there_counts(self) -> None:
        """Of two passages the one that the baseline found is looked for, not the one that was never there."""
        case = {"gold_supports": (support(), support("gone.md")), "vaults": ("work",)}
        assert explained(answer(case, OTHERS[0]), GOLD, notes=("work/a.md",)).code == "not-listed"

    @each_row(
        ("documents", "gone", "code"),
        [
            pytest.param((9, 7), {"a.md": ()}, "note-not-indexed", id="fewer-and-never-seen"),
            pytest.param((9, 7), {"a.md": (), "b.md": ()}, "note-not-indexed", id="as-many-notes-as-documents"),
            pytest.param((9, 7), {"a.md": (), "b.md": (), "c.md": ()}, "not-listed", id="more-notes-than-documents"),
            pytest.param((9, 7), {"a.md": ("work", "home")}, "note-not-indexed", id="as-many-notes-of-one-path"),
            pytest.param((9, 8), {"a.md": ("work", "home")}, "not-listed", id="more-notes-of-one-path"),
            pytest.param((9, 7), {"b.md": ()}, "not-listed", id="seen-in-another-answer"),
            pytest.param((9, 9), {"a.md": ()}, "not-listed", id="as-many"),
            pytest.param((7, 9), {"a.md": ()}, "not-listed", id="more"),
            pytest.param(None, {"a.md": ()}, "not-listed", id="not-told"),
        ],
    )
    def test_not_in_the_index(self, documents: Any, gone: dict[str, Any], code: str) -> None:
        """A note is missed in the index where no answer holds anything of it, and no fewer documents are gone."""
        cause = explained(answer({}, OTHERS[0]), GOLD, documents=documents, gone=gone)
        assert cause.code == code
        if code == "note-not-indexed":
            words = "no answer has a passage of the note, and the index has 7 documents (9 in the baseline's run)"
            assert in_words(cause) == words

    def test_a_passage_that_others_outrank_is_not_missed_in_the_index(self) -> None:
        """Where the passage's own score does not reach the list any more, no lost document is needed to explain it."""
        lost = {"documents": (9, 7), "gone": {"a.md": ()}}
        assert explained(answer({}, scored("x", 0.9)), GOLD, lists=STEADY, **lost).code == "demoted"
        assert explained(answer({}, scored("x", 0.3)), GOLD, lists=STEADY, **lost).code == "note-not-indexed"

    @each_row(
        ("headings", "recut", "code"),
        [
            pytest.param({"# Ab", "# Z"}, True, "anchor-gone", id="only-others"),
            pytest.param({"# Ab", "# A > ## B"}, True, "not-listed", id="a-part-of-it-in-another-answer"),
            pytest.param({"# Ab", "# Z"}, False, "not-listed", id="the-index-is-as-it-was"),
            pytest.param({""}, True, "not-listed", id="no-headings-told"),
        ],
    )
    def test_anchor_gone(self, headings: set[str], *, recut: bool, code: str) -> None:
        """A heading is gone where an index that was cut anew gives only others of its note, in all answers."""
        cause = explained(answer({}, OTHERS[0]), GOLD, retrieved={"a.md": headings}, recut=recut)
        assert cause.code == code
        if code == "anchor-gone":
            words = "no answer has a passage under # A any more; the nearest heading of its note that came back is # Ab"
            assert in_words(cause) == words

    def test_headings_of_several_notes(self) -> None:
        """Of headings that may be those of another vault's note of the same path, nothing is concluded."""
        seen = {"retrieved": {"a.md": {"# Z"}}, "recut": True}
        both = ("work/a.md", "home/a.md")
        assert explained(answer({}, OTHERS[0]), GOLD, notes=both[:1], **seen).code == "anchor-gone"
        assert explained(answer({}, OTHERS[0]), GOLD, notes=both, **seen).code == "not-listed"


class TestPieces:
    """What came back of the passage's own section in its place."""

    def test_merged_sections(self) -> None:
        """A section that came back under another heading is named by it."""
        merged = make_chunk("m", heading_path="# Top", text="It says the sentence.")
        cause = explained(answer(SNIPPET, OTHERS[0], merged), GOLD)
        assert (cause.code, in_words(cause)) == ("heading-differs", "the note is at rank 2, but under # Top")

    def test_a_piece_that_was_listed_before_is_no_cause(self) -> None:
        """A piece without the snippet that stood beside the passage in the baseline did not take its place."""
        piece = make_chunk("piece", text="Another piece.")
        assert explained(answer(SNIPPET, OTHERS[0], piece), GOLD).code == "snippet-gone"
        assert explained(answer(SNIPPET, OTHERS[0], piece), GOLD, piece).code == "other-section"

    def test_a_like_heading_that_was_listed_before_is_no_cause(self) -> None:
        """A section whose headings end like the passage's, which stood beside it before, is another one."""
        like = make_chunk("like", heading_path="# Z > ## A")
        assert explained(answer({}, OTHERS[0], like), GOLD).code == "heading-differs"
        assert explained(answer({}, OTHERS[0], like), GOLD, like).code == "other-section"

    @each_row(
        ("changed", "code"),
        [({"text": "Else."}, "snippet-gone"), ({"heading_path": "# Z", "text": "the sentence"}, "heading-differs")],
    )
    def test_the_passage_came_back_otherwise(self, changed: dict[str, str], code: str) -> None:
        """The passage's own chunk, with another text or heading, is the cause, and never said not to have come back."""
        now = replace(scored("gold", 0.1), **changed)
        assert explained(answer(SNIPPET, now), GOLD, lists=STEADY).code == code


class TestScores:
    """What the scores of both sides prove, and what they do not."""

    def test_fell_with_its_parts(self) -> None:
        """A passage that fell is told with its score and parts on both sides."""
        now = scored("gold", 0.5, 0.5, None)
        cause = explained(answer({}, scored("x", 0.6), now), GOLD, after=2)
        words = "fell among the 2 passages returned; score 0.8 → 0.5"
        assert (cause.code, in_words(cause)) == ("demoted", words)

    @each_row(
        ("labels", "changes", "tail"),
        [
            ({"copies": (0,)}, {}, "; the passage now above it says nearly the same"),
            ({}, {"work/x.md": "added"}, "; the passage now above it is from a note added since the baseline"),
            ({}, {"work/x.md": "changed"}, "; the passage now above it is from a note changed since the baseline"),
            ({}, {"home/x.md": "added"}, ""),
        ],
    )
    def test_what_rose_above_it(self, labels: Any, changes: Any, tail: str) -> None:
        """What rose above the passage is called a copy, or of a newer note, where it is."""
        item = answer({}, scored("x", 0.9), GOLD, labels=labels)
        score = "score 0.8 as before; overtaken by work/x.md › A (0.9, not listed before)"
        words = f"fell among the 2 passages returned; {score}"
        assert in_words(explained(item, GOLD, after=2, changes=changes)) == words + tail

    @each_row(
        ("before", "now", "words"),
        [
            ((0.7,), (0.9,), "; overtaken by work/x0.md › A (0.7 → 0.9)"),
            (
                (0.7, 0.6, 0.5),
                (0.95, 0.92, 0.9),
                "; overtaken by work/x0.md › A (0.7 → 0.95), work/x1.md › A (0.6 → 0.92) and 1 more",
            ),
            (
                (0.7,),
                (0.95, 0.9),
                "; overtaken by work/x0.md › A (0.7 → 0.95) and work/x1.md › A (0.9, not listed before)",
            ),
        ],
    )
    def test_a_passage_whose_score_rose(self, before: Any, now: Any, words: str) -> None:
        """A passage that fell although its score rose is told with the chunks that overtook it."""
        old, new = ([scored(f"x{number}", score) for number, score in enumerate(side)] for side in (before, now))
        cause = explained(answer({}, *new, scored("gold", 0.85)), GOLD, *old, after=len(new) + 1)
        start = f"fell among the {len(new) + 1} passages returned; score 0.8 → 0.85"
        assert in_words(cause) == start + words

    @each_row(
        ("stood", "score", "lists"),
        [
            pytest.param((), 0.7, {}, id="its-own-score-fell"),
            pytest.param(("x",), 0.85, {}, id="it-stood-above-before"),
            pytest.param((), 0.85, {"unordered": True}, id="rank-is-not-by-score"),
            pytest.param((), 0.85, {"renumbered": True}, id="ids-are-given-anew"),
        ],
    )
    def test_nothing_overtook_it(self, stood: tuple[str, ...], score: float, lists: Any) -> None:
        """No chunk is blamed for a fall that the passage's own score, or another order, may explain."""
        old = [*(scored(name, 0.9) for name in stood), GOLD]
        item = answer({}, scored("x", 0.95), scored("gold", score))
        cause = explained(item, *old, at=len(old), after=2, lists=lists, supports={len(old): (0,)})
        assert cause.overtakers == ()

    @each_row(
        ("last", "lists", "code"),
        [
            pytest.param(0.3, STEADY, "chunk-not-searched", id="others-score-less"),
            pytest.param(0.9, STEADY, "demoted", id="others-score-more"),
            pytest.param(0.3, RESCORED, "not-listed", id="scores-are-others"),
            pytest.param(0.3, {}, "not-listed", id="not-known"),
            pytest.param(
                0.6,
                {**REWEIGHTED, "weights": ({"vector": 0.25, "lexical": 0.75}, {"vector": 1.0})},
                "demoted",
                id="by-the-weights",
            ),
            pytest.param(
                0.4,
                {**REWEIGHTED, "weights": ({"vector": 0.25, "lexical": 0.75}, {"vector": 1.0})},
                "not-listed",
                id="weights-do-not-do-it",
            ),
            pytest.param(
                0.6,
                {**RESCORED, "weights": ({"vector": 0.25, "lexical": 0.75}, {"vector": 1.0})},
                "not-listed",
                id="the-parts-may-be-others",
            ),
            pytest.param(0.3, {**STEADY, "unordered": True}, "not-listed", id="rank-is-not-by-score-and-less"),
            pytest.param(0.9, {**STEADY, "unordered": True}, "not-listed", id="rank-is-not-by-score-and-more"),
        ],
    )
    def test_a_passage_that_is_not_listed(self, last: float, lists: Any, code: str) -> None:
        """By scores that count as before, or by exact weights, it is told whether a missing passage was outranked."""
        assert explained(answer({}, scored("x", last)), GOLD, lists=lists).code == code

    @each_row(
        ("now", "code"),
        [
            pytest.param(("x", "y"), "list-cut", id="the-first-part"),
            pytest.param(("y", "x"), "list-cut", id="in-another-order"),
            pytest.param(("x", "z"), "not-listed", id="with-a-new-chunk"),
            pytest.param(("x", "y", "z"), "not-listed", id="no-shorter-than-its-place"),
            pytest.param((), "nothing-retrieved", id="empty"),
        ],
    )
    def test_a_list_that_is_cut(self, now: tuple[str, ...], code: str) -> None:
        """A passage that stood below where the list ends now is cut off, if what is left stood above it before."""
        before = [scored(name, None) for name in ("x", "y", "gold", "z")]
        cause = explained(answer({}, *(scored(name, None) for name in now)), *before, at=3)
        assert cause.code == code
        if code == "list-cut":
            words = "the list ends before rank 3, where it was, and holds only the start of the baseline's list"
            assert in_words(cause) == words

    def test_a_shorter_list_outranks_nothing(self) -> None:
        """Where fewer chunks came back, something else than rank keeps the passage away."""
        assert explained(answer({}, scored("x", 0.9)), GOLD, scored("y", 0.1), lists=STEADY).code == "not-listed"

    def test_below_what_is_returned_at_all(self) -> None:
        """A passage that scored less than anything returned now, in a shorter list, is below the API's threshold."""
        lists = {**STEADY, "floors": (0.1, 0.85), "longest": 2}
        cause = explained(answer({}, scored("x", 0.9)), scored("x", 0.9), GOLD, at=2, lists=lists)
        words = "it scored 0.8 in the baseline, and nothing below 0.85 is returned any more (0.1 in the baseline)"
        assert (cause.code, in_words(cause)) == ("below-threshold", words)
        assert explained(answer({}), GOLD, lists=lists).code == "below-threshold"
        assert explained(answer({}), GOLD, lists={**lists, **RESCORED}).code == "nothing-retrieved"
        # a list as long as any may have been cut there, whatever the scores
        full = explained(answer({}, scored("x", 0.9)), scored("x", 0.9), GOLD, at=2, lists={**lists, "longest": 1})
        assert full.code == "list-cut"


class TestAbstention:
    """An abstention is by the API's own threshold where all answers say so."""

    def test_below_the_threshold(self) -> None:
        """An abstention whose best score is on the threshold's side is told with it, and whether it moved."""
        item = answer({}, scored("gold", 0.4), abstained=True, abstain_reason="weak")
        asked = {"metric": "false_abstention_rate", "after": 1}
        cause = explained(item, GOLD, **asked, lists={"thresholds": ((0.1, 0.2), (0.45, 0.5))})
        head = (
            "the API abstained (weak): its best score, 0.4, does not pass its threshold, which is between 0.45 and 0.5"
        )
        assert (cause.code, in_words(cause)) == ("below-threshold", f"{head} (between 0.1 and 0.2 in the baseline)")
        same = explained(item, GOLD, **asked, lists={"thresholds": ((0.3, 0.48), (0.45, 0.5))})
        assert in_words(same) == head
        unknown = explained(item, GOLD, **asked, lists={"thresholds": ((0.1, 0.2), None)})
        assert in_words(unknown) == "the API abstained (weak), with the passage at rank 1"

    @each_row(
        ("thresholds", "tail"),
        [
            (((0.2, 0.3), (None, 0.05)), "; the threshold is at most 0.05 (between 0.2 and 0.3 in the baseline)"),
            (((0.2, 0.3), (0.15, 0.25)), ""),
            (((0.2, 0.3), None), ""),
        ],
    )
    def test_a_lower_threshold(self, thresholds: Any, tail: str) -> None:
        """An answer in place of an abstention is put down to a lower threshold only where it is one."""
        item = answer({"answerable": False}, OTHERS[0])
        cause = explained(item, metric="abstention_accuracy", at=None, lists={"thresholds": thresholds})
        assert in_words(cause) == f"the first passage retrieved is other1.md › A{tail}"


class TestSeveralPassages:
    """Where the first passage stands as before, the one that fell or is gone is named."""

    CASE: ClassVar[dict[str, Any]] = {"gold_supports": (support(), support("b.md"))}

    def test_the_second_fell(self) -> None:
        """A passage that fell is named with the rank it had."""
        second = scored("b", 0.7)
        item = answer(self.CASE, GOLD, scored("x", 0.75), second)
        cause = explained(item, GOLD, second, after=1, metric="ndcg_at_10", supports={1: (0,), 2: (1,)})
        score = "score 0.7 as before; overtaken by work/x.md › A (0.75, not listed before)"
        words = f"b.md › A: fell from rank 2 among the 3 passages returned; {score}"
        assert in_words(cause) == words

    def test_the_second_is_gone(self) -> None:
        """A passage that is gone is looked for like any other."""
        fields = {"after": 1, "metric": "ndcg_at_10", "supports": {1: (0,), 2: (1,)}}
        cause = explained(answer(self.CASE, GOLD), GOLD, scored("b", 0.7), notes=("work/a.md",), **fields)
        assert in_words(cause) == "b.md › A: b.md is not in the vault"


def test_the_heading_metric_is_explained_by_the_first_chunk() -> None:
    """Where headings decide the first place, the chunk that stands there is named; also for what has no answer."""
    for case in ({}, {"answerable": False}):
        item = answer({**case, "question": "Which valve?"}, make_chunk("x", heading_path="# Valve", text="Nothing."))
        cause = explained(item, metric="heading_dominance_rate", at=None, after=None)
        words = "the first passage has the question's words only in its heading: a.md › Valve"
        assert in_words(cause) == words


CASE = make_case(gold_supports=(make_support(snippets=("the sentence",)),), vaults=("work",))


def listed(*chunks: Chunk, **labels: Any) -> LabelledResult:
    return make_labelled(CASE, make_result("q1", response=make_response(*chunks)), **labels)


def of(item: LabelledResult) -> Asked:
    return Asked(item=item, metric="hit_at_5", before=1, after=None)


def piece(item: LabelledResult) -> Cause | None:
    return piece_cause(of(item), CASE.gold_supports, ranked(item))


@each_row(
    ("chunk", "labels", "code"),
    [
        pytest.param(make_chunk(text="Else."), {}, "snippet-gone", id="another-piece"),
        pytest.param(make_chunk(text=""), {"empty": (0,)}, "text-foreign", id="no-text"),
        pytest.param(make_chunk(), {"strange_texts": (0,)}, "text-foreign", id="invented"),
        pytest.param(make_chunk(), {"truncated": True}, "snippet-gone", id="cut"),
        pytest.param(
            make_chunk(heading_path="# X"), {"strange_headings": (0,)}, "heading-differs", id="strange-heading"
        ),
        pytest.param(make_chunk(heading_path="# a"), {"ambiguous": (0,)}, "heading-differs", id="one-of-two-headings"),
        pytest.param(make_chunk(heading_path="# B"), {"filed_elsewhere": (0,)}, "heading-differs", id="merged"),
        pytest.param(make_chunk(heading_path="# B"), {}, None, id="another-section"),
        pytest.param(make_chunk(vault="home", text="Else."), {}, None, id="another-vault"),
        pytest.param(make_chunk(rel_path="b.md", text="Else."), {}, None, id="another-note"),
    ],
)
def test_what_is_wrong_with_the_piece(chunk: Chunk, labels: dict[str, Any], code: str | None) -> None:
    """Only a chunk of the passage's own note, that should be it, is a piece of it, by what its labels say."""
    found = piece(listed(chunk, **labels))
    assert (found.code if found else None) == code


def seen(item: LabelledResult) -> Cause | None:
    places = of(item), item.case.gold_supports, ranked(item)
    return heading_cause(*places) or section_cause(*places)


@each_row(
    ("told", "code"),
    [
        pytest.param("## deep", "heading-differs", id="the last heading alone"),
        pytest.param("# A > ## Other", "other-section", id="another one"),
        pytest.param("", "other-section", id="none"),
        pytest.param("# Notes > ## A > ### Deep", "heading-differs", id="behind another one"),
        pytest.param("A / Deep", "heading-differs", id="another delimiter"),
        pytest.param("# A1 > ## Deep", "other-section", id="below another one"),
        pytest.param("# B > ## AA > ### Deep", "other-section", id="the end of another heading"),
        pytest.param("# A", "other-section", id="the heading above"),
    ],
)
def test_a_part_of_the_path_is_no_other_section(told: str, code: str) -> None:
    """A note that comes back under the end of the gold path is not said to be another section."""
    case = make_case(gold_supports=(make_support("a.md", "# A > ## Deep"),))
    item = make_labelled(case, make_result(case.id, make_chunk(heading_path=told)))
    cause = seen(item)
    assert cause is not None
    assert (cause.code, cause.other) == (code, told)


def test_the_section_under_other_headings_comes_before_other_sections() -> None:
    """A note whose section came back under a part of its path is told as that, whatever stands above it."""
    case = make_case(gold_supports=(make_support("a.md", "# A > ## Deep"),))
    chunks = (make_chunk("c1", heading_path="# A > ## Other"), make_chunk("c2", heading_path="## Deep"))
    item = make_labelled(case, make_result(case.id, *chunks))
    cause = seen(item)
    assert cause is not None
    assert (cause.code, cause.rank) == ("heading-differs", 2)
