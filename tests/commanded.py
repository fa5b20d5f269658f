"""A pull request on a fake GitHub, where people comment and raggate responds."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from events import make_event
from fakes.github_api import BOT, FakeGitHub, Repository
from here import Done, called
from raggate.action import main
from raggate.github import commands
from raggate.github.commands import Response
from raggate.github.fork_comment import ForkRun
from raggate.github.rest import client
from raggate.github.rest.repository import Repository as GitHubRepository
from raggate.github.runner.event import WrittenComment

NAME = "octo/notes"
EVENTS = Path(__file__).parent / "fakes" / "github" / "events"
GRANTED = {"actions": "write", "contents": "read", "pull-requests": "write"}


@dataclass
class Conversation:
    """A pull request on a fake, whose gate has run, and people with roles."""

    fake: FakeGitHub
    repository: Repository
    workspace: Path
    permissions: dict[str, str] = field(default_factory=lambda: dict(GRANTED))
    comment: int = 0
    configs: tuple[str, ...] = ()

    def say(self, body: str, *, by: str = "ada", person: bool = True) -> Response:
        """Let somebody comment, and the workflow that this starts respond."""
        self.comment = self.repository.add_comment(7, by, body).id
        return self.respond(body, by=by, person=person)

    def respond(self, body: str, *, by: str = "ada", person: bool = True, name: str = "issue_comment") -> Response:
        """Respond to the last comment, as the workflow that GitHub starts for it does, the first time or again."""
        written = WrittenComment(self.comment, 7, by if person else "", body)
        happened = make_event(name, self.fake, triggering_actor=by, head=self.repository.head, comment=written)
        gate = ForkRun(
            event=happened,
            config_file=self.workspace / "raggate.yml",
            workspace=self.workspace,
            artifact="raggate-run",
            configs=self.configs,
            say=lambda line: None,
        )
        token = self.fake.token(self.permissions)
        with self.fake.client(token) as github:
            return commands.respond(GitHubRepository(github, NAME), gate, token=token)

    def step(self, body: str) -> Done:
        """Let ada comment, and the step of the workflow run as on GitHub's runner, files and environment included."""
        self.comment = self.repository.add_comment(7, "ada", body).id
        event = json.loads((EVENTS / "issue_comment" / "01-created.json").read_bytes())
        event["issue"] |= {"number": 7, "pull_request": {"url": ""}}
        event["comment"] |= {"id": self.comment, "body": body, "user": {"login": "ada", "type": "User"}}
        event["repository"]["default_branch"] = "main"
        (self.workspace / "event.json").write_text(json.dumps(event))
        files = {name: self.workspace / name for name in ("GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_STEP_SUMMARY")}
        for file in files.values():
            file.touch()
        environment = {
            **{name: str(file) for name, file in files.items()},
            "GITHUB_WORKSPACE": str(self.workspace),
            "GITHUB_EVENT_NAME": "issue_comment",
            "GITHUB_EVENT_PATH": str(self.workspace / "event.json"),
            "GITHUB_REPOSITORY": NAME,
            "GITHUB_RUN_ID": "10",
            "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_SERVER_URL": self.fake.server_url,
            "GITHUB_API_URL": self.fake.api_url,
            "GITHUB_GRAPHQL_URL": self.fake.graphql_url,
            "GITHUB_SHA": self.repository.head,
            "INPUT_COMMAND": "respond",
            "INPUT_CONFIG": "\n".join(self.configs) or "raggate.yml",
            "INPUT_GITHUB-TOKEN": self.fake.token(self.permissions),
        }
        # how long is waited between two writes is told by the tests of the client
        pauses = {"BETWEEN_WRITES_S": 0.0}
        with mock.patch.multiple(client, **pauses):
            return called(main.step, at=self.workspace, environment=environment, alone=True)

    @property
    def replies(self) -> list[str]:
        """What raggate wrote, without the line that does not show."""
        return [one.body.partition("\n")[2] for one in self.repository.comments_of(7) if one.login == BOT]

    @property
    def reactions(self) -> list[str]:
        """How raggate reacted to the last comment."""
        return [
            content for comment, login, content in self.repository.reactions if (comment, login) == (self.comment, BOT)
        ]

    @property
    def attempts(self) -> int:
        """How often the gate has run."""
        return len(self.repository.runs[9])
