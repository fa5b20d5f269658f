"""What stands in place of a configuration where another system made a run."""

from __future__ import annotations

from typing import Any, Literal

from raggate.config.gate_settings import Gate, Score, Waiver
from raggate.config.invariant_settings import Invariants
from raggate.config.schema import Config, default_baseline
from raggate.config.service_settings import SettingsModel
from raggate.config.values import Name

System = Literal["helloworld", "kebab", "substrate"]


class ImportedConfig(SettingsModel):
    """How a run of another system is scored and judged. What its import does not say has the default of raggate.yml.

    There is no golden set, vault or API: where they were is not known, and not needed to score. The fingerprint of
    the run has how the questions were asked.
    """

    system: System
    """The system that made the run."""
    settings: dict[str, Any] = {}
    """The system's own configuration, as its files hold it."""
    suite: Name = "default"
    """The suite whose baseline the run is held against."""
    about: dict[str, str] = {}
    """What the reports of the run tell beside its numbers."""
    score: Score = Score()
    """What is computed from the answers."""
    gate: Gate = Gate()
    """What makes the verdict red."""
    invariants: Invariants = Invariants()
    """What must hold of the answers."""
    waivers: list[Waiver] = []
    """Metrics and cases that may be worse until a day."""

    @property
    def baseline_path(self) -> str:
        """The baseline file of the suite."""
        return default_baseline(self.suite)


RunConfig = Config | ImportedConfig
"""The configuration that a run was made with: raggate's own, or what is known of another system's."""
