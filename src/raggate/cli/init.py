"""An empty repository -> raggate.yml, an example golden set with its vault, a workflow, and who reviews them."""

from __future__ import annotations

import re
from pathlib import Path

import click

from raggate.cli.options import PATH
from raggate.errors import UsageError
from raggate.text.escape import log_line

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
def init(directory: Path, action: str, owners: str) -> None:
    """Write a commented raggate.yml, an example golden set with its vault, and a workflow into a repository."""
    written = write_example(directory, action, owners)
    for path in written:
        click.echo(log_line(f"wrote {path}"))
    if directory / IGNORED not in written:
        click.echo(f"Add to {IGNORED}: golden, baselines and .raggate, which the API's image must not carry.")
    if not action:
        click.echo(f"Fill in: {PLACEHOLDER} in {WORKFLOW}, the action's repository and the commit of its release.")
    click.echo(f"Check: {WORKFLOW} gates changes into `main`; where your default branch is another, name it there.")
    click.echo("Next: set `api` in raggate.yml, then `raggate check`.")


def write_example(directory: Path, action: str = "", owners: str = "") -> list[Path]:
    """Write the example files below a directory. Returns what was written.

    Args:
        directory: the top of the repository.
        action: the action that the workflow uses, as `OWNER/raggate@` and a full commit id; empty for a placeholder.
        owners: who must review what judges a change, as `@user` and `@organisation/team` with spaces between; empty
            for no CODEOWNERS.

    Raises:
        UsageError: for an action or owners not named so, or when a file exists already; then nothing is written.
    """
    from importlib.resources import files

    from raggate.text.files import write_file
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
    # a .dockerignore that is there is the owner's to add to
    ignored = {} if (directory / IGNORED).exists() else {"dockerignore": IGNORED}
    targets = {**_TARGETS, **ignored, **({"CODEOWNERS": _CODEOWNERS[0]} if owners else {})}
    names = (*_TARGETS.values(), *(_CODEOWNERS if owners else ()))
    existing = [name for name in names if (directory / name).exists()]
    if existing:
        raise UsageError(
            f"{', '.join(existing)}: exists already, nothing was written",
            hint="Move it away, or run `raggate init` in an empty directory and copy what you need.",
        )
    written = []
    for template, name in targets.items():
        text = files("raggate.cli").joinpath("templates", template).read_text(encoding="utf-8")
        text = text.replace("OWNERS\n", f"{owners}\n") if template == "CODEOWNERS" else text
        write_file(directory / name, text.replace(PLACEHOLDER, action or PLACEHOLDER).encode())
        written.append(directory / name)
    return written
