"""Presets on the engines that they are for: what `init` writes is gated, and a wrong name or address is named."""

from __future__ import annotations

import json
import runpy
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from e2e.test_tutorial import free_port
from field.worked_example import ROOT, Example
from raggate.base.http_client import httpx

pytestmark = [pytest.mark.field, pytest.mark.timeout(900)]

SOLR = ROOT / "tests" / "field" / "solr"
WORK = ROOT / "golden" / "vault" / "work"
GOLDEN = ROOT / "golden" / "eval_set.jsonl"
HITS = 64
"""How many of 87 questions find their section among five."""


def called(url: str, body: object = None) -> Any:
    """Call a server with JSON."""
    answer = httpx.request("GET" if body is None else "POST", url, json=body, timeout=60, trust_env=False)
    return answer.raise_for_status().json()


@contextmanager
def served(command: list[str], place: Path, page: str) -> Iterator[None]:
    """Run a server, from when it answers a page until it is needed no longer."""
    with (place / "log").open("wb") as log, subprocess.Popen(command, cwd=place, stdout=log, stderr=log) as server:
        try:
            end = time.monotonic() + 300
            while True:
                try:
                    called(page)
                    break
                except httpx.HTTPError:
                    assert server.poll() is None, (place / "log").read_text()[-2000:]
                    assert time.monotonic() < end, (place / "log").read_text()[-2000:]
                    time.sleep(0.2)
            yield
        finally:
            server.terminate()


def repository(root: Path) -> Example:
    """Return a repository with notes and questions of them, and no more."""
    shutil.copytree(WORK, root / "notes")
    cases = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
    kept = [{**case, "must_pass": False} for case in cases if case["vaults"] == ["work"]]
    (root / "golden.jsonl").write_text("".join(json.dumps(case) + "\n" for case in kept), encoding="utf-8")
    return Example(root)


@pytest.fixture
def solr(solr_jars: Path, tmp_path: Path) -> Iterator[str]:
    """The address of a Solr with the sections of the notes in its core."""
    place, port = tmp_path / "solr", free_port()
    shutil.copytree(SOLR, place)
    url = f"http://127.0.0.1:{port}"
    command = ["java", "-Xmx400m", "-cp", f"{solr_jars}/*", "Solr.java", str(place), str(port)]
    with served(command, place, f"{url}/solr/notes/query?q=*:*"):
        sections = runpy.run_path(str(ROOT / "examples" / "opensearch" / "index.py"))["documents"](WORK)
        rows = [
            {"id": str(number), "path": row["path"].partition("/")[2], "headings": row["headings"], "text": row["text"]}
            for number, row in enumerate(sections)
        ]
        called(f"{url}/solr/notes/update?commit=true", rows)
        yield url


def test_solr(solr: str, tmp_path: Path) -> None:
    """Its preset passes as written, counts the notes that are missing later, and a wrong core is named with the one."""
    root = tmp_path / "try"
    root.mkdir()
    example = repository(root)
    written = example.run([f"raggate init --preset solr --vault notes --probe {solr}"])
    assert written.codes == [0], written.text
    assert "facets.documents" in written.text
    green = example.run(["raggate check", "raggate promote latest", "raggate check"])
    assert green.codes == [3, 0, 0], green.text
    hits = next(row for row in example.verdict()["metrics"] if row["metric"] == "hit_at_5")
    assert hits["current"] == pytest.approx(HITS / 87, abs=0.0001)
    called(f"{solr}/solr/notes/update?commit=true", {"delete": {"query": "path:Runbooks*"}})
    assert example.check() == 1
    assert "the index has 70 documents of the same notes, 80 before" in example.likely_cause()
    example.edit("raggate.yml", "/solr/notes/", "/solr/note/")
    assert "it has no core 'note'; its core: 'notes'" in example.run(["raggate probe"]).text


def test_chroma_itself(field_programs: Path, tmp_path: Path) -> None:
    """At the server of Chroma its preset is refused: a service that embeds the question stands in front."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [str(field_programs / "chroma"), "run", "--path", str(tmp_path / "data"), "--port", str(port)]
    root = tmp_path / "try"
    root.mkdir()
    example = repository(root)
    with served(command, tmp_path, f"{url}/api/v2/heartbeat"):
        for words in ("--preset chroma ", ""):
            refused = example.run([f"raggate init {words}--vault notes --probe {url}"])
            assert refused.codes == [2], refused.text
            assert "This is Chroma itself" in refused.text
    assert not (root / "raggate.yml").exists()
