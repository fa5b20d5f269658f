"""Lines of a golden set that are changed: what does not change stays byte for byte."""

from __future__ import annotations

import json

from msgspec.structs import replace

from raggate.inputs.authoring.golden_file import with_changed
from raggate.inputs.golden import load
from raggate.models.golden import Support

GOLD = '[{"heading_path":"#A","rel_path":"a.md"}]'
FIRST = f'{{"question":"Wé?","id":"q1","answerable":true,"gold_supports":{GOLD},"tags":null}}'
SECOND = '  {"id": "q2", "question": "Q?",  "answerable": true, "gold_supports": [], "expected_doc_ids": ["d1"]}'
THIRD = '{"id": "q3", "question": "R?", "answerable": false}'


def test_one_line_of_three() -> None:
    """Order of keys, other lines, their spacing, a mark at the beginning and the ends of lines stay as they are."""
    data = b"\xef\xbb\xbf" + f"{FIRST}\r\n\r\n{SECOND}\r\n{THIRD}".encode()
    cases = load(data, "x").cases
    place = Support(rel_path="b.md", heading_path="# B", grade=0)
    changed = with_changed(data, {"q1": replace(cases[0], not_relevant=(place,), must_pass=True)})
    lines = changed.decode("utf-8-sig").split("\r\n")
    assert lines[1:] == ["", SECOND, THIRD]
    row = json.loads(lines[0])
    assert list(row) == ["question", "id", "answerable", "gold_supports", "tags", "not_relevant", "must_pass"]
    assert row["gold_supports"] == [{"heading_path": "#A", "rel_path": "a.md"}]
    assert row["not_relevant"] == [{"rel_path": "b.md", "heading_path": "# B"}]
    assert changed.startswith(b"\xef\xbb\xbf")
    assert with_changed(data, {}) == data


def test_labels_that_follow_from_ids() -> None:
    """A case labelled by ids of documents keeps them when it must pass; a new gold support stands beside them."""
    data = f"{SECOND}\n".encode()
    (case,) = load(data, "x").cases
    row = json.loads(with_changed(data, {"q2": replace(case, must_pass=True)}))
    assert (row["gold_supports"], row["expected_doc_ids"], row["must_pass"]) == ([], ["d1"], True)
    more = replace(case, gold_supports=(*case.gold_supports, Support(rel_path="", doc_id="d2", grade=2)))
    row = json.loads(with_changed(data, {"q2": more}))
    assert row["gold_supports"] == [{"doc_id": "d1"}, {"doc_id": "d2", "grade": 2}]
    assert load(json.dumps(row).encode(), "x").cases[0].gold_supports == more.gold_supports
