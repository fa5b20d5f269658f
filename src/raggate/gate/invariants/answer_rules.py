"""How an invariant is written: it sees each answer of a run once, and then the end. Pure."""

from __future__ import annotations

from bisect import insort_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from msgspec import Struct, field

from raggate.models.run import LabelledResult, Response, Run

SHOWN_EXAMPLES = 5


class Answer(Struct, frozen=True):
    """A response, and the labelled result that it is of."""

    item: LabelledResult
    response: Response

    @property
    def place(self) -> str:
        """What messages call it."""
        return f"{self.item.case.id} ({self.item.result.mode})"


class Suite(Struct, frozen=True):
    """A run whose answers pass by.

    `probed` are its first answers to the questions of its probes, by mode and case id, of those that have passed by;
    None where there was none.
    """

    run: Run
    probed: Mapping[tuple[str, str], Response | None] = field(default_factory=dict)


def _nothing(*_: object) -> Iterable[str]:
    return ()


class Rule(Struct, frozen=True):
    """What sees each answer, and what comes after the last: both give where the invariant does not hold.

    After that, `applies` says whether it is one for this run at all.
    """

    see: Callable[[Answer], Iterable[str]] = _nothing
    close: Callable[[], Iterable[str]] = _nothing
    applies: Callable[[], bool] = lambda: True

    @property
    def looks_at_answers(self) -> bool:
        """Whether it needs to see them."""
        return self.see is not _nothing


Check = Callable[[Suite], Rule]
"""Makes the rule of an invariant for one run."""


def of_each(see: Callable[[Answer], Iterable[str]]) -> Check:
    """Make a check of what each answer shows by itself."""
    return lambda _: Rule(see)


def at_end(close: Callable[[Suite], Iterable[str]]) -> Check:
    """Make a check of what a run says beside the answers of its suite."""
    return lambda suite: Rule(close=partial(close, suite))


class Examples:
    """Where an invariant does not hold: how often, and the shortest of these texts, the first of equal ones first."""

    def __init__(self) -> None:
        self.count = 0
        self.shortest: list[str] = []

    def extend(self, texts: Iterable[str]) -> None:
        """Count further ones."""
        for text in texts:
            self.count += 1
            insort_right(self.shortest, text, key=len)
            del self.shortest[SHOWN_EXAMPLES:]


def broken(run: Run, checks: Mapping[str, Check]) -> tuple[Suite, dict[str, Examples]]:
    """Hold a run to invariants in one pass through its answers.

    Returns:
        The run with its answers to the questions of probes, and by name the invariants that do not hold.
    """
    probed: dict[tuple[str, str], Response | None] = {}
    suite = Suite(run, probed)
    rules = {name: (check(suite), Examples()) for name, check in checks.items()}
    seeing = [(rule.see, examples) for rule, examples in rules.values() if rule.looks_at_answers]
    wanted = {(answer.probe.mode, answer.probe.case_id) for answer in run.probes.answers}
    for item in _passing(run, every=bool(seeing), first=bool(wanted)):
        response = item.result.response
        if (key := (item.result.mode, item.case.id)) in wanted:
            probed.setdefault(key, response)
        if response is not None:
            answer = Answer(item, response)
            for see, examples in seeing:
                examples.extend(see(answer))
    for rule, examples in rules.values():
        examples.extend(rule.close())
    return suite, {name: examples for name, (rule, examples) in rules.items() if examples.count and rule.applies()}


def _passing(run: Run, *, every: bool, first: bool) -> Iterator[LabelledResult]:
    yield from run.results if every or first else ()
    yield from run.repeats if every else ()
