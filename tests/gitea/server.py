"""A real Gitea or Forgejo on loopback, in a directory of its own: its API, tokens of jobs, repositories to write to."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import secrets
import socket
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from raggate.github.rest.gitea import Gitea as GiteaClient
from raggate.text.http_client import httpx

SETTINGS = """\
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
WORK_PATH = {root}
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {port}
ROOT_URL = http://127.0.0.1:{port}/
STATIC_ROOT_PATH = {static}
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
DB_TYPE = sqlite3
PATH = {root}/gitea.db
[security]
INSTALL_LOCK = true
SECRET_KEY = {secret}
INTERNAL_TOKEN = {internal}
[log]
LEVEL = Error
[cron]
ENABLED = false
"""
RUNNING = 6
"""The status of a task whose token counts."""


@dataclass
class Gitea:
    """The server: its address, and the program that administers it."""

    program: Path
    root: Path
    port: int

    @property
    def url(self) -> str:
        """Give what GITHUB_SERVER_URL would hold."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def api_url(self) -> str:
        """Give what GITHUB_API_URL would hold."""
        return f"{self.url}/api/v1"

    def admin(self, *words: str) -> str:
        """Run the program, and give what it prints."""
        command = [self.program, "--config", self.root / "app.ini", *words]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    @property
    def environment(self) -> dict[str, str]:
        """Give the program's environment."""
        return {"PATH": os.environ["PATH"], "HOME": str(self.root), "GITEA_WORK_DIR": str(self.root)}

    @property
    def robot(self) -> str:
        """Give the login that a job's token has."""
        return f"{self.program.name}-actions"

    def user(self, name: str) -> str:
        """Make a person, and give a token."""
        words = ("--username", name, "--email", f"{name}@example.org", "--random-password")
        self.admin("admin", "user", "create", *words, "--must-change-password=false")
        words = ("--username", name, "--token-name", secrets.token_hex(4), "--scopes", "all", "--raw")
        return self.admin("admin", "user", "generate-access-token", *words).splitlines()[-1]


@dataclass
class Forge:
    """A repository of `ada` on the server, with a branch `change` and a pull request 1 of it."""

    server: Gitea
    token: str
    name: str

    def call(self, method: str, path: str, body: object = None, *, token: str = "") -> Any:
        """Ask the API, below the repository."""
        headers = {"Authorization": f"Bearer {token or self.token}"}
        answer = httpx.request(
            method, f"{self.server.api_url}/repos/ada/{self.name}{path}", json=body, headers=headers, timeout=60
        )
        if answer.status_code == 500 and path.endswith("/comments"):
            # this Forgejo fails in its webhooks once the comment of somebody who may not write stands there
            (*_, comment) = self.call("GET", path)
            assert comment["body"] == dict(body or {})["body"]  # type: ignore[call-overload]
            return comment
        assert answer.is_success, (answer.status_code, answer.text)
        return answer.json() if answer.content else None

    @property
    def robot(self) -> str:
        """Give the login that a job's token has."""
        return self.server.robot

    def client(self, token: str = "") -> GiteaClient:
        """Give raggate's client of it, which does not wait."""
        return GiteaClient(api_url=self.server.api_url, token=token or self.token, sleep=lambda _: None)

    def write(self, path: str, content: bytes, *, onto: str = "main", new: str | None = None) -> None:
        """Commit a new file."""
        body = {"content": base64.b64encode(content).decode(), "message": f"Write {path}", "branch": onto}
        self.call("POST", f"/contents/{path}", body | ({"new_branch": new} if new else {}))

    def event(self) -> str:
        """Give the event of the newest run that the server made of a workflow, once it has."""
        end = time.monotonic() + 60
        query = "select event_payload from action_run where repo_id = ? and length(event_payload) > 2 order by id desc"
        while time.monotonic() < end:
            with sqlite3.connect(self.server.root / "gitea.db", timeout=30) as database:
                row = database.execute(query, (self.call("GET", "")["id"],)).fetchone()
            if row is not None:
                return str(row[0])
            time.sleep(0.2)
        raise AssertionError("no run was made")

    def job(self) -> tuple[str, int]:
        """Let a job run, as a runner would have begun it; give its token and the number of its run."""
        token, salt = secrets.token_hex(20), secrets.token_hex(5)
        digest = hashlib.pbkdf2_hmac("sha256", token.encode(), salt.encode(), 10000, 50).hex()
        record = self.call("GET", "")
        now = int(time.time())
        own = {"repo_id": record["id"], "owner_id": record["owner"]["id"], "status": RUNNING, "created": now}
        own |= {"commit_sha": self.call("GET", "/branches/main")["commit"]["id"], "is_fork_pull_request": 0}
        with sqlite3.connect(self.server.root / "gitea.db", timeout=30) as database:
            run = _insert(
                database,
                "action_run",
                own
                | {"workflow_id": "rag-gate.yml", "index": now, "trigger_user_id": 1, "ref": "refs/heads/main"}
                | {"event": "pull_request", "trigger_event": "pull_request", "event_payload": "{}", "title": "t"},
            )
            job = _insert(
                database, "action_run_job", own | {"run_id": run, "name": "gate", "job_id": "gate", "attempt": 1}
            )
            task = own | {"job_id": job, "attempt": 1, "token_hash": digest, "token_salt": salt}
            number = _insert(database, "action_task", task | {"token_last_eight": token[-8:]})
            database.execute("update action_run_job set task_id = ? where id = ?", (number, job))
        return token, run


def _insert(database: sqlite3.Connection, table: str, values: dict[str, object]) -> int:
    names = ", ".join(f'"{name}"' for name in values)
    marks = ", ".join("?" for _ in values)
    cursor = database.execute(f'insert into "{table}" ({names}) values ({marks})', tuple(values.values()))  # noqa: S608
    assert cursor.lastrowid is not None
    return cursor.lastrowid


@contextlib.contextmanager
def running(program: Path, static: Path, root: Path) -> Iterator[Gitea]:
    """Start a server, and end it; nothing of it remains but files in `root`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = Gitea(program, root, port)
    words = [program, "generate", "secret", "INTERNAL_TOKEN"]
    internal = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    settings = {"root": root, "port": port, "static": static, "secret": secrets.token_hex(16), "internal": internal}
    (root / "app.ini").write_text(SETTINGS.format(**settings))
    server.admin("migrate")
    command = [program, "--config", root / "app.ini", "web"]
    with (
        (root / "log").open("w") as log,
        subprocess.Popen(command, env=server.environment, stdout=log, stderr=log) as run,
    ):
        try:
            _wait(server, run)
            yield server
        finally:
            run.terminate()
            run.wait(30)


def _wait(server: Gitea, run: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        assert run.poll() is None, (server.root / "log").read_text()
        with contextlib.suppress(httpx.HTTPError):
            if httpx.get(f"{server.api_url}/version", timeout=5).is_success:
                return
        time.sleep(0.2)
    raise AssertionError((server.root / "log").read_text())
