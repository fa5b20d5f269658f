"""A process that the system gives too little memory ends as what it is: 70, never 1, which means regression."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

START = """
import resource, sys
most = int(sys.argv.pop(1)) << 20
resource.setrlimit(resource.RLIMIT_AS, (most, most))
from raggate.__main__ import main
main()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
@pytest.mark.parametrize("mebibytes", [24, 32, 40, 48, 56])
def test_a_limit_on_memory(tmp_path: Path, mebibytes: int) -> None:
    """Wherever the memory ends, during the imports or the work, raggate says so and exits with 70.

    A library in Rust may end the process itself, which no Python can catch: it says so and raises SIGABRT.
    """
    words = [sys.executable, "-c", START, str(mebibytes), "demo"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode == -signal.SIGABRT:
        assert "memory allocation of" in done.stderr
        return
    assert done.returncode == 70, done.stderr
    assert "raggate: internal error: too little memory" in done.stderr
    assert "Traceback" not in done.stderr
