"""Single decisions of the sections: what loosens a gate, how old a baseline is, what is linked."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from raggate.models.comparison import GoldenChanges
from raggate.models.publication import Links
from raggate.models.verdict import Preview
from raggate.reports import comment, terminal
from raggate.reports.parts.markup import commit_link, link
from rendered import visible
from reviews import beside, passing, review
from tables import each_row

LINKS = Links(server="https://forge.example", repository="team/api")


def test_only_what_is_named_loosens() -> None:
    """The marks are those that the preview carries, however the values read."""
    settings = (("gate.tolerance", "0.05", "0.9"), ("waivers", "[]", "[{'metric': 'hit_at_5'}]"))
    page = visible(comment.render_whole(beside(passing(), preview=Preview(settings=settings, loosened=("waivers",)))))
    assert page.count("(loosens the gate)") == 1
    assert page.index("waivers:") < page.index("(loosens the gate)") < page.index("gate.tolerance")


def test_a_waived_row_is_no_cause() -> None:
    """A row that a waiver excuses says so in every report, without the red sign or colour of a cause."""
    found = review("waived")
    rows = tuple(row for row in found.verdict.rows if row.waived and row.delta.slice == "overall")
    assert [row.status for row in rows] == ["worse"]
    found = replace(found, verdict=replace(found.verdict, rows=rows))
    table = next(row for row in comment.render_whole(found).splitlines() if "🔸" in row)
    assert "(worse, waived)" in table
    assert "❌" not in table
    line = next(line for line in terminal.render(found, width=100, color=True).splitlines() if "worse, waived" in line)
    assert "\x1b[31m" not in line


@each_row(
    ("preview", "told"),
    [
        (Preview(), ""),
        (Preview(baseline="removed"), "nothing to compare with"),
        (Preview(golden=GoldenChanges(refiled=("q01", "q02"))), "filed elsewhere (2): q01, q02"),
        (Preview(golden=GoldenChanges(released=("q03",))), "no longer must-pass (1): q03"),
    ],
)
def test_what_merging_changes(preview: Preview, told: str) -> None:
    """A change is told what it does to the gate; one that leaves the gate alone has no section for it."""
    page = visible(comment.render_whole(beside(passing(), preview=preview)))
    assert told in page
    assert ("If merged" in page) == bool(told)


@each_row(
    ("measured", "words"),
    [
        ("2026-01-02T01:00:00Z", "(the same day)"),
        ("2026-01-01T01:00:00Z", "(1 day old)"),
        ("2025-12-25T03:04:05Z", "(8 days old)"),
        ("2027-01-01T01:00:00Z", "measured 2027-01-01;"),
        ("yesterday", "measured yesterday;"),
    ],
)
def test_age_of_the_baseline(measured: str, words: str) -> None:
    """The age is counted between two timestamps, and left out if they give none."""
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
