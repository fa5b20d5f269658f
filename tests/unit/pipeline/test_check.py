"""What of a regression is asked again, before anything is booted for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from builders import make_case, make_config, make_golden, make_run, make_scorecard
from hostile_git import Hostile
from raggate.base.errors import UsageError
from raggate.models.golden import EVERYTHING, Choice, Selection
from raggate.models.provenance import Checkout, Provenance
from raggate.models.run import Run
from raggate.pipeline import check
from raggate.pipeline.check import notes_address, selected
from raggate.pipeline.request import Request, Voice, unheard
from tables import each_row


def test_nothing_is_booted_for_grades_alone(tmp_path: Path) -> None:
    """Where every question that got worse did so by a judge's grade, nothing is asked again, and that is said."""
    verdict = SimpleNamespace(outcome="regression", fell={("hybrid", "q0"): ("groundedness",)}, missed={})
    review: Any = SimpleNamespace(
        run=make_run(),
        verdict=verdict,
        comparison=SimpleNamespace(baseline=None, scorecard=make_scorecard(), deltas=()),
    )
    golden = SimpleNamespace(cases=[make_case("q0")])
    inputs: Any = SimpleNamespace(config=make_config(recheck="ref"), golden=golden)
    request: Any = SimpleNamespace(retriever=None)
    asked = check.recheck(request, inputs, tmp_path, review)
    assert asked is not None
    assert (asked.asked, asked.base) == ((), ())
    assert asked.problem == "only judges' grades count against the change, and raggate does not grade repeated answers"


GOLDEN = make_golden(
    make_case("fees-1", question="What does a card cost?", tags=("money", "cards"), difficulty="hard"),
    make_case("fees-2", question="What does a transfer cost?", tags=("money",), difficulty="easy"),
    make_case("vpn-1", question="How do I join the VPN?", tags=("it",), difficulty="hard", vaults=("work",)),
    make_case("vpn-2", question="Who is the admiral?", answerable=False, category="trick"),
)


def broken(*cases: str) -> Callable[[], frozenset[str]]:
    """Record that these questions were broken in the last run."""
    return lambda: frozenset(cases)


def chosen(**choice: object) -> tuple[str, ...] | None:
    """Choose, and give the ids; None for all of them."""
    selection = selected(Choice(**choice), GOLDEN, broken("vpn-2", "fees-1", "gone"))  # type: ignore[arg-type]
    return None if selection is None else selection.asked


@each_row(
    ("choice", "asked"),
    [
        ({"matching": "fees"}, ("fees-1", "fees-2")),
        ({"matching": "CARD"}, ("fees-1",)),
        ({"matching": "trick or it and vpn"}, ("vpn-1", "vpn-2")),
        ({"cases": ("vpn-1", "fees-1")}, ("fees-1", "vpn-1")),
        ({"slices": ("tag=cards", "tag=it")}, ("fees-1", "vpn-1")),
        ({"slices": ("difficulty=hard",)}, ("fees-1", "vpn-1")),
        ({"slices": ("difficulty=hard", "tag=money")}, ("fees-1",)),
        ({"slices": ("difficulty=hard", "difficulty=easy")}, ("fees-1", "fees-2", "vpn-1")),
        ({"slices": ("answerable=false",)}, ("vpn-2",)),
        ({"failed": True}, ("fees-1", "vpn-2")),
        ({"failed": True, "matching": "fees"}, ("fees-1",)),
        ({"limit": 1}, ("fees-1",)),
        ({"matching": "vpn", "limit": 1}, ("vpn-1",)),
        # all of them is the whole suite
        ({"limit": 4}, None),
        ({"matching": "fees or vpn"}, None),
    ],
)
def test_what_is_chosen(choice: dict[str, object], asked: tuple[str, ...] | None) -> None:
    """All that is said must hold; the questions keep the order of the golden set, and the limit comes last."""
    assert chosen(**choice) == asked


@each_row(
    ("choice", "problem", "hint"),
    [
        ({"cases": ("fees-3",)}, "--case: the golden set has no question 'fees-3'", "The nearest: fees-2, fees-1"),
        ({"cases": ("zebra",)}, "--case: the golden set has no question 'zebra'", "It has fees-1, fees-2"),
        ({"slices": ("difficulty=hrad",)}, "--slice: the golden set has no slice", "difficulty=hard"),
        (
            {"matching": "fes-1"},
            "fits -k fes-1, so nothing was asked. Did you mean 'fees-1'?",
            "The nearest ids: fees-1",
        ),
        (
            {"cases": ("vpn-1",), "slices": ("tag=money",)},
            "fits --case vpn-1 --slice tag=money, so nothing was asked",
            "Leave some out",
        ),
    ],
)
def test_what_is_refused(choice: dict[str, object], problem: str, hint: str) -> None:
    """What no question has is a usage error that names the nearest there is."""
    with pytest.raises(UsageError) as caught:
        chosen(**choice)
    assert problem in caught.value.message
    assert hint in caught.value.hint


def test_a_question_that_the_suite_leaves_out_may_stand_in_the_file() -> None:
    """Of a suite that asks a part of its file nothing is said of the rest."""
    part = replace(GOLDEN, part_of=9)
    for choice, problem in (
        (Choice(cases=("tea",)), "--case: the suite's part of the golden set has no question 'tea'"),
        (Choice(matching="tea"), f"no question of the suite's part of {GOLDEN.name} fits -k tea"),
    ):
        with pytest.raises(UsageError, match=problem):
            selected(choice, part, broken())


def test_the_words_of_a_choice() -> None:
    """A choice is written as it is typed, quoted for a shell, and a partial run says so in its first words."""
    choice = Choice(matching="a and b", cases=("x y",), slices=("difficulty=hard",), failed=True, limit=2)
    assert choice.words == "-k 'a and b' --case 'x y' --slice difficulty=hard --failed --limit 2"
    assert EVERYTHING.words == ""
    part = Selection(asked=("x",), of=203, words="-k x")
    assert part.sentence == "partial: 1 of 203 questions chosen (-k x)"


GITHUB = {"GITHUB_SERVER_URL": "https://forge.example", "GITHUB_REPOSITORY": "team/notes"}
GITLAB = {"CI_PROJECT_URL": "https://gitlab.example/group/team/notes"}
TRUSTED = "b" * 40


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Hostile:
    """A checkout with notes in `sub/notes`."""
    return Hostile(tmp_path_factory.mktemp("forge") / "checkout")


def measured(checkout: Hostile, *, vault: str = "notes", against: str | None = None, dirty: bool | None = False) -> Run:
    """Build a run of the commit that is checked out."""
    provenance = Provenance(checkout=Checkout(commit=head(checkout), dirty=dirty), against=against)
    return make_run(config=make_config(vault={"work": vault}), provenance=provenance)


def head(checkout: Hostile) -> str:
    """Return the commit that is checked out."""
    return checkout.git("rev-parse", "HEAD")


def address(checkout: Hostile, run: Run, environment: dict[str, str], *, first_run: bool = False) -> str:
    """Return the address of a run's notes, the configuration in `sub`."""
    file = checkout.sub / "raggate.yml"
    request = Request(config_file=file, environment=environment, voice=Voice(say=unheard))
    return notes_address(request, run, first_run=first_run)


def test_where_the_notes_of_a_run_are(checkout: Hostile) -> None:
    """On GitHub and GitLab at the commit of the checkout, or of the commit that judges, but not on a first run."""
    run, commit = measured(checkout), head(checkout)
    assert address(checkout, run, GITHUB) == f"https://forge.example/team/notes/blob/{commit}/sub/"
    assert address(checkout, run, GITLAB) == f"https://gitlab.example/group/team/notes/-/blob/{commit}/sub/"
    run = measured(checkout, against=TRUSTED, dirty=True)
    assert address(checkout, run, GITHUB) == f"https://forge.example/team/notes/blob/{TRUSTED}/sub/"
    run = measured(checkout, against=TRUSTED)
    assert f"/blob/{commit}/" in address(checkout, run, GITHUB, first_run=True)


def test_no_address(checkout: Hostile) -> None:
    """Outside a job, with files that differ from the commit's, and with notes that it has not, there is none."""
    assert address(checkout, measured(checkout), {}) == ""
    assert address(checkout, measured(checkout), {"GITHUB_SERVER_URL": "https://forge.example"}) == ""
    for dirty in (True, None):
        assert address(checkout, measured(checkout, dirty=dirty), GITHUB) == ""
    assert address(checkout, measured(checkout, vault="fetched"), GITHUB) == ""


@each_row(
    ("settings", "noisy", "seconds", "times"),
    [
        ({}, False, 120.0, 1),
        ({}, False, 120.1, 0),
        ({}, True, 600.0, 2),
        ({"recheck": "off"}, False, 1.0, 0),
        ({"recheck": "ref"}, False, 1.0, 1),
        ({"api": {"url": "http://127.0.0.1:1"}}, False, 1.0, 0),
    ],
)
def test_how_often_what_flipped_is_asked_again(
    settings: dict[str, Any], noisy: bool, seconds: float, times: int
) -> None:
    """A steady API once, if its run was short; a noisy one as often as the configuration says; `api.url` never."""
    config = make_config(**({"api": {"command": {"run": ["serve"]}}} | settings))
    assert check._times_again(config, make_run(duration_s=seconds), known_noisy=noisy) == times
