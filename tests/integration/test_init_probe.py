"""`raggate init --probe`: from a running API to a configuration that `raggate probe` is content with."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from fakes.other_api import OtherApi
from here import Done, called
from raggate.cli import first_config, main

DATA = Path(__file__).parents[1] / "data"
NOTES = [("Keys.md", ["Keys"], "the spare key is under the mat"), ("Food.md", ["Food"], "bread of flour and a key")]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a repository with two notes."""
    (tmp_path / "notes").mkdir()
    for name, (heading,), text in NOTES:
        (tmp_path / "notes" / name).write_text(f"# {heading}\n\n{text}\n")
    return tmp_path


def raggate(root: Path, *words: str, **environment: str) -> Done:
    return called(lambda: main.main(words), at=root, environment=environment)


def api(folder: str = "") -> OtherApi:
    """Return an API that searches the notes at any path, tells that it is up, and puts a folder before its notes."""
    pages = {"/health": (200, {})}

    class Search(OtherApi):
        def answer(self, heard):  # type: ignore[no-untyped-def]
            if heard.method == "POST" and not {"q", "top"} <= {*(heard.body or {}), "top"}:
                return 422, b'{"detail": "q is missing"}'
            if heard.method == "POST":
                heard.body.setdefault("top", heard.body.get("limit", 10))
            return super().answer(heard)

    return Search(notes=[(f"{folder}{name}", *rest) for name, *rest in NOTES], pages=pages)


def test_from_an_api_to_a_verdict(root: Path) -> None:
    """What README shows: found out, a question added, measured, promoted, and judged, without a line by hand."""
    with api() as there:
        done = raggate(root, "init", "--probe", f"{there.base_url}/search", "--vault", "notes")
        assert done.code == 0, done.err
        # of the first note, as nobody has said what to ask
        assert "asked:    bread of flour and a key (none of your questions, no-mode)" in done.out
        added = raggate(root, "golden", "add", "Where is the spare key?", "--anchor", "Keys.md#Keys")
        assert added.code == 0, added.err
        assert raggate(root, "check").code == 3
        (run,) = (path for path in (root / ".raggate" / "runs").iterdir() if path.is_dir())
        assert raggate(root, "promote", str(run)).code == 0
        done = raggate(root, "check")
    assert done.code == 0, done.out + done.err
    assert "verdict: pass (exit 0)" in done.out


def test_notes_that_are_named_by_this_machine(root: Path) -> None:
    """No file is written with a folder that no other machine has; the folder of where it runs is taken."""
    with api(f"{root}/notes/") as there:
        words = ("init", "--probe", f"{there.base_url}/search", "--vault", "notes")
        refused = raggate(root, *words)
        assert (refused.code, (root / "raggate.yml").exists()) == (2, False)
        assert "absolute paths of this machine" in refused.err
        assert raggate(root, *words, "--map", "path_prefix=/data/notes/").code in {0, 3}
    assert str(root) not in (root / "raggate.yml").read_text()


def workflow(root: Path) -> dict[str, Any]:
    """Read the steps of the workflow that was written, by their names."""
    (job,) = yaml.safe_load((root / ".github/workflows/rag-gate.yml").read_text())["jobs"].values()
    return {step.get("name", "checkout"): step for step in job["steps"]}


def test_the_workflow_fits_an_api_that_runs(root: Path) -> None:
    """An address takes no image: none is built, and none is passed."""
    with api() as there:
        done = raggate(root, "init", "--probe", f"{there.base_url}/search", "--vault", "notes")
    assert done.code == 0, done.err
    assert "with" not in workflow(root)["Gate"]
    assert "Build the API's image" not in workflow(root)
    assert "Check: `api.url` is an API that runs already" in done.out


@pytest.mark.parametrize(
    ("dockerfile", "port"),
    [
        ("FROM a\n  expose 8000/tcp\nEXPOSE 8000\n", 8000),
        ("FROM a\nEXPOSE 8000\nEXPOSE 9000\n", None),
        ("FROM a\nEXPOSE 70000\n", None),
        ("FROM a\nEXPOSE $PORT\n", None),
        ("FROM a\n# EXPOSE 8000\n", None),
    ],
)
def test_a_dockerfile_says_how_the_api_is_started(root: Path, dockerfile: str, port: int | None) -> None:
    """If it exposes one port, raggate.yml has a container with it, and what runs is asked by `--api-url`."""
    (root / "Dockerfile").write_text(dockerfile)
    with api() as there:
        done = raggate(root, "init", "--probe", f"{there.base_url}/search", "--vault", "notes")
        assert done.code == 0, done.out + done.err
    written = yaml.safe_load((root / "raggate.yml").read_text())["api"]
    if port is None:
        assert (written["url"], "with" in workflow(root)["Gate"]) == (there.base_url, False)
        return
    assert (written["container"], "url" in written) == ({"build": {"context": "."}, "port": port}, False)
    assert written["ready"]["health_path"] == "/health"
    assert workflow(root)["Gate"]["with"] == {"api-image": "my-api:change"}
    assert "my-api:change" in workflow(root)["Build the API's image"]["run"]
    assert f"Next: `raggate golden add --api-url {there.base_url} QUESTION`" in done.out
    assert "Check: `api.container` starts the API from your Dockerfile" in done.out
    assert "this configuration can be measured (exit 0)" in done.out


def questions(*cases: dict[str, Any]) -> str:
    """Write a golden set of these cases."""
    return "".join(
        json.dumps({"id": f"q{number}", "question": f"spare key {number}", "answerable": True, **case}) + "\n"
        for number, case in enumerate(cases)
    )


def test_a_golden_set_that_is_there(root: Path) -> None:
    """It is used and stays as it is, with the directory of its notes: no example, no word of adding questions."""
    (root / "eval").mkdir()
    golden = root / "eval" / "eval_set.jsonl"
    golden.write_text(questions(*[{"gold_supports": [{"rel_path": "Keys.md", "heading_path": "# Keys"}]}] * 3))
    (root / "data.jsonl").write_text('{"no": "question"}\n')
    before = golden.read_bytes()
    with api() as there:
        words = ("init", "--owners", "@me", "--probe", f"{there.base_url}/search")
        done = raggate(root, *words)
        assert done.code == 0, done.out + done.err
        config = yaml.safe_load((root / "raggate.yml").read_text())
        assert (config["golden"], config["vault"]) == ("eval/eval_set.jsonl", {"notes": "notes"})
        assert "Your golden set: eval/eval_set.jsonl, 3 questions." in done.out
        assert "asked:    spare key 0 (eval/eval_set.jsonl, no-mode)" in done.out
        assert "Next: `raggate check`." in done.out
        assert "golden add" not in done.out
        assert not (root / "golden").exists()
        assert "eval\n" in (root / ".dockerignore").read_text()
        owned = (root / ".github/CODEOWNERS").read_text()
        assert {"/eval/", "/notes/"} <= {line.partition(" ")[0] for line in owned.splitlines()}
        assert "golden" not in owned
        (root / ".github/CODEOWNERS").unlink()
        refused = raggate(root, *words)
        assert refused.code == 2
        assert "Your golden set and notes stay unchanged" in refused.err
        assert raggate(root, *words, "--force").code == 0
        assert raggate(root, "check").code == 3
    assert golden.read_bytes() == before


def test_a_command_keeps_the_vault_that_it_names(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is started was given the notes by a name before it said another one."""
    chunks = {"list": "hits", "rel_path": "path", "path_prefix": "personal/"}
    mcp = {"tool": "search", "body": {"query": "{question}"}, "response": {"chunks": chunks}}
    api = {"command": {"run": ["notes-mcp", "{vault.notes}"]}, "stdio": True}
    monkeypatch.setattr(first_config, "_sections", lambda *_: {"api": api, "ask": {"adapter": "mcp", **mcp}})
    known = first_config.Known(probe="notes-mcp notes", there=first_config.there(root, root / "notes"))
    written = yaml.safe_load(first_config.text_of(root, known) or "")
    assert (written["vault"], written["api"]) == ({"notes": "notes"}, api)


def test_the_vaults_that_questions_name(root: Path) -> None:
    """Each vault has the name that the questions give it, and the directory in which most of its notes lie."""
    for path in ("a/work/Plan.md", "b/home/Keys.md", "b/home/Food.md", "old/Keys.md"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("# Note\n\ntext\n")
    of_home = [{"vaults": ["home"], "gold_supports": [{"rel_path": path}]} for path in ("Keys.md", "Food.md")]
    (root / "q.jsonl").write_text(
        questions(*of_home, {"vaults": ["home", "work"], "gold_supports": [{"rel_path": "Plan.md", "vault": "work"}]})
    )
    (root / "notes" / "Food.md").unlink()
    done = raggate(root, "init")
    assert done.code == 0, done.err
    config = yaml.safe_load((root / "raggate.yml").read_text())
    assert config["vault"] == {"home": "b/home", "work": "a/work"}
    assert config["api"]["container"]["env"]["VAULT_PATH"] == "{vault.home}"
    assert "Next: set `api` in raggate.yml, then `raggate check`." in done.out


def test_a_key_is_sent_and_never_written(root: Path) -> None:
    """A header names a variable: its value goes to the API alone, and into no file and no message."""

    def refuse(_: str) -> tuple[int, bytes]:
        return 401, b'{"detail": "s3cret-of-theirs is not welcome"}'

    words = ("init", "--vault", "notes", "--question", "key", "--header", "X-Key: {env.API_KEY}", "--probe")
    with api() as there:
        done = raggate(root, *words, f"{there.base_url}/search", API_KEY="s3cret-of-theirs")
        assert done.code == 0, done.out + done.err
        assert {heard.headers["x-key"] for heard in there.heard} == {"s3cret-of-theirs"}
    assert "headers: {X-Key: '{env.API_KEY}'}" in (root / "raggate.yml").read_text()
    assert "Fill in: `env: {API_KEY: ${{ secrets.API_KEY }}}` at the step `Gate` of .github/workflows" in done.out
    with OtherApi(script=refuse) as there:
        refused = raggate(root, *words, f"{there.base_url}/search", "--force", API_KEY="s3cret-of-theirs")
    assert refused.code == 2
    assert "HTTP 401" in refused.err
    assert not any("s3cret" in text for text in (done.out, done.err, refused.err, (root / "raggate.yml").read_text()))


def test_nothing_is_written_over(root: Path) -> None:
    """A file that is there stays, before anything is asked."""
    (root / "raggate.yml").write_text("mine")
    with api() as there:
        refused = raggate(root, "init", "--probe", f"{there.base_url}/search", "--vault", "notes", "--question", "key")
        assert (refused.code, there.heard) == (2, [])
    assert "raggate.yml: exists already. Nothing was written" in refused.err
    assert (root / "raggate.yml").read_text() == "mine"


def test_an_mcp_server_that_is_started(root: Path) -> None:
    """From a command to a configuration in which the notes' directory is a placeholder, and one parsed answer."""
    (root / "notes" / "work").mkdir()
    (root / "notes" / "work" / "Keys.md").write_text("# Keys\n\nThe spare key is under the mat.\n")
    command = f"{sys.executable} -S {DATA.parent / 'fakes' / 'mcp_server.py'} notes"
    done = raggate(root, "init", "--probe", command, "--vault", "notes", "--question", "spare key")
    assert done.code == 0, done.out + done.err
    written = (root / "raggate.yml").read_text()
    assert "'{vault.notes}']}, stdio: true}" in written
    assert len(written.splitlines()) <= 10
    assert "heading_path  hits[*].headings" in done.out
    assert "this configuration can be measured (exit 0)" in done.out
    assert "`api.url` is an API that runs already" not in done.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--question", "x"), "--question, --map, --header, --tool, --body and --health need --probe"),
        (("--preset", "opensarch"), "Did you mean 'opensearch'?"),
        (("--preset", "r2r", "--probe", "http://127.0.0.1:1/v3"), "expected the address without a path"),
        (("--preset", "r2r", "--probe", "http://169.254.169.254"), "cloud metadata address"),
        (("--probe", "http://127.0.0.1:1/x", "--vault", "nowhere"), "--vault: nowhere: no such directory"),
        (("--probe", "http://127.0.0.1:1/x", "--vault", ".."), "is not inside"),
        (("--probe", "http://127.0.0.1:1/x", "--header", "X"), "--header: expected 'Name: value'"),
        (("--probe", "http://127.0.0.1:1/x", "--header", "X-Key: s3cret"), "expected the name of a variable"),
        (("--probe", "http://127.0.0.1:1/x", "--header", "X-Key: {env.NOT_SET}"), "NOT_SET, which --header.X-Key"),
        (("--probe", "http://127.0.0.1:1/x", "--header", "X-Key: {env.GITHUB_TOKEN}"), "not the runner's"),
        (("--probe", "http://127.0.0.1:1/x", "--header", "Host: evil"), "that raggate does not set"),
        (("--preset", "r2r", "--probe", "http://127.0.0.1:1", "--map", "id=x"), "cannot be combined with --preset"),
        (("--probe", "x 'y"), "--probe: No closing quotation"),
        (("--probe", " "), "--probe: expected an address"),
        (("--probe", "no-such-program-here"), "no command 'no-such-program-here' on PATH"),
        (("--probe", "http://127.0.0.1:1/x", "--body", "{"), "--body: unexpected end of data at column 2"),
        (("--probe", "http://127.0.0.1:1/x", "--body", "[1]"), "--body: expected a JSON object"),
        (("--probe", "http://127.0.0.1:1/x", "--body", '{"q": "key"}'), "--body: expected {question} in it"),
        (("--probe", "http://127.0.0.1:1/x", "--body", '{"q": "{question}{mode}"}'), "--body: expected no {mode}"),
        (("--probe", "http://127.0.0.1:1/x", "--health", "up"), "--health: expected a path such as /livez"),
        (("--probe", "x", "--body", '{"q": "{question}"}'), "--body and --health need an address"),
        (("--preset", "r2r", "--probe", "http://127.0.0.1:1", "--health", "/up"), "cannot be combined with --preset"),
        (("--probe", "http://127.0.0.1:1/x", "--map", "rel_path"), "--map: expected part=path"),
        (("--probe", "http://127.0.0.1:1/x", "--map", "rel_path=a["), "--map rel_path: expected a path such as"),
    ],
)
def test_what_makes_no_sense(root: Path, words: tuple[str, ...], said: str) -> None:
    """A wrong word is a usage error, and nothing is written."""
    before = sorted(root.rglob("*"))
    done = raggate(root, "init", *words)
    assert (done.code, sorted(root.rglob("*"))) == (2, before)
    assert said in done.err
