"""Workflows, the action, the Dockerfiles and every example of a workflow pass the linters that apply to them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from raggate.cli.init import PLACEHOLDER
from tables import each_row

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
TEMPLATES = ROOT / "src/raggate/cli/templates"
WORKFLOWS = [
    *sorted((ROOT / ".github" / "workflows").glob("*.yml")),
    *(TEMPLATES / f"{name}.yml" for name in ("rag-gate-job", "rag-gate")),
]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
DOCKERFILES = [ROOT / "Dockerfile", ROOT / "examples/notes-api/Dockerfile"]
BLOCK = re.compile(r"^```ya?ml\n(.*?)^```", re.MULTILINE | re.DOTALL)
MAY_WRITE = {
    "rag-gate-main": {"issues"},
    "rag-gate-night": {"issues"},
    "rag-gate": {"pull-requests"},
    "rag-gate-sharded": {"pull-requests"},
    "rag-gate-report": {"pull-requests"},
    "rag-gate-command": {"actions", "pull-requests"},
    "promote-baseline": {"contents", "pull-requests"},
    "release": {"attestations", "contents", "id-token", "packages"},
    "codeql": {"security-events"},
    "scorecard": {"id-token", "security-events"},
}
IGNORES = re.compile(r"(?:zizmor: ignore\[[^]]+\]|hadolint ignore=\S+)(.*)")


def filled(text: str) -> str:
    """Fill in the one thing that a workflow for other repositories leaves open, as `raggate init --action` does."""
    owner, _, ref = PLACEHOLDER.partition("@")
    return re.sub(rf"{owner}(\S*)@{ref}", rf"someone/raggate\1@{'0' * 40}", text)


def examples() -> dict[str, str]:
    """Return every workflow that stands in the documentation: where -> text, filled in."""
    found = {}
    for page in PAGES:
        for number, block in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")), 1):
            if isinstance(loaded := yaml.load(block, yaml.CSafeLoader), dict) and "jobs" in loaded:
                found[f"{page.name} {number}"] = filled(block)
    return found


def run(*words: str | Path, cwd: Path = ROOT) -> None:
    """Run a linter of this environment and fail with its output."""
    program = BIN / str(words[0])
    done = subprocess.run(
        [program if program.exists() else str(words[0]), *words[1:]],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a repository of everything that is or shows a workflow, so that each linter starts once."""
    root = tmp_path_factory.mktemp("repository")
    target = root / ".github" / "workflows"
    target.mkdir(parents=True)
    (root / ".git").mkdir()  # without it actionlint looks for no action in the repository
    for name in ("action.yml", "Dockerfile"):
        shutil.copy(ROOT / name, root)
    for path in WORKFLOWS:
        (target / f"{path.parent.name}-{path.name}").write_text(filled(path.read_text()))
    for number, text in enumerate(examples().values(), 1):
        (target / f"example-{number}.yml").write_text(text)
    (updates,) = BLOCK.findall((ROOT / "docs/upgrades.md").read_text(encoding="utf-8"))
    (root / ".github" / "dependabot.yml").write_text(updates)
    return root


def test_documentation_shows_a_workflow() -> None:
    """At least the example of the page of the action is found, so that the tests below test something."""
    assert any(place.startswith("action.md") for place in examples())


def test_the_page_shows_what_init_writes() -> None:
    """The workflow of docs/action.md is that of the template, and leaves one thing open, in one place."""
    text = (ROOT / "src/raggate/cli/templates/rag-gate.yml").read_text()
    assert text.count(PLACEHOLDER) == 1
    assert filled(text.partition("\n")[2]) == examples()["action.md 1"]


def test_the_page_requires_the_check_that_init_makes() -> None:
    """The name that docs/required-check.md says to require is that of the job in the workflow of init."""
    loaded = yaml.load(WORKFLOWS[-1].read_text(), yaml.CSafeLoader)
    (job,) = loaded["jobs"].values()
    section = (
        (ROOT / "docs/required-check.md").read_text().partition("## 6. Require the check\n")[2].partition("\n## ")[0]
    )
    named = set(re.findall(r"`([A-Z][^`]*)`", section))
    assert {name.partition(" (")[0] for name in named} == {job["name"]}


def test_a_gate_names_its_branches_and_runs_again_when_they_change() -> None:
    """Every workflow that gates pull requests names their base, is run again when it changes, and skips no job."""
    gates = 0
    for text in (*(filled(path.read_text()) for path in WORKFLOWS), *examples().values()):
        loaded: dict[Any, Any] = yaml.load(text, yaml.CSafeLoader)
        events = loaded.get("on", loaded.get(True))
        if loaded["name"] != "rag-gate":
            continue
        gates += 1
        assert events["pull_request"]["branches"] == events["merge_group"]["branches"] == ["main"]
        assert set(events["pull_request"]["types"]) == {"opened", "synchronize", "reopened", "edited"}
        assert all("if" not in job for job in loaded["jobs"].values())
    assert gates >= 3


_OWN_ACTION = re.compile(r"\./$|\./\.raggate-action|\S+/raggate@")


def test_the_run_directory_is_kept() -> None:
    """Each workflow that measures keeps the run directory, unless it was cancelled, by a version that GitHub takes."""
    kept = 0
    for text in (*(filled(path.read_text()) for path in WORKFLOWS), *examples().values()):
        assert not re.search(r"upload-artifact@\S+ # v[0-3]\b", text)
        loaded: dict[str, Any] = yaml.load(text, yaml.CSafeLoader)
        for job in loaded["jobs"].values():
            steps = [(str(step.get("uses")), step.get("with", {}), step) for step in job.get("steps", ())]
            keeping = [step for _, given, step in steps if "run-directory" in str(given.get("path"))]
            assert all("!cancelled()" in step["if"] for step in keeping)
            measuring = [given.get("command", "check") for uses, given, _ in steps if _OWN_ACTION.match(uses)]
            gates = loaded["name"].startswith(("rag-gate", "promote"))
            assert keeping or not gates or not {"check", "promote"} & {*measuring}, (loaded["name"], measuring)
            kept += len(keeping)
    assert kept >= 5


def test_schemas(repository: Path) -> None:
    """Every workflow, the action and the forms of issues follow the schemas of GitHub."""
    workflows = sorted((repository / ".github" / "workflows").iterdir())
    assert len(workflows) >= 4
    forms = ROOT / ".github" / "ISSUE_TEMPLATE"
    files = {
        "github-workflows": workflows,
        "github-actions": [repository / "action.yml"],
        "dependabot": [folder / ".github" / "dependabot.yml" for folder in (ROOT, repository)],
        "github-issue-forms": [forms / "bug.yml", forms / "feature.yml"],
        "github-issue-config": [forms / "config.yml"],
    }
    words = [["--builtin-schema", f"vendor.{schema}", *map(str, paths)] for schema, paths in files.items()]
    # in one process: loading the program takes longer than all it does
    code = "for words in {}: code = check_jsonschema.main(words, standalone_mode=False); assert not code, words"
    run("python", "-c", f"import check_jsonschema\n{code.format(words)}")


def test_no_audit_finds_anything(repository: Path) -> None:
    """The strictest persona of zizmor has nothing to say about any workflow, the action, or an example."""
    run("zizmor", "--offline", "--no-config", "--persona=auditor", "--quiet", ".", cwd=repository)


@each_row("path", DOCKERFILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_dockerfiles(path: Path) -> None:
    """The linter of Dockerfiles has nothing to say."""
    run("hadolint", "--no-color", path)


def test_dockerfile_relies_on_nothing_the_runner_overrides() -> None:
    """The final stage sets no user and no directory, and its entry point is a list that isolates Python."""
    final = (ROOT / "Dockerfile").read_text().rpartition("\nFROM ")[2]
    assert not re.search(r"^(USER|WORKDIR|VOLUME)\b", final, re.MULTILINE)
    (entry,) = re.findall(r"^ENTRYPOINT (.*)$", final, re.MULTILINE)
    assert yaml.load(entry, yaml.CSafeLoader)[1:] == ["-I", "-u", "-X", "utf8", "-m", "raggate.action.main"]


def test_actions_are_pinned_and_tokens_small() -> None:
    """Every foreign action is named by its full hash, and a workflow may write only what it is there for."""
    for text in (*(filled(path.read_text()) for path in WORKFLOWS), *examples().values()):
        for name in re.findall(r"uses: (\S+)", text):
            assert name in {"./", "./.raggate-action"} or re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", name), name
        loaded: dict[str, Any] = yaml.load(text, yaml.CSafeLoader)
        assert loaded["permissions"] in ({}, {"contents": "read"})
        for job in loaded["jobs"].values():
            written = {scope for scope, level in job.get("permissions", {}).items() if level != "read"}
            assert written <= MAY_WRITE.get(loaded["name"], set())
            # a job that calls a workflow has none of its own, and shards take as long as their caller says
            assert job.get("timeout-minutes", 0) in {*range(31), "${{ inputs.minutes }}"}
            assert "uses" in job or job["timeout-minutes"]


def test_nothing_is_tagged_that_did_not_run() -> None:
    """A release is tagged only after the joined, signed image has gated the example by digest on every architecture."""
    jobs: dict[str, Any] = yaml.load((ROOT / ".github" / "workflows" / "release.yml").read_text(), yaml.CSafeLoader)[
        "jobs"
    ]
    built = [place["runner"] for place in jobs["build"]["strategy"]["matrix"]["include"]]
    assert jobs["try"]["strategy"]["matrix"]["runner"] == built
    assert {"contents", "packages"} == {scope for scope, level in jobs["try"]["permissions"].items() if level == "read"}
    assert "try" in jobs["publish"]["needs"]
    commands = {name: " ".join(str(step.get("run", "")) for step in job["steps"]) for name, job in jobs.items()}
    assert [name for name, text in commands.items() if "refs/tags/" in text] == ["publish"]
    assert [name for name, text in commands.items() if "cosign sign" in text] == ["sign"]
    attested = [name for name, job in jobs.items() if any("attest@" in str(step.get("uses")) for step in job["steps"])]
    assert attested == ["build", "sign", "publish"]
    for name in attested:
        assert jobs[name]["permissions"]["id-token"] == "write"


def test_an_action_is_the_same_release_everywhere() -> None:
    """Workflows, template and documentation name one commit of each foreign action, and say which release it is."""
    pins: dict[str, set[str]] = {}
    for path in (*WORKFLOWS, *PAGES):
        for owner, repository, pin in re.findall(r"uses: ([\w.-]+)/([\w.-]+)[\w./-]*@(\S+.*)", path.read_text()):
            if f"{owner}/{repository}@" not in PLACEHOLDER:
                pins.setdefault(f"{owner}/{repository}", set()).add(pin.strip())
    assert len(pins["actions/checkout"]) == 1
    for action, releases in pins.items():
        assert len(releases) == 1, (action, releases)
        assert re.fullmatch(r"[0-9a-f]{40} # v\d+\.\d+\.\d+", *releases), (action, releases)


@each_row("path", [*WORKFLOWS, *DOCKERFILES], ids=lambda path: str(path.relative_to(ROOT)))
def test_ignores_carry_a_reason(path: Path) -> None:
    """What a linter is told to ignore is explained in the same line."""
    for rest in IGNORES.findall(path.read_text()):
        assert len(rest.strip(" #")) > 10


def test_actionlint(repository: Path) -> None:
    """Every workflow and example passes actionlint and shellcheck; two false alarms are configured away."""
    assert (BIN / "actionlint").exists(), "`make check` builds actionlint into the virtual environment"
    config = ROOT / ".github" / "actionlint.yaml"
    assert sum(line.lstrip().startswith("- ") for line in config.read_text().splitlines()) == 2
    workflows = sorted((repository / ".github" / "workflows").iterdir())
    options = ("-no-color", "-config-file", config, "-shellcheck", BIN / "shellcheck")
    run("actionlint", *options, *workflows, cwd=repository)
