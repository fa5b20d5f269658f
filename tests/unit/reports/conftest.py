"""What the tests of reports share: pages that were looked at, stored one file each."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode


class MarkdownFile(SingleFileSnapshotExtension):
    """One Markdown file per snapshot, to be read as a reader of the report would."""

    _write_mode = WriteMode.TEXT
    file_extension = "md"


@pytest.fixture
def page(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """Give the snapshot of a test as a Markdown file."""
    return snapshot.use_extension(MarkdownFile)
