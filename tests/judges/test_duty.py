"""Whether judges are fit for duty, by people's own judgements: the small model is not, and has no say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from judges.real_server import BUILD, NAME, RealServer
from judges.trec_rag import relevancy_lines
from project import make_project

pytestmark = [pytest.mark.judges, pytest.mark.timeout(900)]

ANSWERS = 4
EACH = 12
LONGEST = 900
"""Characters of a passage: reading is most of what a judgement costs."""

SECTION = """
judges:
  models: [{{model: {name}, build: "{build}", base_url: "{url}"}}]
  scores: [context_relevancy]
  canary: golden/canary.jsonl
  concurrency: 1
gate: {{metrics: {{context_relevancy: {{floor: 1.5}}}}}}
"""


def test_the_small_model_is_disarmed_by_people(tmp_path: Path, archive: Path, small_model: RealServer) -> None:
    """What SmolLM2 scores is beyond a limit that nothing can meet, and yet not red: people disagree with it."""
    project = make_project(tmp_path)
    project.edit("ask: {timeout: 20, concurrency: 4}", "ask: {retrieval_only: false, repeat_sample: 0}")
    project.write_cases(project.cases()[:ANSWERS])
    lines = relevancy_lines(archive, EACH, LONGEST)
    (project.root / "golden").mkdir()
    (project.root / "golden" / "canary.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    project.promote()
    section = SECTION.format(name=NAME, build=BUILD, url=small_model.url)
    project.config.write_text(project.config.read_text() + section)
    done = project.raggate("check", seconds=800)
    assert done.code == 0, done.out + done.err
    verdict = project.verdict()
    agreement = verdict["judging"]["canary"]["scores"]["context_relevancy"]
    print(agreement)  # noqa: T201 - the figures are the finding
    assert agreement["cases"] == 2 * EACH
    assert agreement["judged"] >= 20
    assert agreement["kappa"] < 0.4
    assert "Judges do not decide about context_relevancy" in verdict["headline"]
    assert {row["status"] for row in verdict["metrics"] if row["metric"] == "context_relevancy"} <= {"advisory"}
