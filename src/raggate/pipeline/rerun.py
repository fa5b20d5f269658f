"""The commands on a run directory that is on disk already: compare and promote. Each can be repeated."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from raggate.base.errors import CannotTell, ExitCode, UsageError
from raggate.base.files import read_file, write_atomic, write_file
from raggate.base.jsonio import parse_object
from raggate.base.quote import cut, quoted
from raggate.config import schema
from raggate.config.imported import RunConfig
from raggate.gate import baseline as baseline_file, promote, waivers
from raggate.gate.evaluation import evaluate_run
from raggate.gate.invariants import invariants
from raggate.gate.other_systems import compat_scores
from raggate.gate.reach import refuse_matchless
from raggate.inputs import golden, sources
from raggate.models.baseline import MOST_BYTES, Baseline
from raggate.models.golden import Case, Golden, by_id
from raggate.models.promotion import BaselineCandidate
from raggate.models.provenance import commit_words
from raggate.models.run import LabelledResult, Run
from raggate.models.scorecard import Scorecard
from raggate.models.verdict import ReportContext, Review
from raggate.pipeline import check, previewing, result_rows, run_directory, stored_runs, trusted_inputs
from raggate.pipeline.request import USUAL, Request
from raggate.reports import OF_RUN, MeasuredRun, encoded
from raggate.scoring import repeats, score as scoring
from raggate.scoring.score import judged_places

COMPARED = "compared"
"""Folder of a run directory with the reports of a later comparison, whatever it was by: its own verdict stays."""


def by_golden_set(run: Run, path: Path) -> Run:
    """Return a run labelled by a golden set; the same one where that says nothing else."""
    cases = _asked_part(run, path)
    same = [*map(golden.write_case, cases.cases)] == [*map(golden.write_case, run.golden.cases)]
    return run if same else _relabelled(run, cases)


def _asked_part(run: Run, path: Path) -> Golden:
    """Read what a run asks of a golden set: all, the part of its suite, or the questions of its command."""

    def refuse(_: object, text: str) -> UsageError:
        hint = "The run asked a part of its golden set. `questions` of its configuration applies to this one too."
        return UsageError(text, hint=hint)

    whole = golden.load(read_file(path), str(path), snippets=run.config.score.reads_snippets)
    questions = run.config.questions if isinstance(run.config, schema.Config) else ()
    return golden.asked_of(golden.part_of(whole, questions, refuse), run.selection)


def _asked(case: Case) -> tuple[object, ...]:
    """The part of a case that is sent to the API: another answer does not fit the case."""
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
                again = scoring.label(case, item.result, truncated=labels.truncated)
                # all else does not depend on the labels of the case, and was decided on texts that may be cut by now
                labels = replace(labels, matches=again.labels.matches)
                # judges were told what was expected then
                judgements = ()
            chunks = item.result.chunks
            judged = judged_places(chunks, labels.matches, case)
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


def promotable(review: Review) -> bool:
    """Return whether a run is one that becomes a baseline, and was measured well enough for it."""
    gate = review.run.config.gate
    try:
        promote.refuse_other_origin(review.run)
        promote.refuse_unmeasured(review.run, review.scorecard, review.findings, gate)
        refuse_matchless(review.scorecard, gate.min_cases, ())
    except (CannotTell, UsageError):
        return False
    return True


def compare_directory(
    directory: Path, baseline_file: Path | None, policy_file: Path | None, golden_file: Path | None = None
) -> tuple[Path, Review]:
    """Score and compare a run directory again. The reports are in a folder of their own below it.

    What is not given is the run's own: a baseline file or another run that could be promoted, a configuration whose
    gate, invariants and waivers count, and a golden set whose labels count.
    """
    stored = run_directory.read(directory)
    measured = stored if golden_file is None else by_golden_set(stored, golden_file)
    settings = measured.config
    policy = schema.load(read_file(policy_file), str(policy_file)) if policy_file else None
    if policy is not None:
        trusted_inputs.check_names(policy, str(policy_file))
        waivers.check_cases(policy, measured.golden, str(policy_file))
    if baseline_file is not None:
        baseline: Baseline | None = _baseline_on_disk(baseline_file, str(baseline_file), settings, (directory, stored))
    else:
        baseline = kept_baseline(directory, measured, settings)
    scorecard = scoring.score(measured, settings.score.k)
    if baseline_file is None and policy is None and measured is stored:
        review = _as_before(directory, measured, scorecard, baseline)
    else:
        # what the base build was asked was chosen by the run's own baseline and policy
        context = replace(_context(directory, measured), recheck=None)
        # and the command that it was made by leads to its own verdict, not to this one
        other = replace(measured, provenance=replace(measured.provenance, reproduce=""))
        review = _evaluate(other, scorecard, baseline, context, policy)
    if review.context.root:
        # the reports lie one folder deeper than those of the run
        review = replace(review, context=replace(review.context, root=f"../{review.context.root}"))
    (directory / COMPARED).mkdir(exist_ok=True)
    check.write_reports(directory / COMPARED, review)
    write_metrics(directory / COMPARED, measured, scorecard)
    return directory / COMPARED, review


def write_metrics(place: Path, run: Run, scorecard: Scorecard) -> None:
    """Write the metrics of a stored run, with those of other systems that its configuration wants."""
    wanted = run.config.score.compat
    whole = bool(wanted) and result_rows.keeps_whole_texts(run)
    measured = MeasuredRun(run=run, scorecard=scorecard, compat=compat_scores(run, wanted, full_text=whole))
    write_atomic(place / "metrics.json", encoded(OF_RUN["metrics.json"](measured)))


def promote_directory(
    request: Request,
    directory: Path,
    *,
    reason: str = "",
    by: str = "",
    allow_regression: bool = False,
    allow_no_match: Sequence[str] = (),
    dry_run: bool = False,
) -> tuple[Path, BaselineCandidate]:
    """Make a run directory the baseline of its suite. Returns the file, and what was written into it."""
    terms = promote.Terms.of(reason, by, allow_regression=allow_regression, allow_no_match=allow_no_match)
    measured = run_directory.read(directory)
    settings = _policy(request, measured)
    here, commit = sources.commit_of(request.root, request.remote), measured.provenance.checkout.commit
    if here and commit and commit != here:
        request.say(
            f"run {cut(measured.run_id)} was measured at {commit_words(commit)}, but {cut(here, limit=12)} is checked "
            "out here. This baseline does not include later changes"
        )
    target = request.baseline_file or request.root / settings.baseline_path
    if target.is_dir():
        raise UsageError(f"{target}: a directory, where a file is expected", hint="Name a file for the baseline.")

    def read() -> Baseline | None:
        return _baseline_on_disk(target, str(target), settings) if target.exists() else None

    proposal = check.propose(measured, settings, terms, read)
    if not dry_run:
        write_file(target, proposal.data)
    return target, proposal


def _policy(request: Request, run: Run) -> RunConfig:
    """Return the configuration whose policy a promotion is judged by: the one on disk, whatever the run was made with.

    Only where there is none, as beside runs that were carried in from elsewhere, is it the one of the run.
    """
    path = request.root / request.config_name
    if not path.exists() and request.config_name == USUAL:
        return run.config
    settings = request.overrides.apply(schema.load(read_file(path), request.config_place))
    trusted_inputs.check_names(settings, request.config_place)
    if settings.suite != run.suite:
        raise UsageError(
            f"run {cut(run.run_id)} is of suite {quoted(run.suite)}, {request.config_place} of {settings.suite!r}",
            hint="Name the configuration of its suite: -c FILE.",
        )
    return settings


def _context(directory: Path, run: Run) -> ReportContext:
    """Read what is known beside the scores, without a way to notes that do not lie where the run remembers them."""
    context = run_directory.read_context(directory)
    vaults = getattr(run.config, "vault", {}).values()
    there = any((directory / context.root / path).is_dir() for path in vaults)
    return context if there else replace(context, root="")


def _as_before(directory: Path, run: Run, scorecard: Scorecard, baseline: Baseline | None) -> Review:
    """Evaluate a run by what decided it first. A verdict is not followed by one that lets more through."""
    review = _evaluate(run, scorecard, baseline, _context(directory, run))
    stored = _stored_verdict(directory)
    if stored and review.verdict.exit_code == ExitCode.PASS:
        raise CannotTell(
            f"run {cut(run.run_id)} ended with {stored}, but its files alone would pass. Something that decided is "
            "missing, so raggate does not decide again",
            hint="Measure again with `raggate check`. Nothing was written.",
        )
    return review


def _evaluate(
    run: Run, scorecard: Scorecard, baseline: Baseline | None, context: ReportContext, policy: RunConfig | None = None
) -> Review:
    review = evaluate_run(run, scorecard, baseline, policy=policy, context=context)
    return previewing.previewed(review, context.preview)


def _stored_verdict(directory: Path) -> str:
    path = directory / "verdict.json"
    if not path.exists():
        return ""
    try:
        verdict = parse_object(read_file(path, follow=False), str(path))
    except UsageError as error:
        raise UsageError(error.message, hint=run_directory.DELETE_IT) from None
    return "" if stored_runs.exit_code_of(verdict) == ExitCode.PASS else cut(verdict.get("verdict"), limit=40)


def kept_baseline(directory: Path, run: Run, settings: RunConfig) -> Baseline | None:
    """Return the baseline that a run directory was held against; None when it was held against none."""
    path = directory / check.KEPT_BASELINE
    if not path.exists():
        return None
    # a mistake is in the run's own copy; reports name the file that was copied
    baseline = _baseline_on_disk(path, str(path), settings)
    name = run.provenance.baseline_name or str(path)
    return replace(baseline, source=name, commit=run.provenance.baseline_commit)


def _baseline_on_disk(path: Path, name: str, settings: RunConfig, beside: tuple[Path, Run] | None = None) -> Baseline:
    """Read a baseline file or a run directory; `beside` is a run that may ask the same questions."""
    if not path.is_dir():
        content = read_file(path, most_bytes=MOST_BYTES)
        return baseline_file.read(content, name, scoring.directions(settings.score.k), path.parent)
    known = beside is not None and run_directory.same_questions(path, beside[0])
    other = run_directory.read(path, cases=beside[1].golden if beside and known else None)
    settings = other.config
    scorecard = scoring.score(other, settings.score.k)
    unfit: tuple[str, ...] = ()
    try:
        findings = invariants.check_answers(other, settings.invariants, settings.gate)
        promote.refuse_unmeasured(other, scorecard, findings, settings.gate)
    except CannotTell as error:
        # what a run that was not measured scores is nothing that another could be worse than
        unfit = (error.message,)
    return Baseline(source=name, scorecard=scorecard, provenance=promote.provenance(other, scorecard), unfit=unfit)
