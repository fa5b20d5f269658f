"""The notes API as it was met in the wild: it indexes slowly and says that it does not, and does what nobody asked for.

- It counts a note before it embeds its chunks, and says `is_indexing: false` all the while.
- It does not know `retrieval_only`: it answers every question, by a model that takes its time.
- A model ranks its folders, and ranks them otherwise when it is asked again.
- With EMBEDDER=host:port it embeds notes and questions by a call to that service, and is sick while nobody answers
  there; `lying_api.py embedder PORT` is that service.

NOTE_SECONDS is what it takes to embed a note. Everything else is `process_api.py`, which must lie beside it
with `plain_http.py`.
"""

from __future__ import annotations

import os
import socket
import socketserver
import sys
import threading
import time
from urllib.parse import urlsplit

os.environ["FAKE_BEHAVIOUR"] = "ignore_retrieval_only,noisy"

import process_api

NOTE_SECONDS = float(os.environ.get("NOTE_SECONDS", "0.1"))
EMBEDDER = os.environ.get("EMBEDDER", "")
PATIENCE = 5.0


def embed(text: str) -> None:
    """Call the service that embeds, if there is one.

    Raises:
        OSError: when it does not answer.
    """
    if not EMBEDDER:
        return
    host, _, port = EMBEDDER.rpartition(":")
    with socket.create_connection((host, int(port)), PATIENCE) as connection:
        connection.sendall(" ".join(text.split()).encode() + b"\n")
        if connection.recv(16) != b"embedded\n":
            raise ConnectionError("the embedder hung up")


class SlowIndex(process_api.Index):
    """An index that grows note by note behind its own numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.everything, self.chunks = self.chunks, []
        self.counted = 0
        threading.Thread(target=self.grow, daemon=True).start()

    def grow(self) -> None:
        """Count each note, embed it for a while, and only then have its chunks."""
        for vault, rel_path, _ in self.notes:
            self.counted += 1
            time.sleep(NOTE_SECONDS)
            own = [entry for entry in self.everything if (entry[0], entry[1]["rel_path"]) == (vault, rel_path)]
            for _, chunk, _ in own:
                embed(chunk["text"])
            self.chunks = [*self.chunks, *own]

    def coverage(self) -> dict:
        """Tell what is counted."""
        count = len(self.chunks)
        told = {"docs_processed": self.counted, "chunks_attempted": count, "chunks_embedded": count}
        return {**super().coverage(), **told}


class Handler(process_api.Handler):
    """Answers as it likes."""

    def get(self) -> None:
        """Say that all is well, unless the embedder is away."""
        try:
            embed("health")
        except OSError as error:
            self.reply({"status": "unhealthy", "error": f"embedder: {error}"}, 503)
            return
        if urlsplit(self.path).path == "/api/index/status":
            self.reply({"is_indexing": False, "status": "idle"})
        else:
            super().get()

    def retrieve(self, request: dict, query: dict[str, str]) -> None:
        """Embed the question, then answer it."""
        embed(request["question"])
        super().retrieve(request, query)


class Embedder(socketserver.StreamRequestHandler):
    """Takes a text of one line and says that it is embedded."""

    def handle(self) -> None:
        """Answer one line."""
        text = self.rfile.readline()
        self.wfile.write(b"embedded\n")
        sys.stderr.write(f"embedded {len(text.split())} words\n")


class EmbedderServer(socketserver.ThreadingTCPServer):
    """Serves many calls at once."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128


def main() -> None:
    """Serve as the API, or as the embedder beside it."""
    if sys.argv[1:2] == ["embedder"]:
        EmbedderServer(("0.0.0.0", int(sys.argv[2])), Embedder).serve_forever()
    Handler.index = SlowIndex()
    address = (os.environ.get("API_HOST", "127.0.0.1"), int(os.environ["API_PORT"]))
    process_api.PlainServer(address, Handler).serve_forever()


if __name__ == "__main__":
    main()
