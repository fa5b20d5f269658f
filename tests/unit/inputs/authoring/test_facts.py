"""What a passage says in a form that a question can be made of."""

from __future__ import annotations

from hypothesis import given, strategies as st

from raggate.inputs.authoring.facts import Fact, facts
from tables import each_row
from tries import tried

TABLE = """\
| Shoe | Bought | Use |
|:-----|-------:|-----|
| **Blue** trainer | Aug 2024 | retire soon |
| Red | | races |

| no | rule |
| a | b |
"""


def test_a_table() -> None:
    """Each cell is a fact of its row and column; empty ones, and a table without a rule, say nothing."""
    assert [*facts(TABLE)] == [
        Fact("table", "Blue trainer", "Bought", "Aug 2024"),
        Fact("table", "Blue trainer", "Use", "retire soon"),
        Fact("table", "Red", "Use", "races"),
    ]


@each_row(
    "line, wanted",
    [
        ("- **Tetanus**: 9 May 2019", ("Tetanus", "9 May 2019")),
        ("* Tetanus: due again", ("Tetanus", "due again")),
        ("1. __Tetanus__: due", ("Tetanus", "due")),
        ("- 10:30 breakfast", None),
        ("- see https://x.example", None),
        ("- a sentence of many words in a row: no key", None),
        ("Tetanus: no item", None),
        ("- Tetanus:", None),
        ("- Tetanus: https://x.example/a", None),
        ("- Tetanus: https://x.example has all", ("Tetanus", "https://x.example has all")),
        ("- A shot (default: 30 seconds)", None),
        ("- A shot (the first): 30 seconds", ("A shot (the first)", "30 seconds")),
        ("- Long: " + "word " * 100, None),
    ],
)
def test_an_item(line: str, wanted: tuple[str, str] | None) -> None:
    """An item with a short key says what stands behind the colon."""
    assert [(fact.subject, fact.answer) for fact in facts(line)] == ([wanted] if wanted else [])


ANYTHING = st.text(st.sampled_from("|-: *_ab1.`[]"), max_size=20)
# of letters alone hardly one text would say anything
SAYING = st.sampled_from(["- key: a", "- **b** 1: `a` [b]", "| a | b |\n|---|:-:|\n| *a* | b_1 |"])


@given(st.lists(ANYTHING | SAYING | st.builds("{}{}".format, SAYING, ANYTHING), max_size=12).map("\n".join))
@tried(60)
def test_whatever_stands_there(text: str) -> None:
    """What is a fact names something, and its answer stands in the text as it is written."""
    for fact in facts(text):
        assert fact.answer in text
        assert fact.subject


def test_lines_without_end() -> None:
    """Blanks that would take a pattern the square of their number are not looked at."""
    blanks = " " * 200_000
    assert [*facts(f"| a | b |\n{blanks}|-\n- ab{blanks}\n- Tetanus: due\n")] == [Fact("list", "Tetanus", "", "due")]
