"""What a front end gets from the pipeline: a verdict with its run directory, or an error that tells how far it came."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from project import Project
from raggate.base.errors import ExitCode
from raggate.config.overrides import Overrides
from raggate.pipeline import check
from raggate.pipeline.request import Request, RunFailed, Voice, unheard

WAIVER = "waivers: [{metric: hit_at_5, owner: ada, reason: reindexing, expires: 2999-01-01}]\n"


def request(project: Project, made: list[Path], overrides: Overrides | None = None, **environment: str) -> Request:
    """Ask for a check of a project; what hears of run directories collects them."""
    return Request(
        config_file=project.config,
        environment={**os.environ, **environment},
        voice=Voice(say=unheard, created=made.append),
        overrides=overrides or Overrides(),
    )


def test_an_error_before_anything_is_measured(promoted: Project) -> None:
    """What is wrong behind the configuration tells the suite; there is no run directory and no waiver yet."""
    made: list[Path] = []
    promoted.config.write_text(promoted.config.read_text() + WAIVER)
    promoted.write_cases([])
    with pytest.raises(RunFailed) as caught:
        check.check(request(promoted, made))
    assert caught.value.failure.suite == "small"
    assert (caught.value.directory, made, caught.value.failure.waivers) == (None, [], ())


def test_a_configuration_that_is_refused(promoted: Project) -> None:
    """A configuration that cannot be used tells no suite."""
    with pytest.raises(RunFailed, match=r"needs the section api\.container") as caught:
        check.check(request(promoted, [], Overrides(api_image="a")))
    assert caught.value.failure.suite == ""


def test_an_error_on_the_way(promoted: Project) -> None:
    """An API that does not start tells suite, waivers and the run directory, whose reports say the same."""
    made: list[Path] = []
    promoted.config.write_text(promoted.config.read_text() + WAIVER)
    with pytest.raises(RunFailed) as caught:
        check.check(request(promoted, made, FAKE_BEHAVIOUR="die_at_start"))
    failure, directory = caught.value.failure, caught.value.directory
    assert (failure.suite, failure.exit_code) == ("small", ExitCode.CANNOT_TELL)
    assert [waiver.owner for waiver in failure.waivers] == ["ada"]
    assert [directory] == made
    assert directory is not None
    stored = json.loads((directory / "verdict.json").read_text())
    assert (stored["headline"], stored["waivers"][0]["owner"]) == (failure.message, "ada")
