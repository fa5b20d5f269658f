"""Faults of contents: texts, headings and vaults of the chunks, and what an answer says of abstaining."""

from __future__ import annotations

from msgspec.structs import replace

from builders import make_chunk, make_chunks, make_response
from raggate.models.run import Reference
from raggate.prove import contents
from tables import each_row

VAULTS = ("personal", "work")


@each_row(
    ("text", "half"),
    [("one two three four", "one two"), ("one two three", "one two"), ("one", "one"), ("", "")],
)
def test_an_outdated_note_has_the_first_half_of_its_text(text: str, half: str) -> None:
    """The second half was not written yet; what is left still stands in the note."""
    assert contents.first_half(make_chunk(text=text)).text == half


@each_row(
    ("length", "text"),
    [(100, "one two three"), (13, "one two three"), (7, "one two"), (9, "one two"), (2, "on"), (4, "one")],
)
def test_a_cut_text_ends_with_a_word(length: int, text: str) -> None:
    """A text is cut between two words where there are several, so that what is left stands in the note."""
    assert contents.text_cut(make_chunk(text="one two three"), length).text == text


def test_of_a_heading_path_the_title_is_left() -> None:
    """The path of a section becomes that of its note's title; one of a title stays."""
    assert contents.title_alone(make_chunk(heading_path="# A > ## B > ### C")).heading_path == "# A"
    assert contents.title_alone(make_chunk(heading_path="# A")).heading_path == "# A"
    assert contents.title_alone(make_chunk(heading_path="")).heading_path == ""


def test_the_next_vault_is_told() -> None:
    """Each vault is taken for the next, the last for the first; one that is not told or not known stays."""
    told = [contents.other_vault(make_chunk(vault=vault), VAULTS).vault for vault in ("personal", "work", None, "x")]
    assert told == ["work", "personal", None, "x"]
    assert contents.other_vault(make_chunk(vault="work"), ("work",)).vault == "work"


def test_a_removed_note_stands_above_the_others() -> None:
    """A note that the vault does not have comes first, and the last chunk is gone; an empty list stays empty."""
    response = contents.removed_note_back(make_response(*make_chunks("a.md", "b.md", "c.md")))
    assert [chunk.rel_path for chunk in response.chunks] == ["a (removed).md", "a.md", "b.md"]
    assert [chunk.rank for chunk in response.chunks] == [1, 2, 3]
    assert len({chunk.chunk_id for chunk in response.chunks}) == 3
    assert contents.removed_note_back(make_response()) == make_response()


def test_abstaining_cites_nothing_and_keeps_what_was_retrieved() -> None:
    """An answer that abstains by fault breaks no invariant by itself; one that never does says no reason."""
    cited = Reference(vault="work", rel_path="a.md", heading_path="# A", chunk_index=0)
    answer = replace(make_response(make_chunk()), answer="It is so.", references=(cited,))
    silent = contents.abstaining(answer)
    assert (silent.abstained, silent.answer, silent.references) == (True, "", ())
    assert silent.chunks == answer.chunks
    assert contents.abstaining(make_response()).answer is None
    loud = contents.answering(replace(silent, abstain_reason="no context"))
    assert (loud.abstained, loud.abstain_reason) == (False, None)
