"""Constraints between labels, doubled rows and panels."""

from __future__ import annotations

import pytest

from label_builders import make_generation, make_grounding, make_panel, make_retrieval
from raggate_interop.labels import checks, score
from raggate_interop.labels.checks import MIN_PAIRS, compare
from raggate_interop.labels.models import Discarded, Joined, Judgment, LabelDelta
from tables import each_row


@each_row(
    ("judgment", "rules", "messages"),
    [
        (make_retrieval("yyn"), [], []),
        (
            make_retrieval("nyn"),
            ["evidence_requires_relevance"],
            ["retrieval: evidence_sufficient=True but topically_relevant=False"],
        ),
        (
            make_retrieval("yyy"),
            ["evidence_excludes_misleading"],
            ["retrieval: evidence_sufficient=True but misleading=True"],
        ),
        (make_retrieval("nny"), [], []),
        (make_grounding("nyyyy"), [], []),
        (
            make_grounding("nnyny"),
            ["contradiction_requires_unsupported", "fabricated_requires_cited"],
            [
                "grounding: contradicted_claim_present=True but unsupported_claim_present=False",
                "grounding: fabricated_source=True but source_cited=False",
            ],
        ),
        (make_generation("nnnyy"), [], []),
    ],
)
def test_constraints(judgment: Judgment, rules: list[str], messages: list[str]) -> None:
    """Each breach is named by its id, in the words of the exports."""
    violations = checks.violations([judgment])
    assert [item.rule for item in violations] == rules
    assert [item.message for item in violations] == messages


def test_duplicates() -> None:
    """A second vote of one annotator, a shared rank and a second query of a record are found."""
    rows = [
        make_retrieval(annotator="a", place="f:2"),
        make_retrieval(annotator="a", place="f:3"),
        make_retrieval(annotator="b", place="f:4"),
        make_retrieval(annotator="b", place="f:5", chunk_id="other"),
        make_retrieval(annotator="c", place="f:6", query="What else?"),
        make_retrieval(annotator="d", place="f:7", query=" What  is it? "),
    ]
    assert [(item.place, item.rule) for item in checks.duplicates(rows)] == [
        ("f:3", checks.REPEATED),
        ("f:5", checks.SHARED_RANK),
        ("f:6", checks.OTHER_QUERY),
    ]


def test_panels() -> None:
    """A panel is complete when every retrieved chunk has a judgment; a discarded chunk has none."""
    rows = [
        *make_panel("ynn", "ynn", record="full", retrieved=2),
        *make_panel("ynn", record="short", retrieved=3),
        *make_panel("ynn", record="unknown"),
        make_grounding(),
    ]
    gone = [
        Discarded(record="short", place="f:9", chunk_id="c2", retrieved=3),
        # somebody else did judge this one
        Discarded(record="short", place="f:10", chunk_id="c1", retrieved=3),
        Discarded(record="lost", place="f:11", chunk_id="c1", retrieved=1),
        Discarded(record="answer", place="f:12"),
    ]
    panels = {
        panel.record: (panel.expected, panel.judged, panel.discarded, panel.complete)
        for panel in checks.panels(rows, gone)
    }
    assert panels == {
        "full": (2, 2, 0, True),
        "short": (3, 1, 1, False),
        "unknown": (None, 1, 0, None),
        "lost": (1, 0, 1, False),
    }
    incomplete = checks.incomplete(checks.panels(rows, gone))
    assert [(item.record, item.message) for item in incomplete] == [
        ("short", "1 of 3 chunks judged, 1 discarded"),
        ("lost", "0 of 1 chunks judged, 1 discarded"),
    ]


def joined(hits: str) -> Joined:
    """Join one query per letter: `y` retrieves a sufficient chunk, `n` a misleading one, `-` is not asked."""
    rows = []
    for index in range(len(hits)):
        fields = {"record": f"r{index}", "query": f"q{index}"}
        rows += [
            make_retrieval("yyn", chunk_id="good", **fields),
            make_retrieval("nny", chunk_id="bad", rank=2, **fields),
        ]
    lists = {f"q{index}": ["good" if hit == "y" else "bad"] for index, hit in enumerate(hits) if hit != "-"}
    return score.join(rows, lists, 1)


def delta(current: str, baseline: str, metric: str = "sufficiency_hit_at_k", **fields: float) -> LabelDelta:
    """Compare two runs and give one metric."""
    return next(item for item in compare(joined(current), joined(baseline), **fields) if item.metric == metric)


@each_row(
    ("current", "baseline", "status"),
    [
        ("y" * 20, "y" * 20, "same"),
        ("n" * 8 + "y" * 12, "y" * 20, "worse"),
        # 2 of 20 lost: 10 points, but the interval reaches 0
        ("n" * 2 + "y" * 18, "y" * 20, "maybe worse"),
        # 6 lost and 4 gained: the same 10 points in the mean
        ("n" * 6 + "y" * 14, "y" * 6 + "n" * 4 + "y" * 10, "maybe worse"),
        ("y" * 20, "n" * 8 + "y" * 12, "better"),
        # with few queries the tolerance decides alone
        ("n" + "y" * (MIN_PAIRS - 2), "y" * (MIN_PAIRS - 1), "worse"),
        ("n" + "y" * (MIN_PAIRS - 1), "y" * MIN_PAIRS, "maybe worse"),
    ],
)
def test_status(current: str, baseline: str, status: str) -> None:
    """Worse is more than the tolerance with the whole interval on the worse side of zero."""
    assert delta(current, baseline).status == status


def test_within_the_tolerance() -> None:
    """A certain loss below the tolerance does not count as worse, and is told apart from none."""
    assert delta("n" * 8 + "y" * 12, "y" * 20, tolerance=0.5).status == "slightly worse"
    # at the boundary: 0.4 is not more than 0.4
    assert delta("n" * 8 + "y" * 12, "y" * 20, tolerance=0.4).status == "slightly worse"


def test_lower_is_better() -> None:
    """More misleading chunks are worse, fewer are better."""
    name = "misleading_context_rate_at_k"
    worse = delta("n" * 8 + "y" * 12, "y" * 20, name)
    assert (worse.delta, worse.status) == (pytest.approx(0.4), "worse")
    assert delta("y" * 20, "n" * 8 + "y" * 12, name).status == "better"


def test_numbers() -> None:
    """Both means are over the paired queries only, and the interval is that of their difference."""
    change = delta("nyyy-", "yyy-y")
    assert (change.n, change.baseline, change.current, change.delta) == (
        3,
        1.0,
        pytest.approx(2 / 3),
        pytest.approx(-1 / 3),
    )
    assert change.interval is not None
    assert (change.interval.lower, change.interval.upper) == (-1.0, 0.0)


def test_vanished() -> None:
    """No pair where the baseline has a value is not `same`."""
    assert delta("-y", "y-").status == "vanished"
    assert delta("-y", "--").status == "same"
