"""The generated documentation agrees with the code."""

from pathlib import Path

import pytest
from tools.generate_docs import generated

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", sorted(generated()))
def test_page_is_current(name: str) -> None:
    """Every generated page is what the code says now; `make docs` brings it up to date."""
    assert generated()[name] == (ROOT / name).read_text(encoding="utf-8")
