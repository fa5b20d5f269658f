"""Sentences with foreign values and lists of names in them."""

from __future__ import annotations

from raggate.base.quote import cut, enumerated, quoted
from tables import each_row


@each_row(("names", "expected"), [((), ""), (("a",), "a"), (("a", "b"), "a and b"), (("a", "b", "c"), "a, b and c")])
def test_enumerated(names: tuple[str, ...], expected: str) -> None:
    """Names stand one after the other, the last after an "and"."""
    assert enumerated(names) == expected


@each_row(
    ("text", "shown"),
    [
        ("http://user:hunter2@api:9000/x", "http://***@api:9000/x"),
        ("https://ghp_token@github.example/a/b", "https://***@github.example/a/b"),
        ("postgres://u:p@ss@db/notes failed", "postgres://***@db/notes failed"),
        ("http://user:pa/ss@api", "http://***@api"),
        ("http://user:pa#ss?@api", "http://***@api"),
        ("http://a:b@c and http://d:e@f", "http://***@c and http://***@f"),
        ("http://user:" + "x" * 90 + "@api", "http://***@api"),
        ("http://api:9000/@people/me@home", "http://api:9000/@people/me@home"),
        ("https://notes.example/@me", "https://notes.example/@me"),
        ("me@example.org", "me@example.org"),
    ],
)
def test_no_message_shows_the_password_in_a_url(text: str, shown: str) -> None:
    """User name and password of a URL are hidden before anything is cut; an `@` of a path is no end of them."""
    assert cut(text, limit=60) == shown
    assert quoted(text, limit=60) == f"'{shown}'"
