"""Whether judges are fit for duty, by people's own judgements: the small model is not, and has no say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fakes.judge_server import Answer, FakeJudge, Request
from judges.real_server import BUILD, NAME, RealServer
from judges.trec_rag import judgements, relevancy_lines
from project import Project, make_project

pytestmark = [pytest.mark.judges, pytest.mark.timeout(900)]

CANARY = "golden/canary.jsonl"
ANSWERS = 4
EACH = 12
LONGEST = 900
"""Characters of a passage: reading is most of what a judgement costs."""

SECTION = """
judges:
  models: [{models}]
  scores: [context_relevancy]
  canary: golden/canary.jsonl
  concurrency: 1
gate: {{metrics: {{context_relevancy: {{floor: 1.5}}}}}}
"""
SMALL = f'{{{{model: {NAME}, build: "{BUILD}", base_url: "{{url}}"}}}}'
GOOD = '{{model: good-{name}, build: b1, base_url: "{url}"}}'


def material(request: Request) -> dict[str, Any]:
    """Return what a request asks to be graded."""
    return dict(json.loads(request.text[request.text.index("\n{") : request.text.rindex("\n}") + 2]))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, archive: Path) -> Project:
    """A small repository with a canary set of people's judgements, and questions that are asked for answers."""
    project = make_project(tmp_path_factory.mktemp("duty"))
    project.edit("ask: {timeout: 20, concurrency: 4}", "ask: {retrieval_only: false, repeat_sample: 0}")
    project.write_cases(project.cases()[:ANSWERS])
    lines = relevancy_lines(archive, EACH, LONGEST)
    (project.root / CANARY).parent.mkdir()
    (project.root / CANARY).write_text("".join(json.dumps(line) + "\n" for line in lines))
    project.promote()
    return project


def judged_by(project: Project, *models: str) -> None:
    """Put a section with these judges into the configuration."""
    text = project.config.read_text().partition("\njudges:")[0]
    project.config.write_text(text + SECTION.format(models=", ".join(models)))


def good_judge(project: Project) -> FakeJudge:
    """Start a judge that says of the canary what people said, and of all else that it is no good."""
    lines = map(json.loads, (project.root / CANARY).read_text().splitlines())
    people = {line["question"]: line["value"] for line in lines}

    def grade(request: Request) -> Answer:
        helpful = [1] if people.get(material(request)["question"]) else []
        return Answer(text={"reasoning": "as people said", "helpful_passages": helpful})

    return FakeJudge(grade)


def test_the_labels_are_those_of_people(archive: Path) -> None:
    """1,646 judgements of support without a model's prediction in view have their passage: 797, 417 and 432."""
    degrees = [case["value"] for case in judgements(archive)]
    assert [degrees.count(value) for value in (5, 3, 0)] == [797, 417, 432]


def test_the_small_model_is_disarmed_by_people(project: Project, small_model: RealServer) -> None:
    """What SmolLM2 scores is beyond a limit that nothing can meet, and yet not red: people disagree with it."""
    judged_by(project, SMALL.format(url=small_model.url))
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


def test_good_judges_stay_armed(project: Project) -> None:
    """Two judges that grade the same canary as people did decide: the same limit is red."""
    with good_judge(project) as server:
        judged_by(project, *(GOOD.format(name=name, url=server.url) for name in "ab"))
        done = project.raggate("check")
    assert done.code == 1, done.out + done.err
    verdict = project.verdict()
    assert verdict["judging"]["canary"]["scores"]["context_relevancy"]["kappa"] == 1.0
    assert "Judges do not decide" not in verdict["headline"]
    assert [reason["code"] for reason in verdict["reasons"]] == ["below-floor"]


def test_a_panel_stays_armed_beside_the_small_model(project: Project, small_model: RealServer) -> None:
    """Two good judges outvote the small one, all from the cassette: the panel agrees with people, and decides."""
    good = (GOOD.format(name=name, url="http://127.0.0.1:1") for name in "ab")
    judged_by(project, SMALL.format(url=small_model.url), *good)
    project.config.write_text(
        project.config.read_text().replace("  concurrency: 1", "  mode: replay\n  concurrency: 1")
    )
    done = project.raggate("check")
    assert done.code == 1, done.out + done.err
    judging = project.verdict()["judging"]
    assert judging["canary"]["scores"]["context_relevancy"]["kappa"] > 0.4
    assert judging["spending"]["calls"] == 0
