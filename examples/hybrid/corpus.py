"""Make a BEIR folder and a vault of TREC RAG 2024: corpus.py ARCHIVE BEIR_DIRECTORY VAULT_DIRECTORY

The archive is the source distribution of the package ir-axioms. It has 6,011 passages, 301 topics, and the grades that NIST's
assessors gave to passages for 86 of them. Each passage becomes a note by its id; only grades of these passages are kept.
"""

import gzip
import json
import sys
import tarfile
from pathlib import Path

PASSAGES, TOPICS, QRELS = "crowd/study1_retrieval.jsonl.gz", "topics.rag24.test.txt", "2024-retrieval-qrels.txt"


def read(archive):
    """Return the three files, as bytes by name."""
    files = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            name = member.name.partition("/data/")[2]
            if name in (PASSAGES, TOPICS, QRELS):
                files[name] = tar.extractfile(member).read()
    return files


def passages(data):
    """Return the text of each passage by its id."""
    texts = {}
    for line in gzip.decompress(data).splitlines():
        row = json.loads(line)
        texts.update(zip(row["references_ids"], row["references_texts"], strict=True))
    return texts


def grades(data, texts):
    """Return the topic, passage and grade of each judgement of a passage whose text is there."""
    rows = (line.split() for line in data.decode().splitlines())
    return [(topic, passage, grade) for topic, _, passage, grade in rows if passage in texts]


def write(directory, name, rows):
    """Write rows as lines of JSON."""
    (directory / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def main(archive, beir, vault):
    """Write the folder and the vault."""
    files, beir, vault = read(archive), Path(beir), Path(vault)
    texts = passages(files[PASSAGES])
    judged = grades(files[QRELS], texts)
    topics = dict(line.split("\t", 1) for line in files[TOPICS].decode().splitlines())
    (beir / "qrels").mkdir(parents=True)
    vault.mkdir(parents=True)
    write(beir, "corpus.jsonl", ({"_id": passage, "text": text} for passage, text in texts.items()))
    write(beir, "queries.jsonl", ({"_id": topic, "text": topics[topic]} for topic in dict(row[:2] for row in judged)))
    table = [("query-id", "corpus-id", "score"), *judged]
    (beir / "qrels" / "test.tsv").write_text("".join("\t".join(row) + "\n" for row in table), encoding="utf-8")
    for passage, text in texts.items():
        (vault / f"{passage}.md").write_text(text, encoding="utf-8")


main(*sys.argv[1:])
