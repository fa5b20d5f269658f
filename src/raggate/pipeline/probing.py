"""Asking what invariants need beside the suite: after it, of the same API, and of one that has indexed again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from itertools import groupby
from pathlib import Path

from msgspec import Struct

from raggate.errors import CannotTell
from raggate.inputs import probe_plan
from raggate.inputs.private_notes import private_notes
from raggate.inputs.trusted import Inputs
from raggate.models.probe import Probe
from raggate.models.run import Failure, ProbeAnswer, Result
from raggate.pipeline.booted import Booted
from raggate.service.adapters.header_values import variables
from raggate.service.adapters.mapped_request import filled_text
from raggate.text.guarded import Guarded


class Prober(Guarded, Struct, frozen=True):
    """The probes of a run, and who asks them.

    Attributes:
        inputs: what is measured by.
        probes: what is to be asked, in order.
        headers: by principal, what tells the API who asks.
    """

    inputs: Inputs
    probes: tuple[Probe, ...]
    headers: Mapping[str, Mapping[str, str]]

    @classmethod
    def of(cls, inputs: Inputs, environment: Mapping[str, str]) -> Prober:
        """Plan the probes.

        Args:
            inputs: what is measured by.
            environment: raggate's own, of which headers of principals hold what the settings name.

        Raises:
            UsageError: for a variable that a principal's header needs and that is not set, or unfit for one.
        """
        private = private_notes(inputs.vault, inputs.config.private)
        probes = probe_plan.plan(inputs.config, inputs.golden, inputs.vault, private)
        headers = {}
        for name in dict.fromkeys(probe.principal for probe in probes if probe.principal):
            templates = inputs.config.ask.probes.principals[name].headers
            values = variables(templates, environment, f"ask.probes.principals.{name}.headers")
            headers[name] = {header: filled_text(text, values) for header, text in templates.items()}
        return cls(inputs, probes, headers)

    def ask(self, up: Booted, answers: list[ProbeAnswer]) -> None:
        """Ask what needs no other index, and put what comes of it into `answers`."""
        self._ask((probe for probe in self.probes if probe.kind != "reindex"), up, answers)

    def ask_after_call(self, up: Booted, answers: list[ProbeAnswer]) -> None:
        """Have the API index again where a call is configured, wait until it has, and ask the rest.

        Args:
            up: the API, which runs.
            answers: where to put what comes of it, also that it did not index again.
        """
        call = self.inputs.config.ask.probes.reindex
        if call is None or not self._after_indexing:
            return
        try:
            problem = up.adapter.reindex(up.api, call)
            if not problem:
                up.wait()
        except CannotTell as error:
            problem = error.message
        if problem:
            self._give_up(problem, answers, up.clean)
        else:
            self._ask(self._after_indexing, up, answers)

    def ask_after_boot(
        self, boot: Callable[[], AbstractContextManager[Booted]], out: Path, answers: list[ProbeAnswer]
    ) -> None:
        """Boot the API again where no call is configured, with an index that is made anew, and ask the rest.

        Args:
            boot: brings the API up a second time.
            out: where that leaves its files; made here.
            answers: where to put what comes of it, also that it was not ready again.
        """
        if self.inputs.config.ask.probes.reindex is not None or not self._after_indexing:
            return
        out.mkdir(exist_ok=True)  # of a process that was killed, whose answers go on
        try:
            with boot() as up:
                self._ask(self._after_indexing, up, answers)
        except CannotTell as error:
            self._give_up(error.message, answers)

    @property
    def _after_indexing(self) -> tuple[Probe, ...]:
        return tuple(probe for probe in self.probes if probe.kind == "reindex")

    def _give_up(
        self, why: str, answers: list[ProbeAnswer], clean: Callable[[Result], Result] = lambda result: result
    ) -> None:
        """Put into `answers` that nothing could be asked after indexing, and why."""
        failure = Failure(kind="aborted", message=why)
        for probe in self._after_indexing:
            result = Result(
                case_id=probe.case_id, mode=probe.mode, response=None, failure=failure, retries=0, elapsed_ms=0.0
            )
            answers.append(ProbeAnswer(probe=probe, result=clean(result)))

    def _ask(self, probes: Iterable[Probe], up: Booted, answers: list[ProbeAnswer]) -> None:
        by_principal = sorted(probes, key=lambda probe: probe.principal)
        for principal, group in groupby(by_principal, key=lambda probe: probe.principal):
            asked = list(group)
            questions = [
                (probe_plan.question_of(probe, self.inputs.golden, self.inputs.config), probe.mode) for probe in asked
            ]
            headers = self.headers.get(principal)
            adapter = up.adapter.with_headers(headers) if headers else up.adapter
            results = adapter.ask(questions, up.api, on_result=lambda *_: None).results
            answers += [
                ProbeAnswer(probe=probe, result=up.clean(result)) for probe, result in zip(asked, results, strict=True)
            ]
