"""When a suite of a list is run at all: the `when` section of raggate.yml."""

from __future__ import annotations

from raggate.config.service_settings import SettingsModel
from raggate.config.values import PathInRepository


class When(SettingsModel):
    """Which changes concern the suite. It counts where a list of configurations is checked against a revision."""

    paths: list[PathInRepository] = []  # noqa: RUF012 - pydantic copies it
    """Files and directories, relative to raggate.yml, beside the suite's own files; `..` is allowed. A change that
    leaves all of them as they are does not run the suite where it is one of a list; alone it always runs. Empty: every
    change runs it."""
