"""The demo's search service: the sections of a folder of notes, ranked by words and by letters, over HTTP."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import sqrt
from pathlib import Path

WORD_WEIGHT = 0.5
LETTER_WEIGHT = 0.5
COMMON = {"the", "a", "of", "to", "is", "are"}


def sections(folder: Path) -> list[dict[str, str]]:
    """Cut every note at its headings of the second level."""
    chunks = []
    for note in sorted(folder.glob("*.md")):
        title, *parts = re.split(r"^## ", note.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for part in parts:
            heading, _, text = part.partition("\n")
            path = f"{title.strip()} > ## {heading}"
            chunks.append({"rel_path": note.name, "heading_path": path, "text": text.strip()})
    return chunks


def words(text: str) -> Counter[str]:
    """Count the words of a text, but for common ones."""
    return Counter(word for word in re.findall(r"\w+", text.lower()) if word not in COMMON)


def letters(text: str) -> Counter[str]:
    """Count the triples of letters in the words of a text: they survive endings and slips of the pen."""
    return Counter(f" {word} "[i : i + 3] for word in words(text) for i in range(len(word)))


def similarity(one: Counter[str], other: Counter[str]) -> float:
    """Compare two counts by the cosine of their angle, from 0 to 1."""
    shared = sum(number * other[key] for key, number in one.items())
    return shared / sqrt(sum(n * n for n in one.values()) * sum(n * n for n in other.values()) or 1)


def search(question: str, k: int) -> list[dict[str, object]]:
    """Return the best `k` sections for a question, with their scores."""
    ranked = []
    for chunk in CHUNKS:
        text = f"{chunk['heading_path']} {chunk['text']}"
        by_words = similarity(words(question), words(text))
        by_letters = similarity(letters(question), letters(text))
        score = WORD_WEIGHT * by_words + LETTER_WEIGHT * by_letters
        chunk_id = f"{chunk['rel_path']}#{chunk['heading_path']}"
        scores = {"score_final": score, "score_lexical": by_words, "score_vector": by_letters}
        ranked.append({"chunk_id": chunk_id, **chunk, **scores})
    return sorted(ranked, key=lambda chunk: -float(str(chunk["score_final"])))[:k]


class Api(BaseHTTPRequestHandler):
    """Answers raggate's protocol: is it up, is the index complete, and what fits a question."""

    def do_GET(self) -> None:
        """Answer that the service is up and has read its notes."""
        self._answer({"status": "ok", "is_indexing": False})

    def do_POST(self) -> None:
        """Answer a question with the sections that fit it."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        index = {"docs_processed": len({chunk["rel_path"] for chunk in CHUNKS}), "chunks_embedded": len(CHUNKS)}
        chunks = search(asked["question"], asked["k"])
        self._answer({"answer": "", "debug": {"retrieved_chunks": chunks, "indexing_coverage": index}})

    def _answer(self, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep the log empty."""


class Server(ThreadingHTTPServer):
    """Takes as many calls at once as raggate makes."""

    request_queue_size = 64


CHUNKS = sections(Path(sys.argv[2])) if __name__ == "__main__" else []

if __name__ == "__main__":
    Server(("127.0.0.1", int(sys.argv[1])), Api).serve_forever()
