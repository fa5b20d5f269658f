"""A run directory that is on disk already, judged again: by the same judges, by others, or from the cassette alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec.structs import replace

from raggate.base.errors import CannotTell, UsageError
from raggate.base.files import read_file
from raggate.base.numbers import counted
from raggate.base.quote import cut
from raggate.config import schema
from raggate.config.judge_settings import Judges, JudgingMode
from raggate.config.schema import Config
from raggate.inputs.trusted import StoredFile
from raggate.judges.cassette import Cassette
from raggate.models.run import Run
from raggate.models.scorecard import OVERALL, MetricValue
from raggate.pipeline import jury, rerun, run_directory
from raggate.pipeline.request import USUAL
from raggate.reports import OF_CHECK
from raggate.scoring import score as scoring
from raggate.scoring.metrics import METRICS


def judge_directory(
    directory: Path,
    config_file: Path,
    mode: JudgingMode | None,
    environment: Mapping[str, str],
    say: Callable[[str], None],
    *,
    prune: bool,
) -> list[tuple[str, str, MetricValue]]:
    """Judge the answers of a run directory, and rewrite its results and metrics. Its verdict is gone then.

    Args:
        config_file: the configuration whose section `judges` counts, and beside which the cassette is; where there is
            none of the usual name, the section and cassette of the run can only be replayed.
        mode: where replies come from; None as configured.
        prune: whether the cassette is to keep the replies that this run takes, and no others.
    """
    jury.labels_folder(directory)
    run = run_directory.read(directory)
    _refuse_unjudgeable(run)
    settings, own = _settings(config_file, run, mode)
    beside = config_file.resolve().parent
    # what a run directory holds is by whoever made it, and must not get into a cassette that is committed
    path = directory / jury.FILE if own else jury.place(beside, settings.cassette)
    tape = Cassette(jury.replies_at(path), path, fresh=settings.mode == "refresh")
    canary = jury.graded_by_people(_canary(beside, settings), settings)
    judges = jury.Jury(settings=settings, tape=tape, environment=environment, say=say, canary=canary)
    if run.shortfall:
        say(run.shortfall)
    judges.warn_of_missing_keys()
    judged = judges.judge(run)
    _refuse_ungraded(judged)
    if isinstance(judged.config, Config):
        judged = replace(judged, config=judged.config.model_copy(update={"judges": judges.settings}))
    if prune:
        dropped, kept = judges.tape.prune()
        say(f"{judges.tape.path}: {counted(dropped, 'reply', 'replies')} dropped, {kept} kept")
    run_directory.write(directory, judged, full_text=True)
    jury.write_labels(directory, judged)
    # what was decided by other judgements is no verdict on these
    for name in OF_CHECK:
        (directory / name).unlink(missing_ok=True)
    scorecard = scoring.score(judged, judged.config.score.k)
    rerun.write_metrics(directory, judged, scorecard)
    return [
        (mode, name, value)
        for mode, slices in scorecard.slices.items()
        for name, value in slices.get(OVERALL, {}).items()
        if name in METRICS and METRICS[name].judged and value.n
    ]


def _settings(config_file: Path, run: Run, mode: JudgingMode | None) -> tuple[Judges, bool]:
    """Return the judges that count, and whether they are those of the run directory, which are only replayed.

    Its addresses, and the variables that it calls keys, are by whoever made it: nothing is sent there.
    """
    own = config_file == Path(USUAL) and not config_file.exists()
    if own and mode != "replay":
        raise UsageError(
            f"there is no {USUAL} here, and raggate asks no judge that only a run directory names",
            hint="Name a configuration with --config, or use the run's own replies with --mode replay.",
        )
    config = run.config if own else schema.load(read_file(config_file), str(config_file))
    judges = config.judges if isinstance(config, Config) else None
    if judges is None:
        raise UsageError("no judge is configured", hint="Add one to the section `judges` (docs/judges.md).")
    return judges if mode is None else judges.model_copy(update={"mode": mode}), own


def _canary(root: Path, settings: Judges) -> StoredFile | None:
    if settings.canary is None:
        return None
    path = root / settings.canary
    data = read_file(path, "Key 'judges.canary' names the answers that people graded.")
    return StoredFile(name=settings.canary, data=data)


def _refuse_unjudgeable(run: Run) -> None:
    if run.fingerprint.get("retrieval_only") is True:
        raise UsageError(
            f"run {cut(run.run_id)} asked for no answers, so there is nothing to judge",
            hint="Measure again with ask.retrieval_only: false.",
        )
    if any(item.labels.truncated for item in run.answers):
        raise UsageError(
            f"run {cut(run.run_id)} stored only the beginnings of texts, but judges need whole texts",
            hint="Measure again with --store-full-text, or with a section `judges` in raggate.yml.",
        )


def _refuse_ungraded(run: Run) -> None:
    given = [judgement for item in run.answers for judgement in item.judgements]
    reasons = Counter(item.reason for item in given if item.reason not in {None, "nothing_to_judge"})
    if reasons and all(item.value is None for item in given):
        counts = ", ".join(f"{reason} {number}" for reason, number in sorted(reasons.items()))
        raise CannotTell(
            f"no answer of run {cut(run.run_id)} was graded, so the run stays unchanged: {counts}",
            hint="docs/judges.md has a table of the reasons.",
        )
