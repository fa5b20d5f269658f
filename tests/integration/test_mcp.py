"""raggate gating a search tool of an MCP server over either transport, from the configuration to the verdict."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from project import Project, make_small_project
from raggate.service import ask as service_ask
from stored_rows import plain_rows

SERVER = Path(__file__).parents[1] / "fakes" / "mcp_server.py"
CONFIG = """\
suite: small
golden: golden.jsonl
vault: {{personal: vault/personal, work: vault/work}}
api:
  command: {{run: [{python}, -S, {server}, vault, {port}], pass_env: [PATH, FAKE_BEHAVIOUR]}}
  stdio: {stdio}
  ready: {{timeout: 20, settle: 0.05}}
ask:
  adapter: mcp
  timeout: 20
  concurrency: 4
  tool: search_notes
  body: {{query: "{{question}}", limit: "{{k}}", vaults: "{{vaults}}"}}
  response:
    chunks: {{list: hits, rel_path: path, path_prefix: "{{vault}}/", heading_path: headings, text: text}}
"""
TRANSPORTS = {"stdio": {"stdio": "true", "port": ""}, "http": {"stdio": "false", "port": '"{port}"'}}


SECRET = "sk-0123456789abcdef"  # noqa: S105 - invented


def configured(root: Path, transport: str) -> Project:
    """Return a repository with a gate on the server."""
    project = make_small_project(root)
    text = CONFIG.format(python=sys.executable, server=SERVER, **TRANSPORTS[transport]).replace(", ]", "]")
    project.config.write_text(text)
    return project


def gated(root: Path, transport: str) -> Project:
    project = configured(root, transport)
    project.promote()
    return project


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_from_green_to_red_and_to_cannot_tell(mcp_project: dict[str, Project], transport: str) -> None:
    """The same server is green, one that lost a note is a regression that names it, one that fails cannot be told."""
    project = mcp_project[transport]
    same = project.command("check")
    assert same.code == 0, same.out + same.err

    lost = project.command("check", FAKE_BEHAVIOUR="lose:anchovy")
    assert lost.code == 1, lost.out + lost.err
    assert "anchovy-first" in lost.out

    failing = project.command("check", FAKE_BEHAVIOUR="fail_after:3")
    assert failing.code == 3
    assert "the tool 'search_notes' says that it failed: the index is corrupt" in failing.out + failing.err


@pytest.mark.parametrize(
    ("transport", "who"), [("http", "headers: {X-User: personal}"), ("stdio", "vaults: [personal]")]
)
def test_who_asks_sees_no_more_than_they_may(tmp_path: Path, transport: str, who: str) -> None:
    """A server that shows everybody's notes breaks the invariant, whether it is told who asks by header or by vault."""
    project = configured(tmp_path, transport)
    project.edit("  tool:", f"  principals: {{anna: {{{who}, sees: [personal]}}}}\n  tool:")
    # a run in which somebody sees more is not promoted
    project.promote()
    assert project.command("check", FAKE_BEHAVIOUR="leaks").code == 4
    assert "principals_isolated" in [finding["invariant"] for finding in project.verdict()["invariants"]]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_secret_that_the_server_tells_is_hidden(
    tmp_path: Path, transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it prints of a header, or of its environment, stands in no report, log or message."""
    project = configured(tmp_path, transport)
    if transport == "http":
        project.edit("  tool:", '  headers: {X-Key: "{env.NOTES_KEY}"}\n  tool:')
    else:
        project.edit("FAKE_BEHAVIOUR]", "FAKE_BEHAVIOUR, NOTES_KEY]")
    monkeypatch.setattr(service_ask, "GIVE_UP_AFTER", 3)
    done = project.command("run", NOTES_KEY=SECRET, FAKE_BEHAVIOUR="fail_after:2,tell_key")
    plain_rows(project.last_run())
    left = [path for path in project.last_run().rglob("*") if path.is_file()]
    assert "the index is corrupt***" in "".join(path.read_text(errors="replace") for path in left)
    assert [path.name for path in left if SECRET in path.read_text(errors="replace")] == []
    assert SECRET not in done.out + done.err


@pytest.fixture(scope="module")
def mcp_project(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Project]:
    """A repository for each transport, gated and promoted once; who edits it undoes that."""
    return {transport: gated(tmp_path_factory.mktemp(transport), transport) for transport in TRANSPORTS}
