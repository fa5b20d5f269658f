"""A GitLab that keeps the rules of its documented notes API: tokens, pages, limits, whose note it is, quick actions."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from fakes.served import Handler, Served

ME = 7
TOKEN = "glpat-abcdefghijklmnopqrst"  # noqa: S105 - of a fake
MAX_CHARACTERS = 1_000_000
_NOTES = re.compile(r"/api/v4/projects/12/merge_requests/3/notes(?:/(\d+))?")


@dataclass
class FakeGitLab(Served):
    """Project 12 with merge request 3; `notes` are what people see, `executed` the quick actions that were obeyed."""

    notes: list[dict[str, Any]] = field(default_factory=list)
    executed: list[str] = field(default_factory=list)
    may_write: bool = True
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.handler = _Handler
        self.listen()

    def variables(self) -> dict[str, str]:
        """Give what a job of a merge request pipeline has."""
        return {
            "CI_API_V4_URL": f"{self.base_url}/api/v4",
            "CI_MERGE_REQUEST_PROJECT_ID": "12",
            "CI_MERGE_REQUEST_IID": "3",
            "CI_COMMIT_SHA": "0123456789abcdef0123456789abcdef01234567",
            "CI_JOB_ID": "99",
            "RAGGATE_GITLAB_TOKEN": TOKEN,
        }

    def add(self, body: str, author: int = ME) -> int:
        """Let somebody write a note."""
        number = 1000 + len(self.notes)
        self.notes.append({"id": number, "body": body, "author": {"id": author}, "system": False})
        return number

    def write(self, number: int | None, body: str) -> tuple[int, Any]:
        """Create or change a note, and obey its quick actions."""
        if not body.strip():
            return 400, {"message": "400 Bad request - Note can't be blank"}
        if len(body) > MAX_CHARACTERS:
            return 400, {"message": {"note": ["is too long (maximum is 1000000 characters)"]}}
        self.executed += re.findall(r"^\s*/(\w+)", body, re.MULTILINE)
        if number is None:
            number = self.add(body)
            return 201, next(note for note in self.notes if note["id"] == number)
        note = next((note for note in self.notes if note["id"] == number), None)
        if note is None:
            return 404, {"message": "404 Note Not Found"}
        if note["author"]["id"] != ME:
            return 403, {"message": "403 Forbidden"}
        note["body"] = body
        return 200, note


class _Handler(Handler):
    def get(self) -> None:
        """Tell who asks, or list notes, a page at a time."""
        parts = urlsplit(self.path)
        query = self.query()
        if not self._allowed(parts.path):
            return
        if parts.path == "/api/v4/user":
            self._reply(200, {"id": ME, "username": "project_12_bot"})
        elif _NOTES.fullmatch(parts.path):
            size, page = min(int(query.get("per_page", 20)), 100), int(query.get("page", 1))
            notes = self.fake.notes if query.get("sort") == "asc" else self.fake.notes[::-1]
            self._reply(200, notes[(page - 1) * size : page * size])
        else:
            self._reply(404, {"message": "404 Not Found"})

    def post(self) -> None:
        """Create a note."""
        self._write(new=True)

    def put(self) -> None:
        """Change a note."""
        self._write(new=False)

    def _write(self, *, new: bool) -> None:
        body = self.body()["body"]
        match = _NOTES.fullmatch(self.path)
        if not self._allowed(self.path):
            return
        if not self.fake.may_write:
            self._reply(403, {"message": "403 Forbidden"})
        elif match is None or new == bool(match[1]):
            self._reply(404, {"error": "404 Not Found"})
        else:
            self._reply(*self.fake.write(int(match[1]) if match[1] else None, body))

    def _allowed(self, path: str) -> bool:
        self.fake.asked.append(f"{self.command} {path}")
        if self.headers.get("PRIVATE-TOKEN") == TOKEN:
            return True
        self._reply(401, {"message": "401 Unauthorized"})
        return False

    def _reply(self, status: int, value: Any) -> None:
        self.reply(status, json.dumps(value).encode(), **{"Content-Type": "application/json"})
