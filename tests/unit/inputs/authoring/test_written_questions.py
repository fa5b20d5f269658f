"""Questions that a model writes: the passages it is shown, and what its questions must be to be proposed."""

from __future__ import annotations

from hypothesis import given, strategies as st

from builders import make_support, make_vault
from raggate.inputs import golden
from raggate.inputs.authoring import proposals
from raggate.inputs.authoring.golden_file import with_cases
from raggate.inputs.authoring.passages import passages
from raggate.inputs.authoring.proposals import Kept, Proposal
from raggate.inputs.authoring.written_questions import LONGEST, QuestionCheck, sifted
from raggate.inputs.headings import check_anchors
from tables import each_row
from tries import tried

SHOTS = (
    "# Shots\n\n## Tetanus and other boosters\n\nDr. **Weber** gave it in Basel on 9 May 2019.\n\n"
    "## Plans\n\nThe next one is due in ten years, says the card.\n"
)
CAR = "# Car\n\n## Winter\n\nThe tyres were bought in Basel, and wait in the cellar.\n\n## Keys\n\nIn the drawer.\n"


NOTES = make_vault({"a/shots.md": SHOTS, "a/car.md": CAR})
FIRST, PLANS, WINTER, KEYS = passages(NOTES)


def test_a_question_that_is_good() -> None:
    """It is a proposal as those made by rule are, with the answer as its snippet."""
    made = QuestionCheck(NOTES).proposal(" When was the last injection this year? ", "9 May 2019", FIRST)
    assert isinstance(made, Proposal)
    assert (made.source, made.answer, made.case.expected_key_facts) == ("model", "9 May 2019", ("9 May 2019",))
    assert made.case.question == "When was the last injection this year?"
    path = "# Shots > ## Tetanus and other boosters"
    assert made.case.gold_supports == (make_support("shots.md", path, snippets=("9 May 2019",)),)


@each_row(
    "question, answer, flaw",
    [
        ("When was it?", "10 May 2019", "answer not in the passage"),
        # it stands in another passage of the same note, and in another note
        ("When is the next one?", "ten years", "answer not in the passage"),
        ("Where are the tyres?", "wait in the cellar", "answer not in the passage"),
        # the same words, and not as they stand there
        ("When was it?", "9, May: 2019", "answer not in the passage"),
        ("When was it?", "…", "not one plain line"),
        ("Where was it?", "in Basel", "answer elsewhere too"),
        ("Was it on 9 May 2019?", "9 May 2019", "question gives it away"),
        ("When were tetanus and other boosters given?", "9 May 2019", "question gives it away"),
        ("What is the purpose of this shot?", "9 May 2019", "question speaks of its passage"),
        ("When does The Passage say it was?", "9 May 2019", "question speaks of its passage"),
        ("", "9 May 2019", "not one plain line"),
        ("When\nwas it?", "9 May 2019", "not one plain line"),
        ("When was it?\x1b[2J", "9 May 2019", "not one plain line"),
        ("When was \u202eit?", "9 May 2019", "not one plain line"),
        ("When " * LONGEST, "9 May 2019", "longer than 300 characters"),
    ],
)
def test_a_question_that_is_not(question: str, answer: str, flaw: str) -> None:
    """What is not answered there, is answered elsewhere too, gives itself away or is no line is not proposed."""
    assert QuestionCheck(NOTES).proposal(question, answer, FIRST) == flaw


def test_a_question_to_several_passages() -> None:
    """It is about none of them; one that was asked before, or nearly, is not proposed again."""
    check = QuestionCheck(NOTES)
    texts = [("What is it about?", "9 May 2019", FIRST), ("what is it about", "in ten years", PLANS)]
    texts += [("Where do the tyres wait?", "in the cellar", WINTER), ("Where is the key?", "In the drawer", KEYS)]
    written = [check.proposal(*text) for text in texts]
    proposals = [item for item in written if isinstance(item, Proposal)]
    assert len(proposals) == 4
    kept, flaws = sifted(proposals, ["Where is the key now?"])
    assert [item.case.question for item in kept] == ["Where do the tyres wait?"]
    assert flaws == ["asked of several passages"] * 2 + ["asked already"]


PIECES = ["9 May 2019", "Weber", "**", "Basel", "\n", "\0", "\u202e", "`", "?", " ", "Shots > ", "ten years", "\ud800"]
QUESTION = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)


@given(QUESTION, QUESTION | st.sampled_from(["9 May 2019", "dr. weber"]))
@tried(60)
def test_whatever_a_model_writes(question: str, answer: str) -> None:
    """A proposal could be taken, and its file read back; everything else is refused with a reason."""
    made = QuestionCheck(NOTES).proposal(question, answer, FIRST)
    if isinstance(made, Proposal):
        check_anchors(golden.load(with_cases(b"", [made.case]), "g"), NOTES)
        [back] = proposals.load(proposals.write([Kept(made)]), "p")
        assert (back.proposal.id, back.proposal.answer) == (made.id, made.answer)
