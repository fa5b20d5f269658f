"""The frame of a page: what a policy lets through, and foreign text as values and as data."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256

from hypothesis import given, strategies as st

from pages import Elements, data_of
from raggate.reports.page import frame
from tries import tried

MARKS = ("</script>", "<!--", "<script>", "]]>", "&lt;", "\u2028", '"', "'", "<img src=x onerror=alert(1)>", "\\u003c")
TEXT = st.lists(st.sampled_from(MARKS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=9), max_size=6)


def hashed(text: str) -> str:
    """Return a text's hash as a policy has it."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def test_policy_lets_the_pages_own_style_through_and_nothing_else() -> None:
    """The one style is allowed by its hash; nothing is loaded, sent or executed."""
    document = Elements(frame.render("base.html", {}, title="A page"))
    (policy,) = [attrs["content"] for tag, attrs in document.tags if attrs.get("http-equiv")]
    assert policy is not None
    directives = dict(part.split(" ", 1) for part in policy.split("; "))
    assert directives["default-src"] == "'none'"
    assert directives["style-src"] == hashed("".join(document.texts["style"]))
    assert "script-src" not in directives
    assert "unsafe" not in policy
    assert "http" not in policy


@tried(40)
@given(TEXT.map("".join))
def test_data_stays_data(text: str) -> None:
    """Whatever a text holds, its element ends where it should, and a script reads the text back."""
    document = frame.render("base.html", {}, title="x", data={"rows": {"text": text}})
    (written,) = re.findall(r'<script type="application/json" id="rows">(.*?)</script>', document, re.DOTALL)
    assert data_of(document, "rows") == {"text": text}
    assert not re.search("[<>&\u2028\u2029]", written)
    assert document.endswith("</script>\n</body>\n</html>")


@tried(40)
@given(TEXT.map("".join))
def test_a_value_stays_text(text: str) -> None:
    """Whatever a title holds, the document has the same elements, and shows it as printable text."""
    plain, hostile = (Elements(frame.render("base.html", {}, title=title)) for title in ("x", f"x{text}"))
    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in plain.tags]
    assert "".join(hostile.texts["title"]).isprintable()
