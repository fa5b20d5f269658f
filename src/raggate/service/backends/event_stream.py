"""A call of the engine that takes long -> its events, with an end however silent it is.

The library waits for builds and pulls without any limit, whatever its client was told: on purpose for builds
(https://github.com/docker/docker-py/pull/139), and a limit for pulls was not taken
(https://github.com/docker/docker-py/pull/625).
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from raggate.service import signals
from raggate.service.backends.engine import Client


class Late(Exception):
    """The time is over, or nothing was heard for too long."""


class Failed(Exception):
    """The engine said, in an event, what went wrong. Untrusted text."""


def events(
    client: Client, call: Callable[[], Iterable[Any]], *, end: float, silence: float = math.inf
) -> Iterator[Any]:
    """Yield the events of a call as they come; the connection is closed at the end, and the engine's work with it.

    Args:
        client: the engine. Nothing else may use it meanwhile.
        call: makes the one request and reads its answer.
        end: when it must be over, on the clock of `time.monotonic`.
        silence: seconds from one event to the next.

    Raises:
        Late: when it is not over in time.
        Failed: after the event that says so.
    """
    import requests
    import urllib3

    responses: list[Any] = []
    send = client.send

    def left() -> float:
        return max(min(end - time.monotonic(), silence), 0.01)

    def bounded(request: Any, **options: Any) -> Any:
        responses.append(send(request, **{**options, "timeout": left()}))
        return responses[-1]

    client.send = bounded
    try:
        for event in call():
            signals.check()
            yield event
            if "error" in event:
                raise Failed(str(event["error"]).strip())
            if time.monotonic() >= end:
                raise Late
            _wait_at_most(responses[-1], left())
    except (requests.Timeout, urllib3.exceptions.TimeoutError, TimeoutError):
        raise Late from None
    finally:
        client.send = send
        for response in responses:
            response.close()


def _wait_at_most(response: Any, seconds: float) -> None:
    # the library sets the time for one read when the request is sent, and has no way to change it
    with contextlib.suppress(AttributeError, OSError):
        response.raw._fp.fp.raw._sock.settimeout(seconds)
