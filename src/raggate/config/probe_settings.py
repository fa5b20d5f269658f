"""Which notes are kept from whom: principals, and what is private."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from raggate.base.headings import inside_place
from raggate.config.effects import Looser
from raggate.config.service_settings import SettingsModel, passes_more
from raggate.config.values import Name, Text


def _place(written: str) -> str:
    parts = written.split("/")
    if not all(parts) or not {".", ".."}.isdisjoint(parts):
        raise ValueError("expected a vault, or a folder or note in one, such as work or work/Shared")
    return written


Place = Annotated[Text, AfterValidator(_place)]


def _wider(before: Collection[str], now: Collection[str]) -> bool:
    """Return whether some of the places now lie in none of those before."""
    return not all(inside_place(place, before) for place in now)


def _fewer_places(before: Collection[str], now: Collection[str]) -> bool:
    return _wider(now, before)


def _fewer_tags(before: Collection[str], now: Collection[str]) -> bool:
    return _fewer_places([bare_tag(tag) for tag in before], [bare_tag(tag) for tag in now])


class Principal(SettingsModel):
    """A user to whom the API shows only some of the notes."""

    headers: Annotated[dict[Text, Text], Looser(passes_more)] = {}
    """Headers of this principal's requests; they replace others of the same name. `{env.NAME}` stands for a variable
    of raggate's own environment, which the API sees and may repeat."""
    vaults: list[Name] | None = None
    """The vaults to ask, instead of those that a question names."""
    sees: Annotated[list[Place], Looser(_wider)]
    """The vaults, folders and notes that this principal may see, such as `work` or `work/Shared`."""

    @model_validator(mode="after")
    def _differs(self) -> Principal:
        if not self.headers and self.vaults is None:
            raise ValueError("expected 'headers' or 'vaults', so that the API can see who asks")
        return self


def marking(value: object) -> str:
    """Return a value of front matter as it is compared: what is written, whichever type a reader of YAML gives it."""
    return str(value).strip().casefold()


def bare_tag(written: str) -> str:
    """Return a tag as it is compared."""
    return written.removeprefix("#").casefold()


class Private(SettingsModel):
    """Which notes are private or deleted and must never be returned. Each key adds some."""

    front_matter: dict[Text, list[Annotated[Text, Field(min_length=1)] | bool]] = {}
    """Front matter that marks a note, as key and values: `status: [deleted]`; `[]` for any value but none and no."""
    tags: Annotated[list[Annotated[Text, Field(min_length=1)]], Looser(_fewer_tags)] = []
    """Tags that mark a note, in `tags` of its front matter or as `#tag` in its text; nested tags are included."""
    places: Annotated[list[Place], Looser(_fewer_places)] = []
    """Vaults, folders and notes that are private, such as `personal/Diary` or `work/Salaries.md`."""

    @property
    def marks(self) -> bool:
        """Whether anything is said to be private."""
        return bool(self.front_matter or self.tags or self.places)
