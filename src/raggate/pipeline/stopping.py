"""A run that may stop early: what it asks in which order, and when it has heard enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct, field

from raggate.config.schema import Config
from raggate.errors import UsageError
from raggate.gate import early_stop, waivers
from raggate.gate.drawn_order import Drawn, seed_of
from raggate.inputs.note_labels import Notes
from raggate.inputs.trusted import Inputs
from raggate.models.baseline import Baseline
from raggate.models.case_packing import by_id
from raggate.models.early_stop import EarlyStop
from raggate.models.provenance import RunCommand
from raggate.models.run import Result
from raggate.models.run_packing import RESULTS
from raggate.models.scorecard import CaseScore
from raggate.models.selection import EVERYTHING, Selection
from raggate.pipeline.request import Request
from raggate.scoring import score
from raggate.text import deadlines
from raggate.text.long_sequence import LongSequence

_LET_THROUGH = "fail-on lets a regression through, and must not let through what was not asked"


class EnoughHeardError(Exception):
    """Nothing more is to be asked: the run is red already."""


class Stopping(Struct, frozen=True, kw_only=True):
    """Hears each answer as it comes in.

    Attributes:
        questions: all questions, in the order that they are asked in.
        watch: what the answers show so far.
        scored: labels and scores an answer.
        say: takes a line that says why nothing more is asked.
        time: how long labelling may take, all answers together.
    """

    questions: Drawn
    watch: early_stop.Watch
    scored: Callable[[Result], CaseScore]
    say: Callable[[str], None]
    time: deadlines.WhileAsking = field(default_factory=deadlines.WhileAsking)

    @property
    def stop(self) -> EarlyStop | None:
        """Why nothing more is asked; None while there is no reason."""
        return self.watch.stop

    def hear(self, result: Result) -> None:
        """Take an answer or a failure; each question once.

        Raises:
            EnoughHeardError: when nothing more is to be asked.
            CannotTell: when labelling it takes without end.
        """
        # signals wait meanwhile, so nothing else would end it
        with self.time.next_answer():
            score_of_it = self.scored(result)
        self.watch.hear(score_of_it)
        if self.stop is not None:
            self.say(f"asking no further: {self.stop.message}")
            raise EnoughHeardError

    def kept(self, results: Sequence[Result], cases: int) -> tuple[LongSequence[Result], Selection]:
        """Give the answers to cases that were asked in all of their modes, and which these are, of so many cases.

        Of what was under way when it stopped, some cases were asked in a part of their modes.
        """
        answered = {(result.case_id, result.mode) for result in results}
        left = {case.id for case, mode in self.questions if (case.id, mode) not in answered}
        asked = dict.fromkeys(case.id for case, _ in self.questions if case.id not in left)
        whole = LongSequence(RESULTS, (result for result in results if result.case_id in asked))
        return whole, Selection(asked=tuple(asked), of=cases, words="", early=True)


def of_run(
    request: Request, inputs: Inputs, baseline: Baseline | None, command: RunCommand | None, started: str
) -> Stopping | None:
    """Give what a run may stop by; None where it asks all that it is to ask, which is said if it is not as configured.

    Args:
        request: what the front end asks for.
        inputs: what is measured by, with all questions.
        baseline: what the run is held against.
        command: the command that measures; None for a run beside another one. Only a whole `check` stops early.
        started: when it started, ISO 8601.
    """
    settings = inputs.config
    if settings.gate.early_stop is None or command != "check" or request.choice != EVERYTHING:
        return None
    let_through = "" if request.stops_early else _LET_THROUGH
    why = let_through or early_stop.no_say(settings, baseline)
    if why or baseline is None:
        request.say(f"gate.early_stop: all is asked, as {why}")
        return None
    cases, modes = inputs.golden.cases, settings.ask.modes
    questions = Drawn(cases, modes, seed_of(inputs.golden.hash, baseline, inputs.against))
    waived = waivers.waiver_statuses(settings.waivers, started)
    return Stopping(
        questions=questions,
        watch=early_stop.Watch(questions, baseline, settings.gate, waived),
        scored=_scoring(inputs),
        say=request.say,
    )


def refuse_flags(request: Request, settings: Config) -> None:
    """Refuse flags by which questions are asked elsewhere, or not all of them.

    Raises:
        UsageError: naming the flag.
    """
    if request.workers > 1:
        refuse(settings, "--workers")
    if request.answers is not None:
        refuse(settings, "--answers")


def refuse(settings: Config, asked_by: str) -> None:
    """Refuse what asks questions otherwise than in one process and in the order that is drawn.

    Raises:
        UsageError: naming it.
    """
    if settings.gate.early_stop is not None:
        raise UsageError(
            f"{asked_by}: with gate.early_stop one process asks the questions, in an order that is drawn",
            hint=f"Leave {asked_by} out, or set `early_stop: off` under `gate`.",
        )


def _scoring(inputs: Inputs) -> Callable[[Result], CaseScore]:
    """Give what labels and scores one answer, as the whole run is scored."""
    settings, notes = inputs.config, Notes(inputs.vault)
    cases = by_id(inputs.golden.cases)

    def scored(result: Result) -> CaseScore:
        item = notes.label(score.label(cases.named(result.case_id), result))
        ((answer,),) = score.score_answers(
            [[item]],
            settings.score.k,
            retrieval_only=settings.ask.retrieval_only,
            reads_abstention=settings.ask.reads_abstention,
        )
        return answer

    return scored
