"""What `raggate init` was told, or finds by asking an API -> the text of raggate.yml."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec import Struct, field

from raggate.errors import UsageError
from raggate.text.guarded import Guarded

if TYPE_CHECKING:
    from raggate.pipeline.chunk_mapping import Choose, Wanted

SCHEMA = ".raggate/raggate.schema.json"
_LEVELS: dict[str, Any] = {"ask": {"mapped": {"response": {}}, "mcp": {}}}
_EXAMPLE_NOTES = "golden/vault/notes"
_PROBE = "`raggate init --probe URL` calls an API."
_ANY_QUESTION = "What are these notes about?"


class Known(Guarded, Struct, frozen=True, kw_only=True):
    """What somebody said of the API.

    Attributes:
        preset: the engine that it is.
        url: where it runs.
        vault: the directory of the notes that it has indexed.
        question: what it is asked; empty for the name of a note.
        fields: where parts of a chunk stand, each as `part=path`.
        headers: what it wants, each as `Name: value`.
        stdio: the command of an MCP server that is started, as a shell has it.
        tool: the tool of an MCP server that searches.
        graphql: the query that a GraphQL API is asked.
        body: the JSON body that it is asked with.
        health: the path that answers 200 when it is up.
        environment: raggate's own.
    """

    preset: str | None = None
    url: str | None = None
    vault: Path | None = None
    question: str = ""
    fields: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    stdio: str | None = None
    tool: str = ""
    graphql: str = ""
    body: str = ""
    health: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def called(self) -> bool:
        """Whether an API is called."""
        return self.url is not None or self.stdio is not None

    @property
    def requested(self) -> bool:
        """Whether something was said of the requests that it takes."""
        return bool(self.headers or self.graphql or self.body or self.health)


def text_of(directory: Path, known: Known, choose: Choose | None) -> str | None:
    """Give the text of raggate.yml; None for the commented example. An API whose address is given is called.

    Args:
        directory: the top of the repository.
        known: what was said of the API.
        choose: asks at a terminal; None where nobody is there.

    Raises:
        RaggateError: for what makes no sense together, and as `discover`.
    """
    from raggate.config import schema

    _check(known)
    if known.preset is None and not known.called:
        return None
    notes = _relative_vault(directory, known.vault) if known.vault is not None else _EXAMPLE_NOTES
    made = preset(known.preset, known.url) if known.preset is not None else _discovered(directory, known, choose)
    text = _head(notes) + made
    schema.load(text.encode(), "raggate.yml")
    return text


def _check(known: Known) -> None:
    """Refuse what makes no sense together."""
    if not known.called and (known.question or known.fields or known.tool or known.requested):
        flags = "--question, --map, --header, --tool, --graphql, --body and --health"
        raise UsageError(f"{flags} are for --probe", hint=_PROBE)
    if known.preset is None and not known.called and known.vault is not None:
        raise UsageError("--vault is for --probe, --stdio and --preset", hint=_PROBE)
    if known.preset is not None and (known.fields or known.tool or known.requested or known.stdio):
        raise UsageError(
            "--map, --header, --tool, --graphql, --body, --health and --stdio are not for --preset",
            hint="It is a file: change it where your API differs.",
        )
    if known.stdio is not None and (known.url is not None or known.requested):
        flags = "--probe, --header, --graphql, --body and --health"
        raise UsageError(f"--stdio starts an MCP server, which has no address: {flags} are not for it")
    if known.health and not known.health.startswith("/"):
        raise UsageError(f"--health: expected a path such as /livez, found {known.health!r}")


def _discovered(directory: Path, known: Known, choose: Choose | None) -> str:
    """Call an API, and write the sections `api` and `ask` for it."""
    from raggate.pipeline.chunk_mapping import Wanted
    from raggate.service.discovery.bodies import body_of
    from raggate.service.discovery.headers import headers_of
    from raggate.text.redact import of_environment
    from raggate.text.yaml_writing import block

    headers = headers_of(_headers(known.headers), known.environment)
    wanted = Wanted(
        url=known.url or "",
        question=question_of(known),
        notes=_notes(known.vault),
        fields=_fields(known.fields),
        headers=headers,
        secrets=of_environment(known.environment, headers.pass_env),
        choose=choose,
        tool=known.tool,
        graphql=known.graphql,
        body=body_of(known.body),
        health=known.health,
    )
    return block(_sections(directory, known, wanted), _LEVELS)


def _sections(directory: Path, known: Known, wanted: Wanted) -> dict[str, Any]:
    from raggate.models.service import Workspace
    from raggate.pipeline.discovery import discover
    from raggate.pipeline.tool_discovery import discover_started
    from raggate.text.scratch import scratch_directory

    if known.stdio is None:
        return discover(wanted)
    vaults = {"notes": known.vault.resolve()} if known.vault is not None else {}
    with scratch_directory() as out:
        workspace = Workspace(root=directory.resolve(), out=out, vaults=vaults, environment=known.environment)
        return discover_started(wanted, _words(known), workspace)


def _words(known: Known) -> list[str]:
    """Give the words of a command, with a placeholder in place of the directory of the notes.

    Raises:
        UsageError: for none, and for quotes that are not closed.
    """
    try:
        words = shlex.split(known.stdio or "")
    except ValueError as error:
        raise UsageError(f"--stdio: {error}") from None
    if not words:
        raise UsageError("--stdio: expected a command, such as 'notes-mcp notes'")
    vault = known.vault.resolve() if known.vault is not None else None
    # not so the program itself
    return [
        words[0],
        *("{vault.notes}" if vault is not None and Path(word).resolve() == vault else word for word in words[1:]),
    ]


def preset(name: str, url: str | None) -> str:
    """Give the sections `api` and `ask` of a preset, with another address where one is given.

    Raises:
        UsageError: for a name that there is none of, and an address with a path.
    """
    from importlib.resources import files

    from raggate.text.nearest import suggestion
    from raggate.text.yaml_writing import one_line
    from raggate.text.yamlio import parse

    shelf = {item.name.removesuffix(".yml"): item for item in files("raggate.cli").joinpath("presets").iterdir()}
    if name not in shelf:
        known = ", ".join(sorted(shelf))
        raise UsageError(f"--preset: expected one of {known}; found {name!r}{suggestion(name, shelf)}")
    text = shelf[name].read_text(encoding="utf-8")
    if url is None:
        return text
    if urlsplit(url).path.strip("/"):
        raise UsageError(
            f"--probe: expected the address without a path, found {url!r}",
            hint="The preset knows the path; change it in raggate.yml where yours is another.",
        )
    usual: str | None = parse(text.encode(), name).value["api"].get("url")
    if usual is None:
        raise UsageError(f"--probe: the preset {name} starts its server, which has no address", hint="Leave one out.")
    return text.replace(f'"{usual}"', one_line(url), 1)


def question_of(known: Known) -> str:
    """Give the question that was given, or one that every search of these notes answers: a sentence of one."""
    from raggate.inputs.first_sentence import first_sentence

    if known.question or known.vault is None:
        return known.question or _ANY_QUESTION
    first = min(_notes(known.vault))
    return first_sentence((known.vault / first).read_text(encoding="utf-8", errors="replace")) or Path(first).stem


def _notes(directory: Path | None) -> dict[str, frozenset[tuple[str, ...]]]:
    """Give the notes of a directory, each with its heading paths.

    Raises:
        UsageError: when there is none.
    """
    from raggate.inputs import vault
    from raggate.inputs.headings import heading_paths

    if directory is None:
        return {}
    if next(directory.rglob("*.md"), None) is None:
        raise UsageError(
            f"--vault: {directory} has no note, which is a *.md file", hint="Name the directory that the API indexed."
        )
    return {path: heading_paths(text, path) for (_, path), text in vault.load({"notes": directory}).texts.items()}


def sent_variables(config: str) -> tuple[str, ...]:
    """Name the variables that the headers of a written configuration take from the environment."""
    from raggate.config import schema

    ask = schema.load(config.encode(), "raggate.yml").ask
    return tuple(name for spoken in (ask.mapped, ask.mcp) if spoken is not None for name in spoken.pass_env)


def _headers(given: tuple[str, ...]) -> dict[str, str]:
    """Read what `--header` says, each as `Name: value`.

    Raises:
        UsageError: for one that is not.
    """
    pairs = [text.partition(":") for text in given]
    if not all(colon for _, colon, _ in pairs) or len({name.lower() for name, _, _ in pairs}) < len(pairs):
        raise UsageError("--header: expected 'Name: value', each name once, such as 'X-API-Key: {env.API_KEY}'")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _fields(given: tuple[str, ...]) -> dict[str, str]:
    """Read what `--map` says, each as `part=path`.

    Raises:
        UsageError: for one that is not, or that names no path.
    """
    from raggate.text.field_paths import parse

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
    """Leave a copy of the schema in raggate's own directory, which git is told to pass over."""
    from importlib.resources import files

    from raggate.text.files import write_file

    data = files("raggate.config").joinpath(Path(SCHEMA).name).read_bytes()
    place = directory / SCHEMA
    if not (place.parent / ".gitignore").exists():
        write_file(place.parent / ".gitignore", b"*\n")
    write_file(place, data)


def _relative_vault(directory: Path, notes: Path) -> str:
    """Give the notes' directory as raggate.yml names it.

    Raises:
        UsageError: when it is none, or not in the repository.
    """
    if not notes.is_dir():
        raise UsageError(f"--vault: {notes}: no such directory")
    path = os.path.relpath(notes.resolve(), directory.resolve())
    if path.startswith(".."):
        raise UsageError(
            f"--vault: {notes} is not inside {directory}",
            hint="The fixture notes are part of the repository, so that every change is measured by the same.",
        )
    return Path(path).as_posix()


def _head(notes: str) -> str:
    """Write what stands before the sections of the API: the suite, and the notes."""
    from raggate.text.yaml_writing import block

    return block({"suite": "notes", "vault": {"notes": notes}}, {})
