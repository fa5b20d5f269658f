"""What a run that measured nothing claims is never a pass, and never raggate's own sentence."""

from __future__ import annotations

import json

from hypothesis import given, strategies as st

from raggate.github import untrusted_run
from raggate.pipeline.claimed_run import ITS_WORDS

VALUE = st.none() | st.integers() | st.text(max_size=20) | st.lists(st.text(max_size=20), max_size=3)
CLAIM = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("exit_code", "headline", "hint", "log", "suite", "verdict"), VALUE)
) | st.fixed_dictionaries(
    {"exit_code": st.sampled_from([0, 1, 2, 3, 4, 70, 130]), "headline": st.text(max_size=20), "hint": st.text()}
)
LABELS = {2: "usage error", 3: "cannot tell", 70: "internal error", 130: "interrupted"}


@given(st.none() | st.binary(max_size=40) | CLAIM.map(lambda claim: json.dumps(claim).encode()))
def test_no_claim_passes_or_speaks(verdict: bytes | None) -> None:
    """Whatever stands in verdict.json, code, label and sentence go together and are raggate's, and so is the suite."""
    ended = untrusted_run.without_results(verdict, "small")
    assert LABELS[ended.exit_code] == ended.label
    assert " ".join(ended.lines) in {
        "The artifact has no results, and does not say why.",
        *(f"The untrusted run reports: {label}. It measured nothing." for label in LABELS.values()),
    }
    assert (ended.hint, ended.suite) == ("", "small")
    assert ended.log == () or ended.log[0] == ITS_WORDS


def test_a_verdict_larger_than_one_of_a_run_that_measured_nothing() -> None:
    """It is not parsed: it claims nothing, and names no suite."""
    verdict = b'{"suite": "small", "exit_code": 2, "headline": ""' + b" " * untrusted_run.MOST_VERDICT_BYTES + b"}"
    assert untrusted_run.without_results(verdict, "small").label == "cannot tell"
    assert "small" not in untrusted_run.UntrustedRuns([{"verdict.json": verdict}])
    shorter = verdict.replace(b"  ", b"", 30)
    assert untrusted_run.without_results(shorter, "small").label == "usage error"
    assert "small" in untrusted_run.UntrustedRuns([{"verdict.json": shorter}])


def test_which_run_of_an_artifact_is_judged() -> None:
    """The only one, whatever it calls itself; of several the one that names the suite."""
    one, two = ({"config.json": json.dumps({"suite": name}).encode()} for name in ("one", "two"))
    assert untrusted_run.UntrustedRuns([one]).only("two") == one
    assert untrusted_run.UntrustedRuns([one, two]).only("two") == two
