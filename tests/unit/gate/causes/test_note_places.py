"""Which notes a chunk may be of."""

from __future__ import annotations

from builders import make_chunk
from probed import probed
from raggate.gate.causes.note_places import holders, possible


def test_possible_notes() -> None:
    """What the API tells counts, else every note of that path; of an unknown path none."""
    known = holders(probed())
    assert known == {"a.md": {"work", "home"}, "b.md": {"work"}, "diary.md": {"home"}}
    assert possible(make_chunk(rel_path="a.md"), known) == ("home/a.md", "work/a.md")
    assert possible(make_chunk(rel_path="a.md", vault="elsewhere"), known) == ("elsewhere/a.md",)
    assert possible(make_chunk(rel_path="x.md"), known) == ()
