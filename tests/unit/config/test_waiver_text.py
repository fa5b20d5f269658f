"""Waivers put into the text of a configuration: it then means what it meant, and the waivers; no line is lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, strategies as st

from raggate.config import schema
from raggate.config.waiver_settings import Waiver
from raggate.config.waiver_text import with_waivers
from raggate.errors import UsageError
from tables import each_row

NEW = Waiver(case="q17", owner="ada", reason='it is "on": # {x}, ü', expires="2026-12-31")
ITEM = '{case: "q17", owner: "ada", reason: "it is \\"on\\": # {x}, ü", expires: 2026-12-31}'
OLD = "{case: q1, owner: bob, reason: r, expires: 2026-01-01}"
HEAD = "suite: small # the suite\nvault: {a: notes}\napi:\n  url: http://127.0.0.1:1\n"

ROWS = {
    "no key": (HEAD, f"{HEAD}waivers:\n  - {ITEM}\n"),
    "no newline at the end": (f"{HEAD}out: runs", f"{HEAD}out: runs\nwaivers:\n  - {ITEM}\n"),
    "a comment at the end": (f"{HEAD}# end", f"{HEAD}# end\nwaivers:\n  - {ITEM}\n"),
    "the end of the document": (f"{HEAD}# c\n... # end\n", f"{HEAD}# c\nwaivers:\n  - {ITEM}\n... # end\n"),
    "an empty list": (f"{HEAD}waivers: [] # none\nout: runs\n", f"{HEAD}waivers: [{ITEM}] # none\nout: runs\n"),
    "an empty list of two lines": (f"{HEAD}waivers: [\n  # none\n]\n", f"{HEAD}waivers: [\n  # none\n  {ITEM}\n]\n"),
    "a list in brackets": (f"{HEAD}waivers: [{OLD}]\n", f"{HEAD}waivers: [{OLD}, {ITEM}]\n"),
    "with spaces": (f"{HEAD}waivers: [ {OLD} ]\n", f"{HEAD}waivers: [ {OLD}, {ITEM}]\n"),
    "with a last comma": (f"{HEAD}waivers: [{OLD},]\n", f"{HEAD}waivers: [{OLD}, {ITEM}]\n"),
    "brackets on lines": (
        f"{HEAD}waivers: [\n  {OLD} # a, b\n]\n",
        f"{HEAD}waivers: [\n  {OLD}, # a, b\n  {ITEM}\n]\n",
    ),
    "brackets on lines with a last comma": (
        f"{HEAD}waivers: [\n  {OLD}, # a\n]\n",
        f"{HEAD}waivers: [\n  {OLD}, # a\n  {ITEM},\n]\n",
    ),
    "dashes": (
        f"{HEAD}waivers:\n  - {OLD} # a\nout: runs\n",
        f"{HEAD}waivers:\n  - {OLD} # a\n  - {ITEM}\nout: runs\n",
    ),
    "dashes below the key": (f"{HEAD}waivers:\n- {OLD}\n# b\n", f"{HEAD}waivers:\n- {OLD}\n- {ITEM}\n# b\n"),
    "an item of lines": (
        f"{HEAD}waivers:\n    - metric: m\n      owner: o\n      reason: >-\n        r\n      expires: 2026-01-01\n"
        "      # about it\n\n# after\nout: runs\n",
        f"{HEAD}waivers:\n    - metric: m\n      owner: o\n      reason: >-\n        r\n      expires: 2026-01-01\n"
        f"      # about it\n    - {ITEM}\n\n# after\nout: runs\n",
    ),
    "an item that ends in a block": (
        f"{HEAD}waivers:\n  - case: q1\n    expires: 2026-01-01\n    owner: o\n    reason: |\n      r\n\n      s\n"
        "out: a\n",
        f"{HEAD}waivers:\n  - case: q1\n    expires: 2026-01-01\n    owner: o\n    reason: |\n      r\n\n      s\n"
        f"  - {ITEM}\nout: a\n",
    ),
    "a dash on a line of its own": (
        f"{HEAD}waivers:\n  -\n    {OLD}\n",
        f"{HEAD}waivers:\n  -\n    {OLD}\n  - {ITEM}\n",
    ),
    "names for parts": (
        f"{HEAD}waivers: &w # w\n  - &a {OLD}\n  - *a\n",
        f"{HEAD}waivers: &w # w\n  - &a {OLD}\n  - *a\n  - {ITEM}\n",
    ),
    "one pair of braces": (
        '{"vault": {"a": "b"}, "api": {"url": "http://127.0.0.1:1"}}\n',
        f'{{"vault": {{"a": "b"}}, "api": {{"url": "http://127.0.0.1:1"}}, waivers: [{ITEM}]}}\n',
    ),
    "all of it indented": (
        "---\n  vault: {a: b}\n  api:\n    url: http://127.0.0.1:1\n",
        f"---\n  vault: {{a: b}}\n  api:\n    url: http://127.0.0.1:1\n  waivers:\n    - {ITEM}\n",
    ),
    "tabs in comments": (
        f"{HEAD}\t# a\tb\n# \tc\n".replace("\t# a", "# a"),
        f"{HEAD}# a\tb\n# \tc\nwaivers:\n  - {ITEM}\n",
    ),
}


@each_row("before, after", ROWS.values(), ids=ROWS)
def test_where_it_goes(before: str, after: str) -> None:
    """The waiver stands behind those that are there, laid out as they are; all else stays to the letter."""
    assert with_waivers(before.encode(), "raggate.yml", [NEW]).decode() == after
    windows = before.replace("\n", "\r\n")
    assert with_waivers(windows.encode(), "raggate.yml", [NEW]).decode() == after.replace("\n", "\r\n")
    marked = f"\ufeff{before}"
    assert with_waivers(marked.encode(), "raggate.yml", [NEW]).decode() == f"\ufeff{after}"


@each_row(
    "text",
    [
        f"{HEAD}score: {{compat: &e []}}\nwaivers: *e\n",
        f"{HEAD}golden: |\n  a/b",
        f"{HEAD}# a\u2028# b\n",
        f"{HEAD}# a\x85# b\n",
        HEAD.replace("\n", "\r"),
        "? vault\n: {a: b}\n? api\n: {url: 'http://127.0.0.1:1'}\n",
    ],
)
def test_what_cannot_be_added_to(text: str) -> None:
    """Where an addition would mean something else, or other readers would differ, nothing is given."""
    schema.load(text.encode(), "raggate.yml")
    with pytest.raises(UsageError, match=r"^raggate.yml: a (waiver cannot be added|line ends with something else)"):
        with_waivers(text.encode(), "raggate.yml", [NEW])


def test_a_file_that_is_wrong_already() -> None:
    """A configuration that cannot be used is told as such, and not added to."""
    with pytest.raises(UsageError, match="unknown key 'waiver'"):
        with_waivers(f"{HEAD}waiver: []\n".encode(), "raggate.yml", [NEW])


COMMENTS = st.sampled_from(
    (
        "# a",
        "#",
        "#\tb\t",
        "# waivers: []",
        "# - {case: q17}",
        "# ]}",
        "# ...",
        "#---",
        "# ü “x”",
        "# 'it\"s",
        "#, ",
        "# &a *a",
    )
) | st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), max_size=9).map("# {}".format)
REST = (
    "suite: small",
    "out: 'runs'",
    "gate:\n  tolerance: 0.1",
    "score: {k: [1, 3],\n  compat: []}",
    "ask:\n  modes:\n  - hybrid",
)
LISTS = (
    "waivers: []",
    f"waivers: [{OLD}]",
    f"waivers: [\n    {OLD},\n    {OLD}\n  ]",
    f"waivers: [\n    {OLD},\n  ]",
    f"waivers:\n  - {OLD}",
    f"waivers:\n- &x {OLD}\n- *x",
    "waivers:\n   -  metric: m\n      owner: o\n      reason: |\n        r\n        # s\n      expires: 2026-01-01",
    "waivers:\n  -\n    case: q1\n    expires: 2026-01-01\n    owner: o\n    reason: two\n      lines",
)


@st.composite
def configurations(draw: st.DrawFn) -> str:
    """Give a valid configuration: its keys in any order, comments and empty lines anywhere, any ends of lines."""
    keys = ["vault: {a: b}", "api:\n  url: http://127.0.0.1:1", *draw(st.lists(st.sampled_from(REST), unique=True))]
    listed = draw(st.none() | st.sampled_from(LISTS))
    keys = draw(st.permutations([*keys, listed] if listed else keys))
    lines = ["---"] if draw(st.booleans()) else []
    for line in "\n".join(keys).split("\n"):
        # nothing is a comment within a text of several lines
        if line.strip() in {"r", "# s", "lines"} or line.endswith(("|", "two")):
            lines.append(line)
            continue
        lines += draw(st.lists(st.just("") | COMMENTS, max_size=1))
        lines.append(line + draw(st.just("") | COMMENTS.map(" {}".format)))
    lines += draw(st.just([]) | st.lists(COMMENTS, max_size=2) | st.just(["..."]) | st.just(["... # end"]))
    return draw(st.sampled_from(("\n", "\r\n"))).join(lines) + draw(st.sampled_from(("", "\n", "\n\n")))


def left(text: str, rest: str) -> Iterator[str]:
    """Give the characters of a text that are not found in another one, one after the other."""
    letters = iter(rest)
    return (letter for letter in text if letter not in letters)


@given(configurations(), st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=20))
def test_any_configuration(text: str, reason: str) -> None:
    """However a configuration is written, it gets the waivers and nothing else, and all of its text is still there."""
    before = schema.load(text.encode(), "a")
    waiver = NEW.model_copy(update={"reason": reason, "case": reason})
    after = with_waivers(text.encode(), "a", [waiver, NEW]).decode()
    assert schema.load(after.encode(), "a") == before.model_copy(update={"waivers": [*before.waivers, waiver, NEW]})
    assert not [*left(text, after)]
    assert len([line for line in text.splitlines() if line not in after.splitlines()]) <= 2
    comments = [line.partition(" #")[2] for line in text.splitlines()]
    assert all(comment in after for comment in comments)
