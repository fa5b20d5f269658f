"""An MCP server that the test plays itself, behind two pipes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any

from raggate.service.mcp.pipes import Pipes

SECONDS = 20
"""How long a thread may take to end."""


@dataclass
class Played:
    """The server's side of the pipes."""

    pipes: Pipes
    heard: IO[bytes]
    said: IO[bytes]
    noted: list[bytes] = field(default_factory=list)

    def hear(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self.heard.readline())
        return message

    def say(self, *lines: object) -> None:
        """Write lines, each a message or bytes."""
        for line in lines:
            self.said.write((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n")
        self.said.flush()


@contextmanager
def played() -> Iterator[Played]:
    """Lay pipes, and take them up again: no thread is left."""
    their_in, our_out = os.pipe()
    our_in, their_out = os.pipe()
    noted: list[bytes] = []
    pipes = Pipes(os.fdopen(our_out, "wb", 0), os.fdopen(our_in, "rb", 0), noted.append)
    with os.fdopen(their_in, "rb") as heard, os.fdopen(their_out, "wb") as said:
        yield Played(pipes, heard, said, noted)
    pipes.close()
    for thread in pipes._threads:
        thread.join(SECONDS)
