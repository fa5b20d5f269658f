"""What a suite is called is found out however broken its configuration is, the trusted one first."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkouts import commit_all
from raggate.inputs import suite_names


@pytest.mark.parametrize(
    ("content", "name"),
    [
        pytest.param("suite: small\nbogus: 1\n", "small", id="unknown-key"),
        pytest.param("suite: small # ours\nvault: [\n", "small", id="no-yaml"),
        pytest.param("vault: {\n'suite: x\r\nsuite: 'small'\r\n", "small", id="no-yaml-quoted"),
        pytest.param("suite: a\nsuite: b\n", "a", id="twice"),
        pytest.param("bogus: 1\n", "default", id="left-out"),
        pytest.param("suite: [1]\n", None, id="no-text"),
        pytest.param("suite: ../../x\n", None, id="no-name"),
        pytest.param("- 1\n", None, id="no-mapping"),
        pytest.param("", None, id="empty"),
        pytest.param("vault: [\n", None, id="no-yaml-and-no-name"),
    ],
)
def test_name_of_a_broken_configuration(tmp_path: Path, content: str, name: str | None) -> None:
    """The name is read from whatever can be read, and nothing is taken for a name that a suite cannot have."""
    (tmp_path / "raggate.yml").write_bytes(content.encode())
    assert suite_names.find(tmp_path, "raggate.yml", against=None, remote=None) == name


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    """A file that is no UTF-8 has its name too, and a directory or nothing has none."""
    (tmp_path / "raggate.yml").write_bytes(b"# \xff\xfe\nsuite: small\n")
    (tmp_path / "folder").mkdir()
    suites = [suite_names.find(tmp_path, name, against=None, remote=None) for name in ("raggate.yml", "folder", "no")]
    assert suites == ["small", None, None]


def test_the_trusted_one_first(tmp_path: Path) -> None:
    """The revision's name counts; where it has none, or is not there, the working tree's."""
    config = tmp_path / "raggate.yml"
    for content in ("suite: trusted\nbogus: 1\n", "- 1\n"):
        config.write_text(content)
        commit_all(tmp_path)
    config.write_text("suite: changed\n")
    suites = [suite_names.find(tmp_path, config.name, against=ref, remote=None) for ref in ("HEAD~1", "HEAD", "gone")]
    assert suites == ["trusted", "changed", "changed"]
