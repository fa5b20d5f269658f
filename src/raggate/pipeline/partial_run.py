"""The answers of a run so far, whatever becomes of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from raggate.models.provenance import exact_image
from raggate.models.run import Result, Run
from raggate.scoring.repeats import KEY, Repeated


@dataclass(slots=True)
class PartialRun:
    """The answers of a run so far, and what was learnt of the API on the way.

    `results` are in the order they came in, `images` what names the image that the API ran from, and `repeated` how a
    few questions came out that were asked twice, once they were.
    """

    results: list[Result] = field(default_factory=list)
    images: list[str] = field(default_factory=list)
    repeated: Repeated | None = None

    def noted_in(self, run: Run) -> Run:
        """Note image and repeats in a run. What they were does not make runs incomparable."""
        image = exact_image(self.images[-1]) if self.images else ""
        repeated = {KEY: self.repeated.stored()} if self.repeated is not None else {}
        return replace(
            run,
            provenance=replace(run.provenance, api_image=image),
            fingerprint={**run.fingerprint, **repeated},
        )
