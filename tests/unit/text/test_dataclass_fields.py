"""Dataclasses become plain dicts."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

import pytest

from raggate.text.dataclass_fields import as_dict


@dataclass(frozen=True, slots=True)
class Leaf:
    """A dataclass within others."""

    name: str
    score: float | None = None


@dataclass
class Tree:
    """One that holds all that ours hold."""

    leaf: Leaf
    leaves: tuple[Leaf, ...] = ()
    by_name: dict[str, list[Leaf]] = field(default_factory=dict)
    rows: list[tuple[int, bool]] = field(default_factory=list)


@pytest.mark.parametrize(
    "value",
    [
        Leaf("a"),
        Tree(Leaf("a", 0.5), (Leaf("b"), Leaf("c")), {"d": [Leaf("d")]}, [(1, True)]),
    ],
)
def test_the_same_as_of_the_standard_library(value: Any) -> None:
    """Fields, their order and the kinds of containers are those of `dataclasses.asdict`."""
    given = as_dict(value)
    assert given == asdict(value)
    assert repr(given) == repr(asdict(value))


def test_containers_are_copies() -> None:
    """What is changed in the dict does not change the dataclass."""
    tree = Tree(Leaf("a"), rows=[(1, True)])
    as_dict(tree)["rows"].clear()
    assert tree.rows == [(1, True)]


def test_any_mapping_becomes_a_dict() -> None:
    """Mappings that are no dicts, which JSON does not know, become some."""
    assert as_dict(Tree(Leaf("a"), by_name=MappingProxyType({"b": [Leaf("b")]})))["by_name"] == {  # type: ignore[arg-type]
        "b": [{"name": "b", "score": None}]
    }
