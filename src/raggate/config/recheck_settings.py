"""How a regression is checked on the build before the change: the `recheck` section of raggate.yml."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from raggate.config.service_settings import SettingsModel
from raggate.config.values import ImageName


class Recheck(SettingsModel):
    """How a regression is checked on the build before the change, in the same job, before the change is blamed."""

    base: Literal["off", "ref", "image"] = "off"
    """The base build, asked what counts against the change: `ref` makes it from the source of the commit that judges,
    `image` runs another image in `api.container`."""
    image: ImageName | None = None
    """The image of the base build, for `image`."""
    confirm: Annotated[int, Field(ge=0, le=10)] = 2
    """How often what flipped is asked again before an API that is known to be noisy is red; 0 for not at all."""
    max_latency_ratio: Annotated[float, Field(gt=1, le=100)] | None = None
    """How many times as long as the base build the change may take for the same questions. Both are booted and asked
    for it in every run, also in one that is not red."""

    @model_validator(mode="after")
    def _base_to_compare_with(self) -> Recheck:
        if self.max_latency_ratio is not None and self.base == "off":
            raise ValueError("expected base 'ref' or 'image' with max_latency_ratio")
        return self

    @model_validator(mode="after")
    def _image_where_one_is_run(self) -> Recheck:
        if (self.base == "image") != (self.image is not None):
            raise ValueError("expected 'image' with base 'image', and with no other")
        return self
