"""Grades are compared with those of the same judges alone."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from builders import make_baseline, make_case, make_case_score, make_labelled, make_run, make_scorecard
from judged_cards import QUESTIONS, card, codes, verdict
from raggate.config.gate_settings import Gate
from raggate.errors import UsageError
from raggate.gate import promote, replacements
from raggate.gate.compare import compare
from raggate.gate.verdict import decide


def test_promoting_what_others_judged_needs_permission() -> None:
    """Grades that nothing was compared with are not replaced in passing, by those of other judges or by none."""
    small = make_baseline(card(4.5))
    nobody = replace(small, scorecard=replace(small.scorecard, fingerprint={}))
    means = replace(nobody, scorecard=replace(nobody.scorecard, cases=()))
    unjudged, unnamed = replace(card(None), fingerprint={}), replace(card(1.0), fingerprint={})
    others = "the judged metrics of the baseline are by other judges or prompts, with which"
    for before, now, why in (
        (small, card(1.0, by="large"), others),
        (small, unjudged, "the baseline has judged metrics and the run was not judged"),
        (small, unnamed, "who judged the run is not known"),
        (nobody, card(1.0), "who judged the baseline is not known"),
        (nobody, unnamed, "who judged the baseline is not known"),
        (means, card(1.0), "who judged the baseline is not known"),
    ):
        run = make_run(*(make_labelled(make_case(case.case_id)) for case in now.cases))
        held = compare(run, now, before, flip_at=5)
        (reason,) = [
            item for item in replacements.needs_permission(run, held, Gate()) if item.code == "judged-by-others"
        ]
        decided = decide(replace(held, not_asked=()), (), Gate())
        assert [item.code for item in decided.warnings if item.message.startswith(why)] == ["other-judges"]
        assert not any(row.gated for row in decided.rows if row.delta.metric == "groundedness")
        assert reason.message.startswith(why)
        with pytest.raises(UsageError, match="worse than the present baseline: ") as caught:
            promote.propose(run, now, before, Gate(), promote.Terms())
        assert "--allow-regression" in (caught.value.hint or "")
        promote.propose(run, now, before, Gate(), promote.Terms(allow_regression=True, reason="a better judge"))


def test_what_the_same_judges_did_needs_none() -> None:
    """By the same judges, or where the baseline has no grades, a run is promoted without a word."""
    for before in (card(4.5), replace(card(None), fingerprint={})):
        now = card(4.5)
        run = make_run(*(make_labelled(make_case(case.case_id)) for case in now.cases))
        assert not replacements.needs_permission(run, compare(run, now, make_baseline(before), flip_at=5), Gate())


def test_scores_of_other_judges_are_not_compared() -> None:
    """Another model or prompt is another measure: its scores wait for a baseline, and all else is compared."""
    decided = verdict(card(4.5), card(1.0, by="other"))
    assert decided.outcome == "pass"
    assert codes(decided) == ["other-judges"]
    assert {row.status for row in decided.rows if row.delta.metric == "groundedness"} == {"no baseline"}
    assert any(row.delta.metric == "hit_at_5" and row.gated for row in decided.rows)


def test_a_run_that_is_not_judged_is_compared_by_the_rest() -> None:
    """A baseline with judged metrics is no reason against a run without: it is said, and all else is compared."""
    plain = [make_case_score(f"q{number}", {"hit_at_5": 1.0}) for number in range(QUESTIONS)]
    decided = verdict(card(4.5), make_scorecard(*plain))
    assert decided.outcome == "pass"
    assert codes(decided) == ["other-judges"]
