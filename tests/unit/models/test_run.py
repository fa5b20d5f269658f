"""The nouns of a run."""

from __future__ import annotations

from builders import make_chunk


def test_a_text_that_many_chunks_have_is_in_memory_once() -> None:
    """Chunks of the same passage share its texts, which make up most of a run."""
    first, second = (make_chunk("c1", text=f"much text {0 * n}", rel_path=f"a{0 * n}.md") for n in (1, 2))
    assert first.text is second.text
    assert first.rel_path is second.rel_path
