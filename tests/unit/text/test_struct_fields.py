"""Nouns become plain dicts."""

from __future__ import annotations

from types import MappingProxyType

from msgspec import Struct, field

from raggate.text.struct_fields import as_dict


class Leaf(Struct, frozen=True):
    """A noun within others."""

    name: str
    score: float | None = None


class Tree(Struct):
    """One that holds all that ours hold."""

    leaf: Leaf
    leaves: tuple[Leaf, ...] = ()
    by_name: dict[str, list[Leaf]] = field(default_factory=dict)
    rows: list[tuple[int, bool]] = field(default_factory=list)


def test_all_the_way_down() -> None:
    """Nouns in lists, tuples and mappings become dicts, their fields in order; lists and tuples stay what they are."""
    given = as_dict(Tree(Leaf("a", 0.5), (Leaf("b"), Leaf("c")), {"d": [Leaf("d")]}, [(1, True)]))
    assert repr(given) == repr(
        {
            "leaf": {"name": "a", "score": 0.5},
            "leaves": ({"name": "b", "score": None}, {"name": "c", "score": None}),
            "by_name": {"d": [{"name": "d", "score": None}]},
            "rows": [(1, True)],
        }
    )


def test_containers_are_copies() -> None:
    """What is changed in the dict does not change the noun."""
    tree = Tree(Leaf("a"), rows=[(1, True)])
    as_dict(tree)["rows"].clear()
    assert tree.rows == [(1, True)]


def test_any_mapping_becomes_a_dict() -> None:
    """Mappings that are no dicts, which JSON does not know, become some."""
    assert as_dict(Tree(Leaf("a"), by_name=MappingProxyType({"b": [Leaf("b")]})))["by_name"] == {  # type: ignore[arg-type]
        "b": [{"name": "b", "score": None}]
    }
