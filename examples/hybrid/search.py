"""Hybrid search of passages: search.py PORT VAULT_DIRECTORY

Full text by SQLite's FTS5 (BM25), vectors by all-MiniLM-L6-v2, and both by reciprocal rank fusion.
"""

import hashlib
import json
import os
import re
import sqlite3
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock

import numpy
import onnxruntime
import tokenizers

ANALYZER = "porter unicode61"
MAX_TOKENS = 128
DEPTH = 100  # passages of each side that are fused
RRF = 60


class Model:
    """all-MiniLM-L6-v2, quantised, out of the jar that it is published in."""

    def __init__(self, jar):
        with zipfile.ZipFile(jar) as archive:
            weights = archive.read("all-minilm-l6-v2-q.onnx")
            self.tokenizer = tokenizers.Tokenizer.from_str(archive.read("all-minilm-l6-v2-q-tokenizer.json").decode())
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MAX_TOKENS)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
        self.version = hashlib.sha256(weights).hexdigest()

    def embed(self, text):
        """Return the vector of a text. Never in a batch: what else is in one would change the quantised activations."""
        ids = numpy.array([self.tokenizer.encode(text).ids], dtype=numpy.int64)
        names = {"input_ids": ids, "attention_mask": numpy.ones_like(ids), "token_type_ids": numpy.zeros_like(ids)}
        tokens = self.session.run(None, names)[0][0]
        return tokens.mean(axis=0)


def unit(vectors):
    """Scale vectors to length 1, so that a product of two is their cosine."""
    return vectors / numpy.linalg.norm(vectors, axis=-1, keepdims=True)


def embedded(model, texts, file):
    """Return the vectors of texts, a row each; those that were made before are read from a file."""
    keys = [hashlib.sha256(f"{model.version} {MAX_TOKENS} {text}".encode()).hexdigest() for text in texts]
    store = sqlite3.connect(file)
    store.execute("CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, vector BLOB)")
    rows = dict(store.execute("SELECT key, vector FROM vectors"))
    new = {key: text for key, text in zip(keys, texts, strict=True) if key not in rows}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        made = dict(zip(new, (vector.tobytes() for vector in pool.map(model.embed, new.values())), strict=True))
    with store:
        store.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", made.items())
    return numpy.stack([numpy.frombuffer(rows.get(key) or made[key], dtype=numpy.float32) for key in keys])


class Index:
    """The passages of a directory."""

    def __init__(self, directory):
        self.paths = sorted(Path(directory).glob("*.md"))
        self.texts = [path.read_text(encoding="utf-8") for path in self.paths]
        self.model = Model(os.environ["MINILM_JAR"])
        self.vectors = unit(embedded(self.model, self.texts, os.environ["MINILM_VECTORS"]))
        self.words, self.turn = sqlite3.connect(":memory:", check_same_thread=False), Lock()
        self.words.execute(f'CREATE VIRTUAL TABLE passages USING fts5(text, tokenize="{ANALYZER}")')
        self.words.executemany("INSERT INTO passages (rowid, text) VALUES (?, ?)", enumerate(self.texts))

    def lexical(self, question):
        """Return the passages with any of a question's words, best first, and their BM25."""
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
        rows = "SELECT rowid, -rank FROM passages WHERE passages MATCH ? ORDER BY rank, rowid LIMIT ?"
        with self.turn:
            return dict(self.words.execute(rows, (words, DEPTH))) if words else {}

    def vector(self, question):
        """Return the passages nearest to a question, best first, and their cosine."""
        scores = self.vectors @ unit(self.model.embed(question))
        best = numpy.argsort(-scores, kind="stable")[:DEPTH]
        return {int(row): float(scores[row]) for row in best}

    def search(self, question, k, mode):
        """Return the first passages of a mode, with their scores."""
        sides = {side: getattr(self, side)(question) for side in ("lexical", "vector") if mode in (side, "hybrid")}
        fused = {}
        for scores in sides.values():
            for rank, row in enumerate(scores, 1):
                fused[row] = fused.get(row, 0.0) + 1 / (RRF + rank)
        final = sides.get(mode, fused)
        best = sorted(final, key=lambda row: (-final[row], row))[:k]
        return [self.shown(row, final[row], sides) for row in best]

    def shown(self, row, score, sides):
        """Return a passage as it is returned."""
        parts = {side: scores.get(row) for side, scores in sides.items()}
        return {"path": self.paths[row].name, "text": self.texts[row], "score": score, **parts}


class Server(ThreadingHTTPServer):
    """A server of one index; as many connections may wait as a client opens at once."""

    request_queue_size = 64


class Handler(BaseHTTPRequestHandler):
    """`POST /search` and `GET /stats`."""

    def do_GET(self):
        self.reply({"passages": len(self.server.index.paths)})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.reply({"hits": self.server.index.search(asked["query"], asked["k"], asked["mode"])})

    def reply(self, value):
        """Send a value as JSON."""
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main(port, directory):
    """Index the passages, and answer."""
    index = Index(directory)
    server = Server(("127.0.0.1", int(port)), Handler)
    server.index = index
    server.serve_forever()


main(*sys.argv[1:])
