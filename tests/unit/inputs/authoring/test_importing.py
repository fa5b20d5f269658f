"""Questions from elsewhere are anchored where their texts stand in one place, and left to a person everywhere else."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from builders import make_case, make_golden, make_vault
from raggate.base.errors import RaggateError
from raggate.base.jsonio import loads
from raggate.inputs import golden, headings
from raggate.inputs.authoring.golden_file import with_cases
from raggate.inputs.authoring.importing import Imported, Undecided, anchored, lines
from raggate.inputs.authoring.passages import of_anchor
from raggate.inputs.authoring.question_sets import READERS, Question
from raggate.models.golden import Golden, Support
from tables import each_row
from tries import tried

RHINE = "# Rhine\n\n## Source\nThe **Rhine** rises in the\ncanton of Grisons.\n\n## Mouth\nIt ends in the North Sea.\n"
RHONE = "# Rhone\n\n## Source\nThe Rhone rises in a glacier of Valais.\n\n## Mouth\nIt ends in the Mediterranean.\n\n"
SHARED = "Both rivers rise in the Alps of Switzerland."
TWICE = "# Towns\n\n## Basel\nnorth of the river\n\n## Basel\nsouth of it\n"
NOTES = make_vault({"a/rhine.md": RHINE + SHARED, "a/rhone.md": RHONE + SHARED, "a/twice.md": TWICE})
NONE = Golden(name="g", cases=(), hash="")


def imported(*given: dict[str, Any], several: Any = None, already: Golden = NONE) -> Imported:
    """Anchor questions."""
    questions = [Question(**{"place": "f:2", "question": f"Q{number}?", **item}) for number, item in enumerate(given)]
    return anchored(questions, already, NOTES, several)


def support(**fields: Any) -> Support:
    """Anchor one question, and give its support."""
    [case] = imported(fields).cases
    [only] = case.gold_supports
    return only


def reason(several: Any = None, **fields: Any) -> Undecided:
    """Anchor one question, and give it as undecided."""
    result = imported(fields, several=several)
    assert result.cases == ()
    return result.undecided[0]


def test_a_context_names_its_heading() -> None:
    """Case, markup and line ends do not matter; a text over two sections is of the heading around both."""
    source = Support(rel_path="rhine.md", heading_path="# Rhine > ## Source")
    assert support(contexts=("the rhine rises in the canton of grisons",)) == source
    both = "Grisons. ## Mouth It ends in the North Sea"
    assert support(contexts=(both,)) == Support(rel_path="rhine.md", heading_path="# Rhine")
    # the answer says which of them is meant, where it stands in one alone
    sea = Support(rel_path="rhine.md", heading_path="# Rhine > ## Mouth", snippets=("the North Sea",))
    assert support(contexts=(both,), answers=("the North Sea",)) == sea
    assert support(contexts=(both,), answers=("in the",)).heading_path == "# Rhine"
    assert support(contexts=(both,), answers=("canton",)).heading_path == "# Rhine"


def test_an_answer_within_its_context() -> None:
    """However short, an answer that stands in the place of its context is a snippet; another is left out."""
    context = ("The Rhine rises in the canton of Grisons.",)
    assert support(contexts=context, answers=("Grisons",)).snippets == ("Grisons",)
    [case] = imported({"contexts": context, "answers": ("Valais",)}).cases
    assert (case.gold_supports[0].snippets, case.expected_key_facts) == ((), ("Valais",))


def test_what_stands_in_several_places() -> None:
    """A text of two notes is left undecided, with both as candidates, as `raggate golden add --anchor` takes them."""
    item = reason(contexts=(SHARED,))
    [row] = [loads(line) for line in lines([item]).splitlines()]
    assert (row["question"], row["why"], row["from"]) == ("Q0?", "its context is in several places", "f:2")
    found = [of_anchor(candidate["anchor"], NOTES) for candidate in row["candidates"]]
    assert [(one.rel_path, one.heading_path) for one in found] == [
        ("rhine.md", "# Rhine > ## Mouth"),
        ("rhone.md", "# Rhone > ## Mouth"),
    ]


def test_a_document_named_after_a_note() -> None:
    """Of several places a document's name decides, where it is the path of one of them; it never adds a place."""
    mouth = Support(rel_path="rhone.md", heading_path="# Rhone > ## Mouth")
    assert support(contexts=(SHARED,), documents=("rhone.md",)) == mouth
    assert support(contexts=(SHARED,), documents=("rhone",)) == mouth
    for name in ("twice.md", "RHONE", ""):
        assert reason(contexts=(SHARED,), documents=(name,)).reason == "its context is in several places"
    assert support(contexts=("rises in a glacier",), documents=("rhine.md",)).rel_path == "rhone.md"


@each_row(
    "fields, message",
    [
        ({}, "neither an answer nor a context"),
        ({"impossible": True, "contexts": (SHARED,)}, "its source has no answer"),
        ({"contexts": ("...",)}, "fewer than 4 words"),
        ({"contexts": ("Grisons",)}, "its context has fewer than 4 words"),
        ({"contexts": ("a text that is nowhere",)}, "is not in the notes"),
        ({"answers": ("north of the river",)}, "below a heading that the note has twice"),
        ({"question": "x" * 20_001, "answers": ("rises in a glacier",)}, "20001 characters"),
        ({"question": "\ud800", "answers": ("rises in a glacier",)}, "no question can be made of it"),
        ({"answers": ("rises in a glacier", "ends in the North Sea")}, "several places"),
    ],
)
def test_what_is_not_certain(fields: dict[str, Any], message: str) -> None:
    """Nothing enters the golden set that is not certain."""
    assert message in reason(**fields).reason


def test_several_contexts() -> None:
    """Whether any or all of several contexts are needed is asked for, unless the format says so."""
    contexts = ("ends in the North Sea", "ends in the Mediterranean")
    assert "Say with --several whether any or all are needed" in reason(contexts=contexts).reason
    [any_of] = imported({"contexts": contexts}, several="any").cases
    assert (len(any_of.gold_supports), any_of.required_support_groups) == (2, None)
    [all_of] = imported({"contexts": contexts, "needed": "all"}).cases
    assert (all_of.category, all_of.required_support_groups) == ("multi_hop", ((0, 1),))
    [graded] = imported({"contexts": contexts, "needed": "any", "grades": (2, 1)}).cases
    assert [item.grade for item in graded.gold_supports] == [2, 1]


def test_questions_that_are_there_already() -> None:
    """What the golden set or the file asked before is passed over; an id of the file's is kept where it is free."""
    given = {"question": "Where?", "answers": ("rises in a glacier",)}
    assert imported(given, already=make_golden(make_case("q1", question="where"))).known == 1
    assert (len(imported(given, given).cases), imported(given, given).known) == (1, 1)
    answers = {"answers": given["answers"]}
    result = imported({"id": "x", **answers}, {"id": "x", **answers}, {"id": " ", **answers})
    assert [case.id for case in result.cases] == ["x", "q1", "q2"]


PIECES = st.sampled_from(
    [*RHINE.split(), *SHARED.split(), "=1+1", "\ud800", "[", "{{x}}", "\0", "|", "😀", "\u0301" * 40]
)
TEXTS = st.lists(PIECES, max_size=8).map(" ".join)


@given(st.lists(st.tuples(TEXTS, st.lists(TEXTS, max_size=2), st.lists(TEXTS, max_size=2), TEXTS), max_size=5))
@tried(30)
def test_whatever_is_imported_can_be_checked(rows: list[tuple[str, list[str], list[str], str]]) -> None:
    """Every case that is made stands in the vault and reads back; every question is a case, undecided or known."""
    questions = [
        Question(place="f", question=asked, answers=(*answers,), contexts=(*contexts,), id=name)
        for asked, answers, contexts, name in rows
    ]
    result = anchored(questions, NONE, NOTES, "any")
    assert len(result.cases) + len(result.undecided) + result.known == len(questions)
    if result.cases:
        headings.check_anchors(golden.load(with_cases(b"", result.cases), "g"), NOTES)
    assert all(loads(line) for line in lines(result.undecided).splitlines())


@given(
    st.sampled_from([*READERS]),
    st.sampled_from(["a.csv", "a.tsv", "a.json", "a.jsonl", "a.yaml"]),
    st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode(errors="surrogatepass")),
)
@tried(60)
def test_any_bytes(name: str, file: str, content: bytes) -> None:
    """Whatever a file holds, it gives questions, or is refused as wrong; nothing else comes of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("raggate.inputs.authoring.question_sets.read_file", lambda _path, **_: content)
        with suppress(RaggateError):
            assert all(question.question.strip() for question in READERS[name](Path(file)))
