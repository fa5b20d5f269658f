"""Which suites a step has: named, matched at the trusted commit too, no two of one name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from checkouts import commit_all, git, write_files
from raggate.base.errors import UsageError
from raggate.inputs import suite_list


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a committed repository with a configuration for each of three services, as the working directory."""
    files = {f"services/{name}/raggate.yml": f"suite: {name}\n" for name in ("a", "b", "c")}
    files |= {"services/.hidden/raggate.yml": "suite: hidden\n", "services/d/other.yml": "suite: d\n"}
    write_files(tmp_path, files)
    commit_all(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def configs(*names: str, against: str | None = None) -> list[str]:
    """List the configurations that these name."""
    return [suite.config for suite in suite_list.find(names, against=against)]


ALL = ["services/a/raggate.yml", "services/b/raggate.yml", "services/c/raggate.yml"]
PATTERNS = {
    "a name for a directory": (["services/*/raggate.yml"], ALL),
    "a part of a name": (["services/*/ragg*.yml"], ALL),
    "two levels": (["*/*/raggate.yml"], ALL),
    "paths in the order they are named": (ALL[::-1], ALL[::-1]),
    "no file twice": ([ALL[1], "./services/*/raggate.yml"], [ALL[1], ALL[0], ALL[2]]),
    "what is hidden is named": (["services/.*/raggate.yml"], ["services/.hidden/raggate.yml"]),
    "a path that nothing is at": (["nothing.yml"], ["nothing.yml"]),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns(repository: Path, name: str) -> None:
    """A star is any text within one name, and a path is taken as it is; the same at a commit as on disk."""
    del repository
    names, expected = PATTERNS[name]
    assert configs(*names) == configs(*names, against="HEAD") == expected


@pytest.mark.parametrize("gone", ["services/a/raggate.yml", "services/a", "services"])
def test_a_change_takes_no_suite_away(repository: Path, gone: str) -> None:
    """What a change deletes or renames is still listed by its base, also where a whole directory is gone."""
    (repository / gone).rename(repository / "elsewhere")
    assert configs("services/*/raggate.yml", against="HEAD") == ALL


def test_a_link_takes_no_suite_away(repository: Path) -> None:
    """Where a change puts a link in the place of a directory, the base's suite is listed, and nothing behind it."""
    (repository / "services/a").rename(repository / "elsewhere")
    write_files(repository, {"more/z/raggate.yml": "suite: z\n"})
    (repository / "services/a").symlink_to(repository / "elsewhere")
    (repository / "services/z").symlink_to(repository / "more/z")
    assert configs("services/*/raggate.yml", against="HEAD") == ALL
    assert configs("services/*/raggate.yml") == ALL[1:]


@pytest.mark.parametrize("leads", ["../b/raggate.yml", "nowhere"])
def test_a_configuration_that_is_a_link_is_listed(repository: Path, leads: str) -> None:
    """Its own check refuses it; left out, its questions would be asked by nobody, and that be green."""
    (repository / ALL[0]).unlink()
    (repository / ALL[0]).symlink_to(leads)
    commit_all(repository)
    found = suite_list.find(["services/*/raggate.yml"], against="HEAD")
    assert [(suite.config, suite.suite) for suite in found] == [(ALL[0], ALL[0]), (ALL[1], "b"), (ALL[2], "c")]


@pytest.mark.parametrize("folder", [b"x\n..", b"x\x1b[2K", b"\xff", "\u202e".encode()])
def test_a_path_that_cannot_be_shown_is_refused(repository: Path, folder: bytes) -> None:
    """A change names directories as it likes, and paths are outputs of the step, one a line."""
    write_files(repository, {f"services/{os.fsdecode(folder)}/raggate.yml": "suite: new\n"})
    with pytest.raises(UsageError, match="expected a path of printable characters"):
        configs("services/*/raggate.yml", against="HEAD")


def test_a_change_can_add_a_suite_and_rename_none(repository: Path) -> None:
    """A configuration that the base does not have is listed beside those it has, which the base names."""
    write_files(repository, {"services/new/raggate.yml": "suite: new\n", ALL[0]: "suite: other\n"})
    suites = suite_list.find(["services/*/raggate.yml"], against="HEAD")
    assert [(suite.config, suite.suite) for suite in suites[:1]] == [(ALL[0], "a")]
    assert [suite.config for suite in suites] == [*ALL, "services/new/raggate.yml"]


@pytest.mark.parametrize(
    ("path", "name"), [(ALL[0], "b"), ("services/z/raggate.yml", "b"), ("services/z/raggate.yml", "B")]
)
def test_a_suite_that_would_have_the_name_of_another(repository: Path, path: str, name: str) -> None:
    """A change after whose merge two suites would share a comment is refused; one that swaps two names is not."""
    write_files(repository, {path: f"suite: {name}\n"})
    with pytest.raises(UsageError) as refused:
        suite_list.find(["services/*/raggate.yml"], against="HEAD")
    both = ", ".join(map(repr, sorted([path, ALL[1]])))
    assert refused.value.lines == (f"suite 'b' is named by 2 configurations: {both}",)
    write_files(repository, {ALL[1]: "suite: a\n", "services/z/raggate.yml": "suite: z\n"})
    write_files(repository, {ALL[0]: "suite: b\n"})
    assert len(suite_list.find(["services/*/raggate.yml"], against="HEAD")) == 4


def test_names_that_are_committed_alone(repository: Path) -> None:
    """Where only what is committed is merged, names count as they are committed, whatever the working tree says."""
    base = git(repository, "rev-parse", "HEAD")
    write_files(repository, {ALL[0]: "suite: b\n"})
    commit_all(repository)
    write_files(repository, {ALL[0]: "suite: a\n"})
    assert len(suite_list.find(ALL, against=base)) == 3
    with pytest.raises(suite_list.OfTheChange) as refused:
        suite_list.find(ALL, against=base, merged="HEAD")
    assert "suite 'b' is named by 2 configurations" in str(refused.value)


def test_what_a_push_can_correct(repository: Path) -> None:
    """What comes with a change alone is told as that; what its base has as well no push to the change corrects."""

    def refusal(pattern: str, against: str) -> type[UsageError]:
        with pytest.raises(UsageError) as refused:
            configs(pattern, against=against)
        return refused.type

    folder = f"services/{os.fsdecode(bytes([255]))}"
    write_files(repository, {f"{folder}/raggate.yml": "suite: new\n"})
    assert refusal("services/*/raggate.yml", "HEAD") is suite_list.OfTheChange
    (repository / folder).rename(repository / "services/n")
    write_files(repository, {ALL[0]: "suite: b\n"})
    assert refusal("services/*/raggate.yml", "HEAD") is suite_list.OfTheChange
    commit_all(repository)
    assert refusal("services/*/raggate.yml", "HEAD") is UsageError
    assert refusal("nowhere/*.yml", "HEAD") is UsageError


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("services/*/nothing.yml", "no configuration has such a path"),
        ("nowhere/*/raggate.yml", "no configuration has such a path"),
        ("services/**/raggate.yml", r"`\*\*` does not work here"),
    ],
)
@pytest.mark.usefixtures("repository")
def test_what_lists_nothing_is_refused(pattern: str, message: str) -> None:
    """A pattern that matches nothing is a usage error: a step with no suite would be green for nothing."""
    with pytest.raises(UsageError, match=message):
        configs(pattern)


def test_too_many_are_refused(repository: Path) -> None:
    """A change that brings hundreds of configurations keeps no runner busy with them."""
    for number in range(suite_list.MOST):
        write_files(repository, {f"services/n{number}/raggate.yml": f"suite: n{number}\n"})
    with pytest.raises(UsageError, match="more than 100 configurations for one step: found 103"):
        configs("services/*/raggate.yml")


@pytest.mark.parametrize(
    ("content", "name"),
    [
        pytest.param("suite: small\nbogus: 1\n", "small", id="unknown-key"),
        pytest.param("bogus: 1\n", "default", id="left-out"),
        pytest.param("suite: [1]\n", None, id="no-text"),
        pytest.param("", None, id="empty"),
    ],
)
def test_name_of_a_broken_configuration(tmp_path: Path, content: str, name: str | None) -> None:
    """The name is read from whatever can be read, and nothing is taken for a name that a suite cannot have."""
    (tmp_path / "raggate.yml").write_bytes(content.encode())
    assert suite_list.name_of_unusable(tmp_path, "raggate.yml", against=None, remote=None) == name


def test_the_trusted_one_first(tmp_path: Path) -> None:
    """The revision's name counts; where it has none, or is not there, the working tree's."""
    config = tmp_path / "raggate.yml"
    for content in ("suite: trusted\nbogus: 1\n", "- 1\n"):
        config.write_text(content)
        commit_all(tmp_path)
    config.write_text("suite: changed\n")
    suites = [
        suite_list.name_of_unusable(tmp_path, config.name, against=ref, remote=None)
        for ref in ("HEAD~1", "HEAD", "gone")
    ]
    assert suites == ["trusted", "changed", "changed"]
