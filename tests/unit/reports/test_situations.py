"""What is met less often: each situation as the comment and the screen that were looked at."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from comments import LINKED, OURS
from parts import PARTS
from raggate.reports import comment, terminal
from rendered import problems
from situations import SITUATIONS


@pytest.mark.parametrize("name", SITUATIONS | PARTS)
def test_comment_and_screen(name: str, page: SnapshotAssertion, screen: SnapshotAssertion) -> None:
    """Each situation is told in a comment in which nothing is live, and in 80 columns, as they are stored."""
    review = (SITUATIONS | PARTS)[name]()
    text = comment.render(review, LINKED)
    assert list(problems(text, links=(OURS,))) == []
    assert text == page
    assert terminal.render(review, width=80, color=False, wrap=True) == screen
