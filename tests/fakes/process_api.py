"""The ask contract over Markdown notes in one file, well behaved or not.

FAKE_BEHAVIOUR is a list such as `children,ignore_sigterm` or `die_after:3` (see the uses of `BEHAVIOUR`); with
`lose:word`, and `lose_too:word`, the best passage is kept from questions with that word, with `fades` from all that
were asked before; with `headings:WORD` they are told otherwise than the notes have them (see `HEADINGS`) and with
`paths:TEXT` paths begin with a text; with `slow:N` an answer takes N milliseconds more;
with `grades_itself` an answer to what was asked before brings every
reply that a judge of groundedness could give. What spoils
answers (error_500, status:N, garbage, wrong_schema, hang, drip, huge) spoils those to questions, or, with
FAKE_ON=health, those of the health and index paths. Asks are counted from 1, whoever asks.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from plain_http import PlainHandler, PlainServer

BEHAVIOUR = dict(item.partition(":")[::2] for item in os.environ.get("FAKE_BEHAVIOUR", "ok").split(","))
SPOILED = os.environ.get("FAKE_ON", "asks")
VAULTS = {"personal": 1, "work": 2}
FOREVER = 3600
STARTED = time.monotonic()
ASKS = itertools.count(1)
ANSWERS = itertools.count(1)
MODEL_MS = {"folder_selection_ms": 640, "generation_ms": 810} if "ignore_retrieval_only" in BEHAVIOUR else {}
TIMES: Counter[bytes] = Counter()
KEYS = ("reasoning", "supported_claims", "unsupported_claims", "uncited_major_claims")
GRADES = [json.dumps({**dict.fromkeys(KEYS, ""), "score": score}) for score in range(6)]


def notes() -> list[tuple[str, str, str]]:
    """List (vault, rel_path, text) of the notes that hold text."""
    found = []
    for vault in VAULTS:
        root = Path(os.environ[f"VAULT_{vault.upper()}_PATH"])
        for path in sorted(root.rglob("*.md")):
            text = path.read_text(encoding="utf-8", errors="replace")
            if text.strip():
                found.append((vault, path.relative_to(root).as_posix(), text))
    return found


def sections(rel_path: str, text: str) -> list[tuple[str, str]]:
    """Cut a note at its headings into (heading path, text)."""
    stack: list[tuple[int, str]] = [(1, f"# {Path(rel_path).stem}")]
    found: list[tuple[str, list[str]]] = [(stack[0][1], [])]
    for line in text.splitlines():
        heading = re.match(r"(#{1,6})\s+(.*)", line)
        if heading:
            level = len(heading[1])
            stack = [item for item in stack if item[0] < level] + [(level, f"{heading[1]} {heading[2].strip()}")]
            found.append((" > ".join(title for _, title in stack), [heading[2].strip()]))
        else:
            found[-1][1].append(line)
    return [(path, "\n".join(lines).strip()) for path, lines in found if "".join(lines).strip()]


def words(text: str) -> set[str]:
    """Split into lower-case words of three characters or more."""
    return set(re.findall(r"\w{3,}", text.lower()))


def plain(path: str) -> str:
    """Return headings as a renderer shows them, without marks, ids and markup."""
    return " > ".join(re.sub(r"[*`]|\s*\{[^}]*\}$|\s#+$", "", title.lstrip("# ")) for title in path.split(" > "))


HEADINGS = {
    "none": lambda path: "",
    "plain": plain,
    "last": lambda path: path.rpartition(" > ")[2],
    "lower": str.lower,
    "slug": lambda path: "#" + re.sub(r"[^a-z0-9]+", "-", plain(path).rpartition(" > ")[2].lower()),
    "": lambda path: path,
}
"""How the headings of a chunk are told."""


class Index:
    """The chunks of the notes, complete at once unless the behaviour says otherwise."""

    def __init__(self) -> None:
        everything = notes()
        self.notes = everything[: len(everything) - int(BEHAVIOUR.get("incomplete_index", 0))]
        self.chunks = []
        for vault, rel_path, text in self.notes:
            for heading_path, body in sections(rel_path, text):
                key = f"{VAULTS[vault]}|{rel_path}|{heading_path}|{body}"
                chunk = {"chunk_id": hashlib.sha256(key.encode()).hexdigest()[:32], "rel_path": rel_path}
                chunk |= {"heading_path": HEADINGS[BEHAVIOUR.get("headings", "")](heading_path), "text": body}
                chunk["rel_path"] = BEHAVIOUR.get("paths", "") + rel_path
                self.chunks.append((vault, chunk, words(f"{heading_path} {body}")))

    def share(self) -> float:
        if "never_indexed" in BEHAVIOUR:
            return 0.5
        return min(1.0, (time.monotonic() - STARTED) / float(BEHAVIOUR.get("slow_index", 0) or 1e-9))

    def coverage(self) -> dict:
        """Return the state of the index, as the contract does."""
        count = int(len(self.chunks) * self.share())
        # some count a note before they embed it
        early = "counts_early" in BEHAVIOUR
        return {
            "docs_processed": len(self.notes) if early else int(len(self.notes) * self.share()),
            "docs_with_0_chunks": 0,
            "chunks_attempted": count,
            **({} if "uncounted" in BEHAVIOUR else {"chunks_embedded": count}),
            "chunks_skipped": 0,
            "chunker_version": "fake",
            "index_version": "1",
        }

    def hits(self, question: str, *, k: int, vaults: list[str]) -> list[dict]:
        """Rank by the share of the question's words, ties by chunk id."""
        asked = words(question)
        scored = [
            (-len(asked & has) / max(len(asked), 1), chunk["chunk_id"], chunk)
            for vault, chunk, has in self.chunks[: int(len(self.chunks) * self.share())]
            if asked & has and vault in (vaults or VAULTS)
        ]
        ranked = sorted(scored, key=lambda item: item[:2])[: k + 1]
        lost = "worse" in BEHAVIOUR or {BEHAVIOUR.get("lose"), BEHAVIOUR.get("lose_too")} & asked
        ranked = ranked[1:] if lost else ranked[:k]
        if "swap" in BEHAVIOUR and len(ranked) > 2:
            # the scores stay where they are, so that they still fall down the list
            first, third = ranked[0], ranked[2]
            ranked[0], ranked[2] = (first[0], *third[1:]), (third[0], *first[1:])
        if "long_heading" in BEHAVIOUR:
            ranked = [
                (score, name, {**chunk, "heading_path": "# " + "x" * 7_000_000}) for score, name, chunk in ranked[:1]
            ]
        return [
            {**chunk, "rank": rank, "score_final": -score, "score_vector": -score, "score_lexical": -score}
            for rank, (score, _, chunk) in enumerate(ranked, 1)
        ]

    def strays(self, question: str, *, k: int, vaults: list[str]) -> list[dict]:
        """Find what the other vaults have, under ids that do not tell so, before one chunk of the right vault."""
        others = self.hits(question, k=k - 1, vaults=[vault for vault in VAULTS if vault not in vaults])
        found = [{**chunk, "chunk_id": chunk["chunk_id"][::-1]} for chunk in others[: k - 1]]
        found += self.hits(question, k=k, vaults=vaults)[-1:]
        return [{**chunk, "rank": rank, "score_final": 1 / rank} for rank, chunk in enumerate(found, 1)]


class Handler(PlainHandler):
    """Answers the three paths of the contract."""

    again = False
    index: Index

    def get(self) -> None:
        """Answer health and index status."""
        path = urlsplit(self.path).path
        if path not in {"/api/health", "/api/index/status"}:
            self.reply({"error": "not found"}, 404)
        elif SPOILED == "health" and self.spoil():
            return
        elif path == "/api/health":
            sick = "never_healthy" in BEHAVIOUR
            self.reply({"status": "unhealthy" if sick else "healthy"}, 503 if sick else 200)
        else:
            busy = self.index.share() < 1 and "counts_early" not in BEHAVIOUR
            self.reply({"is_indexing": busy, "status": "indexing" if busy else "idle"})

    def post(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        TIMES[body] += 1
        url, number = urlsplit(self.path), next(ASKS)
        query = {name: values[-1].lower() for name, values in parse_qs(url.query).items()}
        if number == int(BEHAVIOUR.get("die_after", 0)):
            os._exit(9)
        if url.path != "/api/v1/ask":
            self.reply({"error": "not found"}, 404)
        elif "flaky_503" in BEHAVIOUR and number % int(BEHAVIOUR["flaky_503"]) == 0:
            self.reply({"error": "Vector store unavailable"}, 503)
        elif "once_only" in BEHAVIOUR and TIMES[body] > 1:
            self.reply({"error": "Rate limit"}, 429)
        elif SPOILED != "asks" or not self.spoil(number):
            try:
                self.again = TIMES[body] > 1
                self.retrieve(json.loads(body), query)
            except (ValueError, AttributeError):
                self.reply({"error": "Invalid request body"}, 400)
            self.wfile.flush()
            self.misbehave_after(next(ANSWERS))

    def retrieve(self, request: dict, query: dict[str, str]) -> None:
        """Retrieve, and answer with the best hit unless only retrieval is asked for."""
        begun = time.monotonic()
        time.sleep(int(BEHAVIOUR.get("slow", 0)) / 1000)
        if not request.get("question"):
            return self.reply({"error": "Question is required"}, 400)
        search = self.index.strays if "strays" in BEHAVIOUR else self.index.hits
        found = search(request["question"], k=request.get("k") or 5, vaults=request.get("vaults") or [])
        if "noisy" in BEHAVIOUR and self.again and len(found) > 1:
            # the scores stay where they are, so that they still fall down the list
            for key in ("chunk_id", "rel_path", "heading_path", "text"):
                found[0][key], found[1][key] = found[1][key], found[0][key]
        if "fades" in BEHAVIOUR and self.again:
            found = [{**chunk, "rank": rank} for rank, chunk in enumerate(found[1:], 1)]
        milliseconds = int((time.monotonic() - begun) * 1000)
        response: dict = {"answer": "", "references": []}
        if not found or "refuse" in BEHAVIOUR:
            response |= {"abstained": True, "abstain_reason": "no_relevant_context"}
        elif query.get("retrieval_only") != "true" or "ignore_retrieval_only" in BEHAVIOUR:
            response["answer"] = found[0]["text"]
            if "grades_itself" in BEHAVIOUR and self.again:
                response["answer"] += f" {GRADES}"
        if query.get("debug") in {"true", "1"}:
            steps = dict.fromkeys(("folder_selection_ms", "generation_ms", "judge_ms"), 0)
            response["debug"] = {
                "retrieved_chunks": found,
                "folder_selection": {"selected_folders": [], "available_folders": []},
                "latency": {**steps, **MODEL_MS, "retrieval_ms": milliseconds, "total_ms": milliseconds},
                "indexing_coverage": self.index.coverage(),
            }
        return self.reply(response)

    def misbehave_after(self, number: int) -> None:
        """Do what spoils a run once it is measured: die, or write into the vault."""
        if number == int(BEHAVIOUR.get("die_right_after", 0)):
            os._exit(9)
        if number == int(BEHAVIOUR.get("edit_vault_after", 0)):
            with Path(os.environ["VAULT_WORK_PATH"], "Notes", "added.md").open("w") as note:
                note.write("# Added")

    def spoil(self, number: int = 0) -> bool:
        """Misbehave, or leave it to the caller to behave. `number` counts the asks."""
        if "fail_at" in BEHAVIOUR:
            if number != int(BEHAVIOUR["fail_at"]):
                return False
            sys.stderr.write("Traceback: ::error::no such collection\n")
            self.reply({"error": "Failed to process RAG query"}, 500)
        elif "error_500" in BEHAVIOUR or "status" in BEHAVIOUR:
            self.reply({"error": "Failed to process RAG query"}, int(BEHAVIOUR.get("status") or 500))
        elif "garbage" in BEHAVIOUR:
            self.answer(200, b"<html>\x1b[31m::error::not JSON \xff</html>")
        elif "wrong_schema" in BEHAVIOUR:
            self.reply([1, 2, 3])
        elif "hang" in BEHAVIOUR or 0 < int(BEHAVIOUR.get("hang_after", 0)) < number:
            time.sleep(FOREVER)
        elif "drip" in BEHAVIOUR:
            self.stream(b'{"status":"healthy"' + b" " * FOREVER, size=1, pause=1.0)
        elif "huge" in BEHAVIOUR:
            self.stream(b" " * (1 << 20), size=1 << 16, pause=0.0)
        else:
            return False
        return True

    def stream(self, data: bytes, *, size: int, pause: float) -> None:
        """Send data without an end, in pieces, over and over."""
        self.answer(200, None)
        for start in itertools.cycle(range(0, len(data), size)):
            self.wfile.write(data[start : start + size])
            self.wfile.flush()
            time.sleep(pause)

    def reply(self, value: object, status: int = 200) -> None:
        self.answer(status, json.dumps(value).encode())


def main() -> None:
    """Misbehave at the start as told, then serve."""
    if "die_at_start" in BEHAVIOUR:
        sys.stderr.write("fatal: QDRANT_VECTOR_SIZE is required\n")
        sys.exit(3)
    if "ignore_sigterm" in BEHAVIOUR:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "children" in BEHAVIOUR:
        import subprocess  # the others start without it

        child = subprocess.Popen(["sleep", str(FOREVER)], start_new_session=True)
        Path(os.environ["FAKE_PID_FILE"]).write_text(str(child.pid), encoding="ascii")
    if "noisy_log" in BEHAVIOUR:
        sys.stdout.buffer.write(b"\x1b[31mred\x1b[0m\n::error::pwned\n" + b"x" * (1 << 20) + b"\n\xff\xfe not UTF-8\n")
        sys.stdout.flush()
    if "never_listens" in BEHAVIOUR:
        threading.Event().wait(FOREVER)
    Handler.index = Index()
    PlainServer(("127.0.0.1", int(os.environ["API_PORT"])), Handler).serve_forever()


if __name__ == "__main__":
    main()
