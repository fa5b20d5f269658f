"""A page fits its limit, keeps what matters most, and says what was shortened."""

from __future__ import annotations

from hypothesis import example, given, strategies as st
from msgspec.structs import replace

from raggate.base.escape import plain
from raggate.models.publication import Links, Publication
from raggate.reports import comment
from raggate.reports.parts import formatting
from raggate.reports.parts.document import (
    KEPT,
    SMALLEST_LIMIT,
    Alert,
    Block,
    Bullets,
    Command,
    Paragraph,
    Part,
    Span,
    Table,
    bold,
    bulleted,
    commit,
    line,
    page,
    utf8_bytes,
    utf16_units,
    with_folds,
)
from raggate.scoring.figures import title
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
WIDE = (line("w" * 400),)
FULL = Part(name="table", rank=2, blocks=(Table(("name",), [("t" * 50,)] * 9),))
LATER = Part(name="rows", rank=9, title="The rows", blocks=(Bullets([(line("r" * 50),)] * 9),), folded=True)
HELD = Part(name="verdict", rank=KEPT, blocks=(Alert("NOTE", WIDE),))


def fitted(parts: list[Part], limit: int, elsewhere: str = "") -> str:
    """Set parts in so many characters."""
    return page(parts, len, limit, elsewhere=elsewhere)


def test_the_least_important_goes_first() -> None:
    """The part of the highest rank is shortened first, then left out but for its title, then the next one."""
    pages = [fitted([HELD, FULL, LATER], limit, elsewhere="over there") for limit in (1250, 1000, 800, 100)]
    assert [[text.count("r" * 50), text.count("t" * 50)] for text in pages] == [[3, 9], [0, 9], [0, 3], [0, 0]]
    assert pages[1].endswith("<sub>Shortened to fit: rows. The full report is over there.</sub>\n")
    assert "<sub>The rows</sub>" in fitted([HELD, LATER], 600)
    # what is kept is never left out, but shortened
    assert pages[3].startswith("> [!NOTE]\n> www")
    assert "The rows" not in pages[3]
    assert pages[3].endswith("<sub>Shortened to fit: verdict, table, rows. The full report is over there.</sub>\n")


def test_of_equal_rank_the_last_goes_first() -> None:
    """Of parts that matter the same the one that stands last is shortened to its end before the others are."""
    equals = [replace(FULL, name=name) for name in ("first", "second")]
    assert fitted(equals, 900).endswith("fit: second.</sub>\n")


@each_row(
    ("blocks", "text"),
    [
        ((Paragraph((line("a"), line(bold("b"), " c"))),), "a<br>\n**b** c"),
        ((Paragraph((line(Span("set `a.b`, not @x", "own")),), soft=True),), "<sub>set `a.b`, not &#64;&#8288;x</sub>"),
        (bulleted(["*a*"]), "- &#42;a&#42;"),
        ((Bullets([(line("a"), line("b"))] * 2, most=1),), "- a<br>\n  b\n- … and 1 more in verdict.json"),
        ((Table(("x", "y"), [("a|b", "1 pt")], ("y",)),), "| x | y |\n|---|---:|\n| a&#124;b | 1&nbsp;pt |"),
        ((Command("a `b`"),), "```sh\na `b`\n```"),
        ((Command("::error::a"),), "```sh\n\u2060::error::a\n```"),
        ((Command("a ##[error]b <!-- c"),), "```sh\na ##\u2060[error]b <\u2060!-- c\n```"),
        ((Paragraph((line(Span("", "bold"), "\u200b"),)),), "–"),
        ((Paragraph((line(Span("x", target="https://evil.example/")),)),), "x"),
        ((Paragraph((line(commit("a" * 40, None), " ", commit("@x", None)),)),), "`aaaaaaa` &#64;&#8288;x"),
    ],
)
def test_blocks(blocks: tuple[Block, ...], text: str) -> None:
    """Each block is set as Markdown in which foreign text is only text."""
    assert fitted([Part(name="it", blocks=blocks)], 10_000) == f"{text}\n"


def test_pages_below_a_page() -> None:
    """Pages are folded in one by one; where one has no room, a line says where it and all later ones are."""
    folds = [("one", "1" * 100), ("two", "2" * 100), ("three", "3")]
    whole = with_folds("head\n", folds, len, 1000, "elsewhere")
    assert whole.count("<details>") == 3
    cut = with_folds("head\n", folds, len, 250, "elsewhere")
    assert ("one" in cut, "two" in cut, "three" in cut) == (True, False, False)
    assert cut.endswith("\nelsewhere\n")
    assert len(cut) <= 250


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
    """Whatever a review holds, its page fits, is whole, and has the verdict, the first invariants and what broke."""
    review = foreign(text, flips=flips, findings=findings)
    publication = Publication(links=LINKS, notes=(text,) * 5)
    pages = (
        (comment.render(review, publication, limit=limit), utf16_units),
        (comment.render_summary(review, publication, limit=limit), utf8_bytes),
    )
    for text, size in pages:
        assert size(text) <= limit
        assert list(problems(text, links=OURS)) == []
        shown = visible(text).replace("\xa0", " ")
        assert plain(review.verdict.sentences[0], limit=140).strip("…. ") in shown
        for finding in review.findings[:3]:
            assert finding.invariant in shown
        for row in [row for row in formatting.main_rows(review.verdict.rows) if row.status in formatting.BAD][:3]:
            assert title(row.delta.metric) in shown
        if flips:
            assert f"Questions that broke ({flips})" in shown
        assert "Reproduce locally" in shown or "Next: " in shown
