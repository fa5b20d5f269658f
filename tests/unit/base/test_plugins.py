"""What other packages plug in: read from the metadata of what is installed, and a clear message when it is stale."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from raggate.base import plugins
from raggate.base.errors import UsageError
from tables import each_row

GROUPS = (plugins.COMMANDS, plugins.GOLDEN_FORMATS, plugins.ADAPTERS, plugins.METRICS_FILES, plugins.COMPAT)


@pytest.fixture
def path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Yield a directory that alone is looked through for distributions."""
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    cached = (plugins.names, plugins.load, plugins._entry_points)
    for function in cached:
        function.cache_clear()
    yield tmp_path
    for function in cached:
        function.cache_clear()


def install(path: Path, name: str, text: str) -> None:
    """Install a distribution that has these entry points."""
    (path / f"{name}-1.dist-info").mkdir(parents=True)
    (path / f"{name}-1.dist-info" / "entry_points.txt").write_text(text)


@each_row("group", GROUPS)
def test_it_is_what_importlib_finds(group: str) -> None:
    """The names and their values are those that importlib.metadata reads, which takes longer."""
    found = {point.name: point.value for point in entry_points(group=group)}
    assert plugins.names(group) == tuple(sorted(found))
    assert plugins._entry_points()[group] == found


def test_several_packages_plug_in(path: Path) -> None:
    """Every distribution on the path adds to a group; other groups are not read as raggate's."""
    install(path, "one", "[console_scripts]\nx = y:z\n\n[raggate.adapters]\nb = json:loads\n# a = none\n")
    install(path, "two", "[raggate.adapters]\na=json\n")
    assert (plugins.names(plugins.ADAPTERS), plugins.names("console_scripts")) == (("a", "b"), ())
    assert plugins.load(plugins.ADAPTERS, "a") is json
    assert plugins.load(plugins.ADAPTERS, "b") is json.loads


@pytest.mark.parametrize("value", ["no_such_module_here", "json:no_such_name"])
def test_what_is_gone_is_told(value: str, path: Path) -> None:
    """An entry point of code that moved since the installation is named, with how to install it again."""
    install(path, "one", f"[raggate.adapters]\na = {value}\n")
    with pytest.raises(UsageError, match=f"the entry point a = {value} of raggate.adapters cannot be loaded") as error:
        plugins.load(plugins.ADAPTERS, "a")
    assert "pip install" in error.value.hint
