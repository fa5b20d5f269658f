"""Hybrid search of passages that people judged, with real embeddings, gated as its example shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from field.worked_example import Example, Output, as_shown, blocks, expected_codes

pytestmark = [pytest.mark.field, pytest.mark.timeout(1800)]

NAME = "hybrid"
SHOWN, FAULT = blocks(NAME)
OTHER_VECTORS = "the same passages have other vector scores (in an index of the same size) in modes hybrid and vector"
OTHER_WORDS = "the same passages have other lexical scores (in an index of the same size) in modes hybrid and lexical"


@pytest.fixture(scope="module")
def shown(hybrid: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Example, Output]:
    """The first commands of the README, run."""
    # where no vectors are kept yet, the first start embeds all passages
    return as_shown(NAME, tmp_path_factory.mktemp(NAME), environment=hybrid, seconds=1500)


@pytest.fixture
def promoted(shown: tuple[Example, Output], tmp_path: Path) -> Example:
    """The example with its baseline, to be changed."""
    return shown[0].copied(tmp_path / "try")


def test_the_readme_is_true(shown: tuple[Example, Output]) -> None:
    """84 questions of 86 are imported, the first run cannot tell, the second passes, and hybrid ranks best by nDCG."""
    example, output = shown
    assert output.codes == expected_codes(SHOWN), output.text
    assert "84 added, 0 there already, 2 undecided" in output.text
    ndcg = {row["mode"]: row["current"] for row in example.verdict()["metrics"] if row["metric"] == "ndcg_at_10"}
    expected = {"hybrid": 0.706, "vector": 0.699, "lexical": 0.670}
    # the engine's vectors differ from one processor to the next in their last digits
    assert ndcg == pytest.approx(expected, abs=0.01)


def test_vectors_that_are_left_out_are_red(promoted: Example) -> None:
    """Hybrid search goes on with full text alone; mode vector shows it, and so does the score that is gone."""
    output = promoted.run(FAULT)
    assert output.codes == expected_codes(FAULT), output.text
    cause = "nothing comes back any more for any question asked (for 84 questions before) in mode vector"
    assert cause in promoted.likely_cause()
    fields = [reason["message"] for reason in promoted.verdict()["reasons"] if reason["code"] == "field-vanished"]
    assert "score_vector (hybrid)" in fields[0]


NORMALISED = "return vectors / numpy.linalg.norm(vectors, axis=-1, keepdims=True)"
SORTED = 'sorted(Path(directory).glob("*.md"))'


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        pytest.param("tokens.mean(axis=0)", "tokens[0]", OTHER_VECTORS, id="questions-pooled-otherwise-than-passages"),
        pytest.param(NORMALISED, "return vectors", OTHER_VECTORS, id="vectors-of-other-lengths"),
        pytest.param('"porter unicode61"', '"unicode61"', OTHER_WORDS, id="an-analyzer-without-stems"),
        pytest.param('"porter unicode61"', "\"unicode61 tokenchars ' '\"", OTHER_WORDS, id="whole-lines-are-one-word"),
        pytest.param(
            SORTED,
            f"{SORTED}[:5000]",
            "the index has 5000 documents of the same notes, 6011 before",
            id="stale-index",
        ),
        pytest.param(
            'kind="stable")[:DEPTH]',
            'kind="stable")[:DEPTH] - 1',
            "What caused it does not show: passages with lower scores came back",
            id="each-vector-leads-to-the-passage-before-its-own",
        ),
    ],
)
def test_a_fault_is_red_with_its_cause(promoted: Example, old: str, new: str, said: str) -> None:
    """One edit of the search is red, and the report names what it did, or says that it does not see it."""
    promoted.edit("search.py", old, new)
    assert promoted.check() == 1
    assert said in promoted.likely_cause()


def test_truncated_passages_are_red(promoted: Example) -> None:
    """Passages cut to 200 characters still stand in their notes, so only scores tell; both sides have others."""
    promoted.edit("search.py", '[path.read_text(encoding="utf-8") for', '[path.read_text(encoding="utf-8")[:200] for')
    assert promoted.run(["raggate check"], seconds=1500).codes == [1]
    assert "other vector and lexical scores" in promoted.likely_cause()
