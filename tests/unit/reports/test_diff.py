"""Two builds side by side, for people and programs: the matrix, and foreign text that stays text."""

from __future__ import annotations

import json
from pathlib import Path

from raggate.models.public_verdict import Side, SideBySide
from raggate.models.verdict import Review
from raggate.reports import diff
from rendered import problems
from reviews import HOSTILE, hostile, review

BASE = Side(kind="revision", name="main", commit="a" * 40, run_id="20260101_090000", directory=Path("runs/base"))
HEAD = Side(kind="working tree", name=".", commit="b" * 40, run_id="20260101_090100", directory=Path("runs/head"))


def both(given: Review, name: str = "main") -> SideBySide:
    """Build a comparison whose head was reviewed so."""
    base = Side(kind="image", name=name, commit=None, run_id=name, directory=Path("runs/base"))
    return SideBySide(base=BASE if name == "main" else base, head=HEAD, review=given)


def test_the_matrix_has_a_column_for_each_mode() -> None:
    """A metric that did not move is one value, one that did is both with their difference, and none is a dash."""
    modes, rows = diff.matrix(both(review("several-modes")))
    assert modes[:2] == ["hybrid", "bm25"] or set(modes) >= {"bm25", "hybrid"}
    by_metric = {row[0]: dict(zip(modes, row[1:], strict=True)) for row in rows}
    assert by_metric["hit@5"] == {"bm25": "96.0%", "hybrid": "96.0 → 80.0% (−16.0 pt)", "old": "96.0% → –"}


def test_the_terminal_shows_it_for_several_modes() -> None:
    """Both sides come first; of one mode the table of metrics below says all, so there is no matrix."""
    text = diff.render_terminal(both(review("several-modes")), width=80)
    lines = text.splitlines()
    assert lines[1:3] == [
        "base: revision main (aaaaaaaaaaaa) (run 20260101_090000)",
        "head: the working tree (run 20260101_090100)",
    ]
    assert lines[4].split()[0] == "metric"
    assert "hit@5" in text
    assert len(diff.render_terminal(both(review("regression")), width=80).splitlines()) == 3


def test_programs_read_the_same() -> None:
    """The document has both sides, and the verdict on the head with every gated metric of every mode."""
    document = json.loads(diff.render_json(both(review("regression"))))
    assert document["schema"] == "raggate/diff/1"
    side = {"kind": "revision", "name": "main", "commit": "a" * 40, "run_id": "20260101_090000"}
    assert document["base"] == side
    assert document["verdict"]["outcome"] == "regression"
    assert document["verdict"]["run_directory"] == "head"
    rows = [row for row in document["verdict"]["metrics"] if row["slice"] == "overall" and row["metric"] == "hit_at_5"]
    assert [(row["mode"], row["baseline"], row["status"]) for row in rows] == [("hybrid", 0.96, "worse")]


def test_foreign_text_is_only_text() -> None:
    """Names of images, modes and metrics may hold anything, and become no Markdown, no escape code and no new line."""
    given = both(hostile(), name=HOSTILE)
    assert list(problems(diff.render_markdown(given))) == []
    terminal = diff.render_terminal(given, width=120)
    assert "\x1b" not in terminal
    assert "\u202e" not in terminal
    assert all(not line.startswith(("::", "##[")) for line in terminal.splitlines())
