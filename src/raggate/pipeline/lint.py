"""What is wrong with the inputs, and what the suite can show, said before anything is asked: request -> LintReport."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from raggate.base import yamlio
from raggate.base.dates import beside_notes, now, within
from raggate.base.errors import ExitCode, FileProblems, RaggateError, UsageError
from raggate.base.files import read_file
from raggate.gate.suite_checks import check_abstentions, check_baseline, check_headings, check_waivers, suite_outlook
from raggate.gate.waivers import check_cases
from raggate.inputs.leaks import visible
from raggate.inputs.lint import check_encoding, check_notes, check_questions, check_supports
from raggate.inputs.trusted import Inputs
from raggate.models.baseline import Baseline
from raggate.models.lint import LintFinding, LintReport, Outlook, in_order
from raggate.pipeline.request import Request, RunFailed
from raggate.pipeline.trusted_inputs import load_inputs, read_baseline


def lint(request: Request) -> LintReport:
    """Read and check the inputs as a check does, and more. Nothing is started, asked or written."""
    with load_inputs(request) as inputs:
        check_cases(inputs.config, inputs.golden, request.config_place)
        baseline = read_baseline(inputs)
        seconds = beside_notes(inputs.vault.size, len(inputs.golden.cases))
        late = UsageError("checking the questions took too long", hint="Some of their texts take very long to check.")
        with within(seconds, late):
            findings = [*_findings(inputs, baseline, request.config_name, _line_of(request))]
        outlook = suite_outlook(inputs.config, inputs.golden, baseline)
        return replace(_placed(request, findings, outlook), gate_line=_line_of(request)(("gate",)))


def refused(request: Request, error: RaggateError) -> LintReport:
    """Report unusable inputs as findings."""
    if error.exit_code != ExitCode.USAGE:
        raise error
    cause = error.__cause__ if isinstance(error, RunFailed) else error
    if not isinstance(cause, FileProblems):
        return _placed(request, [LintFinding("unusable-inputs", request.config_name, 1, "", " ".join(error.lines))])
    findings = [
        LintFinding(cause.check, _path(request, problem.file), problem.line or 1, problem.key, problem.text)
        for problem in cause.problems
    ]
    if cause.more:
        findings.append(LintFinding(cause.check, findings[0].path, 1, "", f"… and {cause.more} more"))
    # an error names files from where the command is given
    return LintReport(config=request.config_place, findings=in_order(findings))


def _findings(
    inputs: Inputs, baseline: Baseline | None, config_name: str, line_of: Callable[[yamlio.Path], int]
) -> Iterator[LintFinding]:
    settings, golden, at = inputs.config, inputs.golden, now()
    yield from check_waivers(settings, golden, config_name, at, lambda number: line_of(("waivers", number)))
    yield from check_questions(golden, settings.golden)
    yield from check_supports(golden, inputs.vault, settings.golden, snippets=settings.score.reads_snippets)
    yield from check_headings(settings, golden, settings.golden, baseline)
    yield from check_abstentions(settings, golden, settings.golden)
    yield from check_encoding(inputs.vault, settings.vault)
    yield from check_notes(golden, visible(inputs.vault, settings.private), settings.vault)
    yield from check_baseline(settings, golden, baseline, inputs.fingerprint(), at)


def _line_of(request: Request) -> Callable[[yamlio.Path], int]:
    if request.against is not None:
        return lambda _: 1
    return yamlio.parse(read_file(request.config_file), request.config_name).line


def _path(request: Request, file: str) -> str:
    return file if request.against is None else file.rpartition("@")[0] or file


def _placed(request: Request, findings: list[LintFinding], outlook: Outlook | None = None) -> LintReport:
    """Name files as they are called from where the command is given."""
    placed = [finding._replace(path=request.place(finding.path)) for finding in findings]
    return LintReport(config=request.config_place, findings=in_order(placed), outlook=outlook)
