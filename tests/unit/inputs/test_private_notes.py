"""Which notes are private or deleted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from raggate.config.probe_settings import Private
from raggate.inputs.private_notes import private_notes
from raggate.models.golden import Vault
from tables import each_row


def marked(text: str, path: str = "In/a.md", **private: Any) -> bool:
    """Return whether one note of the vault `work` is private."""
    vault = Vault(directories={"work": Path()}, texts={("work", path): text}, notes={}, hash="")
    return private_notes(vault, Private.model_validate(private, strict=True)) == (f"work/{path}",)


@each_row(
    ("front_matter", "values", "private"),
    [
        ("private: true", [True], True),
        ("Private: True", [True], True),
        ("private: 'true'", [True], True),
        ("private: true", ["true"], True),
        ("private: false", [True], False),
        ("private:", [True], False),
        ("other: true", [True], False),
        ("private: [false, true]", [True], True),
        ("private: 2026-01-01", [], True),
        ("private: false", [], False),
        ("private:", [], False),
        # no YAML, as a key occurs twice: read line by line
        ("private: true\nprivate: true", [True], True),
        ("a: [\nprivate: yes", ["yes"], True),
    ],
)
def test_by_front_matter(front_matter: str, values: list[str | bool], *, private: bool) -> None:
    """A key marks a note by its value as it is written, whatever its case; no values stand for any but no and none."""
    assert marked(f"---\n{front_matter}\n---\n# A\n", front_matter={"private": values}) == private
    assert not marked(f"# A\n\n{front_matter}\n", front_matter={"private": values})


@each_row(
    ("text", "private"),
    [
        ("---\ntags: [a, secret]\n---\n", True),
        ("---\ntags: a, Secret\n---\n", True),
        ("---\ntag: '#secret/diary'\n---\n", True),
        ("One #secret/diary line.", True),
        ("One #secretive line.", False),
        ("See https://example.invalid/#secret", False),
        ("---\ntags: {secret: 1}\n---\n", False),
    ],
)
def test_by_tags(text: str, *, private: bool) -> None:
    """A tag marks a note in its front matter and in its text, and so does one that is nested in it."""
    assert marked(text, tags=["secret"]) == private
    assert marked(text, tags=["#Secret"]) == private


@each_row(
    ("place", "private"),
    [("work", True), ("work/In", True), ("work/In/a.md", True), ("work/I", False), ("home", False)],
)
def test_by_place(place: str, *, private: bool) -> None:
    """A vault, a folder or a note is a place; a beginning of a name is none."""
    assert marked("text", places=[place]) == private


def test_nothing_is_private_by_itself() -> None:
    """Without a key no note is looked at."""
    assert not marked("---\nprivate: true\n---\n")
