"""A program that answers questions about notes in lines of JSON, well behaved or not.

program.py NOTES

FAKE_BEHAVIOUR is a list such as `noisy,lose:word`; `lose` keeps notes with that word from the answers.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from mcp_server import sections, words

BEHAVIOUR = dict(item.partition(":")[::2] for item in os.environ.get("FAKE_BEHAVIOUR", "ok").split(","))


VERSIONS = {"fake": BEHAVIOUR.get("version", "1"), "other": "2.0+b1", "<script>": "3", "path": "/a b", "none": None}


def say(message: object) -> None:
    sys.stdout.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
    sys.stdout.flush()


def hits(notes: list[dict[str, Any]], asked: dict[str, Any]) -> list[dict[str, Any]]:
    wanted = words(asked["question"])
    lost = BEHAVIOUR.get("lose", "")
    vaults = tuple(f"{vault}/" for vault in asked.get("vaults", ())) or ("",)
    kept = [note for note in notes if note["path"].startswith(vaults)]
    kept = [note for note in kept if not lost or lost not in note["text"].lower()]
    ranked = sorted(kept, key=lambda note: -len(wanted & words(" ".join((note["text"], *note["headings"])))))
    return ranked[: asked["k"]]


def misbehave(number: int) -> None:
    """Do what the behaviour says in place of an answer, or before it."""
    if "garbage" in BEHAVIOUR:
        say("<html>\x00 not JSON")
        time.sleep(60)
    if "hangs" in BEHAVIOUR:
        time.sleep(60)
    if "dies" in BEHAVIOUR:
        sys.exit(3)
    if "other_id" in BEHAVIOUR:
        say({"id": number + 1000, "hits": []})
    if "floods" in BEHAVIOUR:
        for _ in range(200):
            sys.stdout.write("x" * (1 << 16))
    if "fails" in BEHAVIOUR:
        say({"id": number, "error": "the index is corrupt"})
    if "no_hits" in BEHAVIOUR:
        say({"id": number, "hits": "none"})
    if "late" in BEHAVIOUR:
        time.sleep(1.5)


def main() -> None:
    if "asks_for_input" in BEHAVIOUR:
        sys.stdout.write("Password: ")
        sys.stdout.flush()
        sys.stdin.readline()
        time.sleep(60)
    notes = sections(Path(sys.argv[1]))
    if "noisy" in BEHAVIOUR:
        say("Loading weights: 100%")
        say({"level": "info", "id": 1})
        say("[1, 2]")
    count = -1 if "counts_badly" in BEHAVIOUR else len({note["path"] for note in notes})
    if "never_ready" not in BEHAVIOUR:
        say({"ready": True, "documents": count, "chunks": len(notes), "versions": VERSIONS})
    for line in sys.stdin:
        asked = json.loads(line)
        if "noisy" in BEHAVIOUR:
            say(f"asked {asked['question']}")
            say({"id": asked["id"], "note": "no answer yet"})
        misbehave(asked["id"])
        if not BEHAVIOUR.keys() & {"fails", "no_hits"}:
            say({"id": asked["id"], "hits": hits(notes, asked)})


main()
