"""Anchors: how heading paths are read, compared and written, and which folders a selection covers."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from raggate.text.anchors import contains_snippet, covers, elements, fold, in_scope, inside_folder, written
from tables import each_row


@each_row(
    ("path", "expected"),
    [
        pytest.param("# A > ## B", ("A", "B"), id="marked"),
        pytest.param("#  A  >   ##  B  C ", ("A", "B C"), id="white space collapses"),
        pytest.param("A > B", ("A", "B"), id="unmarked"),
        pytest.param("A>B", ("A", "B"), id="unmarked without spaces"),
        pytest.param("# A > ### C", ("A", "C"), id="levels do not count"),
        pytest.param("# A -> B > ## C", ("A -> B", "C"), id="an arrow inside a marked heading"),
        pytest.param("# A > B > ## C", ("A > B", "C"), id="a delimiter inside a marked heading"),
        pytest.param("# C# > ## F#", ("C#", "F#"), id="a hash inside a heading"),
        pytest.param("# ####### seven", ("####### seven",), id="seven hashes are text"),
        pytest.param("# #hashtag", ("#hashtag",), id="a hash without a space is text"),
        pytest.param("#  > ## B", ("B",), id="empty headings drop out"),
        pytest.param("# ", (), id="only a mark"),
        pytest.param("", (), id="empty"),
        pytest.param("# Cafe\u0301", ("Caf\u00e9",), id="decomposed letters are composed"),
        pytest.param("# 🍎 Maple & Apples", ("🍎 Maple & Apples",), id="emoji"),
        pytest.param("# A\u00a0B", ("A B",), id="no-break space is a space"),
    ],
)
def test_elements(path: str, expected: tuple[str, ...]) -> None:
    """A heading path is split into its headings, outermost first, without marks and spare white space."""
    assert elements(path) == expected


@each_row(
    ("gold", "retrieved", "expected"),
    [
        pytest.param("# Summary", "# Summary", True, id="the section itself"),
        pytest.param("# Summary", "# Summary > ## Costs", True, id="a section inside it"),
        pytest.param("# Summary > ## Costs", "# Summary", False, id="the section around it"),
        pytest.param("# Summary", "# Summary of X", False, id="a longer heading"),
        pytest.param("# Summary", "# summary", True, id="capitals are not read"),
        pytest.param("# Summary {#sum}", "# **Summary** ##", True, id="ids, markup and closing marks are not seen"),
        pytest.param("# Summary", "# Intro > ## Summary", False, id="the same heading further in"),
        pytest.param("# A > ## B", "# A > ### B", True, id="another level"),
        pytest.param("# A > ## B", "A > B", True, id="chunk without marks"),
        pytest.param("#A > ##B", "# A > ## B > ### C", True, id="gold marks without their space"),
        pytest.param("#A >##B", "A > B", True, id="gold marks without their space, chunk without marks"),
        pytest.param("#A", "# AB", False, id="a mark without its space is no prefix either"),
        pytest.param("#tag", "# #tag", True, id="a heading that begins with a hash"),
        pytest.param("# A", "# #A", False, id="a hash in a heading is no mark"),
        pytest.param("A > B", "# A > ## B > ### C", True, id="gold without marks"),
        pytest.param("# A > B", "A > B > C", True, id="a delimiter in a heading against a path without marks"),
        pytest.param("A > B", "# A > B > ## C", True, id="a path without marks against a delimiter in a heading"),
        pytest.param("# A > B", "# A > ## B", False, id="a delimiter in a heading is no nesting when both have marks"),
        pytest.param("# Summary", "Summary of X", False, id="a longer heading without marks"),
        pytest.param("", "# A", False, id="empty gold covers nothing"),
        pytest.param("#", "# A", False, id="a lone mark covers nothing"),
        pytest.param("# A", "", False, id="empty path"),
        pytest.param("# Cafe\u0301", "# Caf\u00e9", True, id="composed and decomposed letters"),
    ],
)
def test_covers(gold: str, retrieved: str, *, expected: bool) -> None:
    """A gold path covers its own section and what lies inside, compared heading by heading."""
    assert covers(gold, retrieved) is expected


@each_row(
    ("path", "expected"),
    [
        pytest.param(("A",), "# A", id="one"),
        pytest.param(("A", "B"), "# A > ## B", id="two"),
        pytest.param(tuple("ABCDEFG"), "# A > ## B > ### C > #### D > ##### E > ###### F > ###### G", id="seven"),
        pytest.param((), "", id="none"),
    ],
)
def test_written(path: tuple[str, ...], expected: str) -> None:
    """A path is written one level deeper per heading, six at most."""
    assert written(path) == expected


_HEADING = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12).map(fold).filter(bool)


@given(st.lists(_HEADING.filter(lambda text: "#" not in text), min_size=1, max_size=6))
def test_written_is_read_back(path: list[str]) -> None:
    """What `written` writes, `elements` reads back, whatever `>` the headings hold."""
    assert elements(written(tuple(path))) == tuple(path)


@given(st.lists(_HEADING.filter(lambda text: ">" not in text and "#" not in text), min_size=1, max_size=5), st.data())
def test_covers_is_prefix(path: list[str], data: st.DataObject) -> None:
    """A path covers another exactly when its headings are the first of the other's."""
    cut = data.draw(st.integers(1, len(path)))
    gold, full = written(tuple(path[:cut])), written(tuple(path))
    assert covers(gold, full)
    assert covers(full, gold) is (cut == len(path))


@each_row(
    ("text", "snippets", "expected"),
    [
        pytest.param("The Quick fox", ["quick FOX"], True, id="case"),
        pytest.param("a\n  b\tc", ["a b c"], True, id="white space"),
        pytest.param("only the second", ["first", "second"], True, id="any of several"),
        pytest.param("neither", ["first", "second"], False, id="none of several"),
        pytest.param("STRASSE", ["straße"], True, id="sharp s"),
        pytest.param("Cafe\u0301", ["caf\u00e9"], True, id="decomposed letters"),
        pytest.param("ab", ["a b"], False, id="white space is not dropped"),
        pytest.param("text", [], False, id="no snippet"),
        pytest.param("", ["a"], False, id="no text"),
    ],
)
def test_contains_snippet(text: str, snippets: list[str], *, expected: bool) -> None:
    """A text holds a snippet regardless of case and white space, and one of several is enough."""
    assert contains_snippet(text, snippets) is expected


@each_row(
    ("folder", "selected", "expected"),
    [
        pytest.param("work/docs", "work/docs", True, id="itself"),
        pytest.param("work/docs/api", "work/docs", True, id="below"),
        pytest.param("work/docs-old", "work/docs", False, id="the same beginning"),
        pytest.param("work", "work/docs", False, id="above"),
        pytest.param("work/", "work/", True, id="the root itself"),
        pytest.param("work/docs", "work/", False, id="the root covers only notes at the root"),
        pytest.param("work/", "work/docs", False, id="the root is not in a folder"),
        pytest.param("work/docs", "work", True, id="a whole vault"),
        pytest.param("work/", "work", True, id="a whole vault with its root"),
        pytest.param("personal/docs", "work/docs", False, id="another vault"),
    ],
)
def test_inside_folder(folder: str, selected: str, *, expected: bool) -> None:
    """A folder is covered by itself and by what is above it, by path elements."""
    assert inside_folder(folder, selected) is expected


@each_row(
    ("rel_path", "vaults", "selected", "expected"),
    [
        pytest.param("docs/a.md", ["work"], ["work/docs"], True, id="in the folder"),
        pytest.param("docs/api/a.md", ["work"], ["work/docs"], True, id="below the folder"),
        pytest.param("a.md", ["work"], ["work/"], True, id="at the root"),
        pytest.param("a.md", ["work"], ["work/docs"], False, id="at the root, a folder selected"),
        pytest.param("docs/a.md", ["work"], ["personal/docs"], False, id="other vault"),
        pytest.param("docs/a.md", ["work", "personal"], ["personal/docs"], True, id="one of its vaults"),
        pytest.param("docs/a.md", [], ["personal/docs"], True, id="vault not named"),
        pytest.param("docs/a.md", [], ["personal/x", "work/docs"], True, id="vault not named, second selection"),
        pytest.param("docs/a.md", ["work"], ["work/docsold", "work/doc"], False, id="similar names"),
        pytest.param("docs/a.md", ["work"], ["work/nowhere"], False, id="unknown folder"),
        pytest.param("docs/a.md", ["work"], [], False, id="nothing selected"),
    ],
)
def test_in_scope(rel_path: str, vaults: list[str], selected: list[str], *, expected: bool) -> None:
    """A note is in scope when its folder lies in a selected folder, in any vault it may be in."""
    assert in_scope(rel_path, vaults, selected) is expected
