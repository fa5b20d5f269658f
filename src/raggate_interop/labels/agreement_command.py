"""The command `raggate labels agreement`: files of several annotators in, how far they agree out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from raggate.cli.options import DIRECTORY, FiniteRange
from raggate.errors import ExitCode, UsageError
from raggate.models.answer import Answer
from raggate.text.clock import now
from raggate.text.escape import log_line
from raggate.text.numbers import counted
from raggate_interop.labels.options import CI, FILES, RESAMPLES, SEED, interval, number, sampling

if TYPE_CHECKING:
    from raggate.labelling.label_file import Labels
    from raggate.labels.models import Judgment, TaskAgreement
    from raggate_interop.labels.agreement_rows import Selection
    from raggate_interop.results import AgreementShown, GradedAgreement

LABEL_FILE = ".labels.jsonl"
"""How the files end that `raggate label` writes."""


def _time(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Check an ISO 8601 time."""
    from raggate.text.dates import moment

    if value is not None and moment(value) is None:
        raise click.BadParameter(f"{value!r} is no ISO 8601 time such as 2026-05-01", context, parameter)
    return value


@click.command()
@FILES
@CI
@RESAMPLES
@SEED
@click.option(
    "--constant",
    type=FiniteRange(-1, 1),
    help="Alpha of a label whose values are all the same; without it, such a label has none.",
)
@click.option("--exclude-annotator", "without", multiple=True, metavar="ID", help="Leave one out. Repeatable.")
@click.option("--after", callback=_time, metavar="TIME", help="Only what was judged then or later (ISO 8601).")
@click.option("--before", callback=_time, metavar="TIME", help="Only what was judged then or earlier (ISO 8601).")
@click.option("--production", is_flag=True, help="Also count rows outside the calibration set, if one is marked.")
@click.option("--out", type=DIRECTORY, help="Write report.json here.")
def agreement(
    files: tuple[Path, ...], constant: float | None, out: Path | None, **settings: Any
) -> Answer[AgreementShown]:
    """Return how far annotators agree: Krippendorff's alpha per label, Cohen's kappa per pair.

    Counts the rows of the calibration set alone where rows are marked as such. FILES may also be the id of an export
    in annotation/exports. Of a .labels.jsonl, which `raggate label` writes, it is told whether a passage answers
    (grade 1 or more), and kappa of the grades with quadratic weights. Exits 3 when no row is left to compare.
    """
    from raggate.labelling import label_file
    from raggate.labels import agreement as agreement_metrics
    from raggate.labels.models import TaskAgreement
    from raggate.text.files import read_file
    from raggate_interop.labels import agreement_rows
    from raggate_interop.pragmata.files import read_sheets, write_agreement
    from raggate_interop.results import AgreementShown

    bootstrap = sampling(settings)
    selection = agreement_rows.Selection(**settings)
    own = [path for path in files if path.name.endswith(LABEL_FILE)]
    others = [path for path in files if path not in own]
    if out is not None and own:
        raise UsageError(f"--out: {own[0]}: report.json is of annotation exports, and has no place for grades")
    sheets = read_sheets(others) if others else ()
    labels = {path: label_file.read(read_file(path), str(path)) for path in own}
    people = {name for units in labels.values() for votes in units.values() for name in votes}
    people |= {judgment.annotator for sheet in sheets for judgment in sheet.judgments if judgment.annotator is not None}
    agreement_rows.check_names(people, selection.without)
    graded = [_graded(path, units, selection) for path, units in labels.items()]
    agreements = []
    for task in dict.fromkeys(sheet.task for sheet in sheets):
        judgments = [judgment for sheet in sheets if sheet.task == task for judgment in sheet.judgments]
        chosen = agreement_rows.selected(judgments, selection)
        of_all = "" if len(chosen) == len(judgments) else f"{len(chosen)} of "
        click.echo(f"{task}: {of_all}{counted(len(judgments), 'judgment')}{_why(chosen, judgments)}")
        if chosen:
            by_label = agreement_metrics.label_agreement(chosen, bootstrap, without_variation=constant)
            agreements.append(TaskAgreement(task=task, labels=by_label, pairs=agreement_metrics.pair_agreement(chosen)))
            _say_agreement(agreements[-1])
    if out is not None:
        report = write_agreement(agreements, sheets, out, created_at=now(), sampling=bootstrap)
        click.echo(log_line(f"wrote {report}"))
    compared = agreements or any(file.agreement.passages for file in graded)
    shown = AgreementShown(tasks=tuple(agreements), graded=tuple(graded))
    return Answer(shown, ExitCode.PASS if compared else ExitCode.CANNOT_TELL)


def _graded(path: Path, labels: Labels, selection: Selection) -> GradedAgreement:
    """Return how far people agree whose grades `raggate label` has written."""
    from raggate.labelling.grades import agreement, of_same_words
    from raggate_interop.labels.agreement_rows import within
    from raggate_interop.results import GradedAgreement

    chosen = [
        {
            name: vote
            for name, vote in votes.items()
            if name not in selection.without and within(vote.at, selection, f"{path}: key at of case {unit.case}")
        }
        for unit, votes in labels.items()
    ]
    agreed = agreement(part for votes in chosen for part in of_same_words(votes))
    people = len({name for votes in chosen for name in votes})
    click.echo(log_line(f"{path}: {counted(agreed.passages, 'passage')} graded by several of {people} annotators"))
    if agreed.passages:
        click.echo(f"  {'answers':27} alpha {number(agreed.alpha)}  agreement {number(agreed.percent)}")
    for pair in agreed.pairs:
        names = log_line(f"{pair.first} / {pair.second}", limit=60)
        click.echo(f"  {names:27} kappa {number(pair.kappa)}  units={pair.shared}")
    return GradedAgreement(file=path, agreement=agreed)


def _say_agreement(agreement: TaskAgreement) -> None:
    for label in agreement.labels:
        click.echo(
            f"  {label.label:27} alpha {number(label.alpha)} {interval(label.interval)}  "
            f"agreement {number(label.percent)}  units={label.items}  annotators={label.annotators}"
            f"{'  one unit gives no interval' if label.items == 1 else ''}"
        )
    for pair in agreement.pairs:
        names = log_line(f"{pair.first} / {pair.second}", limit=60)
        click.echo(f"  {names:27} kappa {number(pair.mean)}  units={pair.shared}")


def _why(chosen: Sequence[Judgment], judgments: Sequence[Judgment]) -> str:
    """Say that the calibration set alone counts, where it does."""
    whole = len(chosen) == len(judgments) or any(not judgment.calibration for judgment in chosen)
    return "" if whole or not chosen else " (the calibration set)"
