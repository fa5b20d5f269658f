"""Golden-set entries as rows of what they say, and what is lost between two of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from raggate.base.jsonio import as_dict, dumps
from raggate.base.quote import cut
from raggate.models.golden import Case, Support

Row = Mapping[str, Any]
Kind = Literal["dropped", "changed", "filled"]

_CASE = Case(id="", question="", answerable=True)
_SUPPORT = Support(rel_path="")
_SHOWN = 60


class Note(Struct, frozen=True, kw_only=True):
    """One thing that a conversion does to one key of one case. All texts are harmless lines.

    `dropped`: the other side has no place for it. `changed`: it says something else there. `filled`: nothing was said,
    and the other side makes a default explicit; nothing is lost. `case` is empty for what is said of the whole file.
    """

    case: str
    key: str
    kind: Kind
    message: str

    @property
    def lost(self) -> bool:
        """Whether the way back cannot restore it."""
        return self.kind != "filled"


def note(case: str, key: str, kind: Kind, message: str) -> Note:
    """Make a note, whatever its texts hold."""
    return Note(case=cut(case, limit=100), key=cut(key, limit=100), kind=kind, message=cut(message))


def case_row(case: Case, supports: Sequence[Support] = ()) -> dict[str, Any]:
    """Return what a case says, as keys of the golden set, without what is a default.

    Args:
        supports: what `gold_supports` is derived to; where it is that, it says nothing of its own.
    """
    row = {
        key: _plain_value(value)
        for key, value in as_dict(case).items()
        if key not in {"hash", "line", "gold_supports"} and value not in (getattr(_CASE, key), ())
    }
    if "modes" in row:
        row["retriever_types"] = row.pop("modes")
    if case.gold_supports and case.gold_supports != tuple(supports):
        row["gold_supports"] = [support_row(support) for support in case.gold_supports]
    return {**row, "id": case.id, "question": case.question, "answerable": case.answerable}


def support_row(support: Support) -> dict[str, Any]:
    """Return what a support says, without what is a default."""
    return {key: _plain_value(value) for key, value in as_dict(support).items() if value != getattr(_SUPPORT, key)}


def differences(case: str, before: Row, after: Row | None) -> Iterator[Note]:
    """Report the differences of a row before and after a round trip through another format.

    Args:
        after: what came back; None when the entry is gone.
    """
    if after is None:
        yield note(case, "", "dropped", "the whole case")
        return
    for key, value in before.items():
        if key == "gold_supports":
            yield from _supports(case, value, after)
        elif key not in after:
            yield note(case, key, "dropped", _written(value))
        else:
            yield from _values(case, key, value, after[key])
    for key in after:
        if key not in before and key != "gold_supports":
            yield note(case, key, "filled", _written(after[key]))
    if "gold_supports" in after and "gold_supports" not in before:
        yield note(case, "gold_supports", "filled", f"{len(after['gold_supports'])} documents")


def _values(case: str, key: str, value: Any, other: Any) -> Iterator[Note]:
    if value == other:
        return
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        for name, inner in value.items():
            if name not in other:
                yield note(case, f"{key}.{name}", "dropped", _written(inner))
            elif inner != other[name]:
                yield note(case, f"{key}.{name}", "changed", f"{_written(inner)} becomes {_written(other[name])}")
        for name in other:
            if name not in value:
                yield note(case, f"{key}.{name}", "filled", _written(other[name]))
        return
    if isinstance(value, list) and isinstance(other, list):
        gone = [item for item in value if item not in other]
        if gone:
            yield note(case, key, "dropped", _written(gone))
            return
    yield note(case, key, "changed", f"{_written(value)} becomes {_written(other)}")


def _supports(case: str, supports: Sequence[Row], after: Row) -> Iterator[Note]:
    """Follow each support: it may come back whole, with fewer keys, as a document id, or not at all."""
    remaining = list(after.get("gold_supports", ()))
    documents, chunks = after.get("expected_doc_ids", ()), after.get("expected_chunk_ids", ())
    for index, support in enumerate(supports):
        where = f"gold_supports[{index}]"
        names = [key for key in ("rel_path", "doc_id", "chunk_id") if key in support]
        match = max(
            (other for other in remaining if any(other.get(key) == support[key] for key in names)),
            key=lambda other: sum(other.get(key) == value for key, value in support.items()),
            default=None,
        )
        if match is not None:
            remaining.remove(match)
            yield from _values(case, where, support, match)
            continue
        path = support.get("rel_path")
        match = next((other for other in remaining if path is not None and other.get("doc_id") == path), None)
        if match is not None:
            remaining.remove(match)
            yield note(case, f"{where}.rel_path", "changed", f"{_written(path)} becomes a document id")
            rest = {key: value for key, value in support.items() if key != "rel_path"}
            yield from _values(case, where, rest, {key: value for key, value in match.items() if key != "doc_id"})
            continue
        for key, value in support.items():
            if key == "rel_path" and value in documents:
                yield note(case, f"{where}.{key}", "changed", f"{_written(value)} becomes a document id")
            elif not ((key == "doc_id" and value in documents) or (key == "chunk_id" and value in chunks)):
                yield note(case, f"{where}.{key}", "dropped", _written(value))
    if remaining:
        # what another key named has become a support of its own
        yield note(case, "gold_supports", "changed", f"{len(remaining)} more")


def _plain_value(value: Any) -> Any:
    return [_plain_value(item) for item in value] if isinstance(value, tuple | list) else value


def _written(value: Any) -> str:
    return cut(dumps(value).decode(), limit=_SHOWN)
