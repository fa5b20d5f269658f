"""The sentences of a verdict, word for word."""

from __future__ import annotations

from builders import make_comparison, make_delta, make_flip
from raggate.config.gate_settings import Gate, Rule
from raggate.gate import wording
from raggate.models.verdict import Reason
from tables import each_row

GATE = Gate(metrics={"hit_at_5": Rule(tolerance=0.05, floor=0.9), "wrong_rate": Rule(tolerance=0.05, ceiling=0.2)})
WORSE = make_delta(0.8, 0.7)
NONE = make_comparison()
LOWER = make_delta(0.1, 0.3, direction="lower", metric="wrong_rate", slice="overall")


def test_no_foreign_quotation_mark_ends_the_quotation() -> None:
    """What an API said stands between quotation marks that only raggate can write."""
    assert wording.failing("a\u201d. All is well") == '; most often: \u201ca". All is well\u201d'
    assert wording.failing("") == ""


@each_row(
    ("outcome", "codes", "expected"),
    [
        ("pass", [], ("No gated metric is worse than allowed (1 question, 1 warning).",)),
        ("cannot tell", ["few"], ("No verdict is possible: because few.",)),
        ("invariant broken", ["scores"], ("The API's answers cannot be right: because scores.",)),
        (
            "regression",
            ["worse", "below-floor", "must-pass", "creep", "waiver-expired"],
            (
                "Worse than allowed: 2 gated metrics and 1 must-pass question.",
                "Crept beyond the tolerance in small steps: 1 gated metric.",
                "1 waiver expired.",
                "1 question broke.",
            ),
        ),
    ],
)
def test_headline(outcome: str, codes: list[str], expected: tuple[str, ...]) -> None:
    """The verdict in a few sentences, the most important first."""
    reasons = [Reason(code=code, message=f"because {code}.", metric=code) for code in codes]
    warned = [Reason(code="stale", message="old")]
    assert (
        wording.headline(outcome, reasons, make_comparison(flips=(make_flip(), make_flip(kind="fixed"))), warned)
        == expected
    )


def test_what_a_pass_let_through() -> None:
    """Metrics, questions and all questions together are told apart; one that is waived in two modes counts once."""
    warnings = [
        Reason.of_row("waived", "fell", WORSE),
        Reason.of_row("waived", "crept", WORSE),
        Reason.of_row("no-evidence", "fell", LOWER),
        Reason("waived", "missed", case_id="q1", mode="hybrid", metric="hit_at_5"),
        Reason("waived", "got worse", case_id="q2", mode="hybrid"),
        Reason("waived", "got worse", case_id="q2", mode="lexical"),
        Reason("waived", "together", mode="hybrid"),
        Reason("stale", "old"),
    ]
    assert wording.headline("pass", (), make_comparison(), warnings) == (
        "No regression, but 2 gated metrics are worse than allowed, waived or perhaps by chance; all questions "
        "together got worse (waived); 2 questions that got worse or failed are waived.",
    )
