"""Which versions two commits name otherwise: the line that stands beside a cause, and is often the cause itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkouts import commit_all, git, write_files
from raggate.inputs import dependencies, git as git_reader
from stored_objects import StoredObjects
from tables import each_row

LOCK = '[[package]]\nname = "haystack-ai"\nversion = "{}"\n'


def committed(root: Path, files: dict[str, str]) -> str:
    """Commit files, and give the commit."""
    write_files(root, files)
    commit_all(root)
    return git(root, "rev-parse", "HEAD")


def told(root: Path, before: dict[str, str], after: dict[str, str]) -> tuple[str, ...]:
    """Commit files before and after, and describe what changed."""
    base = committed(root, {"notes.md": "# A\n", **before})
    for name in before.keys() - after.keys():
        (root / name).unlink()
    return dependencies.changes(root, base, committed(root, {"notes.md": "# B\n", **after}))


PYPROJECT = '[project]\nrequires-python = ">=3.§"\ndependencies = ["a==§"]\n[dependency-groups]\ndev = ["b~=§.0"]\n'
POETRY = '[tool.poetry.dependencies]\na = "^§"\n[tool.poetry.group.x.dependencies]\nb = {version = "§"}\n'
NPM_LOCK = '{"packages": {"": {"version": "§"}, "node_modules/x/node_modules/@s/a": {"version": "§.0.0"}}}'
GO = "go 1.§\nrequire x.y/a v§\nrequire (\n\tx.y/b v§.0 // indirect\n)\nexclude x.y/c v§\nexclude (\n\tx.y/d v§\n)\n"
DOCKER = "FROM --platform=x h:5000/py:3.§ AS one\nFROM one\nFROM d@sha256:§123456789abcdef\n"
VERSIONS = [
    # of 1 before, and of 2 after
    ("uv.lock", LOCK.format("§.20.0"), "haystack-ai 1.20.0 → 2.20.0"),
    ("pyproject.toml", PYPROJECT, "a 1 → 2, b ~=1.0 → ~=2.0, python >=3.1 → >=3.2"),
    ("pyproject.toml", POETRY, "a ^1 → ^2, b 1 → 2"),
    (
        "package.json",
        '{"version": "§", "dependencies": {"@s/a": "^§"}, "devDependencies": {"b": "§"}}',
        "@s/a ^1 → ^2, b 1 → 2",
    ),
    ("package-lock.json", NPM_LOCK, "@s/a 1.0.0 → 2.0.0"),
    ("go.mod", GO, "go 1.1 → 1.2, x.y/a v1 → v2, x.y/b v1.0 → v2.0"),
    ("api/Dockerfile", DOCKER, "d sha256:1123456789ab → sha256:2123456789ab, h:5000/py 3.1 → 3.2"),
    ("constraints.txt", "a==§\nb==§\nc==§\nd==§\n", "a 1 → 2, b 1 → 2, c 1 → 2 and 1 more"),
    ("requirements.txt", "a @ https://u:secret@h/a-§.zip\n", "a changed"),
]


@each_row(
    "name, before, after, words",
    [
        *((name, text.replace("§", "1"), text.replace("§", "2"), words) for name, text, words in VERSIONS),
        ("requirements.txt", "Haystack_AI==2.20.0\n", "haystack-ai==3.4.0\n", "haystack-ai 2.20.0 → 3.4.0"),
        ("requirements/base.in", "a[x]>=1,<2 ; python_version<'4' # y\n", "a\n", "a >=1,<2 → unpinned"),
        ("dev-requirements.txt", "a==1 --hash=sha256:0\n-r b.txt\n", "a==1 \\\n  --hash=sha256:1\nc==3\n", "c 3 added"),
        ("svc/Cargo.lock", LOCK.format("1"), LOCK.format("1") + LOCK.format("2"), "haystack-ai 1 → 1 and 2"),
        ("poetry.lock", LOCK.format("1"), "", "haystack-ai 1 removed"),
        ("Cargo.toml", '[dependencies]\na = {version = "1"}\n', '[dependencies]\na = "2"\n', "a 1 → 2"),
        ("go.mod", "require a v1\n", "require a v1\nreplace a => ../a\n", "a changed"),
        ("x.Dockerfile", "from py\n", "from py:3\n", "py unpinned → 3"),
    ],
)
def test_versions_of_every_kind_of_file(
    tmp_path_factory: pytest.TempPathFactory, name: str, before: str, after: str, words: str
) -> None:
    """Each file that people pin versions in names what changed, and no address, which may have a password."""
    assert told(tmp_path_factory.mktemp("x"), {name: before}, {name: after}) == (f"{name} ({words})",)


@each_row(
    "name, after",
    [
        ("uv.lock", "[[package"),
        ("uv.lock", f"{'a.' * 3000}a = 1\n"),
        ("uv.lock", f"{'a.' * 51}a = 1\n"),
        ("requirements.txt", f"{'a' * 4097}==1\n"),
        ("pyproject.toml", f"a = {'[' * 2000}"),
        ("package.json", "[" * 3000),
        ("requirements.txt", "a==1\n" * 1_000_000),
        ("package.json", '{"dependencies": {"a b\\n::error::": "1"}}'),
    ],
)
def test_what_cannot_be_read_is_named_without_versions(
    tmp_path_factory: pytest.TempPathFactory, name: str, after: str
) -> None:
    """The file did change, so its name is true."""
    before = "{}" if name.endswith(".json") else ""
    assert told(tmp_path_factory.mktemp("x"), {name: before}, {name: after}) == (name,)


def test_reading_versions_ends_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock file that takes long is named without versions."""
    monkeypatch.setattr(dependencies, "READ_S", 0.01)
    slow = LOCK.format(1) * 20_000
    assert told(tmp_path, {"uv.lock": slow}, {"uv.lock": slow + LOCK.format(2)}) == ("uv.lock",)


def test_files_that_come_and_go(tmp_path: Path) -> None:
    """A whole lock file is no list of versions, a link is no file, and a comment changes no version."""
    before = {"uv.lock": LOCK, "requirements.txt": "a==1\n"}
    after = {"a/b/poetry.lock": LOCK, "go.mod": "require x v1\n", "requirements.txt": "# b\na==1\n"}
    texts = told(tmp_path, before, after)
    assert texts == ("go.mod (new file)", "uv.lock (removed)", "a/b/poetry.lock (new file)")
    base = git(tmp_path, "rev-parse", "HEAD")
    (tmp_path / "go.mod").unlink()
    (tmp_path / "go.mod").symlink_to("notes.md")
    assert dependencies.changes(tmp_path, base, committed(tmp_path, {})) == ("go.mod (removed)",)


def test_folders_that_are_equal_are_not_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each may be a request to a server, and only so many are made."""
    monkeypatch.setattr(dependencies, "MOST_FOLDERS", 2)
    same = {f"{name}/x.md": "" for name in "abc"}
    before, after = ({"z/go.mod": f"require x {version}\n"} for version in ("v1", "v2"))
    assert told(tmp_path, before | same, after | same) == ("z/go.mod (x v1 → v2)",)


def test_direct_dependencies_come_first(tmp_path: Path) -> None:
    """Of a lock file with many changes those count that the manifest names too."""
    lock = "".join(f'[[package]]\nname = "{name}"\nversion = "{{0}}"\n' for name in "abcdz")
    before = {"pyproject.toml": '[project]\ndependencies = ["z==1"]\n', "uv.lock": lock.format(1)}
    after = {"pyproject.toml": '[project]\ndependencies = ["z==2"]\n', "uv.lock": lock.format(2)}
    assert told(tmp_path, before, after) == (
        "pyproject.toml (z 1 → 2)",
        "uv.lock (z 1 → 2, a 1 → 2, b 1 → 2 and 2 more)",
    )


def test_many_files_are_counted(tmp_path: Path) -> None:
    """Those nearest to the top are told."""
    names = ["go.mod", *(f"{name}/go.mod" for name in "abcdefghijkl")]
    before, after = (dict.fromkeys(names, f"require x {version}\n") for version in ("v1", "v2"))
    first = [f"{name} (x v1 → v2)" for name in names[:3]]
    assert told(tmp_path, before, after) == (*first, "10 more files")


def test_what_is_not_committed_counts_on_disk_alone(tmp_path: Path) -> None:
    """A person tries an upgrade before committing it."""
    assert told(tmp_path, {"go.mod": "require x v1\n"}, {"go.mod": "require x v2\n"})
    head = git(tmp_path, "rev-parse", "HEAD")
    write_files(tmp_path, {"go.mod": "require x v3\n"})
    assert dependencies.changes(tmp_path, head, head, on_disk=True) == ("go.mod (x v2 → v3)",)
    assert dependencies.changes(tmp_path, head, head) == ()


def test_updates_of_the_base_are_named_apart(tmp_path: Path) -> None:
    """A branch that is behind its base edits none of them, and takes none of them back."""
    old, new = "require x v1\n", "require x v2\n"
    own = told(tmp_path, {"a.txt": "", "go.mod": old, "b/go.mod": old}, {"go.mod": old, "b/go.mod": new})
    branch, start = (git(tmp_path, "rev-parse", name) for name in ("HEAD", "HEAD~1"))
    git(tmp_path, "checkout", "-q", start)
    base = committed(tmp_path, {"go.mod": new, "b/go.mod": new})
    git(tmp_path, "checkout", "-q", branch)
    texts = (*own, "only in the base: go.mod (x v1 → v2)")
    assert own == ("b/go.mod (x v1 → v2)",)
    assert dependencies.changes(tmp_path, base, branch) == texts
    assert dependencies.changes(tmp_path, base, branch, on_disk=True) == texts
    assert dependencies.changes(tmp_path, base, branch, branched=False) == ("go.mod (x v2 → v1)",)
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--no-local", "--depth=1", f"file://{tmp_path}", str(shallow))
    git(shallow, "fetch", "-q", "--depth=1", "origin", base)
    assert dependencies.changes(shallow, base, branch) == ()
    checkout, spare = git_reader.find(shallow), StoredObjects({}, commit=base)
    assert checkout is not None
    with git_reader.LocalObjects(checkout, branch, spare=spare) as objects:
        assert objects.merge_base(base, branch) == base


def test_nothing_is_told_outside_git_and_of_unknown_commits(tmp_path: Path) -> None:
    """It is context: what cannot be read ends no run."""
    assert dependencies.changes(tmp_path, "0" * 40, "1" * 40) == ()
    told(tmp_path, {}, {})
    assert dependencies.changes(tmp_path, "0" * 40, "1" * 40) == ()


@each_row(
    "before, now, beside, texts",
    [
        (["a 1", "b 1"], ["a 2", "c 1"], (), ("loaded by the program (a 1 → 2, b 1 removed, c 1 added)",)),
        (["a 1", "b 1"], ["a 2", "b 1"], ("x (a 1 → 2)",), ("x (a 1 → 2)",)),
        (["a 1"], [], ("uv.lock",), ("uv.lock",)),
        (["broken"], ["a 1"], (), ()),
    ],
)
def test_what_a_program_loads_otherwise(
    before: list[str], now: list[str], beside: tuple[str, ...], texts: tuple[str, ...]
) -> None:
    """It stands behind the files, without what a file tells; a run that told nothing differs in nothing."""
    assert dependencies.loaded(before, now, beside) == texts
