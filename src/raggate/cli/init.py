"""An empty repository -> raggate.yml, an example golden set with its vault, a workflow, and who reviews them."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from raggate.cli import console, first_config
from raggate.cli.options import PATH
from raggate.errors import UsageError
from raggate.models.answer import Answer
from raggate.text.escape import log_line

if TYPE_CHECKING:
    from raggate.cli.results.measuring import Initialised

WORKFLOW = ".github/workflows/rag-gate.yml"
PLACEHOLDER = "OWNER/raggate@REF"
"""Stands in the workflow for the action, until somebody says which one."""

_TARGETS = {
    "raggate.yml": "raggate.yml",
    "eval_set.jsonl": "golden/eval_set.jsonl",
    "Sourdough.md": "golden/vault/notes/Recipes/Sourdough.md",
    "rag-gate.yml": WORKFLOW,
}
IGNORED = ".dockerignore"
"""Keeps what judges the API out of its image."""

_IGNORES = {"dockerignore": IGNORED, "gitignore": "golden/.gitignore"}

_ACTION = re.compile(r"[A-Za-z0-9-]+/[A-Za-z0-9._-]+@[0-9a-f]{40}")
_OWNERS = re.compile(r"@[A-Za-z0-9-]+(/[A-Za-z0-9._-]+)?( @[A-Za-z0-9-]+(/[A-Za-z0-9._-]+)?)*")
_CODEOWNERS = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
"""Where GitHub looks: it obeys the first of these alone, so a new one would switch the others off."""


@click.command()
@click.argument("directory", type=PATH, default=Path())
@click.option(
    "--action", default="", metavar="OWNER/raggate@SHA", help="The release the workflow uses, by its full commit id."
)
@click.option("--owners", default="", metavar="@ORG/TEAM", help="Who must review what judges a change: CODEOWNERS.")
@click.option("--preset", metavar="NAME", help="Write what a known engine is asked: opensearch, weaviate, r2r, …")
@click.option("--probe", "url", metavar="URL", help="Call the API that runs there, and write what it is asked.")
@click.option(
    "--stdio",
    metavar="COMMAND",
    help="Start this MCP server, and write what its search tool is asked: 'notes-mcp notes'.",
)
@click.option("--tool", default="", metavar="NAME", help="The tool of an MCP server that searches the notes.")
@click.option("--graphql", default="", metavar="QUERY", help="The query that --probe asks a GraphQL API.")
@click.option(
    "--body", default="", metavar="JSON", help='What --probe sends: \'{"utterance": "{question}", "size": "{k}"}\'.'
)
@click.option("--health", default="", metavar="PATH", help="Where the API answers 200 when it is up.")
@click.option("--vault", type=PATH, help="The directory of the notes that the API has indexed, in place of an example.")
@click.option("--question", default="", metavar="TEXT", help="What --probe asks.")
@click.option(
    "--map", "fields", multiple=True, metavar="PART=PATH", help="Where --probe finds a part of a chunk: rel_path=file."
)
@click.option(
    "--header",
    "headers",
    multiple=True,
    metavar="'NAME: VALUE'",
    help="A header that --probe sends with each request, kept in raggate.yml: 'X-API-Key: {env.API_KEY}'.",
)
@click.option("--force", is_flag=True, help="Replace existing files.")
@click.pass_obj
def init(
    environment: dict[str, str], /, directory: Path, action: str, owners: str, *, force: bool, **known: Any
) -> Answer[Initialised]:
    """Write raggate.yml, an example golden set with its vault, and a workflow into a repository.

    With --probe the API is called, its OpenAPI document is read if it has one, and its answer is recognised; what
    cannot be recognised is asked for at a terminal, or else reported. With --preset only the names of your own index
    and fields are unknown, and the file shows where they go; --probe then says where the API runs, and tries it out.
    """
    from raggate.cli.results.measuring import Initialised

    api = first_config.Known(**known, environment=environment)
    own_notes = api.vault is not None
    if api.called:
        # nothing is asked for what would not be written
        check_terms(directory, action, owners, own_notes=own_notes, force=force)
    choose = _choose if sys.stdin.isatty() and sys.stdout.isatty() else None
    config = first_config.text_of(directory, api, choose)
    written = write_example(directory, action, owners, config=config, own_notes=own_notes, force=force)
    for path in written:
        click.echo(log_line(f"wrote {path}"))
    _advise(directory, action, own_notes=own_notes, configured=config is not None, started=api.stdio is not None)
    for name in first_config.sent_variables(config) if config is not None else ():
        line = f"env: {{{name}: ${{{{ secrets.{name} }}}}}}"
        click.echo(f"Fill in: `{line}` at the step `Gate` of {WORKFLOW}; runs of forks have no secrets.")
    if api.called:
        _try_out(directory, api, environment)
    return Answer(Initialised(written=tuple(written)))


def _choose(asked: str, among: Sequence[str]) -> str:
    for number, text in enumerate(among, 1):
        click.echo(f"  {number}  {log_line(text, limit=200)}")
    if not among:
        return str(click.prompt(log_line(asked), prompt_suffix=" "))
    number = click.prompt(log_line(asked), type=click.IntRange(1, len(among)), prompt_suffix=" ")
    return among[int(number) - 1]


def _advise(directory: Path, action: str, *, own_notes: bool, configured: bool, started: bool) -> None:
    from raggate.service import dockerignore
    from raggate.text.quote import enumerated

    ignored = {pattern.strip("/") for pattern in dockerignore.patterns(directory)}
    if missing := [name for name in ("golden", "baselines", ".raggate") if name not in ignored]:
        click.echo(f"Add to {IGNORED}: {enumerated(missing)}, which the API's image must not carry.")
    if not action:
        click.echo(f"Fill in: {PLACEHOLDER} in {WORKFLOW}, the action's repository and the commit of its release.")
    click.echo(f"Check: {WORKFLOW} gates changes into `main`; where your default branch is another, name it there.")
    if configured and not started:
        click.echo(
            "Check: `api.url` is an API that runs already; for pull requests raggate starts it: `api.container`."
        )
    if own_notes:
        click.echo("Next: `raggate golden add` asks a question and writes it down, or `raggate golden propose`.")
    elif configured:
        click.echo("Next: name your notes under `vault` and ask of them in the golden set, then `raggate check`.")
    else:
        click.echo("Next: set `api` in raggate.yml, then `raggate check`.")


def _try_out(directory: Path, api: first_config.Known, environment: Mapping[str, str]) -> None:
    """Show what one answer fills, by the configuration that was written."""
    from raggate.pipeline.request import Request
    from raggate.pipeline.smoke_test import smoke_test
    from raggate.reports.smoke_test import render

    request = Request(config_file=directory / "raggate.yml", environment=environment, say=console.say, systems=())
    name = "--question" if api.question else "no question of yours"
    test = smoke_test(request, first_config.question_of(api), name=name)
    click.echo("\n" + render(test, width=max(console.width(), 60)), nl=False)


def check_terms(
    directory: Path, action: str = "", owners: str = "", *, own_notes: bool = False, force: bool = False
) -> None:
    """Refuse terms under which nothing may be written; see `write_example`.

    Raises:
        UsageError: for an action or owners not named so, or when a file exists already and `force` does not say so.
    """
    from raggate.text.yamlio import one_line

    if action and not _ACTION.fullmatch(action):
        raise UsageError(
            f"--action: expected OWNER/raggate@ and the 40 hex digits of a commit; found {one_line(action, limit=80)}",
            hint="A tag can be moved to other code; the commit of the release you trust cannot.",
        )
    if owners and not _OWNERS.fullmatch(owners):
        raise UsageError(
            f"--owners: expected @user or @organisation/team, with spaces between; found {one_line(owners, limit=80)}",
            hint="GitHub asks nobody where an owner is misspelt, and says so only on the page of the file.",
        )
    names = (*(() if force else _targets(own_notes=own_notes).values()), *(_CODEOWNERS if owners else ()))
    existing = [name for name in names if (directory / name).exists()]
    if existing:
        raise UsageError(
            f"{', '.join(existing)}: exists already, nothing was written",
            hint="Move it away, run `raggate init` in an empty directory and copy what you need, or say --force, which "
            "writes over all but CODEOWNERS.",
        )


def _targets(*, own_notes: bool) -> dict[str, str]:
    examples = {"eval_set.jsonl", "Sourdough.md"} if own_notes else set()
    return {template: name for template, name in _TARGETS.items() if template not in examples}


def write_example(
    directory: Path,
    action: str = "",
    owners: str = "",
    *,
    config: str | None = None,
    own_notes: bool = False,
    force: bool = False,
) -> list[Path]:
    """Write the example files below a directory. Returns what was written.

    Args:
        directory: the top of the repository.
        action: the action that the workflow uses, as `OWNER/raggate@` and a full commit id; empty for a placeholder.
        owners: who must review what judges a change, as `@user` and `@organisation/team` with spaces between; empty
            for no CODEOWNERS.
        config: the text of raggate.yml, in place of the example's.
        own_notes: whether there are notes already, so that neither example notes nor questions are written.
        force: whether files that are there are written over.

    Raises:
        UsageError: as `check_terms`; then nothing is written.
    """
    from importlib.resources import files

    from raggate.text.files import write_file

    check_terms(directory, action, owners, own_notes=own_notes, force=force)
    # one that is there is the owner's to add to
    ignored = {template: name for template, name in _IGNORES.items() if not (directory / name).exists()}
    targets = {**_targets(own_notes=own_notes), **ignored, **({"CODEOWNERS": _CODEOWNERS[0]} if owners else {})}
    written = []
    for template, name in targets.items():
        text = files("raggate.cli").joinpath("templates", template).read_text(encoding="utf-8")
        if template == "raggate.yml":
            text = first_config.editor_line(action) + (text if config is None else config)
        text = text.replace("OWNERS\n", f"{owners}\n") if template == "CODEOWNERS" else text
        write_file(directory / name, text.replace(PLACEHOLDER, action or PLACEHOLDER).encode())
        written.append(directory / name)
    first_config.write_schema(directory)
    return written
