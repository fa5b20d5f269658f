"""What is refused on Gitea and Forgejo, as their API does not vouch for it: each in one sentence, before anything."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from raggate.errors import UsageError
from raggate.github import gitea_limits
from raggate.github.runner import step_inputs
from raggate.github.runner.event import Event
from tables import each_row

GITEA = Event(
    name="workflow_run",
    repository="team/api",
    run_id=1,
    attempt=1,
    server_url="https://forge.example/git",
    api_url="https://forge.example/git/api/v1",
    graphql_url="",
    triggering_actor="",
    default_branch="main",
    head="a" * 40,
    head_ref="main",
)


@each_row(
    "api_url, gitea",
    [
        ("https://api.github.com", False),
        ("https://api.team.ghe.com", False),
        ("https://github.example.com/api/v3", False),
        ("https://forge.example/api/v1", True),
        ("https://forge.example/git/api/v1", True),
        ("http://127.0.0.1:3000/api/v1", True),
        ("https://forge.example/api/v1.evil", False),
        ("https://forge.example/?/api/v1", False),
    ],
)
def test_the_kind_of_server_is_told_by_the_path_of_its_api(api_url: str, *, gitea: bool) -> None:
    """The runner's address of the API tells them apart; nothing is tried, and no variable of a workflow counts."""
    assert replace(GITEA, api_url=api_url).gitea is gitea


@each_row(
    "asked, sentence",
    [
        (
            {"command": "comment"},
            "`command: comment` is refused on Gitea and Forgejo: their API does not say whose",
        ),
        ({"command": "respond"}, "`command: respond` is refused on Gitea and Forgejo: their events do not say whether"),
        (
            {"command": "promote", "run-id": "7"},
            "`run-id: 7` is refused on Gitea and Forgejo: their API gives no",
        ),
        (
            {"command": "promote", "direct-commit": "true"},
            "`direct-commit: true` is refused on Gitea and Forgejo: their API writes onto a branch wherever it is",
        ),
    ],
)
def test_what_is_refused(asked: dict[str, str], sentence: str) -> None:
    """Each is refused by the name of its input and with what to do instead; GitHub refuses none of it here."""
    inputs = {**step_inputs.DEFAULTS, **asked}
    with pytest.raises(UsageError, match=re.escape(sentence)) as told:
        gitea_limits.check(GITEA, inputs)
    assert told.value.hint
    gitea_limits.check(replace(GITEA, api_url="https://api.github.com"), inputs)


@each_row("asked", [{"command": "check"}, {"command": "promote"}, {"command": "check", "run-id": "7"}])
def test_what_works_there(asked: dict[str, str]) -> None:
    """The gate, and a promotion that measures by itself, are not refused."""
    gitea_limits.check(GITEA, {**step_inputs.DEFAULTS, **asked})
