"""basic-memory, a search of Markdown notes that others maintain, gated over MCP and HTTP as its example shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from field.worked_example import ROOT, Example, Output, as_shown, blocks, expected_codes

pytestmark = [pytest.mark.field, pytest.mark.timeout(600)]

NAME = "basic-memory"
NOTES = "golden/vault/work"
SHOWN, FAULT, REST = blocks(NAME)


@pytest.fixture(scope="module")
def shown(field_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Example, Output]:
    """The first commands of the README, run."""
    return as_shown(NAME, tmp_path_factory.mktemp(NAME), field_programs)


@pytest.fixture
def promoted(shown: tuple[Example, Output], tmp_path: Path) -> Example:
    """The example with its baseline, to be changed."""
    return shown[0].copied(tmp_path / "try")


def notes(root: Path) -> dict[str, bytes]:
    """Read the notes below a directory."""
    return {str(file.relative_to(root)): file.read_bytes() for file in (root / NOTES).rglob("*") if file.is_file()}


def hits_at_5(example: Example, run: Path | None = None) -> float:
    """Return the share of questions whose note a run found; of the newest run unless one is named."""
    return float(next(row["current"] for row in example.verdict(run)["metrics"] if row["metric"] == "hit_at_5"))


def test_the_readme_is_true(shown: tuple[Example, Output]) -> None:
    """The first run cannot tell, for want of a baseline; promoted, the same notes pass, and 54 of 87 hit."""
    example, output = shown
    assert output.codes == expected_codes(SHOWN), output.text
    assert "first run? Review it, then: raggate promote" in output.text
    assert hits_at_5(example) == pytest.approx(54 / 87, abs=0.0001)


def test_the_notes_are_left_as_they_are(shown: tuple[Example, Output]) -> None:
    """Nothing was written into the notes, which basic-memory does unless its configuration says otherwise."""
    assert notes(shown[0].root) == notes(ROOT)


def test_notes_that_are_left_out_of_the_index_are_red(promoted: Example) -> None:
    """Without the runbooks in the index seven of their questions break, and the size of the index is the cause."""
    output = promoted.run(FAULT)
    assert output.codes == expected_codes(FAULT), output.text
    broken = [flip["gold"] for flip in promoted.verdict()["flips"] if flip["kind"] == "broke"]
    assert sum("work/Runbooks/" in note for note in broken) >= 7
    assert "the index has 71 documents of the same notes, 81 before" in promoted.likely_cause()


def test_the_http_api_finds_what_mcp_finds(shown: tuple[Example, Output], promoted: Example) -> None:
    """Asked over HTTP the same notes are found, and runbooks that are left out are red with the same cause."""
    output = promoted.run(REST, seconds=500)
    assert output.codes == expected_codes(REST), output.text
    _, green, _ = promoted.runs()
    assert hits_at_5(promoted, green) == hits_at_5(shown[0])
    assert "the index has 71 documents of the same notes, 81 before" in promoted.likely_cause()


def test_a_search_of_titles_alone_is_red(promoted: Example) -> None:
    """Another search type finds nothing for whole questions, and that is what is said."""
    promoted.edit("raggate.yml", '{query: "{question}"', '{search_type: title, query: "{question}"')
    assert promoted.check() == 1
    assert "Most likely cause: nothing comes back any more for any question asked" in promoted.likely_cause()


def test_an_index_of_older_notes_breaks_an_invariant(promoted: Example) -> None:
    """Passages of runbooks as they were before stand in no note: that is worse than a regression, and said first."""
    old = promoted.root / "old"
    Example(promoted.root).run([f"cp -r {NOTES} old"])
    for note in (old / "Runbooks").rglob("*.md"):
        note.write_text(f"# Draft\n\nThis runbook on {note.stem} is still to be written.\n", encoding="utf-8")
    promoted.edit("raggate.yml", '"{vault.work}"', f'"{old}"')
    assert promoted.check() == 4
    assert "returned text that is not in the note" in promoted.verdict()["headline"]
