"""The answers of a run so far, whatever becomes of it."""

from __future__ import annotations

import time

from msgspec import Struct, field
from msgspec.structs import replace

from raggate.models.provenance import exact_image
from raggate.models.run import ProbeAnswer, Result, Run
from raggate.models.service import IndexState, Started
from raggate.pipeline import index_facts
from raggate.scoring.repeats import KEY, Repeated
from raggate.text.numbers import counted

SERVER_ERROR = 500
"""The first HTTP status that says that the API itself failed."""

_CATCH_UP = 0.1
"""Seconds, once in a run, in which what was logged before the answer arrives behind it."""


class AnswersSoFar(Struct):
    """The answers of a run so far, and what was learnt of the API on the way.

    `results` are in the order they came in, `images` what names the image that the API ran from. `again` are the
    second answers to a few questions and `repeated` how these came out, once they are compared. `probes` is
    what was asked for invariants. `failed` calls of the suite failed so far; `log` are the API's last lines when it
    first said that it had failed, untrusted text. `index` is how the index stood when asking began. `started`, ISO
    8601, and `seconds` say when that was and how long it took, of a run that was asked for elsewhere. `looked` says
    whether the log was.
    """

    results: list[Result] = field(default_factory=list)
    images: list[str] = field(default_factory=list)
    again: list[Result] = field(default_factory=list)
    repeated: Repeated | None = None
    probes: list[ProbeAnswer] = field(default_factory=list)
    failed: int = 0
    log: tuple[str, ...] = ()
    index: IndexState | None = None
    started: str = ""
    seconds: float = 0.0
    looked: bool = False

    def note_index(self, state: IndexState) -> None:
        """Keep the last look at the index before it is asked: what answers say of it counts more."""
        self.index = state

    def note_failure(self, result: Result, api: Started) -> None:
        """Look whether a result is a failure, as soon as it is there: later ones push others out of the last lines."""
        failure = result.failure
        self.failed += failure is not None
        if not self.looked and failure is not None and (failure.status or 0) >= SERVER_ERROR:
            self.looked = True
            time.sleep(_CATCH_UP)
            self.log = api.log_tail()

    def interrupted(self, due: int) -> str:
        """Say after how many of the calls that are due a signal came."""
        left = sum(result.failure is not None and result.failure.kind == "aborted" for result in self.results)
        return f"interrupted after {len(self.results) - left} of {counted(due, 'call')}"

    def noted_in(self, run: Run) -> Run:
        """Note image, size of the index, repeats and probes in a run. None of them makes runs incomparable."""
        image = exact_image(self.images[-1]) if self.images else ""
        beside: dict[str, object] = {**index_facts.counts_of(self.index)}
        if self.repeated is not None:
            beside[KEY] = self.repeated.stored()
        if self.probes:
            beside |= {"probes": len(self.probes)}
        return replace(
            run,
            provenance=replace(run.provenance, api_image=image),
            fingerprint={**run.fingerprint, **beside},
            probes=replace(run.probes, answers=tuple(self.probes)),
        )
