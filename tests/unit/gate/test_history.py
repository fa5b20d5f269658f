"""The history of a baseline from git: in order, across merges, and never stopped by a damaged version."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from builders import make_case_score, make_scorecard
from raggate.base.errors import UsageError
from raggate.gate import baseline, history
from raggate.models.history import History
from raggate.models.scorecard import OVERALL

Git = Callable[..., str]
NAME = "baselines/notes.json"


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """Make a repository in `tmp_path/repo` and give a function that runs git in it."""
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "A")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "a@example.org")
    root = tmp_path / "repo"
    root.mkdir()

    def run(*arguments: str, cwd: Path = root) -> str:
        done = subprocess.run(["git", *arguments], cwd=cwd, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    run("init", "--quiet", "--initial-branch=main")
    return run


@pytest.fixture
def root(git: Git, tmp_path: Path) -> Path:
    """Return the repository."""
    del git
    return tmp_path / "repo"


def stored(run_id: str, metric: str = "hit_at_5", **fields: object) -> bytes:
    scorecard = make_scorecard(make_case_score("q1", {metric: 1.0}), run_id=run_id, **fields)
    return baseline.write(scorecard, {"run_id": run_id})


def commit(git: Git, root: Path, content: bytes | None, name: str = NAME, day: int = 1, subject: str = "s") -> None:
    path = root / name
    if content is None:
        path.unlink()
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    git("add", "--all")
    git("commit", "--quiet", "--message", subject, f"--date=2026-01-{day:02}T12:00:00+02:00")


def told(root: Path, name: str = NAME, limit: int = 50) -> History:
    return history.revisions(root, name, limit=limit, cutoffs=[1, 3, 5, 10])


def runs(found: History) -> list[str]:
    return [one.baseline.scorecard.run_id if one.baseline else one.problem for one in found.revisions]


def test_order_and_facts(git: Git, root: Path) -> None:
    """The newest comes first, with commit, date in UTC, subject and values; other commits are not told."""
    commit(git, root, stored("a"), day=1, subject="First: ä <b>")
    first = git("rev-parse", "HEAD")
    (root / "other.md").write_text("x")
    git("add", "--all")
    git("commit", "--quiet", "--message", "other")
    commit(git, root, stored("b"), day=3)
    second = git("rev-parse", "HEAD")
    found = told(root)
    assert runs(found) == ["b", "a"]
    newest, oldest = found.revisions
    assert (newest.commit, oldest.commit) == (second, first)
    assert (oldest.stamp, oldest.subject) == ("2026-01-01T10:00:00Z", "First: ä <b>")
    assert oldest.baseline is not None
    assert oldest.baseline.scorecard.slices["hybrid"][OVERALL]["hit_at_5"].value == 1.0
    assert oldest.baseline.scorecard.cases == ()
    assert (found.more, found.shallow) == (False, False)


def test_limit(git: Git, root: Path) -> None:
    """At most so many versions are read, and that there are more is said."""
    for run_id in "abc":
        commit(git, root, stored(run_id))
    some, whole = told(root, limit=2), told(root, limit=3)
    assert (runs(some), some.more, runs(whole), whole.more) == (["c", "b"], True, ["c", "b", "a"], False)


def test_a_side_that_a_merge_did_not_take_is_not_told(git: Git, root: Path) -> None:
    """What a merge dropped was never the baseline of this branch; what a merge made itself was."""
    commit(git, root, stored("a"))
    git("switch", "--quiet", "--create", "side")
    commit(git, root, stored("dropped"))
    git("switch", "--quiet", "main")
    commit(git, root, stored("b"))
    git("merge", "--quiet", "--strategy=ours", "--message", "m", "side")
    assert runs(told(root)) == ["b", "a"]
    git("switch", "--quiet", "side")
    commit(git, root, stored("c"))
    git("switch", "--quiet", "main")
    git("merge", "--quiet", "--no-commit", "--strategy=ours", "side")
    commit(git, root, stored("merged"))
    assert runs(told(root))[0] == "merged"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(b"{", "not valid JSON", id="cut"),
        pytest.param(b'{"schema": "raggate/baseline/1"}', "damaged at", id="damaged"),
        pytest.param(None, "deleted by this commit", id="deleted"),
    ],
)
def test_what_cannot_be_read_is_listed(git: Git, root: Path, content: bytes | None, problem: str) -> None:
    """A damaged or deleted version is listed with its reason between those that can be read."""
    commit(git, root, stored("a"))
    commit(git, root, content)
    bad = git("rev-parse", "HEAD")
    commit(git, root, stored("b"))
    found = told(root)
    assert [one.commit for one in found.revisions][1] == bad
    newest, middle, oldest = runs(found)
    assert (newest, oldest) == ("b", "a")
    assert middle.startswith(problem)


def test_link_and_folder(git: Git, root: Path) -> None:
    """A link is read as what git stores, not as what it leads to, and a folder is no baseline."""
    (root / "secret.json").write_bytes(stored("secret"))
    (root / "baselines").mkdir()
    (root / NAME).symlink_to("../secret.json")
    git("add", "--all")
    git("commit", "--quiet", "--message", "link")
    (root / NAME).unlink()
    commit(git, root, b"x", name=f"{NAME}/inner.json")
    folder, link = runs(told(root))
    assert folder == "not a file in this commit"
    assert link.startswith("not valid JSON")


def test_cutoffs_of_then(git: Git, root: Path) -> None:
    """Metrics at a cut-off that is not configured any more are read too; nonsense in its place is ignored."""
    commit(git, root, stored("a", "hit_at_7", fingerprint={"cutoffs": [7, "x", True, -1, 10**9, None]}))
    commit(git, root, stored("b", "hit_at_7", fingerprint={"cutoffs": "7"}))
    without, with_it = (one.baseline for one in told(root).revisions)
    assert without is not None
    assert with_it is not None
    assert list(with_it.scorecard.slices["hybrid"][OVERALL]) == ["hit_at_7"]
    assert list(without.scorecard.slices["hybrid"][OVERALL]) == []


def test_shallow_clone(git: Git, root: Path, tmp_path: Path) -> None:
    """A shallow clone says that it is one, and tells what it has."""
    commit(git, root, stored("a"))
    commit(git, root, stored("b"))
    git("clone", "--quiet", "--depth=1", root.as_uri(), str(tmp_path / "clone"))
    found = told(tmp_path / "clone")
    assert (runs(found), found.shallow) == (["b"], True)
    with pytest.raises(UsageError) as caught:
        told(tmp_path / "clone", "none.json")
    assert "fetch-depth: 0" in caught.value.hint


def test_partial_clone_fetches_nothing(git: Git, root: Path, tmp_path: Path) -> None:
    """In a clone without contents reading runs no fetch, whose command the repository's settings could name."""
    commit(git, root, stored("a"))
    git("config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    git("clone", "--quiet", "--filter=blob:none", "--no-checkout", root.as_uri(), str(clone))
    touched = tmp_path / "touched"
    git("config", "remote.origin.url", f"ext::touch {touched}", cwd=clone)
    git("config", "protocol.ext.allow", "always", cwd=clone)
    assert runs(told(clone)) == ["this clone lacks its content"]
    assert not touched.exists()


def test_no_history(git: Git, root: Path) -> None:
    """A file that was never committed has no history, and neither has a repository without commits."""
    with pytest.raises(UsageError, match="no commit yet"):
        told(root)
    commit(git, root, stored("a"), name="other.json")
    with pytest.raises(UsageError, match=r"baselines/notes\.json: no commit here has it"):
        told(root)


@pytest.mark.usefixtures("outside_git")
def test_no_repository(tmp_path: Path) -> None:
    """Outside a repository the message says that none is there."""
    with pytest.raises(UsageError, match="comes from git, but this is no git repository"):
        told(tmp_path)
