"""Answer metrics: what the answer cites, and which texts it holds."""

from __future__ import annotations

from typing import Any

import pytest

from builders import make_case, make_chunk, make_failure, make_labelled, make_response, make_result, make_support
from raggate.models.run import LabelledResult, Reference
from raggate.scoring.metrics import answers
from tables import each_row

METRICS = (
    answers.attribution_hit_rate,
    answers.citation_presence_rate,
    answers.key_fact_coverage,
    answers.recency_conflict,
    answers.answer_contains,
)
LABELS: dict[str, Any] = {
    "expected_key_facts": ("a fact",),
    "recency_conflict_rule": "cite_newer",
    "must_contain": ("x",),
}


def reference(rel_path: str = "a.md", heading_path: str = "# A", vault: str = "personal") -> Reference:
    """Build a reference."""
    return Reference(vault=vault, rel_path=rel_path, heading_path=heading_path, chunk_index=0)


def answered(
    answer: str | None = "Text.", *references: Reference, case: dict[str, Any] | None = None, **fields: Any
) -> LabelledResult:
    """Label a response with this answer."""
    response = make_response(make_chunk(), answer=answer, references=references, **fields)
    return make_labelled(make_case(**(case or {})), make_result(response=response))


@each_row("metric", METRICS, ids=lambda metric: metric.__name__)
def test_no_answer_asked_for_is_null_and_a_failed_call_is_the_worst(metric: Any) -> None:
    """A retrieval-only response has no value; a failed call is 0 and stays in the mean."""
    assert metric(answered(None, case=LABELS)) is None
    assert metric(make_labelled(make_case(**LABELS), make_result(failure=make_failure()))) == 0.0


@each_row("metric", METRICS, ids=lambda metric: metric.__name__)
def test_without_labels_is_null(metric: Any) -> None:
    """An unanswerable case without labels of its own has no value."""
    assert metric(answered("[File: a.md, Section: A]", case={"answerable": False})) is None


@each_row(
    ("answer", "references", "expected"),
    [
        pytest.param("x", (reference("n/a.md", "# T > ## A > ### B"),), 1, id="a section inside it"),
        pytest.param("x", (reference("n/b.md", "# T > ## A"),), 0, id="another note"),
        pytest.param("x", (reference("a.md", "# T > ## A"),), 0, id="a reference leaves out no directories"),
        pytest.param("x", (reference("n/a.md", "# A"),), 0, id="nor headings"),
        pytest.param("[File: n/a.md, Section: # T > ## A]", (), 1, id="the whole path in brackets"),
        pytest.param("(File: a.md, Section: A)", (), 1, id="file name and last heading"),
        pytest.param("file: a.md, section: T.", (), 0, id="the heading above it"),
    ],
)
def test_attribution(answer: str, references: tuple[Reference, ...], expected: float) -> None:
    """A reference or citation attributes when it names note and section of a gold support."""
    supports = (make_support("n/a.md", "# T > ## A", snippets=("not in references",)),)
    item = answered(answer, *references, case={"gold_supports": supports, "vaults": ("personal",)})
    assert answers.attribution_hit_rate(item) == expected


def test_a_refusal_attributes_nothing() -> None:
    """An abstaining answer is a miss, whatever it lists, and no citation is asked of it."""
    item = answered("I cannot tell.", reference(), abstained=True)
    assert answers.attribution_hit_rate(item) == 0
    assert answers.citation_presence_rate(item) is None
    assert answers.citation_presence_rate(answered(" \n")) is None


@each_row(
    ("answer", "expected"),
    [("[File: z.md, Section: Z]", 1), ("as in [1]", 1), ("[1, 3]", 1), ("[2]", 0), ("[0]", 0), ("none", 0)],
)
def test_citation_presence(answer: str, expected: float) -> None:
    """A place or the number of a reference in the text is a citation, right or wrong; references alone are not."""
    assert answers.citation_presence_rate(answered(answer, reference())) == expected


@each_row(
    ("answer", "expected"),
    [("No built-in SORT;\n a  string", 0.5), ("no built-in sort, single byte", 1.0), ("sort", 0.0)],
)
def test_key_fact_coverage(answer: str, expected: float) -> None:
    """The share of facts that stand in the answer, ignoring case and white space; empty facts do not count."""
    facts = ("no built-in sort", "single  byte", " ")
    assert answers.key_fact_coverage(answered(answer, case={"expected_key_facts": facts})) == expected


OLD, NEW = reference("old.md"), reference("new.md")


@each_row(
    ("rule", "grades", "references", "expected"),
    [
        ("cite_newer", (1, 1), (NEW,), 1),
        ("cite_newer", (1, 1), (OLD, NEW), 1),
        ("cite_newer", (1, 1), (OLD,), 0),
        ("cite_newer", (2, 1), (OLD,), 1),
        ("cite_newer", (2, 1), (NEW,), 0),
        ("cite_both", (1, 1), (NEW,), 0),
        ("cite_both", (1, 1), (OLD, NEW), 1),
        ("acknowledge_both", (1, 1), (OLD,), 0),
        ("acknowledge_both", (1, 1), (NEW, OLD), 1),
    ],
)
def test_recency_conflict(
    rule: str, grades: tuple[int, int], references: tuple[Reference, ...], expected: float
) -> None:
    """The newer support is the one of the highest grade, then the last; the two other rules need both."""
    supports = tuple(
        make_support(f"{name}.md", grade=grade) for name, grade in zip(("old", "new"), grades, strict=True)
    )
    case = {"gold_supports": supports, "category": "recency/conflict", "recency_conflict_rule": rule}
    assert answers.recency_conflict(answered("x", *references, case=case)) == expected
    assert answers.recency_conflict(answered("x", *references)) is None


@each_row(
    ("answer", "must", "forbidden", "expected"),
    [
        ("Apples and pears", ("Apples", "pears"), (), 1),
        ("apples and pears", ("Apples",), (), 0),
        ("Apples", ("Apples", "pears"), (), 0),
        ("Apples", ("Apples",), ("pp",), 0),
        ("", (), ("x",), 1),
    ],
)
def test_answer_contains(answer: str, must: tuple[str, ...], forbidden: tuple[str, ...], expected: float) -> None:
    """All texts that must stand in the answer do, and none that must not, letter by letter."""
    case = {"must_contain": must, "forbidden": forbidden}
    assert answers.answer_contains(answered(answer, case=case)) == expected


REFUSED = {"abstained": True, "answer": "I cannot tell."}
ANSWERED = {"abstained": False, "answer": "Under the mat."}


@each_row(
    ("answerable", "response", "accuracy", "hallucination", "false_abstention"),
    [
        pytest.param(False, REFUSED, 1, 0, None, id="unanswerable, refused"),
        pytest.param(False, ANSWERED, 0, 1, None, id="unanswerable, answered"),
        pytest.param(False, {"answer": " \n"}, 1, 0, None, id="unanswerable, a blank answer"),
        pytest.param(False, {"answer": None}, 0, 1, None, id="unanswerable, none asked for, not refused"),
        pytest.param(False, None, 0, 1, None, id="unanswerable, failed call"),
        pytest.param(True, REFUSED, None, None, 1, id="answerable, refused"),
        pytest.param(True, ANSWERED, None, None, 0, id="answerable, answered"),
        pytest.param(True, {"answer": " "}, None, None, 1, id="answerable, a blank answer"),
        pytest.param(True, None, None, None, 1, id="answerable, failed call"),
    ],
)
def test_abstention(
    answerable: bool,
    response: dict[str, Any] | None,
    accuracy: float | None,
    hallucination: float | None,
    false_abstention: float | None,
) -> None:
    """Each metric judges its own kind of question; a failed call counts as the worst outcome and stays in the mean."""
    fields = {"failure": make_failure()} if response is None else {"response": make_response(make_chunk(), **response)}
    item = make_labelled(make_case(answerable=answerable), make_result(**fields))
    assert answers.abstention_accuracy(item) == accuracy
    assert answers.hallucination_rate_unanswerable(item) == hallucination
    assert answers.false_abstention_rate(item) == false_abstention
