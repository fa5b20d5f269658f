"""What a run is about, in the words of whoever measures: the `about` section of raggate.yml."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from raggate.config.service_settings import SettingsModel
from raggate.config.values import Text

Version = Annotated[Text, Field(min_length=1, max_length=200)]


class About(SettingsModel):
    """What no API tells of a run. Reports and exports show it, and nothing is measured by it."""

    embedding_model: Version | None = None
    """The model that embeds notes and questions."""
    retriever_version: Version | None = None
    """The version of the retriever: its parameters, filters and rerankers."""
    answerer_version: Version | None = None
    """The version of the answerer: its prompt and its model."""
    description: Annotated[Text, Field(max_length=2000)] = ""
    """What you try in this run, in a sentence or two."""

    @property
    def versions(self) -> dict[str, str]:
        """The keys that identify a build, as far as they are set."""
        names = ("embedding_model", "retriever_version", "answerer_version")
        return {name: value for name in names if (value := getattr(self, name)) is not None}
