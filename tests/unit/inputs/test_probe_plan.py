"""What is asked after the suite: as much as is configured, and the same of the same inputs."""

from __future__ import annotations

from collections import Counter
from unittest.mock import patch

from msgspec.structs import replace

from builders import make_case, make_config, make_golden, make_vault
from raggate.config.schema import Config
from raggate.inputs import probe_plan
from raggate.inputs.probe_plan import plan, question_of
from raggate.models.golden import Golden
from raggate.models.run import Probe
from tables import each_row

TEXTS = {
    "work/a.md": "# Alpha\n\n## Opening hours\n\nnine\n\n## Empty one\n\n## Log\n\nlines\n",
    "work/b.md": "---\ntitle: Front matter\n---\n# Beta rays\n\ntext\n\n## Same words\n\ntext\n",
    "home/c.md": "# Gamma\n\n## same  Words\n\ntext\n",
    "home/diary.md": "# Dear diary\n\nI met somebody\n",
}
VAULT = make_vault(TEXTS)
GOLDEN = make_golden(*(make_case(f"q{number}", question=f"caf\u00e9 {number}") for number in range(9)))
PRIVATE = ("home/diary.md",)
PRINCIPALS = {
    "anna": {"headers": {"X-User": "anna"}, "sees": ["work"]},
    "bert": {"vaults": ["home"], "sees": ["home"]},
}


def config(*names: str) -> Config:
    """Build a configuration with some invariants switched on."""
    levels = {name: "error" if name in names else "off" for name in ("private_withheld", "principals_isolated")}
    return make_config(vault={"work": "w", "home": "h"}, ask={"principals": PRINCIPALS}, invariants=levels)


def planned(*names: str, golden: Golden = GOLDEN, sample: int = 2) -> tuple[Probe, ...]:
    """Plan the probes of some invariants."""
    with patch.object(probe_plan, "SAMPLE", sample):
        return plan(config(*names), golden, VAULT, PRIVATE)


@each_row(
    ("names", "expected"),
    [((), {}), (("private_withheld",), {"private": 1}), (("principals_isolated",), {"principal": 4})],
)
def test_what_each_costs(names: tuple[str, ...], expected: dict[str, int]) -> None:
    """Every invariant takes as many questions as the sample, by principal; a private note is asked for by a heading."""
    probes = planned(*names)
    assert Counter(probe.kind for probe in probes) == expected
    assert planned(*names) == probes
    private = [(probe.question, probe.note) for probe in probes if probe.kind == "private"]
    assert private == [("Dear diary", "home/diary.md")] * expected.get("private", 0)


def test_every_principal_is_asked_the_same_questions() -> None:
    """Those first that somebody must not see the answer to."""
    everybody = make_case("open", gold_supports=())
    probes = planned("principals_isolated", golden=make_golden(everybody, *GOLDEN.cases), sample=9)
    asked = {name: [probe.case_id for probe in probes if probe.principal == name] for name in PRINCIPALS}
    assert asked["anna"] == asked["bert"]
    assert "open" not in asked["anna"]


def test_nothing_in_a_question_tells_that_it_is_a_probe() -> None:
    """What is sent is a case as the suite has them, with its id, vaults and folders, or those of the principal."""
    settings = config("principals_isolated")
    golden = make_golden(make_case("q1", vaults=("work",), folders=("work/In",), k=7))
    private = Probe(kind="private", mode="hybrid", question="Opening hours", note="work/a.md")
    assert len(question_of(private, golden, settings).id) == 8
    bert = Probe(kind="principal", mode="hybrid", question="Question q1?", case_id="q1", principal="bert")
    assert question_of(bert, golden, settings) == replace(golden.cases[0], vaults=("home",), folders=())
    assert question_of(replace(bert, principal="anna"), golden, settings) == golden.cases[0]
