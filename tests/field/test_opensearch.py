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


def test_a_field_that_is_dropped_is_red(promoted: Example) -> None:
    """Sections come back without their headings: that is the cause, and a reason says so too."""
    promoted.edit("index.py", '"headings": headings, ', "")
    assert promoted.check() == 1
    assert "the note came back under a heading that does not name the section" in promoted.likely_cause()
    assert "field-vanished" in {reason["code"] for reason in promoted.verdict()["reasons"]}


def test_another_analyzer_is_red(promoted: Example) -> None:
    """Texts that are indexed as one word each are found by nothing."""
    promoted.edit("mapping.json", '"english"', '"keyword"')
    assert promoted.check() == 1
    assert "nothing comes back any more for any question asked" in promoted.likely_cause()


def test_an_analyzer_without_stems_is_red(promoted: Example) -> None:
    """What only ranks otherwise is red, and raggate says that it does not see why."""
    promoted.edit("mapping.json", '"english"', '"whitespace"')
    assert promoted.check() == 1
    assert promoted.likely_cause().startswith("No single cause shows")


def test_a_stale_index_is_red(promoted: Example) -> None:
    """An index from before the runbooks were written lacks their notes, and their number is told."""
    promoted.edit("index.py", 'directory.rglob("*.md")', 'directory.rglob("[!R]*/**/*.md")')
    assert promoted.check() == 1
    assert "documents of the same notes, 160 before" in promoted.likely_cause()
