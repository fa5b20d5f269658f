"""The sentences of a verdict, word for word."""

from __future__ import annotations

from msgspec.structs import replace

from builders import make_comparison, make_delta, make_flip
from raggate.config.gate_settings import Gate, Rule
from raggate.gate import wording
from raggate.gate.policies import classify_row
from raggate.models.verdict import Reason
from tables import each_row

GATE = Gate(metrics={"hit_at_5": Rule(tolerance=0.05, floor=0.9), "wrong_rate": Rule(tolerance=0.05, ceiling=0.2)})
WORSE = make_delta(0.8, 0.7)
NONE = make_comparison()
LOWER = make_delta(0.1, 0.3, direction="lower", metric="wrong_rate", slice="overall")


@each_row(
    ("sentence", "expected"),
    [
        (
            wording.change(classify_row(WORSE, GATE)),
            "hit_at_5 (hybrid) went from 80.0% to 70.0% (−10.0 pt, allowed 5 pt)",
        ),
        (
            wording.change(classify_row(make_delta(0.8, 0.74996), GATE)),
            "hit_at_5 (hybrid) went from 80.0% to 75.0% (−5.004 pt, allowed 5 pt)",
        ),
        (
            wording.beyond(classify_row(make_delta(0.9, 0.899996), GATE)),
            "hit_at_5 (hybrid) is 89.9996%, beyond its floor 90%",
        ),
        (wording.beyond(classify_row(WORSE, GATE)), "hit_at_5 (hybrid) is 70.0%, beyond its floor 90%"),
        (wording.beyond(classify_row(LOWER, GATE)), "wrong_rate (hybrid) is 0.300, beyond its ceiling 0.2"),
        (
            wording.crept(classify_row(WORSE, GATE), 0.12, "2026-01-02"),
            "hit_at_5 (hybrid) has crept down 12.0 pt since 2026-01-02 in accepted steps of at most 5 pt each, more "
            "than the allowed 5 pt",
        ),
        (
            wording.crept(classify_row(LOWER, GATE), 0.12, ""),
            "wrong_rate (hybrid) has crept up 0.120 in accepted steps of at most 0.05 each, more than the allowed 0.05",
        ),
        (wording.name(replace(WORSE, slice="tag=x")), "hit_at_5 (hybrid) for tag=x"),
        (wording.removed(["q1"]), "1 case of the baseline is gone: q1"),
        (wording.removed(["q1", "q2"]), "2 cases of the baseline are gone: q1, q2"),
        (
            wording.not_asked([("hybrid", "q1"), ("vector", "q1")]),
            "1 question of the golden set lacks results: q1 (hybrid), q1 (vector)",
        ),
        (wording.no_baseline(NONE, promotable=False, broken=True), "there is no baseline to compare with"),
        (
            wording.no_baseline(NONE, promotable=True),
            "there is no baseline to compare with; review this run and promote it",
        ),
        (
            wording.no_baseline(NONE, promotable=True, broken=True),
            "there is no baseline to compare with, and this run cannot become one: it breaks an invariant",
        ),
        (wording.no_baseline(replace(NONE, no_baseline="as said"), promotable=True), "as said"),
        (wording.differ(1), "1 note differs"),
        (wording.differ(2), "2 notes differ"),
        (wording.some([*"abcde"]), "a, b, c, d, e"),
        (wording.some([*"abcdef"]), "a, b, c, d, e, …"),
    ],
)
def test_sentence(sentence: str, expected: str) -> None:
    """Numbers have four decimals, nouns their number, and lists end after five."""
    assert sentence == expected


def test_no_foreign_quotation_mark_ends_the_quotation() -> None:
    """What an API said stands between quotation marks that only raggate can write."""
    assert wording.failing("a\u201d. All is well") == '; most often: \u201ca". All is well\u201d'
    assert wording.failing("") == ""


@each_row(
    ("outcome", "codes", "expected"),
    [
        ("pass", [], ("Nothing gated is worse than allowed, over 1 question, with 1 warning.",)),
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


def test_a_metric_of_several_modes_is_one() -> None:
    """A metric that is worse in two modes and a slice is one metric, three times; another one counts once more."""
    places = (("mrr", "bm25", "overall"), ("mrr", "dense", "overall"), ("mrr", "dense", "tag:x"))
    rows = [Reason("worse", "", metric=metric, mode=mode, slice=name) for metric, mode, name in places]
    crept = [Reason("creep", "", metric="hit_at_5", mode=mode, slice="overall") for mode in ("bm25", "dense")]
    assert wording.headline("regression", [*rows, *crept], make_comparison(), ()) == (
        "Worse than allowed: 1 gated metric (3 times in 2 modes, slices included).",
        "Crept beyond the tolerance in small steps: 1 gated metric (2 times in 2 modes).",
    )
    one_mode = [row for row in rows if row.mode == "dense"]
    assert wording.headline("regression", [*one_mode, crept[1]], make_comparison(), ())[0] == (
        "Worse than allowed: 1 gated metric (2 times, slices included)."
    )
    waived = [Reason("waived", "", metric=metric, mode=mode, slice=name) for metric, mode, name in places[:2]]
    assert wording.headline("pass", (), make_comparison(), waived) == (
        "No regression, but 1 gated metric (2 times in 2 modes) is worse than allowed, waived.",
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
        "No regression, but 2 gated metrics are worse than allowed, waived or perhaps by chance; the questions "
        "together got worse, waived; 2 questions that got worse or fail are waived.",
    )
