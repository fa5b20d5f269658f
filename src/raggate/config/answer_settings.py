"""Which answers of earlier runs may be taken: the section `answers` of raggate.yml."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from raggate.config.service_settings import SettingsModel


class Answers(SettingsModel):
    """Which kept answers may be taken, where `--answers` names the directory that they are in; docs/answer-cache.md."""

    outside_services: bool = False
    """Keep answers of an API that reaches other networks (`api.container.egress`), which its image alone does not
    decide."""
    spot_check: Annotated[int, Field(ge=1, le=1000)] = 5
    """How many questions with a kept answer are asked all the same, chosen anew in every run. If one is answered
    otherwise, all are asked."""
    max_age_days: Annotated[float, Field(gt=0, le=365, allow_inf_nan=False)] = 14
    """Answers that are older are asked anew."""
