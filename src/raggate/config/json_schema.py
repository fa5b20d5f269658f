"""The JSON Schema of raggate.yml, generated from its models."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from raggate.config.schema import Config
from raggate.config.service_settings import SettingsModel, described

ID = "urn:raggate:schema:raggate.yml:1"
"""What the schema is known by; the number is that of the format."""

FILE = "raggate.schema.json"
"""The schema as it is built, beside this module: it ships with the package."""


def json_schema() -> dict[str, Any]:
    """Build the JSON Schema of raggate.yml, for editors."""
    schema = Config.model_json_schema()
    models = {model.__name__: model for model in _models(SettingsModel)}
    for name, definition in [("Config", schema), *schema["$defs"].items()]:
        for key, text in described(models[name]).items():
            definition["properties"][key]["description"] = text
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": ID, "title": "raggate.yml"}
    return {**schema, **head}


def _models(base: type[BaseModel]) -> list[type[BaseModel]]:
    return [model for child in base.__subclasses__() for model in (child, *_models(child))]
