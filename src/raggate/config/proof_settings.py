"""The section `prove` of raggate.yml: what a proof demands, and faults that only this API can have."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from raggate.config.service_settings import SettingsModel
from raggate.config.values import Name, RelativePath, Text, Variable


def _distinct(faults: list[DeclaredFault]) -> list[DeclaredFault]:
    names = [fault.name for fault in faults]
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        raise ValueError(f"expected distinct names, {doubled!r} is used twice")
    return faults


class DeclaredFault(SettingsModel):
    """A fault of this API: it is booted again with these variables, or built from a patched copy of its source."""

    name: Name
    """Its name in the report."""
    env: dict[Variable, Text] = {}  # noqa: RUF012 - pydantic copies it
    """Environment variables of the API; they are added to its own or replace them."""
    patch: RelativePath | None = None
    """A patch as `git diff --relative` writes it in the directory of raggate.yml. It is applied to a copy."""

    @model_validator(mode="after")
    def _one_way(self) -> DeclaredFault:
        if bool(self.env) == (self.patch is not None):
            raise ValueError("expected exactly one of 'env' and 'patch'")
        return self


class Prove(SettingsModel):
    """What `raggate prove` requires of the gate, and which faults it tries beside the built-in ones."""

    harm: Annotated[float, Field(strict=True, gt=0, le=1)] = 0.05
    """A fault counts as harmful if the hit rate at `gate.flip_at` drops by at least this much."""
    min_caught: Annotated[float, Field(strict=True, ge=0, le=1)] = 0.9
    """The share of harmful faults that the gate must catch."""
    faults: Annotated[list[DeclaredFault], Field(max_length=100), AfterValidator(_distinct)] = []  # noqa: RUF012 - pydantic copies it
    """Faults that only this API can have, each a `name` with `env` or `patch`."""
