"""The rooms of the house: one folder per stage, and imports that go one way between them."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from own_source import INTEROP, MODULES, PACKAGE, source, tree
from tables import each_row

GROUND = {"base", "config", "models"}
ROOMS = {
    "__init__": set(),
    "base": set(),
    "config": {"base"},
    "models": {"base", "config"},
    "scoring": GROUND,
    "judges": {*GROUND, "scoring"},
    "inputs": GROUND,
    "service": GROUND,
    "reports": {*GROUND, "scoring"},
    "gate": {*GROUND, "scoring", "inputs"},
    "pipeline": {*GROUND, "__init__", "scoring", "judges", "reports", "inputs", "service", "gate"},
    "frontends": {"__init__", *GROUND, "scoring", "reports", "service", "gate", "pipeline"},
    "labelling": {*GROUND, "scoring", "reports", "inputs", "gate", "pipeline"},
    "prove": {*GROUND, "__init__", "scoring", "reports", "inputs", "service", "gate", "pipeline"},
    "github": {*GROUND, "__init__", "scoring", "reports", "inputs", "service", "gate", "pipeline"},
    "cli": {
        *GROUND,
        "__init__",
        "scoring",
        "reports",
        "inputs",
        "service",
        "gate",
        "frontends",
        "pipeline",
        "prove",
        "github",
        "labelling",
    },
    "action": {*GROUND, "scoring", "reports", "inputs", "service", "gate", "frontends", "pipeline", "github"},
    "__main__": {"base", "cli", "service"},
    "raggate_interop": {
        *GROUND,
        "__init__",
        "scoring",
        "reports",
        "inputs",
        "service",
        "gate",
        "frontends",
        "pipeline",
        "labelling",
        "cli",
    },
}
"""What the modules of a folder may import beside those of their own: a row for each name at the package's root."""

SHELVES = ("scoring/metrics", "judges/providers", "service/adapters", "service/backends", "reports")
"""Folders whose first module knows its plug-ins; those know their siblings, never the shelf."""

PURE = (
    "scoring/",
    "gate/",
    "reports/",
    "base/headings.py",
    "base/escape.py",
    "inputs/notes.py",
    "prove/faults.py",
    *(f"{INTEROP}/labels/{name}.py" for name in ("agreement", "models", "checks", "metrics", "score")),
)
IMPURE_FILES = {
    # the baseline file and its history in git
    "gate/baseline.py",
    "gate/history.py",
    # a progress display is the one report that writes as it goes
    "reports/progress.py",
    # seeded: the same interval for the same seed
    "scoring/intervals.py",
}
IMPURE = {"os", "subprocess", "socket", "time", "random", "docker", "click", "pathlib", "datetime"}
HTTP_CLIENT = "base/http_client"
"""The one module that imports the HTTP client library: see decision 42."""
SINKS = (
    "cli/",
    "frontends/",
    "action/",
    "reports/",
    "github/runner/results.py",
    "github/rest/checks.py",
    "github/rest/statuses.py",
    # what people say of a promotion goes into the baseline file, and its table to the terminal
    "gate/promote.py",
    "raggate_interop/terminal.py",
    "raggate_interop/helloworld/command.py",
    "raggate_interop/helloworld/write.py",
    "raggate_interop/kebab/report.py",
    "raggate_interop/labels/command.py",
    "raggate_interop/kebab/command.py",
    "raggate_interop/substrate/command.py",
    "raggate_interop/convert_command.py",
    "raggate_interop/evaluate_command.py",
    "raggate_interop/export_command.py",
)
"""What shows text to somebody, and so makes it harmless for its place."""

TESTS = Path(__file__).parents[1]
DECISIVE = ("gate/", "pipeline/", "scoring/", "action/")
SPECIFIED_ELSEWHERE = {
    # through verdict and policies
    "gate/complaints.py",
    # through compare, causes and reach
    "gate/causes/passages.py",
    # commands on a stored run: the integration tests of check, and run_directory
    "pipeline/rerun.py",
    # the judging step: the integration tests of judging
    "pipeline/jury.py",
    "pipeline/rejudge.py",
    # what is asked twice, and how a build is brought up: behaviour, measure and base_build
    "pipeline/asking.py",
    # a run that was killed and is resumed: integration/test_resume
    "pipeline/unfinished_run.py",
}
"""Decisive modules that another file of tests specifies."""

MAX_FUNCTION_LINES = 50


BODIES = ("body", "handlers", "orelse", "finalbody", "cases")
"""Where a statement holds others."""

TYPING = "TYPE_CHECKING"
"""What a statement asks that holds what nothing executes."""

SHORT_NAMES = {module.removesuffix(".py").removesuffix("/__init__") for module in MODULES}


def statements(inside: ast.AST, *, executed: bool = False) -> Iterator[ast.AST]:
    """Yield every statement of a module, at any depth; of those that are executed, none for type checking alone."""
    for part in (part for name in BODIES for part in getattr(inside, name, ())):
        if executed and isinstance(part, ast.If) and isinstance(part.test, ast.Name) and part.test.id == TYPING:
            # what stands beside it is executed
            for other in part.orelse:
                yield other
                yield from statements(other, executed=True)
        else:
            yield part
            yield from statements(part, executed=executed)


@cache
def imports(name: str) -> set[str]:
    """Return the dotted names a module imports, lazily imported ones included, without those for type checking."""
    names: set[str] = set()
    for node in statements(tree(name), executed=True):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@cache
def own(name: str) -> set[str]:
    """Return the modules of both packages that a module imports, as `folder/module`, a folder by its own name."""
    targets = set()
    for target in imports(name):
        parts = target.split(".")
        if parts[0] in ("raggate", INTEROP):
            path = "/".join(parts[parts[0] == "raggate" :])
            # what is imported may be a module or a name in one
            targets.add(path if path in SHORT_NAMES else path.rpartition("/")[0] or "__init__")
    return targets


def test_imports_between_rooms_go_one_way() -> None:
    """A module imports from its own folder, and from those that its row names."""
    against_the_rows = {}
    for name in MODULES:
        room = name.split("/", maxsplit=1)[0].removesuffix(".py")
        rooms = {target.split("/")[0] for target in own(name)} - {room}
        if not rooms <= ROOMS[room]:
            against_the_rows[name] = rooms - ROOMS[room]
    assert against_the_rows == {}


def test_the_gate_imports_nothing_of_the_other_package() -> None:
    """What serves other systems plugs in by entry points: no module of the gate imports it, for its types neither."""
    importers = [
        name
        for name in MODULES
        if not name.startswith(f"{INTEROP}/") and re.search(rf"(?:import|from) +{INTEROP}\b", source(name))
    ]
    assert importers == []


def test_rows_name_earlier_rows_alone() -> None:
    """The rooms are in an order in which each knows only those before it."""
    earlier: set[str] = set()
    for room, known in ROOMS.items():
        assert known <= earlier
        earlier.add(room)


def test_every_room_has_its_row_and_is_drawn() -> None:
    """There is nothing at the package's root but what the rows name and CONTRIBUTING.md draws, in the same order."""
    assert {name.split("/")[0].removesuffix(".py") for name in MODULES} == set(ROOMS)
    page = (PACKAGE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    drawn = re.findall(r"^(\w+)(?:/|\.py) {2,}", page.partition("## How it is built")[2], re.MULTILINE)
    assert drawn == [room for room in ROOMS if not room.startswith("__")]


@each_row("shelf", SHELVES)
def test_a_plugin_does_not_know_its_shelf(shelf: str) -> None:
    """A metric, an adapter, a backend and a report are listed by their shelf and never import it."""
    plugins = [name for name in MODULES if name.startswith(f"{shelf}/") and not name.endswith("/__init__.py")]
    assert plugins
    assert [name for name in plugins if shelf in own(name)] == []


def test_pure_modules_do_no_io() -> None:
    """What scores, compares, decides and renders has no I/O, no clock and no randomness."""
    pure = [name for name in MODULES if name.startswith(PURE) and name not in IMPURE_FILES]
    reached = {name: {target.split(".")[0] for target in imports(name)} & IMPURE for name in pure}
    reached |= {name: {HTTP_CLIENT} for name in pure if HTTP_CLIENT in own(name)}
    assert {name: libraries for name, libraries in reached.items() if libraries} == {}


def test_one_module_imports_the_http_client_library() -> None:
    """Another HTTP client library goes in by one line: no other module names httpx or what lies below it."""
    names = re.compile(r"^\s*(?:import|from) +(?:httpx|httpcore)2?\b", re.MULTILINE)
    assert [name for name in MODULES if names.search(source(name))] == [f"{HTTP_CLIENT}.py"]


def test_there_are_no_import_cycles() -> None:
    """The modules can be put in an order in which each imports only earlier ones."""
    names = {name.removesuffix(".py").removesuffix("/__init__"): name for name in MODULES}
    graph = {short: own(name) - {short, ""} for short, name in names.items()}
    assert [*TopologicalSorter(graph).static_order()]


def test_functions_stay_small() -> None:
    """A function has at most 50 lines."""
    long = {}
    for name in MODULES:
        for node in statements(tree(name)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > MAX_FUNCTION_LINES:
                    long[f"{name}:{node.lineno} {node.name}"] = lines
    assert long == {}


def test_the_formatter_lays_out_every_line() -> None:
    """No line is kept from the formatter, to stay below a limit or to look better."""
    assert [name for name in MODULES if re.search(r"#\s*fmt:", source(name))] == []


def test_only_what_shows_text_escapes() -> None:
    """Foreign text is made harmless by the modules that show it, and by no other: see decision 16."""
    assert [name for name in MODULES if not name.startswith(SINKS) and "base/escape" in own(name)] == []


def test_nouns_are_structs() -> None:
    """No noun is a frozen dataclass, which is compiled at every start."""
    assert [name for name in MODULES if "@dataclass(frozen=True" in source(name)] == []


def test_only_the_entry_points_read_the_environment() -> None:
    """os.environ is read by the front ends alone, so that nothing else depends on what happens to be set.

    Which certificates count is read from it by the HTTP client, and so is what a message calls them.
    """
    readers = {name for name in MODULES if "os.environ" in source(name)}
    assert readers == {"frontends/library.py", "cli/main.py", "action/main.py", "base/certificates.py"}


def test_no_directory_of_the_runner_is_taken_for_granted() -> None:
    """No path that GitHub's runner mounts is written down: other runners mount it elsewhere, and variables name it."""
    assert [name for name in MODULES if '"/github/' in source(name)] == []


def test_decisive_modules_have_a_test_of_their_name() -> None:
    """What decides, measures, scores and asks for it is specified in a file of tests that is named after it."""
    without = set()
    for name in (name for name in MODULES if name.startswith(DECISIVE) and not name.endswith("/__init__.py")):
        folder, _, module = name.rpartition("/")
        own_names = (
            f"unit/{folder}/test_{module}",
            f"integration/test_{module}",
            f"integration/test_{folder}_{module}",
        )
        if not any((TESTS / own_name).exists() for own_name in own_names):
            without.add(name)
    assert without == SPECIFIED_ELSEWHERE


def loaded_by(modules: str, libraries: set[str]) -> list[str]:
    script = f"import sys, {modules}; print(*sorted({libraries} & set(sys.modules)))"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()


def test_both_entry_points_are_light() -> None:
    """What every command and step imports has no heavy library: `raggate --help` and a post step answer at once."""
    assert loaded_by("raggate.cli.main, raggate.action.main", {"pydantic", "httpx", "yaml", "docker"}) == []


def test_the_plugin_of_pytest_is_light() -> None:
    """Every run of pytest loads the plugin: it loads nothing but pytest."""
    loaded = {"pydantic", "httpx", "yaml", "docker", "click", "orjson", "raggate.frontends.library", "raggate.models"}
    assert loaded_by("raggate.frontends.pytest_plugin", loaded) == []
