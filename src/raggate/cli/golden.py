"""The commands `raggate golden ...`: questions added to the golden set, by hand, from a file, or proposed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from raggate.cli import console, options, picking
from raggate.cli.options import PATH
from raggate.errors import UsageError
from raggate.text.escape import log_line
from raggate.text.quote import quoted

if TYPE_CHECKING:
    from raggate.models.golden import Case, Support
    from raggate.models.lint import LintFinding
    from raggate.pipeline.authoring import Workbench
    from raggate.pipeline.request import Request

FORMATS = ("csv", "ragas", "deepeval", "promptfoo", "inspect", "rag-ci", "squad", "beir")
SHOWN = 10


@click.group()
def golden() -> None:
    """Write the golden set: add questions, import those you have, or take proposals."""


@golden.command()
@click.argument("question")
@options.config()
@click.option("--api-url", metavar="URL", help="Ask the API that runs here already.")
@click.option("--search", metavar="WORDS", help="Choose from the passages with these words; the API is not asked.")
@click.option("--pick", "picks", type=click.IntRange(1, 50), multiple=True, help="The passage with this number.")
@click.option("--anchor", "anchors", metavar="NOTE#HEADING", multiple=True, help="This place; nothing is asked.")
@click.option("--unanswerable", is_flag=True, help="No note answers it: the API should abstain.")
@click.option("--all-needed", is_flag=True, help="All the passages are needed, not any one of them.")
@click.option("--snippet", "snippets", metavar="TEXT", multiple=True, help="A text that the passage must hold.")
@click.option("--fact", "facts", metavar="TEXT", multiple=True, help="What an answer should say.")
@click.option("--vault", "vaults", metavar="NAME", multiple=True, help="Ask this vault alone.")
@click.option("--folder", "folders", metavar="PATH", multiple=True, help="Ask this folder alone.")
@click.option("--tag", "tags", metavar="NAME", multiple=True, help="A slice that it belongs to.")
@click.option("--category", default="", metavar="NAME", help="Its category; multi_hop with --all-needed.")
@click.option("--difficulty", default="medium", show_default=True, metavar="NAME", help="How hard it is.")
@click.option("--group", metavar="NAME", help="The same for questions that count as one.")
@click.option("--must-pass", is_flag=True, help="The gate fails when it is not answered.")
@click.option("--id", "case_id", metavar="ID", help="Its id, in place of one made of its words or the next number.")
@click.option("--dry-run", is_flag=True, help="Print the line, and write nothing.")
@click.pass_obj
def add(environment: dict[str, str], /, question: str, config_file: Path, **flags: Any) -> None:
    """Add a question, and choose the passages that answer it.

    The API is asked, and its first ten passages are shown to choose from; where standard input is no terminal, --pick,
    --anchor or --unanswerable must say the choice. --pick counts in the list that is printed without it.
    """
    from raggate.pipeline import authoring

    request = _request(config_file, environment, flags.pop("api_url"))
    dry_run = flags.pop("dry_run")
    bench = authoring.open_golden(request)
    case = _case(request, bench, question, flags)
    data, findings = authoring.checked(bench, [case])
    _warn(findings)
    if dry_run:
        click.echo(log_line(data[len(bench.data) :].decode(), limit=20_000))
        return
    authoring.save(bench, data)
    # a service that ranks otherwise each time may have another passage behind a number than the one that was seen
    places = [f"{support.rel_path} {support.heading_path or ''}".strip() for support in case.gold_supports]
    answer = "; ".join(places) or "no note answers it"
    click.echo(log_line(f"added {case.id} to {console.short_path(bench.path)}: {answer}"))


@golden.command("import")
@click.argument("file", type=PATH)
@options.config()
@click.option("--from", "form", type=click.Choice(FORMATS), help="What FILE is; told by its keys unless said.")
@click.option(
    "--several", type=click.Choice(["any", "all"]), help="Of several contexts, whether any or all are needed."
)
@click.option("--undecided", type=PATH, help="Where undecided questions go; beside the golden set unless said.")
@click.option("--dry-run", is_flag=True, help="Say what would come of it, and write nothing.")
@click.pass_obj
def import_(
    environment: dict[str, str],
    /,
    file: Path,
    config_file: Path,
    form: str | None,
    undecided: Path | None,
    **flags: Any,
) -> None:
    """Take over the questions of FILE whose answers stand in one place of the notes, word for word.

    FILE is a table of questions (CSV, JSON), a file of ragas, deepeval, promptfoo, Inspect, rag-ci or SQuAD, or a BEIR
    folder. Nothing is guessed: what stands nowhere or in several places is listed as undecided, with candidates, for
    `raggate golden add`. Questions that the golden set has are passed over.
    """
    from raggate.interop.question_sets import READERS
    from raggate.interop.question_sets.anchored import anchored
    from raggate.interop.question_sets.detect import detect
    from raggate.interop.question_sets.undecided import lines
    from raggate.pipeline import authoring
    from raggate.text.files import write_file

    bench = authoring.open_golden(_request(config_file, environment))
    form = form or detect(file)
    with authoring.in_time(bench):
        imported = anchored(READERS[form](file), bench.golden, bench.visible, flags["several"])
        data, findings = authoring.checked(bench, imported.cases)
    _warn(findings)
    rest = undecided or bench.path.with_name(f"{bench.path.stem}.undecided.jsonl")
    if not flags["dry_run"]:
        if imported.cases:
            authoring.save(bench, data)
        # an older list would be taken for this one
        if imported.undecided or rest.exists():
            write_file(rest, lines(imported.undecided))
    counts = f"{len(imported.cases)} added, {imported.known} there already, {len(imported.undecided)} undecided"
    dry = " (nothing was written)" if flags["dry_run"] else ""
    click.echo(log_line(f"read as {form}: {counts}{dry}"))
    for item in imported.undecided[:SHOWN]:
        click.echo(log_line(f"undecided: {item.question.place}: {item.reason}", limit=500))
    if imported.undecided and not flags["dry_run"]:
        click.echo(log_line(f"all of them, with candidates: {console.short_path(rest)}"))


@golden.command()
@options.config()
@click.option(
    "--limit", "most", type=click.IntRange(1, 500), default=20, show_default=True, help="How many wait at most."
)
@click.option("--accept", "accepted", metavar="ID", multiple=True, help="Put this proposal into the golden set.")
@click.option("--reject", "rejected", metavar="ID", multiple=True, help="Let this proposal never come again.")
@click.option("--proposals", type=PATH, help="Where they wait; beside the golden set unless said.")
@click.pass_obj
def propose(
    environment: dict[str, str],
    /,
    config_file: Path,
    most: int,
    accepted: tuple[str, ...],
    rejected: tuple[str, ...],
    proposals: Path | None,
) -> None:
    """Propose questions made of tables, lists, headings and notes alike, by rule: no model is asked.

    Each is answered by one passage and quotes no heading. None enters the golden set before a person takes it, in the
    terminal or by --accept; until then they wait in a file.
    """
    from raggate.cli.proposing import Desk, run
    from raggate.pipeline import authoring

    bench = authoring.open_golden(_request(config_file, environment))
    path = proposals or bench.path.with_name(f"{bench.path.stem}.proposals.jsonl")
    run(Desk(bench, path), most, accepted, rejected)


def _case(request: Request, bench: Workbench, question: str, flags: dict[str, Any]) -> Case:
    from dataclasses import replace

    from raggate.inputs.authoring.golden_file import new_id
    from raggate.inputs.authoring.places import cases_beside
    from raggate.models.golden import Case

    picks, anchors, search = flags.pop("picks"), flags.pop("anchors"), flags.pop("search")
    unanswerable, all_needed, snippets = (flags.pop(name) for name in ("unanswerable", "all_needed", "snippets"))
    facts, case_id, category = flags.pop("facts"), flags.pop("case_id"), flags.pop("category")
    if unanswerable and (picks or anchors or search or snippets):
        raise UsageError("--unanswerable: goes without --pick, --anchor, --search and --snippet")
    unknown = [name for name in flags["vaults"] if name not in bench.settings.vault]
    if unknown:
        raise UsageError(f"--vault: no vault {quoted(unknown[0])}; known: {', '.join(bench.settings.vault)}")
    scope = Case(id="", question=question, answerable=not unanswerable, expected_key_facts=facts, **flags)
    supports = () if unanswerable else _supports(request, bench, scope, picks, anchors, search)
    if supports is None:
        scope, supports = replace(scope, answerable=False), ()
    groups = (tuple(range(len(supports))),) if all_needed and supports else None
    beside = cases_beside(bench.golden, supports, bench.vault)
    return replace(
        scope,
        id=case_id or new_id(question, [case.id for case in bench.golden.cases], beside),
        category=category or ("multi_hop" if groups else "factual" if scope.answerable else "general"),
        gold_supports=tuple(replace(support, snippets=snippets) for support in supports),
        required_support_groups=groups,
    )


def _supports(
    request: Request, bench: Workbench, scope: Case, picks: Sequence[int], anchors: Sequence[str], search: str | None
) -> tuple[Support, ...] | None:
    """Give the places that answer a question; None where somebody says that none does."""
    from raggate.inputs.authoring.passages import passages
    from raggate.inputs.authoring.places import of_anchor
    from raggate.pipeline import authoring

    if anchors:
        if picks or search:
            raise UsageError("--anchor: goes without --pick and --search")
        return tuple(of_anchor(anchor, bench.vault) for anchor in anchors)
    known = passages(bench.vault)
    asked = authoring.ask(request, bench, scope) if not search else ()
    rows = picking.found(search, known) if search else picking.retrieved(asked, known, bench.vault)
    if picks:
        return picking.supports(rows, picks, bench.vault)
    picking.show(rows)
    if not sys.stdin.isatty():
        hint = "--pick N, --anchor NOTE#HEADING or --unanswerable."
        raise UsageError("say which of these passages answer it", hint=hint)
    return picking.choose(rows, known, bench.vault)


def _warn(findings: Sequence[LintFinding]) -> None:
    for finding in findings[:SHOWN]:
        console.say(f"{finding.key}: {finding.message} [{finding.check}]")
    if len(findings) > SHOWN:
        console.say(f"… and {len(findings) - SHOWN} more, which `raggate lint` lists")


def _request(config_file: Path, environment: dict[str, str], api_url: str | None = None) -> Request:
    from raggate.config.overrides import Overrides
    from raggate.pipeline.request import Request

    overrides = Overrides(api_url=api_url, contained=False, replayed=False)
    return Request(config_file=config_file, environment=environment, say=console.say, systems=(), overrides=overrides)
