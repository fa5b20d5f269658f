"""The rooms of the house: one folder per stage, and imports that go one way between them."""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "raggate"
GROUND = {"errors", "text", "config", "models"}
ROOMS = {
    "__init__": set(),
    "errors": set(),
    "text": {"errors"},
    "config": {"errors", "text"},
    "models": {"errors", "text", "config"},
    "scoring": GROUND,
    "labels": GROUND,
    "reports": {*GROUND, "scoring", "labels"},
    "inputs": GROUND,
    "service": GROUND,
    "gate": {*GROUND, "scoring", "labels", "inputs"},
    "pipeline": {*GROUND, "__init__", "scoring", "reports", "inputs", "service", "gate"},
    "github": {*GROUND, "__init__", "scoring", "reports", "inputs", "service", "gate", "pipeline"},
    "interop": {*GROUND, "__init__", "scoring", "labels", "reports", "inputs", "service", "gate", "pipeline"},
    "cli": {"*"},
    "action": {"*"},
    "__main__": {"cli", "service"},
}
"""What the modules of a folder may import beside those of their own: a row for each name at the package's root."""

SHELVES = ("scoring/metrics", "service/adapters", "service/backends", "reports")
"""Folders whose first module knows its plug-ins; those know their siblings, never the shelf."""

PURE = ("scoring/", "gate/", "reports/", "text/anchors.py", "text/escape.py", "labels/", "inputs/note")
IMPURE_FILES = {
    # the baseline file and its history in git
    *("gate/baseline.py", "gate/history.py"),
    # a progress display is the one report that writes as it goes
    "reports/progress.py",
    # seeded: the same interval for the same seed
    "labels/intervals.py",
}
IMPURE = {"os", "subprocess", "socket", "time", "random", "httpx", "docker", "click", "pathlib", "datetime"}
SINKS = (
    *("cli/", "action/", "reports/", "github/runner/", "github/rest/checks.py"),
    *("interop/kebab/report.py", "interop/helloworld/summary.py"),
    # what people say of a promotion goes into the baseline file, and its table to the terminal
    "gate/promote.py",
    # the folders that still escape at the source
    *("github/", "interop/", "labels/", "service/"),
)
"""What shows text to somebody, and so makes it harmless for its place."""

MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
MAX_MODULE_LINES = 350
MAX_FUNCTION_LINES = 50


def imports(name: str) -> set[str]:
    """Give the dotted names a module imports, lazily imported ones included, without those for type checking."""
    tree = ast.parse((PACKAGE / name).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = []
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def own(name: str) -> set[str]:
    """Give the modules of the package that a module imports, as `folder/module`, a folder by its own name."""
    known = {module.removesuffix(".py").removesuffix("/__init__") for module in MODULES}
    targets = set()
    for target in imports(name):
        parts = target.split(".")
        if parts[0] == "raggate":
            path = "/".join(parts[1:])
            # what is imported may be a module or a name in one
            targets.add(path if path in known else path.rpartition("/")[0] or "__init__")
    return targets


@pytest.mark.parametrize("name", MODULES)
def test_imports_between_rooms_go_one_way(name: str) -> None:
    """A module imports from its own folder, and from those that its row names."""
    room = name.split("/", maxsplit=1)[0].removesuffix(".py")
    rooms = {target.split("/")[0] for target in own(name)} - {room}
    assert "*" in ROOMS[room] or rooms <= ROOMS[room], f"{name} imports {sorted(rooms - ROOMS[room])}"


def test_only_the_front_ends_know_other_systems() -> None:
    """What serves moving in from other systems is imported by the front ends alone."""
    importers = {name.split("/")[0] for name in MODULES if any(part.startswith("interop") for part in own(name))}
    assert importers == {"interop", "cli", "action"}


def test_every_room_has_its_row() -> None:
    """There is nothing at the package's root but what the rows name."""
    assert {name.split("/")[0].removesuffix(".py") for name in MODULES} == set(ROOMS)


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith(tuple(f"{shelf}/" for shelf in SHELVES))])
def test_a_plugin_does_not_know_its_shelf(name: str) -> None:
    """A metric, an adapter, a backend and a report are listed by their shelf and never import it."""
    shelf, _, plugin = name.rpartition("/")
    assert plugin == "__init__.py" or shelf not in own(name)


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith(PURE) and name not in IMPURE_FILES])
def test_pure_modules_do_no_io(name: str) -> None:
    """What scores, compares, decides and renders has no I/O, no clock and no randomness."""
    assert not {target.split(".")[0] for target in imports(name)} & IMPURE


def test_there_are_no_import_cycles() -> None:
    """The modules can be put in an order in which each imports only earlier ones."""
    names = {name.removesuffix(".py").removesuffix("/__init__"): name for name in MODULES}
    graph = {short: own(name) - {short, ""} for short, name in names.items()}
    assert [*TopologicalSorter(graph).static_order()]


@pytest.mark.parametrize("name", MODULES)
def test_modules_and_functions_stay_small(name: str) -> None:
    """A module has at most 350 lines and a function at most 50."""
    text = (PACKAGE / name).read_text(encoding="utf-8")
    assert text.count("\n") <= MAX_MODULE_LINES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            assert lines <= MAX_FUNCTION_LINES, f"{name}:{node.lineno} {node.name} has {lines} lines"


@pytest.mark.parametrize("name", [name for name in MODULES if not name.startswith(SINKS)])
def test_only_what_shows_text_escapes(name: str) -> None:
    """Foreign text is made harmless by the modules that show it, and by no other: see decision 16."""
    assert "text/escape" not in own(name)


@pytest.mark.parametrize("name", MODULES)
def test_only_the_entry_points_read_the_environment(name: str) -> None:
    """os.environ is read by the two front ends alone, so that nothing else depends on what happens to be set."""
    assert name in {"cli/main.py", "action/main.py"} or "os.environ" not in (PACKAGE / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", MODULES)
def test_no_directory_of_the_runner_is_taken_for_granted(name: str) -> None:
    """No path that GitHub's runner mounts is written down: other runners mount it elsewhere, and variables name it."""
    assert '"/github/' not in (PACKAGE / name).read_text(encoding="utf-8")


def test_the_command_line_is_light() -> None:
    """What every command imports holds no heavy library: `raggate --help` answers at once."""
    script = "import sys, raggate.cli.main; print(*sorted({'pydantic', 'httpx', 'yaml', 'docker'} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert loaded == []
