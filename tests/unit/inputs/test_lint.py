"""What of a golden set makes it weaker than it looks: repeated questions, given answers, thin labels."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from hypothesis import given, strategies as st

from builders import make_case, make_golden, make_support, make_vault
from raggate.inputs.lint import alike, check_notes, check_questions, check_supports
from raggate.models.golden import Case, Support, Vault
from tables import each_row
from tries import tried

OPEN = make_case("open", answerable=False, question="What is nowhere?", line=9)


def found(*cases: Case) -> list[tuple[str, str, str]]:
    """Return check, case and message of what is found, with an unanswerable question beside the cases."""
    return [(item.check, item.key, item.message) for item in check_questions(make_golden(*cases, OPEN), "g.jsonl")]


def test_the_same_question_twice() -> None:
    """Case, marks and white space make no other question; another scope does."""
    first = make_case("q1", question="Where is the KEY?", line=1)
    second = make_case("q2", question="where  is the key", line=2)
    assert found(first, second) == [("duplicate-question", "q2", "asks the same as question 'q1' in line 1")]
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


TEXTS = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=7), max_size=12)


@given(TEXTS, st.sampled_from([0.3, 0.5, 0.8, 1.0]))
@tried(60)
def test_no_pair_is_missed(texts: list[list[str]], least: float) -> None:
    """The pairs are those that comparing every pair gives."""
    sets = [set(text) for text in texts]
    wanted = {
        (left, right)
        for left, right in combinations(range(len(sets)), 2)
        if sets[left] and sets[right] and len(sets[left] & sets[right]) >= least * len(sets[left] | sets[right]) - 1e-9
    }
    assert set(alike(texts, least)) == wanted


TWICE = "# Trip\n\n## Day\nrain\n\n## Day\nsun\n"


def found_places(support: Support, notes: Vault, **fields: object) -> list[tuple[str, str, int, str]]:
    """Return what is found of a case with one support: check, path, line and message."""
    golden = make_golden(make_case(gold_supports=(support,), line=4, **fields))
    folders = {name: f"vault/{name}" for name in notes.directories}
    findings = [*check_supports(golden, notes, "g", snippets=True), *check_notes(golden, notes, folders)]
    return [(item.check, item.path, item.line, item.message) for item in findings]


def test_a_heading_that_stands_twice() -> None:
    """Two sections of one path are told with their lines; a snippet that one of them alone has says which is meant."""
    notes = make_vault({"a/t.md": TWICE})
    day = make_support("t.md", "# Trip > ## Day")
    assert found_places(day, notes) == [
        ("ambiguous-anchor", "g", 4, "'t.md' has the heading '# Trip > ## Day' in lines 3 and 6")
    ]
    assert found_places(make_support("t.md", "# Trip > ## Day", snippets=("sun",)), notes) == []
    assert found_places(make_support("t.md", "# Trip"), notes) == []
    assert found_places(make_support("t.md", None), notes) == []


CODE = "# Tools\n\n## Sync\nAs root:\n```sh\nrsync -a src dst --delete\n```\n\n"
CODE += "## Ports\n| name | port |\n|--|--|\n| web | 80 |\n"


@each_row(
    ("heading_path", "fields", "why"),
    [
        ("# Tools > ## Sync", {}, "is mostly code"),
        ("# Tools > ## Ports", {}, "is mostly a table"),
        ("# Tools > ## Sync", {"snippets": ("--delete",)}, None),
        ("# Long", {}, "has 1,006 characters"),
        ("# Short", {}, None),
        (None, {}, "has 2,095 characters"),
    ],
)
def test_a_place_that_does_not_say_which_text_answers(
    heading_path: str | None, fields: dict[str, Any], why: str | None
) -> None:
    """A long section, or one of code or a table, asks for a snippet; a snippet is one, and a short text needs none."""
    text = f"{CODE}# Long\n{'word ' * 200}\n# Short\n{'word ' * 197}\n"
    found = found_places(make_support("t.md", heading_path, **fields), make_vault({"a/t.md": text}))
    name = "'t.md'" if heading_path is None else f"'t.md' '{heading_path}'"
    message = f"{name} {why}, and any piece of it counts as found, as no snippet says which text answers"
    assert found == ([("missing-snippet", "g", 4, message)] if why else [])


def test_a_note_of_several_vaults() -> None:
    """A path that two vaults have is two places, until the support or the case names one."""
    notes = make_vault({"a/t.md": "# A\n", "b/t.md": "# A\n"})
    assert found_places(make_support("t.md"), notes) == [
        ("ambiguous-anchor", "g", 4, "'t.md' is in the vaults a and b")
    ]
    unasked = ("unasked-note", "vault/b/t.md", 1, "no question of the suite names this note")
    assert found_places(make_support("t.md", vault="a"), notes) == [unasked]
    assert found_places(make_support("t.md"), notes, vaults=("a",)) == [unasked]


def test_notes_without_a_question() -> None:
    """Every note that no support names is told by its own path; what an id names may be any of them."""
    notes = make_vault({"a/t.md": TWICE, "a/x/y.md": "# Y\n"})
    assert found_places(make_support("t.md", "# Trip"), notes) == [
        ("unasked-note", "vault/a/x/y.md", 1, "no question of the suite names this note")
    ]
    assert found_places(Support(rel_path="", doc_id="7"), notes) == []
