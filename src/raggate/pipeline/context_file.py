"""What reports tell beside a run, as `aside.json` of its directory holds it."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace
from pydantic import ValidationError

from raggate.errors import UsageError
from raggate.models.comparison import STORED_KEYS, from_stored, to_stored
from raggate.models.verdict import ReportContext
from raggate.pipeline.run_directory import HINT
from raggate.text.files import read_file, write_atomic
from raggate.text.jsonio import JsonObject, Shape, as_dict, dumps, parse_object
from raggate.text.quote import first_problem

FILE = "aside.json"
"""What the file is called."""

_KEYS = {"source_lines": "places", "expired_waivers_resolved": "waivers_settled"}
"""Fields of a context whose keys in the file have other names."""

_CONTEXT: Shape[ReportContext] = Shape(ReportContext)


def write(directory: Path, context: ReportContext) -> None:
    """Write `aside.json`, what reports tell that is not of the run itself."""
    stored = {_KEYS.get(name, name): value for name, value in as_dict(context).items() if name != "forge"}
    if context.preview is not None:
        stored["preview"]["rows"] = [to_stored(delta) for delta in context.preview.rows]
        stored["preview"]["vault"] = [str(change) for change in context.preview.vault]
    write_atomic(directory / FILE, dumps(stored, pretty=True))


def read(directory: Path) -> ReportContext:
    """Read `aside.json`; an empty one when there is none.

    Raises:
        UsageError: when the file does not hold what it should.
    """
    path = directory / FILE
    if not path.exists():
        return ReportContext()
    stored = parse_object(read_file(path, HINT), str(path))
    try:
        return replace(_CONTEXT.validate_python(_with_fields(stored)), forge="")
    except ValidationError as error:
        raise UsageError(f"{path}: {first_problem(error, keys=_KEYS | STORED_KEYS)}") from None


def _with_fields(stored: JsonObject) -> JsonObject:
    """Return a stored context whose keys, also in rows and notes of its preview, are the names of the fields."""
    fields = {key: name for name, key in _KEYS.items()}
    context = {fields.get(key, key): value for key, value in stored.items()}
    preview = context.get("preview")
    if not isinstance(preview, dict):
        return context
    rows, notes = preview.get("rows"), preview.get("vault")
    if isinstance(rows, list):
        rows = [from_stored(row) if isinstance(row, dict) else row for row in rows]
        preview = {**preview, "rows": rows}
    if isinstance(notes, list):
        notes = [dict(zip(("kind", "note"), note.split(" ", 1), strict=False)) for note in map(str, notes)]
        preview = {**preview, "vault": notes}
    return {**context, "preview": preview}
