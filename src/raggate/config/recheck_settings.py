"""How a regression is checked on the build before the change: the `recheck` section of raggate.yml."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from raggate.config.service_settings import SettingsModel
from raggate.config.values import ImageName


class Recheck(SettingsModel):
    """How a regression is checked on the build before the change, in the same job, before the change is blamed."""

    base: Literal["off", "ref", "image"] = "off"
    """Ask the base build the questions that count against the change: `ref` builds it from the source of the base
    commit, `image` runs another image in `api.container`."""
    image: ImageName | None = None
    """The image of the base build, for `image`."""
    confirm: Annotated[int, Field(ge=0, le=10)] = 2
    """How many times broken questions are asked again before the verdict on a noisy API is red; 0 for never. An API at
    `api.url` is never asked again: its process has been asked before."""

    @model_validator(mode="after")
    def _image_where_one_is_run(self) -> Recheck:
        if (self.base == "image") != (self.image is not None):
            raise ValueError(
                "expected both `recheck.base: image` and `recheck.image`, or neither: add what is missing or remove "
                "the other"
            )
        return self
