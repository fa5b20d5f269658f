"""Secrets stay out of what is printed of a noun."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from importlib import import_module
from typing import Any

from msgspec import Struct

from own_source import MODULES, dotted, source, tree

NAMES = "environment|secrets?|token|passwords?|headers|credentials?|api_key"
SECRET = re.compile(
    rf"[._]({NAMES}): "
    r"|Headers\.values: "
    # of the step, the token among them
    r"|\.inputs: Mapping\[str, str\]"
)
"""Fields whose values nobody may read; of a key alone one cannot tell, and tokens are counted."""


def secret_fields() -> Iterator[tuple[Any, list[str]]]:
    """Every noun of the source with such fields. Settings and dicts of that shape hold names of variables only."""
    # a syntax tree takes a hundred times as long as a look for the names
    for name in (name for name in MODULES if re.search(rf"({NAMES}|inputs|values): ", source(name))):
        for node in ast.walk(tree(name)):
            if isinstance(node, ast.ClassDef):
                fields = [part for part in node.body if isinstance(part, ast.AnnAssign)]
                written = {ast.unparse(part.target): ast.unparse(part.annotation) for part in fields}
                secret = [field for field, kind in written.items() if SECRET.search(f"{node.name}.{field}: {kind}")]
                noun = getattr(import_module(dotted(name)), node.name) if secret else None
                if noun is not None and (issubclass(noun, Struct | tuple) or is_dataclass(noun)):
                    yield noun, secret


def test_no_secret_is_shown_where_a_noun_is_printed() -> None:
    """The `repr` of a noun, as tracebacks show it, has no value of a field that is named like a secret."""
    shown, nouns = [], set()
    for noun, secret in secret_fields():
        values = {**dict.fromkeys(noun.__annotations__, "shown"), **dict.fromkeys(secret, "hush")}
        nouns.add(noun.__name__)
        if "hush" in repr(noun(**values)):
            shown.append((noun, secret))
    assert shown == []
    assert {"Headers", "PromotionStep", "Request", "Workspace"} <= nouns
