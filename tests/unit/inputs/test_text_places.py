"""Headings that are found by the place of a passage's text in its note."""

from __future__ import annotations

import time

from msgspec.structs import replace

from builders import make_vault
from raggate.inputs.notes import JUDGED_CHARACTERS, JUDGED_CHUNKS, MAX_NOTE_CHARACTERS
from raggate.inputs.text_places import MOST_PLACES, finder, with_headings
from raggate.models.run import Chunk, Response, Result
from tables import each_row

BREAD = """\
---
title: Loaves
---
Before any heading stands a line of its own.

# Bread

All about bread, in three sections below.

## Sourdough

Let the [dough](dough.md) rest for **eighteen hours** in the cold cellar.
Then shape it.

- Use rye flour, always.
- Stored cold.

## Yeast

Let it rise twice.

```sh
# Bake it
bake --hot the loaf at two hundred and thirty degrees
```

Stored cold.

### Rolls

Twelve rolls of eighty grams each go on one tray.

## Yeast

Rise it only once, and bake at once after that, please.
"""
SOURDOUGH = "# Bread > ## Sourdough"


@each_row(
    ("told", "text", "headings"),
    [
        # what engines return
        ("", "Let the [dough](dough.md) rest for **eighteen hours** in the cold cellar.\nThen shape it.", SOURDOUGH),
        ("# Bread", "## Sourdough\n\nLet the [dough](dough.md) rest for **eighteen hours**", SOURDOUGH),
        ("Sourdough", "Then shape it.", SOURDOUGH),
        ("", "# Bread\n\nAll about bread, in three sections below.", "# Bread"),
        ("/", "All about bread, in three sections below.", "# Bread"),
        # what is told in full stays, and what contradicts the note too
        (SOURDOUGH, "Then shape it.", None),
        ("# Bread > ## Sourdough > ### More", "Then shape it.", None),
        ("# Cakes", "Then shape it.", None),
        # other white space, no markup, other case
        ("", "let  the dough\t rest for eighteen\n\nhours in the cold cellar. Then shape it", SOURDOUGH),
        ("", "Use rye flour, always. Stored cold.", SOURDOUGH),
        ("", "Let the [dough](https://b.example/dough) rest for eighteen hours in the cold cellar.", SOURDOUGH),
        # cut within words, and with an ellipsis
        ("", "…he [dough](dough.md) rest for **eighteen hours** in the cold cell…", SOURDOUGH),
        ("", "hape it.", None),
        # in a fence what looks like a heading is none
        ("", "# Bake it\nbake --hot the loaf at two hundred", "# Bread > ## Yeast"),
        # of two sections the one that holds most of it
        (
            "",
            "Stored cold.\n\n### Rolls\n\nTwelve rolls of eighty grams each go on one tray.",
            "# Bread > ## Yeast > ### Rolls",
        ),
        ("", "Then shape it.\n\n- Use rye flour, always.\n- Stored cold.\n\n## Yeast\n\nLet", SOURDOUGH),
        # in two sections: no place, unless the headings that are told leave one
        ("", "Stored cold.", None),
        ("# Bread", "Stored cold.", None),
        ("Sourdough", "Stored cold.", SOURDOUGH),
        ("", "Yeast", "# Bread > ## Yeast"),
        # nowhere
        ("", "Before any heading stands a line of its own.", None),
        ("", "Before any heading stands a line of its own.\n\n# Bread", None),
        ("", "Loaves", None),
        ("", "A text of another note, of which not a word stands here.", None),
        ("", "", None),
        ("", "…", None),
        ("", "\x00\ud800 []()", None),
    ],
)
def test_the_place_of_a_text(told: str, text: str, headings: str | None) -> None:
    """Headings are found where the words stand in one section alone, and only more than those that are told."""
    assert finder(make_vault({"a/Bread.md": BREAD}))("a", "Bread.md", told, text) == headings


@each_row(
    ("vault", "path", "headings"),
    [
        ("a", "Same.md", "# One"),
        ("b", "Same.md", "# Two"),
        # nobody knows of which vault it is
        (None, "Same.md", None),
        (None, "Often.md", None),
        ("a", "Often.md", "# Once > ### Deep"),
        (None, "Only.md", "# Only"),
        ("b", "Only.md", None),
        ("c", "Only.md", None),
        ("a", "None.md", None),
        ("a", "", None),
    ],
)
def test_the_note_of_a_text(vault: str | None, path: str, headings: str | None) -> None:
    """A text is looked up in the note that its passage names, in its vault or in all, and nowhere else."""
    same = {"a/Same.md": "# One\n\ntext", "b/Same.md": "# Two\n\ntext", "a/Only.md": "# Only\n\ntext"}
    often = "# Often\n\n" + "text\n" * (MOST_PLACES + 1)
    notes = make_vault({**same, "a/Often.md": "# Once\n\n### Deep\n\ntext", "b/Often.md": often})
    assert finder(notes)(vault, path, "", "text") == headings


def test_a_result_keeps_what_is_told() -> None:
    """Of an answer only those passages change whose headings were found, and their places are kept."""
    told = Chunk(chunk_id="1", rel_path="Bread.md", heading_path=SOURDOUGH, text="Then shape it.")
    bare = replace(told, chunk_id="2", heading_path="")
    stray = replace(bare, chunk_id="3", rel_path="")
    chunks = (told, bare, stray)
    response = Response(chunks=chunks)
    result = Result(case_id="q", mode="m", response=response, failure=None, retries=0, elapsed_ms=1)
    find = finder(make_vault({"a/Bread.md": BREAD}))
    found = with_headings(result, find).response
    assert found == Response(chunks=(told, replace(bare, heading_path=SOURDOUGH), stray), found_headings=(1,))
    failed = replace(result, response=None)
    assert with_headings(failed, find) is failed
    same = replace(result, response=Response(chunks=(told, stray)))
    assert with_headings(same, find) is same


def test_the_start_of_a_long_text_and_the_first_chunks_are_looked_up() -> None:
    """What comes later of a text may stand nowhere, and what comes later of an answer stays as it is."""
    long = " ".join(f"word{number}" for number in range(JUDGED_CHARACTERS // 5))
    find = finder(make_vault({"a/Long.md": f"# A\n\n{long}"}))
    assert find("a", "Long.md", "", f"{long} and more that is not there") == "# A"
    chunk = Chunk(chunk_id="1", rel_path="Long.md", heading_path="", text="word7")
    response = Response(chunks=(chunk,) * (JUDGED_CHUNKS + 1))
    result = Result(case_id="q", mode="m", response=response, failure=None, retries=0, elapsed_ms=1)
    found = with_headings(result, find).response
    assert found is not None
    assert found.found_headings == tuple(range(JUDGED_CHUNKS))
    assert found.chunks[-1] == chunk


def test_hostile_sizes_take_bounded_time() -> None:
    """A note above the bound is not looked at, the longest one below it and a text of a megabyte take seconds."""
    last = "here it stands once alone"
    longest = "# A\n\n" + "word " * ((MAX_NOTE_CHARACTERS - 40) // 5) + last
    larger = longest + " " * MAX_NOTE_CHARACTERS
    find = finder(make_vault({"a/Longest.md": longest, "a/Larger.md": larger, "a/Headings.md": "# A\n" * 50_000}))
    begin = time.process_time()
    texts = [("Longest", last), ("Larger", last), ("Headings", "A"), ("Longest", "word " * 250_000)]
    found = [find("a", f"{name}.md", "", text) for name, text in (*texts, ("Longest", "[" * 1_000_000))]
    assert found == ["# A", None, None, None, None]
    assert time.process_time() - begin < 30
