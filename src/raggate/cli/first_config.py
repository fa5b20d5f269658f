"""What `raggate init` was told, or finds in the repository and by asking an API -> the text of raggate.yml."""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec import Struct, field

from raggate.base.errors import UsageError
from raggate.base.numbers import counted
from raggate.base.redact import Guarded
from raggate.base.yamlio import block, one_yaml_line as one_line

if TYPE_CHECKING:
    from raggate.models.golden import Golden, Vault
    from raggate.pipeline.tool_discovery import Wanted

SCHEMA = ".raggate/raggate.schema.json"
_LEVELS: dict[str, Any] = {"ask": {"response": {}}}
_EXAMPLE_GOLDEN = "golden/eval_set.jsonl"
_EXAMPLE_NOTES = "golden/vault/notes"
_UNNAMED = "notes"
_VAULT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_EXPOSE = re.compile(r"^[ \t]*EXPOSE[ \t]+([1-9][0-9]{0,4})(?:/tcp)?[ \t]*$", re.MULTILINE | re.IGNORECASE)
_LISTENS = re.compile(r"^[ \t]*EXPOSE\b", re.MULTILINE | re.IGNORECASE)
_HOST = re.compile(r"[\w.-]+:\d+(/|$)")
"""What begins an address whose scheme is forgotten, which is no command."""
_CONFIGURATION = re.compile(r"raggate(\..+)?\.ya?ml")
_LEVELS_DEEP = 4
_MOST_FILES = 20_000
_MOST_GOLDEN_BYTES = 16 << 20
_FIRST_BYTES = 1 << 16
_FOREIGN = frozenset(("node_modules", "vendor", "venv", "site-packages", "__pycache__"))
_ANY_QUESTION = "What are these notes about?"


class There(Struct, frozen=True, kw_only=True):
    """What a repository has already: a golden set with so many questions, the first that has an answer, and notes.

    `vaults` are the directories of the notes by vault, whose name may be empty.
    """

    golden: str = ""
    questions: int = 0
    question: str = ""
    vaults: Mapping[str, Path] = field(default_factory=dict)


def there(directory: Path, vault: Path | None) -> There:
    """Return the golden set that lies in a repository, and its notes: this directory, or those that questions name."""
    paths = [*islice(_files(directory), _MOST_FILES)]
    golden = _golden(directory, [path for path in paths if path.suffix == ".jsonl"])
    named = {} if golden is None else _named_notes(golden)
    if vault is not None:
        _relative_vault(directory, vault)
        vaults = {next(iter(named)) if len(named) == 1 else "": vault}
    else:
        notes = [path.relative_to(directory).as_posix() for path in paths if path.suffix == ".md"]
        vaults = {name: directory / root for name in named if (root := _root_of(named[name], notes)) is not None}
    if golden is not None and not vaults:
        raise UsageError(
            f"{golden.name} has {counted(len(golden.cases), 'question')}, but the notes that they name are missing",
            hint="Name their directory: `--vault DIR`. Your golden set and notes stay unchanged.",
        )
    if golden is None:
        return There(vaults=vaults)
    question = next((case.question for case in golden.cases if case.answerable), "")
    return There(golden=golden.name, questions=len(golden.cases), question=question, vaults=vaults)


def _files(directory: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(directory):
        deep = len(Path(place).relative_to(directory).parts) >= _LEVELS_DEEP
        folders[:] = sorted(name for name in folders if name[0] != "." and name not in _FOREIGN and not deep)
        yield from (Path(place, name) for name in sorted(names))


def configurations(directory: Path) -> dict[str, bytes]:
    """Return the files of a repository that are named like a suite's configuration, by their paths from its top."""
    from raggate.base.files import read_file

    paths = [path for path in islice(_files(directory), _MOST_FILES) if _CONFIGURATION.fullmatch(path.name)]
    return {path.relative_to(directory).as_posix(): read_file(path) for path in paths if path.is_file()}


def _golden(directory: Path, paths: list[Path]) -> Golden | None:
    from raggate.base.errors import RaggateError
    from raggate.base.files import read_file
    from raggate.inputs import golden

    for path in sorted(paths, key=lambda path: path.name != Path(_EXAMPLE_GOLDEN).name):
        try:
            if path.is_symlink() or path.stat().st_size > _MOST_GOLDEN_BYTES:
                continue
            data = read_file(path)
            # every question says whether it is answerable, so that other lines are not read one by one
            if b'"answerable"' in data[:_FIRST_BYTES]:
                return golden.load(data, path.relative_to(directory).as_posix())
        except (OSError, RaggateError):
            continue  # lines of something else
    return None


def _named_notes(golden: Golden) -> dict[str, set[str]]:
    named: dict[str, set[str]] = defaultdict(set)
    for case in golden.cases:
        only = case.vaults[0] if len(case.vaults) == 1 else ""
        for support in case.gold_supports:
            if support.rel_path:
                named[support.vault or only].add(support.rel_path)
    return named


def _root_of(wanted: set[str], notes: list[str]) -> str | None:
    """Return the directory in which most of these notes lie, the shortest of several; None if none of them does."""
    by_name: dict[str, list[str]] = defaultdict(list)
    for note in notes:
        by_name[note.rpartition("/")[2]].append(f"/{note}")
    roots = Counter(
        note.removesuffix(f"/{path}").lstrip("/")
        for path in wanted
        for note in by_name[path.rpartition("/")[2]]
        if note.endswith(f"/{path}")
    )
    return min(roots, key=lambda root: (-roots[root], len(root), root), default=None)


NOTHING = There()
"""An empty repository."""


class Known(Guarded, Struct, frozen=True, kw_only=True):
    """What somebody said of the API, each as the flag of its name has it; `environment` is raggate's own."""

    there: There = NOTHING
    environment: Mapping[str, str] = field(default_factory=dict)
    preset: str | None = None
    probe: str = ""
    program: str = ""
    python: str = ""
    question: str = ""
    fields: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    tool: str = ""
    body: str = ""
    health: str = ""

    @property
    def tried(self) -> bool:
        """Whether something is called or started, and asked a question."""
        return bool(self.probe or self.program or self.python)

    @property
    def url(self) -> str:
        """Where the API runs; empty if it is started."""
        return self.probe if "://" in self.probe or _HOST.match(self.probe) else ""

    @property
    def address(self) -> str:
        """The address that the API was called at, without a path; empty if none was."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}" if self.url else ""


def text_of(directory: Path, known: Known) -> str | None:
    """Return the text of raggate.yml; None for the commented example. An API whose address is given is called."""
    from raggate.config import schema

    _check(known)
    if known.preset is None and not known.tried:
        return None
    if known.preset is not None:
        text = _head(directory, known.there, "") + preset(known.preset, known.probe)
    else:
        sections = _discovered(directory, known)
        # the command of a server that is started has the name of the vault in it
        name = _named_in(sections) if known.url else ""
        text = _head(directory, known.there, name) + block(sections, _LEVELS)
    schema.load(text.encode(), "raggate.yml")
    if known.preset is not None and known.url:
        from raggate.pipeline.discovery import refuse_other_engine

        refuse_other_engine(known.preset, known.address)
    return text


def example(directory: Path, there: There, text: str) -> str:
    """Return the commented example of raggate.yml with the questions and notes that a repository has."""
    if not there.vaults:
        return text
    vaults = _vaults(directory, there, "")
    text = text.replace(f"golden: {_EXAMPLE_GOLDEN}", f"golden: {one_line(there.golden or _EXAMPLE_GOLDEN)}")
    lines = "".join(f"  {one_line(name)}: {one_line(path)}\n" for name, path in vaults.items())
    text = text.replace(f"  {_UNNAMED}: {_EXAMPLE_NOTES}\n", lines)
    return text.replace(f"{{vault.{_UNNAMED}}}", f"{{vault.{next(iter(vaults))}}}")


def _check(known: Known) -> None:
    of_requests = known.headers or known.body or known.health
    ways = {"--preset": known.preset, "--program": known.program, "--python": known.python}
    named = [flag for flag, text in ways.items() if text]
    if len(named) > 1 or (known.probe and named and not known.preset):
        raise UsageError(f"{named[-1]} cannot be combined with {'--probe' if known.probe else named[0]}: remove one")
    if (known.program or known.python) and known.tool:
        raise UsageError("--tool is for an MCP server: remove it")
    if (known.question or known.fields or known.tool or of_requests) and not known.tried:
        flags = "--question, --map, --header, --tool, --body and --health"
        raise UsageError(f"{flags} need --probe", hint="`raggate init --probe URL` calls an API.")
    if (known.fields or known.tool or of_requests) and known.preset is not None:
        raise UsageError(
            "--map, --header, --tool, --body and --health cannot be combined with --preset",
            hint="A preset is a file: edit the written raggate.yml if your API differs.",
        )
    if of_requests and not known.url:
        raise UsageError("--header, --body and --health need an address: `--probe http://localhost:8000`")
    if known.health and not known.health.startswith("/"):
        raise UsageError(f"--health: expected a path such as /livez, found {known.health!r}")


def _discovered(directory: Path, known: Known) -> dict[str, Any]:
    from raggate.base.redact import of_environment
    from raggate.config.service_settings import variables_in
    from raggate.inputs.headings import heading_paths
    from raggate.inputs.text_places import finder
    from raggate.pipeline.tool_discovery import Wanted
    from raggate.service.discovery.given import body_of, headers_of

    headers = headers_of(_headers(known.headers), known.environment)
    texts = _texts(known.there.vaults)
    wanted = Wanted(
        url=known.url,
        question=question_of(known),
        notes={path: heading_paths(text, path) for (_, path), text in texts.texts.items()},
        find=finder(texts),
        directories={str(own) for path in known.there.vaults.values() for own in (path.absolute(), path.resolve())},
        fields=_fields(known.fields),
        headers=headers,
        secrets=of_environment(known.environment, variables_in(headers.templates.values())),
        tool=known.tool,
        body=body_of(known.body),
        health=known.health,
    )
    sections = _sections(directory, known, wanted)
    ports = {int(port) for port in _EXPOSE.findall(_dockerfile(directory))}
    if known.url and len(ports) == 1 and (port := ports.pop()) < 1 << 16:
        api = {key: value for key, value in sections["api"].items() if key != "url"}
        sections["api"] = {"container": {"build": {"context": "."}, "port": port}, **api}
    return sections


def _dockerfile(directory: Path) -> str:
    from raggate.base.files import read_file

    file = directory / "Dockerfile"
    return read_file(file).decode(errors="replace") if file.is_file() else ""


def _named_in(sections: dict[str, Any]) -> str:
    """Take out the vault that the API names, or else has before every note, such as `personal/`; empty for none."""
    ask = sections["ask"]
    chunks = ask.get(ask["adapter"], {}).get("response", {}).get("chunks", {})
    name = sections.pop("vault", None) or str(chunks.get("path_prefix", "")).removesuffix("/")
    return name if _VAULT_NAME.fullmatch(name) else ""


def _sections(directory: Path, known: Known, wanted: Wanted) -> dict[str, Any]:
    from raggate.base.files import scratch_directory
    from raggate.frontends import console
    from raggate.models.service import Workspace
    from raggate.pipeline.discovery import discover
    from raggate.pipeline.program_discovery import discover_program
    from raggate.pipeline.tool_discovery import discover_started

    if known.url:
        return discover(wanted)
    vaults = {name or _UNNAMED: path.resolve() for name, path in known.there.vaults.items()}
    find = discover_started if known.probe else discover_program
    with scratch_directory() as out:
        workspace = Workspace(
            root=directory.resolve(), out=out, vaults=vaults, environment=known.environment, say=console.say
        )
        words, dockerfile = _words(known), _dockerfile(directory)
        how: dict[str, Any] = {"command": {"run": words}}
        # in the image of the repository's Dockerfile, unless that is of a server
        if dockerfile and not _LISTENS.search(dockerfile):
            how = {"container": {"build": {"context": "."}, "command": words}}
        return find(wanted, how, workspace)


def _words(known: Known) -> list[str]:
    """Return the words of a command, with a placeholder in place of the directory of the notes."""
    if known.python:
        named = [name or _UNNAMED for name in known.there.vaults]
        vaults = [word for name in named for word in ("--vault", f"{name}={{vault.{name}}}")]
        return ["python", "{shim}", known.python, *vaults]
    flag = "--program" if known.program else "--probe"
    try:
        words = shlex.split(known.program or known.probe)
    except ValueError as error:
        raise UsageError(f"{flag}: {error}") from None
    if not words:
        what = "a command" if known.program else "an address, or the command of an MCP server"
        raise UsageError(f"{flag}: expected {what}")
    names = {path.resolve(): f"{{vault.{name or _UNNAMED}}}" for name, path in known.there.vaults.items()}
    # not so the program itself
    return [words[0], *(names.get(Path(word).resolve(), word) for word in words[1:])]


def preset(name: str, url: str) -> str:
    """Return the sections `api` and `ask` of a preset, with another address where one is given."""
    from importlib.resources import files

    from raggate.base.quote import suggestion
    from raggate.base.yamlio import parse

    shelf = {item.name.removesuffix(".yml"): item for item in files("raggate.cli").joinpath("presets").iterdir()}
    if name not in shelf:
        known = ", ".join(sorted(shelf))
        raise UsageError(f"--preset: expected one of {known}, found {name!r}{suggestion(name, shelf)}")
    text = shelf[name].read_text(encoding="utf-8")
    if not url:
        return text
    if urlsplit(url).path.strip("/"):
        raise UsageError(
            f"--probe: expected the address without a path, found {url!r}",
            hint="The preset knows the path. If yours differs, change it in raggate.yml.",
        )
    usual: str | None = parse(text.encode(), name).value["api"].get("url")
    if usual is None:
        raise UsageError(f"--probe: the preset {name} starts its own server", hint="Remove --probe.")
    return text.replace(f'"{usual}"', one_line(url), 1)


def question_of(known: Known) -> str:
    """Return the question that was given, or one that every search of these notes answers: a sentence of one."""
    from raggate.inputs.notes import first_sentence

    asked = known.question or known.there.question
    if asked or not known.there.vaults:
        return asked or _ANY_QUESTION
    directory = next(iter(known.there.vaults.values()))
    (_, first), text = min(_texts({"": directory}).texts.items())
    return first_sentence(text) or Path(first).stem


def _texts(vaults: Mapping[str, Path]) -> Vault:
    """Return the notes of some directories; none where none is named."""
    from raggate.inputs import vault
    from raggate.models.golden import Vault

    for directory in vaults.values():
        if next(directory.rglob("*.md"), None) is None:
            hint = "Name the directory that the API indexed."
            raise UsageError(f"--vault: {directory} has no note, which is a *.md file", hint=hint)
    return vault.load(dict(vaults)) if vaults else Vault(directories={}, texts={}, notes={}, hash="")


def sent_variables(config: str) -> tuple[str, ...]:
    """Name the variables that the headers of a written configuration take from the environment."""
    from raggate.config import schema
    from raggate.config.service_settings import variables_in

    ask = schema.load(config.encode(), "raggate.yml").ask
    return tuple(dict.fromkeys(variables_in(ask.headers.values())))


def _headers(given: tuple[str, ...]) -> dict[str, str]:
    pairs = [text.partition(":") for text in given]
    if not all(colon for _, colon, _ in pairs) or len({name.lower() for name, _, _ in pairs}) < len(pairs):
        raise UsageError("--header: expected 'Name: value', each name once, such as 'X-API-Key: {env.API_KEY}'")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _fields(given: tuple[str, ...]) -> dict[str, str]:
    from raggate.base.field_paths import parse

    fields: dict[str, str] = {}
    for pair in given:
        name, equals, path = pair.partition("=")
        if not equals or name in fields:
            raise UsageError(f"--map: expected part=path, each part once, found {pair!r}")
        try:
            parse(path)
        except ValueError as error:
            raise UsageError(f"--map {name}: {error}") from None
        fields[name] = path
    return fields


def editor_line(action: str) -> str:
    """Write the line by which editors know the schema: that of the action's commit, or the copy of `write_schema`."""
    place = SCHEMA
    if action:
        place = f"https://raw.githubusercontent.com/{action.replace('@', '/')}/src/raggate/config/{Path(SCHEMA).name}"
    return f"# yaml-language-server: $schema={place}\n"


def write_schema(directory: Path) -> None:
    """Leave a copy of the schema in raggate's own directory, which git ignores."""
    from importlib.resources import files

    from raggate.base.files import write_file

    data = files("raggate.config").joinpath(Path(SCHEMA).name).read_bytes()
    place = directory / SCHEMA
    if not (place.parent / ".gitignore").exists():
        write_file(place.parent / ".gitignore", b"*\n")
    write_file(place, data)


def _relative_vault(directory: Path, notes: Path) -> str:
    if not notes.is_dir():
        raise UsageError(f"--vault: {notes}: no such directory")
    path = os.path.relpath(notes.resolve(), directory.resolve())
    if path.startswith(".."):
        raise UsageError(
            f"--vault: {notes} is not inside {directory}",
            hint="Move your notes into the repository, so that every change is measured with the same notes.",
        )
    return Path(path).as_posix()


def _head(directory: Path, there: There, name: str) -> str:
    golden = {"golden": there.golden} if there.golden not in {"", _EXAMPLE_GOLDEN} else {}
    return block({"suite": "notes", **golden, "vault": _vaults(directory, there, name)}, {})


def _vaults(directory: Path, there: There, name: str) -> dict[str, str]:
    """Return the vaults as raggate.yml has them; one that the questions do not name has this name."""
    named = {key or name or _UNNAMED: _relative_vault(directory, path) for key, path in there.vaults.items()}
    return named or {_UNNAMED: _EXAMPLE_NOTES}
