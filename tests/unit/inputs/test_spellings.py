"""A question in other letters is the same question."""

from __future__ import annotations

import unicodedata

from hypothesis import given, strategies as st

from raggate.inputs.spellings import spellings, unicode_form
from tables import each_row


@each_row(
    ("question", "expected"),
    [
        ("Where is it?", {"capitals": "WHERE IS IT?", "white space": "  Where  is  it? "}),
        ("WHERE?", {"small letters": "where?", "white space": "  WHERE? "}),
        ("caf\u00e9", {"capitals": "CAF\u00c9", "white space": "  caf\u00e9 ", "Unicode form NFD": "cafe\u0301"}),
        ("cafe\u0301", {"capitals": "CAFE\u0301", "white space": "  cafe\u0301 ", "Unicode form NFC": "caf\u00e9"}),
        ("42", {"white space": "  42 "}),
        # the capital of a dotless i is that of another letter
        ("\u0131", {"white space": "  \u0131 "}),
    ],
)
def test_variants(question: str, expected: dict[str, str]) -> None:
    """Each variant is another text, named by what was changed."""
    assert dict(spellings(question)) == expected


@given(st.text(max_size=40))
def test_variants_mean_the_same(question: str) -> None:
    """No variant is the question itself, and case folding and white space apart each is made of the same characters."""

    def folded(text: str) -> str:
        return "".join(unicodedata.normalize("NFC", text).casefold().split())

    for changed, other in spellings(question):
        assert other != question
        assert changed.startswith("Unicode") or folded(other) == folded(question)
    for _, other in unicode_form(question):
        assert unicodedata.normalize("NFC", other) == unicodedata.normalize("NFC", question)
