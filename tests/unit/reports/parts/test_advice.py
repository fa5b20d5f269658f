"""Advice is what helps, and names a file only where there is one: not the output of an API that is run elsewhere."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from builders import make_config, make_flip
from raggate.config.imported import ImportedConfig
from raggate.models.comparison import Cause, Diagnosis, Flip
from raggate.models.run import Run
from raggate.reports.parts.advice import first_red, log_place, next_step
from reviews import cannot_tell, regression
from tables import each_row

RUN = cannot_tell().run
PROGRAM = make_config(api={"command": {"run": ["kebab"]}}, ask={"adapter": "kebab"})


def later(run: Run) -> Run:
    """Let a run have been judged after it was measured, in a directory of its own."""
    return replace(run, provenance=replace(run.provenance, measured="2026-01-02T03:04:05Z"))


@each_row(
    ("run", "place", "step"),
    [
        (RUN, "api.log in the run directory", "read the end of `api.log` in the run directory."),
        (
            replace(RUN, config=make_config(api={"container": {"image": "api", "port": 80}})),
            "api.log in the run directory",
            "read the end of `api.log` in the run directory.",
        ),
        (later(RUN), "api.log where the run was measured", "read the end of `api.log` where the run was measured."),
        (replace(RUN, config=make_config()), "", "read the end of the API's own log."),
        (later(replace(RUN, config=make_config())), "", "read the end of the API's own log."),
        (replace(RUN, config=PROGRAM), "", "read the end of the API's own log."),
        (replace(RUN, config=ImportedConfig(system="kebab")), "", "read the end of the API's own log."),
    ],
    ids=["a command", "a container", "judged later", "by address", "by address, later", "a program", "imported"],
)
def test_where_the_output_of_the_api_is(run: Run, place: str, step: str) -> None:
    """It is in the directory of the run that raggate started the API for, and in no directory where it did not."""
    assert log_place(run) == place
    assert next_step(replace(cannot_tell(), run=run)).startswith(step)


def test_where_a_waiver_counts() -> None:
    """A waiver counts once it is merged if a commit judges, and at once otherwise."""
    found = regression()
    assert next_step(found).endswith("If you accept the loss, add it under `waivers`, which counts after the merge.")
    own = replace(found, run=replace(found.run, provenance=replace(found.run.provenance, against=None)))
    assert next_step(own).endswith("add it under `waivers`, or promote this run with `--allow-regression`.")


def _lost(case_id: str, code: Any, **fields: Any) -> Flip:
    return make_flip(case_id, kind="broke", cause=Cause(code=code), **fields)


@each_row(
    ("explained", "first"),
    [
        ((), "must"),
        (("fell", "three"), "three"),
        (("fell",), "fell"),
    ],
    ids=["no cause is named", "one that broke before one that fell", "one that fell"],
)
def test_the_question_to_begin_with_is_one_that_the_cause_explains(explained: tuple[str, ...], first: str) -> None:
    """The named cause explains the question that is suggested, also if another must pass or more broke otherwise."""
    lost = [_lost("must", "demoted", must_pass=True), _lost("two", "demoted"), _lost("three", "api-error")]
    found = regression()
    shown = replace(
        found,
        comparison=replace(found.comparison, flips=tuple(lost)),
        fallen=(make_flip("fell", kind="fell", cause=Cause(code="demoted")),),
        diagnosis=Diagnosis(
            questions=4, counts=(), changes=(), likely="", explains=frozenset(("hybrid", name) for name in explained)
        ),
    )
    chosen = first_red(shown)
    assert chosen is not None
    assert chosen.case_id == first
