"""Nouns that hold what nobody may read, and keep it to themselves where one of them is printed."""

from __future__ import annotations

from typing import ClassVar

_HIDDEN = frozenset({"environment", "headers", "inputs", "secret", "secrets", "token", "values"})


class Guarded:
    """A noun with secrets: where one is printed, as in a traceback, fields of such a name are not shown.

    A base beside `Struct`, before it.
    """

    __slots__ = ()
    __struct_fields__: ClassVar[tuple[str, ...]]

    def __repr__(self) -> str:
        """Write it as any struct, with `...` for what is hidden."""
        names = self.__struct_fields__
        values = ("..." if name.lstrip("_") in _HIDDEN else repr(getattr(self, name)) for name in names)
        fields = ", ".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
        return f"{type(self).__name__}({fields})"
