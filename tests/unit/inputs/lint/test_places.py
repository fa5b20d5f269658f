"""Gold supports that name several places at once, and notes that no question is about."""

from __future__ import annotations

from pathlib import Path

from builders import make_case, make_golden, make_support
from raggate.inputs.lint.places import check_notes, check_supports
from raggate.models.golden import Support, Vault

TWICE = "# Trip\n\n## Day\nrain\n\n## Day\nsun\n"


def vault(**texts: dict[str, str]) -> Vault:
    """Build a vault of notes, by the names of vault and note."""
    notes = {(name, path): text for name, its in texts.items() for path, text in its.items()}
    return Vault(directories={name: Path(name) for name in texts}, texts=notes, notes={}, hash="")


def found(support: Support, notes: Vault, **fields: object) -> list[tuple[str, str, int, str]]:
    """Return what is found of a case with one support: check, path, line and message."""
    golden = make_golden(make_case(gold_supports=(support,), line=4, **fields))
    folders = {name: f"vault/{name}" for name in notes.directories}
    findings = [*check_supports(golden, notes, "g"), *check_notes(golden, notes, folders)]
    return [(item.check, item.path, item.line, item.message) for item in findings]


def test_a_heading_that_stands_twice() -> None:
    """Two sections of one path are told with their lines; a snippet that one of them alone has says which is meant."""
    notes = vault(a={"t.md": TWICE})
    day = make_support("t.md", "# Trip > ## Day")
    assert found(day, notes) == [
        ("ambiguous-anchor", "g", 4, "'t.md' has the heading '# Trip > ## Day' in lines 3 and 6")
    ]
    assert found(make_support("t.md", "# Trip > ## Day", snippets=("sun",)), notes) == []
    assert found(make_support("t.md", "# Trip"), notes) == []
    assert found(make_support("t.md", None), notes) == []


def test_text_before_the_title_is_no_other_place() -> None:
    """What stands before the first heading is filed under it, and is the same place."""
    assert found(make_support("t.md", "# A"), vault(a={"t.md": "---\nx: 1\n---\nbefore\n\n# A\ntext\n"})) == []


def test_a_note_of_several_vaults() -> None:
    """A path that two vaults have is two places, until the support or the case names one."""
    notes = vault(a={"t.md": "# A\n"}, b={"t.md": "# A\n"})
    assert found(make_support("t.md"), notes) == [("ambiguous-anchor", "g", 4, "'t.md' is in the vaults a and b")]
    unasked = ("unasked-note", "vault/b/t.md", 1, "no question of the suite names this note")
    assert found(make_support("t.md", vault="a"), notes) == [unasked]
    assert found(make_support("t.md"), notes, vaults=("a",)) == [unasked]


def test_notes_without_a_question() -> None:
    """Every note that no support names is told by its own path."""
    notes = vault(a={"t.md": TWICE, "x/y.md": "# Y\n"})
    assert found(make_support("t.md", "# Trip"), notes) == [
        ("unasked-note", "vault/a/x/y.md", 1, "no question of the suite names this note")
    ]
    # what the API calls by an id of its own may be any of them
    assert found(Support(rel_path="", doc_id="7"), notes) == []


def test_a_heading_that_another_one_reads_as() -> None:
    """A gold section is named where its note has one that differs in capitals or markup alone; other words do not."""
    notes = vault(a={"t.md": "# Trip\n\n## Set up\n\nx\n\n## **SET** up\n\ny\n\n## Setup\n\nz\n"})
    (finding,) = found(make_support("t.md", "# Trip > ## Set up"), notes)
    assert finding == (
        "look-alike-heading",
        "g",
        4,
        "'t.md' has the heading '# Trip > ## Set up' and that of line 7, which differ in capitals or markup alone",
    )
    assert found(make_support("t.md", "# Trip > ## Setup"), notes) == []


def test_a_heading_that_is_copied_from_the_file_stands_twice_too() -> None:
    """A heading with its id and markup names the sections that have it, as it does when it is written as shown."""
    notes = vault(a={"t.md": TWICE.replace("## Day", "## *Day* {#day}")})
    assert [check for check, *_ in found(make_support("t.md", "# Trip > ## *Day* {#day}"), notes)] == [
        "ambiguous-anchor"
    ]
    assert [check for check, *_ in found(make_support("t.md", "# Trip > ## Day"), notes)] == ["ambiguous-anchor"]
