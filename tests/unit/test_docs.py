"""The pages of the documentation: each can be found from the index, no link is dead, and every command exists."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import click
import yaml
from pydantic import BaseModel
from tools.generate_docs import model_in

from raggate.base.errors import ExitCode
from raggate.cli import main
from raggate.config.gate_settings import DEFAULT_TOLERANCE
from raggate.config.schema import Config

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
INDEX = DOCS / "README.md"
PAGES = [*sorted(DOCS.glob("*.md")), *sorted((DOCS / "systems").glob("*.md"))]
OTHERS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "tests/README.md")),
    *sorted(ROOT.glob("examples/*/README.md")),
]
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_COMMANDS = re.compile(r"^ *```(?:sh|console)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(raggate [a-z][^`\n]*)`")


def links(page: Path) -> Iterator[str]:
    """Yield the targets of a page's links that lead into the repository."""
    for target in _LINK.findall(_CODE.sub("", _FENCED.sub("", page.read_text(encoding="utf-8")))):
        if "://" not in target:
            yield target


@cache
def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", _FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", re.sub(r"\[(.*?)\]\(.*?\)", r"\1", text)).lower().replace(" ", "-") for text in headings
    }


def dead(page: Path, target: str) -> bool:
    """Return whether a link leads to no file, or to no heading of one."""
    name, _, anchor = target.partition("#")
    there = (page.parent / name).resolve() if name else page
    return not there.exists() or bool(anchor and there.suffix == ".md" and anchor not in anchors(there))


def test_no_link_is_dead() -> None:
    """Every link of the pages leads to a file of the repository, and to a heading that it has."""
    assert [
        f"{page.name}: {target}" for page in (*PAGES, *OTHERS) for target in links(page) if dead(page, target)
    ] == []


def test_what_a_colleague_is_sent_to_is_there() -> None:
    """Each module that CONTRIBUTING.md names is a file, and each name in capitals one of the program's or of those."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    files = [path for folder in ("src", "tests", "tools") for path in (ROOT / folder).rglob("*.py")]
    named = set(re.findall(r"`([a-z_/]+\.py)`", page))
    modules = {name: [path for path in files if path.as_posix().endswith(f"/{name}")] for name in named}
    assert [name for name, paths in modules.items() if not paths] == []
    texts = [path.read_text() for path in {*(ROOT / "src").rglob("*.py"), *chain(*modules.values())}]
    defined = {name for text in texts for name in re.findall(r"^([A-Z][A-Z_]+)\b", text, re.MULTILINE)}
    assert set(re.findall(r"`([A-Z][A-Z_]{3,})`", page)) - defined == set()


def test_the_first_pages_are_short() -> None:
    """README has at most 180 lines and 900 words, CONTRIBUTING.md at most 150 lines; links and code are no words."""
    readme, contributing = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "CONTRIBUTING.md"))
    words = re.sub(r"\]\([^)]*\)", "", _FENCED.sub("", readme)).replace("|", " ").split()
    assert (len(readme.splitlines()) <= 180, len(words) <= 900) == (True, True)
    assert len(contributing.splitlines()) <= 150


def test_every_page_can_be_found() -> None:
    """The index links every page, and the README the index."""
    linked = {(DOCS / target.partition("#")[0]).resolve() for target in links(INDEX)}
    assert [page.name for page in PAGES if page != INDEX and page.resolve() not in linked] == []
    assert "docs/README.md" in links(ROOT / "README.md")


def called(page: Path) -> Iterator[str]:
    """Yield the command lines of raggate that a page shows, in blocks and in sentences."""
    text = page.read_text(encoding="utf-8")
    for block in _COMMANDS.findall(text):
        # a line may go on in the next
        for line in block.replace("\\\n", " ").splitlines():
            if line.strip().startswith("raggate "):
                yield line.strip()
    yield from _INLINE.findall(_FENCED.sub("", text))


def unknown(line: str) -> str:
    """Return the first word of a command line that is no command or flag of raggate; nothing where all are."""
    words = re.split(r" [#|] ", line)[0].split()[1:]
    main.cli.loaded()
    command: click.Command = main.cli
    for word in words:
        if word.startswith("--") or re.fullmatch("-[a-z]", word):
            flags = {flag for option in command.params for flag in (*option.opts, *option.secondary_opts)}
            if word.partition("=")[0] not in {*flags, "--help", "-h"}:
                return word
        elif isinstance(command, click.Group) and re.fullmatch("[a-z]+", word):
            if word not in command.commands:
                return word
            command = command.commands[word]
    return ""


def test_every_command_exists() -> None:
    """Each command that a page shows is one of raggate's, with flags that it has."""
    lines = [(page, line) for page in (*PAGES, *OTHERS) for line in called(page)]
    assert len(lines) > 100
    assert [f"{page.name}: {line} ({word})" for page, line in lines if (word := unknown(line))] == []


def test_every_exit_code_is_named() -> None:
    """README and verdicts.md have a row for every exit code; the outputs of the action name it."""
    lists = {
        "README.md": r"^\| {} \| ",
        "docs/verdicts.md": r"^\| [^|]+ \| {} \| ",
        "action.yml": r"exit code of the verdict.*?\b{}\b",
    }
    missing = [
        (name, code.name)
        for name, row in lists.items()
        for code in ExitCode
        if not re.search(row.format(int(code)), (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    ]
    assert missing == []


def test_what_the_how_tos_say_of_codes_and_defaults() -> None:
    """The exit codes and the tolerance that the how-tos name are the program's."""
    red = (DOCS / "red-pull-request.md").read_text(encoding="utf-8")
    names = {"regression": ExitCode.REGRESSION, "cannot tell": ExitCode.CANNOT_TELL, "usage error": ExitCode.USAGE}
    for name, code in {**names, "invariant broken": ExitCode.INVARIANT}.items():
        assert f"{name} (exit {code})" in red
    assert f"Exit {ExitCode.PARTIAL} says that only" in red
    assert f"Exit {ExitCode.INTERNAL} is a bug" in red
    assert f"Exit {ExitCode.INTERRUPTED} is a cancelled run" in red
    assert f"`gate.tolerance` is {DEFAULT_TOLERANCE}:" in (DOCS / "evidence.md").read_text(encoding="utf-8")


def test_every_end_to_end_test_is_told() -> None:
    """The page about tests says of each file of end-to-end tests what it tries."""
    page = (ROOT / "tests" / "README.md").read_text(encoding="utf-8")
    assert [file.name for file in (ROOT / "tests" / "e2e").glob("test_*.py") if file.name not in page] == []


NUMBER_OF_KEY = re.compile(r"`([a-z]+(?:\.[a-z_]+)+)`(?: \(|, )(\d+(?:\.\d+)?)(?:\)| (?:[a-z]+ )?unless set)")
"""A key with its number beside it: `gate.min_cases` (10), or 90 days unless set."""


def test_the_number_beside_a_key_is_its_default() -> None:
    """What a page says that a key holds unless somebody sets it, it holds by the generated page of all keys."""
    reference = (DOCS / "configuration.md").read_text(encoding="utf-8")
    sections = re.split(r"^## `(\w+)`\n", reference, flags=re.MULTILINE)
    defaults = {
        f"{section}.{key}": default
        for section, text in zip(sections[1::2], sections[2::2], strict=True)
        for key, default in re.findall(r"^\| `([a-z_.]+)` \| `([^`]+)`", text, re.MULTILINE)
    }
    assert defaults["gate.tolerance"] == str(DEFAULT_TOLERANCE)
    named = [match for page in (*PAGES, *OTHERS) for match in NUMBER_OF_KEY.findall(page.read_text(encoding="utf-8"))]
    assert len(named) > 1
    assert [(key, number) for key, number in named if defaults.get(key, number) != number] == []


_KEY = re.compile(rf"`((?:{'|'.join(Config.model_fields)})(?:\.[a-z_]+)+)`")
_FILES = (".log", ".md", ".py", ".sh", ".json")


def is_key(path: str) -> bool:
    """Return whether a dotted name is a key of raggate.yml; below a mapping of names everything is."""
    model: type[BaseModel] | None = Config
    for name in path.split("."):
        if model is None:
            return True
        if name not in model.model_fields:
            return False
        annotation = model.model_fields[name].annotation
        model = None if "dict" in str(annotation) else model_in(annotation)
    return True


def test_every_key_that_a_page_names_exists() -> None:
    """Each dotted name of a page that begins with a section of raggate.yml is one of its keys."""
    named = {(page.name, key) for page in PAGES for key in _KEY.findall(page.read_text(encoding="utf-8"))}
    assert len(named) > 80
    wrong = {(page, key) for page, key in named if not key.endswith(_FILES) and not is_key(key)}
    assert sorted(wrong) == []


def steps(page: Path) -> Iterator[dict[str, Any]]:
    """Yield the steps of the workflows that a page shows, and of parts of them."""
    for block in re.findall(r"^ *```yaml\n(.*?)^ *```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        document = yaml.safe_load(textwrap.dedent(block))
        jobs = document.get("jobs", {}).values() if isinstance(document, dict) else [{"steps": document}]
        for job in jobs:
            yield from (step for step in job.get("steps", ()) if isinstance(step, dict))


def test_every_input_that_a_page_sets_exists() -> None:
    """Each step of the action that a page shows has only inputs of the action."""
    inputs = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"]
    shown = [
        (page.name, name)
        for page in (*PAGES, *OTHERS)
        for step in steps(page)
        if str(step.get("uses", "")).startswith("OWNER/raggate@")
        for name in step.get("with", {})
    ]
    assert len(shown) > 10
    assert [name for name in shown if name[1] not in inputs] == []
