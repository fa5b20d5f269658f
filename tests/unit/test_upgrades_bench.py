"""The bench of upgrades: what is pinned, what the table shows, and how its truth is scored."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.upgrades.__main__ import HERE, pairs
from benchmarks.upgrades.truth import chance, is_true, ndcg, truth_of

README = Path(__file__).parents[2] / "benchmarks" / "README.md"


def case(name: str, *snippets: str) -> dict[str, object]:
    """Return a question whose passages hold these texts."""
    return {"id": name, "gold_supports": [{"rel_path": "a.md", "snippets": [text]} for text in snippets]}


def hit(text: str, path: str = "a.md") -> dict[str, str]:
    """Return a hit."""
    return {"path": path, "text": text}


def test_the_table_has_every_pair() -> None:
    """At least twelve pairs of six libraries, each side one version, each with its retriever and its row."""
    every = list(pairs())
    libraries = {pair.old[0].partition("==")[0] for pair in every}
    assert len(every) >= 12
    assert len(libraries) >= 6
    section = README.read_text(encoding="utf-8").partition("\n## upgrades\n")[2].partition("\n## ")[0]
    rows = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| ")]
    assert rows == ["| upgrade", *(f"| {pair.words}" for pair in every)]
    for pair in every:
        assert all(line.count("==") == 1 for line in (*pair.old, *pair.new))
        assert pair.old != pair.new
        assert (HERE / "retrievers" / f"{pair.retriever}.py").is_file()


def test_the_truth_is_of_snippets() -> None:
    """A passage is found in the right note, across line breaks, and counts once; questions without one do not count."""
    asked = [case("1", "two eggs", "one cup"), case("2", "salt"), {"id": "3", "gold_supports": None}]
    old = {"1": [hit("x"), hit("two\neggs"), hit("two eggs"), hit("one cup")], "2": [hit("salt")]}
    new = {"1": [hit("two eggs, one cup")], "2": [hit("salt", "b.md")]}
    truth = truth_of(asked, old, new)
    ideal = 1 + 0.63093
    assert truth.hits == (1, 0.5)
    assert truth.gains == (pytest.approx((1.06161 / ideal + 1) / 2, abs=1e-4), pytest.approx(1 / ideal / 2, abs=1e-4))
    assert (truth.lost, truth.won, truth.equal, truth.answers, truth.worse) == (1, 0, False, True, True)
    assert truth_of(asked, old, old).equal
    assert not truth_of(asked, old, None).answers
    assert not truth_of(asked, old, {"1": [], "2": []}).answers


def test_chance_is_that_of_random_signs() -> None:
    """Five losses of the same size happen once in 32 times; as many gains as losses are nothing."""
    assert chance([-1.0] * 5) == pytest.approx(1 / 32, abs=0.004)
    assert chance([-1.0, 1.0]) == pytest.approx(0.75, abs=0.02)
    assert chance([0.0]) == 1
    assert ndcg([0, 1], 1) == pytest.approx(0.63093, abs=1e-5)


def test_a_verdict_is_true_if_it_says_what_is_so() -> None:
    """Red is true of a loss, green of none; a verdict that cannot tell is true if nothing answers."""
    asked, good = [case("1", "salt")], {"1": [hit("salt")]}
    loss, none, dead = (truth_of(asked, good, new) for new in ({"1": [hit("x")]}, good, None))
    kinds = ("regression", "pass", "cannot tell")
    assert [is_true(kind, loss) for kind in kinds] == ["yes", "no", "open"]
    assert [is_true(kind, none) for kind in kinds] == ["no", "yes", "open"]
    assert [is_true(kind, dead) for kind in kinds] == ["no", "no", "yes"]
