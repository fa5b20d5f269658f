"""Whether a note has the headings an API tells, in the ways APIs tell them."""

from __future__ import annotations

from hypothesis import given, strategies as st

from raggate.inputs.note_titles import NoteTitles
from tables import each_row

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


@each_row("path", KNOWN.values(), ids=KNOWN)
def test_headings_of_the_note(path: str) -> None:
    """However it is written, a path of headings that stand below each other in the note is known."""
    assert TITLES.holds(path)


@each_row("path", UNKNOWN.values(), ids=UNKNOWN)
def test_headings_of_no_note(path: str) -> None:
    """What is not a heading of the note, or not below the other, is not known."""
    assert not TITLES.holds(path)


@given(st.text(), st.text())
def test_any_text_is_looked_up(note: str, path: str) -> None:
    """Whatever note and path hold, there is an answer; the note's own path is always known."""
    titles = NoteTitles(note, "work", "a/b.md")
    assert titles.holds(path) in {True, False}
    assert titles.holds("a/b.md")
