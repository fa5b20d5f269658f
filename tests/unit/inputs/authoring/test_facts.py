"""What a passage says in a form that a question can be made of."""

from __future__ import annotations

from time import monotonic

from hypothesis import given, strategies as st

from raggate.inputs.authoring.facts import Fact, facts
from raggate.text.anchors import fold
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
        ("- [Tetanus](t.md): given in the first week", ("Tetanus", "given in the first week")),
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


@each_row(
    "text, wanted",
    [
        (
            "A worker is a process that\nanswers requests. It runs.",
            ("worker", "is", "A worker is a process that answers requests."),
        ),
        (
            "**Backlogs** are the queues of waiting work.",
            ("Backlogs", "are", "**Backlogs** are the queues of waiting work."),
        ),
        ("`GYP` means the builder of native code.", ("GYP", "means", "`GYP` means the builder of native code.")),
        (
            "- `--workers`: Number of processes that\n  answer. One here.",
            ("--workers", "", "Number of processes that answer."),
        ),
        ("- **Port** - the number that it listens on", ("Port", "", "the number that it listens on")),
        ("- **Port:** the number that it listens on", ("Port", "", "the number that it listens on")),
        ("- Port: the number that it listens on", None),
        ("- plain words - with a dash are no key", None),
        ("It is the place to look at first.", None),
        ("This paragraph is a definition of nothing.", None),
        ("A worker is a process.", None),
        ("```yaml\n- key: the value of no item here\n```", None),
        ("~~~\n```\n- key: the value of no item here\n~~~", None),
    ],
)
def test_a_definition(text: str, wanted: tuple[str, str, str] | None) -> None:
    """A definition is an item with a key and a sentence, or a marked name and what it is; code holds none."""
    found = [(fact.subject, fact.property, fact.answer) for fact in facts(text) if fact.form == "definition"]
    assert found == ([wanted] if wanted else [])


@each_row(
    "before, code, wanted",
    [
        ("To start the server, run:", "```bash\n# here\n$ serve main.py\n```", ("start the server", "serve main.py")),
        ("It listens.\nTo stop all workers:", "~~~sh\nserve --stop\n~~~", ("stop all workers", "serve --stop")),
        ("Run the following command to list all tasks:", "```console\ntasks\n```", ("list all tasks", "tasks")),
        ("You can list all tasks with this command:", "```shell\ntasks\n```", ("list all tasks", "tasks")),
        ("To start the server.", "```sh\nserve\n```", None),
        ("To look at this, run:", "```sh\nserve\n```", None),
        ("To start the server, run:", "```python\nserve()\n```", None),
        ("To start the server, run:", "```\nserve\n```", None),
        ("To start the server, run:", "```sh\ncd a\nserve\n```", None),
        ("To start the server, run:", "```sh\nserve # at once\n```", None),
    ],
)
def test_a_command(before: str, code: str, wanted: tuple[str, str] | None) -> None:
    """A command is the only one of a shell's block, behind a sentence that says what it is for."""
    found = [(fact.subject, fact.answer) for fact in facts(f"{before}\n\n{code}\n") if fact.form == "command"]
    assert found == ([wanted] if wanted else [])


def test_hostile_lengths() -> None:
    """Text that a pattern could go back in for ever takes no time."""
    started = monotonic()
    for text in ("to run " * 300 + ":", "**" * 1_000, "A " + "is a " * 400, "- " + "`a" * 900, "use to " * 5_000 + ":"):
        assert [*facts(f"{text}\n\n```sh\nserve\n```\n" * 50)] == []
    assert monotonic() - started < 10


ANYTHING = st.text(st.sampled_from("|-: *_ab1.`[]"), max_size=20)
# of letters alone hardly one text would say anything
SAYING = st.sampled_from(["- key: a", "- **b** 1: `a` [b]", "| a | b |\n|---|:-:|\n| *a* | b_1 |"])


@given(st.lists(ANYTHING | SAYING | st.builds("{}{}".format, SAYING, ANYTHING), max_size=12).map("\n".join))
@tried(60)
def test_whatever_stands_there(text: str) -> None:
    """What is a fact names something, and its answer stands in the text, but for the ends of lines."""
    for fact in facts(text):
        assert fold(fact.answer) in fold(text)
        assert fact.subject


def test_lines_without_end() -> None:
    """Blanks that would take a pattern the square of their number are not looked at."""
    blanks = " " * 200_000
    assert [*facts(f"| a | b |\n{blanks}|-\n- ab{blanks}\n- Tetanus: due\n")] == [Fact("list", "Tetanus", "", "due")]
