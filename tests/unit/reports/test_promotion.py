"""The text of a promotion: each kind as a page that was looked at, and foreign text in it is only ever text."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest
from hypothesis import example, given, strategies as st
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from builders import make_delta, make_flip, make_labelled
from raggate.config.gate_settings import Gate
from raggate.gate import baseline
from raggate.gate.promote import Terms, propose
from raggate.models.baseline import AcceptedDrop, RatchetEntry
from raggate.models.comparison import Delta, GoldenChanges, NoteChange
from raggate.models.golden import with_hash
from raggate.models.promotion import BaselineCandidate, MetricChange
from raggate.models.provenance import Evidence, Provenance
from raggate.models.publication import Links, RunFailure
from raggate.models.run import LabelledResult
from raggate.models.suites import SuiteOutcome
from raggate.models.verdict import Reason
from raggate.reports import promotion
from raggate.reports.parts.document import COMMENT_LIMIT, SMALLEST_LIMIT, utf16_units
from raggate.reports.promotion import LONGEST_TITLE, pull_title, title_text
from raggate.scoring.score import directions, score
from rendered import problems, visible
from reviews import CUTOFFS, HOSTILE, QUESTIONS, answer, baseline_of, case_of, good, others, run_of, worse
from tables import each_row

OURS = "https://forge.example/team/notes-api/"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
LINKS = Links(server="https://forge.example", repository="team/notes-api", commit=COMMIT, run=f"{OURS}actions/runs/42")
HERE = Evidence(
    run=42,
    attempt=1,
    event="workflow_dispatch",
    commit=COMMIT,
    url=f"{OURS}actions/runs/42",
    image=f"api@sha256:{'a' * 64}",
)
EARLIER = Evidence(
    run=40,
    attempt=2,
    event="push",
    commit=COMMIT,
    url=f"{OURS}actions/runs/40",
    adopted=True,
    artifact="raggate-run",
    digest=f"sha256:{'b' * 64}",
)
HASHES = {"golden set": "1" * 64, "vault": "2" * 64, "configuration": "3" * 64}
ACCEPTED = {
    "hybrid": {
        "hit_at_5": RatchetEntry(best=0.95, drops=0.04, since="2026-01-02"),
        "mrr_at_10": RatchetEntry(
            best=0.8,
            drops=0.0,
            since="2026-02-03",
            lowered=AcceptedDrop(on="2026-02-03", before=0.9, after=0.8, reason="smaller chunks", by="octo"),
        ),
    }
}


def told(**fields: Any) -> promotion.PromotionContext:
    """Build the circumstances of a promotion that measured by itself."""
    known = {"target": "main", "evidence": HERE, "links": LINKS, "hashes": HASHES, "accepted": ACCEPTED}
    return promotion.PromotionContext(**{**known, **fields})


@cache
def better() -> BaselineCandidate:
    """Return a promotion that fixes what a worse run broke."""
    return proposed(good(), [*worse()[:3], answer(QUESTIONS[3], *others()), *good()[4:]])


@cache
def lower() -> BaselineCandidate:
    """Return a promotion that accepts lower values."""
    return proposed(worse(), good())


@cache
def first() -> BaselineCandidate:
    """Return the first promotion of a suite."""
    return proposed(good(), None)


def proposed(now: Any, before: Any, **rest: Any) -> BaselineCandidate:
    """Promote these answers over those."""
    run = run_of(now, run_id="20260301_101112", provenance=Provenance(raggate_version="1.2.3"))
    present = baseline_of(run_of(before)) if before is not None else None
    terms = Terms(reason="Chunks end at headings now, see the release notes.", by="octocat", allow_regression=True)
    return propose(run, score(run, CUTOFFS), present, Gate(), terms, **rest)


def same_cases(change: Delta) -> MetricChange:
    """Return a row whose means are over the very cases that the change is over."""
    return MetricChange(before=change.baseline, after=change.current, change=change, shared=change.delta is not None)


@cache
def grown(*, lost: bool) -> BaselineCandidate:
    """Return a promotion with half as many questions again, of which none is answered; perhaps an old one is lost."""
    added = [answer(case_of(number), *others()) for number in range(50, 62)]
    old = [answer(QUESTIONS[0], *others()), *good()[1:]] if lost else good()
    return proposed([*old, *added], good())


@cache
def other() -> BaselineCandidate:
    """Return a promotion with every question but one asked in other words, and lower values."""
    return proposed([*worse()[:1], *map(reworded, worse()[1:])], good())


def reworded(item: LabelledResult) -> LabelledResult:
    """Ask the same in other words."""
    case = with_hash(replace(item.case, question=f"{item.case.question} Please."))
    return make_labelled(case, item.result)


@cache
def over() -> BaselineCandidate:
    """Return a promotion over a baseline that must not be compared, with lower values."""
    return proposed(worse(), good(), incomparable=("the adapter changed from mapped to ask",))


def hostile() -> BaselineCandidate:
    """Return a promotion every foreign text of which is hostile."""
    return foreign(HOSTILE)


def foreign(text: str) -> BaselineCandidate:
    """Return a promotion with this text wherever foreign text can stand."""
    base = lower()
    flips = tuple(
        make_flip(text, kind, question=text, gold=text, why=text, mode=text)
        for kind in ("broke", "fixed")
        for _ in "ab"
    )
    golden = GoldenChanges(added=(text,), removed=(text,), relabelled=(text,), refiled=(text,), released=(text,))
    scorecard = replace(base.comparison.scorecard, suite=text, run_id=text, slices={text: {}, "other": {}})
    comparison = replace(
        base.comparison,
        scorecard=scorecard,
        flips=flips,
        golden=golden,
        vault_changes=(NoteChange("changed", text),),
        config_changes=((text, text, text),),
    )
    keys = ("reason", "promoted_by", "measured", "raggate_version", "previous")
    rows = (same_cases(make_delta(metric=text, mode=text)), same_cases(make_delta(metric=text, mode="other")))
    reasons = (Reason(code="metric-down", message=text), Reason(code="little-overlap", message=text))
    return replace(base, comparison=comparison, provenance=dict.fromkeys(keys, text), rows=rows, reasons=reasons)


def around(text: str) -> promotion.PromotionContext:
    """Return circumstances with this text wherever foreign text can stand."""
    low = AcceptedDrop(on=text, before=0.9, after=0.8, reason=text, by=text)
    return told(
        target=text,
        evidence=replace(EARLIER, event=text, commit=text, url=text, artifact=text, digest=text, image=text),
        hashes={text: text},
        accepted={text: {text: RatchetEntry(best=1.0, drops=0.1, since=text, lowered=low)}, "other": {}},
        unsigned=text,
    )


def accepted_with(found: BaselineCandidate) -> Any:
    """Read from the proposed file what will have been accepted."""
    return baseline.read(found.data, "the new baseline", directions(CUTOFFS)).accepted


KINDS = {
    "better": lambda: promotion.render([(better(), told())]),
    "lower": lambda: promotion.render([(lower(), told(evidence=EARLIER))]),
    "grown": lambda: promotion.render([(grown(lost=False), told(accepted=accepted_with(grown(lost=False))))]),
    "grown-and-lower": lambda: promotion.render([(grown(lost=True), told(accepted=accepted_with(grown(lost=True))))]),
    "other-questions": lambda: promotion.render([(other(), told(accepted=accepted_with(other())))]),
    "starts-over": lambda: promotion.render([(over(), told(accepted=accepted_with(over())))]),
    "first": lambda: promotion.render([(first(), told(accepted={}))]),
    "unsigned": lambda: promotion.render([(better(), told(unsigned="unsigned"))]),
    "summary": lambda: promotion.render([(better(), told(opened=False))]),
    "hostile": lambda: promotion.render([(hostile(), around(HOSTILE))]),
}


@pytest.mark.parametrize("name", KINDS)
def test_page(name: str, page: SnapshotAssertion) -> None:
    """Each kind of text is the page that is stored, and links nowhere but into the repository."""
    text = KINDS[name]()
    assert text == page
    assert list(problems(text, links=(OURS,))) == []


@given(text=st.text(max_size=60))
def test_any_foreign_text_is_text(text: str) -> None:
    """Whatever the reason, questions, names and hashes are, they are only ever text, of one suite and of several."""
    for suites in (1, 2):
        assert list(problems(promotion.render([(foreign(text), around(text))] * suites), links=(OURS,))) == []


def test_worst_first() -> None:
    """What vanished or got worse, by its own direction, stands first, then what got better, then what stayed."""
    rows = (
        make_delta(0.5, 0.5, metric="same"),
        make_delta(0.5, 0.9, metric="up"),
        make_delta(0.5, 0.4, metric="down"),
        make_delta(0.1, 0.4, metric="rate_up", direction="lower"),
        make_delta(0.9, None, metric="gone"),
        make_delta(None, 0.2, metric="new"),
    )
    page = promotion.render([(replace(better(), rows=tuple(map(same_cases, rows))), told())])
    table = [line.split(" | ") for line in page.splitlines() if line.startswith("| ") and "| metric" not in line]
    found = [visible(cells[0][2:]) for cells in table[: len(rows)]]
    assert found == ["❌ gone", "❌ rate up", "❌ down", "✅ up", "▫️ new", "▫️ same"]


@each_row(
    ("codes", "accepting"),
    [
        pytest.param(["removed-cases"], "questions that are gone", id="gone"),
        pytest.param(["no-match"], "no match", id="no-match"),
        pytest.param(["field-vanished", "kept-from-judging"], "less evidence", id="less-evidence"),
        pytest.param(["removed-cases", "metric-down"], "lower values and questions that are gone", id="several"),
        pytest.param(["slice-worse", "below-floor"], "", id="notes"),
    ],
)
def test_what_is_accepted_is_loud(codes: list[str], accepting: str) -> None:
    """Title and colour say what needed a permission, whatever it was, and nothing of notes."""
    candidate = replace(better(), reasons=tuple(Reason(code, "a sentence") for code in codes))
    assert promotion.title([candidate]).partition(", accepting ")[2] == accepting
    assert ("> [!CAUTION]" in promotion.render([(candidate, told())])) == bool(accepting)


@each_row("limit", [COMMENT_LIMIT, SMALLEST_LIMIT])
def test_it_fits(limit: int) -> None:
    """The largest promotion fits, keeps what got worse and where it comes from, and says what it left out."""
    base = foreign("long text " * 60)
    flips = tuple(
        make_flip(f"q{number}", kind, question="wide 𝕢 " * 60) for kind in ("broke", "fixed") for number in range(500)
    )
    rows = tuple(same_cases(make_delta(metric=f"metric_{number}", mode=f"mode{number % 9}")) for number in range(500))
    reasons = tuple(Reason(code="metric-down", message="lower " * 100) for _ in range(500))
    many = {
        f"mode{number}": {f"metric_{one}": next(iter(ACCEPTED["hybrid"].values())) for one in range(90)}
        for number in range(9)
    }
    large = replace(base, comparison=replace(base.comparison, flips=flips), rows=rows, reasons=reasons)
    page = promotion.render([(large, told(accepted=many))], limit=limit)
    assert utf16_units(page) <= limit
    assert "Where it comes from" in page
    assert "metric 0" in visible(page)
    assert "Shortened to fit" in page


def of_suite(found: BaselineCandidate, suite: str) -> promotion.Entry:
    """Return a promotion as that of a suite of this name."""
    scorecard = replace(found.comparison.scorecard, suite=suite)
    return replace(found, comparison=replace(found.comparison, scorecard=scorecard)), told()


def test_several_suites_fit_with_what_each_accepts() -> None:
    """Of a hundred suites each keeps its line, and what it accepts stands in it; the text is as long as it may be."""
    suites = [of_suite(lower() if number % 2 else better(), f"suite-{number}") for number in range(100)]
    page = promotion.render(suites)
    assert utf16_units(page) <= COMMENT_LIMIT
    assert page.count("| lower values |") == page.count("| nothing |") == 50
    assert all(f"| suite-{number} |" in visible(page) or f"suite-{number}" in page for number in range(100))
    assert "[!CAUTION]" in page
    title = promotion.title([found for found, _ in suites])
    assert title.startswith("Baselines of 100 suites, accepting lower values: suite-0, ")


def test_the_page_of_each_suite_is_folded_in() -> None:
    """What a promotion of a suite alone says stands under its name."""
    page = promotion.render([of_suite(better(), "one"), of_suite(lower(), "two")])
    alone = promotion.render([(lower(), told(opened=False))])
    values = alone[alone.index("| metric") :].split("\n\n")[0]
    assert values in page
    assert page.count("### Checks") == 1


@example(HOSTILE)
@given(st.text(min_size=1))
def test_a_refusal_of_several_is_text(text: str) -> None:
    """The reasons of suites that are refused, and their names, do nothing by themselves."""
    failure = RunFailure(label=text, exit_code=2, lines=(text,), suite=text)
    refused = SuiteOutcome(config=text, suite=text, code=2, failure=failure)
    page = promotion.render_refused([refused], [text])
    assert list(problems(page, links=(OURS,))) == []


ACTS = re.compile(r"@\w|#\d|\bGH-\d|://|\[(?:skip (?:ci|actions)|(?:ci|actions) skip|no ci)\]", re.IGNORECASE)


@example("Reason: @ada fixes #12, GH-12 https://github.com/o/n/issues/1 [skip ci] [No CI] [CI skip]")
@given(st.text(st.sampled_from("[]#@:/ skipcnoGH-1\n\u2060"), max_size=30))
def test_any_text(text: str) -> None:
    """Nobody is mentioned, no issue is closed, no workflow is kept from starting; it reads as it was written."""
    shown = title_text(text)
    assert not ACTS.search(shown)
    assert "\n" not in shown
    assert shown.replace("\u2060", "") == " ".join(text.replace("\u2060", "").split())


def test_a_long_title() -> None:
    """A title is as long as GitHub takes, also where every character of it has to be made harmless."""
    assert pull_title("x" * LONGEST_TITLE) == "x" * LONGEST_TITLE
    assert len(pull_title("x" * (LONGEST_TITLE + 1))) == LONGEST_TITLE
    assert len(pull_title("@" * LONGEST_TITLE)) == LONGEST_TITLE
