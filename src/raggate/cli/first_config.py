"""What `raggate init` was told, or finds by asking an API -> the text of raggate.yml."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from raggate.errors import UsageError

if TYPE_CHECKING:
    from raggate.pipeline.discovery import Choose

SCHEMA = ".raggate/raggate.schema.json"
_LEVELS: dict[str, Any] = {"ask": {"mapped": {"response": {}}}}
_ANY_QUESTION = "What do these notes tell about?"


def found(url: str, question: str, notes: Path | None, fields: Mapping[str, str], choose: Choose | None) -> str:
    """Call an API, and write the sections `api` and `ask` for it.

    Args:
        url: where it runs.
        question: what it is asked.
        notes: the notes that it has indexed; None where nobody said.
        fields: part of a chunk -> its path, as somebody said it.
        choose: asks at a terminal; None where nobody is there.

    Raises:
        RaggateError: as `discover`.
    """
    from raggate.pipeline.discovery import Wanted, discover
    from raggate.text.yaml_writing import block

    wanted = Wanted(url=url, question=question, notes=_paths(notes), fields=fields, choose=choose)
    return block(discover(wanted), _LEVELS)


def preset(name: str, url: str | None) -> str:
    """Give the sections `api` and `ask` of a preset, with another address where one is given.

    Raises:
        UsageError: for a name that there is none of, and an address with a path.
    """
    from importlib.resources import files

    from raggate.text.nearest import nearest
    from raggate.text.yaml_writing import one_line
    from raggate.text.yamlio import parse

    shelf = {item.name.removesuffix(".yml"): item for item in files("raggate.cli").joinpath("presets").iterdir()}
    if name not in shelf:
        like = nearest(name, shelf)
        meant = f"; did you mean {like!r}?" if like else ""
        raise UsageError(f"--preset: expected one of {', '.join(sorted(shelf))}; found {name!r}{meant}")
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


def checked(text: str) -> str:
    """Give the text of a configuration that can be read.

    Raises:
        UsageError: naming what is wrong in it.
    """
    from raggate.config import schema

    schema.load(text.encode(), "raggate.yml")
    return text


def question_of(given: str, notes: Path | None) -> str:
    """Give the question that was given, or one that some note should answer: its name."""
    paths = _paths(notes)
    return given or (Path(min(paths)).stem if paths else _ANY_QUESTION)


def _paths(notes: Path | None) -> set[str]:
    from raggate.inputs import vault

    return {path for _, path in vault.load({"notes": notes}).texts} if notes is not None else set()


def mapped_fields(given: tuple[str, ...]) -> dict[str, str]:
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


def relative_vault(directory: Path, notes: Path) -> str:
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


def head(notes: str) -> str:
    """Write what stands before the sections of the API: the suite, and the notes."""
    from raggate.text.yaml_writing import block

    return block({"suite": "notes", "vault": {"notes": notes}}, {})
