"""`raggate init --probe`: from a running API to a configuration that `raggate probe` is content with."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fakes.other_api import OtherApi
from here import Done, called
from raggate.cli import main

DATA = Path(__file__).parents[1] / "data"
NOTES = [("Keys.md", ["Keys"], "the spare key is under the mat"), ("Food.md", ["Food"], "bread of flour and a key")]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Give a repository with two notes."""
    (tmp_path / "notes").mkdir()
    for name, (heading,), text in NOTES:
        (tmp_path / "notes" / name).write_text(f"# {heading}\n\n{text}\n")
    return tmp_path


def raggate(root: Path, *words: str, **environment: str) -> Done:
    """Run raggate in the repository."""
    return called(lambda: main.main(words), at=root, environment=environment)


def api() -> OtherApi:
    """Give an API that searches the notes at any path, and tells that it is up."""
    pages = {"/health": (200, {})}

    class Search(OtherApi):
        def answer(self, heard):  # type: ignore[no-untyped-def]
            if heard.method == "POST" and not {"q", "top"} <= {*(heard.body or {}), "top"}:
                return 422, b'{"detail": "q is missing"}'
            if heard.method == "POST":
                heard.body.setdefault("top", heard.body.get("limit", 10))
            return super().answer(heard)

    return Search(notes=NOTES, pages=pages)


def test_ten_lines_that_measure(root: Path) -> None:
    """The file that is written is short, is not changed by hand, and one question fills every field it maps."""
    with api() as there:
        words = (
            "init",
            "--probe",
            f"{there.base_url}/search",
            "--vault",
            "notes",
            "--question",
            "where is the spare key",
        )
        done = raggate(root, *words)
        assert done.code == 0, done.out + done.err
        assert len((root / "raggate.yml").read_text().splitlines()) <= 10
        assert "heading_path  data.hits[*].meta.section  2 of 2" in done.out
        assert "this configuration can be measured (exit 0)" in done.out
        assert "asked:    where is the spare key (--question, hybrid)" in done.out
        again = raggate(root, "probe", "--question", "spare key")
        assert again.code == 0, again.out + again.err
        assert [path.name for path in (root / "golden").iterdir()] == [".gitignore"]


def test_from_an_api_to_a_verdict(root: Path) -> None:
    """What README shows: found out, a question added, measured, promoted, and judged, without a line by hand."""
    with api() as there:
        done = raggate(root, "init", "--probe", f"{there.base_url}/search", "--vault", "notes")
        assert done.code == 0, done.err
        # of the first note, as nobody has said what to ask
        assert "asked:    bread of flour and a key (no question of yours, hybrid)" in done.out
        added = raggate(root, "golden", "add", "Where is the spare key?", "--anchor", "Keys.md#Keys")
        assert added.code == 0, added.err
        assert raggate(root, "check").code == 3
        (run,) = (path for path in (root / ".raggate" / "runs").iterdir() if path.is_dir())
        assert raggate(root, "promote", str(run)).code == 0
        done = raggate(root, "check")
    assert done.code == 0, done.out + done.err
    assert "verdict: pass (exit 0)" in done.out


def test_a_key_is_sent_and_never_written(root: Path) -> None:
    """A header names a variable: its value goes to the API alone, and into no file and no message."""

    def refuse(_: str) -> tuple[int, bytes]:
        return 401, b'{"detail": "s3cret-of-theirs is not welcome"}'

    words = ("init", "--vault", "notes", "--question", "key", "--header", "X-Key: {env.API_KEY}", "--probe")
    with api() as there:
        done = raggate(root, *words, f"{there.base_url}/search", API_KEY="s3cret-of-theirs")
        assert done.code == 0, done.out + done.err
        assert {heard.headers["x-key"] for heard in there.heard} == {"s3cret-of-theirs"}
    assert "headers: {X-Key: '{env.API_KEY}'}\n    pass_env: [API_KEY]" in (root / "raggate.yml").read_text()
    assert "Fill in: `env: {API_KEY: ${{ secrets.API_KEY }}}` at the step `Gate` of .github/workflows" in done.out
    with OtherApi(script=refuse) as there:
        refused = raggate(root, *words, f"{there.base_url}/search", "--force", API_KEY="s3cret-of-theirs")
    assert refused.code == 2
    assert "HTTP 401" in refused.err
    assert not any("s3cret" in text for text in (done.out, done.err, refused.err, (root / "raggate.yml").read_text()))


def test_nothing_is_written_over(root: Path) -> None:
    """A file that is there stays, before anything is asked, unless --force says otherwise."""
    (root / "raggate.yml").write_text("mine")
    with api() as there:
        words = ("init", "--probe", f"{there.base_url}/search", "--vault", "notes", "--question", "key")
        refused = raggate(root, *words)
        assert (refused.code, there.heard) == (2, [])
        assert "raggate.yml: exists already, nothing was written" in refused.err
        assert (root / "raggate.yml").read_text() == "mine"
        assert raggate(root, *words, "--force").code == 0
    assert "adapter: mapped" in (root / "raggate.yml").read_text()


def test_the_key_of_a_preset_is_named(root: Path) -> None:
    """What the step needs for the headers of a preset is said too, and nothing where a preset has none."""
    done = raggate(root, "init", "--preset", "elasticsearch")
    assert done.code == 0, done.err
    assert "Fill in: `env: {ES_API_KEY: ${{ secrets.ES_API_KEY }}}` at the step `Gate` of .github/workflows" in done.out
    assert "secrets." not in raggate(root, "init", "--preset", "r2r", "--force").out


def test_a_preset_is_tried_out(root: Path) -> None:
    """With the address of an engine that runs, a preset is written and one answer shown."""

    def answer(_: str) -> tuple[int, bytes]:
        return 200, (DATA / "presets" / "r2r.json").read_bytes()

    (root / "notes" / "Keys.md").write_text("# Keys\n\nThe spare key is under the mat.\n")
    with OtherApi(script=answer, pages={"/v3/health": (200, {})}) as there:
        there.answer = lambda heard: answer("") if heard.method == "POST" else (200, b"{}")  # type: ignore[method-assign]
        done = raggate(root, "init", "--preset", "r2r", "--probe", there.base_url, "--vault", "notes")
    assert done.code == 0, done.out + done.err
    assert "rel_path      results.chunk_search_results[*].metadata.title  yes     Keys.md" in done.out
    assert "no heading_path is mapped" in done.out


def test_an_mcp_server_that_is_started(root: Path) -> None:
    """From a command to a configuration in which the notes' directory is a placeholder, and one parsed answer."""
    (root / "notes" / "work").mkdir()
    (root / "notes" / "work" / "Keys.md").write_text("# Keys\n\nThe spare key is under the mat.\n")
    command = f"{sys.executable} -S {DATA.parent / 'fakes' / 'mcp_server.py'} notes"
    done = raggate(root, "init", "--stdio", command, "--vault", "notes", "--question", "spare key")
    assert done.code == 0, done.out + done.err
    written = (root / "raggate.yml").read_text()
    assert "'{vault.notes}'], stdio: true}}" in written
    assert len(written.splitlines()) <= 10
    assert "heading_path  hits[*].headings" in done.out
    assert "this configuration can be measured (exit 0)" in done.out
    assert "`api.url` is an API that runs already" not in done.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--vault", "notes"), "--vault is for --probe, --stdio and --preset"),
        (("--question", "x"), "--question, --map, --header, --tool, --graphql, --body and --health are for --probe"),
        (("--preset", "opensarch"), "did you mean 'opensearch'?"),
        (("--preset", "r2r", "--probe", "http://127.0.0.1:1/v3"), "expected the address without a path"),
        (("--preset", "r2r", "--probe", "http://169.254.169.254"), "cloud metadata address"),
        (("--probe", "http://127.0.0.1:1/x", "--vault", "nowhere"), "--vault: nowhere: no such directory"),
        (("--probe", "http://127.0.0.1:1/x", "--vault", ".."), "is not inside"),
        (("--probe", "http://127.0.0.1:1/x", "--header", "X"), "--header: expected 'Name: value'"),
        (("--probe", "http://127.0.0.1:1/x", "--header", "X-Key: s3cret"), "expected the name of a variable"),
        (("--probe", "http://127.0.0.1:1/x", "--header", "X-Key: {env.NOT_SET}"), "NOT_SET, which --header.X-Key"),
        (("--probe", "http://127.0.0.1:1/x", "--header", "X-Key: {env.GITHUB_TOKEN}"), "not the runner's"),
        (("--probe", "http://127.0.0.1:1/x", "--header", "Host: evil"), "that raggate does not set"),
        (("--preset", "r2r", "--probe", "http://127.0.0.1:1", "--map", "id=x"), "are not for --preset"),
        (("--stdio", "x", "--probe", "http://127.0.0.1:1"), "--stdio starts an MCP server"),
        (("--stdio", "x 'y"), "--stdio: No closing quotation"),
        (("--stdio", " "), "--stdio: expected a command"),
        (("--stdio", "no-such-program-here"), "no command 'no-such-program-here' on PATH"),
        (("--probe", "http://127.0.0.1:1/x", "--body", "{"), "--body: unexpected end of data at column 2"),
        (("--probe", "http://127.0.0.1:1/x", "--body", "[1]"), "--body: expected a JSON object"),
        (("--probe", "http://127.0.0.1:1/x", "--body", '{"q": "key"}'), "--body: expected {question} in it"),
        (("--probe", "http://127.0.0.1:1/x", "--body", '{"q": "{question}{mode}"}'), "--body: expected no {mode}"),
        (("--probe", "http://127.0.0.1:1/x", "--health", "up"), "--health: expected a path such as /livez"),
        (("--stdio", "x", "--body", '{"q": "{question}"}'), "--body and --health are not for it"),
        (("--preset", "r2r", "--probe", "http://127.0.0.1:1", "--health", "/up"), "are not for --preset"),
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
