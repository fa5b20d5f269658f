"""What the other package plugs into the gate is there, as pyproject.toml names it and as it is installed."""

from __future__ import annotations

import tomllib
from pathlib import Path

from raggate.base import plugins
from raggate.gate.other_systems import installed
from tables import each_row

ROOT = Path(__file__).parents[3]
DECLARED: dict[str, dict[str, str]] = {
    group: entries
    for group, entries in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"].items()
    if group.startswith("raggate.")
}


@each_row("group", sorted(DECLARED))
def test_each_entry_point_is_installed_and_loads(group: str) -> None:
    """What pyproject.toml declares is what is installed, else `make check` installs it; each of it can be loaded."""
    assert plugins.names(group) == tuple(sorted(DECLARED[group]))
    assert all(plugins.load(group, name) is not None for name in DECLARED[group])


def test_each_group_is_one_that_the_gate_reads() -> None:
    """No group is declared that nothing reads, and none is read that nothing declares."""
    read = {plugins.COMMANDS, plugins.GOLDEN_FORMATS, plugins.ADAPTERS, plugins.METRICS_FILES, plugins.COMPAT}
    assert set(DECLARED) == read


def test_each_command_has_the_name_of_its_entry_point() -> None:
    """A command is called in its own help as it is called on the command line."""
    assert all(plugins.load(plugins.COMMANDS, name).name == name for name in plugins.names(plugins.COMMANDS))


def test_no_two_systems_take_the_same_files() -> None:
    """A metrics file is of one system, which its entry point names."""
    systems = installed()
    assert [system.name for system in systems] == list(plugins.names(plugins.METRICS_FILES))
    assert len({system.metrics_key for system in systems}) == len(systems)
