"""The judging step: the answers of a run in, the same run with what judges say of each answer out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from raggate.base.errors import UsageError
from raggate.base.files import read_file, write_file, writing
from raggate.base.numbers import counted, dollars
from raggate.base.redact import Guarded
from raggate.config.judge_settings import Judges, in_git
from raggate.inputs.trusted import Inputs, StoredFile
from raggate.judges import canary, cassette, session
from raggate.judges.canary import CanarySet
from raggate.judges.cassette import Cassette, Line
from raggate.judges.judging import JudgedRun, identity, judge_run
from raggate.judges.label_files import NAMES, label_files
from raggate.judges.session import Bench, Work
from raggate.models.judging import (
    JUDGES,
    JUDGING,
    Judgement,
    Judging,
    Spending,
    usage_of,
)
from raggate.models.run import LabelledResult, Run
from raggate.pipeline.request import Request
from raggate.reports.parts.evidence import spot_check
from raggate.service import signals

T = TypeVar("T")

FILE = "judge_cassette.jsonl"
"""The cassette in a run directory, where the configured one is that of a commit and cannot be added to."""

LABELS = "labels"
"""The directory of the label files in a run directory."""

_COSTS = ("judge_tokens", "judge_cost_usd")

STEPS = 10
"""Messages about how far judging has come."""


class Jury(Guarded, Struct, frozen=True, kw_only=True):
    """The judges of a run, ready to be asked.

    `tape` has the replies so far and takes new ones, `environment` the keys, and `canary` is what people graded.
    """

    settings: Judges
    tape: Cassette
    environment: Mapping[str, str]
    say: Callable[[str], None]
    canary: CanarySet | None = None

    @classmethod
    def of(cls, request: Request, inputs: Inputs, directory: Path, settings: Judges) -> Jury:
        """Make the judges ready for a run, whose directory takes new replies when the inputs are those of a commit."""
        path = directory / FILE if inputs.against is not None else place(request.root, settings.cassette)
        tape = Cassette(stored_replies(inputs.cassette), path, fresh=settings.mode == "refresh")
        graded = graded_by_people(inputs.canary, settings)
        jury = cls(settings=settings, tape=tape, canary=graded, environment=request.environment, say=request.say)
        jury.warn_of_missing_keys()
        return jury

    def warn_of_missing_keys(self) -> None:
        """Warn of judges that cannot be asked because a key is missing."""
        for model in self.settings.asked().values():
            missing = session.missing_key(model, self.environment)
            if missing is not None and self.settings.mode != "replay":
                self.say(f"{model.model} is not asked, because {missing.detail}. Only replies of the cassette count")

    def judge(self, run: Run) -> Run:
        """Judge all answers of a run, and say what that took."""
        items = tuple(run.answers)
        second = self.settings.spot_model
        once_more = f", a sample once more by {second.model}" if second is not None else ""
        by = ", ".join(model.model for model in self.settings.models)
        self.say(f"judging {counted(len(items), 'answer')} by {by}{once_more}")

        def say_progress(done: int) -> None:
            if done * STEPS // len(items) > (done - 1) * STEPS // len(items):
                self.say(f"judged {done} of {counted(len(items), 'answer')}")

        async def work(bench: Bench) -> tuple[JudgedRun, Mapping[str, float]]:
            return await judge_run(items, self.settings, self.canary, bench, say_progress), bench.took

        (judged, took), spending = self.ask(work)
        self._say_outcome(judged)
        self.say_spending(spending)
        graded = [*_with_judgements(items, judged.judgements, took)]
        return replace(
            run,
            results=tuple(item for item in graded if item.result.repeat == 1),
            repeats=tuple(item for item in graded if item.result.repeat > 1),
            fingerprint={**run.fingerprint, JUDGES: identity(self.settings), JUDGING: judged.summary.stored()},
            judging=Judging(mode=self.settings.mode, spending=spending, recorded=len(self.tape.recorded)),
        )

    def ask(self, work: Work[T]) -> tuple[T, Spending]:
        """Do what needs judges, and keep what they reply. Returns what it gives, and what was spent."""
        try:
            with signals.deferred() as came:
                return session.run(work, self.settings, self.environment, self.tape, ended=lambda: bool(came))
        finally:
            self.tape.put_in_order()

    def _say_outcome(self, judged: JudgedRun) -> None:
        for score, coverage in judged.summary.scores.items():
            missing = ", ".join(f"{reason} {number}" for reason, number in coverage.reasons.items())
            missing = f". Not judged: {missing}" if missing else ""
            self.say(f"{score}: {coverage.judged} of {coverage.expected} judged{missing}")
        if judged.summary.spot_check is not None:
            self.say(spot_check(judged.summary.spot_check))
        first: dict[str, str] = {}
        for judgement in (judgement for answer in judged.judgements for judgement in answer):
            if judgement.reason is not None and judgement.reason != "nothing_to_judge":
                first.setdefault(judgement.reason, judgement.detail)
        for reason, detail in sorted(first.items()):
            self.say(f"{reason}: {detail}")

    def say_spending(self, spending: Spending) -> None:
        """Report what was spent, and that there are replies to commit."""
        cost = "cost not known" if spending.usd is None else dollars(spending.usd)
        self.say(
            f"{counted(spending.calls, 'call')} to judges, {spending.retries} of them retries, "
            f"{counted(spending.tokens, 'token')}, {cost}"
        )
        if self.tape.recorded:
            self.say(f"new replies of judges, for you to review and commit: {len(self.tape.recorded)}")


def _with_judgements(
    items: Iterable[LabelledResult], judgements: Iterable[tuple[Judgement, ...]], took: Mapping[str, float]
) -> Iterator[LabelledResult]:
    """Yield the answers with their judgements, and what these took: of a reply that several share, the first has it.

    An API may report a time of judges too, such as 0: they were no judges of ours.
    """
    counted: set[tuple[str, ...]] = set()
    left = dict(took)
    for item, own in zip(items, judgements, strict=True):
        usage, response = usage_of(own, counted), item.result.response
        milliseconds = sum(left.pop(key, 0.0) for judgement in own for key in judgement.keys)
        if response is not None:
            # replies from before this run tell their tokens, and no time
            latency = {step: time for step, time in response.latency.items() if step != "judge_ms"}
            times = {"judge_ms": milliseconds} if milliseconds else {}
            cost = {kind: amount for kind, amount in response.cost.items() if kind not in _COSTS}
            response = replace(response, latency={**latency, **times}, cost={**cost, **usage.amounts()})
        yield replace(item, judgements=own, result=replace(item.result, response=response))


def labels_folder(directory: Path) -> Path:
    """Return the folder of the label files in a run directory."""
    folder = directory / LABELS
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UsageError(f"{folder}: expected a folder for the label files of judges", hint="Remove it.")
    return folder


def write_labels(directory: Path, run: Run) -> None:
    """Write the labels that judges gave into a run directory, where `raggate labels` reads them; none of before."""
    folder = labels_folder(directory)
    files = label_files(run.results)
    for path in (folder / name for name in NAMES if name not in files):
        with writing(path):
            path.unlink(missing_ok=True)
    for name, content in files.items():
        write_file(folder / name, content)


def stored_replies(file: StoredFile | None) -> dict[str, Line]:
    """Read the replies so far, by key; none where there is no file."""
    return cassette.read(file.data, file.place or file.name) if file is not None else {}


def replies_at(path: Path) -> dict[str, Line]:
    """Read a cassette on disk, by key; none where there is no file."""
    if not path.exists():
        return {}
    return cassette.read(read_file(path, most_bytes=cassette.MOST_BYTES), str(path))


def graded_by_people(file: StoredFile | None, settings: Judges) -> CanarySet | None:
    """Read what people graded."""
    if file is None or settings.canary is None:
        return None
    return canary.read(file.data, file.place or file.name)


def place(root: Path, path: str) -> Path:
    """The cassette on disk: of a link the file it leads to, as a file would be put in its place when written anew."""
    file, home = root / path, root.resolve()
    # not `resolve`, which takes a link to itself for an error
    target = Path(os.path.realpath(file))
    if not target.is_relative_to(home):
        raise UsageError(f"judges.cassette: {path} leads out of the directory of the configuration")
    if in_git(target.relative_to(home).as_posix()):
        raise UsageError(f"judges.cassette: {path} leads into git's own directory")
    return target if file.is_symlink() else file
