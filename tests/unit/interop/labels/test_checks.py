"""Constraints between labels, doubled rows and panels."""

from __future__ import annotations

from label_builders import make_generation, make_grounding, make_panel, make_retrieval
from raggate_interop.labels import checks
from raggate_interop.labels.models import Discarded, Judgment
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
