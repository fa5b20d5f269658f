"""The import arrows of the architecture hold: cli -> pipeline -> stages -> own shelf -> leaves."""

from __future__ import annotations

import ast
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "raggate"
LEAVES = {
    *("models", "outcomes", "errors", "config", "api_settings", "anchors", "escape", "jsonio", "yamlio", "headings"),
    *(
        "wire",
        "publication",
        "judgments",
        "dates",
        "evidence",
        "revisions",
        "proposals",
        "mapped_settings",
        "invariant_settings",
        "field_paths",
        "redaction",
        "interrupts",
        "hosts",
        "deadlines",
        "nearest",
        "disk",
        "streams",
        "answer_limits",
        "dockerignore",
        "ranges",
        "modes",
        "git_objects",
        "first_run",
        "accepted",
        "case_hash",
        "uncompared",
        "golden_rules",
        "repeats",
        "misses",
        "asked",
        "waived",
        # the root of the package holds its version and nothing else
        "__init__",
    ),
}
# what a module may import beside the leaves; a stage is only ever imported by pipeline
ALLOWED = {
    "__init__": set(),
    "__main__": {"cli"},
    "action": {"cli", "github", "reaper", "backends", "runner", "publish", "steps", "step_promote"},
    "promotion_inputs": {"promote"},
    "candidate": {"pipeline", "promote", "scoring", "invariants", "inputs"},
    "adopt": {"candidate", "pipeline", "rundir", "inputs", "github"},
    "step_promote": {
        *("adopt", "candidate", "promotion_inputs", "pipeline", "rundir", "scoring", "baseline", "inputs", "sources"),
        *("overrides", "caller", "cli", "steps", "runner", "github", "reports"),
    },
    "steps": {"cli", "caller", "github", "runner", "publish", "sources", "relay", "suite_names"},
    "runner": {"git", "github", "publish", "sources"},
    "publish": {"github", "reports"},
    "cli": {"pipeline", "stored", "invocation", "overrides", "scaffold", "reports", "caller", "cli_groups"},
    "cli_groups": {"cli_*"},
    "cli_helloworld": {"helloworld_inputs", "rundir", "formats", "compat"},
    "lenient": {"golden"},
    "helloworld_inputs": {"golden", "lenient", "inputs", "scoring", "formats", "compat"},
    "cli_comment": {"caller", "relay", "github", "publish", "runner"},
    "invocation": {"reports", "sources"},
    "pipeline": {"*"},
    "measuring": {"*"},
    "stored": {"*"},
    "relay": {"*"},
    "inputs": {"sources", "golden", "vault"},
    "annotations": {"intervals", "metrics"},
    "agreement": {"intervals"},
    "label_deltas": {"intervals", "metrics"},
    "label_files": {"formats", "run_lists"},
    "run_lists": {"rundir"},
    "export": {"formats", "run_lists", "vault"},
    "cli_export": {"export", "formats"},
    "cli_labels": {"annotations", "annotation_checks", "label_deltas", "label_files", "cli_agreement", "cli_label_*"},
    "cli_agreement": {"agreement", "agreement_rows", "label_files", "cli_label_options"},
    "evaluate": {"formats", "metrics"},
    "cli_evaluate": {"evaluate", "formats"},
    "baseline": {"consistency", "formats"},
    "boot": {"backends", "boot_hints", "growth"},
    "compat_scores": {"compat", "formats"},
    "suite": {"adapters"},
    "scoring": {"metrics", "answer_fields"},
    "flips": {"causes"},
    "causes": {"metrics"},
    "compare": {"flips", "coverage", "restated", "standins"},
    "restated": {"compat", "formats"},
    "conduct": {"wording"},
    "aftermath": {"wording"},
    "verdict": {"conduct", "wording", "coverage", "judging", "ratchet", "waivers"},
    "judging": {"coverage"},
    "coverage": {"wording", "answer_fields"},
    "invariants": {"wording"},
    "promote": {"baseline", "compare", "coverage", "ratchet", "wording"},
    "cli_substrate": {"substrate_inputs", "formats", "compat", "reports", "rundir"},
    "substrate_inputs": {"formats", "compat", "golden", "rundir", "scoring", "metrics"},
    "cli_kebab": {"kebab_inputs", "compat", "formats", "rundir"},
    "kebab_inputs": {"compat", "formats", "golden", "inputs", "scoring"},
    "cli_convert": {"convert", "convert_formats"},
    "convert": {"annotations", "convert_formats", "formats"},
    "convert_formats": {"golden", "lenient", "formats", "metrics"},
    "history": {"baseline", "git", "scoring"},
    "cli_baseline": {"history", "inputs", "dates", "reports"},
    "sources": {"git", "committed", "local_objects"},
    "committed": {"git", "working_files"},
    "working_files": {"git"},
    "local_objects": {"git"},
    "suite_names": {"sources"},
    "preview": {"baseline", "compare", "loosening"},
    "rundir": {"golden"},
    "standing": {"note_titles", "note_words"},
    "note_titles": {"note_words"},
}
PURE = {
    *("scoring", "compare", "flips", "causes", "verdict", "coverage", "ratchet", "waivers", "wording", "invariants"),
    *("metrics", "standins", "judging", "consistency", "conduct", "aftermath", "repeats"),
    *("reports", "anchors", "escape", "compat", "agreement", "annotations", "annotation_checks", "label_deltas"),
    *("compat_scores", "restated", "agreement_rows"),
    *("answer_fields", "standing", "note_titles", "note_words"),
}
IMPURE = {"os", "subprocess", "socket", "time", "random", "httpx", "docker", "click", "pathlib", "datetime"}
# a progress display is the one report that writes as it goes
IMPURE_FILES = {"reports/progress.py"}
MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
MAX_MODULE_LINES = 350
MAX_FUNCTION_LINES = 50


def imports(name: str) -> set[str]:
    """Give the dotted names a module imports, lazily imported ones included, without those for type checking."""
    tree = ast.parse((PACKAGE / name).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = []
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def own(name: str) -> set[str]:
    """Give the parts of the package a module imports, as `stage` or `shelf/plugin`."""
    parts = [found.split(".")[1:] for found in imports(name) if found.split(".")[0] == "raggate"]
    known = {module.removesuffix(".py") for module in MODULES}
    result = set()
    for part in parts:
        if len(part) > 1 and "/".join(part[:2]) in known:
            result.add("/".join(part[:2]))
        else:
            result.add(part[0] if part and not part[0].startswith("__") else "__init__")
    return result


def _known(target: str, allowed: set[str]) -> bool:
    return any(fnmatch(target, name) for name in allowed)


@pytest.mark.parametrize("name", MODULES)
def test_imports_follow_the_arrows(name: str) -> None:
    """A module imports only what the architecture allows it."""
    shelf, _, plugin = name.removesuffix(".py").rpartition("/")
    for target in own(name):
        target_shelf, _, target_plugin = target.rpartition("/")
        if target in LEAVES:
            continue
        if shelf:
            # a plug-in knows its siblings, never its own shelf; the shelf knows its plug-ins
            assert target_shelf == shelf, f"{name} imports {target}"
            assert plugin == "__init__" or target_plugin not in {"", "__init__"}, f"{name} imports its own shelf"
            continue
        allowed = ALLOWED.get(plugin, set())
        assert "*" in allowed or _known(target_shelf or target, allowed), f"{name} imports {target}"


@pytest.mark.parametrize("name", [name for name in MODULES if name.split("/")[0].removesuffix(".py") in LEAVES])
def test_leaves_import_only_leaves(name: str) -> None:
    """Nouns, errors and configuration import nothing of the project above them."""
    assert own(name) <= LEAVES


@pytest.mark.parametrize(
    "name", [name for name in MODULES if name.split("/")[0].removesuffix(".py") in PURE and name not in IMPURE_FILES]
)
def test_pure_modules_do_no_io(name: str) -> None:
    """What scores, compares, decides and renders has no I/O, no clock and no randomness."""
    assert not {found.split(".")[0] for found in imports(name)} & IMPURE


def test_there_are_no_import_cycles() -> None:
    """The modules can be put in an order in which each imports only earlier ones."""
    names = {module.removesuffix(".py").removesuffix("/__init__"): own(module) for module in MODULES}
    done: set[str] = set()
    while len(done) < len(names):
        ready = {name for name, targets in names.items() if name not in done and targets & set(names) <= done | {name}}
        assert ready, f"cycle among {sorted(set(names) - done)}"
        done |= ready


@pytest.mark.parametrize("name", MODULES)
def test_modules_and_functions_stay_small(name: str) -> None:
    """A module has at most 350 lines and a function at most 50."""
    text = (PACKAGE / name).read_text(encoding="utf-8")
    assert text.count("\n") <= MAX_MODULE_LINES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            assert lines <= MAX_FUNCTION_LINES, f"{name}:{node.lineno} {node.name} has {lines} lines"


@pytest.mark.parametrize("name", MODULES)
def test_only_the_entry_points_read_the_environment(name: str) -> None:
    """os.environ is read in cli.py and action.py alone, so that nothing else depends on what happens to be set."""
    assert name in {"cli.py", "action.py"} or "os.environ" not in (PACKAGE / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", MODULES)
def test_no_directory_of_the_runner_is_taken_for_granted(name: str) -> None:
    """No path that GitHub's runner mounts is written down: other runners mount it elsewhere, and variables name it."""
    assert '"/github/' not in (PACKAGE / name).read_text(encoding="utf-8")


def test_the_command_line_is_light() -> None:
    """What every command imports holds no heavy library: `raggate --help` answers at once."""
    script = "import sys, raggate.cli; print(*sorted({'pydantic', 'httpx', 'yaml', 'docker'} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert loaded == []
