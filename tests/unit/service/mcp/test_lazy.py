"""What is not used is not loaded."""

from __future__ import annotations

import subprocess
import sys


def test_nothing_of_mcp_is_loaded_by_who_does_not_use_it() -> None:
    """The pipeline, and a run of another adapter, know the settings alone."""
    script = (
        "import sys, raggate.pipeline.check, raggate.service.adapters as shelf;"
        "print([name for name in sys.modules if name.startswith('raggate.service') and '.mcp' in name])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
