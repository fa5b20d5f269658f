"""Configuration and provenance of a run directory, read."""

from __future__ import annotations

import pytest

from raggate.errors import UsageError
from raggate.pipeline import config_file
from tables import each_row

EXACT = f"sha256:{'a' * 64}"


@each_row(
    ("stored", "image"),
    [
        *((exact, exact) for exact in (EXACT, f"notes-api@{EXACT}", f"ghcr.io/octo/notes-api@{EXACT}")),
        *((other, "") for other in (7, None, "", "notes-api:latest", "sha256:1", f"@everyone @{EXACT}", f"{EXACT}\n")),
    ],
)
def test_the_image_that_was_measured_is_named_exactly_or_not(stored: object, image: str) -> None:
    """What a run directory says of its image is believed to be one where it names that image and no other."""
    assert config_file.provenance({"api_image": stored}).api_image == image


def test_settings_of_very_many_values_are_not_checked() -> None:
    """Each that does not fit would take kilobytes: a file of 16 MiB, gigabytes."""
    with pytest.raises(UsageError, match="stored with run r has more than 100000 values"):
        config_file.read({"waivers": [{}] * config_file.MOST_VALUES}, "r")
