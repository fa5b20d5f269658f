"""The other systems whose numbers the gate can read and restate: what both front ends hand to the pipeline."""

from __future__ import annotations

from raggate.gate.other_systems import OtherSystem
from raggate.interop.helloworld import restate as helloworld
from raggate.interop.helloworld.baseline import converted
from raggate.interop.substrate import restate as substrate

SYSTEMS: tuple[OtherSystem, ...] = (
    # its metrics files have the shape of raggate's own, without the numbers of questions
    OtherSystem(name="substrate", metrics_key="by_retriever", restate=substrate.restate),
    OtherSystem(
        name="helloworld",
        metrics_key="aggregate_metrics",
        bare_metrics=converted,
        restate=helloworld.restate,
        scores=helloworld.scores,
    ),
)
"""In the order in which they are asked whether a metrics file is theirs."""
