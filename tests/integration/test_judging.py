"""Answers that are judged: from `judges:` in raggate.yml to the run directory, with a server that is real HTTP."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fakes.judge_server import Answer, FakeJudge, Request
from judging import canary_line, grounded
from preloaded import start
from project import Project, make_project
from raggate.judges import cassette
from raggate.pipeline import run_directory
from stored_rows import plain_rows

SECTION = """
judges:
  models: [{{model: small, base_url: "{url}", build: b1}}]
  concurrency: 4
"""
CASSETTE = "golden/judge_cassette.jsonl"


def grade(request: Request) -> Answer:
    """Grade as a judge that keeps to the schema it is sent."""
    schema = request.body["response_format"]["json_schema"]["schema"]
    return Answer(text=_instance(schema))


def _instance(schema: dict[str, Any]) -> dict[str, Any]:
    """Make the smallest object of a schema, with a score of 4."""
    values: dict[str, Any] = {"string": "because", "array": [], "boolean": True, "integer": 4, "number": 4}
    return {name: values[part["type"]] for name, part in schema["properties"].items()}


def answering(root: Path) -> Project:
    """Make a repository of one question for each note, whose API is asked for answers, and nothing twice."""
    project = make_project(root, questions=1)
    project.edit("ask: {timeout: 20, concurrency: 4}", "ask: {retrieval_only: false, repeat_sample: 0}")
    return project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A repository that nothing was asked in."""
    return answering(tmp_path)


@pytest.fixture(scope="module")
def judged_once(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The same with a run of whole texts that was asked, judged and checked, and a cassette of the replies."""
    project = answering(tmp_path_factory.mktemp("judged"))
    assert project.command("run", "--store-full-text").code == 0
    with FakeJudge(grade) as server:
        judged_by(project, server)
        # there is no baseline
        assert project.command("check").code == 3
    return project


@pytest.fixture
def judged(judged_once: Project, tmp_path: Path) -> Project:
    """A copy of it, whose judge is gone."""
    return judged_once.copied(tmp_path)


def judged_by(project: Project, server: FakeJudge, more: str = "") -> None:
    text = project.config.read_text().partition("\njudges:")[0]
    project.config.write_text(text + SECTION.format(url=server.url) + more)


def judgements(project: Project) -> list[dict[str, Any]]:
    rows = plain_rows(project.last_run()).read_text().splitlines()
    return [judgement for row in rows for judgement in json.loads(row).get("judgements", [])]


def stored_judging(project: Project) -> dict[str, Any]:
    stored: dict[str, Any] = json.loads((project.last_run() / "config.json").read_text())["judging"]
    return stored


def test_answers_are_judged_recorded_and_replayed(project: Project) -> None:
    """Every answer has its scores and reasons, and the same again is the same bytes, without a call or a server."""
    with FakeJudge(grade) as server:
        judged_by(project, server)
        done = project.command("run")
        assert done.code == 0, done.err
        calls = server.calls
        first = judgements(project)
        assert stored_judging(project)["spending"]["calls"] == calls
        project.command("run")
        assert server.calls == calls
    assert len(first) == 24
    assert {judgement["score"] for judgement in first} == {"groundedness", "correctness"}
    assert all((judgement["value"] is None) != (judgement["reason"] is None) for judgement in first)
    assert {judgement["value"] for judgement in first} == {4.0}
    assert judgements(project) == first
    # the server is gone
    judged_by(project, server, "  mode: replay\n")
    content = (project.root / CASSETTE).read_bytes()
    assert project.command("run").code == 0
    assert judgements(project) == first
    assert (project.root / CASSETTE).read_bytes() == content
    assert stored_judging(project)["spending"]["calls"] == 0


def test_a_run_in_shards_is_judged_where_it_is_merged(project: Project) -> None:
    """Shards ask no judge; the merge does, as one process would, and `check --run` believes replies and no grades."""
    with FakeJudge(grade) as server:
        judged_by(project, server)
        for shard in ("1/2", "2/2"):
            assert project.command("run", "--shard", shard, "--out", "parts").code == 0
        assert server.calls == 0
        merged = project.command("merge", "parts")
        assert merged.code == 0, merged.err
        run, calls, first = project.last_run(), server.calls, judgements(project)
        assert len(first) == 24
        rows = plain_rows(run).read_text()
        assert rows.count('"value":4.0') == 24
        plain_rows(run).write_text(rows.replace('"value":4.0', '"value":5.0'))
        done = project.command("check", "--run", str(run))
        assert server.calls == calls
    assert done.code == 3, done.err  # there is no baseline yet
    assert project.last_run() != run
    assert judgements(project) == first


def test_what_goes_wrong_is_never_a_score(project: Project) -> None:
    """Where the judge fails, nothing has a value, the run goes on, and the reason stands beside every answer."""
    with FakeJudge(lambda _: Answer(status=400, text="score 5")) as server:
        judged_by(project, server)
        done = project.command("run")
    assert done.code == 0, done.err
    assert {(item["value"], item["reason"], item["detail"]) for item in judgements(project)} == {
        (None, "status", "the server answers 400: score 5")
    }
    assert "raggate: status: the server answers 400: score 5" in done.err
    for score in ("groundedness", "correctness"):
        assert f"{score}: 0 of 12 judged. Not judged: status 12" in done.err


def test_what_a_commit_judges_is_replayed_from_the_commit(judged: Project) -> None:
    """The cassette that counts is that of the commit, whatever a change made of it, and new replies stay out of it."""
    with FakeJudge(grade) as server:
        judged_by(judged, server)
        judged.commit()
        forged = (judged.root / CASSETTE).read_text().replace("4", "5") + "<<<<<<< HEAD\n"
        (judged.root / CASSETTE).write_text(forged)
        done = judged.command("check", "--against", "HEAD")
        assert server.calls == 0, done.err
        assert {judgement["value"] for judgement in judgements(judged)} == {4.0}
        assert (judged.root / CASSETTE).read_text() == forged
        # and merging what nobody could be judged by would break the gate
        assert f"{CASSETTE}:25" in done.out
        (judged.root / CASSETTE).unlink()
        judged.commit()
        judged.command("check", "--against", "HEAD")
        assert server.calls == 24
    assert not (judged.root / CASSETTE).exists()
    recorded = (judged.last_run() / "judge_cassette.jsonl").read_bytes()
    assert len(cassette.read(recorded, "x")) == 24


def test_whole_texts_are_judged_and_kept(project: Project) -> None:
    """What the judge sees of a passage is all of it, and the run directory keeps it, so that it can be judged again."""
    note = project.root / "vault" / "work" / "Notes" / "kernel.md"
    note.write_text(note.read_text() + "\n" + "word " * 200 + "the very end")
    with FakeJudge(grade) as server:
        judged_by(project, server)
        project.command("run")
        assert any("the very end" in request.text for request in server.requests)
    run = run_directory.read(project.last_run())
    texts = [chunk.text for item in run.results if item.result.response for chunk in item.result.response.chunks]
    assert any("the very end" in text for text in texts)


def test_a_link_does_not_lead_the_cassette_elsewhere(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A cassette behind a link out of the repository is not written."""
    (project.root / "golden").symlink_to(tmp_path_factory.mktemp("elsewhere"))
    with FakeJudge(grade) as server:
        judged_by(project, server)
        done = project.command("run")
        assert "golden/judge_cassette.jsonl leads out of the directory of the configuration" in done.err
        (project.root / "golden").unlink()
        (project.root / ".git").mkdir(exist_ok=True)
        (project.root / "golden").symlink_to(".git")
        done = project.command("run")
    assert done.code == 2
    assert "judges.cassette: golden/judge_cassette.jsonl leads into git's own directory" in done.err


def test_retrieval_alone_needs_no_judge(project: Project) -> None:
    """A run that asks for no answers loads nothing of judges and needs no key, and says once why nobody judges it."""
    project.edit("retrieval_only: false", "retrieval_only: true")
    text = project.config.read_text()
    project.config.write_text(text + "\njudges: {models: [{model: 'openai:gpt-4o-2024-08-06'}]}\n")
    script = (
        "import sys\nfrom raggate.cli import main\ncode = main.run_command(['run'])\n"
        "print(code, sorted(name for name in sys.modules if name.startswith('raggate.judges')"
        " or name == 'raggate.pipeline.jury'))"
    )
    # what it forks from has loaded nothing of judges either
    process = start(at=project.root, environment=os.environ, code=script)
    out, err = process.communicate(timeout=60)
    assert out.splitlines()[-1] == "0 []"
    (line,) = [line for line in err.splitlines() if "judg" in line]
    assert "nothing is judged: `judges` grades answers, but `ask.retrieval_only: true` asks for none" in line


def test_a_stored_run_is_judged_again(judged: Project) -> None:
    """By another judge, the same answers get other scores in place, and the verdict by the first ones is gone."""
    with FakeJudge(grade) as server:
        judged_by(judged, server)
        directory = judged.last_run()
        assert (directory / "verdict.json").exists()
        asked = len(plain_rows(judged.last_run()).read_text().splitlines())
        judged.edit("model: small", "model: large")
        server.script = lambda request: Answer(text=grade(request).text | {"score": 2})
        done = judged.command("judge", str(directory))
        assert done.code == 0, done.err
        assert {request.body["model"] for request in server.requests} == {"large"}
    assert {(judgement["value"], judgement["judge"]) for judgement in judgements(judged)} == {(2.0, "large")}
    assert "hybrid  correctness                        2.000  n=12" in done.out
    assert not (directory / "verdict.json").exists()
    assert len(plain_rows(directory).read_text().splitlines()) == asked
    metrics = json.loads((directory / "metrics.json").read_text())
    assert metrics["by_retriever"]["hybrid"]["overall"]["groundedness"] == 2.0
    # back to the first judge, from the cassette, with its server gone
    judged.edit("model: large", "model: small")
    done = judged.command("judge", str(directory), "--mode", "replay")
    assert done.code == 0, done.err
    assert {(judgement["value"], judgement["judge"]) for judgement in judgements(judged)} == {(4.0, "small")}


def test_a_cassette_is_pruned_to_what_a_run_takes(judged: Project) -> None:
    """Replies of other judges are dropped, and the run is replayed from the rest."""
    with FakeJudge(grade) as server:
        judged_by(judged, server)
        directory = judged.last_run()
        judged.edit("model: small", "model: large")
        assert judged.command("judge", str(directory)).code == 0
        judged.edit("model: large", "model: small")
    prune = ("judge", str(directory), "--mode", "replay", "--prune")
    for dropped in (24, 0):
        done = judged.command(*prune)
        assert done.code == 0, done.err
        assert f"{CASSETTE}: {dropped} replies dropped, 24 kept" in done.err
    assert {(judgement["value"], judgement["judge"]) for judgement in judgements(judged)} == {(4.0, "small")}
    # replies that no answer of this run has had
    judged.edit("model: small", "model: other")
    assert judged.command(*prune).code == 3
    assert len(cassette.read((judged.root / CASSETTE).read_bytes(), CASSETTE)) == 24


def test_a_run_directory_names_no_judge_that_is_asked(project: Project) -> None:
    """Without a configuration, addresses and keys of a run directory count for nothing; its replies are replayed."""
    with FakeJudge(grade) as theirs:
        second = f"{{model: second, build: b1, base_url: '{theirs.url}', api_key_env: DEPLOY}}"
        judged_by(project, theirs, f"  spot_check: 20\n  spot_model: {second}\n")
        project.command("run", DEPLOY="k1")
        calls = theirs.calls
        directory = project.last_run()
        project.config.unlink()
        (project.root / CASSETTE).rename(directory / "judge_cassette.jsonl")
        for flags in ((), ("--mode", "auto"), ("--mode", "refresh")):
            done = project.command("judge", str(directory), *flags, DEPLOY="k1")
            assert done.code == 2
            assert "raggate asks no judge that only a run directory names" in done.err
            assert "--mode replay" in done.err
        done = project.command("judge", str(directory), "--mode", "replay")
        assert done.code == 0, done.err
        assert {judgement["value"] for judgement in judgements(project)} == {4.0}
        assert theirs.calls == calls


def test_replies_of_a_run_directory_are_not_believed(judged: Project) -> None:
    """Replies that stand in a run directory score nothing, and do not get into the cassette that is committed."""
    with FakeJudge(grade) as server:
        judged_by(judged, server)
        directory, committed = judged.last_run(), judged.root / CASSETTE
        rows = [json.loads(row) for row in committed.read_text().splitlines()]
        for row in rows:
            row["reply"]["text"] = row["reply"]["text"].replace("4", "5")
        # and one that nobody will ask for
        rows.append({**rows[0], "key": "f" * 64})
        (directory / "judge_cassette.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        committed.unlink()
        done = judged.command("judge", str(directory))
        assert done.code == 0, done.err
        assert server.calls == 24
    assert {judgement["value"] for judgement in judgements(judged)} == {4.0}
    lines = cassette.read(committed.read_bytes(), CASSETTE)
    assert "f" * 64 not in lines
    assert not [line for line in lines.values() if "5" in line.reply.text]


def test_a_run_without_whole_texts_is_not_judged(project: Project) -> None:
    """Beginnings of texts are not what an answer rests on: judging them is refused, with what to do."""
    note = project.root / "vault" / "work" / "Notes" / "kernel.md"
    note.write_text(note.read_text() + "\n" + "word " * 200)
    project.command("run")
    done = project.command("judge", str(project.last_run()))
    assert done.code == 2
    assert "stored only the beginnings of texts" in done.err
    assert "--store-full-text" in done.err


def graded_by_people() -> str:
    """Write a canary set of answers, each of which names the grade that people gave it."""
    return "".join(json.dumps(canary_line(n, n % 6, answer=f"People say {n % 6} [1]")) + "\n" for n in range(24))


def grounded_at(points: int, *, as_people: bool) -> Callable[[Request], Answer]:
    """Return every answer these points; those of the canary set what people gave, or these points as well."""

    def grade(request: Request) -> Answer:
        named = re.search(r"People say (\d)", request.text)
        score = int(named[1]) if named and as_people else points
        lists = {"supported_claims": ["a"] if score else [], "unsupported_claims": ["b"] if score < 5 else []}
        return Answer(text=grounded(score, **lists).model_dump())

    return grade


def test_judges_decide_where_people_agree_with_them(project: Project) -> None:
    """Two points less are red by a judge that grades as people do, and advice by one with a single grade for all."""
    (project.root / "golden").mkdir()
    (project.root / "golden" / "canary.jsonl").write_text(graded_by_people())
    with FakeJudge(grounded_at(4, as_people=True)) as server:
        judged_by(project, server, "  scores: [groundedness]\n  canary: golden/canary.jsonl\n  mode: refresh\n")
        project.promote()
        answers = ("check", "--run", str(project.last_run()))
        assert project.command(*answers).code == 0
        server.script = grounded_at(2, as_people=True)
        decided = project.command("check")
        assert decided.code == 1, decided.out
        verdict = project.verdict()
        assert {reason["code"] for reason in verdict["reasons"]} == {"worse"}
        assert verdict["judging"]["canary"]["scores"]["groundedness"]["kappa"] == 1.0
        assert "groundedness 1.0000 [1.0000, 1.0000] on 24 of 24 cases, floor 0.4" in decided.out
        server.script = grounded_at(2, as_people=False)
        advised = project.command(*answers)
        assert advised.code == 0, advised.out
        verdict = project.verdict()
        decides_nothing = "Judges do not decide about groundedness: groundedness decides nothing: kappa 0.0000"
        assert decides_nothing in verdict["headline"]
        (row,) = (row for row in verdict["metrics"] if row["metric"] == "groundedness" and row["slice"] == "overall")
        assert (row["status"], row["delta"]) == ("advisory", -2.0)
    assert "Judges do not decide" in (project.last_run() / "summary.md").read_text().partition("|")[0]


def test_a_canary_set_that_is_not_there_stops_the_run(project: Project) -> None:
    """A file that the configuration names and nobody has is an error before anything is asked, with its key."""
    with FakeJudge(grade) as server:
        judged_by(project, server, "  canary: golden/canary.jsonl\n")
        done = project.command("run")
        assert done.code == 2
        assert server.calls == 0
    assert "judges.canary" in done.err
