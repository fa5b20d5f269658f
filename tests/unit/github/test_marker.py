"""The hidden lines of a comment say what was meant, and nothing anybody writes there is taken for more."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from raggate.github import marker
from raggate.github.marker import State
from raggate.models.publication import Push
from tables import each_row

HEAD = "a" * 40
PUSH = Push(head=HEAD, verdict="pass", run=5)
heads = st.text("0123456789abcdef", min_size=40, max_size=40) | st.text("0123456789abcdef", min_size=64, max_size=64)
pushes = st.builds(
    Push,
    head=heads,
    verdict=st.sampled_from(sorted(marker.VERDICTS)),
    run=st.integers(0, 2**53),
    attempt=st.integers(0, 10**6),
)
states = st.builds(
    State,
    suite=st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    pushes=st.lists(pushes, max_size=10).map(tuple),
)


def body(content: Any, *, suite: str = "main") -> str:
    """Write a comment whose state is any JSON."""
    data = base64.b64encode(json.dumps(content).encode()).decode()
    return f"{marker.comment_line(suite)}\n<!-- raggate:state {data} -->\ntext"


def content(**changes: Any) -> dict[str, Any]:
    """Return a state as it is stored, with changes."""
    return {"suite": "main", "pushes": [[HEAD, "pass", 5, 1]], **changes}


@given(states, st.text(max_size=200))
def test_what_is_written_is_read_back(state: State, rest: str) -> None:
    """A state survives the comment, whatever the comment says below it, within the promised size."""
    text = marker.encode(state)
    assert marker.decode(text + rest) == state
    assert len(text.encode("utf-16-le")) // 2 <= marker.MARKER_UNITS
    assert text.count("-->") == text.count("<!--") == 2


def test_the_largest_state_fits() -> None:
    """Ten pushes with the longest of everything stay below the promised size."""
    push = Push(head="f" * 64, verdict="invariant broken", run=2**53, attempt=10**6)
    text = marker.encode(State(suite="🎯" * 74, pushes=(push,) * 10))
    assert marker.MARKER_UNITS / 2 < len(text.encode("utf-16-le")) // 2 <= marker.MARKER_UNITS


@given(st.text() | st.text(alphabet="<!-- raggate:comment state ABCabc=\r\n"))
def test_any_text_can_be_looked_at(text: str) -> None:
    """Nothing a comment may say makes reading it fail."""
    for found in (text, f"{marker.comment_line('main')}\n{text}", f"{marker.comment_line('main')}\n<!-- {text} -->\n"):
        assert marker.decode(found) is None or text
        marker.alert_order(found, "main")
        marker.first_line(found)


@each_row(
    "changes",
    [
        {"suite": "other"},
        {"suite": "x" * 400},
        {"more": 1},
        {"pushes": [[HEAD, "pass", 5, 1]] * 11},
        {"pushes": [[HEAD, "PASS", 5, 1]]},
        {"pushes": [[HEAD, "✅ [all good](https://evil.example)", 5, 1]]},
        {"pushes": [[HEAD.upper(), "pass", 5, 1]]},
        {"pushes": [[HEAD + "\n", "pass", 5, 1]]},
        {"pushes": [[HEAD[:39], "pass", 5, 1]]},
        {"pushes": [[HEAD, "pass", -1, 1]]},
        {"pushes": [[HEAD, "pass", 5.0, 1]]},
        {"pushes": [[HEAD, "pass", True, 1]]},
        {"pushes": [[HEAD, "pass", 10**17, 1]]},
        {"pushes": [[HEAD, "pass", 5]]},
        {"pushes": {"0": 1}},
    ],
    ids=str,
)
def test_what_is_out_of_shape_is_no_state(changes: dict[str, Any]) -> None:
    """A state of another suite, type or range, or with another key, is as good as none."""
    assert marker.decode(body(content())) == State(suite="main", pushes=(PUSH,))
    assert marker.decode(body(content(**changes))) is None


def test_loud_comments_name_their_push() -> None:
    """The marker of a loud comment gives back suite and order, and nothing else does."""
    line = marker.alert_line("main", (7, 2))
    assert marker.alert_order(f"{line}\ntext", "main") == (7, 2)
    assert marker.alert_order(line, "other") is None
    assert marker.alert_order(f"text\n{line}", "main") is None
    assert marker.alert_order(f"{line} text", "main") is None
    assert marker.alert_order(marker.comment_line("main"), "main") is None


@each_row(
    "state",
    [
        State(suite="main", pushes=(Push(head=HEAD, verdict="fine", run=1),)),
        State(suite="main", pushes=(Push(head="abc", verdict="pass", run=1),)),
        State(suite="main", pushes=(PUSH,) * 11),
        State(suite="x" * 400),
        State(suite="\udc80"),
    ],
    ids=lambda state: str(state)[:60],
)
def test_nothing_is_written_that_cannot_be_read(state: State) -> None:
    """A state that would be lost is refused when it is written."""
    with pytest.raises(ValueError, match="not a state"):
        marker.encode(state)
