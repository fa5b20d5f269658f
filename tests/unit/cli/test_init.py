"""What `raggate init` writes for those who review, and what it refuses to write."""

from __future__ import annotations

import json
import subprocess
from functools import partial
from importlib.resources import files
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from raggate.base.errors import UsageError
from raggate.cli.init import PLACEHOLDER, WORKFLOW, write_example
from raggate.cli.main import cli
from raggate.config import schema
from raggate.config.json_schema import FILE
from raggate.config.overrides import Overrides
from tables import each_row

OWNERS = ".github/CODEOWNERS"
SHIPPED = json.loads(files("raggate.config").joinpath(FILE).read_bytes())


@pytest.mark.parametrize("owners", ["@someone", "@org/gate-keepers", "@org/team @someone"])
def test_owners_review_all_that_judges(tmp_path: Path, owners: str) -> None:
    """CODEOWNERS gives every file that init writes, itself and the baseline to be, to the owners and to nobody else."""
    written = write_example(tmp_path, owners=owners)
    rules = [line.split(maxsplit=1) for line in (tmp_path / OWNERS).read_text().splitlines() if line[0] != "#"]
    assert {names for _, names in rules} == {owners}
    for path in (*written, tmp_path / "baselines" / "notes.json"):
        place = f"/{path.relative_to(tmp_path)}"
        assert any(place == rule or (rule.endswith("/") and place.startswith(rule)) for rule, _ in rules), place


@pytest.mark.parametrize("owners", ["someone", "@", "@org/", "@org/team,@b", "@a\n/golden/ @evil", "@a  @b", "OWNERS"])
def test_owners_that_github_would_not_ask(tmp_path: Path, owners: str) -> None:
    """What is no user and no team is refused, in one message, and nothing is written."""
    with pytest.raises(UsageError, match="--owners: expected @user or @organisation/team"):
        write_example(tmp_path, owners=owners)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("place", [OWNERS, "CODEOWNERS", "docs/CODEOWNERS"])
def test_owners_that_are_there_stay_in_force(tmp_path: Path, place: str) -> None:
    """Where a repository has owners anywhere that GitHub looks, no other file is written that would override them."""
    there = tmp_path / place
    there.parent.mkdir(exist_ok=True)
    there.write_text("* @org/all\n")
    with pytest.raises(UsageError, match=f"{place}: exists already"):
        write_example(tmp_path, owners="@org/team")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [there]
    assert tmp_path / OWNERS not in write_example(tmp_path)


SUPPORT = """\
suite: support
golden: our questions/support.jsonl
vault: {help: help}
api: {url: "http://localhost:9"}
ask: {modes: [hybrid], retrieval_only: false}
judges:
  cassette: graded/replies.jsonl
  canary: people/graded.jsonl
  models: [{model: m, base_url: "http://localhost:9/v1", build: "1"}]
"""


def test_owners_review_every_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a raggate.yml `--owners` writes CODEOWNERS alone, for what judges each suite, or names missing lines."""
    monkeypatch.chdir(tmp_path)
    write_example(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    team = Path("services/support")
    team.mkdir(parents=True)
    (team / "raggate.support.yml").write_text(SUPPORT)
    (team / "raggate.broken.yaml").write_text("suite: [")
    init = partial(CliRunner().invoke, cli, ["init", "--owners", "@org/team"])
    assert init().output == "wrote .github/CODEOWNERS\n"
    places = [line.rpartition(" ")[0].strip() for line in Path(OWNERS).read_text().splitlines() if line[0] != "#"]
    own = [
        "raggate.broken.yaml",
        "raggate.support.yml",
        "our\\ questions/",
        "help/",
        "graded/",
        "people/",
        "baselines/",
    ]
    top = ["/.github/", "/.dockerignore", "/raggate.yml", "/golden/", "/baselines/"]
    assert places == [*top, *(f"/services/support/{name}" for name in own)]
    assert {path: path.read_bytes() for path in before} == before
    assert init().output.startswith(f"{OWNERS} has a line for every")
    text = Path(OWNERS).read_text()
    Path(OWNERS).write_text("".join(line for line in text.splitlines(keepends=True) if "/help/" not in line))
    error = init().exception
    assert isinstance(error, UsageError)
    assert error.hint == "Add these lines to it:\n  /services/support/help/ @org/team"


def test_editors_know_the_schema(tmp_path: Path) -> None:
    """The first line of raggate.yml names a schema: a copy beside it, or that of the commit that the action is of."""
    write_example(tmp_path)
    name = (tmp_path / "raggate.yml").read_text().splitlines()[0].partition("$schema=")[2]
    schema = json.loads((tmp_path / name).read_bytes())
    assert schema == SHIPPED
    assert schema["$id"] == "urn:raggate:schema:raggate.yml:1"
    write_example(tmp_path, action=f"me/raggate@{'a' * 40}", force=True)
    line = (tmp_path / "raggate.yml").read_text().splitlines()[0]
    place = f"me/raggate/{'a' * 40}/src/raggate/config/raggate.schema.json"
    assert line == f"# yaml-language-server: $schema=https://raw.githubusercontent.com/{place}"


@pytest.mark.parametrize(
    ("there", "advice"),
    [
        (None, ""),
        ("*.log\n", "Add to .dockerignore: golden, baselines and .raggate, so that"),
        ("/golden/\n.raggate\n", "Add to .dockerignore: baselines, so that"),
        ("golden\nbaselines\n.raggate\n", ""),
    ],
)
def test_what_the_image_must_not_carry_is_named(tmp_path: Path, there: str | None, advice: str) -> None:
    """Of a .dockerignore that is there is told what it lacks, and nothing of one that lacks nothing."""
    if there is not None:
        (tmp_path / ".dockerignore").write_text(there)
    said = CliRunner().invoke(cli, ["init", str(tmp_path)], obj={}).output
    assert advice in said
    assert ("Add to" in said) is bool(advice)


def test_files_that_are_only_read_by_people_are_ignored(tmp_path: Path) -> None:
    """Git ignores proposals and undecided questions from the start; a list of your own stays."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    write_example(tmp_path)
    names = [f"golden/eval_set{ending}.jsonl" for ending in ("", ".labels", ".proposals", ".undecided")]
    command = ["git", "-C", str(tmp_path), "check-ignore", *names]
    ignored = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert ignored == names[2:]
    own = tmp_path / "golden" / ".gitignore"
    own.write_text("mine\n")
    write_example(tmp_path, force=True)
    assert own.read_text() == "mine\n"


MAPPED = (
    "ask: {adapter: mapped, body: {q: '{question}'}, response: {chunks: {list: hits, text: text, rel_path: path}}}\n"
)
HEAD = "vault: {notes: golden/vault/notes}\n"
FOUND = {
    "the commented example": None,
    "an address": f"{HEAD}api: {{url: 'http://127.0.0.1:9000'}}\n",
    "a container": f"{HEAD}api: {{container: {{build: {{context: .}}, port: 9000}}}}\n",
    "a container over stdio": f"{HEAD}api: {{container: {{build: {{context: .}}}}, stdio: true}}\n{MAPPED}",
    "a program": f"{HEAD}api: {{command: {{run: [search]}}, stdio: true}}\n{MAPPED}",
    "a command": f"{HEAD}api: {{command: {{run: [serve, '{{port}}']}}}}\n",
    **{
        f"the preset {item.name}": HEAD + item.read_text(encoding="utf-8")
        for item in files("raggate.cli").joinpath("presets").iterdir()
    },
}


@each_row("found", FOUND)
def test_the_workflow_can_run_what_was_found(tmp_path: Path, found: str) -> None:
    """An image is built and handed in where the configuration takes one, and the action never gets a command."""
    write_example(tmp_path, config=FOUND[found], force=True)
    settings = schema.load((tmp_path / "raggate.yml").read_bytes(), "raggate.yml")
    (job,) = yaml.safe_load((tmp_path / WORKFLOW).read_text())["jobs"].values()
    scripts = "\n".join(step.get("run", "") for step in job["steps"])
    given = [step.get("with", {}) for step in job["steps"] if step.get("uses") == PLACEHOLDER]
    assert ("docker build" in scripts) == (settings.api.container is not None)
    assert ('raggate" check --against' in scripts) == (settings.api.command is not None)
    if settings.api.command is not None:
        assert given == []
        return
    (inputs,) = given
    Overrides(api_image=inputs.get("api-image"), contained=True).apply(settings)
    assert ("api-image" in inputs) == (settings.api.container is not None)
