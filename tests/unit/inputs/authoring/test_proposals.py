"""Questions that are proposed by rule: answered by one passage, of new notes first, and never the same again."""

from __future__ import annotations

from collections.abc import Iterable
from time import monotonic

import pytest
from hypothesis import given, strategies as st

from builders import make_case, make_golden, make_support, make_vault
from raggate.base.errors import UsageError
from raggate.inputs import golden
from raggate.inputs.authoring import proposals
from raggate.inputs.authoring.golden_file import with_cases
from raggate.inputs.authoring.proposals import Fact, Kept, Proposal, facts, propose
from raggate.inputs.headings import check_anchors
from raggate.inputs.lint import leaks
from raggate.models.golden import Golden, Vault
from tables import each_row
from tries import tried

SHOES = "# Shoes\n\n## Mine\n\n| Shoe | Bought |\n|---|---|\n| Blue trainer | Aug 2024 |\n| Red racer | May 2025 |\n"
SHOTS = "# Shots\n\n## Done\n\n- **Tetanus**: 9 May 2019\n- Measles: as a child\n"
NONE = Golden(name="g", cases=(), hash="")


def vault(texts: Iterable[str]) -> Vault:
    """Build a vault of notes that are called `n0`, `n1` and so on."""
    return make_vault({f"a/n{number}.md": text for number, text in enumerate(texts)})


def asked(*texts: str, already: Golden = NONE, passed: tuple[str, ...] = (), most: int = 50) -> list[Proposal]:
    """Propose questions on notes."""
    return propose(already, vault(texts), passed, most)


def questions(proposals: list[Proposal]) -> list[str]:
    """Return what is asked."""
    return [proposal.case.question for proposal in proposals]


def test_tables_and_lists() -> None:
    """Notes come in turns, and a fact's answer is its snippet."""
    proposals = asked(SHOES, SHOTS)
    assert questions(proposals) == [
        "For Blue trainer, what is “Bought”?",
        "What is noted for tetanus?",
        "For Red racer, what is “Bought”?",
        "What is noted for measles?",
    ]
    assert proposals[0].answer == "Aug 2024"
    assert proposals[0].case.gold_supports == (make_support("n0.md", "# Shoes > ## Mine", snippets=("Aug 2024",)),)


def test_what_two_passages_have() -> None:
    """A fact that stands in two notes is asked for by its note; where that names both, it is not asked for."""
    other = "# Guests\n\n## Done\n\n- Tetanus: in 2011\n"
    assert "In Shots, what is noted for tetanus?" in questions(asked(SHOTS, other))
    assert "What is noted for tetanus?" not in questions(asked(SHOTS, other))
    assert not any("etanus" in question for question in questions(asked(SHOTS, SHOTS)))


def test_no_question_gives_its_heading_away() -> None:
    """What stands under a heading of its own name is not asked for by that name, and a bare heading never."""
    assert questions(asked("# Race shoe weight\n\ntext\n\n- Race shoe weight: 200 g\n")) == []
    assert questions(asked("# Running\n\n## Mine\ntext without any fact\n")) == []


def test_a_note_of_many_facts() -> None:
    """Five of a note are proposed at a time, from all over it; when they are decided on, five others come."""
    items = "".join(f"- Shot {word}: given in {place}\n" for word, place in zip("ABCDEFGHIJ", range(10), strict=True))
    first = questions(asked(f"# Shots\n\n{items}"))
    assert first == [f"What is noted for Shot {word}?" for word in "ACEGI"]
    assert len({*first, *questions(asked(f"# Shots\n\n{items}", passed=tuple(first)))}) == 10


def test_what_was_asked_before() -> None:
    """Questions of the golden set, and proposals there were, do not come again, also not nearly."""
    already = make_golden(make_case("q1", question="For blue trainer: what is bought?"))
    rest = questions(asked(SHOES, already=already, passed=("For Red racer, what is “Bought”?",)))
    assert rest == []


PIECES = [
    *("# ", "## ", "- ", "| ", " |", "---", ": ", "\n", "\n\n", "**", "word", "Other thing", "\0", "😀", "\u0301" * 40),
    # of the pieces above alone hardly one note would be asked about; a title of three words would be quoted
    *("a b c", "# Shots\n\n## Done\n\n", "# Running shoe log\n\n## Mine\n\n", "- **Tetanus**: 9 May 2019\n"),
    "| Shoe | Bought |\n|---|---|\n| Blue trainer | Aug 2024 |\n",
]
NOTES = st.lists(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), min_size=1, max_size=3)


@given(NOTES)
@tried(40)
def test_whatever_stands_in_the_notes(texts: list[str]) -> None:
    """Every proposal could be taken: it reads back, its supports stand in the vault, and it quotes no heading."""
    notes = vault(texts)
    for proposal in propose(NONE, notes, (), 50):
        check_anchors(golden.load(with_cases(b"", [proposal.case]), "g"), notes)
        assert not [*leaks(proposal.case, "")]
        [back] = proposals.load(proposals.write([Kept(proposal, "rejected")]), "p")
        assert (back.proposal.id, back.proposal.answer, back.state) == (proposal.id, proposal.answer, "rejected")


@each_row(
    "line",
    [
        *(b"{]", b'{"id": "x"}', b"\xff"),
        b'{"id": "00000000", "state": "waiting", "source": "list", "answer": "", "case": {"id": 1}}',
    ],
)
def test_a_file_that_somebody_changed(line: bytes) -> None:
    """A line that is no proposal is refused with its place."""
    with pytest.raises(UsageError, match="p:1: "):
        proposals.load(line, "p")


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
        ("- [Tetanus](t.md): given in the first week", ("Tetanus", "given in the first week")),
        ("- 10:30 breakfast", None),
        ("- a sentence of many words in a row: no key", None),
        ("- Tetanus: https://x.example/a", None),
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
        ("A worker is a process that\nanswers requests. It runs.", ("worker", "is")),
        ("**Backlogs** are the queues of waiting work.", ("Backlogs", "are")),
        ("`GYP` means the builder of native code.", ("GYP", "means")),
        ("- `--workers`: Number of processes that\n  answer. One here.", ("--workers", "")),
        ("- **Port:** the number that it listens on", ("Port", "")),
        ("- plain words - with a dash are no key", None),
        ("It is the place to look at first.", None),
        ("A worker is a process.", None),
        ("```yaml\n- key: the value of no item here\n```", None),
    ],
)
def test_a_definition(text: str, wanted: tuple[str, str] | None) -> None:
    """A definition is an item with a key and a sentence, or a marked name and what it is; code holds none."""
    found = [fact for fact in facts(text) if fact.form == "definition"]
    assert [(fact.subject, fact.property) for fact in found] == ([wanted] if wanted else [])
    # the first sentence, on one line
    assert all(fact.answer in " ".join(text.split()) and not fact.answer.endswith("here.") for fact in found)


def test_hostile_lengths() -> None:
    """Blanks and marks without end, which a pattern could go back in for ever, take no time."""
    started = monotonic()
    for text in ("**" * 1_000, "A " + "is a " * 400, "- " + "`a" * 900):
        assert [*facts(f"{text}\n\n" * 50)] == []
    assert monotonic() - started < 10
    blanks = " " * 200_000
    assert [*facts(f"| a | b |\n{blanks}|-\n- ab{blanks}\n- Tetanus: due\n")] == [Fact("list", "Tetanus", "", "due")]
