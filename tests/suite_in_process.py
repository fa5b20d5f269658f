"""A small suite of which an API in this process is asked, and what is compared of the runs that come of it."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from builders import make_chunk, make_failure
from project import Project, make_project
from raggate.base.numbers import lot
from raggate.inputs.trusted import Inputs
from raggate.models.golden import Case
from raggate.models.run import Chunk, Response, Result
from raggate.models.service import IndexState
from raggate.pipeline import result_rows
from raggate.pipeline.asking import Booted, Place
from raggate.pipeline.request import Request, Voice, unheard
from raggate.reports.progress import Progress
from raggate.service.ask import AskResult, OnResult

TIMES = ("run_id", "started", "duration_s", "elapsed_ms", "p50", "p95", "total_s", "timestamp", "measured", "trace_id")
SMALL = """\
suite: small
golden: golden.jsonl
vault: {{personal: vault/personal, work: vault/work}}
api: {{url: "http://127.0.0.1:9"}}
ask:
  modes: [hybrid, vector]
  repeat: {repeat}
  repeat_sample: 4
  principals: {{anna: {{vaults: [work], sees: [personal, work]}}}}
"""


def make_suite(root: Path) -> Project:
    """Write a suite of 15 questions in two modes, but for one, which is asked in one: 29 calls."""
    project = make_project(root, questions=1)
    cases = project.cases()
    more = [{**case, "id": f"{case['id']}-again", "question": f"what of {case['question']}"} for case in cases[:3]]
    more[0]["retriever_types"] = ["hybrid"]
    project.write_cases([*cases, *more])
    project.config.write_text(SMALL.format(repeat=1))
    return project


class Api:
    """Is up."""

    base_url = "http://127.0.0.1:9"

    def died(self) -> None:
        """Live."""

    def log_tail(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True)
class FakeAdapter:
    """Answers by the words of a question, fails some of them, and ranks some otherwise the second time."""

    asked: dict[tuple[str, str], int]

    def ask(
        self, questions: Sequence[tuple[Case, str]], api: object, *, on_result: OnResult, collect: bool = True
    ) -> AskResult:
        """Ask in an order of its own, as answers come in when they come."""
        results = {}
        for number, (case, mode) in enumerate(reversed(questions), 1):
            results[case.id, mode] = self._answer(case, mode)
            on_result(results[case.id, mode], number, len(questions))
        return AskResult(results=tuple(results[case.id, mode] for case, mode in questions), stopped=None)

    def _answer(self, case: Case, mode: str) -> Result:
        key = (case.id, mode)
        self.asked[key] = times = self.asked.get(key, 0) + 1
        draw = lot(mode, case.id)[0]
        result = Result(
            case_id=case.id, mode=mode, response=None, failure=None, retries=draw % 2, elapsed_ms=draw * 1.5
        )
        if draw % 11 == 0:
            return replace(result, failure=make_failure(message="no answer — ✗ within 60 s"))
        words = [*case.question.split()[:3], "ledger"]
        chunks = [self._chunk(rank, word, case.question) for rank, word in enumerate(words, 1)]
        # not of the first ones by lot, which are asked as probes too, by a process that may not have asked them before
        if times == 2 and draw > 20 and draw % 2:
            chunks = [replace(chunk, rank=rank) for rank, chunk in enumerate(reversed(chunks), 1)]
        coverage = {"index_version": "v7", "docs_processed": 12, "chunks_embedded": 36}
        latency = {"retrieval_ms": draw * 0.1}
        return replace(result, response=Response(chunks=tuple(chunks), coverage=coverage, latency=latency))

    def _chunk(self, rank: int, word: str, question: str) -> Chunk:
        place = {"vault": "work", "rel_path": f"Notes/{word}.md", "heading_path": f"# {word.title()} > ## First"}
        text = f"{question} {word} ## \u202e {'x' * 300}"
        return make_chunk(f"c{rank}", **place, rank=rank, text=text, score_final=1 / rank)


@contextmanager
def booted(request: Request, inputs: Inputs, build: object, place: Place, before: object) -> Iterator[Booted]:
    """Bring up an API that answers in this process."""
    place.counted(IndexState(healthy=True, indexing=False, documents=12, chunks=36, versions=("fake 1", "other 2")))
    up: Any = FakeAdapter({})
    yield Booted(adapter=up, api=Api(), clean=lambda result: result, secrets=())


def asked_by(project: Project, **fields: Any) -> Request:
    """Ask for what a quiet front end asks for."""
    silent = Voice(say=unheard, progress=lambda: Progress(io.StringIO()))
    return Request(config_file=project.config, **{"environment": {}, "voice": silent, **fields})


def contents(directory: Path) -> dict[str, str]:
    """Return the files of a run directory without what is of a time."""
    files = {}
    for path in sorted(directory.iterdir()):
        packed = path.name == result_rows.RESULTS
        content = gzip.decompress(path.read_bytes()) if packed else path.read_bytes()
        text = content.decode().replace(directory.name, "RUN")
        if packed:
            text = "\n".join(json.dumps(without_times(json.loads(line))) for line in text.splitlines())
        elif path.suffix == ".json":
            text = json.dumps(without_times(json.loads(text)), indent=1)
        files[path.name] = text
    return files


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_times(part) for key, part in value.items() if key not in {*TIMES, "latency"}}
    return [*map(without_times, value)] if isinstance(value, list) else value
