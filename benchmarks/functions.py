"""From `pip install` to a red check for retrievers of LangChain, LlamaIndex and Haystack: commands, seconds, cause.

    python benchmarks/functions.py [langchain llamaindex haystack]

Each gets a fresh environment of its own from PyPI, the notes and 20 questions of this repository, and the 10 to 15
lines that build a BM25 retriever, as a team has them. The change leaves the folder `Travel` out of the index.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
QUESTIONS = 20
LANGCHAIN = """\
import re
from pathlib import Path

from langchain_community.retrievers import BM25Retriever
from langchain_text_splitters import MarkdownHeaderTextSplitter


def build(vault: Path) -> BM25Retriever:
    splitter = MarkdownHeaderTextSplitter([("#", "Header 1"), ("##", "Header 2"), ("###", "Header 3")])
    documents = []
    for note in sorted(vault.rglob("*.md")):
        for part in splitter.split_text(note.read_text()):
            part.metadata["source"] = str(note)
            documents.append(part)
    return BM25Retriever.from_documents(documents, k=10, preprocess_func=lambda text: re.findall(r"\\w+", text.lower()))
"""
LLAMAINDEX = """\
from pathlib import Path

from llama_index.core import SimpleDirectoryReader
from llama_index.core.node_parser import MarkdownNodeParser
from llama_index.retrievers.bm25 import BM25Retriever


def build(vault: Path) -> BM25Retriever:
    documents = SimpleDirectoryReader(vault, recursive=True, required_exts=[".md"]).load_data()
    nodes = MarkdownNodeParser().get_nodes_from_documents(documents)
    return BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=10)
"""
HAYSTACK = """\
from pathlib import Path

from haystack import Document
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore


def build(vault: Path) -> InMemoryBM25Retriever:
    store = InMemoryDocumentStore()
    for note in sorted(vault.rglob("*.md")):
        parts = note.read_text().split("\\n## ")
        store.write_documents([Document(content=part, meta={"file_path": str(note)}) for part in parts], "overwrite")
    return InMemoryBM25Retriever(document_store=store, top_k=10)
"""
EVERY_NOTE = ('sorted(vault.rglob("*.md"))', 'sorted(set(vault.rglob("*.md")) - set(vault.glob("Travel/**/*")))')
LIBRARIES = {
    "langchain": (("langchain-community==0.4.2", "rank_bm25==0.2.2"), LANGCHAIN, EVERY_NOTE),
    "llamaindex": (
        ("llama-index-core==0.14.25", "llama-index-retrievers-bm25==0.8.0"),
        LLAMAINDEX,
        ('[".md"])', '[".md"], exclude=["Travel/**/*"])'),
    ),
    "haystack": (("haystack-ai==3.4.1",), HAYSTACK, EVERY_NOTE),
}


def prepare(root: Path, retriever: str) -> None:
    """Write what a team has: notes, questions, and a function that builds its retriever."""
    shutil.copytree(ROOT / "golden" / "vault" / "personal", root / "notes")
    rows = [json.loads(line) for line in (ROOT / "golden" / "eval_set.jsonl").read_text().splitlines()]
    own = [row for row in rows if row["vaults"] == ["personal"] and row["answerable"]]
    chosen = own[:: len(own) // QUESTIONS][:QUESTIONS]
    for row in chosen:
        row["vaults"] = ["notes"]
        row["gold_supports"] = [
            {key: value for key, value in support.items() if key != "vault"} for support in row["gold_supports"]
        ]
    (root / "golden").mkdir()
    (root / "golden" / "eval_set.jsonl").write_text("".join(json.dumps(row) + "\n" for row in chosen))
    (root / "rag.py").write_text(retriever)


def measure(name: str, root: Path) -> None:
    """Print what each command took and came to, and the cause that the red check names."""
    packages, retriever, (kept, left_out) = LIBRARIES[name]
    root.mkdir()
    prepare(root, retriever)
    own = root.parent / f"{name}-environment"
    begin = time.monotonic()
    venv.create(own, with_pip=True)
    subprocess.run([own / "bin" / "pip", "install", "--quiet", *packages], check=True)
    print(f"{name}: pip install {' '.join(packages)}: {time.monotonic() - begin:.0f} s")
    environment = {**os.environ, "PATH": f"{own / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"}
    total = 0.0

    def raggate(*words: str) -> str:
        nonlocal total
        begin = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "raggate", *words],
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        total += time.monotonic() - begin
        print(f"  raggate {' '.join(words)}: exit {done.returncode}, {time.monotonic() - begin:.1f} s")
        return done.stdout + done.stderr

    raggate("init", "--python", "rag:build", "--vault", "notes")
    raggate("check")
    (run,) = (path for path in (root / ".raggate" / "runs").iterdir() if path.is_dir())
    raggate("promote", run.relative_to(root).as_posix())
    raggate("check")
    (root / "rag.py").write_text(retriever.replace(kept, left_out))
    red = raggate("check")
    cause = next((line for line in red.splitlines() if line.startswith("Most likely cause")), "no cause is named")
    print(f"  {total:.0f} s of raggate in 5 commands; {cause}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        for library in sys.argv[1:] or LIBRARIES:
            measure(library, Path(scratch) / library)
