"""helloworld's judges: their scores come in with a run and go out again, and their cache is read and written."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from builders import make_chunk, make_labelled, make_response, make_result, make_run
from helloworld_files import make_chunk_row, make_row, write_golden, write_run
from invoked import invoked
from raggate.base.errors import FileError, UsageError
from raggate.models.judging import Judgement
from raggate.models.run import LabelledResult, Run
from raggate.pipeline import run_directory
from raggate.scoring.score import score
from raggate_interop.helloworld import judged
from raggate_interop.helloworld.command import helloworld
from tables import each_row

GROUNDED: dict[str, Any] = {
    "score": 3.5,
    "reasoning": "mostly",
    "unsupported_claims": ["b"],
    "supported_claims": ["a"],
}
CORRECT = {"score": 4.0, "reasoning": "right"}
ROW: dict[str, Any] = {
    "question": "Wie geht's?",
    "answer": "So | [1].",
    "retrieved_chunks": [{"chunk_id": "c1", "text": "x" * 600, "rank": 1}],
}


def run(*arguments: object) -> None:
    """Run a command."""
    invoked(helloworld, *arguments)


def imported(tmp_path: Path, rows: list[dict[str, Any]], *flags: str | Path) -> Run:
    """Import rows as a run."""
    out = tmp_path / "imported"
    run("import", write_run(tmp_path, rows=rows), "--golden", write_golden(tmp_path), "--out", out, *flags)
    return run_directory.read(out)


def values(run: Run) -> dict[tuple[str, str], float | None]:
    """Return the value of each score of each case."""
    return {(item.case.id, judgement.score): judgement.value for item in run.results for judgement in item.judgements}


def test_a_cache_key_is_theirs() -> None:
    """The key is made of what their script makes it of: the first 500 characters of chunks, and six parts in a row."""
    context = '[{"chunk_id": "c1", "text": "' + "x" * 500 + '"}]'
    digest = hashlib.sha256(context.encode()).hexdigest()[:16]
    whole = f"groundedness|qwen|v1.0|Wie geht's?|So | [1].|{digest}"
    expected = hashlib.sha256(whole.encode()).hexdigest()[:32]
    assert judged.cache_key("groundedness", ROW, model="qwen", version="v1.0") == expected


def test_scores_of_rows_come_in(tmp_path: Path) -> None:
    """An imported run has the scores, reasons and claims of its judges, and their mean is the mean there."""
    rows = [
        make_row("test_001", make_chunk_row("a.md"), groundedness=GROUNDED, correctness=CORRECT),
        make_row("test_002", make_chunk_row("a.md"), groundedness={"score": 2.0, "reasoning": ""}),
    ]
    run = imported(tmp_path, rows)
    found = values(run)
    assert (found["test_001", "groundedness"], found["test_001", "correctness"]) == (3.5, 4.0)
    assert (found["test_002", "groundedness"], found["test_002", "correctness"]) == (2.0, None)
    (first, *_) = run.results
    assert first.judgements[0].supported == ("a",)
    assert first.judgements[0].unsupported == ("b",)
    assert first.judgements[0].judge == "Qwen2.5-3B-Instruct-Q4_K_M"
    overall = score(run, [5]).slices["hybrid"]["overall"]
    assert overall["groundedness"].value == pytest.approx((3.5 + 2.0) / 2)
    assert overall["correctness"].value == 4.0


def test_a_score_beyond_the_scale_is_refused(tmp_path: Path) -> None:
    """A score of 7 is an error that names the case, not a very good answer."""
    rows = [make_row("test_001", make_chunk_row("a.md"), correctness={"score": 7.0})]
    with pytest.raises(UsageError, match="question 'test_001': correctness: expected a score from 0 to 5, found 7"):
        imported(tmp_path, rows)


def test_a_cache_fills_what_rows_lack(tmp_path: Path) -> None:
    """A row without scores gets those of the cache that were given to the same answer; its own scores stay."""
    rows = [
        make_row("test_001", make_chunk_row("a.md")),
        make_row("test_002", make_chunk_row("a.md"), groundedness={"score": 1.0}),
        make_row("test_003", make_chunk_row("b.md")),
    ]
    key = {"model": "small", "version": "v2"}
    lines = [
        {
            "cache_key": judged.cache_key("groundedness", rows[0], **key),
            "judge_type": "groundedness",
            "result": GROUNDED,
        },
        {"cache_key": judged.cache_key("groundedness", rows[1], **key), "result": GROUNDED},
        {"cache_key": judged.cache_key("groundedness", {**rows[2], "answer": "other"}, **key), "result": GROUNDED},
    ]
    cache = tmp_path / "judge_cache.jsonl"
    cache.write_text("".join(json.dumps(line) + "\n" for line in lines))
    flags = ("--judge-cache", cache, "--judge-model", "small", "--judge-prompt-version", "v2")
    found = values(imported(tmp_path, rows, *flags))
    assert [found[name, "groundedness"] for name in ("test_001", "test_002", "test_003")] == [3.5, 1.0, None]


@each_row(
    ("line", "problem"),
    [
        ("nonsense", "not valid JSON"),
        ('{"result": {}}', "cache_key: Field required"),
        ('{"cache_key": "k", "result": {"score": "5"}}', "result.score: Input should be a valid number"),
    ],
)
def test_a_line_that_is_none_of_theirs_is_named(line: str, problem: str) -> None:
    """A cache that is broken is told with the line."""
    with pytest.raises((FileError, UsageError), match=f"c.jsonl:2: {problem}"):
        judged.read_cache(f"\n{line}\n".encode(), "c.jsonl")


def answered() -> LabelledResult:
    """Build an answer that raggate's judges have graded."""
    cost = {"judge_tokens": 100.0, "judge_cost_usd": 0.5}
    texts = {"reasoning": "mostly", "supported": ("a",), "unsupported": ("b",)}
    result = make_result("q1", response=make_response(make_chunk(text="y" * 250), answer="So.", cost=cost))
    return replace(
        make_labelled(result=result),
        judgements=(
            Judgement(score="groundedness", value=3.5, **texts),
            Judgement(score="correctness", value=None, reason="timeout"),
        ),
    )


def test_what_raggate_judged_goes_out_as_theirs(tmp_path: Path) -> None:
    """An exported row holds scores, what was judged and the cost as their script writes them, and nothing unknown."""
    judge = {"models": [{"model": "small"}], "prompts": {"groundedness": "h"}, "scores": ["groundedness"]}
    fingerprint = {**make_run(answered()).fingerprint, "judges": {**judge, "temperature": 0.0}}
    run_directory.write(tmp_path / "run", make_run(answered(), fingerprint=fingerprint), full_text=True)
    run("export", tmp_path / "run", "--out", tmp_path / "out")
    (row,) = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()]
    assert row["groundedness"] == GROUNDED
    assert "correctness" not in row
    assert row["judge_input"] == {
        "question": "Question q1?",
        "answer": "So.",
        "context_chunk_ids": ["c1"],
        "context_chunks_truncated": ["y" * 200 + "..."],
    }
    assert row["cost"] == {"judge_tokens": 100, "judge_cost_usd": 0.5}
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert (config["judge_model"], config["judge_temperature"]) == ("small", 0.0)
    assert len(config["judge_prompt_version"]) == 12
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())["aggregate_metrics"]
    assert (metrics["groundedness_avg"], "correctness_avg" in metrics) == (3.5, False)


def test_a_panel_goes_out_by_all_its_names() -> None:
    """Their file has one judge, and a panel of two is no grade of its first model."""
    judges = {"models": [{"model": "small", "build": "b1"}, {"model": "large"}], "prompts": {"version": "v1"}}
    assert judged.config_fields(make_run(fingerprint={"judges": judges}))["judge_model"] == "small, large"
    for nobody in ({}, {"judges": {"models": "small"}}, {"judges": {"models": ["small"]}}):
        assert judged.config_fields(make_run(fingerprint=nobody)).get("judge_model") is None


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ({}, 3.5),
        # the judge saw the first chunks alone, or what it saw is not told in full
        ({"context_chunk_ids": ["a.md # A 1"]}, 3.5),
        ({"context_chunk_ids": []}, 3.5),
        ({"answer": "Another answer."}, None),
        ({"question": "Another question?"}, None),
        ({"context_chunk_ids": ["b.md # A 1"]}, None),
    ],
)
def test_scores_of_another_answer_are_left_out(tmp_path: Path, change: dict[str, Any], value: float | None) -> None:
    """A score that was given to other texts than those of its row is none of this answer, and that is said."""
    shown = {
        "question": "Question test_001?",
        "answer": "An answer.",
        "context_chunk_ids": ["a.md # A 1", "b.md # A 2"],
    }
    chunks = (make_chunk_row("a.md"), make_chunk_row("b.md", rank=2))
    rows = [
        make_row("test_001", *chunks, groundedness=GROUNDED, judge_input={**shown, **change}),
        make_row("test_002", *chunks, groundedness=GROUNDED),
    ]
    assert values(imported(tmp_path, rows))["test_001", "groundedness"] == value
