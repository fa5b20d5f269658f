"""What an answer cites: the places its text names, and the gold supports that they and its references are of."""

from __future__ import annotations

import time
from typing import Any

from builders import make_case, make_labelled, make_response, make_result, make_support
from raggate.base.headings import parse
from raggate.models.run import Reference
from raggate.scoring.metrics.citations import cited_supports
from tables import each_row


@each_row(
    ("answer", "cited"),
    [
        ("as [File: a.md, Section: # A] says", [("a.md", "# A")]),
        ("(file: notes/a, b.md, section: # A [x])", [("notes/a, b.md", "# A [x]")]),
        ("see File: 'a.md', Section: `## B`.", [("a.md", "## B")]),
        ("[a.md, Section: # A] and [b.md, section: # B]", [("a.md", "# A"), ("b.md", "# B")]),
        ("File: a.md, Section: # A\nmore", [("a.md", "# A")]),
        ("[a.txt, Section: # A]", []),
        ("profile: a.md, Section: # A", []),
        ("nothing at all", []),
    ],
)
def test_places_in_a_text(answer: str, cited: list[tuple[str, str]]) -> None:
    """A place is a path and a section, in brackets, parentheses, quotes or none; its section ends where they close."""
    assert [tuple(place) for place in parse(answer)] == cited


@each_row(
    ("fields", "supports"),
    [
        ({"answer": "[File: a.md, Section: # A]"}, {0}),
        ({"answer": "[File: a.md, Section: # A > ## B]"}, {0}),
        ({"answer": "[File: a.md, Section: # Another]"}, set()),
        ({"answer": "[File: c.md, Section: # C]"}, {1}),
        ({"answer": "[File: d/c.md, Section: ## Any]"}, {1}),
        ({"answer": "[File: .md, Section: # A]"}, set()),
        ({"answer": "[File: a.md, Section: # A]", "abstained": True}, set()),
    ],
)
def test_supports_that_a_text_names(fields: dict[str, Any], supports: set[int]) -> None:
    """A place names a support of its note, directories left out or not, and of its section or one inside it."""
    gold = (make_support(rel_path="a.md", heading_path="# A"), make_support(rel_path="d/c.md", heading_path=None))
    item = make_labelled(make_case(gold_supports=gold), make_result(response=make_response(**fields)))
    assert cited_supports(item) == supports


@each_row(("vault", "supports"), [("work", {0}), ("", {0}), ("home", set())])
def test_a_reference_is_of_the_vault_that_is_asked(vault: str, supports: set[int]) -> None:
    """A reference to the same path in another vault is of no support; one that tells no vault is believed."""
    reference = Reference(vault=vault, rel_path="a.md", heading_path="# A", chunk_index=0)
    case = make_case(gold_supports=(make_support(rel_path="a.md", heading_path="# A"),), vaults=("work",))
    item = make_labelled(case, make_result(response=make_response(answer="", references=(reference,))))
    assert cited_supports(item) == supports


def test_no_answer_takes_long() -> None:
    """An answer that is made to be read slowly is read in time that grows with its length alone."""
    begun = time.process_time()
    for text in ("[file: " * 10_000, "[" * 500_000, " " * 500_000, "file:, " * 1_000):
        assert [*parse(text)] == []
    assert time.process_time() - begun < 5
