"""A stand-in for kebab's command line that speaks its wire schema, well behaved or not.

It finds the documents of KEBAB_STUB_DOCS, a JSON mapping of path to text, whose words a question shares. What it does
wrong is told by KEBAB_STUB: `hang`, `child` (hangs in a child too), `detached` (leaves a child behind in a session of
its own), `garbage`, `huge`, `error`, `error_v2`, `silent`, `v2`, `half` (dies in the middle of a bulk), `late` (after
all of it), `stuck` (hangs in the middle), `item_error`, `shuffle`, `surplus`, `lying` (exit 1, but grounded), `bare`.
It appends its arguments and what it was given to KEBAB_STUB_LOG, one JSON object per line.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
import zlib

# it is started often, for an answer that takes less than these do
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

MODE = os.environ.get("KEBAB_STUB", "")
DOCS: dict[str, str] = json.loads(os.environ.get("KEBAB_STUB_DOCS", "{}"))
MAJOR = 2 if MODE == "v2" else 1
FOREVER = 60


def words(text: str) -> set[str]:
    """Split into lower-case words of three characters or more."""
    return set(re.findall(r"\w{3,}", text.lower()))


def short(*parts: str) -> str:
    """Hash to 32 hex digits, as ids are."""
    return f"{zlib.crc32('|'.join(parts).encode()):032x}"


def hits(question: str, k: int, mode: str) -> list[dict[str, Any]]:
    """Rank the documents that share words with the question."""
    counts = {path: len(words(question) & words(text)) for path, text in DOCS.items()}
    found = sorted((path for path in counts if counts[path]), key=lambda path: (-counts[path], path))
    return [
        {
            "schema_version": f"search_hit.v{MAJOR}",
            "rank": rank,
            "score": 1 / rank,
            "score_kind": "bm25" if mode == "lexical" else "rrf",
            "chunk_id": short(path, DOCS[path]),
            "doc_id": short(path),
            "doc_path": path,
            "heading_path": ["Top", "Part"],
            "section_label": None,
            "snippet": DOCS[path],
            "citation": {"kind": "line", "path": path, "start": 1, "end": 3, "section": "Part"},
            "retrieval": {"method": mode, "fusion_score": 1 / rank, "lexical_score": 2.5, "lexical_rank": rank},
            "index_version": "fts5",
            "chunker_version": "md-heading-v2",
            "indexed_at": "2026-01-01T00:00:00Z",
            "stale": False,
        }
        for rank, path in enumerate(found[:k], 1)
    ]


def response(question: str, k: int, mode: str) -> dict[str, Any]:
    return {"schema_version": f"search_response.v{MAJOR}", "hits": hits(question, k, mode), "next_cursor": None}


def say(value: object) -> None:
    """Print one JSON line."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def fail(code: str, message: str, version: str = "error.v1") -> NoReturn:
    """End as kebab does when it cannot go on."""
    sys.stderr.write("2026-01-01 WARN something else\n")
    error = {"schema_version": version, "code": code, "message": message, "details": {}, "hint": "look at the log"}
    sys.stderr.write(json.dumps(error) + "\n")
    sys.exit(2)


def bulk() -> None:
    """Answer a bulk: a line for each line of the input."""
    lines = [json.loads(line) for line in sys.stdin if line.strip()]
    if len(lines) > 100:
        fail("invalid_input", "max 100")
    items = []
    for line in lines:
        found = response(line["query"], line.get("k", 10), line.get("mode", "hybrid"))
        items.append({"schema_version": f"bulk_search_item.v{MAJOR}", "query": line, "response": found, "error": None})
    if MODE == "item_error":
        error = {"code": "invalid_input", "message": "bad mode", "details": {}, "hint": None}
        items[0] = {**items[0], "response": None, "error": error}
    if MODE == "shuffle":
        items.reverse()
    if MODE == "surplus":
        items.append(items[0])
    for place, item in enumerate(items):
        if MODE == "half" and place == len(items) // 2:
            sys.stdout.write('{"schema_version": "bulk_se')
            fail("io_error", "disk gone")
        if MODE == "stuck" and place == len(items) // 2:
            time.sleep(FOREVER)
        say(item)
    if MODE == "late":
        fail("io_error", "disk gone")
    sys.stderr.write(f"bulk_summary: total={len(items)} succeeded={len(items)} failed=0\n")


def ask(question: str, k: int, mode: str) -> None:
    """Answer with the best document, or refuse."""
    found = hits(question, k, mode)
    grounded = bool(found)
    say(
        {
            "schema_version": f"answer.v{MAJOR}",
            "answer": found[0]["snippet"] if found else "I do not know.",
            "citations": [{"marker": "[1]", "citation": found[0]["citation"], "stale": False}] if found else [],
            "grounded": grounded or MODE == "lying",
            "refusal_reason": None if grounded else "no_chunks",
            "model": {"id": "m", "provider": "p"},
            "prompt_template_version": "rag-v4",
            "retrieval": {"trace_id": "t", "mode": mode, "k": k, "chunks_returned": len(found)},
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "latency_ms": 1},
            "created_at": "2026-01-01T00:00:00Z",
        }
    )
    sys.exit(0 if grounded else 1)


def misbehave() -> None:
    """Do what KEBAB_STUB says, when it is about the whole process."""
    if MODE in {"child", "detached"}:
        import subprocess
        from pathlib import Path

        sleep = [sys.executable, "-c", f"import time; time.sleep({FOREVER})"]
        child = subprocess.Popen(sleep, start_new_session=MODE == "detached")
        Path(os.environ["KEBAB_STUB_PID"]).write_text(str(child.pid), encoding="utf-8")
    if MODE in {"hang", "child"}:
        time.sleep(FOREVER)
    if MODE == "huge":
        while True:
            sys.stdout.write("x" * 65_536)
    if MODE == "garbage":
        sys.stdout.write("<html>\x1b[31m not JSON\n")
        sys.exit(0)
    if MODE == "error":
        fail("model_unreachable", "no model at that address")
    if MODE == "error_v2":
        fail("generic", "who knows", "error.v2")
    if MODE == "silent":
        sys.exit(3)
    if MODE == "bare":
        sys.exit(1)


def main() -> None:
    """Read the command line as kebab does."""
    arguments = sys.argv[1:]
    log = os.environ.get("KEBAB_STUB_LOG")
    if log:
        said = {"arguments": arguments, "readonly": os.environ.get("KEBAB_READONLY"), "home": os.environ.get("HOME")}
        descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(descriptor, json.dumps(said).encode() + b"\n")
        os.close(descriptor)
    misbehave()
    if arguments[:1] == ["--config"]:
        arguments = arguments[2:]
    if "--bulk" in arguments:
        bulk()
        return
    mark = arguments.index("--")
    options, question = arguments[:mark], arguments[mark + 1]
    k, mode = int(options[options.index("--k") + 1]), options[options.index("--mode") + 1]
    if options[0] == "ask":
        ask(question, k, mode)


if __name__ == "__main__":
    main()
