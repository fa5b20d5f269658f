"""What of a golden set makes it weaker than it looks: repeated questions, given answers, thin labels."""

from __future__ import annotations

from builders import make_case, make_golden, make_support
from raggate.inputs.lint.questions import check_questions
from raggate.models.golden import Case
from tables import each_row

OPEN = make_case("open", answerable=False, question="What is nowhere?", line=9)


def found(*cases: Case) -> list[tuple[str, str, str]]:
    """Return check, case and message of what is found, with an unanswerable question beside the cases."""
    return [(item.check, item.key, item.message) for item in check_questions(make_golden(*cases, OPEN), "g.jsonl")]


def test_the_same_question_twice() -> None:
    """Case, marks and white space make no other question; another scope does."""
    first = make_case("q1", question="Where is the KEY?", line=1)
    second = make_case("q2", question="where  is the key", line=2)
    assert found(first, second) == [("duplicate-question", "q2", "asks the same as case 'q1' in line 1")]
    assert found(first, make_case("q2", question="Where is the key?", folders=("Home",))) == []
    assert found(first, make_case("q2", question="Where is the key?", vaults=("work",))) == []


def test_nearly_the_same_question() -> None:
    """Four fifths of the words in common are nearly the same, unless both are of one group."""
    first = make_case("q1", question="How long does the dough rest in the fridge?", line=1)
    second = make_case("q2", question="How long does the dough rest in a fridge?", line=2)
    assert [check for check, *_ in found(first, second)] == ["near-duplicate-question"]
    grouped = [make_case(case.id, question=case.question, group="bread") for case in (first, second)]
    assert found(*grouped) == []
    assert found(first, make_case("q3", question="How long does the oven heat for the bread?")) == []


@each_row(
    ("question", "quoted"),
    [
        ("What does Barrel say about path parameters?", "headings 'Barrel' and 'Path `parameters`'"),
        ("What are path parameters?", "heading 'Path `parameters`'"),
        ("How does a barrel read path parameters from the address?", "headings 'Barrel' and 'Path `parameters`'"),
        ("How are path parameters read from the address?", ""),
        ("Which barrel?", ""),
        ("Where is the address?", ""),
    ],
)
def test_short_headings_in_a_question(question: str, quoted: str) -> None:
    """Headings of one passage give it away together, by three words or by half of the question."""
    support = make_support(heading_path="# Barrel { #barrel } > ## Path `parameters` {#path}")
    quoted = quoted.replace("`", "")
    expected = [("leaked-heading", "q1", f"quotes the {quoted}")] if quoted else []
    assert found(make_case("q1", question=question, gold_supports=(support,))) == expected


def test_headings_of_two_passages_in_a_question() -> None:
    """A question that names two notes to tell them apart quotes neither's headings."""
    supports = [make_support("a.md", "# Cellar > ## Pump"), make_support("b.md", "# Attic > ## Pump")]
    case = make_case("q1", question="How do the cellar and the attic differ in the pump?", gold_supports=(*supports,))
    assert "leaked-heading" not in {check for check, *_ in found(case)}


def test_a_heading_in_the_question() -> None:
    """Three words of headings give the passage away, of any level; two are the name of a thing."""
    support = make_support(heading_path="# Rain barrel gauge > ## Power supply")
    case = make_case("q1", question="What is the plan for a rain barrel gauge and its power supply?")
    leaky = make_case("q1", question=case.question, gold_supports=(support,), line=3)
    assert found(leaky) == [("leaked-heading", "q1", "quotes the headings 'Rain barrel gauge' and 'Power supply'")]
    assert found(make_case("q1", question="Is the gauge on the barrel?", gold_supports=(support,))) == []


def test_a_snippet_in_the_question() -> None:
    """A question that says its own answer is named."""
    support = make_support(snippets=("500 g of minced beef",))
    case = make_case("q1", question="Is it 500 g of minced beef, or more?", gold_supports=(support,))
    assert found(case) == [("leaked-answer", "q1", "quotes the snippet '500 g of minced beef'")]


def test_several_notes_without_groups() -> None:
    """Supports in two notes without groups are named; in one note, or with groups, they are not."""
    two = (make_support("a.md"), make_support("b.md"))
    assert found(make_case("q1", gold_supports=two)) == [
        ("ungrouped-supports", "q1", "2 notes, any of which counts as found")
    ]
    assert found(make_case("q1", gold_supports=two, required_support_groups=((0, 1),))) == []
    assert found(make_case("q1", gold_supports=(make_support("a.md"), make_support("a.md", "# B")))) == []


def test_no_unanswerable_question() -> None:
    """A suite of answerable questions alone shows nothing of abstention."""
    findings = [*check_questions(make_golden(make_case("q1")), "g.jsonl")]
    assert [(item.check, item.line, item.message) for item in findings] == [
        ("no-unanswerable", 1, "every question is answerable")
    ]
