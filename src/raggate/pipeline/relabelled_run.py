"""A run x another golden set -> the run as that set labels it: which answers stay, and what was said of them."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from raggate.config import schema
from raggate.errors import UsageError
from raggate.inputs import golden, golden_part
from raggate.models.golden import Case, Golden, by_id
from raggate.models.run import LabelledResult, Run
from raggate.scoring import repeats, score as scoring
from raggate.scoring.judged_places import judged_places
from raggate.text.files import read_file
from raggate.text.titles import rule


def by_golden_set(run: Run, path: Path) -> Run:
    """Give a run labelled by a golden set; the same one where that says nothing else.

    Raises:
        UsageError: for a file that cannot be read, or that no question of the suite is in.
    """
    cases = _asked_part(run, path)
    return run if _lines(cases) == _lines(run.golden) else _relabelled(run, cases)


def _asked_part(run: Run, path: Path) -> Golden:
    """Read a golden set, and give what a run asks of it: all, the part of its suite, or the questions of its command.

    Raises:
        UsageError: for a file that cannot be read, or that no question of the suite is in.
    """

    def refuse(_: object, text: str) -> UsageError:
        hint = "The run asked a part of its golden set: `questions` of its configuration chooses from this one too."
        return UsageError(text, hint=hint)

    whole = golden.load(read_file(path), str(path), snippets=run.config.score.reads_snippets)
    questions = run.config.questions if isinstance(run.config, schema.Config) else None
    return golden_part.asked_of(golden_part.part_of(whole, questions, refuse), run.selection)


def _lines(cases: Golden) -> list[bytes]:
    return [golden.write_case(case) for case in cases.cases]


def _asked(case: Case) -> tuple[object, ...]:
    """Give what the API is told of a case: an answer to anything else is none to it."""
    return case.question, case.vaults, case.folders, case.k, case.detail


def _relabelled(run: Run, cases: Golden) -> Run:
    """Label a stored run by another golden set. Unchanged cases keep the labels made on the full text.

    What was asked otherwise than that set asks it has no answer any more.
    """
    known = by_id(cases.cases)
    items = []
    for item in run.answers:
        case = known.get(item.case.id)
        if case is not None and _asked(case) == _asked(item.case):
            labels, judgements = item.labels, item.judgements
            if case.hash != item.case.hash:
                again = scoring.label(case, item.result, truncated=labels.truncated, as_read=labels.as_read)
                # all else does not depend on the labels of the case, and was decided on texts that may be cut by now
                labels = replace(labels, matches=again.labels.matches, unclear_citations=())
                # judges were told what was expected then
                judgements = ()
            chunks = item.result.chunks
            judged = judged_places(chunks, labels.matches, case, rule(as_read=labels.as_read))
            labels = replace(labels, judged=judged)
            items.append(LabelledResult(case=case, result=item.result, labels=labels, judgements=judgements))
    labelled = replace(
        run,
        golden=cases,
        results=tuple(item for item in items if item.result.repeat == 1),
        repeats=tuple(item for item in items if item.result.repeat > 1),
        fingerprint={**run.fingerprint, "golden": cases.hash},
    )
    return repeats.noted(labelled)
