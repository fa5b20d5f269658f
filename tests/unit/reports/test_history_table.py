"""The history of a baseline as a table: which columns, which marks, and harmless text."""

from __future__ import annotations

from hypothesis import given, strategies as st

from histories import history, revision
from raggate.models.history import History
from raggate.reports import history_table
from tables import each_row


def text(told: History, width: int = 140) -> str:
    """Render every column for a terminal."""
    return history_table.render_text(told, history_table.columns(told, lambda _: True), width=width)


FOUR = history(
    revision(4, {"hit_at_5": 0.9, "miss_rate": 0.2}, cases=9, golden="other"),
    revision(3),
    revision(2, {"hit_at_5": 0.8, "miss_rate": 0.1}),
    revision(1, {"hit_at_5": 0.8, "miss_rate": 0.3}),
)


def test_text() -> None:
    """A version a row: date, commit, run, cases, then a column for every metric, with what changed marked."""
    assert text(FOUR).splitlines() == [
        "date        commit    run         cases  hit@5   miss rate",
        "2026-01-04  44444444  run-4          9*  90.0%▲  0.200▼",
        "2026-01-03  33333333  unreadable      –  –       –",
        "2026-01-02  22222222  run-2          10  80.0%   0.100▲",
        "2026-01-01  11111111  run-1          10  80.0%   0.300",
        "",
        "▲ better, ▼ worse than in the version before.",
        "* Another golden set than in the version before: the two were not asked the same.",
        "unreadable 33333333 not valid JSON",
    ]


def test_marks_look_past_what_cannot_be_read() -> None:
    """A value is compared with the last one known, over versions without it; float noise is no change."""
    told = history(
        revision(4, {"a": 0.1 + 0.2}), revision(3, {"a": None}), revision(2), revision(1, {"a": 0.3, "b": 1.0})
    )
    (column,) = history_table.columns(told, lambda name: name == "a")
    assert history_table.marks(told, column) == {}
    lower = history(revision(2, {"a": 0.2}), *told.revisions[2:])
    assert history_table.marks(lower, column) == {"2" * 40: "▼"}


def test_columns_of_several_modes() -> None:
    """With several modes each has its own columns, named with the mode; a metric without any value has none."""
    told = history(
        revision(2, modes={"hybrid": {"a": 0.5, "b": None}, "bm25": {"a": 0.4}}), revision(1, {"a": 0.5, "c": 0.1})
    )
    names = [column.name for column in history_table.columns(told, lambda name: name != "x")]
    assert names == ["a (hybrid)", "c (hybrid)", "a (bm25)"]
    assert "(bm25)" in text(told)


@each_row("width", [10, 60, 80, 200])
def test_what_has_no_room_follows_below(width: int) -> None:
    """No line is wider than the terminal (60 columns are taken for granted), and no value is lost."""
    values = {f"a_metric_of_some_{number}": number / 100 for number in range(12)}
    shown = text(history(revision(1, dict(values))), width)
    assert max(len(line) for line in shown.splitlines()) <= max(width, 60)
    for value in values.values():
        assert f"{value:.3f}" in shown
    assert shown.count("2026-01-01") == sum(line.startswith("date") for line in shown.splitlines())


@each_row(("field", "said"), [("more", "--limit shows more"), ("shallow", "The clone is shallow")])
def test_what_is_missing_is_said(field: str, said: str) -> None:
    """A cut history and a shallow clone say so below the table, and otherwise nothing does."""
    one = revision(1, {"a": 0.5})
    assert said in text(history(one, **{field: True}))
    assert said not in text(history(one))


@given(st.text(max_size=60) | st.sampled_from(["::error::x", "\x1b[31m", "a|b\n\n# x", "@team <img src=x>"]))
def test_hostile_text(foreign: str) -> None:
    """A run, a mode, a metric and a reason that are anything at all command no terminal."""
    told = history(
        revision(2, modes={foreign: {foreign: 0.5}, "bm25": {"a": 0.5}}, run_id=foreign), revision(1, problem=foreign)
    )
    shown = text(told)
    assert "\x1b" not in shown
    assert not any(line.startswith("::") for line in shown.splitlines())
