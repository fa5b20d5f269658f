"""Whether a text stands in a note, as chunkers hand it out and as somebody invents it."""

from __future__ import annotations

from hypothesis import given, strategies as st

from raggate.inputs.note_words import ENOUGH, MAX_CHARACTERS, MAX_NOTE_CHARACTERS, NoteWords, first_sentence, has_text
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


@each_row("text", STANDS.values(), ids=STANDS)
def test_what_chunkers_make_of_a_note_stands_in_it(text: str) -> None:
    """Markup, joined lines, cuts, prefixes and marks of a search do not make a text one that the note does not say."""
    assert WORDS.holds(text)


@each_row("text", INVENTED.values(), ids=INVENTED)
def test_what_is_invented_does_not_stand_in_the_note(text: str) -> None:
    """Other sentences do not, nor do the note's words in another order, or a piece of it among others."""
    assert not WORDS.holds(text)


def test_share() -> None:
    """Half a text that is the note's and half that is not is one half."""
    text = "Close the grey valve under the tank perhaps somebody else will do so eventually"
    assert WORDS.share(text) == 0.5
    assert ENOUGH == 0.25


def test_attribute_lists_are_no_words() -> None:
    """Ids and classes in braces, with a space before them or not, are no words of a note."""
    note = "# Brew { #brew .wide }\n\nBoil the water{: #boil } and wait{.slow} for six minutes before you pour it."
    assert NoteWords(note, ()).share("Brew Boil the water and wait for six minutes before you pour it.") == 1


def test_a_note_beyond_measure_is_not_judged() -> None:
    """A note longer than the limit is not indexed, and says so."""
    assert NoteWords("a" * MAX_NOTE_CHARACTERS, ()).checkable
    assert not NoteWords("a" * (MAX_NOTE_CHARACTERS + 1), ()).checkable


@each_row("text", ["", " \n\t", "\u200b\u2060\ufeff", "\u3164", "\u2800", "\u00ad", "\u0301", "\x00"])
def test_nothing_to_see(text: str) -> None:
    """White space, zero-width, filler and control characters are no text."""
    assert not has_text(text)


@each_row("text", ["a", "7", "---", "🙂", "文", "\u200bx"])
def test_something_to_see(text: str) -> None:
    """A letter, a digit, a mark or a picture is text."""
    assert has_text(text)


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


@given(st.text(max_size=300))
def test_any_text(text: str) -> None:
    """What comes out is in the text, on one line, and short."""
    sentence = first_sentence(text)
    assert sentence in text
    assert len(sentence) <= MAX_CHARACTERS
    assert len(sentence.splitlines()) <= 1
