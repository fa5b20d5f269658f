"""Single decisions of the sections: what loosens a gate, how old a baseline is, what is linked."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from raggate.models.comparison import Finding, GoldenChanges
from raggate.models.publication import Links
from raggate.models.verdict import Preview, Reason, Review
from raggate.reports import comment, terminal
from raggate.reports.parts import metric_tables, sections
from raggate.reports.parts.markup import commit_link, link
from raggate.reports.parts.sections import broken_alone, reproduce
from rendered import visible
from reviews import beside, passing, reproduced_by, review
from tables import each_row

LINKS = Links(server="https://forge.example", repository="team/api")


def test_loosened_settings_come_first() -> None:
    """Settings that loosen the gate stand before the others, marked."""
    page = visible(comment.render_whole(review("preview")))
    assert page.index("gate.metrics.hit_at_5") < page.index("ask.timeout_s")
    assert "0.03 → 0.1 (loosens the gate)" in page


def test_what_only_warns_comes_after_the_questions() -> None:
    """An invariant that breaks the gate is read before the metrics; one that is a warning after what broke."""
    found = Finding(invariant="list_deep_enough", level="warn", message="Lists are long enough.", count=1, examples=())
    pages = [
        visible(comment.render_whole(replace(review("placed"), findings=(finding,))))
        for finding in (found, replace(found, level="error"))
    ]
    places = [
        (page.index("Invariants not met"), page.index("Metrics"), page.index("Questions that broke")) for page in pages
    ]
    (warned, _, broke), (first, metrics, _) = places
    assert warned > broke
    assert first < metrics


def test_only_what_is_named_loosens() -> None:
    """The marks are those that the preview carries, however the values read."""
    settings = (("gate.tolerance", "0.05", "0.9"), ("waivers", "[]", "[{'metric': 'hit_at_5'}]"))
    page = visible(comment.render_whole(beside(passing(), preview=Preview(settings=settings, loosened=("waivers",)))))
    assert page.count("(loosens the gate)") == 1
    assert page.index("waivers:") < page.index("(loosens the gate)") < page.index("gate.tolerance")


@each_row(
    ("preview", "counts"),
    [
        (Preview(edited=(("replies of judges", 0, 1),)), "replies of judges"),
        (Preview(settings=(("gate.tolerance", "0.05", "1"),), loosened=("gate.tolerance",)), "1 setting; 1 loosened"),
    ],
)
def test_the_shortest_preview_names_each_kind(preview: Preview, counts: str) -> None:
    """Where there is room for a line alone, it does not say that nothing changed, nor hide that a gate is loosened."""
    least = sections.if_merged(beside(passing(), preview=preview)).variants[-1]
    assert least.strip() == f"**If merged**: {counts}"


def test_a_waived_row_is_no_cause() -> None:
    """A row that a waiver excuses says so in every report, without the red sign or colour of a cause."""
    found = review("waived")
    rows = tuple(row for row in found.verdict.rows if row.waived and row.delta.slice == "overall")
    assert [row.status for row in rows] == ["worse"]
    found = replace(found, verdict=replace(found.verdict, rows=rows))
    full, short = metric_tables.deltas(found, now="now").variants[0::2]
    assert "🔸" in full
    assert "❌" not in full
    assert "worse,&nbsp;waived" in full
    assert short.endswith("worse, waived")
    line = next(line for line in terminal.render(found, width=100, color=True).splitlines() if "worse, waived" in line)
    assert "worse, waived" in line
    assert "\x1b[31m" not in line


def test_a_value_that_stands_for_other_questions() -> None:
    """A mean that did not move tells all the same how many questions got worse and how many better."""
    found = review("pass")
    rows = tuple(replace(row, delta=replace(row.delta, regressed=5, improved=5)) for row in found.verdict.rows)
    moved = replace(found, verdict=replace(found.verdict, rows=rows))
    assert "−5" not in metric_tables.unmoved(found, now="now").variants[0]
    assert "−5&nbsp;+5&nbsp;of&nbsp;25 |" in metric_tables.unmoved(moved, now="now").variants[0]


def test_problems_come_before_settings() -> None:
    """What would break the gate when merged is told first."""
    page = comment.render_whole(review("preview"))
    assert page.index("**Problems**") < page.index("**Configuration**")


def test_removed_baseline() -> None:
    """A change that removes the baseline is told what that means."""
    page = comment.render_whole(beside(passing(), preview=Preview(baseline="removed")))
    assert "nothing to compare with" in page


def test_empty_preview() -> None:
    """A change that leaves the gate alone has no section for it."""
    assert "If merged" not in comment.render_whole(beside(passing(), preview=Preview()))
    assert "If merged" in comment.render_whole(beside(passing(), preview=Preview(golden=GoldenChanges(added=("q",)))))


@each_row(
    ("measured", "words"),
    [
        ("2026-01-02T01:00:00Z", "(the same day)"),
        ("2026-01-01T01:00:00Z", "(1 day old)"),
        ("2025-12-25T03:04:05Z", "(8 days old)"),
        ("2025-11-01T03:04:05Z", "(62 days old)"),
        ("2027-01-01T01:00:00Z", "measured 2027-01-01;"),
        ("2026-99-99T01:00:00Z", "measured 2026-99-99;"),
        ("yesterday", "measured yesterday;"),
    ],
)
def test_age_of_the_baseline(measured: str, words: str) -> None:
    """The age is counted from one timestamp to the other, and left out where they do not give one."""
    found = passing()
    held = found.comparison.baseline
    assert held is not None
    dated = replace(held, provenance={**held.provenance, "measured": measured})
    page = comment.render_whole(replace(found, comparison=replace(found.comparison, baseline=dated)))
    assert words in visible(page)


def test_links_stay_in_the_repository() -> None:
    """Only an address below the repository's own becomes a link."""
    assert link("x", "https://forge.example/team/api/pull/1", LINKS) == "[x](https://forge.example/team/api/pull/1)"
    for target in (
        "https://forge.example/team/api-evil/x",
        "https://forge.example/team/api/../../x",
        "https://forge.example/team/api/x)y",
        "https://forge.example/team/api/" + "x" * 2000,
        "javascript:1",
        None,
    ):
        assert link("x", target, LINKS) == "x"


def test_commits_are_linked() -> None:
    """A commit is its first seven digits; what is none is only text."""
    assert commit_link(LINKS, "a" * 40) == f"[`aaaaaaa`](https://forge.example/team/api/commit/{'a' * 40})"
    assert commit_link(LINKS, "@x") == "&#64;&#8288;x"


def test_an_old_baseline_is_marked() -> None:
    """What the gate calls stale carries a sign where its age is told."""
    found = passing()
    held = found.comparison.baseline
    assert held is not None
    dated = replace(held, provenance={**held.provenance, "measured": "2025-06-01T03:04:05Z"})
    warned = replace(found.verdict, warnings=(Reason(code="stale-baseline", message="old"),))
    review = replace(found, comparison=replace(found.comparison, baseline=dated), verdict=warned)
    assert "days old ⚠️" in visible(comment.render_whole(review))


def test_a_baseline_of_the_future_is_marked() -> None:
    """What was measured later than the run carries a sign in place of its age."""
    found = passing()
    held = found.comparison.baseline
    assert held is not None
    dated = replace(held, provenance={**held.provenance, "measured": "9999-06-01T03:04:05Z"})
    warned = replace(found.verdict, warnings=(Reason(code="stale-baseline", message="late"),))
    review = replace(found, comparison=replace(found.comparison, baseline=dated), verdict=warned)
    assert "(later than this run ⚠️)" in visible(comment.render_whole(review))


@each_row(
    ("gained", "lost", "offered"),
    [
        pytest.param(5, 0, True, id="one in 32 by chance"),
        pytest.param(4, 0, False, id="one in 16 by chance"),
        pytest.param(8, 1, True, id="ten in 512"),
        pytest.param(6, 2, False, id="37 in 256"),
        pytest.param(0, 0, False, id="nothing moved"),
    ],
)
def test_an_improvement_is_worth_promoting(gained: int, lost: int, *, offered: bool) -> None:
    """A gain that chance gives in at most one of twenty cases comes with the advice to promote it after the merge."""
    found = passing()
    best = next(row for row in found.verdict.rows if row.gated and row.delta.slice == "overall")
    better = replace(best, status="better", delta=replace(best.delta, delta=0.1, improved=gained, regressed=lost))
    rows = tuple(better if row is best else row for row in found.verdict.rows)
    page = comment.render_whole(replace(found, verdict=replace(found.verdict, rows=rows)))
    assert ("raggate promote" in page) is offered
    lower = replace(best, status="within", delta=replace(best.delta, metric="mrr_at_10", delta=-0.01))
    mixed = comment.render_whole(replace(found, verdict=replace(found.verdict, rows=(*rows, lower))))
    assert "raggate promote" not in mixed


def with_ids(name: str, *ids: str) -> Review:
    """Return a review whose first questions that broke have these ids, and no others."""
    ordinary = review(name)
    broke = [flip for flip in ordinary.comparison.flips if flip.kind == "broke"]
    flips = tuple(replace(broke[0], case_id=case) for case in ids)
    return replace(ordinary, comparison=replace(ordinary.comparison, flips=flips), fallen=())


def test_what_broke_alone() -> None:
    """A regression names every question that counts against it, once and quoted, in a command of its own."""
    given = reproduced_by(with_ids("regression", "q 1", "q2", "q2"), "raggate check --suite notes")
    text = reproduce(given).variants[0]
    assert text.endswith("```sh\nraggate check --suite notes\nraggate check --suite notes --case 'q 1' --case q2\n```")


@each_row("ids", [(), tuple(map(str, range(21))), ("x" * 700,), ("a\x1b[31mb",), ("a\u202eb",)])
def test_no_command_that_asks_for_something_else(ids: tuple[str, ...]) -> None:
    """None, too many to name, or an id that could not be copied as it is: the whole command stands alone."""
    assert broken_alone(with_ids("regression", *ids)) == ""


@each_row("name", ["pass", "cannot-tell", "first-run"])
def test_only_a_regression_has_one(name: str) -> None:
    """Nothing else is reproduced by asking single questions."""
    assert broken_alone(review(name)) == ""
