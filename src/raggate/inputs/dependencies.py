"""Two commits -> which versions their lock files, manifests and Dockerfiles name otherwise. Context for a reader.

The files are hostile text. They are read out of git, so much of them and no more, and nothing of them is run. It
decides nothing, so whatever cannot be read is named without versions, or not at all.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import Any

from raggate.base import files
from raggate.base.dates import within
from raggate.base.errors import CannotTell, RaggateError
from raggate.base.jsonio import fields, parse_object
from raggate.base.numbers import counted
from raggate.base.quote import cut, listed
from raggate.inputs import sources
from raggate.inputs.committed import Commit
from raggate.inputs.git_objects import Store, find

SHOWN_FILES = 3
SHOWN_NAMES = 3
MOST_FILES = 10
"""Files whose versions are read; others are only named."""
MOST_FOLDERS = 200
"""Folders that are looked into, those nearest to the top first: each may be a request to a server."""
MOST_LEVELS = 20
MOST_BYTES = 4 << 20
"""Bytes of a file whose versions are read."""
_LONGEST_LINE = 4_096
_MOST_DOTS = 50
"""In a line of TOML: a key takes time by the square of its parts."""
READ_S = 20
"""Seconds that reading the versions of all files may take."""

Versions = dict[str, set[str]]
_Read = Callable[[str], bytes | None]
_Pairs = Iterator[tuple[str, Any]]
_Reader = Callable[[list[str]], _Pairs]

_NAME = re.compile(r"@?\w[\w.:/-]{0,99}")
_VERSION = re.compile(r"[\w.+!*<>=~^,: -]{1,60}")
_REQUIREMENT = re.compile(r"([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?(.*)")
_FROM = re.compile(r"\s*FROM\s+(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?", re.IGNORECASE)
_UNPINNED = "unpinned"


def changes(
    root: Path,
    base: str,
    head: str,
    remote: sources.Remote | None = None,
    *,
    on_disk: bool = False,
    branched: bool = True,
) -> tuple[str, ...]:
    """Return a text for each file whose versions differ, such as `requirements.txt (haystack-ai 2.20.0 → 3.4.0)`.

    Files anywhere in the repository of `root` count, those on disk in place of `head` if so told. Of a branch of `base`
    only its own edits count, and those of the base are named apart.
    """
    top = sources.top_of(root, remote)
    if top is None or (base == head and not on_disk):
        return ()
    try:
        with sources.at(top, base, remote) as before, sources.at(top, head, remote) as after:
            if not isinstance(before, Commit) or not isinstance(after, Commit):
                return ()
            objects = before.objects
            start = objects.merge_base(before.commit, after.commit) if branched else before.commit
            if start is None:
                return ()
            if not on_disk:
                own = _between(objects, start, after.objects, after.commit)
            else:
                old = partial(_committed, objects, objects.tree_of(start))
                paths = [path for path in sources.changed_files(top, start, remote) if _reader(path)]
                own = _described(paths, old, partial(_on_disk, top))
            return own + _of_base(objects, start, before.commit, own)
    except (RaggateError, OSError):
        return ()


def of_branch(before: Store, base: str, after: Store, head: str) -> tuple[str, ...]:
    """Return what `changes` does, of two commits whose objects are at hand."""
    try:
        start = before.merge_base(base, head)
        if start is None:
            return ()
        own = _between(before, start, after, head)
        return own + _of_base(before, start, base, own)
    except RaggateError:
        return ()


def _of_base(objects: Store, start: str, base: str, own: tuple[str, ...]) -> tuple[str, ...]:
    """Describe what the base has changed since a branch left it, and the branch has not."""
    texts = () if start == base else _between(objects, start, objects, base)
    return tuple(f"only in the base: {text}" for text in texts if text not in own)


def _between(before: Store, base: str, after: Store, head: str) -> tuple[str, ...]:
    """Describe the files with versions that two commits have otherwise; equal folders are not looked into."""
    trees = before.tree_of(base), after.tree_of(head)
    paths = []
    folders = [("", *trees)]
    # those that are appended meanwhile too
    for prefix, own, other in islice(folders, MOST_FOLDERS):
        left, right = (store.tree(tree) if tree else {} for store, tree in ((before, own), (after, other)))
        for name in sorted({*left, *right}):
            pair = left.get(name), right.get(name)
            if pair[0] is not None and pair[1] is not None and pair[0].id == pair[1].id:
                continue
            inner = ["" if entry is None or entry.kind != "tree" else entry.id for entry in pair]
            if any(inner) and prefix.count("/") < MOST_LEVELS:
                folders.append((f"{prefix}{name}/", inner[0], inner[1]))
            if any(entry is not None and entry.kind == "file" for entry in pair) and _reader(f"{prefix}{name}"):
                paths.append(f"{prefix}{name}")
    return _described(paths, partial(_committed, before, trees[0]), partial(_committed, after, trees[1]))


def loaded(before: Iterable[str], now: Iterable[str], beside: tuple[str, ...]) -> tuple[str, ...]:
    """Add to the texts of changed files which packages, each `name version`, a program loads otherwise than before."""
    left, right = (
        {name: {version} for name, _, version in (text.partition(" ") for text in sorted(texts)) if version}
        for texts in (before, now)
    )
    if not left or not right:
        return beside
    own = {name: text for name, text in _compared(left, right).items() if not any(text in other for other in beside)}
    return (*beside, _text("loaded by the program", own, Counter())) if own else beside


def _committed(objects: Store, tree: str, path: str) -> bytes | None:
    entry = find(objects, tree, path)
    return None if entry is None or entry.kind != "file" else objects.blob(entry, limit=MOST_BYTES)


def _on_disk(top: Path, path: str) -> bytes | None:
    return files.read_file(top / path, most_bytes=MOST_BYTES) if (top / path).exists() else None


def _described(paths: list[str], before: _Read, after: _Read) -> tuple[str, ...]:
    """Describe what changed in files, those nearest to the top first; the last text counts those that are left out."""
    paths = sorted(paths, key=lambda path: (path.count("/"), path))
    by_path: dict[str, dict[str, str] | None] = dict.fromkeys(paths)
    with suppress(CannotTell), within(READ_S, CannotTell(f"the versions were not read within {READ_S} s")):
        for path in paths[:MOST_FILES]:
            by_path[path] = _changed(path, before, after)
    counts = Counter(name for own in by_path.values() for name in own or ())
    texts = [_text(path, own, counts) for path, own in by_path.items() if own is None or own]
    left = len(texts) - SHOWN_FILES
    return (*texts[:SHOWN_FILES], *([counted(left, "more file")] if left > 0 else []))


def _text(path: str, own: Mapping[str, str] | None, counts: Mapping[str, int]) -> str:
    """Write a file and its changes: first those that another file has too, as a manifest has the direct ones."""
    path = cut(path.encode("utf-8", "surrogateescape").decode(errors="replace"), limit=100)
    if own is None:
        return path
    names = sorted(own, key=lambda name: (-min(counts[name], 2), "→" not in own[name], name))
    return f"{path} ({listed([own[name] for name in names], SHOWN_NAMES)})"


def _changed(path: str, before: _Read, after: _Read) -> dict[str, str] | None:
    """Return by name what changed of a file's versions; None if they cannot be told."""
    read = _reader(path)
    try:
        old, new = before(path), after(path)
        if old is None or new is None or read is None:
            return {"": "new file" if old is None else "removed"}
        return _compared(*(_collected(read(_lines(data))) for data in (old, new)))
    except (RaggateError, OSError, ValueError, RecursionError):
        return None


def _compared(old: Versions, new: Versions) -> dict[str, str]:
    names = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
    return {name: _change(name, old.get(name), new.get(name)) for name in names}


def _change(name: str, old: set[str] | None, new: set[str] | None) -> str:
    # a version may be an address, which may have a password
    before, after = (
        " and ".join(sorted(versions)) if len(versions) < 4 and all(map(_VERSION.fullmatch, versions)) else ""
        for versions in (old or set(), new or set())
    )
    if old is None or new is None:
        version = f" {after or before}" if after or before else ""
        return f"{name}{version} {'added' if old is None else 'removed'}"
    return f"{name} {before} → {after}" if before and after and before != after else f"{name} changed"


def _lines(data: bytes) -> list[str]:
    lines = data.decode().replace("\r\n", "\n").split("\n")
    if len(data) > MOST_BYTES or any(len(line) > _LONGEST_LINE for line in lines):
        raise ValueError("more than is read")
    return lines


def _collected(pairs: _Pairs) -> Versions:
    versions: Versions = {}
    for name, version in pairs:
        if not _NAME.fullmatch(name):
            raise ValueError("not the name of a package")
        versions.setdefault(name, set()).add(str(version).strip() or _UNPINNED)
    return versions


def _requirements(lines: Iterable[object]) -> _Pairs:
    """Yield name and version of requirements as pip writes them; nothing for an option."""
    for line in lines:
        text = re.split(r"\s#|;|\s--|\\$", line.strip(), maxsplit=1)[0] if isinstance(line, str) else ""
        if found := _REQUIREMENT.fullmatch(text.strip()):
            version = found[2].strip()
            exact = version.removeprefix("===").removeprefix("==").strip()
            yield re.sub(r"[-_.]+", "-", found[1]).lower(), version if set(exact) & set(",<>=~!") else exact


def _tables(tables: Iterable[object], *kinds: str) -> _Pairs:
    """Yield name and version of tables of dependencies, as Cargo, npm and Poetry write them."""
    for table, kind in product(tables, kinds):
        for name, version in fields(fields(table).get(kind)).items():
            yield name, version if isinstance(version, str) else fields(version).get("version", str(version))


def _toml(lines: list[str]) -> dict[str, Any]:
    if any(line.count(".") > _MOST_DOTS for line in lines):
        raise ValueError("more than is read")
    return tomllib.loads("\n".join(lines))


def _json(lines: list[str]) -> dict[str, Any]:
    return parse_object("\n".join(lines).encode(), "it")


def _lock(lines: list[str]) -> _Pairs:
    packages = _toml(lines).get("package")
    for row in map(fields, packages if isinstance(packages, list) else []):
        yield str(row.get("name")), row.get("version", "")


def _pyproject(lines: list[str]) -> _Pairs:
    document = _toml(lines)
    project, poetry = fields(document.get("project")), fields(fields(document.get("tool")).get("poetry"))
    if "requires-python" in project:
        yield "python", project["requires-python"]
    optional, groups = fields(project.get("optional-dependencies")), fields(document.get("dependency-groups"))
    for texts in (project.get("dependencies"), *optional.values(), *groups.values()):
        yield from _requirements(texts if isinstance(texts, list) else [])
    yield from _tables([poetry, *fields(poetry.get("group")).values()], "dependencies", "dev-dependencies")


def _cargo(lines: list[str]) -> _Pairs:
    document = _toml(lines)
    tables = [document, document.get("workspace"), *fields(document.get("target")).values()]
    return _tables(tables, "dependencies", "dev-dependencies", "build-dependencies")


def _npm(lines: list[str]) -> _Pairs:
    return _tables([_json(lines)], "dependencies", "devDependencies", "optionalDependencies", "peerDependencies")


def _npm_lock(lines: list[str]) -> _Pairs:
    document = _json(lines)
    yield from _tables([document], "dependencies")
    for place, own in fields(document.get("packages")).items():
        if place:
            yield place.rpartition("node_modules/")[2], fields(own).get("version", "")


def _go(lines: list[str]) -> _Pairs:
    block = ""
    for line in lines:
        words = line.partition("//")[0].split()
        if words[1:] == ["("]:
            block = words[0]
        elif words == [")"]:
            block = ""
        elif words:
            verb, *rest = [block, *words] if block else words
            if verb == "require" and len(rest) == 2:
                yield rest[0], rest[1]
            elif verb == "go" and len(rest) == 1:
                yield verb, rest[0]
            elif verb == "replace" and "=>" in rest:
                yield rest[0], " ".join(rest[1:])


def _docker(lines: list[str]) -> _Pairs:
    stages: set[str] = set()
    for found in filter(None, map(_FROM.match, lines)):
        image, _, digest = found[1].partition("@")
        name, colon, tag = image.rpartition(":") if ":" in image.rpartition("/")[2] else (image, "", "")
        if image.lower() not in stages:
            yield name or image, " ".join(filter(None, (tag if colon else "", digest[:19])))
        stages |= {found[2].lower()} if found[2] else set()


_READERS: Mapping[str, _Reader] = {
    **dict.fromkeys(("uv.lock", "poetry.lock", "pdm.lock", "Cargo.lock"), _lock),
    **dict.fromkeys(("package-lock.json", "npm-shrinkwrap.json"), _npm_lock),
    **dict.fromkeys(("Dockerfile", "Containerfile"), _docker),
    "pyproject.toml": _pyproject,
    "Cargo.toml": _cargo,
    "package.json": _npm,
    "go.mod": _go,
}
_PIP = re.compile(r"(?:.*/)?(?:[^/]*(?:requirements|constraints)[^/]*|requirements/[^/]*)\.(?:txt|in)")
_DOCKER = re.compile(r"(?:.*/)?(?:Dockerfile\.[^/]+|[^/]+\.[Dd]ockerfile)")


def _reader(path: str) -> _Reader | None:
    """Return what reads the versions of a file, by its name; None for any other file."""
    if _PIP.fullmatch(path):
        return _requirements
    return _docker if _DOCKER.fullmatch(path) else _READERS.get(path.rpartition("/")[2])
