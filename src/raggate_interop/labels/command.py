"""The commands `raggate labels ...`: files of human labels in, metrics, agreement, findings or a verdict out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from raggate.base.dates import now
from raggate.base.errors import ExitCode, UsageError
from raggate.base.escape import log_line
from raggate.base.numbers import counted, percent, written
from raggate.cli.options import DIRECTORY, PATH, RUN, FiniteRange, choice
from raggate.models.answer import Answer
from raggate_interop.terminal import MODE, warn

if TYPE_CHECKING:
    from raggate.labelling.label_file import Labels
    from raggate.models.judging import Task
    from raggate.scoring.intervals import Interval, Sampling
    from raggate_interop.labels.models import Joined, Judgment, LabelDelta, LabelScores, MetricScore, TaskAgreement
    from raggate_interop.results import AgreementShown, GradedAgreement, LabelsChecked, LabelsJoined, LabelsScored

FILES = click.argument("files", nargs=-1, required=True, type=PATH)
CI = click.option(
    "--ci",
    "level",
    type=FiniteRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Confidence level of the intervals.",
)
RESAMPLES = click.option(
    "--resamples",
    type=click.IntRange(1, 1_000_000),
    default=1000,
    show_default=True,
    help="How many resamples a bootstrap draws.",
)
SEED = click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the bootstrap.")

LABEL_FILE = ".labels.jsonl"
"""How the files end that `raggate label` writes."""
_EXAMPLES = 5
"""How many queries are named before a list is cut."""
_DIGITS = 6
_REPEATED = (
    "{count} rows repeat a judgment of the same annotator, the first at {place}. Together they have one vote, but "
    "raggate cannot tell which one counts"
)
ONE_QUERY = "one query gives no interval"
_TASKS = ("retrieval", "grounding", "generation")


def sampling(settings: dict[str, Any]) -> Sampling:
    """Take out of the settings of a command how intervals are drawn."""
    from raggate.scoring.intervals import Sampling

    return Sampling(**{name: settings.pop(name) for name in ("level", "resamples", "seed")})


def number(value: float | None) -> str:
    """Write a value, or a dash as wide as one."""
    return f"{written(value):>6}"


def interval(ends: Interval | None) -> str:
    """Write the ends of an interval, as wide as any other."""
    return "[      –       ]" if ends is None else f"[{written(ends.lower)}, {written(ends.upper)}]"


@click.command()
@FILES
@CI
@RESAMPLES
@SEED
@click.option(
    "--constant",
    type=FiniteRange(-1, 1),
    help="Alpha of a label with a single value. Without it, such a label has none.",
)
@click.option("--exclude-annotator", "without", multiple=True, metavar="ID", help="Leave one out. Repeatable.")
@click.option("--production", is_flag=True, help="Also count rows outside the calibration set, if one is marked.")
@click.option("--out", type=DIRECTORY, help="Write report.json here.")
def agreement(
    files: tuple[Path, ...], constant: float | None, out: Path | None, **settings: Any
) -> Answer[AgreementShown]:
    """Return how far annotators agree: Krippendorff's alpha per label, Cohen's kappa per pair.

    Counts the rows of the calibration set alone where rows are marked as such. FILES may also be the id of an export
    in annotation/exports. For a .labels.jsonl of `raggate label` you get whether a passage answers (grade 1 or more),
    and kappa of the grades with quadratic weights. Exits 3 when no row is left to compare.
    """
    from raggate.base.files import read_file
    from raggate.labelling import label_file
    from raggate_interop.labels import agreement as agreement_metrics, checks
    from raggate_interop.labels.models import TaskAgreement
    from raggate_interop.pragmata.files import read_sheets, write_agreement
    from raggate_interop.results import AgreementShown

    bootstrap = sampling(settings)
    without: tuple[str, ...] = settings["without"]
    own = [path for path in files if path.name.endswith(LABEL_FILE)]
    others = [path for path in files if path not in own]
    if out is not None and own:
        raise UsageError(f"--out: {own[0]}: report.json is for annotation exports and cannot hold grades")
    sheets = read_sheets(others) if others else ()
    labels = {path: label_file.read(read_file(path), str(path)) for path in own}
    people = {name for units in labels.values() for votes in units.values() for name in votes}
    people |= {judgment.annotator for sheet in sheets for judgment in sheet.judgments if judgment.annotator is not None}
    checks.check_names(people, without)
    graded = [_graded(path, units, without) for path, units in labels.items()]
    agreements = []
    for task in dict.fromkeys(sheet.task for sheet in sheets):
        judgments = [judgment for sheet in sheets if sheet.task == task for judgment in sheet.judgments]
        chosen = checks.selected(judgments, **settings)
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


def _graded(path: Path, labels: Labels, without: Sequence[str]) -> GradedAgreement:
    """Return how far people agree whose grades `raggate label` has written."""
    from raggate.labelling.label_file import agreement, of_same_words
    from raggate_interop.results import GradedAgreement

    chosen = [{name: vote for name, vote in votes.items() if name not in without} for votes in labels.values()]
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
    """The remark that only the calibration set counts, if so."""
    whole = len(chosen) == len(judgments) or any(not judgment.calibration for judgment in chosen)
    return "" if whole or not chosen else " (the calibration set)"


def _cut_off(context: click.Context, parameter: click.Parameter, value: str) -> int | None:
    """Read a whole number from 1, or `inferred`, which is None."""
    if value == "inferred":
        return None
    if value.isascii() and value.isdigit() and len(value) <= _DIGITS and int(value) > 0:
        return int(value)
    raise click.BadParameter(f"{value!r} is neither a whole number from 1 nor 'inferred'", context, parameter)


@click.group()
def labels() -> None:
    """Score retrieval and answers by human labels.

    FILES are annotation exports (a row for every annotator) or score inputs (a row for every unit) as CSV, or
    directories of them. Files that end in .meta.json are ignored.
    """


labels.add_command(agreement)


@labels.command()
@FILES
@click.option("--task", type=click.Choice(_TASKS), required=True, help="The task that the labels are for.")
@click.option(
    "--k",
    "k",
    callback=_cut_off,
    default="inferred",
    show_default=True,
    metavar="N|inferred",
    help="K of the retrieval metrics: a number divides by it; inferred takes the judged chunks of each query.",
)
@choice("--ideal", "retrieved", "judged", help="Chunks that the ideal ranking of nDCG is made from.")
@CI
@RESAMPLES
@SEED
@click.option("--out", type=DIRECTORY, help="Write <task>_scores.json here.")
def score(files: tuple[Path, ...], task: Task, out: Path | None, **settings: Any) -> Answer[LabelsScored]:
    """Compute the label-based metrics of one task with confidence intervals."""
    from raggate_interop.labels import checks, score as label_scores
    from raggate_interop.pragmata.files import read_sheets, write_report
    from raggate_interop.results import LabelsScored

    sheets = read_sheets(files, task)
    judgments = [judgment for sheet in sheets for judgment in sheet.judgments]
    if task != "retrieval" and settings["k"] is not None:
        raise UsageError(f"--k is for the task retrieval, not {task}")
    bootstrap = sampling(settings)
    scores = label_scores.score(judgments, sampling=bootstrap, **settings)
    panels = checks.panels(judgments, [row for sheet in sheets for row in sheet.discarded])
    missing = checks.incomplete(panels)
    repeated = checks.repeated(judgments)
    if repeated:
        warn(_REPEATED.format(count=len(repeated), place=repeated[0].place))
    if missing:
        which = f"{len(missing)} of {counted(len(panels), 'query', 'queries')} {'has' if len(missing) == 1 else 'have'}"
        warn(f"{which} chunks without a label: the numbers are of the chunks that have one")
    if scores.unjudged:
        warn(f"{scores.unjudged} of the ranks up to {scores.k} have no label and count as irrelevant")
    if out is None:
        _say_scores(scores, len(label_scores.annotators(judgments)))
    else:
        click.echo(log_line(f"wrote {write_report(scores, sheets, out, created_at=now())}"))
    return Answer(LabelsScored(task=scores.task, k=scores.k, queries=scores.n_examples, metrics=scores.metrics))


@labels.command()
@FILES
@click.option("--strict", is_flag=True, help="Exit 4 when something is found.")
@click.option(
    "--allow", multiple=True, metavar="ID", help="A finding that --strict lets pass, such as panel_incomplete."
)
def check(files: tuple[Path, ...], strict: bool, allow: tuple[str, ...]) -> Answer[LabelsChecked]:  # noqa: FBT001 - click passes it by name
    """Find labels that contradict each other, doubled rows, and queries whose chunks are not all judged."""
    from raggate_interop.labels import checks, score as label_scores
    from raggate_interop.pragmata.files import read_sheets
    from raggate_interop.results import LabelsChecked

    rules = (*checks.RULES, checks.REPEATED, checks.SHARED_RANK, checks.OTHER_QUERY, checks.INCOMPLETE)
    unknown = next((name for name in allow if name not in rules), None)
    if unknown is not None:
        raise UsageError(f"--allow: {unknown!r} is not a finding", hint=f"Known are {', '.join(rules)}.")
    sheets = read_sheets(files)
    judgments = [judgment for sheet in sheets for judgment in sheet.judgments]
    discarded = [row for sheet in sheets for row in sheet.discarded]
    panels = checks.panels(judgments, discarded)
    findings = (*checks.violations(judgments), *checks.duplicates(judgments), *checks.incomplete(panels))
    for item in findings:
        unusual = " (unusual, may be meant)" if item.unusual else ""
        where = item.place or f"record {item.record}"
        click.echo(log_line(f"{where}: {item.rule}: {item.message}{unusual}"))
    complete = sum(panel.complete is True for panel in panels)
    people = len(label_scores.annotators(judgments))
    click.echo(
        f"{counted(len(judgments), 'judgment')}{' by ' if people else ', '}{_people(people)}, "
        f"{len(discarded)} discarded; {complete} of "
        f"{counted(len(panels), 'retrieval panel')} known to be complete; {counted(len(findings), 'finding')}"
    )
    failed = strict and any(item.rule not in allow for item in findings)
    checked = LabelsChecked(judgments=len(judgments), panels=len(panels), complete=complete, findings=findings)
    return Answer(checked, ExitCode.INVARIANT if failed else ExitCode.PASS)


@labels.command()
@click.argument("directory", metavar="RUN", type=RUN)
@FILES
@click.option("--k", "k", type=click.IntRange(1, 999_999), default=5, show_default=True, help="The cut-off.")
@MODE
@click.option("--baseline", type=RUN, metavar="RUN", help="A run to compare with.")
@click.option(
    "--tolerance", type=FiniteRange(0, 1), default=0.05, show_default=True, help="Allow a mean to be so much worse."
)
@click.option(
    "--unjudged-limit",
    "limit",
    type=FiniteRange(0, 1),
    default=0.2,
    show_default=True,
    help="Exit 3 when a larger share of the first K chunks has no label.",
)
@CI
@RESAMPLES
@SEED
def join(
    directory: Path, files: tuple[Path, ...], mode: str | None, baseline: Path | None, **settings: Any
) -> Answer[LabelsJoined]:
    """Score the chunks of a run with stored retrieval labels, and compare with another run.

    With --baseline, exits 1 when a metric is worse by more than the tolerance and, from 10 queries on, the whole
    interval of the paired difference is on the worse side of zero. Exits 3 when too many chunks have no label, too many
    calls failed on either side, an annotator judged a chunk twice, or the runs cannot be compared.
    """
    from raggate_interop.labels import checks, score as label_scores
    from raggate_interop.labels.models import RetrievalJudgment
    from raggate_interop.pragmata.files import read_sheets, result_lists
    from raggate_interop.results import LabelsJoined

    labelled = [judgment for sheet in read_sheets(files, "retrieval") for judgment in sheet.judgments]
    judgments = [judgment for judgment in labelled if isinstance(judgment, RetrievalJudgment)]
    policy = {name: settings.pop(name) for name in ("k", "limit")}
    current = label_scores.join(judgments, result_lists(directory, judgments, mode), **policy)
    _say_joined(current, directory)
    repeated = checks.repeated(judgments)
    doubts = [_REPEATED.format(count=len(repeated), place=repeated[0].place)] if repeated else []
    joined = partial(
        LabelsJoined, run_directory=directory, k=current.k, unjudged=current.unjudged_share, metrics=current.means
    )
    if baseline is None:
        doubts += _doubts(current)
        code = ExitCode.CANNOT_TELL if _say_doubts(doubts) else ExitCode.PASS
        return Answer(joined(deltas=(), doubts=tuple(doubts)), code)
    before = label_scores.join(judgments, result_lists(baseline, judgments, mode), **policy)
    bootstrap = sampling(settings)
    deltas = checks.compare(current, before, sampling=bootstrap, **settings)
    click.echo(log_line(f"against {baseline}, over the queries both have:"))
    for delta in deltas:
        _say_delta(delta)
    doubts += _doubts(current, before, deltas)
    code = ExitCode.REGRESSION if any(delta.status == "worse" for delta in deltas) else ExitCode.PASS
    code = ExitCode.CANNOT_TELL if _say_doubts(doubts) else code
    return Answer(joined(deltas=tuple(deltas), doubts=tuple(doubts)), code)


def _people(number: int) -> str:
    """Return how many annotators judged, where files name them."""
    return counted(number, "annotator") if number else "annotators not named"


def _say_scores(scores: LabelScores, annotators: int) -> None:
    about = "" if scores.task != "retrieval" else f", K {scores.k or f'inferred, up to {scores.top_k}'}"
    click.echo(f"{scores.task}: {counted(scores.n_examples, 'query', 'queries')}, {_people(annotators)}{about}")
    _say_metrics(scores.metrics)


def _say_metrics(metrics: Mapping[str, MetricScore | None]) -> None:
    for name, score in metrics.items():
        if score is None:
            click.echo(f"  {name:29}      –  does not apply to any query")
        else:
            how = score.method if score.interval is not None else ONE_QUERY
            click.echo(f"  {name:29} {written(score.point)}  {interval(score.interval)}  {how}  n={score.n}")


def _say_joined(joined: Joined, directory: Path) -> None:
    labelled = counted(len(joined.values["ndcg_at_k"]), "labelled query", "labelled queries")
    click.echo(log_line(f"{directory}: {labelled}, K {joined.k}"))
    for name, mean in joined.means.items():
        click.echo(f"  {name:29} {number(mean.value)}  n={mean.n}  unscored={mean.unscored}")
    worst = sorted(joined.unjudged.items(), key=lambda item: (-item[1], item[0]))[:_EXAMPLES]
    click.echo(f"  {'unjudged_at_k':29} {number(joined.unjudged_share)}")
    for query, share in worst:
        if share > 0:
            click.echo(log_line(f"    {percent(share)} unjudged: {query}", limit=160))
    for consequence, queries in (
        ("without any label: not scored", joined.unlabelled),
        ("labelled, but not in the run", joined.absent),
        ("failed: a miss each", joined.failed),
    ):
        if queries:
            which = counted(len(queries), "query", "queries")
            click.echo(log_line(f"  {which} {consequence}: {'; '.join(queries[:_EXAMPLES])}", limit=400))


def _say_delta(delta: LabelDelta) -> None:
    if delta.delta is None:
        click.echo(f"  {delta.metric:29} {delta.status if delta.status == 'vanished' else 'does not apply'}")
        return
    ends = ONE_QUERY
    if delta.interval is not None:
        ends = f"[{written(delta.interval.lower, sign=True)}, {written(delta.interval.upper, sign=True)}]"
    click.echo(
        f"  {delta.metric:29} {number(delta.baseline)} -> {number(delta.current)}  "
        f"{written(delta.delta, sign=True)} {ends}  n={delta.n}  {delta.status}"
    )


def _doubts(current: Joined, before: Joined | None = None, deltas: Sequence[LabelDelta] = ()) -> list[str]:
    """Return the reasons why the numbers do not allow a verdict."""
    doubts = []
    for side, joined in (("", current), ("baseline: ", before)):
        if joined is not None and joined.unjudged_share is None:
            doubts.append(f"{side}no chunk of a labelled query was retrieved, so nothing was measured")
        elif joined is not None and joined.caveat:
            doubts.append(side + joined.caveat)
        if joined is not None and (failing := _failing(joined)):
            doubts.append(side + failing)
    lost = sorted(set(before.values["ndcg_at_k"]) - set(current.values["ndcg_at_k"])) if before else []
    if lost:
        doubts.append(f"{len(lost)} labelled queries of the baseline were not asked: {'; '.join(lost[:_EXAMPLES])}")
    vanished = [delta.metric for delta in deltas if delta.status == "vanished"]
    if vanished:
        doubts.append(f"there is no pair of queries for {', '.join(vanished)}")
    return doubts


def _failing(joined: Joined) -> str:
    """The message if more calls of labelled queries failed than a gate allows; otherwise empty."""
    from raggate.config.gate_settings import Gate
    from raggate.models.scorecard import EPSILON

    asked, limit = len(joined.values["ndcg_at_k"]), Gate().max_error_rate
    if len(joined.failed) <= limit * asked + EPSILON:
        return ""
    return (
        f"{len(joined.failed)} of the {asked} calls for labelled queries failed, more than the allowed {percent(limit)}"
    )


def _say_doubts(doubts: Sequence[str]) -> bool:
    """Return why there is no verdict; give whether there is a reason."""
    for doubt in doubts:
        warn(f"cannot tell: {doubt}")
    return bool(doubts)
