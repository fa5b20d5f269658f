"""An API that prints what it was given: none of it is in what raggate shows or leaves behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from project import FAKE_API, Project, make_project
from stored_rows import plain_rows

SECRET = "sk-0123456789abcdef"  # noqa: S105 - invented
TOKEN = "ghs_0123456789abcdef"  # noqa: S105 - invented
TALKATIVE = """
import base64, http.server, os, sys
said = os.environ["SEARCH_KEY"] + " ghs_0123456789abcdef"
print("key", said, "in base64", base64.b64encode(said.encode()).decode(), "end", flush=True)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(503)
        self.end_headers()
        self.wfile.write(said.encode())
    def log_message(self, *_):
        pass
if os.environ.get("FAKE_BEHAVIOUR") == "die":
    sys.exit(said)
http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["API_PORT"])), Handler).serve_forever()
"""
HALFWAY = """
import http.server, json, os, sys
said = os.environ["SEARCH_KEY"] + " ghs_0123456789abcdef"
class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        asked = self.path not in ("/api/health", "/api/index/status")
        print("asked", said, flush=True)
        self.send_response(500 if asked else 200)
        self.end_headers()
        self.wfile.write(said.encode() if asked else b'{"status": "healthy"}')
    do_GET = do_POST = answer
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["API_PORT"])), Handler).serve_forever()
"""

APART = HALFWAY.replace('said = os.environ["SEARCH_KEY"]', 'said = "\\u200b".join(os.environ["SEARCH_KEY"])')


LEAKING = """
import base64, os, sys
sys.path.insert(0, {folder!r})
import process_api
key = os.environ["SEARCH_KEY"]
class Leaking(process_api.Index):
    def hits(self, question, **limits):
        return [self.leaky(chunk) for chunk in super().hits(question, **limits)]
    def leaky(self, chunk):
        where = process_api.BEHAVIOUR
        said = base64.b64encode(b"x" + key.encode()).decode() if "text" in where else key
        return {{**chunk, **{{name: chunk[name] + said for name in ("chunk_id", "rel_path", "text") if name in where}}}}
    def coverage(self):
        return super().coverage() | ({{"index_version": key, key: 1}} if "coverage" in process_api.BEHAVIOUR else {{}})
process_api.Index = Leaking
process_api.main()
"""


def talking(root: Path, code: str) -> Project:
    """Make a repository whose API is this program and is handed a secret."""
    project = make_project(root)
    (root / "api.py").write_text(code)
    project.edit(str(FAKE_API), str(root / "api.py"))
    project.edit("pass_env: [PATH,", "pass_env: [PATH, SEARCH_KEY,")
    return project


@pytest.mark.parametrize(
    ("code", "behaviour", "left"),
    [
        pytest.param(TALKATIVE, "die", "api.log", id="dies"),
        pytest.param(TALKATIVE, "never healthy", "api.log", id="never-healthy"),
        pytest.param(HALFWAY, "", "results.jsonl", id="fails-every-question"),
        pytest.param(APART, "", "results.jsonl", id="with-unseen-characters-between-its-letters"),
    ],
)
def test_nothing_shows_what_the_api_was_given(tmp_path: Path, code: str, behaviour: str, left: str) -> None:
    """Log, failures, reports and messages hold neither the value of `pass_env` nor the step's token, in any shape."""
    project = talking(tmp_path, code)
    project.edit("timeout: 20, settle", "timeout: 1.5, settle")
    given = {"SEARCH_KEY": SECRET, "INPUT_GITHUB-TOKEN": TOKEN, "FAKE_BEHAVIOUR": behaviour}
    done = project.raggate("check", **given)
    assert done.code == 3, done.out + done.err
    directory = project.last_run()
    plain_rows(directory)
    assert "***" in (directory / left).read_text()
    assert "***" in (directory / "verdict.json").read_text()
    assert json.loads((directory / "verdict.json").read_text())["exit_code"] == 3
    shown = {path.name: path.read_text() for path in directory.iterdir()} | {"out": done.out, "err": done.err}
    for name, text in shown.items():
        for piece in ("0123456789abcdef", "c2stMDEyMzQ1Njc4OWFiY2RlZ"):
            assert piece not in text, name


@pytest.mark.parametrize("where", ["chunk_id", "rel_path", "text", "coverage"])
def test_no_answer_carries_what_the_api_was_given_out(tmp_path: Path, where: str) -> None:
    """A secret in an answer that is as it should be is in no report and no file either: an API has no other way out."""
    project = talking(tmp_path, LEAKING.format(folder=str(FAKE_API.parent)))
    done = project.command("check", "--store-full-text", SEARCH_KEY=SECRET, FAKE_BEHAVIOUR=where)
    directory = project.last_run()
    assert "***" in plain_rows(directory).read_text()
    shown = {path.name: path.read_text() for path in directory.iterdir()} | {"out": done.out, "err": done.err}
    for name, text in shown.items():
        for piece in ("0123456789abcdef", "Njc4OWFiY2RlZ"):
            assert piece not in text, name


def test_a_secret_that_stands_in_a_note_is_none(tmp_path: Path) -> None:
    """A password that is a word of the notes stays in what is found of them, which is scored as without it."""
    project = make_project(tmp_path)
    project.edit("pass_env: [PATH,", "pass_env: [PATH, STORE_PASSWORD,")
    project.promote()
    done = project.command("check", STORE_PASSWORD="cardamom")  # noqa: S106 - a word
    assert done.code == 0, done.out
    assert "cardamom" in plain_rows(project.last_run()).read_text()


def test_run_directories_stay_in_the_repository(tmp_path: Path) -> None:
    """A link that the change committed moves nothing: it is a usage error, and `--out` is the user's own choice."""
    root = tmp_path / "root"
    root.mkdir()
    project = make_project(root)
    (tmp_path / "outside").mkdir()
    (root / ".raggate").symlink_to("../outside")
    done = project.command("check")
    assert done.code == 2
    assert ".raggate' " in done.err or ".raggate'" in done.err
    assert not list((tmp_path / "outside").iterdir())
    (tmp_path / "mine").mkdir()
    (root / "runs").symlink_to("../mine")
    assert project.command("run", "--out", "runs").code == 0
    assert len(list((tmp_path / "mine").iterdir())) == 1
