"""What raggate is built of is pinned, and the page about threats names tests that exist."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

import yaml

from own_source import INTEROP, MODULES, tree
from tables import each_row

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "threat-model.md"
LOCKS = sorted([*ROOT.glob("requirements*.lock"), *ROOT.glob("requirements*.txt")])
NAME = re.compile(r"`((?:unit|integration|e2e)/[\w/]+\.py)::([\w:]+)`")
ROW = re.compile(r"^\| (?!tries |-)(.+) \| (.+) \| (.+) \|$", re.MULTILINE)


def sections() -> dict[str, str]:
    """Split the page: title of each section that holds a table of attacks -> its text."""
    parts = re.split(r"^## (.+)\n", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {title: text for title, text in zip(parts[::2], parts[1::2], strict=True) if "| tries |" in text}


@cache
def names_in(path: Path) -> set[str]:
    """Name the tests of a file as pytest does: functions, and methods behind their class."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    names = {node.name for node in tree.body if isinstance(node, functions)}
    for owner in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        names |= {f"{owner.name}::{node.name}" for node in owner.body if isinstance(node, functions)}
    return names


def test_every_adversary_has_its_section() -> None:
    """Each adversary has a table of attacks and says what is not stopped."""
    titles = "same repository,fork,comments,API under test,note,promotes,part of a run,neighbour,supply chain"
    adversaries = titles.split(",")
    assert len(sections()) == len(adversaries)
    for title, adversary in zip(sections(), adversaries, strict=True):
        assert adversary in title
    for text in sections().values():
        assert "**Not stopped.**" in text


@each_row("title", list(sections()))
def test_every_attack_names_a_test_that_exists(title: str) -> None:
    """Every row of the page names at least one test, and every name in it is that of a test."""
    rows = ROW.findall(sections()[title])
    assert len(rows) == sum(line.startswith("| ") for line in sections()[title].splitlines()) - 1
    for attack, _, proof in rows:
        names = NAME.findall(proof)
        assert names, attack
        assert NAME.sub("", proof).strip(", ") == "", proof
        for file, name in names:
            assert name in names_in(ROOT / "tests" / file), f"{file}::{name}"
            assert name.rpartition("::")[2].startswith("test_")


def test_nothing_is_installed_without_a_hash() -> None:
    """Every requirement of every lock file is one version with hashes, and all that installs insists on them."""
    assert len(LOCKS) == 9
    for lock in LOCKS:
        pins = re.split(r"\n(?=\S)", lock.read_text(encoding="utf-8"))
        for pin in (text for text in pins if not text.startswith(("#", "--"))):
            assert re.match(r"[\w.-]+==\S+ \\\n    --hash=sha256:[0-9a-f]{64}", pin), pin
    for name in ("Makefile", "Dockerfile", "tools/actionlint/build"):
        for line in (ROOT / name).read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
            if "-m pip install" in line and not line.lstrip().startswith("#"):
                assert "--require-hashes" in line or "--no-deps" in line, f"{name}: {line}"


def test_the_basic_installation_is_small() -> None:
    """What raggate needs is at most 24 distributions, which take 30 MB with their compiled modules."""
    names = re.findall(r"^([\w.-]+)==", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE)
    paths = [Path(str(file.locate())) for name in names for file in distribution(name).files or ()]
    assert len(names) <= 24
    assert sum(path.stat().st_size for path in paths if path.exists()) <= 30e6


def test_the_smallest_versions_are_what_is_tested() -> None:
    """`make lowest` installs exactly the smallest version that pyproject.toml allows of each library."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    minima = dict(line.split(">=") for line in project["dependencies"] + extras["label"])
    lock = (ROOT / "requirements-lowest.lock").read_text(encoding="utf-8")
    pinned = dict(re.findall(r"^([\w.-]+)==(\S+) ", lock, re.MULTILINE))
    full = {name: ".".join([*version.split("."), "0"][:3]) for name, version in minima.items()}
    assert {name: pinned[name] for name in full} == full


def test_every_library_that_is_imported_is_declared() -> None:
    """What raggate imports it names in pyproject.toml, and does not trust another library to bring it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = project["dependencies"] + extras["label"]
    declared = {line.partition(">")[0].replace("_", "-").lower() for line in lines}
    imported = {
        name.split(".")[0]
        for module in MODULES
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    } - {"raggate", INTEROP, "pytest", "_typeshed", *sys.stdlib_module_names}
    owners = packages_distributions()
    assert {owners[name][0].replace("_", "-").lower() for name in imported} <= declared


def test_what_runs_is_watched() -> None:
    """Dependabot reads the locks of what runs, tests and builds, and not those that are tied to something."""
    settings = yaml.safe_load((ROOT / ".github/dependabot.yml").read_text(encoding="utf-8"))
    (python,) = (update for update in settings["updates"] if update["package-ecosystem"] == "pip")
    assert python["directory"] == "/"
    assert python["versioning-strategy"] == "increase-if-necessary"
    # it takes every *.txt and *.in of requirements in that directory, of up to 500 kB
    read = {lock.name: lock.stat().st_size for lock in ROOT.iterdir() if lock.suffix in {".txt", ".in"}}
    assert set(read) == {"requirements.txt", "requirements-dev.txt", "requirements-build.txt"}
    assert max(read.values()) < 500_000
