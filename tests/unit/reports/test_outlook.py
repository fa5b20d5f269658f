"""What a suite can show, as a terminal shows it."""

from __future__ import annotations

from msgspec.structs import replace

from raggate.models.outlook import ModeOutlook, Outlook, PolicyOdds
from raggate.reports.outlook import render
from tables import each_row

MODE = ModeOutlook(
    mode="hybrid",
    questions=50,
    units=50,
    visible_drop=0.12,
    fine=("hit_at_1", "hit_at_3", "hit_at_5", "mrr_at_10"),
    small=(("abstention_accuracy", 4), ("recall_all_at_10", 6)),
)
OUTLOOK = Outlook(
    suite="notes",
    policy="either",
    questions=50,
    modes=(MODE,),
    odds=tuple(
        PolicyOdds(policy=name, neutral=neutral, harmful=harmful)
        for name, neutral, harmful in (("either", 0.22, 0.66), ("evidence", 0.09, 0.5), ("threshold", 0.215, 0.65))
    ),
    recommended="evidence",
    gated=6,
    finest=0.05,
)


def test_everything() -> None:
    """What cannot be seen, what that means for tolerances and metrics, and which policy suits, with its numbers."""
    assert render(OUTLOOK).splitlines() == [
        "suite notes: 50 questions, gate.policy either",
        "with 50 questions a drop under 12 points can pass unseen",
        "warning: the tolerance of 4 gated metrics is finer than that, and chance alone can exceed it: "
        "hit_at_1, hit_at_3, hit_at_5, …",
        "warning: of fewer questions than gate.min_cases, so a loss warns unless the metric's own test shows it, "
        "or no question is right any more: abstention_accuracy (4) and recall_all_at_10 (6)",
        "6 gated metrics, the finest tolerance 0.05: red on neutral changes, which rank every fifth question anew: "
        "`either` 22%, `evidence` 9%, `threshold` 22%",
        "red on changes that lose every twentieth question besides: `either` 66%, `evidence` 50%, `threshold` 65%",
        "warning: gate.policy `evidence` suits this suite better than `either`",
    ]


def test_suite_that_fits() -> None:
    """Where nothing has to be done there is no warning."""
    fitting = replace(OUTLOOK, policy="evidence", modes=(replace(MODE, fine=(), small=()),))
    assert "warning" not in render(fitting)
    assert render(fitting).endswith("gate.policy `evidence` suits this suite\n")


@each_row("policy", ["either", "evidence"])
def test_a_suite_that_no_policy_suits(policy: str) -> None:
    """Where every policy is red too often or hardly ever, none is said to suit, and what the best one costs is said."""
    odds = (
        PolicyOdds(policy="either", neutral=0.66, harmful=0.91),
        PolicyOdds(policy="evidence", neutral=0, harmful=0.04),
    )
    told = render(replace(OUTLOOK, policy=policy, odds=odds, recommended="either")).splitlines()[-1]
    price = "`either` catches most, and is red on 66% of neutral changes"
    assert told == f"no gate.policy suits this suite as it is: {price}; ask more questions"


def test_policies_that_are_as_good() -> None:
    """Where two policies catch the same none is said to catch most."""
    odds = tuple(PolicyOdds(policy=name, neutral=0, harmful=0.06) for name in ("either", "evidence"))
    told = render(replace(OUTLOOK, odds=odds, recommended="either")).splitlines()[-1]
    assert "`either` catches as many as any, and is red on 0% of neutral changes" in told


def test_slices_that_are_red_too() -> None:
    """Where slices are judged, it is said that the odds are without them."""
    told = "slices, which gate.slices makes red too, are not played through: no policy is red less often"
    assert told in render(replace(OUTLOOK, slices_fail=True)).splitlines()
    assert "slices" not in render(OUTLOOK)


def test_small_suite_without_a_baseline() -> None:
    """Where no loss can be distinguished from chance that is a warning, and of several modes each is named."""
    blind = replace(MODE, questions=8, units=4, visible_drop=None, fine=(), small=())
    outlook = Outlook(suite="x", policy="either", questions=8, modes=(blind, replace(blind, mode="lexical")))
    blindness = (
        "with 8 questions in 4 groups no loss can be distinguished from chance, so only an exceeded tolerance shows a "
        "loss"
    )
    assert render(outlook).splitlines()[1:] == [
        f"warning: mode hybrid: {blindness}",
        f"warning: mode lexical: {blindness}",
        "how often the gate is red by chance is not known without a baseline that has single questions",
    ]


def test_a_group_that_holds_many_questions() -> None:
    """A group whose loss is no evidence is named with its share."""
    heavy = Outlook(
        suite="x", policy="either", questions=203, modes=(replace(MODE, questions=203, units=168, heavy=36),)
    )
    told = (
        "warning: 36 of 203 questions (18%) are of one group, which counts as a single question does: that all of them "
        "are lost is no evidence; ask more of other groups"
    )
    assert told in render(heavy).splitlines()
