"""Questions as bytes: nothing is lost on the way to disk and back."""

from __future__ import annotations

from msgspec.structs import fields

from raggate.models.case_packing import CASES
from raggate.models.golden import Case, Support

SUPPORT = Support(
    rel_path="é.md", heading_path="# A", snippets=("s",), vault="work", grade=3, chunk_id="c\ud800", doc_id="d"
)
CASE = Case(
    id="q",
    question="What?",
    answerable=True,
    gold_supports=(SUPPORT, Support(rel_path="")),
    not_relevant=(Support(rel_path="b.md", grade=0),),
    required_support_groups=((0, 1), (1,)),
    recency_conflict_rule="cite_both",
    expected_key_facts=("fact",),
    tags=("t",),
    vaults=("work",),
    folders=("f",),
    category="c",
    difficulty="hard",
    group="g",
    modes=("hybrid",),
    must_pass=True,
    k=7,
    detail="brief",
    expected_doc_ids=("d",),
    expected_chunk_ids=("c",),
    must_contain=("yes",),
    forbidden=("no",),
    lang="de",
    hash="ff",
    line=1 << 40,
)


def test_comes_back_equal() -> None:
    """A question comes back equal, its supports and groups as tuples, and so does one of which little is known."""
    for case in (CASE, Case(id="", question="", answerable=False)):
        again = CASES.unpack(CASES.pack(case))
        assert again == case
        assert hash(again) == hash(case)


def test_every_field_is_tried() -> None:
    """What is packed above has nothing left at its default, so that a further field cannot be forgotten."""
    for noun in (CASE, SUPPORT):
        assert {field.name for field in fields(noun) if getattr(noun, field.name) == field.default} == set()
