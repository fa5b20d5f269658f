"""Results as they come in -> how many failed, and what the API logged when it first said that it had failed."""

from __future__ import annotations

import time

from raggate.models.run import Result
from raggate.models.service import Started

SERVER_ERROR = 500
"""The first HTTP status that says that the API itself failed."""

_CATCH_UP = 0.1
"""Seconds, once in a run, in which what was logged before the answer arrives behind it."""


class ErrorLog:
    """What is kept of the failures of a run.

    Attributes:
        failed: how many calls failed so far.
        lines: the API's last log lines when it first failed; empty as long as it did not. Untrusted text.
    """

    def __init__(self, api: Started) -> None:
        """Take the API whose log it is."""
        self._api = api
        self.failed = 0
        self.lines: tuple[str, ...] = ()

    def take(self, result: Result) -> None:
        """Take a result into account, as soon as it is there: later ones push others out of the last lines."""
        failure = result.failure
        self.failed += failure is not None
        if not self.lines and failure is not None and (failure.status or 0) >= SERVER_ERROR:
            time.sleep(_CATCH_UP)
            self.lines = self._api.log_tail()
