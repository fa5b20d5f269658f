"""Index the sections of Markdown notes: index.py URL VAULT_DIRECTORY..."""

import json
import re
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*$")
FENCE = re.compile(r"\s*(```|~~~)")


def sections(text):
    """Cut a note at its headings: for each section the headings that enclose it, and its text."""
    enclosing, lines, fenced = [], [], False
    for line in text.splitlines():
        fenced ^= bool(FENCE.match(line))
        heading = None if fenced else HEADING.match(line)
        if heading:
            yield [words for _, words in enclosing], "\n".join(lines)
            level = len(heading[1])
            enclosing = [(depth, words) for depth, words in enclosing if depth < level] + [(level, heading[2])]
            lines = []
        lines.append(line)
    yield [words for _, words in enclosing], "\n".join(lines)


def documents(directory):
    """Return the sections of all notes of a vault that have a text."""
    for note in sorted(directory.rglob("*.md")):
        for headings, text in sections(note.read_text(encoding="utf-8")):
            if text.strip():
                path = note.relative_to(directory.parent).as_posix()
                yield {"vault": directory.name, "path": path, "headings": headings, "text": text}


def send(method, url, body):
    """Send JSON, or lines of it, and read the answer."""
    request = urllib.request.Request(url, body.encode(), {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def wait_for(url):
    """Wait until the server answers."""
    while True:
        try:
            return send("GET", f"{url}/_cluster/health?wait_for_status=yellow", "")
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)


def main(url, *directories):
    """Make the index, and put all sections into it at once."""
    wait_for(url)
    send("PUT", f"{url}/notes", Path("mapping.json").read_text(encoding="utf-8"))
    rows = [row for directory in directories for row in documents(Path(directory))]
    lines = [line for row in rows for line in ('{"index": {}}', json.dumps(row))]
    answer = send("POST", f"{url}/notes/_bulk?refresh=true", "\n".join([*lines, ""]))
    if answer["errors"]:
        sys.exit(f"not indexed: {json.dumps(answer)[:1000]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
