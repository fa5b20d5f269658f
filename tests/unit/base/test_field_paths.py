"""Field paths: what is one, what it leads to, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from raggate.base.field_paths import (
    ABSENT,
    EVERY,
    Every,
    FieldPath,
    WrongShape,
    begins_as,
    below,
    find,
    find_all,
    nearest_there,
    parse,
)
from tables import each_row

BODY = {"a": {"b": [{"c": 1}, {"c": 2}]}, "odd.key": {"x y": 3}, "n": None, "@t": 4}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)
PATHS = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=4)


@each_row(
    ("written", "steps"),
    [
        ("$", ()),
        ("a", ("a",)),
        ("a.b[0].c", ("a", "b", 0, "c")),
        ("a[*].b[*]", ("a", EVERY, "b", EVERY)),
        ("a[2:][:3][1:4]", ("a", Every(2), Every(0, 3), Every(1, 4))),
        ('a."odd.key"', ("a", "odd.key")),
        ('"[*]".x', ("[*]", "x")),
        ("@t.x:y/z-1", ("@t", "x:y/z-1")),
    ],
)
def test_a_path_is_read_into_its_steps(written: str, steps: tuple[Any, ...]) -> None:
    """Keys, items and all items stand in the order in which they are written."""
    assert parse(written).steps == steps


@each_row(
    "written",
    [
        "",
        "a.",
        "a..b",
        "a[-1]",
        "a[1:2:3]",
        "a[?(@.x)]",
        "a.*",
        "$.a",
        "a[10000]",
        '"a',
        'a"b"',
        "[0]a",
        "a[٣]",
        "x" * 301,
        ".".join("a" * 21),
    ],
)
def test_what_is_no_path_is_refused(written: str) -> None:
    """Wildcards for keys, filters, slices, negative indices, and anything half written are errors."""
    with pytest.raises(ValueError, match="expected a path"):
        parse(written)


@each_row(
    ("written", "target"),
    [
        ("$", BODY),
        ("a.b[1].c", 2),
        ('"odd.key"."x y"', 3),
        ("@t", 4),
        ("n", None),
        ("n.x", ABSENT),
        ("a.x.y[0]", ABSENT),
    ],
)
def test_a_path_leads_to_what_is_there(written: str, target: object) -> None:
    """Null is a value at the end of a path, and nothing on the way."""
    assert find(parse(written), BODY) == target


@each_row(
    ("written", "message"),
    [
        ("a.b.c", "a.b: expected a mapping with the key 'c', found a list"),
        ("a[0]", "a: expected a list, found a mapping with the key b"),
        ("@t.x", "@t: expected a mapping with the key 'x', found 4"),
    ],
)
def test_another_kind_on_the_way_is_an_error(written: str, message: str) -> None:
    """A path that runs into something of another kind says where and what it found."""
    with pytest.raises(WrongShape) as caught:
        find(parse(written), BODY)
    assert str(caught.value) == message


@each_row(
    ("written", "value", "sentence"),
    [
        pytest.param("x.y", {"b": 1, "a": 2}, "the body has the keys b, a", id="first-step"),
        pytest.param("a.b.c", {"a": {}}, "a has no keys", id="no-keys"),
        pytest.param("a[*].c", {"a": [1, 2]}, "a has 2 items", id="all-items"),
        pytest.param("a.b.c", {"a": {"b": None}}, "a.b is null", id="null"),
        pytest.param("a.b.c", {"a": {"b": "x"}}, 'a.b is "x"', id="something-else"),
        pytest.param("a", dict.fromkeys("bcdefgh"), "the body has the keys b, c, d, e, f and 2 more", id="many"),
        ("a", {"\u202ex\n::error::" + "y" * 99: 1}, f"the body has the key \u202ex ::error::{'y' * 17}…"),  # cut
    ],
)
def test_what_is_there_where_a_path_breaks_off(written: str, value: object, sentence: str) -> None:
    """The deepest place that is there is told with its keys, few of them and cut."""
    assert nearest_there(parse(written), value) == sentence


def placed(path: FieldPath, value: object) -> list[tuple[str, Any]]:
    """Return all that a path leads to, each with its place."""
    return [(entry.where, entry.value) for entry in find_all(path, value, limit=9) or ()]


def test_all_items_come_in_order_with_their_places() -> None:
    """A path to a list and one with [*] give the items; several [*] give them one after the other."""
    assert placed(parse("a.b"), BODY) == [("a.b[0]", {"c": 1}), ("a.b[1]", {"c": 2})]
    assert placed(parse("a.b[*].c"), BODY) == [("a.b[0].c", 1), ("a.b[1].c", 2)]
    assert placed(parse("[*][*]"), [[1], [], [2, 3]]) == [("the body[0][0]", 1)] + [
        (f"the body[2][{position}]", position + 2) for position in range(2)
    ]
    assert find_all(parse("x.y[*]"), BODY, limit=9) is None
    assert placed(parse("$"), [1, 2]) == [("the body[0]", 1), ("the body[1]", 2)]
    rows = [["n"], "x", "y", "z"]
    assert placed(parse("[2:]"), rows) == [("the body[2]", "y"), ("the body[3]", "z")]
    assert placed(parse("[1:2]"), rows) == [("the body[1]", "x")]
    assert find_all(parse("n"), BODY, limit=9) is None


@pytest.mark.parametrize(
    ("written", "begins", "values"),
    [
        ("g[*].file", True, ["a.md", "a.md", "b.md"]),
        ('g[*]."x y".z', True, [1, 1, ABSENT]),
        ("g[*].hits[*].n", True, [1, 2, 3]),
        ("n", True, [1, 2, 3]),
        ("g[1:].file", False, None),
        ("h[*].file", False, None),
        ("g[*].hits[*].in[*]", False, None),
    ],
)
def test_a_path_leads_to_what_an_entry_stands_in(written: str, begins: bool, values: object) -> None:
    """One that goes up to a [*] as that of the entries does begins at the item that each of them stands in."""
    body = {
        "g": [{"file": "a.md", "x y": {"z": 1}, "hits": [{"n": 1}, {"n": 2}]}, {"file": "b.md", "hits": [{"n": 3}]}]
    }
    entries = parse("g[*].hits[*]")
    assert begins_as(parse(written), entries) is begins
    if begins:
        starts = [entry.start_of(parse(written)) for entry in find_all(entries, body, limit=9) or ()]
        assert [find(*start) for start in starts] == values


@given(value=JSON, keys=PATHS, every=st.booleans())
def test_no_body_raises_anything_else(value: object, keys: list[str], every: bool) -> None:
    """Whatever a body is, a path leads somewhere, nowhere, or to a ValueError."""
    path = parse(".".join(keys) + ("[*]" if every else ""))
    try:
        result = find_all(path, value, limit=5) if every else find(path, value)
    except ValueError as error:
        assert "expected" in str(error)  # noqa: PT017 - either is right
    else:
        assert not every or result is None or len(result) <= 5
    assert below("", path)
