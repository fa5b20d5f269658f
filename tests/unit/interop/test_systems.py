"""The systems that raggate knows: what the configuration can name, and no two that could be mistaken."""

from __future__ import annotations

from typing import get_args

from raggate.config.score_settings import Compat
from raggate_interop.systems import SYSTEMS


def test_every_system_of_the_configuration_is_there() -> None:
    """What `score.compat` can name has scores, and no two systems take the same metrics files or name."""
    assert set(get_args(Compat)) <= {system.name for system in SYSTEMS if system.scores is not None}
    assert len({system.name for system in SYSTEMS}) == len({system.metrics_key for system in SYSTEMS}) == len(SYSTEMS)
