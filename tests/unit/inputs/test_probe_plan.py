"""What is asked after the suite: as much as is configured, and the same of the same inputs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from builders import make_case, make_config, make_golden
from raggate.config.invariant_settings import PROBES_OFF
from raggate.config.schema import Config
from raggate.inputs.probe_plan import fewer, plan, question_of
from raggate.models.golden import Golden, Vault
from raggate.models.probe import Probe
from tables import each_row

TEXTS = {
    ("work", "a.md"): "# Alpha\n\n## Opening hours\n\nnine\n\n## Empty one\n\n## Log\n\nlines\n",
    ("work", "b.md"): "---\ntitle: Front matter\n---\n# Beta rays\n\ntext\n\n## Same words\n\ntext\n",
    ("home", "c.md"): "# Gamma\n\n## same  Words\n\ntext\n",
    ("home", "diary.md"): "# Dear diary\n\nI met somebody\n",
}
VAULT = Vault(directories={"work": Path(), "home": Path()}, texts=TEXTS, notes={}, hash="v1")
GOLDEN = make_golden(*(make_case(f"q{number}", question=f"caf\u00e9 {number}") for number in range(9)))
PRIVATE = ("home/diary.md",)
PRINCIPALS = {
    "anna": {"headers": {"X-User": "anna"}, "sees": ["work"]},
    "bert": {"vaults": ["home"], "sees": ["home"]},
}


def config(*names: str, sample: int = 2, k: int = 5) -> Config:
    """Build a configuration with some invariants switched on."""
    probes = {"sample": sample, "reindex": {"path": "/rebuild"}, "principals": PRINCIPALS}
    levels = {**PROBES_OFF, **dict.fromkeys(names, "error")}
    return make_config(vault={"work": "w", "home": "h"}, ask={"probes": probes, "k": k}, invariants=levels)


def planned(*names: str, golden: Golden = GOLDEN, **keys: Any) -> tuple[Probe, ...]:
    """Plan the probes of some invariants."""
    return plan(config(*names, **keys), golden, VAULT, PRIVATE)


@each_row(
    ("names", "expected"),
    [
        ((), {}),
        (("top_is_prefix",), {"control": 2, "prefix": 2}),
        (("spelling_ignored",), {"control": 2, "spelling": 6}),
        (("reindex_idempotent",), {"control": 2, "reindex": 2}),
        (("top_is_prefix", "spelling_ignored"), {"control": 2, "prefix": 2, "spelling": 6}),
        (("headings_findable",), {"heading": 2}),
        (("nonsense_abstains",), {"nonsense": 2}),
        (("private_withheld",), {"private": 1}),
        (("principals_isolated",), {"principal": 4}),
    ],
)
def test_what_each_costs(names: tuple[str, ...], expected: dict[str, int]) -> None:
    """Every invariant takes as many questions as the sample, by variant and principal; repeated ones are shared."""
    probes = planned(*names)
    assert Counter(probe.kind for probe in probes) == expected
    assert planned(*names) == probes


def test_questions_of_ascii_are_joined_by_others_that_have_two_forms() -> None:
    """Where the sample has no letter that Unicode writes in two ways, questions that have one are asked too."""
    cases = [*(make_case(f"p{number}", question=f"plain {number}") for number in range(20)), *GOLDEN.cases]
    probes = planned("spelling_ignored", golden=make_golden(*cases), sample=1)
    assert Counter(probe.variant for probe in probes if probe.kind == "spelling")["Unicode form NFD"] == 1


def test_headings_are_those_that_can_be_told_apart() -> None:
    """Asked are headings of several words, with text of their own, that stand once in all vaults, in public notes."""
    probes = planned("headings_findable", sample=9)
    assert {(probe.question, probe.note, probe.heading_path) for probe in probes} == {
        ("Opening hours", "work/a.md", "# Alpha > ## Opening hours"),
        ("Beta rays", "work/b.md", "# Beta rays"),
    }


def test_private_notes_are_asked_for_by_a_heading_of_theirs() -> None:
    """The question is what somebody would ask who knows the note."""
    (probe,) = planned("private_withheld")
    assert (probe.question, probe.note) == ("Dear diary", "home/diary.md")


def test_every_principal_is_asked_the_same_questions() -> None:
    """Those first that somebody must not see the answer to."""
    everybody = make_case("open", gold_supports=())
    probes = planned("principals_isolated", golden=make_golden(everybody, *GOLDEN.cases), sample=9)
    asked = {name: [probe.case_id for probe in probes if probe.principal == name] for name in PRINCIPALS}
    assert asked["anna"] == asked["bert"]
    assert "open" not in asked["anna"]


def test_nothing_in_a_question_tells_that_it_is_a_probe() -> None:
    """What is sent is a case as the suite has them, with its id, vaults and folders; only what is tested is another."""
    settings = config("top_is_prefix")
    golden = make_golden(make_case("q1", vaults=("work",), folders=("work/In",), k=7))
    spelled = Probe(kind="spelling", mode="hybrid", question="OTHER", case_id="q1", variant="capitals")
    case = question_of(spelled, golden, settings)
    assert (case.id, case.question, case.vaults, case.folders, case.k) == ("q1", "OTHER", ("work",), ("work/In",), 7)
    shorter = Probe(kind="prefix", mode="hybrid", question="OTHER", case_id="q1")
    assert question_of(shorter, golden, settings).k == 4
    heading = Probe(kind="heading", mode="hybrid", question="Opening hours", note="work/a.md")
    assert len(question_of(heading, golden, settings).id) == 8
    bert = Probe(kind="principal", mode="hybrid", question="OTHER", case_id="q1", principal="bert")
    assert question_of(bert, golden, settings).vaults == ("home",)
    assert question_of(bert, golden, settings).folders == ()
    anna = Probe(kind="principal", mode="hybrid", question="OTHER", case_id="q1", principal="anna")
    assert question_of(anna, golden, settings).vaults == ("work",)


@each_row(("k", "half"), [(2, 1), (5, 3), (10, 5), (1000, 500)])
def test_half_as_many(k: int, half: int) -> None:
    """The top 5 of 10, and never none."""
    assert fewer(k) == half
