"""`raggate comment`: the second stage from a command line, in a workflow that does not use the action."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from raggate.cli import console, options
from raggate.cli.options import choice
from raggate.cli.options_only import OptionsOnly
from raggate.errors import CannotTell, UsageError
from raggate.models.answer import Answer

if TYPE_CHECKING:
    from raggate.cli.results.authoring import Comment, Commented
    from raggate.github.fork_comment import CommentResult


@click.command(cls=OptionsOnly)
@options.config("The configuration file, in a checkout of the default branch.")
@click.option("--artifact", default="raggate-run", show_default=True, help="The artifact with the run directory.")
@choice("--when", "always", "on-change", help="Comment always, or only when something changed.")
@click.option(
    "--bases", default="", metavar="NAMES", help="Branches beside the default one whose pull requests are judged."
)
@click.option(
    "--workflow", default="rag-gate.yml", show_default=True, help="The workflow file that must have measured."
)
@click.option("--token-login", default="", help="Who writes with the token; needed for an app's own token only.")
@click.pass_obj
def comment(
    environment: Mapping[str, str], /, config_file: Path, when: str, token_login: str, **expected: Any
) -> Answer[Commented]:
    """Comment on the pull request whose run has just ended, from what that run measured.

    For the event workflow_run, with the token in GITHUB_TOKEN. Configuration, questions, notes and baseline are those
    of the pull request's base commit; see docs/forks.md.
    """
    from raggate.cli.results.authoring import Commented
    from raggate.github import fork_comment
    from raggate.github.publish import Settings
    from raggate.github.rest.client import GitHub
    from raggate.github.rest.repository import Repository
    from raggate.github.runner import event

    token = environment.get("GITHUB_TOKEN", "")
    if not token:
        raise UsageError("GITHUB_TOKEN is not set", hint="Give the step `env: GITHUB_TOKEN: ${{ github.token }}`.")
    started_by = event.read(environment, allow_pull_request_target=False)
    workspace = Path(environment.get("GITHUB_WORKSPACE") or Path.cwd()).resolve()
    run = fork_comment.ForkRun(
        event=started_by,
        config_file=Path.cwd() / config_file,
        workspace=workspace,
        say=console.say,
        **expected,
    )
    settings = Settings(comment=when, secrets=(token,), login=token_login)

    with GitHub(api_url=started_by.api_url, graphql_url=started_by.graphql_url, token=token, say=console.say) as github:
        repository = Repository(github, started_by.repository)
        comments = list(
            fork_comment.comment(
                repository, run, settings, lambda suite, work: console.of_suite(suite, work, environment), console.say
            )
        )
    for result in comments:
        click.echo(f"pull request {result.number}: {result.verdict}, {result.url or 'no comment'}")
    if not comments:
        click.echo(fork_comment.NOBODY)
    if any(result.failed for result in comments):
        raise CannotTell("the comment could not be written")
    return Answer(Commented(comments=tuple(map(_row, comments))))


def _row(result: CommentResult) -> Comment:
    from raggate.cli.results.authoring import Comment

    return Comment(pull_request=result.number, exit_code=result.code, url=result.url)
