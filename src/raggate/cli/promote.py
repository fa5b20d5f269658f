"""The command `raggate promote`: runs become the baselines of their suites, all of them or none."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from raggate.base.errors import ExitCode, UsageError
from raggate.base.escape import log_line
from raggate.base.files import RUNS
from raggate.cli import options
from raggate.cli.options import RUN, request_of
from raggate.frontends import console
from raggate.models.answer import Answer

if TYPE_CHECKING:
    from raggate.frontends.answers import Promoted, SuitesPromoted
    from raggate.inputs.suite_list import SuiteFile
    from raggate.models.promotion import BaselineCandidate
    from raggate.models.suites import SuiteOutcome

_TERMS = ("reason", "by", "allow_regression", "allow_no_match")


@click.command()
@click.argument("run", metavar="RUN")
@options.CONFIGS
@click.option("--baseline", "baseline_file", type=options.PATH, help="Replace this baseline file.")
@click.option("--allow-regression", is_flag=True, help="Accept metrics that get worse or disappear. Needs --reason.")
@click.option(
    "--allow-no-match", multiple=True, metavar="NAME", help="Accept a mode or slice without any match. Repeatable."
)
@click.option("--reason", default="", metavar="TEXT", help="Why the baseline changes. It is stored in the baseline.")
@click.option("--by", default="", metavar="NAME", help="Who promotes. It is stored in the baseline.")
@click.option("--dry-run", is_flag=True, help="Print the values before and after, and write nothing.")
def promote(
    run: str, *, config_files: tuple[str, ...], dry_run: bool, **flags: Any
) -> Answer[Promoted] | Answer[SuitesPromoted]:
    """Make a stored run the baseline of its suite.

    With several configurations (-c 'services/*/raggate.yml') `latest` is the newest run of each suite. All of them pass
    the checks of their suites, or nothing is written.
    """
    from raggate.base.files import write_file
    from raggate.inputs import suite_list
    from raggate.pipeline import rerun, suites
    from raggate.reports.promotion import refusal

    terms = {name: flags.pop(name) for name in _TERMS}
    request = request_of(Path(config_files[0]), **flags)
    several = suite_list.several(config_files)
    if several and (request.baseline_file is not None or run != "latest"):
        raise UsageError(
            "with several configurations, promote `latest` and leave out --baseline", hint="Promote one with -c FILE."
        )
    chosen = _chosen(config_files, run, several=several)
    made: dict[str, tuple[Path, BaselineCandidate]] = {}

    def propose(suite: SuiteFile) -> SuiteOutcome:
        own = suites.request_of(request, suite)
        target, proposal = rerun.promote_directory(own, chosen[suite], dry_run=True, **terms)
        made[suite.suite] = target, proposal
        return suites.passed(suite)

    def check_one(suite: SuiteFile) -> SuiteOutcome:
        if not several:
            return propose(suite)
        return console.of_suite(suite, lambda: propose(suite), request.environment)

    outcomes = suites.check_each(tuple(chosen), check_one, console.say)
    refused = [outcome for outcome in outcomes if outcome.code != ExitCode.PASS]
    written = not refused and not dry_run
    if written:
        for target, proposal in made.values():
            write_file(target, proposal.data)
    elif refused:
        others = [f"-c {shlex.quote(suite.config)}" for suite in chosen if suite.suite in made]
        console.say(refusal(refused, others, between=" "))
    results = {name: _promoted(*one, written=written) for name, one in made.items()}
    click.echo(_what_next([proposal for _, proposal in made.values()]) if written else "Nothing was written.")
    return _all_promoted(outcomes, results, written=written) if several else Answer(next(iter(results.values())))


def _chosen(configs: Sequence[str], run: str, *, several: bool) -> dict[SuiteFile, Path]:
    from raggate.base.files import read_file
    from raggate.config import schema
    from raggate.inputs import suite_list
    from raggate.pipeline.stored_runs import LATEST, named

    if several:
        chosen = {}
        for suite in suite_list.find(configs):
            settings = schema.load(read_file(Path(suite.config)), suite.config)
            chosen[suite] = named(LATEST, Path(suite.config).parent / RUNS, settings.suite)
        return chosen
    suite = suite_list.SuiteFile(config=configs[0], suite=configs[0])
    return {suite: RUN.convert(run, None, click.get_current_context())}


def _promoted(target: Path, proposal: BaselineCandidate, *, written: bool) -> Promoted:
    from raggate.frontends.answers import Promoted
    from raggate.gate.promote import table

    click.echo(
        "\n".join([log_line(f"{console.short_path(target)}: {console.made_of(proposal)}"), *table(proposal), ""])
    )
    card = proposal.comparison.scorecard
    return Promoted(baseline=target, suite=card.suite, run_id=card.run_id, cases=card.questions, written=written)


def _what_next(proposals: Sequence[BaselineCandidate]) -> str:
    if len(proposals) > 1:
        return f"{len(proposals)} baselines written. Review with `git status` and commit them together."
    # git shows no difference of a file that it does not know yet
    review = "the difference with `git diff`" if proposals[0].comparison.baseline else "the file"
    return f"Review {review} and commit it."


def _all_promoted(
    outcomes: Sequence[SuiteOutcome], results: dict[str, Promoted], *, written: bool
) -> Answer[SuitesPromoted]:
    from raggate.frontends.answers import SuitePromoted, SuitesPromoted
    from raggate.models.suites import worst

    rows = tuple(
        SuitePromoted(
            suite=outcome.suite, config=outcome.config, exit_code=outcome.code, result=results.get(outcome.suite)
        )
        for outcome in outcomes
    )
    return Answer(SuitesPromoted(written=written, suites=rows), worst(outcome.code for outcome in outcomes))
