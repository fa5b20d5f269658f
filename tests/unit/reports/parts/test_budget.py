"""A page fits its limit, keeps what matters most, and says what was shortened."""

from __future__ import annotations

from hypothesis import example, given, strategies as st

from raggate.models.publication import Links, Publication
from raggate.reports import comment
from raggate.reports.parts import formatting
from raggate.reports.parts.budget import KEPT, SMALLEST_LIMIT, Section, fit, utf8_bytes, utf16_units
from raggate.scoring.figures import title
from raggate.text.escape import plain
from rendered import problems, visible
from reviews import foreign
from tables import each_row
from tries import tried

LINKS = Links(
    server="https://forge.example", repository="team/api", commit="a" * 40, run="https://forge.example/team/api/actions"
)
OURS = ("https://forge.example/team/api/",)
TEXTS = st.one_of(
    st.text(max_size=400),
    st.sampled_from(["@", "é", "😀", "a", "`", "|", "<", "0", "中"]).flatmap(
        lambda character: st.integers(1, 3000).map(lambda length: character * length)
    ),
)
FULL = Section(name="table", rank=2, variants=("t" * 50, "t" * 10))
LATER = Section(name="rows", rank=9, variants=("r" * 50, "r" * 10))
HELD = Section(name="verdict", rank=KEPT, variants=("v" * 50, "v" * 10))


def test_what_fits_is_left_alone() -> None:
    """A page within its limit has every section in full, in reading order, and no closing line."""
    assert fit([HELD, LATER, FULL], 200, len) == f"{'v' * 50}\n\n{'r' * 50}\n\n{'t' * 50}\n"


def test_the_least_important_goes_first() -> None:
    """The section of the highest rank is stepped down first, and the closing line names it alone."""
    page = fit([HELD, FULL, LATER], 154, len, elsewhere="over there")
    # the room for the closing line is taken from the page, so the rows go whole
    assert page.startswith("v" * 50)
    assert "r" * 50 not in page
    assert "rows" in page.splitlines()[-1]


def test_each_step_is_tried() -> None:
    """A page steps through the variants one by one, until it fits."""
    rows = Section(name="rows", rank=9, variants=("r" * 1000, "r" * 500, "r" * 100))
    assert [fit([HELD, rows], limit, len).count("r" * 100) for limit in (2000, 700, 300, 140)] == [10, 5, 1, 0]


def test_of_equal_rank_the_last_goes_first() -> None:
    """Of sections that matter the same the one that stands last is shortened to its end before the others are."""
    equals = [Section(name=name, rank=5, variants=(name[0] * 500, name[0] * 300)) for name in ("first", "second")]
    pages = [fit(equals, limit, len) for limit in (1010, 900, 700, 450)]
    assert [(page.count("f" * 100), page.count("s" * 100)) for page in pages] == [(5, 5), (5, 3), (5, 0), (3, 0)]


def test_kept_sections_are_never_shed() -> None:
    """A section of the highest rank keeps its shortest variant, whatever the limit."""
    page = fit([HELD, FULL, LATER], 1, len)
    assert page.startswith("v" * 10 + "\n")
    assert "t" * 10 not in page
    assert page.endswith("<sub>Shortened to fit: verdict, table, rows.</sub>\n")


def test_where_the_full_report_is() -> None:
    """The closing line says where the full report is."""
    assert fit([LATER], 10, len, elsewhere="in x").endswith("rows. The full report is in x.</sub>\n")


def test_empty_sections_leave_no_trace() -> None:
    """Sections without text make no gap and are not named."""
    empty = Section(name="nothing", rank=9, variants=("",))
    assert fit([empty, HELD, Section(name="none", rank=KEPT, variants=())], 1, len).count("nothing") == 0
    assert fit([empty, HELD], 1000, len) == "v" * 50 + "\n"


@each_row(("text", "units", "size"), [("a", 1, 1), ("é", 1, 2), ("中", 1, 3), ("😀", 2, 4), ("👨‍👩‍👧", 8, 18)])
def test_sizes(text: str, units: int, size: int) -> None:
    """A comment is measured in UTF-16 units and a summary in bytes of UTF-8."""
    assert (utf16_units(text), utf8_bytes(text)) == (units, size)
    assert utf16_units(text) == len(text) + sum(character > "\uffff" for character in text)


@tried(8)
@given(
    text=TEXTS,
    flips=st.integers(0, 60),
    findings=st.integers(0, 13),
    limit=st.integers(SMALLEST_LIMIT, SMALLEST_LIMIT * 5 // 4),
)
@example(text="0..", flips=1, findings=0, limit=SMALLEST_LIMIT)
@example(text="@" * 726, flips=5, findings=13, limit=32768)
def test_any_review_fits_any_limit(text: str, flips: int, findings: int, limit: int) -> None:
    """Whatever a review holds, its page fits, is whole, and has the verdict, the invariants and the first questions."""
    review = foreign(text, flips=flips, findings=findings)
    publication = Publication(links=LINKS, notes=(text,) * 5)
    pages = (
        (comment.render(review, publication, limit=limit), utf16_units),
        (comment.render_summary(review, publication, limit=limit), utf8_bytes),
    )
    for page, size in pages:
        assert size(page) <= limit
        assert list(problems(page, links=OURS)) == []
        shown = visible(page).replace("\xa0", " ")
        headline = plain(review.verdict.headline, limit=100_000)
        # one that has to be short has lost its middle
        for part in [headline] if len(headline) <= 300 else [headline[:140], headline[-140:]]:
            assert part.strip("…. ") in shown
        for finding in review.findings:
            assert finding.invariant in shown
        for row in formatting.main_rows(review.verdict.rows)[:3]:
            assert title(row.delta.metric) in shown
        if flips:
            assert f"Questions that broke ({flips})" in shown
            for flip in [flip for flip in review.comparison.flips if flip.kind == "broke"][:3]:
                asked = plain(flip.question, limit=60) or plain(flip.case_id, limit=40)
                assert asked.rstrip("…")[:50] in shown
        assert "Reproduce locally" in shown or "Next: " in shown
