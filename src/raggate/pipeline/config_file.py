"""Configuration and provenance as `config.json` of a run directory holds them: side by side, as it always has."""

from __future__ import annotations

from typing import get_args

from pydantic import ValidationError

from raggate.config.imported import ImportedConfig, RunConfig, System
from raggate.config.schema import Config
from raggate.errors import UsageError
from raggate.models.provenance import Provenance, exact_image
from raggate.models.run import Run
from raggate.text.jsonio import JsonObject, holds_more
from raggate.text.problems import first_problem
from raggate.text.quote import cut
from raggate.text.shapes import Shape
from raggate.text.struct_fields import as_dict

MOST_VALUES = 100_000
"""Values in a stored configuration: what is checked takes a thousand times the memory of one that does not fit."""

_NOT_KNOWN: dict[str, object] = {"vault": {"imported": "vault"}, "api": {"url": "http://127.0.0.1:9000"}}
"""Stands in an imported run for what earlier versions expect of every configuration. It is never read."""

_LEFT_OUT = {"api_image", "command", "build", "measured", "resumed", "asked_again"}
"""Keys that a run has no place for where they say nothing."""

_PROVENANCE: Shape[Provenance] = Shape(Provenance)


def written(run: Run) -> JsonObject:
    """Return configuration and provenance as `config.json` holds them: side by side."""
    provenance, config = run.provenance, run.config
    if isinstance(config, ImportedConfig):
        asked = {key: run.fingerprint[key] for key in ("k", "modes", "retrieval_only") if key in run.fingerprint}
        scored = config.model_dump(mode="json", exclude_unset=True, exclude={"system", "settings"})
        return {**_NOT_KNOWN, "ask": asked, **scored, config.system: config.settings}
    checkout = {key: value for key, value in as_dict(provenance.checkout).items() if value is not None}
    stored = {**config.model_dump(mode="json"), **as_dict(provenance), "checkout": checkout}
    return {key: value for key, value in stored.items() if value or key not in _LEFT_OUT}


def provenance(stored: JsonObject) -> Provenance:
    """Take the provenance out of it.

    Raises:
        ValidationError: for what is none.
    """
    kept = {key: value for key, value in stored.items() if key in Provenance.__struct_fields__}
    return _PROVENANCE.validate_python({**kept, "api_image": exact_image(str(stored.get("api_image")))})


def read(stored: JsonObject, run_id: str) -> tuple[RunConfig, Provenance]:
    """Take configuration and provenance apart. Keys that neither has are those of other versions, and left out."""
    system = next((name for name in get_args(System) if name in stored), None)
    model = Config if system is None else ImportedConfig
    settings = {key: value for key, value in stored.items() if key in model.model_fields}
    if system is not None:
        settings |= {"system": system, "settings": stored[system]}
    if holds_more(settings, MOST_VALUES):
        raise UsageError(f"the configuration stored with run {cut(run_id)} has more than {MOST_VALUES} values")
    try:
        return model.model_validate(settings, strict=True), provenance(stored)
    except ValidationError as error:
        raise UsageError(
            f"the configuration stored with run {cut(run_id)} cannot be read: "
            + first_problem(error, whole="its settings")
        ) from None
