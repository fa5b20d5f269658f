"""What `raggate lint` and `raggate golden` print of notes, answers and files is harmless for terminals and logs."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from builders import make_case, make_chunk, make_support
from raggate.base.errors import UsageError
from raggate.cli import golden
from raggate.inputs.authoring.passages import Passage, passages
from raggate.inputs.authoring.proposals import Proposal
from raggate.models.golden import Vault
from tries import tried

FOREIGN = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    st.lists(
        st.sampled_from(
            ["::error::x", "\n", "\r", "\x1b[2J", "##[error]", "\u202e", "%0A", ",line=9", "a", "\0", "::"]
        ),
        min_size=1,
        max_size=6,
    ).map("".join),
)
PASSAGE = Passage("a", "n.md", ("A",), 1, "text")
NOWHERE = Vault(directories={}, texts={}, notes={}, hash="")


def harmless(shown: str) -> bool:
    """Return whether no line holds what cannot be seen, but for the mark that breaks a command, or an old command."""
    lines = shown.split("\n")
    return all(line.replace("\u200b", "").isprintable() and "##[" not in line for line in lines)


@given(FOREIGN, FOREIGN)
@tried(40)
def test_passages_and_proposals(place: str, text: str) -> None:
    """Whatever a note or an answer holds, its lines are as many as there are things to show, and no commands."""
    case = make_case("p", question=text, gold_supports=(make_support(place, text),))
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        golden.show([golden.Row(place, text, PASSAGE), golden.Row(place, text, None)])
        golden._show(Proposal("00000000", "list", text, case))
    assert harmless(stream.getvalue())
    assert stream.getvalue().count("\n") == 7
    assert not any(line.startswith("::") for line in stream.getvalue().splitlines())


def test_a_passage_that_cannot_be_named() -> None:
    """What stands below no heading of the notes cannot be picked, and neither can a number that is not shown."""
    rows = [golden.Row("x", "text", None)]
    for number, message in ((1, "under no heading of the vault"), (2, "there is no passage 2, only 1")):
        with pytest.raises(UsageError, match=message):
            golden.supports_of(rows, [number], NOWHERE)


def test_a_passage_of_an_api_without_headings() -> None:
    """Where no headings are read from answers a passage can be picked by its note alone, as long as there is one."""
    text = "# A\nOne.\n\n# B\nTwo.\n"
    chunks = [make_chunk(rel_path=path, heading_path="", text=text) for path in ("n.md", "m.md", "x.md")]
    notes = {("a", "n.md"): text, ("a", "m.md"): text, ("b", "m.md"): text}
    vault = Vault(directories={name: Path(name) for name in "ab"}, texts=notes, notes={}, hash="")
    known = passages(vault)
    asked = [golden.rows_of(chunks, known, vault, by_heading=by_heading) for by_heading in (True, False)]
    assert [[row.passage and row.passage.support(vault) for row in rows] for rows in asked] == [
        [None, None, None],
        [make_support("n.md", None), None, None],
    ]
