"""`raggate comment`: the second stage from a command line, in a workflow that does not use the action."""

from __future__ import annotations

from pathlib import Path

import click

from raggate.cli.hooks import current
from raggate.errors import CannotTell, UsageError
from raggate.text.escape import log_line


@click.command()
@click.option(
    "--config",
    "-c",
    "config_file",
    type=click.Path(path_type=Path),
    default=Path("raggate.yml"),
    show_default=True,
    help="The configuration file, in a checkout of the default branch.",
)
@click.option("--artifact", default="raggate-run", show_default=True, help="The artifact with the run directory.")
@click.option(
    "--when",
    type=click.Choice(["always", "on-change"]),
    default="always",
    show_default=True,
    help="Comment always, or only when there is something to tell.",
)
@click.option(
    "--bases", default="", metavar="NAMES", help="Branches beside the default one whose pull requests are judged."
)
@click.option(
    "--workflow", default="rag-gate.yml", show_default=True, help="The workflow file that must have measured."
)
@click.option("--token-login", default="", help="Who writes with the token; needed for an app's own token only.")
def comment(config_file: Path, artifact: str, when: str, bases: str, workflow: str, token_login: str) -> None:
    """Comment on the pull request whose run has just ended, from what that run measured.

    For the event workflow_run, with the token in GITHUB_TOKEN. Configuration, questions, notes and baseline are those
    of the pull request's base commit; see docs/forks.md.
    """
    from raggate.github import fork_comment
    from raggate.github.rest.client import GitHub
    from raggate.github.runner import event, results
    from raggate.interop.systems import SYSTEMS

    environment = current().environment
    token = environment.get("GITHUB_TOKEN", "")
    if not token:
        raise UsageError("GITHUB_TOKEN is not set", hint="Give the step `env: GITHUB_TOKEN: ${{ github.token }}`.")
    happened = event.read(environment, allow_pull_request_target=False)
    workspace = Path(environment.get("GITHUB_WORKSPACE") or Path.cwd()).resolve()
    what = fork_comment.of(
        happened,
        Path.cwd() / config_file,
        workspace,
        artifact=artifact,
        bases=bases,
        workflow=workflow,
        systems=SYSTEMS,
    )
    asked = fork_comment.settings_of(what, when=when, token=token, login=token_login)
    with GitHub(api_url=happened.api_url, graphql_url=happened.graphql_url, token=token, say=_say) as github:
        done = list(fork_comment.comment(github, happened, what, asked, _say))
    for one in done:
        click.echo(f"pull request {one.number}: {results.name_of(one.told.code)}, {one.url or 'no comment'}")
    if not done:
        click.echo(fork_comment.NOBODY)
    if any(one.failed for one in done):
        raise CannotTell("the comment could not be written")


def _say(line: str) -> None:
    click.echo(f"raggate: {log_line(line)}", err=True)
