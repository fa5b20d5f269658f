"""What the tests of reports share: pages and screens that were looked at, stored one file each."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode


class MarkdownFile(SingleFileSnapshotExtension):
    """One Markdown file per snapshot, to be read as a reader of the report would."""

    _write_mode = WriteMode.TEXT
    file_extension = "md"


class TextFile(SingleFileSnapshotExtension):
    """One text file per snapshot."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


@pytest.fixture
def page(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """Return the snapshot of a test as a Markdown file."""
    return snapshot.use_extension(MarkdownFile)


@pytest.fixture
def screen(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """Return the snapshot of a test as a text file."""
    return snapshot.use_extension(TextFile)
