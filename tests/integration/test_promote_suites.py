"""Several suites promoted by one command: every baseline is written, or none, whatever stops it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from project import Done, Project, make_project

PATTERN = "services/*/raggate.yml"
SUITES = ("one", "three", "two")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a repository of three suites without baselines, each with a run."""
    root = tmp_path_factory.mktemp("mono")
    for name in SUITES:
        folder = root / "services" / name
        folder.mkdir(parents=True)
        project = make_project(folder)
        project.edit("suite: small", f"suite: {name}")
        assert project.command("run").code == 0
    return Project(root)


@pytest.fixture
def mono(measured: Project) -> Iterator[Project]:
    """Yield the same, without what a test has promoted."""
    yield measured
    for file in measured.root.glob("services/*/baselines/*.json"):
        file.unlink()


def written(mono: Project) -> set[str]:
    """Return the suites that have a baseline."""
    return {file.stem for file in mono.root.glob("services/*/baselines/*.json")}


def promote(mono: Project, *words: str) -> Done:
    return mono.command("promote", *words, "-c", PATTERN)


def run_of(mono: Project, suite: str) -> Path:
    (run,) = (mono.root / "services" / suite / ".raggate" / "runs").iterdir()
    return run


def test_the_newest_run_of_every_suite(mono: Project) -> None:
    """Each baseline is what promoting its run alone writes."""
    done = promote(mono, "latest", "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)["result"]
    assert told["written"] is True
    assert [(one["suite"], one["exit_code"], one["result"]["written"]) for one in told["suites"]] == [
        (suite, 0, True) for suite in SUITES
    ]
    assert written(mono) == {*SUITES}
    baseline = mono.root / "services/one/baselines/one.json"
    together = json.loads(baseline.read_text())
    baseline.unlink()
    assert Project(mono.root / "services/one").command("promote", "latest").code == 0
    alone = json.loads(baseline.read_text())
    for stored in (together, alone):
        stored["provenance"].pop("promoted", None)
        del stored["digest"]
    assert together == alone


def test_nothing_is_written_where_one_is_refused(mono: Project) -> None:
    """A run that stopped is named with its reason, and no other baseline is written."""
    config = run_of(mono, "three") / "config.json"
    before = config.read_bytes()
    try:
        config.write_text(json.dumps({**json.loads(before), "stopped": "the API died"}))
        done = promote(mono, "latest", "--json")
    finally:
        config.write_bytes(before)
    assert done.code == 3
    assert "1 of 3 suites cannot be promoted: three." in done.err
    assert done.err.strip().endswith("name these: -c services/one/raggate.yml -c services/two/raggate.yml")
    told = json.loads(done.out)["result"]
    assert (told["written"], {one["suite"]: one["exit_code"] for one in told["suites"]}) == (
        False,
        {"one": 0, "two": 0, "three": 3},
    )
    assert written(mono) == set()


def test_the_newest_run_of_a_configuration_that_is_not_right(mono: Project) -> None:
    """What is wrong with it is said: which suite it is of, and where its runs lie, is not known."""
    broken = mono.root / "services/one/raggate.yml"
    before = broken.read_text()
    try:
        broken.write_text(before.replace("suite: one", "suitee: one"))
        done = promote(mono, "latest")
    finally:
        broken.write_text(before)
    assert (done.code, "services/one/raggate.yml:" in done.err, "unknown key 'suitee'" in done.err) == (2, True, True)


def test_what_is_no_run_of_each(mono: Project) -> None:
    """Several configurations take the newest run of each: a single run, and one baseline file, are usage errors."""
    for words in ((str(run_of(mono, "one")),), ("latest", "--baseline", "b.json")):
        done = promote(mono, *words)
        assert (done.code, "with several configurations, promote `latest` and leave out --baseline" in done.err) == (
            2,
            True,
        )
    assert written(mono) == set()


@pytest.mark.parametrize("names", [PATTERN, "services/one/raggate.yml"])
def test_a_place_that_cannot_be_written(mono: Project, names: str) -> None:
    """A file where a directory is needed is a usage error that names the place, of one suite and of several."""
    shutil.rmtree(place := mono.root / "services/one/baselines", ignore_errors=True)
    place.write_text("")
    try:
        done = mono.command("promote", "latest", "-c", names)
    finally:
        place.unlink()
    assert done.code == 2, done.err
    assert "cannot write " in done.err
    assert "services/one/baselines" in done.err
    assert written(mono) == set()
