"""Measuring: every question asked in every mode, and a run directory that tells the truth however it ended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from builders import make_case, make_result
from fakes.ask_api import FakeAskApi, Reply, ask_body
from raggate.base.errors import ExitCode
from raggate.inputs.trusted import Inputs, InputSource, load_change
from raggate.models.run import Result
from raggate.pipeline import asking, run_directory
from raggate.pipeline.measure import in_order, measure
from raggate.pipeline.request import Request, RunFailed, Voice, unheard
from raggate.service import ask as service_ask

CONFIG = """\
suite: small
golden: golden.jsonl
vault: {{work: vault}}
api: {{url: "{url}", ready: {{timeout: 20, settle: 0.1}}}}
ask: {{modes: {modes}, concurrency: 1, repeat_sample: {again}}}
"""


class Suite:
    """A suite of three questions about one note, and a healthy API that finds every question's passage."""

    def __init__(self, root: Path, api: FakeAskApi) -> None:
        self.root, self.api = root, api

    def inputs(self, modes: str = "[hybrid, vector]", again: int = 0, **keys: Any) -> Inputs:
        """Write the suite, and read it."""
        (self.root / "vault").mkdir()
        (self.root / "vault" / "a.md").write_text("# A\n\none two three\n")
        support = {"rel_path": "a.md", "heading_path": "# A", "snippets": []}
        cases = [
            {"id": word, "question": word, "answerable": True, "gold_supports": [support], **keys}
            for word in ("one", "two", "three")
        ]
        (self.root / "golden.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
        (self.root / "raggate.yml").write_text(CONFIG.format(url=self.api.base_url, modes=modes, again=again))
        return self.read()

    def read(self) -> Inputs:
        """Read the suite."""
        return load_change(InputSource(root=self.root, config_name="raggate.yml"), lambda settings, _name: settings)

    def request(self, **heard: Any) -> Request:
        """Make the request of a front end that hears nothing but these."""
        voice = Voice(**{"say": unheard, **heard})
        return Request(config_file=self.root / "raggate.yml", environment={}, voice=voice)


@pytest.fixture
def suite(tmp_path: Path) -> Iterator[Suite]:
    """Return a suite whose API is up."""
    with FakeAskApi(pages={"/api/health": Reply(body=b'{"status": "ok"}')}) as fake:
        yield Suite(tmp_path, fake)


def test_every_question_in_every_mode(suite: Suite) -> None:
    """Each question is asked once in each mode, and its result stands in the order of modes and golden set."""
    directory, run, scorecard = measure(suite.request(), suite.inputs())
    asked = [(mode, case) for mode in ("hybrid", "vector") for case in ("one", "two", "three")]
    assert [(item.result.mode, item.case.id) for item in run.results] == asked
    assert {suite.api.counts[word] for word in ("one", "two", "three")} == {2}
    assert (run.stopped, run.interrupted) == (None, False)
    assert scorecard.slices["vector"]["overall"]["hit_at_5"].value == 1.0
    assert run_directory.read(directory).results == run.results
    files = {"config.json", "golden.jsonl", "results.jsonl.gz", "metrics.json"}
    assert {path.name for path in directory.iterdir()} - {"api.log"} == files


def test_everything_is_asked_several_times(suite: Suite) -> None:
    """With `ask.repeat` 3 every question is asked three times, pass by pass, all answers are kept, and no sample is."""
    inputs = suite.inputs("[hybrid, vector]", again=2)
    inputs = replace(inputs, config=inputs.config.asking(repeat=3))
    seen: list[str] = []

    def script(question: str) -> tuple[int, bytes, float]:
        seen.append(question)
        return 200, ask_body(question), 0.0

    suite.api.script = script
    directory, run, scorecard = measure(suite.request(), inputs)
    assert seen[-18:] == ["one", "two", "three"] * 6
    assert not {"one", "two", "three"} & set(seen[:-18])
    once = [(mode, case) for mode in ("hybrid", "vector") for case in ("one", "two", "three")]
    assert [(item.result.mode, item.case.id) for item in run.results] == once
    assert [(item.result.repeat, item.result.mode, item.case.id) for item in run.repeats] == [
        (repeat, *question) for repeat in (2, 3) for question in once
    ]
    assert (run.fingerprint["repeat"], run.fingerprint["repeated"]["asked"]) == (3, 6)
    assert scorecard.operations is not None
    assert scorecard.operations.calls == 18
    stored = run_directory.read(directory)
    assert (stored.results, stored.repeats) == (run.results, run.repeats)


def test_a_stop_in_a_later_pass_is_a_stop(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    """An API that fails when everything is asked again was not measured, and the reason tells in which pass it was."""
    inputs = suite.inputs("[hybrid]")
    monkeypatch.setattr(service_ask, "GIVE_UP_AFTER", 2)
    asking = inputs.config.asking(repeat=2)
    calls: list[str] = []

    def script(question: str) -> tuple[int, bytes, float]:
        calls.append(question)
        again = question in {"one", "two", "three"} and calls.count(question) > 1
        return (500 if again else 200), ask_body(question), 0.0

    suite.api.script = script
    _, run, _ = measure(suite.request(), replace(inputs, config=asking))
    assert (run.stopped or "").startswith("asking for time 2: gave up after 2 failures in a row, after 2 of 3 calls")
    assert [item.result.failure is None for item in run.results] == [True] * 3
    kinds = [item.result.failure.kind for item in run.repeats if item.result.failure is not None]
    assert kinds == ["status", "status", "aborted"]


def test_notes_that_change_meanwhile(suite: Suite) -> None:
    """Answers about notes that are not those on disk any more are kept, and the run says that it is not whole."""

    def edit(question: str) -> tuple[int, bytes, float]:
        (suite.root / "vault" / "a.md").write_text(f"# A\n\n{question}\n")
        return 200, ask_body(question), 0.0

    suite.api.script = edit
    _, run, _ = measure(suite.request(), suite.inputs())
    assert run.stopped == "the vault changed while it was measured: work/a.md"
    assert len(run.results) == 6


def test_nothing_to_ask_is_no_measurement(suite: Suite) -> None:
    """Questions that are all for other modes end without a verdict and without a call; the directory has the reason."""
    directories: list[Path] = []
    with pytest.raises(RunFailed, match="no question is for the configured modes") as caught:
        measure(suite.request(created=directories.append), suite.inputs("[hybrid]", retriever_types=["vector"]))
    assert caught.value.exit_code == ExitCode.CANNOT_TELL
    assert suite.api.counts["one"] == 0
    assert "no question is for the configured modes" in (directories[0] / "summary.md").read_text()


@pytest.mark.parametrize(
    ("idle", "told"),
    [
        (1, "1 of 3 questions is for other modes and not asked"),
        (2, "2 of 3 questions are for other modes and not asked"),
    ],
)
def test_questions_for_other_modes_are_counted(idle: int, told: str, suite: Suite) -> None:
    """What is not asked is said with its number."""
    inputs = suite.inputs("[hybrid]")
    away = [replace(case, modes=("vector",)) for case in inputs.golden.cases[:idle]]
    golden = replace(inputs.golden, cases=(*away, *inputs.golden.cases[idle:]))
    said: list[str] = []
    asking.check_modes(suite.request(say=said.append), replace(inputs, golden=golden))
    assert said == [told]


MAPPED = """\
suite: small
golden: golden.jsonl
vault: {{work: vault}}
api: {{url: "{url}", ready: {{settle: 0.1}}}}
ask: {{adapter: mapped, modes: [hybrid], repeat_sample: 0,
  index: {{path: /stats, documents: files}}, path: /api/v1/ask, body: {{question: "{{question}}"}},
  response: {{chunks: {{list: debug.retrieved_chunks, rel_path: rel_path, text: text}}}}}}
"""


def test_what_the_index_counts_is_kept(suite: Suite) -> None:
    """An API whose answers do not say how many documents it has is taken at its index's word."""
    suite.inputs("[hybrid]")
    suite.api.pages["/stats"] = Reply(body=b'{"files": 1}')
    (suite.root / "raggate.yml").write_text(MAPPED.format(url=suite.api.base_url))
    _, run, scorecard = measure(suite.request(), suite.read())
    assert run.fingerprint["documents"] == scorecard.fingerprint["documents"] == 1
    assert "chunks" not in run.fingerprint


CASES = [make_case(name) for name in ("q2", "q1", "q3")]
MODES = ("lexical", "hybrid")
ALL = [make_result(case.id, mode=mode, repeat=repeat) for repeat in (1, 2) for mode in MODES for case in CASES]


@given(st.lists(st.sampled_from(ALL), unique_by=id))
def test_any_arrival_gives_one_order(arrived: list[Result]) -> None:
    """Results that came in any order, some of them missing, are in that of a whole run, each with its case."""
    ordered = list(in_order(CASES, MODES, arrived))
    assert [result for _, result in ordered] == [result for result in ALL if any(result is own for own in arrived)]
    assert all(case.id == result.case_id for case, result in ordered)
