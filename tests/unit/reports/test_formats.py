"""Reports that are written where somebody asks for them: valid by their schemas, true to the verdict, harmless."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import yaml
from hypothesis import example, given, strategies as st
from jsonschema import Draft202012Validator
from msgspec.structs import replace

from raggate.base.errors import CannotTell, Interrupted, UsageError
from raggate.cli.options import FORMAT_NAMES
from raggate.models.golden import Selection
from raggate.models.publication import RunFailure
from raggate.models.verdict import Review
from raggate.reports import FORMATS, is_report
from raggate.reports.junit import of_review
from raggate.reports.verdict_file import verdict_of
from reviews import BESIDE, REVIEWS, foreign, hostile_everywhere, review
from tables import each_row
from tries import tried

ROOT = Path(__file__).parents[3]
DATA = ROOT / "tests" / "data"
SARIF = Draft202012Validator(
    json.loads((DATA / "sarif-2.1.0-subset.schema.json").read_text()),
    format_checker=Draft202012Validator.FORMAT_CHECKER,
)
TEXT = st.text(max_size=40) | st.sampled_from(
    ["\x1b[2J\x00\x08", "]]>", "<!--&#0;", "\ud800", "\ufffe\uffff", "\n::error::x", "##[error]", "\u202e", "\"'<&>"]
)
ENDS = [UsageError(["a.yml:1: x", "b"], hint="y"), CannotTell("z", log=("l",)), Interrupted("")]

SECONDS = re.compile(r"[0-9]+(\.[0-9]*)?")
# of junit-10.xsd of Jenkins' xUnit plugin, a part: what an element holds, which attributes it may have and must have;
# what raggate never writes is left out
SHAPE: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": ({"testsuite"}, {"name", "time", "tests", "failures", "errors"}, set()),
    "testsuite": (
        {"testcase", "properties", "system-out", "system-err"},
        {"name", "tests", "failures", "errors", "time", "skipped", "timestamp", "hostname", "id", "package"},
        {"name", "tests", "failures", "errors"},
    ),
    "testcase": (
        {"skipped", "error", "failure", "system-out", "system-err"},
        {"name", "classname", "time", "group"},
        {"name"},
    ),
    "failure": (set(), {"type", "message"}, set()),
    "error": (set(), {"type", "message"}, set()),
    "skipped": (set(), {"type", "message"}, set()),
    "system-out": (set(), set(), set()),
}


def junit(text: str) -> ElementTree.Element:
    """Parse JUnit XML; it has the shape of the schema, and counts what it holds."""
    root = ElementTree.fromstring(text.encode())  # noqa: S314 - our own, and the parser is what is tested
    assert root.tag == "testsuites"
    for element in root.iter():
        children, allowed, needed = SHAPE[element.tag]
        assert {child.tag for child in element} <= children
        assert needed <= set(element.attrib) <= allowed, element.attrib
        assert SECONDS.fullmatch(element.attrib.get("time", "0"))
    for holder in (root, *root.findall("testsuite")):
        for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
            assert int(holder.attrib[name]) == len([*holder.iter(tag)])
    for suite in root.findall("testsuite"):
        assert int(suite.attrib["skipped"]) == len([*suite.iter("skipped")])
        assert float(suite.attrib["time"]) >= 0
    return root


def report(name: str, of: Review | RunFailure, prefix: str = "") -> str:
    """Write a report of a verdict, or of a run without one."""
    return "".join(FORMATS[name].render(of, prefix))


def check(name: str, text: str) -> None:
    """Check a report against the schema of its format; it is known as one, and is inert in a terminal and a log."""
    assert is_report(text.encode())
    assert [*map(bool, (re.search(form.mark, text.encode()) for form in FORMATS.values()))].count(True) == 1
    if name == "junit":
        junit(text)
    elif name == "sarif":
        SARIF.validate(json.loads(text))
    # the pages for people are held to theirs where they are made
    assert name == "markdown" or text.replace("\n", "").isprintable()


@cache
def of_all(name: str) -> Review:
    """Return a review by name."""
    return hostile_everywhere() if name == "hostile-everywhere" else review(name)


def with_lines(shown: Review) -> Review:
    """Let the questions of a review stand in lines of a golden set."""
    cases = tuple(replace(case, line=number) for number, case in enumerate(shown.run.golden.cases, 5))
    return replace(shown, run=replace(shown.run, golden=replace(shown.run.golden, cases=cases)))


@each_row("name", FORMATS)
@each_row("kind", [*REVIEWS, *BESIDE, "hostile-everywhere"])
def test_every_verdict_in_every_format(name: str, kind: str) -> None:
    """Each report of each verdict follows its schema; JUnit has a failure where the verdict is no pass."""
    text = report(name, of_all(kind), "suites/")
    check(name, text)
    if name == "junit":
        failures = int(junit(text).attrib["failures"]) + int(junit(text).attrib["errors"])
        assert (failures > 0) == (of_all(kind).verdict.exit_code != 0)


@each_row("name", FORMATS)
@each_row("error", ENDS)
def test_every_end_without_a_verdict(name: str, error: CannotTell) -> None:
    """Without a verdict each report follows its schema too, and none of them is green."""
    text = report(name, RunFailure.of(error, "notes", run_id="r"))
    check(name, text)
    if name == "junit":
        assert junit(text).attrib["errors"] == "1"
    elif name == "sarif":
        (run,) = json.loads(text)["runs"]
        assert (run["results"], run["invocations"][0]["executionSuccessful"]) == ([], False)


@each_row(("name", "mark"), [("junit", "<testcase"), ("json", '"case_id"')])
def test_many_questions(name: str, mark: str) -> None:
    """What grows with the number of questions comes in pieces."""
    pieces = FORMATS[name].render(review("regression"), "")
    assert max(piece.count(mark) for piece in pieces) == 1


@given(TEXT)
@example("\x00]]>\ud800\ufffe</testcase>")
@tried(30)
def test_foreign_text(text: str) -> None:
    """Wherever foreign text stands, every report keeps its shape and says nothing that acts."""
    hostile = foreign(text)
    failed = RunFailure.of(UsageError([text, text], hint=text, log=(text,)), text, run_id=text)
    for name in FORMATS:
        if name != "json":
            check(name, report(name, hostile))
            check(name, report(name, failed))


def test_questions_of_a_regression() -> None:
    """Those that broke fail with ranks and cause, the others pass with their rank."""
    shown = review("regression")
    by_name = {case.attrib["name"]: case for case in junit(report("junit", shown)).iter("testcase")}
    broke = {flip.case_id for flip in shown.comparison.flips if flip.kind == "broke"}
    failed = {name.partition(":")[0] for name, case in by_name.items() if case.find("failure") is not None}
    assert broke <= failed
    message = next(by_name[name].find("failure") for name in by_name if name.startswith(f"{min(broke)}:"))
    assert message is not None
    assert message.attrib["type"] == "broke"
    assert "→" in message.attrib["message"]
    assert "expected: " in (message.text or "")
    passed = [case.findtext("system-out") for case in by_name.values() if case.find("failure") is None]
    assert "rank 1" in passed


def test_a_question_without_an_answer_is_skipped() -> None:
    """It is neither green nor, by itself, a reason for red."""
    outcomes = {outcome.name.partition(":")[0]: outcome for outcome in of_review(review("cannot-tell"))}
    assert (outcomes["q01"].status, outcomes["q01"].kind) == ("skipped", "connection")
    assert outcomes["verdict"].status == "error"


def test_no_verdict_has_no_reason_of_what_was_not_measured() -> None:
    """A metric that seems to have fallen, as nothing was answered, is in verdict.json alone."""
    shown = review("cannot-tell")
    assert {"stopped", "too-many-errors", "worse"} == {reason.code for reason in shown.verdict.reasons}
    kinds = [outcome.kind for outcome in of_review(shown) if outcome.group == "verdict"]
    assert kinds == ["cannot-tell", "stopped", "too-many-errors"]
    assert shown.lost
    (run,) = json.loads(report("sarif", with_lines(shown)))["runs"]
    assert len(run["invocations"][0]["toolExecutionNotifications"]) == len(kinds)
    assert run["results"] == []


def test_a_waived_question_is_no_error() -> None:
    """It broke, and does not count against the change, whichever report says so."""
    shown = with_lines(review("waived"))
    broke = {(flip.case_id, flip.mode): flip.waived for flip in shown.comparison.flips if flip.kind == "broke"}
    lost = {(flip.case_id, flip.mode): not flip.counts for flip in verdict_of(shown, DATA).lost}
    (run,) = json.loads(report("sarif", shown))["runs"]
    levels = [result["level"] for result in run["results"] if result["ruleId"] == "question-broke"]
    assert sorted(levels) == sorted("note" if waived else "error" for waived in broke.values())
    assert True in broke.values()
    assert lost.items() >= broke.items()


def test_a_place_in_code_scanning() -> None:
    """A question that broke stands at its line of the golden set, and its note is a related place."""
    shown = with_lines(review("placed"))
    (run,) = json.loads(report("sarif", shown, "gates/"))["runs"]
    config, flip = shown.run.config, shown.comparison.flips[0]
    line = next(case.line for case in shown.run.golden.cases if case.id == flip.case_id)
    place = {"uri": f"gates/{config.golden}"}  # type: ignore[union-attr]
    result = run["results"][0]
    assert result["ruleId"] == run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "question-broke"
    assert result["locations"] == [{"physicalLocation": {"artifactLocation": place, "region": {"startLine": line}}}]
    related = result["relatedLocations"][0]["physicalLocation"]
    source = shown.context.source_lines[flip.case_id]
    assert (related["artifactLocation"]["uri"], related["region"]["startLine"]) == (f"gates/{source.path}", source.line)


def test_a_part_closes_no_alert() -> None:
    """Code scanning takes a question that is not in the file for mended, unless the file says that it is not whole."""
    shown = with_lines(review("regression"))
    part = Selection(asked=tuple(case.id for case in shown.run.golden.cases[:5]), of=99, words="")
    for selection, whole in ((None, True), (part, False)):
        text = report("sarif", replace(shown, run=replace(shown.run, selection=selection)))
        (run,) = json.loads(text)["runs"]
        assert run["results"]
        assert run["invocations"][0]["executionSuccessful"] is whole


def test_the_names_of_the_option() -> None:
    """The command line names the formats without loading them; the action's input and the page name the same."""
    assert tuple(FORMATS) == FORMAT_NAMES
    described = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]["reports"]["description"]
    assert f"{', '.join(FORMAT_NAMES[:-1])} or {FORMAT_NAMES[-1]}" in described
    page = (ROOT / "docs" / "reports.md").read_text().partition("| format | for |")[2].partition("\n\n")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == FORMAT_NAMES
