"""What is not used is not loaded."""

from __future__ import annotations

import subprocess
import sys


def test_what_is_not_used_is_not_loaded() -> None:
    """The pipeline and the shelf of adapters load neither MCP, nor a backend, nor the library of the Docker engine."""
    script = "import sys, raggate.pipeline.check, raggate.service.adapters; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "raggate.pipeline.check" in loaded
    assert loaded & {"docker", "requests"} == set()
    ours = [name for name in loaded if name.startswith("raggate.service")]
    assert [name for name in ours if ".mcp" in name or ".backends." in name] == []
