"""An invariant of which nothing was seen does not count as held."""

from __future__ import annotations

from typing import Any

import pytest

from builders import make_chunk, make_chunks
from probed import broken, make_probe, probed
from raggate.models.run import ProbeAnswer

A, B = make_chunks("a.md", "b.md")
MARKED: dict[str, Any] = {"config": {"private": {"tags": ["secret"]}}}
ANNA: dict[str, Any] = {
    "config": {"ask": {"probes": {"principals": {"anna": {"headers": {"X-User": "anna"}, "sees": ["work"]}}}}}
}
HEADING = {"case_id": "", "note": "work/a.md", "heading_path": "# A"}


@pytest.mark.parametrize(
    ("name", "answers", "run", "level", "why"),
    [
        pytest.param(
            "headings_findable",
            (),
            {},
            "error",
            "nothing was asked: no question or heading is fit for it",
            id="nothing-asked",
        ),
        pytest.param(
            "headings_findable",
            (make_probe("heading", failed=True, **HEADING),),
            {},
            "error",
            "1 of 1 question got no answer: no answer within 60 s",
            id="nothing-answered",
        ),
        pytest.param(
            "headings_findable",
            (make_probe("heading", failed=True, **HEADING), make_probe("heading", make_chunk(), **HEADING)),
            {},
            "warn",
            "1 of 2 questions got no answer: no answer within 60 s",
            id="one-not-answered",
        ),
        pytest.param(
            "spelling_ignored",
            (make_probe("control", A), make_probe("spelling", B, variant="capitals")),
            {"suite": (B,)},
            "error",
            "1 of 1 answer left out: the question is ranked otherwise when asked again unchanged",
            id="noise",
        ),
        pytest.param(
            "private_withheld",
            (),
            MARKED,
            "error",
            "no note of the vaults is marked as private or deleted",
            id="nothing-is-marked",
        ),
        pytest.param(
            "private_withheld",
            (),
            {**MARKED, "private": ("home/diary.md",)},
            "error",
            "no private note was asked for",
            id="none-asked-for",
        ),
        pytest.param(
            "principals_isolated",
            (make_probe("principal", principal="anna"),),
            ANNA,
            "error",
            "anna got no chunk for 1 question",
            id="a-principal-that-gets-nothing",
        ),
        pytest.param(
            "principals_isolated",
            (make_probe("principal", failed=True, principal="anna"),),
            ANNA,
            "error",
            "anna got no chunk for 1 question: 1 of 1 question got no answer: no answer within 60 s",
            id="a-principal-that-is-refused",
        ),
        pytest.param(
            "principals_isolated", (), ANNA, "error", "anna got no chunk for 0 questions", id="a-principal-not-asked"
        ),
    ],
)
def test_what_was_not_seen(
    name: str, answers: tuple[ProbeAnswer, ...], run: dict[str, Any], level: str, why: str
) -> None:
    """Where nothing was seen it is told at the level of the invariant, else as a warning, with why."""
    (finding,) = broken(name, probed(*answers, **run))
    assert (finding.level, finding.unseen, finding.examples) == (level, True, (why,))
    assert broken(name, probed(*answers, **run), "off") == ()
    assert broken(name, probed(*answers, **run, stopped="the API ended")) == ()


@pytest.mark.parametrize(
    ("name", "answers", "run"),
    [
        pytest.param("headings_findable", (make_probe("heading", make_chunk(), **HEADING),), {}, id="answered"),
        pytest.param("private_withheld", (), {}, id="nothing-private-configured"),
        pytest.param("principals_isolated", (), {}, id="no-principals-configured"),
        pytest.param(
            "principals_isolated",
            (
                make_probe("principal", make_chunk(), principal="anna"),
                make_probe("principal", failed=True, principal="anna"),
            ),
            ANNA,
            id="a-refused-call-shows-nothing",
        ),
    ],
)
def test_what_was_seen(name: str, answers: tuple[ProbeAnswer, ...], run: dict[str, Any]) -> None:
    """Nothing is told of what was seen to hold, or concerns nobody."""
    assert broken(name, probed(*answers, **run)) == ()
