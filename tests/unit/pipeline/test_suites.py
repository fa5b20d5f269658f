"""Suites of one request: what tells them apart, and how each ends without a verdict."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from checkouts import commit_all, git, write_files
from raggate.base.errors import CannotTell, UsageError
from raggate.config.overrides import Overrides
from raggate.inputs.suite_list import SuiteFile
from raggate.models.waiver import WaiverStatus
from raggate.pipeline import suites
from raggate.pipeline.request import Request, RunFailed, Voice
from tables import each_row


def listed(*names: str) -> list[SuiteFile]:
    """Return suites of these names."""
    return [SuiteFile(config=f"{name}.yml", suite=name) for name in names]


def test_each_suite_has_a_file_of_its_own() -> None:
    """The name of the suite stands for `{suite}`, and a configuration without one for its path."""
    files = suites.reports_of(["junit={suite}.xml"], listed("a", "services/b/raggate.yml"), "--report")
    assert [[*each.formats] for each in files.values()] == [[Path("a.xml")], [Path("services-b-raggate.yml.xml")]]


def test_two_suites_never_write_one_file() -> None:
    """A report of one suite would be replaced by that of another: refused, where there are any reports."""
    same = listed("services/b", "services-b")
    with pytest.raises(UsageError, match="two suites would write the same file"):
        suites.reports_of(["junit={suite}.xml"], same, "--report")
    assert [*suites.reports_of([], same, "--report")] == ["services/b", "services-b"]


NOTES = SuiteFile(config="raggate.yml", suite="notes")
WAIVER = WaiverStatus(
    metric="hit_at_5", case=None, mode=None, owner="ada", reason="r", expires="2030-01-01", state="active", days_left=2
)


def test_an_end_with_an_error() -> None:
    """An error is shown with its words, the suite that the run knows, and the waivers that stand if a run has begun."""
    error = RunFailed(CannotTell("not ready", hint="Look.", log=("x",)), suite="small", waivers=(WAIVER,))
    outcome = suites.ended(NOTES, 3, error)
    failure = outcome.reason
    assert (failure.label, failure.exit_code, failure.lines) == ("cannot tell", 3, ("not ready",))
    assert (failure.hint, failure.log, failure.suite, failure.waivers) == ("Look.", ("x",), "small", (WAIVER,))
    assert (outcome.suite, outcome.error) == ("small", error)
    failure = suites.ended(NOTES, 2, UsageError("bases")).reason
    assert (failure.exit_code, failure.lines, failure.suite, failure.waivers) == (2, ("bases",), "notes", ())


@each_row(("code", "words"), [(130, "was cancelled"), (70, "is a bug")])
def test_an_end_without_a_word(code: int, words: str) -> None:
    """If nothing was said, the exit code says what there is to say."""
    assert words in " ".join(suites.ended(NOTES, code, None).reason.lines)


CONFIG = """\
suite: a
golden: golden.jsonl
vault: {notes: vault}
api: {container: {build: {context: api}, port: 80}, services: {rerank: {build: {context: rerank}}}}
paths: [src, ../../libs/search]
"""
FILES = {
    "services/a/raggate.yml": CONFIG,
    "services/a/golden.jsonl": "{}\n",
    "services/a/vault/n.md": "# N\n",
    "services/a/api/Dockerfile": "FROM scratch\n",
    "services/a/rerank/Dockerfile": "FROM scratch\n",
    "services/a/src/main.go": "package main\n",
    "services/b/main.go": "package main\n",
    "libs/search/rank.go": "package search\n",
    "libs/other/x.go": "package other\n",
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A committed repository with a suite and a library that it uses, of which each test gets a copy."""
    root = tmp_path_factory.mktemp("template")
    write_files(root, FILES)
    commit_all(root)
    return root


@pytest.fixture
def repository(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return such a repository, as the working directory."""
    shutil.copytree(template, tmp_path, symlinks=True, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def reason(
    said: list[str] | None = None, *, against: str | None = "HEAD", head: str | None = None, build: str | None = None
) -> str:
    """Return why the suite is not run; empty where it is."""
    asked = Request(
        config_file=Path("services/a/raggate.yml"),
        environment={},
        voice=Voice(say=[].append if said is None else said.append),
        overrides=Overrides(api_build=build),
        against=against,
        head=head,
    )
    return suites.not_run(asked)


def committed(root: Path) -> None:
    """Commit everything."""
    git(root, "add", "-A")
    git(root, "commit", "-qm", "change")


def append(name: str) -> Callable[[Path], None]:
    """Change a file."""
    return lambda root: (root / name).write_text((root / name).read_text() + "\n") and None


def move(name: str, to: str) -> Callable[[Path], None]:
    """Rename a file."""
    return lambda root: (root / name).rename(root / to) and None


def baseline(root: Path) -> None:
    """Add a baseline where the suite has none."""
    (root / "services/a/baselines").mkdir()
    (root / "services/a/baselines/a.json").write_text("{}")


def forced(root: Path) -> None:
    """Commit a file that the change itself makes git ignore."""
    (root / ".gitignore").write_text("*.so\n")
    (root / "services/a/src/evil.so").write_text("x")
    git(root, "add", "-f", "services/a/src/evil.so")


def submodule(root: Path) -> None:
    """Put another repository, by its commit, among the sources."""
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},services/a/src/vendor")


CONCERNING: dict[str, Callable[[Path], None]] = {
    "a file below a path": append("services/a/src/main.go"),
    "a file beside the service": append("libs/search/rank.go"),
    "its configuration": append("services/a/raggate.yml"),
    "its questions": append("services/a/golden.jsonl"),
    "its notes": append("services/a/vault/n.md"),
    "what its image is built from": append("services/a/api/Dockerfile"),
    "what the image of a service is built from": append("services/a/rerank/Dockerfile"),
    "how git checks files out": lambda root: (root / ".gitattributes").write_text("* eol=crlf\n") and None,
    "how git checks a library out": lambda root: (root / "libs/.gitattributes").write_text("* eol=crlf\n") and None,
    "a file that is deleted": lambda root: (root / "services/a/src/main.go").unlink(),
    "a file that moves away": move("libs/search/rank.go", "libs/other/rank.go"),
    "a file that moves there": move("services/b/main.go", "services/a/src/b.go"),
    "a new baseline": baseline,
    "a file that is ignored and committed": forced,
    "another commit of a submodule": submodule,
    "a mode": lambda root: (root / "services/a/src/main.go").chmod(0o755),
}


@pytest.mark.parametrize("name", CONCERNING)
def test_what_concerns_a_suite(repository: Path, name: str) -> None:
    """A change of anything that the base names, committed, runs the suite."""
    CONCERNING[name](repository)
    if name != "another commit of a submodule":
        git(repository, "add", "-A")
    git(repository, "commit", "-qm", "change")
    assert reason(against="HEAD~1") == ""


def test_what_does_not(repository: Path) -> None:
    """A change of anything else does not, and the reason names the paths and the commit."""
    base = git(repository, "rev-parse", "HEAD")
    append("services/b/main.go")(repository)
    append("libs/other/x.go")(repository)
    committed(repository)
    told = f"nothing under services/a/src, libs/search differs from {base[:12]}"
    assert reason(against=base) == reason(against=base, head=git(repository, "rev-parse", "HEAD")) == told


def test_what_is_not_committed_counts(repository: Path) -> None:
    """On a laptop a change concerns the suite before it is committed."""
    assert reason().startswith("nothing")
    append("libs/search/rank.go")(repository)
    assert reason() == ""


def test_the_commit_under_test_counts_beside_the_checkout(repository: Path) -> None:
    """Where a job has checked out the base, as beside an image that is built elsewhere, the change still runs it."""
    base = git(repository, "rev-parse", "HEAD")
    append("libs/search/rank.go")(repository)
    committed(repository)
    head = git(repository, "rev-parse", "HEAD")
    git(repository, "checkout", "-q", base)
    assert reason(against=base).startswith("nothing")
    assert reason(against=base, head=head) == ""


def test_the_paths_are_those_of_the_base(repository: Path) -> None:
    """A change that takes a path out of its own configuration, or moves that away, is measured."""
    base = git(repository, "rev-parse", "HEAD")
    config = repository / "services/a/raggate.yml"
    config.write_text(CONFIG.replace("src, ../../libs/search", "api"))
    append("libs/search/rank.go")(repository)
    assert reason(against=base) == ""
    config.unlink()
    assert reason(against=base) == ""


@pytest.mark.parametrize("paths", ["[]", "[gone]", "[../../../elsewhere]"])
def test_what_is_not_certain_runs_it(repository: Path, paths: str) -> None:
    """Without paths, and where one of them is nowhere, so that nothing could change there, every change runs it."""
    (repository / "services/a/raggate.yml").write_text(CONFIG.replace("[src, ../../libs/search]", paths))
    committed(repository)
    said: list[str] = []
    assert reason(said) == ""
    assert [line.partition(",")[0] for line in said] == ([] if paths == "[]" else [f"paths: there is no {paths[1:-1]}"])


LEADS = "is a link that leads elsewhere"


@pytest.mark.parametrize(
    ("link", "leads", "said"),
    [
        ("src/out", "../../../libs/other", f"src/out {LEADS}"),
        ("src/out", "/usr/lib", f"src/out {LEADS}"),
        ("src/in/out", "../main.go", ""),
        ("src/out", "main.go", ""),
        ("src/in/out", "there/../../x", f"src/in/out {LEADS}"),
        ("src", "src", f"src {LEADS}"),
        ("src", "../../libs/other", f"src {LEADS}"),
        # what an image is built from
        ("api", "../b", f"api {LEADS}"),
        ("away", "../../services/b", "there is no away/api"),
        ("api/LICENSE", "../../../LICENSE", ""),
    ],
)
def test_links_to_elsewhere_run_it(repository: Path, link: str, leads: str, said: str) -> None:
    """What a link leads to has no part in the id of a path, so each that leaves the path makes every change run it."""
    suite = repository / "services/a"
    if link == "away":
        (suite / "raggate.yml").write_text(CONFIG.replace("context: api", "context: away/api"))
    if link in {"src", "api"}:
        shutil.rmtree(suite / link)
    (suite / link).parent.mkdir(exist_ok=True)
    (suite / link).symlink_to(leads)
    committed(repository)
    lines: list[str] = []
    assert (reason(lines) == "") is bool(said)
    assert lines == ([f"paths: {said}, so every change runs suite a"] if said else [])


def test_another_repository_among_the_files_runs_it_by_hand(repository: Path) -> None:
    """What somebody edits in a submodule or a clone shows in no id of this repository."""
    clone = repository / "services/a/src/clone"
    clone.mkdir()
    git(clone, "init", "-q")
    (clone / "main.go").write_text("package main\n")
    said: list[str] = []
    assert reason(said) == ""
    assert said == ["paths: src/clone is a repository of its own, so every change runs suite a"]


def test_the_directory_that_a_flag_builds_from_counts(repository: Path) -> None:
    """`--api-build` stands in place of the configured directory."""
    base = git(repository, "rev-parse", "HEAD")
    append("services/b/main.go")(repository)
    (repository / "services/a/other").mkdir()
    (repository / "services/a/other/Dockerfile").write_text("FROM scratch\n")
    committed(repository)
    assert reason(against=base).startswith("nothing")
    assert reason(against=base, build="other") == ""


def test_what_has_no_other_side_is_run(repository: Path) -> None:
    """A push, a schedule, a revision that cannot be read and a suite without questions leave nothing out."""
    assert reason(against=None) == reason(against="nowhere") == ""
    (repository / "services/a/golden.jsonl").unlink()
    committed(repository)
    assert reason() == ""
