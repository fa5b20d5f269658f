"""A passage and a question -> the snippet that is proposed."""

from __future__ import annotations

import pytest

from builders import make_chunk, make_support, make_vault
from raggate.base.errors import UsageError
from raggate.base.headings import contains_snippet
from raggate.inputs.authoring.passages import (
    MOST_SNIPPET,
    Passage,
    WordSearch,
    of_anchor,
    of_chunk,
    passages,
    snippet_of,
)
from raggate.models.golden import Support
from tables import each_row

QUESTION = "How long does the dough rest?"
LONG = "The dough rests " + "very " * 40 + "long"


@each_row(
    ("text", "snippet"),
    [
        ("Flour first. The dough rests. Let the dough rest long!", "Let the dough rest long!"),
        # the first where none is near
        ("Salt it.\nBake it.", "Salt it."),
        ("- dough: rest it\n1. [x] bake", "dough: rest it"),
        # chunkers drop markup, and join lines
        ("The `dough` must rest long.\nBake it.", "Bake it."),
        ("The dough must\nrest long.", "The dough must"),
        ("```sh\nrest --long $DOUGH\n```\nBake it.", "rest --long $DOUGH"),
        ("```\nbake\n```\nThe dough rests.", "The dough rests."),
        # the longest cell of a row
        ("| dough | **rest** | 3 h |\n|---|---|--|\n| a dough | `x` | two long hours |", "two long hours"),
        ("| dough |\n|---|\n| `x` |\n", ""),
        ("", ""),
        (LONG, "The dough rests " + "very " * 16 + "very"),
    ],
)
def test_a_snippet_is_a_sentence_that_can_be_copied(text: str, snippet: str) -> None:
    """It is the sentence, line of code or cell nearest to the question, and stands in the passage."""
    proposed = snippet_of(QUESTION, text)
    assert proposed == snippet
    assert len(proposed) <= MOST_SNIPPET
    assert not proposed or contains_snippet(text, [proposed])


TRIP = "---\ntags: x\n---\nIn short.\n\n# Trip\n\n## Day one\nrain, all day\n\n## Day two\n\n### Costs\nforty francs\n"
HOME = "# Home\n\n## Costs\nrent and heat\n"


NOTES = make_vault({"a/t.md": TRIP, "a/x/h.md": HOME, "a/C#.md": "# Sharp\ntext\n", "b/x/h.md": HOME})


def test_passages_of_a_note() -> None:
    """A passage is the text below its heading alone; front matter and headings without text are none."""
    found = [(item.heading_path, item.line, item.text) for item in passages(make_vault({"a/t.md": TRIP}))]
    assert found == [
        (None, 4, "In short."),
        ("# Trip > ## Day one", 8, "rain, all day"),
        ("# Trip > ## Day two > ### Costs", 13, "forty francs"),
    ]


def test_search() -> None:
    """The passage with the rarest words of a query comes first; one without any of them does not come."""
    search = WordSearch(passages(make_vault({"a/t.md": TRIP, "a/h.md": HOME})))
    assert [item.heading_path for item in search.find("costs of the francs")] == [
        "# Trip > ## Day two > ### Costs",
        "# Home > ## Costs",
    ]
    assert search.find("nothing such") == []
    assert [item.rel_path for item in search.holding("rent costs")] == ["h.md"]


def test_a_retrieved_chunk() -> None:
    """A chunk is known by its heading path, with or without marks, else by its text; or not at all."""
    known = passages(NOTES)

    def found(**fields: str) -> Passage | None:
        chunk = make_chunk(**{"rel_path": "t.md", "heading_path": "nowhere", "text": "?", **fields})
        return of_chunk(chunk, known, NOTES)

    costs = next(item for item in known if item.text == "forty francs")
    assert found(heading_path="# Trip > ## Day two > ### Costs") == costs
    assert found(heading_path="Trip > Day two > Costs") == costs
    assert found(text="Forty  francs") == costs
    assert found(text="something else") is None
    # a heading that only others stand below
    assert found(heading_path="# Trip > ## Day two") == Passage("a", "t.md", ("Trip", "Day two"), 11, "")
    # two vaults have it, and the API does not say which
    assert found(rel_path="x/h.md", heading_path="# Home > ## Costs", text="rent") is None


MKDOCS = make_vault(
    {
        "a/m.md": "# Guide { #guide }\n\n## Run `make` *now* { #run .wide }\nIt builds all.\n\n## Undo\n"
        + "Say `git restore` and then take a long look at the rest of the sentence. " * 4
    }
)


@each_row(
    "heading_path", ["# Guide > ## Run `make` *now*", "Guide > Run make now", "# Guide { #guide } > ## run make now"]
)
def test_a_chunk_under_a_heading_as_it_reads(heading_path: str) -> None:
    """A chunk is known by a heading that reads like the note's, with or without markup and ids."""
    chunk = make_chunk(rel_path="m.md", heading_path=heading_path, text="reworded")
    place = of_chunk(chunk, passages(MKDOCS), MKDOCS)
    assert place is not None
    assert place.text == "It builds all."
    assert of_anchor(f"m.md#{heading_path}", MKDOCS).heading_path == place.heading_path


@each_row(
    "anchor, wanted",
    [
        ("t.md", make_support("t.md", None)),
        ("t.md#Costs", make_support("t.md", "# Trip > ## Day two > ### Costs")),
        ("t.md## Day two", make_support("t.md", "# Trip > ## Day two")),
        ("t.md# Trip > ## Day two", make_support("t.md", "# Trip > ## Day two")),
        ("a/t.md#Trip", make_support("t.md", "# Trip")),
        ("t.md#Day two", make_support("t.md", "# Trip > ## Day two")),
        ("C#.md#Sharp", make_support("C#.md", "# Sharp")),
        ("b/x/h.md#Costs", make_support("x/h.md", "# Home > ## Costs", vault="b")),
    ],
)
def test_anchors(anchor: str, wanted: Support) -> None:
    """A place is named by its note and a heading, all of its path or the end of it."""
    assert of_anchor(anchor, NOTES) == wanted


@each_row(
    "anchor, message",
    [
        ("T.md#Trip", "no note 'T.md' in the vault. Nearest: 't.md'"),
        ("x/h.md#Costs", "'x/h.md' is in several vaults: a/x/h.md and b/x/h.md"),
        ("t.md#Cost", "'t.md' has no heading '#Cost'. Nearest: 'Costs'"),
    ],
)
def test_anchors_that_name_nothing(anchor: str, message: str) -> None:
    """What is not there is refused with the nearest that is, and what is several with all of them."""
    with pytest.raises(UsageError) as refused:
        of_anchor(anchor, NOTES)
    assert message in refused.value.message
