"""Causes: what is said of why a question broke follows from its answer, and nothing else is said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from builders import (
    make_case,
    make_chunk,
    make_chunks,
    make_failure,
    make_labelled,
    make_response,
    make_result,
    make_support as support,
)
from raggate.gate.causes import Asked, cause
from raggate.models.run import Chunk, LabelledResult, Reference

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
    """Label an answer to a case."""
    asked = make_case(**case)
    result = make_result(asked.id, response=make_response(*chunks, **response))
    return make_labelled(asked, result, **(labels or {}))


def failed(**fields: Any) -> LabelledResult:
    """Label a question without an answer."""
    asked = make_case()
    return make_labelled(asked, make_result(asked.id, failure=make_failure(**fields)))


def why(item: LabelledResult, metric: str = "hit_at_5", *, notes: tuple[str, ...] = (), before: int | None = 1) -> str:
    """Say why a question is not found any more."""
    return cause(Asked(item=item, metric=metric, before=before, after=None, notes=notes))


@pytest.mark.parametrize(
    ("item", "sentence"),
    [
        pytest.param(failed(message="HTTP 500"), "the call failed: HTTP 500", id="failed"),
        pytest.param(failed(kind="aborted", message="not asked"), "it was not asked", id="not-asked"),
        pytest.param(
            failed(kind="aborted", message="gave up"), "it was not asked: gave up", id="not-asked-with-a-reason"
        ),
        pytest.param(answer({}), "nothing was retrieved", id="nothing"),
        pytest.param(answer({}, *OTHERS[:5]), "not among the 5 chunks returned", id="not-returned"),
        pytest.param(answer({}, OTHERS[0]), "not the 1 chunk returned", id="one-chunk"),
        pytest.param(
            answer({"gold_supports": (support("", None, doc_id="d"),)}, OTHERS[0]),
            "not the 1 chunk returned",
            id="named-by-an-id",
        ),
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
            "the note is at rank 1, but under a heading that it does not have (# B)",
            id="invented-heading",
        ),
        pytest.param(
            answer(SNIPPET, OTHERS[0], make_chunk("x", text="Another piece.")),
            "the section is at rank 2, but without the gold snippet (another piece, or reworded)",
            id="without-the-snippet",
        ),
        pytest.param(
            answer({"gold_supports": (support(heading_path=None, snippets=("the sentence",)),)}, make_chunk("x")),
            "the note is at rank 1, but without the gold snippet (another piece, or reworded)",
            id="note-without-the-snippet",
        ),
        pytest.param(
            answer(SNIPPET, make_chunk("x", heading_path="# B")),
            "the note is at rank 1, but with another section",
            id="snippet-and-another-section",
        ),
        pytest.param(
            answer(SNIPPET, make_chunk("x", text=""), labels={"empty": (0,)}),
            "the section is at rank 1, but without any text",
            id="empty-text",
        ),
        pytest.param(
            answer(SNIPPET, make_chunk("x"), labels={"strange_texts": (0,)}),
            "the section is at rank 1, but with a text that does not stand in its note",
            id="invented-text",
        ),
        pytest.param(
            answer(SNIPPET, make_chunk("x"), labels={"truncated": True}),
            "the section is at rank 1, but with a cut text, in which the gold snippet cannot be looked for",
            id="cut-text",
        ),
        pytest.param(
            answer(SNIPPET, make_chunk("x", text_hash="abc"), labels={"truncated": True}),
            "the section is at rank 1, but without the gold snippet (another piece, or reworded)",
            id="cut-after-it-was-looked-at",
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


@pytest.mark.parametrize(
    ("case", "chunk", "sentence"),
    [
        pytest.param(
            {"vaults": ("work",)},
            make_chunk(vault="home"),
            "at rank 1 is the note of the same path in vault home, not the one in work",
            id="another-vault",
        ),
        pytest.param(
            {"gold_supports": (support(vault="work", snippets=("the sentence",)),), "vaults": ("work", "home")},
            make_chunk(vault="home"),
            "at rank 1 is the note of the same path in vault home, not the one in work",
            id="another-vault-than-the-supports-own",
        ),
        pytest.param(
            {**SNIPPET, "vaults": ("work",)},
            make_chunk(),
            "the section of a note of this path (the API does not tell of which vault: home or work) is at rank 1, "
            "but without the gold snippet (another piece, or reworded)",
            id="vault-not-told",
        ),
        pytest.param(
            SNIPPET,
            make_chunk(vault="home"),
            "the section of the note of vault home is at rank 1, but without the gold snippet "
            "(another piece, or reworded)",
            id="any-vault",
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


@pytest.mark.parametrize(
    ("item", "sentence"),
    [
        pytest.param(
            answer({**GOLD_IN_DOCS, "vaults": ("work",)}, *IN_WORK, available_folders=("work/mail", "home/docs")),
            "work/docs is not in the index, as it is not among the 2 available folders",
            id="not-indexed",
        ),
        pytest.param(
            answer(
                {**GOLD_IN_DOCS, "vaults": ("work",)},
                *IN_WORK,
                available_folders=("work/mail",),
                selected_folders=("work/mail",),
            ),
            "work/docs is not in the index, as it is not among the one folder, work/mail",
            id="not-indexed-and-so-not-selected",
        ),
        pytest.param(
            answer(
                {**GOLD_IN_DOCS, "vaults": ("work",), "folders": ("mail",)}, *IN_WORK, available_folders=("work/mail",)
            ),
            "work/docs is not among the one folder, work/mail",
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


@pytest.mark.parametrize(
    "folders",
    [
        pytest.param({"selected_folders": ()}, id="no-limit"),
        pytest.param({"available_folders": ()}, id="no-folders-told"),
        pytest.param({"selected_folders": ("work/docs",)}, id="selected"),
        pytest.param({"selected_folders": ("work",)}, id="whole-vault-selected"),
        pytest.param({"selected_folders": ("work/mail-old",)}, id="chunks-come-from-elsewhere"),
        pytest.param({"available_folders": ("work/mail-old",)}, id="more-is-there-than-is-told"),
        pytest.param({"selected_folders": ("docs",)}, id="written-without-vaults"),
        pytest.param({"available_folders": ("folder 17", "folder 18")}, id="named-in-another-way"),
    ],
)
def test_folders_that_prove_nothing(folders: dict[str, Any]) -> None:
    """No folder is blamed that was searched, or where the API's folders cannot be held against the notes."""
    item = answer({**GOLD_IN_DOCS, "vaults": ("work",)}, *IN_WORK, **folders)
    assert why(item, notes=NOTES) == "not among the 3 chunks returned"


@pytest.mark.parametrize("other", [support("mail/b.md"), support("", None, chunk_id="c9")])
def test_an_alternative_in_a_searched_folder(other: Any) -> None:
    """Folders are no cause where one of several passages may stand in those that were searched."""
    item = answer(
        {"gold_supports": (support("docs/a.md"), other), "vaults": ("work",)}, *IN_WORK, selected_folders=("work/mail",)
    )
    assert why(item, notes=NOTES) == "not among the 3 chunks returned"


@pytest.mark.parametrize(
    ("before", "after", "supports", "sentence"),
    [
        pytest.param(1, 2, (support(),), "fell among the 3 chunks returned", id="lower"),
        pytest.param(
            2,
            2,
            (support(), support("b.md")),
            "b.md › # A is not among the 3 chunks returned",
            id="same-rank-one-lacks",
        ),
        pytest.param(
            None,
            2,
            (support(),),
            "every expected passage is among the 3 chunks returned, the first at rank 2",
            id="not-found-before",
        ),
        pytest.param(
            3,
            2,
            (support(), support("other1.md")),
            "every expected passage is among the 3 chunks returned, the first at rank 2",
            id="higher",
        ),
    ],
)
def test_passages_that_are_there(before: int | None, after: int, supports: tuple[Any, ...], sentence: str) -> None:
    """A question is said to have fallen only where its rank is lower; else what lacks is named."""
    item = answer({"gold_supports": supports}, OTHERS[0], make_chunk("gold"), OTHERS[1])
    assert cause(Asked(item=item, metric="ndcg_at_10", before=before, after=after)) == sentence


@pytest.mark.parametrize(
    ("response", "sentence"),
    [
        pytest.param({"answer": "It is."}, "answered instead of abstaining", id="answered"),
        pytest.param({"answer": None}, "nothing was retrieved, and it did not say so", id="no-answer-was-asked-for"),
        pytest.param(
            {"chunks": OTHERS[:1], "answer": "It is."},
            "answered instead of abstaining; the first chunk retrieved is other1.md › # A",
            id="no-reference",
        ),
        pytest.param(
            {"chunks": OTHERS[:1], "answer": "It is.", "references": (REFERENCE,)},
            "answered instead of abstaining; it cites work/b.md › # B",
            id="reference",
        ),
    ],
)
def test_no_abstention(response: dict[str, Any], sentence: str) -> None:
    """An unanswerable question is said to be answered where there is an answer, and to cite what it cites."""
    item = answer({"answerable": False}, *response.pop("chunks", ()), **response)
    assert why(item, "abstention_accuracy") == sentence


@pytest.mark.parametrize(
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
    assert why(item, "key_fact_coverage") == "judged by its answer, not by what was retrieved"


@pytest.mark.parametrize(
    ("chunk", "sentence"),
    [
        pytest.param(OTHERS[0], "folder selection left it out (selected: work/mail)", id="left-out"),
        pytest.param(
            make_chunk(rel_path="docs/a.md", vault="work"),
            "every expected passage is among the 1 chunk returned, the first at rank 1",
            id="came-back-all-the-same",
        ),
    ],
)
def test_the_metric_of_folder_selection(chunk: Chunk, sentence: str) -> None:
    """Where the metric of folder selection is red, selection is the cause only if it decided what came back."""
    chunk = replace(chunk, rel_path=chunk.rel_path.replace("other", "mail/other"), vault="work")
    folders = {"available_folders": ("work/mail", "work/docs"), "selected_folders": ("work/mail",)}
    item = answer({**GOLD_IN_DOCS, "vaults": ("work",)}, chunk, **folders)
    assert cause(Asked(item=item, metric="scope_miss_rate", before=1, after=1, notes=NOTES)) == sentence


def test_a_question_without_passages() -> None:
    """Of a question that is judged by its answer alone, no passage is said to be missing."""
    item = answer({"gold_supports": (), "must_contain": ("42",)}, OTHERS[0])
    assert why(item, "heading_dominance_rate") == "1 chunk returned; no passage is expected"
