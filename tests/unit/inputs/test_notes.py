"""Whether a text stands in a note, as chunkers hand it out and as somebody invents it."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from builders import make_case, make_chunk, make_labelled, make_response, make_result, make_support, make_vault
from raggate.inputs.notes import (
    JUDGED_CHUNKS,
    MAX_CHARACTERS,
    MAX_NOTE_CHARACTERS,
    Notes,
    NoteTitles,
    NoteWords,
    first_sentence,
    has_text,
)
from raggate.models.run import Chunk, Expected, Labels
from tables import each_row

NOTE = """---
title: Boiler room
---
# The boiler

The pressure must stay between **1.2** and `1.8` bar; below that, see [the filling guide](https://example.org/fill)
or [[Plumbing|the plumbing note]], and call the _caretaker_ before the weekend starts.

1. Close the grey valve under the tank.
2. Open the red one a quarter turn[^1].

| Part | Spare |
|---|---|
| pump | 2 in the cellar |

暖房の圧力は毎週確認してください。

## Empty
"""
PLACE = ("work", "House/Boiler room.md", "The boiler", "Empty")
WORDS = NoteWords(NOTE, PLACE)

STANDS = {
    "as it is": "The pressure must stay between **1.2** and `1.8` bar; below that, see [the filling guide]",
    "rendered": "see the filling guide or the plumbing note, and call the caretaker before the weekend starts.",
    "one line": " ".join(NOTE.split()),
    "after its path": "House/Boiler room.md > The boiler: Close the grey valve under the tank.",
    "after title and headings": "Boiler room\nThe boiler\n\nOpen the red one a quarter turn.",
    "without numbers of lists": "Close the grey valve under the tank. Open the red one a quarter turn.",
    "cut within words": "essure must stay between 1.2 and 1.8 bar; below tha",
    "one cut word": "aretak",
    "around the query": "… call the <em>caretaker</em> before the <em>weekend</em> starts …",
    "a table": "Part Spare pump 2 in the cellar",
    "other case, no marks": "CLOSE THE GREY VALVE UNDER THE TANK",
    "no spaces between words": "圧力は毎週確認",
    "heading alone": "Empty",
    "a path alone": "House / Boiler room / Empty",
    "symbols of the note": "|---|---|",
    "overlapping ends joined": "see the filling guide or the plumbing note. Open the red one a quarter turn",
    "the whole note twice": NOTE * 2,
    "entities": "The pressure must stay between 1.2 and 1.8 bar&#59; below that",
    "zero-width characters": "Close the grey\u200b valve under the tank and open the red one",
}
INVENTED = {
    "other sentence": "Turn the heating off at night and ask the person at the desk near the window for a key.",
    "right words, other order": "tank the under grey weekend caretaker call see guide bar pressure stay valve red turn",
    "headings and inventions": "The boiler, boiler room: nobody knows why it makes that noise on cold mornings.",
    "a word": "lorem",
    "symbols": "🙂🙂",
    "a snippet in a long invention": "Ask whoever is at home, they will gladly explain that 1.2 and 1.8 bar is what "
    "most people would call a fair guess, and then walk you through everything else you may want.",
    "other script": "予算は来年の春に決定されます",
}


@each_row(
    ("text", "stands"), [*((text, True) for text in STANDS.values()), *((text, False) for text in INVENTED.values())]
)
def test_what_stands_in_a_note(text: str, *, stands: bool) -> None:
    """Markup, cuts, prefixes and marks of a search make no other text; inventions and other orders do."""
    assert WORDS.look_up(text)[0] is stands


def test_attribute_lists_are_no_words() -> None:
    """Ids and classes in braces are no words of a note; a note longer than the limit is not indexed, and says so."""
    note = "# Brew { #brew .wide }\n\nBoil the water{: #boil } and wait{.slow} for six minutes before you pour it."
    assert NoteWords(note, ()).share("Brew Boil the water and wait for six minutes before you pour it.") == 1
    sizes = (MAX_NOTE_CHARACTERS, MAX_NOTE_CHARACTERS + 1)
    assert [NoteWords("a" * size, ()).checkable for size in sizes] == [True, False]


@each_row("text", ["", " \n\t", "\u200b\u2060\ufeff", "\u3164", "\u2800", "\u00ad", "\u0301", "\x00"])
def test_nothing_to_see(text: str) -> None:
    """White space, zero-width, filler and control characters are no text."""
    assert not has_text(text)


@given(st.text(), st.text())
def test_any_text_is_looked_up(note: str, text: str) -> None:
    """Whatever note and text hold, a share is between 0 and 1, and what is a part of the note with words has all."""
    words = NoteWords(note + text, (note[:5],))
    assert 0 <= NoteWords(note, ()).share(text) <= 1
    assert words.share(note + text) == 1


@each_row(
    ("text", "sentence"),
    [
        ("# Bees\n\nSix hives stand here. They hum.\n", "Six hives stand here."),
        ("---\ntitle: a b c d e\n---\n# B\nWho feeds the bees? Nobody.\n", "Who feeds the bees?"),
        (
            "# A\n\n- one two three four five\n\n| a b | c d |\n\nshort line\n\nAt last a sentence\n",
            "At last a sentence",
        ),
        ("```\nnot this code at all\n```\nbut this is prose\n", "but this is prose"),
        ("word " * 60, ("word " * 60)[:MAX_CHARACTERS].rpartition(" ")[0]),
        ("\ufeff---\na: b\n---\nafter the mark it goes on", "after the mark it goes on"),
        ("# Only\n## Headings\n", ""),
        ("", ""),
    ],
)
def test_the_first_line_of_prose(text: str, sentence: str) -> None:
    """Front matter, headings, lists, tables, code and short lines are passed over; a long sentence is cut."""
    assert first_sentence(text) == sentence


TEXTS = {
    "work/a.md": "# A\n\nText of the note.\n",
    "work/b.md": "# B\n\nThe second note speaks of other matters, at length and in detail.\n",
    "home/a.md": "# Home\n\nNobody has to be anywhere today, and that is how it should be.\n",
}
NOTES = Notes(make_vault(TEXTS))


def labels(*chunks: Chunk) -> Labels:
    """Label an answer."""
    item = make_labelled(make_case(), make_result(response=make_response(*chunks)))
    return NOTES.label(item).labels


def test_what_does_not_stand_is_told_by_position() -> None:
    """Headings, texts and empty texts are told each by the positions of their chunks; an empty text is not strange."""
    judged = labels(
        make_chunk(),
        make_chunk("c2", heading_path="# Z"),
        make_chunk("c3", text="Entirely something else that nobody ever wrote in this one"),
        make_chunk("c4", text=" \u200b"),
        make_chunk("c5", vault="home", heading_path="# B"),
    )
    assert (judged.empty, judged.strange_headings, judged.strange_texts) == ((3,), (1, 4), (2, 4))


OTHER = "What stands in no note at all, and is quite long."


@each_row(
    ("text", "partly"),
    [
        ("The second note speaks of other matters, at length and in detail.", ()),
        # seven words of eighteen
        (f"The second note speaks of other matters. {OTHER}", ((1, 0.39),)),
        ("", ()),
    ],
)
def test_how_much_of_a_text_is_of_its_note_is_kept(text: str, partly: tuple[tuple[int, float], ...]) -> None:
    """Passages that hold other text, too, are told by position with the share of their words that is the note's."""
    assert labels(make_chunk(), make_chunk("c2", rel_path="b.md", text=text)).partly == partly


SYNC = "# Sync\n```\n# rsync -a --delete src dst\n```\n\n"
SYNC += "# Parts\n| Part | Spare |\n|---|---|\n| pump | 2 of them |\n\nIn the cellar.\n"


@each_row(
    ("snippets", "expected"),
    [
        (("pump",), Expected(table=True, section=66)),
        (("in the  CELLAR",), Expected(section=66)),
        (("--delete",), Expected(code=True, section=39)),
        (("--delete", "pump"), Expected(code=True, table=True, section=66)),
        (("nowhere",), Expected()),
        ((), Expected()),
    ],
)
def test_where_snippets_stand_is_kept(snippets: tuple[str, ...], expected: Expected) -> None:
    """Whether it is code or a row of a table, and how long its section is, is told of the line that holds each."""
    notes = Notes(make_vault({"work/sync.md": SYNC}))
    support = make_support("sync.md", None, snippets=snippets)
    assert notes.label(make_labelled(make_case(gold_supports=(support,)))).labels.expected == expected


OWN = "Every morning the caretaker looks at the pressure of the boiler in the cellar. " * 110
FOREIGN = "Nobody ever wrote this. " * 2_000


@each_row(
    ("text", "holds", "share"),
    [
        pytest.param(OWN * 9, True, 1.0, id="own"),
        pytest.param(OWN + FOREIGN, False, 0.2, id="own-at-the-start"),
        pytest.param(FOREIGN + OWN * 9, False, 0.6, id="own-at-the-end"),
        pytest.param(OWN * 3 + FOREIGN[:8_000], True, 0.75, id="three-of-four"),
    ],
)
def test_a_long_text_is_looked_at_to_its_end(text: str, holds: bool, share: float) -> None:
    """Of a very long text pieces of all of it are looked up, and what begins well need not end so."""
    looked_up = NoteWords(OWN, ()).look_up(text)
    assert looked_up == (holds, pytest.approx(share, abs=0.06))


def test_chunks_that_are_not_looked_up() -> None:
    """A note that is not there is told by notes_exist alone, and a thousandth chunk costs nothing."""
    judged = labels(make_chunk(rel_path="x.md", text="x"), make_chunk("c2", vault="other", text="x"))
    assert (judged.strange_headings, judged.strange_texts) == ((), ())
    judged = labels(*(make_chunk(f"c{rank}", text="lorem ipsum dolor") for rank in range(JUDGED_CHUNKS + 9)))
    assert judged.strange_texts == tuple(range(JUDGED_CHUNKS))


ALIKE = "# A {#a}\n\n## Set up\n\nOne.\n\n## SET UP\n\nTwo.\n\n## Run\n\n## Run > Linux\n"
TWINS = Notes(make_vault({"work/a.md": ALIKE, "home/a.md": "# A\n\n## Set Up\n\nThree.\n"}))


@each_row(
    ("gold", "told", "vault", "matches"),
    [
        pytest.param("# A > ## Set up", "# A {#a} > ## Set up", "work", True, id="as it is written"),
        pytest.param("# A > ## Set up", "# A > ## SET UP", "work", False, id="as the other one is written"),
        pytest.param("# A > ## Set up", "# A > ## set up", "work", False, id="as none is written, so either is meant"),
        pytest.param("# A > ## Set up", "# A > ## set up > ### -", "work", False, id="with signs below it"),
        pytest.param("# A > ## Set up", "# A > ## set up > ### -", "home", True, id="signs where there is but one"),
        pytest.param("# A > ## Run", "A > Run > Linux", "work", False, id="a heading that holds the delimiter"),
        pytest.param("# A", "# a > ## set up", "work", True, id="in the section around both"),
        pytest.param("# A > ## Set up", "# A > ## set up", "home", True, id="where there is but one"),
        pytest.param("# A > ## Set up", "# A > ## set up", None, True, id="where it may be that one"),
    ],
)
def test_a_heading_that_could_be_another_one_matches_nothing(
    gold: str, told: str, vault: str | None, *, matches: bool
) -> None:
    """What is told otherwise than it is written counts where it can mean the gold section alone."""
    case = make_case(gold_supports=(make_support("a.md", gold),))
    item = make_labelled(case, make_result(case.id, make_chunk(heading_path=told, vault=vault)))
    assert item.labels.matches == ((0,),)
    labels = TWINS.label(item).labels
    assert (labels.matches, labels.ambiguous) == ((((0,),), ()) if matches else (((),), (0,)))


NOTE = """---
title: House matters
---
# The *Boiler* Room

intro

## Pressure & `bar` {#pressure}

### Don't panic

## [Guide](https://example.org) to [[Plumbing|pipes]] ##

## Größe

```sh
# install
```

>> ## Quoted

#Tight

## Run `it` twice { #run-it .wide }

## A > B

## 🙂
"""
TITLES = NoteTitles(NOTE, "work", "House/Cellar/boiler-room.md")

KNOWN = {
    "as it is": "# The Boiler Room > ## Pressure & bar > ### Don't panic",
    "with markup": "# The *Boiler* Room > ## Pressure & `bar` {#pressure}",
    "without marks": "The Boiler Room > Pressure & bar",
    "other delimiter": "The Boiler Room / Pressure & bar / Don't panic",
    "case and white space": "  the boiler   ROOM  >  pressure & BAR ",
    "last heading alone": "### Don’t panic",
    "last two": "Pressure & bar > Don't panic",
    "first and last": "The Boiler Room > Don't panic",
    "after the path": "House/Cellar/boiler-room.md > The Boiler Room > Pressure & bar",
    "after vault and folders": "work > House > Cellar > boiler-room > Don't panic",
    "after the title of the front matter": "House matters > Größe",
    "title before itself": "The Boiler Room > The Boiler Room > Größe",
    "the file's name": "boiler-room",
    "slug": "#dont-panic",
    "link as text": "## Guide to pipes",
    "link as written": "## [Guide](https://example.org) to [[Plumbing|pipes]]",
    "attributes as MkDocs has them, not told": "# Tight > ## Run `it` twice",
    "attributes as MkDocs has them, told": "# Tight > ## Run it twice { #run-it .wide }",
    "attributes of all headings": "# The Boiler Room { #boiler } > ## Größe {: #big }",
    "closing marks": "## Größe ##",
    "other Unicode form": "Gro\u0308ße",
    "without accents": "Grosse",
    "comment of a fence": "# install",
    "quoted": "Quoted",
    "no space after the mark": "# Tight",
    "delimiter in a heading": "# Tight > ## A > B",
    "symbols alone": "## 🙂",
    "none": "",
}
UNKNOWN = {
    "invented": "# The Boiler Room > ## Where this is said",
    "invented alone": "Answer",
    "longer": "# The Boiler Room and more",
    "part of a heading": "# The Boiler",
    "other order": "Don't panic > Pressure & bar",
    "headings of two sections": "Pressure & bar > Größe",
}


@each_row(
    ("path", "known"), [*((path, True) for path in KNOWN.values()), *((path, False) for path in UNKNOWN.values())]
)
def test_headings_of_a_note(path: str, *, known: bool) -> None:
    """A path of headings below each other in the note is known however it is written, and nothing else is."""
    assert TITLES.holds(path) is known
