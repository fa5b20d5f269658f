"""What sways judges, measured on a stored run: judges with a known bias are seen as such, and one without is not."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fakes.judge_server import Answer, FakeJudge, Request
from project import Project, make_project
from raggate.judges import cassette
from raggate.text.lots import lot

SECTION = """
judges:
  models: [{models}]
  scores: [groundedness]
  concurrency: 8
"""
CASSETTE = "golden/judge_cassette.jsonl"
Points = Callable[[Request, dict[str, Any]], int]


def judge_by(points: Points) -> Callable[[Request], Answer]:
    """Script a judge of groundedness, whose points depend on what it is shown."""

    def grade(request: Request) -> Answer:
        data = request.text
        score = points(request, json.loads(data[data.index("\n{") : data.rindex("\n}") + 2]))
        claims = {"supported_claims": ["a"] if score else [], "unsupported_claims": ["b"] if score < 5 else []}
        return Answer(text={"reasoning": "because", **claims, "uncited_major_claims": [], "score": score}, model="")

    return grade


def unbiased(request: Request, material: dict[str, Any]) -> int:
    """Grade by the question alone."""
    return 1 + len(material["question"]) % 3


def by_position(request: Request, material: dict[str, Any]) -> int:
    """Grade a point lower where the passage that was found first does not stand first."""
    return unbiased(request, material) - (material["passages"][0]["number"] != 1)


def by_length(request: Request, material: dict[str, Any]) -> int:
    """Grade a point higher where the answer goes on about itself."""
    return unbiased(request, material) + ("The reply to this question follows here." in material["answer"])


def dice(request: Request, material: dict[str, Any]) -> int:
    """Grade by what no grade should depend on, without any direction: half of all grades move, whatever is changed."""
    return 2 + lot(request.text, str(request.body["seed"]))[0] % 2


def by_own_kind(request: Request, material: dict[str, Any]) -> int:
    """Grade a point higher as one model, and as the other by the question."""
    return unbiased(request, material) + request.body["model"].startswith("gpt")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A repository with a run of 20 answers, the fewest of which anything is told, which nobody judged."""
    project = make_project(tmp_path_factory.mktemp("bias"))
    project.write_cases(project.cases()[:20])
    project.edit("ask: {total_timeout: 20, concurrency: 4}", "ask: {retrieval_only: false, repeat_sample: 0}")
    done = project.command("run", "--store-full-text")
    assert done.code == 0, done.err
    return project


@pytest.fixture
def project(measured: Project, tmp_path: Path) -> Project:
    """A copy of it for one test."""
    return measured.copied(tmp_path / "copy")


def configure(project: Project, server: FakeJudge, more: str = "", models: tuple[str, ...] = ("small",)) -> None:
    """Put a section with these models, all at this server, into the configuration."""
    text = project.config.read_text().partition("\njudges:")[0]
    listed = ", ".join(f'{{model: {name}, base_url: "{server.url}", build: b1}}' for name in models)
    project.config.write_text(text + SECTION.format(models=listed) + more)


def bias(project: Project, *flags: str, code: int = 0) -> dict[str, Any]:
    """Measure on the stored run, and read what stands in its directory."""
    done = project.command("judge", "--run", str(project.last_run()), "--bias", *flags)
    assert done.code == code, done.err
    return stored_bias(project)


@pytest.fixture(scope="module")
def swayed_once(measured: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The repository after a measurement of a judge that grades by position, whose replies are in the cassette."""
    project = measured.copied(tmp_path_factory.mktemp("swayed"))
    with FakeJudge(judge_by(by_position)) as server:
        configure(project, server)
        bias(project)
    return project


def stored_bias(project: Project) -> dict[str, Any]:
    """Read what a measurement has left."""
    stored: dict[str, Any] = json.loads((project.last_run() / "judge_bias.json").read_text())
    return stored


def findings(stored: dict[str, Any]) -> dict[str, str]:
    """Give what was made of each variant."""
    return {row["variant"]: row["finding"] for row in stored["shifts"]}


@pytest.mark.parametrize(
    ("points", "shown"),
    [
        (unbiased, set()),
        (dice, set()),
        (by_length, {"longer"}),
    ],
)
def test_a_bias_is_shown_where_there_is_one(project: Project, points: Points, shown: set[str]) -> None:
    """A judge that grades by length is shown as such, one that rolls dice or is without bias is not."""
    with FakeJudge(judge_by(points)) as server:
        configure(project, server)
        shows(bias(project), shown)


def test_a_bias_for_what_was_found_first_is_shown(swayed_once: Project) -> None:
    """A judge that grades by position is shown as such, in both orders that are not that of the answer."""
    shows(stored_bias(swayed_once), {"reversed", "shuffled"})


def shows(stored: dict[str, Any], shown: set[str]) -> None:
    """Claim that a measurement shows these biases and no other, though it looked for all."""
    made = findings(stored)
    assert {name for name, finding in made.items() if finding == "shown"} == shown
    assert {"again", "reversed", "shuffled", "longer"} <= made.keys()
    assert "too few" not in made.values()
    assert stored["shown"] == len(shown)


def test_the_run_stays_as_it_is(project: Project) -> None:
    """Nothing that a gate reads changes: results, metrics, verdict and configuration are the same bytes."""
    with FakeJudge(judge_by(by_length)) as server:
        configure(project, server)
        assert project.command("check").code == 3  # there is no baseline
        directory = project.last_run()
        before = {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}
        calls = server.calls
        stored = bias(project)
        # the grades of the answers as they are come from the cassette
        assert server.calls - calls == stored["spending"]["calls"] == 20 * 4
    after = {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}
    assert "verdict.json" in before
    assert after.keys() - before.keys() == {"judge_bias.json", "judge_bias.md"}
    assert {name: after[name] for name in before} == before
    (row,) = stored["length_correlations"]
    assert (row["judge"], row["answers"]) == ("small", 20)


def test_a_part_is_judged_as_a_part(project: Project) -> None:
    """Grades of a few questions that were chosen are not shown as if they were of all, nor is what sways them."""
    with FakeJudge(judge_by(unbiased)) as server:
        configure(project, server)
        assert project.command("run", "--limit", "2", "--store-full-text").code == 0
        for flags in ((), ("--bias",)):
            done = project.command("judge", "--run", str(project.last_run()), *flags)
            assert done.code == 0, done.err
            assert "partial: 2 of 20 questions chosen (--limit 2)" in done.err


def test_a_replay_makes_no_call_and_tells_the_same(swayed_once: Project, tmp_path: Path) -> None:
    """With the server gone, the cassette gives the same numbers; the cassette names what each line is about."""
    project = swayed_once.copied(tmp_path)
    first, content = stored_bias(project), (project.root / CASSETTE).read_bytes()
    project.config.write_text(f"{project.config.read_text()}  mode: replay\n")
    again = bias(project)
    own = {"mode", "spending", "recorded"}
    assert {key: again[key] for key in again.keys() - own} == {key: first[key] for key in first.keys() - own}
    assert (again["mode"], again["spending"]["calls"], again["recorded"]) == ("replay", 0, 0)
    assert (project.root / CASSETTE).read_bytes() == content
    lines = cassette.read(content, CASSETTE).values()
    assert {line.about.get("variant") for line in lines} == {None, "again", "reversed", "shuffled", "longer"}


def test_a_budget_that_ends_in_the_middle_is_told(project: Project) -> None:
    """Beyond the budget nothing is asked, what has no grade is counted by reason, and too few say nothing."""
    with FakeJudge(judge_by(by_length), wire=True) as server:
        configure(project, server, "  budget: {calls: 56}\n")
        stored = bias(project)
        assert server.calls == 56
    assert stored["spending"]["calls"] == 56
    assert stored["spending"]["refused"] == 20 * 5 - 56
    # all variants of nine answers, after the 20 answers as they are
    assert [row["answers"] for row in stored["shifts"]] == [9, 9, 9, 9]
    assert sum(row["not_judged"]["budget"] for row in stored["shifts"]) == 44
    assert set(findings(stored).values()) == {"too few"}
    assert stored["headline"].startswith("Too few questions to see")


def test_a_measurement_that_is_killed_asks_nothing_twice(project: Project) -> None:
    """SIGKILL in the middle loses nothing that was replied: the next measurement asks for the rest alone."""

    def slowly(request: Request) -> Answer:
        time.sleep(0.05)
        return judge_by(unbiased)(request)

    with FakeJudge(slowly) as server:
        configure(project, server)
        process = project.start("judge", "--run", str(project.last_run()), "--bias")
        while server.calls < 40:
            time.sleep(0.01)
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=20)
        recorded = len(cassette.read((project.root / CASSETTE).read_bytes(), CASSETTE))
        assert 0 < recorded < 20 * 5
        server.script = judge_by(unbiased)
        before = server.calls
        bias(project)
        assert server.calls - before == 20 * 5 - recorded


def test_a_judge_that_gives_its_own_kind_more_is_told(project: Project) -> None:
    """Beside a judge of another family it is seen to give more, and it is said that it may be lenient to all."""
    with FakeJudge(judge_by(by_own_kind)) as server:
        configure(project, server, models=("gpt-small", "claude-small"))
        stored = bias(project, "--answered-by", "openai:gpt-4o-2024-08-06")
        calls = server.calls
        other = bias(project, "--answered-by", "mistral-7b")
        unknown = bias(project)
        assert server.calls == calls
    part = stored["self_preference"]
    (row,) = part["rows"]
    assert (row["judge"], row["family"], row["own_questions"], row["finding"]) == (
        "gpt-small",
        "gpt",
        20,
        "lenient or partial",
    )
    assert (row["own"]["mean"], row["preference"]) == (1.0, None)
    assert part["source"] == "command line"
    assert "Partial to its own kind, or lenient to all: gpt-small" in stored["headline"]
    assert other["self_preference"]["rows"] == []
    assert other["self_preference"]["reason"] == "no answer is by a model of the family of a judge"
    assert unknown["self_preference"]["reason"].startswith("nothing says which model generated the answers")
    assert unknown["shown"] == 0


def test_a_run_directory_names_no_judge_that_is_asked(project: Project) -> None:
    """Without a configuration the section of the run directory is replayed alone: nobody is asked where it says."""
    with FakeJudge(judge_by(unbiased)) as server:
        configure(project, server)
        assert project.command("run").code == 0
        directory = project.last_run()
        project.config.unlink()
        calls = server.calls
        done = project.command("judge", "--run", str(directory), "--bias")
        assert (done.code, server.calls) == (2, calls)
    assert "no judge is asked where a run directory says" in done.err


def test_few_questions_tell_nothing(project: Project) -> None:
    """Of 12 questions no bias is claimed, however clear it looks, and the reason stands in every row."""
    with FakeJudge(judge_by(by_length)) as server:
        configure(project, server)
        done = project.command("judge", "--run", str(project.last_run()), "--bias", "--bias-n", "12")
    assert done.code == 0, done.err
    assert done.out.count("12 questions: too few to tell") == 4
    assert "at least 20 are needed" in done.out


def test_what_could_not_be_measured_is_no_result(project: Project) -> None:
    """Where no answer got two grades there is nothing to tell: exit code 3, with the reasons."""
    with FakeJudge(lambda _: Answer(status=400, text="no")) as server:
        configure(project, server)
        done = project.command("judge", "--run", str(project.last_run()), "--bias")
    assert done.code == 3
    assert "no answer of run" in done.err
    assert "status 20" in done.err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--bias-n", "5"), "--bias-n and --answered-by are about --bias"),
        (("--answered-by", "m"), "--bias-n and --answered-by are about --bias"),
        (("--bias", "--spot-check"), "--bias changes no score"),
        (("--bias", "--answered-by", " "), "--answered-by: expected the name of a model"),
    ],
)
def test_flags_that_say_nothing_together_are_told(project: Project, flags: tuple[str, ...], message: str) -> None:
    """A flag about what is not asked for, or that does not go with it, is an error before anything is asked."""
    done = project.command("judge", "--run", str(project.last_run()), *flags)
    assert done.code == 2
    assert message in done.err
