"""The table in docs/migrating.md says what the code does with every key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from raggate.base.errors import UsageError
from raggate.inputs import golden
from raggate.models.golden import Case, Support
from raggate_interop.convert import FORMATS, Options, through
from tables import each_row

PAGE = Path(__file__).parents[3] / "docs" / "migrating.md"
PLAIN = Case(id="q1", question="What?", answerable=True, expected_doc_ids=("d1",))
PLACE = Support(rel_path="a.md", heading_path="# A")
ANCHORED = replace(PLAIN, expected_doc_ids=(), gold_supports=(PLACE,))
KEYS: dict[str, Case] = {
    "id": PLAIN,
    "question": PLAIN,
    "answerable: false": replace(PLAIN, answerable=False, expected_doc_ids=()),
    "gold_supports.rel_path": replace(ANCHORED, gold_supports=(Support(rel_path="a.md"),)),
    "gold_supports.heading_path": ANCHORED,
    "gold_supports.snippets": replace(ANCHORED, gold_supports=(replace(PLACE, snippets=("x",)),)),
    "gold_supports.vault": replace(ANCHORED, gold_supports=(replace(PLACE, vault="work"),)),
    "gold_supports.grade": replace(ANCHORED, gold_supports=(replace(PLACE, grade=2),)),
    "gold_supports.doc_id": replace(PLAIN, gold_supports=(Support(rel_path="", doc_id="d1", grade=2),)),
    "gold_supports.chunk_id": replace(
        PLAIN, expected_doc_ids=(), gold_supports=(Support(rel_path="", chunk_id="c1", grade=2),)
    ),
    "not_relevant": replace(ANCHORED, not_relevant=(Support(rel_path="b.md", grade=0),)),
    "required_support_groups": replace(
        ANCHORED,
        category="multi_hop",
        gold_supports=(PLACE, Support(rel_path="b.md")),
        required_support_groups=((0, 1),),
    ),
    "recency_conflict_rule": replace(ANCHORED, category="recency/conflict", recency_conflict_rule="cite_newer"),
    "expected_key_facts": replace(ANCHORED, expected_key_facts=("f",)),
    "tags": replace(ANCHORED, tags=("t",)),
    "tags: intent=, scenario=": replace(ANCHORED, tags=("intent=a", "scenario=b")),
    "vaults": replace(ANCHORED, vaults=("work",)),
    "folders": replace(ANCHORED, folders=("work/x",)),
    "category": replace(ANCHORED, category="general"),
    "difficulty": replace(ANCHORED, difficulty="hard"),
    "group": replace(PLAIN, group="g"),
    "retriever_types": replace(PLAIN, modes=("vector",)),
    "must_pass": replace(PLAIN, must_pass=True),
    "k": replace(PLAIN, k=3),
    "detail": replace(PLAIN, detail="brief"),
    "expected_doc_ids": PLAIN,
    "expected_chunk_ids": replace(PLAIN, expected_doc_ids=(), expected_chunk_ids=("c1",)),
    "must_contain": replace(PLAIN, must_contain=("x",)),
    "forbidden": replace(PLAIN, forbidden=("x",)),
    "lang": replace(PLAIN, lang="de"),
}
COLUMNS = ("helloworld", "kebab", "substrate", "trec", "beir")


def cell(key: str, case: Case, name: str) -> str:
    """Return how a format treats a key: kept, dropped, changed, or that it cannot hold such a case."""
    wanted = key.partition(":")[0].partition(".")
    # what labels the case is not the matter of other keys: give every format the label it can hold
    both = replace(
        case, expected_doc_ids=case.expected_doc_ids or ("d1",), gold_supports=case.gold_supports or (PLACE,)
    )
    whole = key in {"expected_doc_ids", "expected_chunk_ids", "answerable: false"} or wanted[0] == "gold_supports"
    asked = golden.complete(case if whole else both)
    try:
        _, notes = through(FORMATS[name](Options()), (asked,))
    except UsageError:
        return "no case"
    for note in notes:
        parts = note.key.replace("[0]", "").split(".")
        if note.lost and parts[0] == wanted[0] and (not wanted[2] or parts[1:] in ([], [wanted[2]])):
            return note.kind
    return "kept"


def table() -> list[str]:
    """Build the lines of the table; keys that fare alike share one."""
    lines = [f"| key | {' | '.join(COLUMNS)} |", f"|---|{'---|' * len(COLUMNS)}"]
    alike: dict[str, list[str]] = {}
    for key, case in KEYS.items():
        alike.setdefault(" | ".join(cell(key, case, name) for name in COLUMNS), []).append(f"`{key}`")
    return lines + [f"| {', '.join(keys)} | {cells} |" for cells, keys in alike.items()]


def test_the_table_says_what_the_code_does() -> None:
    """Every cell of the table in docs/migrating.md is what a conversion reports for a case with that key."""
    assert "\n".join(table()) in PAGE.read_text(encoding="utf-8")


@each_row("key", [key for key in Case.__struct_fields__ if key not in {"hash", "line"}])
def test_the_table_has_every_key(key: str) -> None:
    """No key of a case is missing from the table."""
    named: Any = {"modes": "retriever_types"}.get(key, key)
    assert any(loss.partition(":")[0].partition(".")[0] == named for loss in KEYS)


def test_raggate_keeps_every_key() -> None:
    """What the table has no column for: raggate's own format loses nothing."""
    assert {cell(key, case, "raggate") for key, case in KEYS.items()} == {"kept"}


def test_both_forms_of_queries_hold_the_same() -> None:
    """A bare array drops what the object drops, so that one column is enough."""
    assert [cell(*item, "substrate") for item in KEYS.items()] == [
        cell(*item, "substrate-array") for item in KEYS.items()
    ]
