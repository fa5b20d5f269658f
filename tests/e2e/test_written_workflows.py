"""The workflow that `raggate init` writes, run as GitHub runs it, for each way in which raggate asks.

A command without an image has a job of shell steps: `test_program_discovery.py` runs those.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import runpy
import secrets
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from checkouts import files_below
from e2e import image
from e2e.emulator import Step, docker, gateway, leftovers
from e2e.engine import connect
from e2e.pulls import NAME, pull_job
from fakes.github_api import BOT, FakeGitHub
from here import called
from raggate.cli import main
from rendered import visible

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]

ACTION = f"someone/raggate@{'a' * 40}"
NOTES = {
    "Keys.md": "# Keys\n\nThe spare key is under the mat.\n",
    "Bread.md": "# Bread\n\nBread is made of flour and water.\n",
    "Garden.md": "# Garden\n\nPlant the tulips in autumn.\n",
}
QUESTIONS = {"Where is the spare key?": "Keys.md", "What is bread made of?": "Bread.md"}
# what LangChain returns, by a function that builds it
FUNCTION = """\
class Document:
    def __init__(self, page_content, metadata):
        self.page_content, self.metadata = page_content, metadata


class Retriever:
    def __init__(self, notes):
        self.notes = sorted(notes.glob("*.md"))

    def invoke(self, input, config=None):
        words = set(input.lower().rstrip("?").split())
        kept = [note for note in self.notes if note.name != LEFT_OUT]
        kept.sort(key=lambda note: -len(words & set(note.read_text().lower().split())))
        return [Document(note.read_text(), {"source": str(note)}) for note in kept]


def build(vault):
    return Retriever(vault)


LEFT_OUT = ""
"""
PROGRAM = """\
import json, pathlib, sys

from rag import build

search = build(pathlib.Path(sys.argv[1])).invoke
print(json.dumps({"ready": True, "documents": len(search("")), "chunks": len(search(""))}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    found = search(asked["question"])[: asked["k"]]
    hits = [{"path": pathlib.Path(hit.metadata["source"]).name, "text": hit.page_content} for hit in found]
    print(json.dumps({"id": asked["id"], "hits": hits}), flush=True)
"""
SERVER = """\
import json, pathlib, sys

from rag import build

search = build(pathlib.Path(sys.argv[1])).invoke
TOOL = {"name": "search", "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}}}


def result(method, params):
    if method == "initialize":
        about = {"name": "notes", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": [TOOL]}
    found = search(params["arguments"]["query"])
    hits = [{"path": pathlib.Path(hit.metadata["source"]).name, "text": hit.page_content} for hit in found]
    return {"content": [], "structuredContent": {"hits": hits}}


for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": result(asked["method"], asked.get("params", {}))}
        print(json.dumps(answer), flush=True)
"""


@contextlib.contextmanager
def running(root: Path, host: str) -> Iterator[str]:
    """Serve what `rag.py` of a directory finds, as it is at each request, at an address that containers reach."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer({"status": "ok"} if self.path == "/health" else None)

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            build = runpy.run_path(str(root / "rag.py"))["build"]
            found = build(root / "notes").invoke(asked["query"])
            hits = [{"path": Path(hit.metadata["source"]).name, "text": hit.page_content} for hit in found]
            self._answer({"hits": hits})

        def _answer(self, answer: object) -> None:
            body = json.dumps(answer).encode()
            self.send_response(404 if answer is None else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    with http.server.ThreadingHTTPServer((host, 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{host}:{server.server_address[1]}"
        server.shutdown()


class Repository:
    """A repository whose retriever raggate gates, and a GitHub with its pull requests."""

    def __init__(self, root: Path, fake: FakeGitHub, runner: str) -> None:
        self.root, self.fake, self.runner = root, fake, runner
        self.remote = fake.add_repository(NAME)
        self.tag = f"my-api-{secrets.token_hex(4)}:change"
        self.pulls = 0
        for name, text in NOTES.items():
            (root / "notes").mkdir(exist_ok=True, parents=True)
            (root / "notes" / name).write_text(text)
        for name, text in {"rag.py": FUNCTION, "program.py": PROGRAM, "server.py": SERVER}.items():
            (root / name).write_text(text)

    def raggate(self, *words: str, code: int = 0) -> str:
        done = called(lambda: main.main(words), at=self.root, environment=dict(os.environ))
        assert done.code == code, done.out + done.err
        return done.out

    def promoted(self) -> None:
        """Write questions and a baseline, and make all of it the default branch."""
        for question, note in QUESTIONS.items():
            self.raggate("golden", "add", question, "--anchor", note)
        self.raggate("check", code=3)
        (run,) = (path for path in (self.root / ".raggate" / "runs").iterdir() if path.is_dir())
        self.raggate("promote", str(run))
        self.base = str(self.remote.add_commit(files_below(self.root), branch="main"))

    def gated(self) -> tuple[Step, str]:
        """Open a pull request with the repository as it is now, and run the steps of its workflow."""
        self.pulls += 1
        head = str(self.remote.add_commit(files_below(self.root), [self.base]))
        self.remote.add_pull(self.pulls, head_sha=head, base_sha=self.base, head_ref=f"change-{self.pulls}")
        job_root, change = self.root.parent / f"job-{self.pulls}", {"base": self.base, "head": head}
        made = pull_job(self.fake, job_root, self.runner, number=self.pulls, **change)
        shutil.copytree(self.root, made.workspace, dirs_exist_ok=True, ignore=shutil.ignore_patterns("runs"))
        text = (self.root / ".github/workflows/rag-gate.yml").read_text().replace("my-api:change", self.tag)
        (job,) = yaml.safe_load(text)["jobs"].values()
        for step in (step for step in job["steps"] if "run" in step):
            subprocess.run(["bash", "-e", "-c", step["run"]], cwd=made.workspace, check=True, capture_output=True)
        made.own()
        (gate,) = (step for step in job["steps"] if step.get("uses") == ACTION)
        step = made.run(gate.get("with"))
        assert leftovers(made) == []
        (comment,) = [comment.body for comment in self.remote.comments_of(self.pulls) if comment.login == BOT]
        return step, visible(comment)


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    connect().close()
    runner = image.action()
    with FakeGitHub(wire=True, host="0.0.0.0", advertised=gateway()) as fake:
        made = Repository(tmp_path / "repository", fake, runner)
        yield made
        docker("rmi", "--force", made.tag, check=False)


def in_an_image(repository: Repository) -> None:
    """Write a Dockerfile of a program, which exposes no port."""
    lines = (f"FROM {image.base()}", "RUN ln -s /usr/bin/python3 /usr/local/bin/python", "WORKDIR /app", "COPY *.py ./")
    (repository.root / "Dockerfile").write_text("\n".join(lines) + "\n")


def is_green_then_red(repository: Repository, *causes: str) -> None:
    """A change of nothing passes; one that leaves a note out is a regression that names question, note and cause."""
    repository.promoted()
    step, comment = repository.gated()
    assert step.exit_code == 0, step.text
    assert "pass" in comment.splitlines()[0]
    rag = repository.root / "rag.py"
    rag.write_text(FUNCTION.replace('LEFT_OUT = ""', 'LEFT_OUT = "Keys.md"'))
    step, comment = repository.gated()
    assert step.exit_code == 1, step.text
    assert "Where is the spare key?" in comment
    assert "What is bread made of?" not in comment
    for cause in ("fewer distinct passages come back (3.0 → 2.0 on average)", *causes):
        assert cause in comment


@pytest.mark.parametrize(
    ("flag", "target", "causes"),
    [
        ("--python", "rag:build", ()),
        ("--program", "python program.py notes", ("the index has 2 documents (3 in the baseline's run)",)),
        ("--probe", "python server.py notes", ()),
    ],
    ids=["function", "program", "MCP server"],
)
def test_what_speaks_over_stdio_is_gated_in_its_sandbox(
    repository: Repository, flag: str, target: str, causes: tuple[str, ...]
) -> None:
    """A function, a program and an MCP server of a repository with a Dockerfile are gated by the action."""
    in_an_image(repository)
    out = repository.raggate("init", flag, target, "--vault", "notes", "--action", ACTION)
    assert "it runs in the image of your Dockerfile, without network" in out
    is_green_then_red(repository, *causes)


def test_an_address_is_gated_by_the_action_without_an_image(repository: Repository) -> None:
    """The workflow of an API that runs already builds no image."""
    with running(repository.root, gateway()) as address:
        repository.raggate("init", "--probe", f"{address}/search", "--vault", "notes", "--action", ACTION)
        assert "docker build" not in (repository.root / ".github/workflows/rag-gate.yml").read_text()
        is_green_then_red(repository)
