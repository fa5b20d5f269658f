"""OpenSearch over the sections of this repository's notes, gated as its example shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from field.worked_example import Example, Output, as_shown, blocks, expected_codes

pytestmark = [pytest.mark.field, pytest.mark.timeout(600)]

NAME = "opensearch"
SHOWN, FAULT = blocks(NAME)


@pytest.fixture(scope="module")
def shown(opensearch: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Example, Output]:
    """The first commands of the README, run."""
    return as_shown(NAME, tmp_path_factory.mktemp(NAME), environment={"OPENSEARCH_JARS": str(opensearch)})


@pytest.fixture
def promoted(shown: tuple[Example, Output], tmp_path: Path) -> Example:
    """The example with its baseline, to be changed."""
    return shown[0].copied(tmp_path / "try")


def test_the_readme_is_true(shown: tuple[Example, Output]) -> None:
    """The first run cannot tell, for want of a baseline; promoted, the same index passes, and seven of ten hit."""
    example, output = shown
    assert output.codes == expected_codes(SHOWN), output.text
    hits = next(row for row in example.verdict()["metrics"] if row["metric"] == "hit_at_5")
    assert hits["current"] == pytest.approx(121 / 174, abs=0.0001)


def test_a_phrase_query_is_red(promoted: Example) -> None:
    """Questions as phrases stand in no note, and that is what is said."""
    output = promoted.run(FAULT)
    assert output.codes == expected_codes(FAULT), output.text
    assert "Most likely cause: fewer distinct passages come back (9.6 → 0.0 on average)" in promoted.likely_cause()


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("index.py", '"headings": headings, ', "", "the note came back under a heading that does not name the section"),
        ("mapping.json", '"english"', '"keyword"', "nothing comes back any more for any question asked"),
        ("mapping.json", '"english"', '"whitespace"', "No single cause shows"),
        (
            "index.py",
            'directory.rglob("*.md")',
            'directory.rglob("[!R]*/**/*.md")',
            "documents of the same notes, 160 before",
        ),
    ],
    ids=["a-field-is-dropped", "texts-are-one-word-each", "an-analyzer-without-stems", "an-index-without-runbooks"],
)
def test_a_fault_is_red_with_its_cause(promoted: Example, name: str, old: str, new: str, said: str) -> None:
    """One edit of the index is red, and the report names what it did, or says that it does not see it."""
    promoted.edit(name, old, new)
    assert promoted.check() == 1
    assert said in promoted.likely_cause()
