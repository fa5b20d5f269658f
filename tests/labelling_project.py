"""A repository with notes, questions and a stored run that returned what nobody judged; and a sitting to judge it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builders import make_chunk, make_config, make_labelled, make_response, make_result, make_run
from raggate.inputs.golden import load
from raggate.labelling import label_page, server
from raggate.labelling.decisions import Decision, Where
from raggate.labelling.session import Session, open_session
from raggate.models.run import Chunk
from raggate.pipeline import run_directory
from raggate.pipeline.request import Request, Voice, unheard

CONFIG = """\
suite: small
golden: golden.jsonl
vault: {work: vault}
api: {url: "http://127.0.0.1:9"}
"""
DOUGH_TEXT = "The dough rests for two hours."
NOTE = f"# Bread\n\nA loaf takes a day.\n\n## Dough\n\n{DOUGH_TEXT}\n\n## Oven\n\nIt bakes at 220 degrees.\n"
NOTES = {
    "bread.md": NOTE,
    "soup.md": "# Soup\n\nIt simmers for an hour.\n",
    "tea.md": "# Tea\n\n## Leaves\n\n- Water: 80 degrees\n- Time: three minutes\n",
}
DOUGH = {"rel_path": "bread.md", "heading_path": "# Bread > ## Dough"}
QUESTIONS: tuple[dict[str, Any], ...] = (
    {"id": "q1", "question": "How long does the dough rest?", "answerable": True, "gold_supports": [DOUGH]},
    {"id": "q2", "question": "How hot is the oven?", "answerable": True, "gold_supports": [DOUGH], "tags": ["heat"]},
    {"id": "q3", "question": "What does a yacht cost?", "answerable": False},
)
PLACES = ("# Bread", "# Bread > ## Dough", "# Bread > ## Oven")


def chunks_of(notes: Mapping[str, str] = NOTES) -> tuple[Chunk, ...]:
    """Return what the API returned for every question: three sections of one note, and one of another."""
    bread = (make_chunk(f"c{n}", rel_path="bread.md", heading_path=path) for n, path in enumerate(PLACES))
    return (*bread, make_chunk("s1", rel_path="soup.md", heading_path="# Soup"))


@dataclass(frozen=True)
class LabelProject:
    """The repository."""

    root: Path

    @property
    def golden(self) -> Path:
        return self.root / "golden.jsonl"

    @property
    def labels(self) -> Path:
        return self.root / "golden.labels.jsonl"

    @property
    def journal(self) -> Path:
        return self.root / ".raggate" / "labels" / "golden.jsonl"

    def cases(self) -> dict[str, dict[str, Any]]:
        """Read the golden set, by id."""
        return {case["id"]: case for case in map(json.loads, self.golden.read_text().splitlines())}

    def open(self, *, again: bool = False) -> Session:
        request = Request(
            config_file=self.root / "raggate.yml", environment={}, voice=Voice(say=unheard), out=self.root / "runs"
        )
        return open_session(request, [*(self.root / "runs").iterdir()], again=again)


def make_label_project(
    root: Path,
    questions: Iterable[Mapping[str, Any]] = QUESTIONS,
    notes: Mapping[str, str] = NOTES,
    chunks: Sequence[Chunk] | None = None,
) -> LabelProject:
    """Make the repository; every question got the same passages."""
    project = LabelProject(root)
    (root / "raggate.yml").write_text(CONFIG)
    (root / "vault").mkdir()
    for name, text in notes.items():
        (root / "vault" / name).write_text(text, encoding="utf-8")
    project.golden.write_text("".join(json.dumps(row) + "\n" for row in questions))
    golden = load(project.golden.read_bytes(), "golden.jsonl")
    returned = chunks_of() if chunks is None else tuple(chunks)
    items = [
        make_labelled(case, make_result(case.id, response=make_response(*returned)))
        for case in golden.cases
        if case.answerable
    ]
    directory = root / "runs" / "20260102_030405"
    directory.mkdir(parents=True)
    run_directory.write(directory, make_run(*items, config=make_config()))
    return project


def grade(case: str, heading: str, value: int | None, by: str = "ann", note: str = "bread.md", **more: Any) -> Decision:
    where = Where(rel_path=note, heading_path=heading)
    return Decision(at="", by=by, do="grade", case=case, where=where, grade=value, **more)


@contextmanager
def served(session: Session, annotator: str = "ann") -> Iterator[str]:
    """Serve the page to label, and give its address."""
    listening = server.listen(0)
    port = listening.getsockname()[1]
    token = server.new_token()
    serving = server.server(server.Guard(label_page.app(session, annotator), token, port))
    thread = threading.Thread(target=serving.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not serving.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{port}/{token}/"
    serving.should_exit = True
    thread.join(timeout=10)
    listening.close()
