"""Which suite of a list a command in a comment is about: the one that it names, or the only one there is."""

from __future__ import annotations

from collections.abc import Sequence

from raggate.github.comment_commands import ADDRESS, TAKES, Command
from raggate.github.fork_comment import ForkRun
from raggate.github.reply import Reply
from raggate.github.rest.git_objects import Objects
from raggate.github.rest.pulls import Pull
from raggate.github.rest.repository import Repository
from raggate.inputs import sources, suite_list
from raggate.reports.parts.markup import inert, listed

_SHOWN = 20


def choose(
    repository: Repository, gate: ForkRun, configs: Sequence[str], pull: Pull, command: Command
) -> tuple[ForkRun, str] | Reply:
    """Find the suite among those of the base commit, for `waive` of the base branch, by `SUITE: …` at the beginning.

    Args:
        repository: where the pull request goes into.
        gate: the gate.
        configs: paths and patterns of its configurations; empty where there is one, which `gate` names.
        pull: the pull request.
        command: what is asked for.

    Returns:
        The gate of that suite, and what follows its name; or a reply where no suite is named that there is.

    Raises:
        UsageError: as `suite_list.find`.
    """
    if not configs:
        return gate, command.argument
    # a waiver is added to the configuration that the base branch has by now, where the names may have moved
    base = (command.name == "waive" and repository.head_of(pull.base_ref)) or pull.base_sha
    remote = sources.Remote(workspace=gate.workspace, objects=Objects(repository))
    suites = {suite.suite: suite for suite in suite_list.find(configs, against=base, remote=remote, among=())}
    name, _, rest = command.argument.partition(": ")
    if rest and name in suites:
        suite, argument = suites[name], rest.strip()
    elif len(suites) == 1:
        (suite,), argument = suites.values(), command.argument
    else:
        return _ask_for(command, list(suites))
    return gate.of_suite(suite.config, matched=suite.matched), argument


def _ask_for(command: Command, names: Sequence[str]) -> Reply:
    example = f"{ADDRESS} {command.name} {inert(names[0], limit=80)}: {TAKES[command.name]}"
    text = f"It is not clear which suite is meant: {listed(names, most=_SHOWN)}. Begin with its name, as in: {example}"
    return Reply(text=text, done=False)
