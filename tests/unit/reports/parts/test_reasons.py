"""What a page still has to tell: nothing that its first sentence or another part says."""

from __future__ import annotations

from msgspec.structs import replace

from builders import make_flip, make_support
from parts import failed_in_part
from raggate.config.invariant_settings import Invariants
from raggate.models.answer import VerdictKind
from raggate.models.comparison import Cause, CauseCode, Diagnosis, Finding
from raggate.models.verdict import Reason, Review
from raggate.reports.comment import render_whole
from raggate.reports.junit import about
from raggate.reports.page import report
from raggate.reports.parts import advice, formatting, header, reasons
from raggate.reports.parts.reasons import instead
from reviews import beside, reproduced_by, review, waiver
from tables import each_row


def test_a_slice_is_said_once() -> None:
    """A warning of a slice that the table of slices has is not listed; every other warning is."""
    found = review("regression")
    slices = [reason for reason in found.verdict.warnings if reason.code == "slice-worse"]
    assert slices
    left = reasons.further_warnings(found)
    assert not {*slices} & {*left}
    whole = replace(slices[0], slice="tag=not-in-the-table")
    other = replace(found, verdict=replace(found.verdict, warnings=(whole,)))
    assert reasons.further_warnings(other) == [whole]


def test_what_a_merge_breaks_stands_above_a_pass() -> None:
    """What merging would break is given apart, and no warning any more; where it is the verdict, it is said there."""
    removed = Reason("baseline-outdated", "merging this change removes the baseline")
    found = review("pass")
    found = replace(found, verdict=replace(found.verdict, warnings=(removed,)))
    assert reasons.merging(found) == [removed]
    assert reasons.further_warnings(found) == []
    regression = decided("regression", Reason("removed-cases", "1 question is gone"), removed)
    assert [reason.code for reason in reasons.further_reasons(regression)] == ["removed-cases"]
    assert formatting.breaks_alone(review("breaks-the-gate"))
    assert [reason.code for reason in reasons.merging(review("breaks-the-gate"))] == ["baseline-outdated"]


def decided(outcome: VerdictKind, *why: Reason) -> Review:
    """Return a review with another outcome, for these reasons."""
    passed = review("pass")
    return replace(passed, verdict=replace(passed.verdict, outcome=outcome, reasons=why))


def test_a_list_says_that_a_question_must_pass() -> None:
    """Unless it was asked several times: a list shows one answer of it, and the reason how many of them miss."""
    must = Reason("must-pass", "must-pass question q07 (hybrid): nothing", case_id="q07", mode="hybrid")
    listed = replace(decided("regression", must), fallen=(make_flip("q07", kind="missed", must_pass=True),))
    assert [*reasons.further_reasons(listed)] == []
    again = replace(listed, run=replace(listed.run, repeats=listed.run.results[:1]))
    assert [*reasons.further_reasons(again)] == [must]


def test_numbers_name_what_is_waived() -> None:
    """A question that is waived is left out of the means, though it did not get worse, until the waiver expires."""
    shown = review("waived")
    (line,) = header.number_lines(shown)
    assert line.endswith(" · 27 questions, 26 compared, 1 waived")
    more = waiver(case="q20", state="unused"), waiver(case="q21", state="expired"), waiver(case="q99")
    waivers = (*shown.verdict.waivers, *more)
    (line,) = header.number_lines(replace(shown, verdict=replace(shown.verdict, waivers=waivers)))
    assert line.endswith(" · 27 questions, 26 compared, 2 waived")


def test_a_regression_begins_with_its_first_question() -> None:
    """The command asks it alone; an id that could not be copied, or makes a mark of its own, is only named."""
    found = reproduced_by(review("regression"), "raggate check")
    assert advice.next_step(found).startswith("ask question q07, then compare its two lists")
    assert advice.command(found) == "raggate check --case q07"
    flips = (replace(found.comparison.flips[0], case_id="a`b`\nc"), *found.comparison.flips[1:])
    odd = replace(found, comparison=replace(found.comparison, flips=flips))
    assert advice.next_step(odd).startswith("ask question a'b' c, then compare")
    assert advice.command(odd) == "raggate check"
    # a partial run has a choice already, to which a further id would add
    partial = reproduced_by(failed_in_part(), "raggate check --case q01 --case q03")
    assert advice.command(partial) == "raggate check --case q01 --case q03"
    for name in ("pass", "cannot-tell"):
        assert advice.command(reproduced_by(review(name), "raggate check")) == "raggate check"
    assert advice.next_step(review("pass")) == ""
    assert advice.next_step(beside(review("nothing-matches"), first_run=True)) == ""


@each_row(
    ("outcome", "told"), [("pass", True), ("regression", False), ("cannot tell", False), ("invariant broken", False)]
)
def test_a_pass_says_what_changed(outcome: VerdictKind, *, told: bool) -> None:
    """Below a pass one line lists what changed as a whole; below anything else that stands with the lost questions."""
    changes = ("the index has other chunks", "fewer folders are selected")
    found = replace(decided(outcome), diagnosis=Diagnosis(questions=0, counts=(), changes=changes, likely=""))
    shown = "What changed as a whole: the index has other chunks; fewer folders are selected."
    for render in (render_whole, report.render):
        assert (shown in render(found)) is told
        assert "What changed as a whole" not in render(replace(found, diagnosis=None))


def finding(name: str, level: str = "error", **fields: object) -> Finding:
    """Build one."""
    shared = {"message": "It holds.", "count": 1, "examples": ("q1",), **fields}
    return Finding(invariant=name, level=level, **shared)  # type: ignore[arg-type]


def test_there_is_advice_for_each() -> None:
    """Every rule that can be configured has advice, and no other."""
    assert set(reasons.REPAIRS) == set(Invariants.model_fields)


@each_row(("level", "key"), [("error", "warn"), ("warn", "off")])
def test_what_to_do(level: str, key: str) -> None:
    """The advice ends with the key that lets the rule pass, one level lower."""
    text = reasons.repair(finding("lists_ordered", level))
    assert text.startswith("Sort by the final score")
    assert text.endswith(f"set `invariants.lists_ordered: {key}`.")


def test_what_could_not_be_checked() -> None:
    """A rule that could not be checked is not called broken, and nobody is told to repair the ranking."""
    unseen = finding("private_withheld", unseen=True)
    assert reasons.kind(unseen) == "error, could not be checked"
    assert reasons.repair(unseen).startswith("Let the API return what the rule needs. ")


@each_row(
    ("gold", "risen", "shown"),
    [
        ("a.md › A", "b.md › B", "b.md › B"),
        ("a.md › A", "a.md › A › B", "a.md › A › B"),
        ("a.md › A", "x/a.md › A", "x/a.md › A"),
        ("a.md › A", "a.md › A", ""),
        ("a.md › A (+2 more)", "a.md › A", ""),
        ("a.md › A", None, ""),
    ],
)
def test_what_is_in_the_place_of_a_passage(gold: str, risen: str | None, shown: str) -> None:
    """What took the place of a passage is named unless that repeats what was expected."""
    flip = make_flip(gold=gold, displaced_by=risen, support=make_support("a.md"))
    assert instead(flip) == shown
    assert [line for line in about(flip) if line.startswith("in its place")] == [f"in its place: {shown}"] * bool(shown)


@each_row(
    ("gold", "snippets", "code", "shown"),
    [
        ("a.md › A", ("Take two.",), "not-explained", "another piece of the same section, without the snippet"),
        ("a.md › A (+1 more)", ("Take two.",), "not-listed", "another piece of the same section, without the snippet"),
        ("a.md › A", ("Take two.",), "snippet-gone", ""),
        ("a.md › A", (), "not-explained", ""),
        ("b.md › B", ("Take two.",), "not-explained", "a.md › A"),
    ],
)
def test_another_piece_of_the_expected_section(
    gold: str, snippets: tuple[str, ...], code: CauseCode, shown: str
) -> None:
    """A passage named as the expected one that lacks its snippet is called another piece, unless the cause says it."""
    support = make_support("a.md", snippets=snippets)
    flip = make_flip(gold=gold, displaced_by="a.md › A", support=support, cause=Cause(code=code))
    assert instead(flip) == shown


@each_row(
    ("broke", "fell", "sentence"),
    [
        (3, 2, "4 questions make it red: all 3 that broke and 1 of 2 that got worse without breaking."),
        (3, 1, ""),
        (0, 2, ""),
    ],
    ids=["both", "only those that broke", "only those that fell"],
)
def test_the_counts_of_questions_add_up(broke: int, fell: int, sentence: str) -> None:
    """A sentence joins the numbers of a page if questions make it red that did not break."""
    flips = [make_flip(f"b{number}", kind="broke") for number in range(broke)]
    fallen = [make_flip(f"f{number}", kind="fell") for number in range(fell)]
    red = {(flip.mode, flip.case_id): ("hit_at_5",) for flip in [*flips, *fallen[:-1]]}
    found = decided("regression")
    shown = replace(
        found,
        comparison=replace(found.comparison, flips=tuple(flips)),
        fallen=tuple(fallen),
        verdict=replace(found.verdict, fell=red),
    )
    assert reasons.total(shown) == sentence
    assert reasons.total(replace(shown, verdict=replace(shown.verdict, outcome="cannot tell"))) == ""
