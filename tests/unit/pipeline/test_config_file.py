"""Configuration and provenance of a run directory, read."""

from __future__ import annotations

import pytest

from raggate.errors import UsageError
from raggate.pipeline import config_file


def test_settings_of_very_many_values_are_not_checked() -> None:
    """Each that does not fit would take kilobytes: a file of 16 MiB, gigabytes."""
    with pytest.raises(UsageError, match="stored with run r has more than 100000 values"):
        config_file.read({"waivers": [{}] * config_file.MOST_VALUES}, "r")
