"""docs/tutorial.md does what it says: its commands are run one after the other, and end and print as it shows."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"
CUT = "…"
_BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EXIT = re.compile(r"^(raggate .*?)  # exit (\d+)$", re.MULTILINE)


def script(block: str, port: int) -> str:
    """Make a script of a block: every command must succeed, but for those with another exit code beside them."""
    ending_so = _EXIT.sub(r"\1 || code=$?; test ${code:-0} = \2", block)
    block = ending_so.replace(":9000", f":{port}").replace(" 9000 ", f" {port} ")
    return f"trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\nset -e\n{block}"


def commands(directory: Path) -> Path:
    """Put the commands of the page, as they are in this environment, into a directory for PATH."""
    directory.mkdir()
    for name, call in {"python3": sys.executable, "raggate": f"{sys.executable} -m raggate"}.items():
        (directory / name).write_text(f'#!/bin/sh\nexec {call} "$@"\n')
        (directory / name).chmod(0o755)
    return directory


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    """Each block of commands ends as the page says, and prints the lines that are shown below it, in their order."""
    path = f"{commands(tmp_path / 'bin')}:{os.environ['PATH']}"
    at, port, printed = tmp_path, free_port(), ""
    blocks = _BLOCK.findall(TUTORIAL.read_text(encoding="utf-8"))
    assert [kind for kind, _ in blocks].count("text") == 5
    for kind, block in blocks:
        if kind == "sh":
            ending = subprocess.run(
                ["bash", "-c", script(block, port)],
                cwd=at,
                env={**os.environ, "PATH": path},
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert ending.returncode == 0, f"{block}\n{ending.stdout}{ending.stderr}"
            at, printed = tmp_path / "allotment", ending.stdout
            continue
        for line in block.splitlines():
            if line not in ("", CUT):
                before, shown, printed = printed.partition(line)
                assert shown, f"not printed, or out of order: {line}\n{before}"
