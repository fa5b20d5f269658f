"""By which rule headings were compared, and for how many answers that makes a difference."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from builders import make_case, make_chunk, make_labelled, make_response, make_result, make_run, make_support
from raggate.models.provenance import Fingerprint
from raggate.models.run import LabelledResult, Reference, Run
from raggate.scoring.heading_reading import KEY, Reading, read_otherwise
from raggate.scoring.score import label, score
from tables import each_row


def answer(heading: str, **fields: Any) -> LabelledResult:
    """Label an answer of one chunk under a heading; the golden set has `# Guide {#g}`."""
    case = make_case(f"q{heading}", gold_supports=(make_support("a.md", "# Guide {#g}"),))
    return make_labelled(case, make_result(case.id, response=make_response(make_chunk(heading_path=heading), **fields)))


def reading(run: Run) -> Fingerprint:
    """Count the answers of a run."""
    counted = Reading()
    for item in run.answers:
        counted.add(item)
    return counted.stored()


@each_row(
    ("heading", "count", "hit"),
    [
        ("# Guide {#g}", 0, 1.0),
        ("# Guide {#g} > ## Deep", 0, 1.0),
        ("# Guide", 1, 1.0),
        ("guide", 1, 1.0),
        ("# Other", 0, 0.0),
    ],
)
def test_answers_that_count_by_the_new_rule_alone_are_counted(heading: str, count: int, hit: float) -> None:
    """What matches letter by letter, or not at all, is scored the same by either rule."""
    run = make_run(answer(heading))
    card = score(run, (5,))
    assert reading(run) == {KEY: count}
    assert card.fingerprint[KEY] == count
    assert card.cases[0].values["hit_at_5"] == hit


def test_citations_count_too() -> None:
    """A reference, or a text, that names a section as it is read is another score than letter by letter."""
    reference = Reference(vault="", rel_path="a.md", heading_path="GUIDE", chunk_index=0)
    cited = answer("# Other", answer="Yes [1].", references=(reference,))
    written = answer("# Else", answer="File: a.md, Section: guide")
    assert reading(make_run(cited, written)) == {KEY: 2}


def test_a_run_of_an_older_version_says_nothing() -> None:
    """Labels made letter by letter stay what they are, and so do the scores and citations of such a run."""
    new = answer(
        "# Guide",
        answer="Yes.",
        references=(Reference(vault="", rel_path="a.md", heading_path="guide", chunk_index=0),),
    )
    old = label(new.case, new.result, as_read=False)
    assert (new.labels.matches, old.labels.matches) == (((0,),), ((),))
    assert reading(make_run(old)) == {}
    cited = [score(make_run(item), (5,)).cases[0].values["attribution_hit_rate"] for item in (new, old)]
    assert cited == [1.0, 0.0]
    mixed = make_run(old, replace(new, case=replace(new.case, id="other")))
    assert reading(mixed) == {}


@each_row(
    ("before", "now", "count"),
    [({}, {KEY: 3}, 3), ({}, {KEY: 0}, 0), ({KEY: 0}, {KEY: 3}, 0), ({KEY: 3}, {}, 0), ({}, {KEY: "x"}, 0)],
)
def test_what_an_older_baseline_would_not_have_counted(before: dict[str, Any], now: dict[str, Any], count: int) -> None:
    """A baseline without the key was scored letter by letter, and one with it by the rule of now."""
    assert read_otherwise(before, now) == count
