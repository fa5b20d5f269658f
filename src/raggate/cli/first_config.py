"""What `raggate init` was told, or finds by asking an API -> the text of raggate.yml."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from raggate.errors import UsageError

if TYPE_CHECKING:
    from raggate.pipeline.discovery import Choose

SCHEMA = ".raggate/raggate.schema.json"
_LEVELS: dict[str, Any] = {"ask": {"mapped": {"response": {}}}}
_EXAMPLE_NOTES = "golden/vault/notes"
_PROBE = "`raggate init --probe URL` calls an API."
_ANY_QUESTION = "What are these notes about?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What somebody said of the API.

    Attributes:
        preset: the engine that it is.
        url: where it runs.
        vault: the directory of the notes that it has indexed.
        question: what it is asked; empty for the name of a note.
        fields: where parts of a chunk stand, each as `part=path`.
        headers: what it wants, each as `Name: value`.
        environment: raggate's own.
    """

    preset: str | None = None
    url: str | None = None
    vault: Path | None = None
    question: str = ""
    fields: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)


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

    if known.url is None and (known.question or known.fields or known.headers):
        raise UsageError("--question, --map and --header are for --probe", hint=_PROBE)
    if known.preset is None and known.url is None:
        if known.vault is not None:
            raise UsageError("--vault is for --probe and --preset", hint=_PROBE)
        return None
    if known.preset is not None and (known.fields or known.headers):
        raise UsageError(
            "--map and --header are not for --preset", hint="It is a file: change it where your API differs."
        )
    notes = _relative_vault(directory, known.vault) if known.vault is not None else _EXAMPLE_NOTES
    text = _head(notes) + (preset(known.preset, known.url) if known.preset is not None else _discovered(known, choose))
    schema.load(text.encode(), "raggate.yml")
    return text


def _discovered(known: Known, choose: Choose | None) -> str:
    """Call an API, and write the sections `api` and `ask` for it."""
    from raggate.pipeline.discovery import Wanted, discover
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
    )
    return block(discover(wanted), _LEVELS)


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
    usual: str = parse(text.encode(), name).value["api"]["url"]
    return text.replace(f'"{usual}"', one_line(url), 1)


def question_of(known: Known) -> str:
    """Give the question that was given, or one that some note should answer: its name."""
    paths = _notes(known.vault)
    return known.question or (Path(min(paths)).stem if paths else _ANY_QUESTION)


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
