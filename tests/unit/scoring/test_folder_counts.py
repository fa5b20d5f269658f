"""Folder counts: how many folders are selected, and whether anything comes from the first."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from builders import make_case, make_chunk, make_failure, make_labelled, make_response, make_result
from raggate.models.run import LabelledResult
from raggate.scoring.folder_counts import Counts, count
from tables import each_row


def answer(*folders: str, path: str = "docs/a.md", vault: str | None = "work") -> LabelledResult:
    """Build an answer with one chunk after this selection."""
    response = make_response(make_chunk(rel_path=path, vault=vault), selected_folders=folders or None)
    return make_labelled(make_case(), make_result("q1", response=response))


def folder_counts(items: Sequence[LabelledResult]) -> Counts:
    """Count the folders of answers."""
    counted: Counts = {}
    for item in items:
        count(item, counted)
    return counted


@each_row(
    ("item", "several", "served"),
    [
        pytest.param(answer("work/docs", "work/mail"), 1, 1, id="from-the-first"),
        pytest.param(answer("work/mail", "work/docs"), 1, 0, id="from-another"),
        pytest.param(answer("work/docs", "work/mail", path="docs/deep/a.md"), 1, 1, id="below-the-first"),
        pytest.param(answer("work/docs", "work/mail", vault=None), 1, 1, id="vault-not-told"),
        pytest.param(answer("work/docs"), 0, 0, id="the-only-one"),
        pytest.param(answer("work/docs", "work"), 0, 0, id="inside-another"),
        pytest.param(answer("work", "work/docs"), 0, 0, id="around-another"),
        pytest.param(answer("docs", "mail"), 0, 0, id="without-vaults"),
    ],
)
def test_the_first_folder(item: LabelledResult, several: int, served: int) -> None:
    """An answer counts where its first folder overlaps no other, and is served where a chunk is from there."""
    counts = folder_counts([item])["hybrid"]
    assert (counts["several"], counts["served"]) == (several, served)


def test_selected_folders_are_summed() -> None:
    """Answers that tell a selection are counted, and the folders of all; those that do not count for nothing."""
    failed = make_labelled(make_case(), make_result("q1", failure=make_failure()))
    counts = folder_counts([answer("a/1", "a/2"), answer("a/1"), answer(), failed])
    assert counts["hybrid"]["answers"] == 2
    assert counts["hybrid"]["selected"] == 3
    assert folder_counts([failed, answer()]) == {}
