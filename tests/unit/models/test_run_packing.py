"""Results as bytes: nothing is lost on the way to disk and back."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import fields, replace

from builders import make_case
from raggate.models.judging import Judgement
from raggate.models.probe import Probe
from raggate.models.run import Chunk, Failure, LabelledResult, Labels, Leak, ProbeAnswer, Reference, Response, Result
from raggate.models.run_packing import LABELLED, PROBE_ANSWERS, RESULTS
from tables import each_row

CHUNK = Chunk(
    chunk_id="c\ud800",
    rel_path="é.md",
    heading_path="# H",
    text="line\nline",
    rank=3,
    score_final=0.1,
    score_vector=-1e308,
    score_lexical=0.0,
    vault="work",
    doc_id="d",
    text_hash="ff",
)
RESPONSE = Response(
    chunks=(CHUNK, Chunk(chunk_id="", rel_path="", heading_path="", text="")),
    answer="Yes.",
    references=(Reference(vault="v", rel_path="a.md", heading_path="# A", chunk_index=2),),
    abstained=True,
    abstain_reason="why",
    selected_folders=("work/a",),
    available_folders=("work/a", "work/b"),
    latency={"total_ms": 2.5},
    coverage={"docs_processed": 1 << 70, "stats": {"mean": 0.5, "name": "x"}},
    grounded=False,
    cost={"tokens": 3.0},
    unasked=True,
    model="m",
    folder_reasoning="because",
)
RESULT = Result(
    case_id="q",
    mode="hybrid",
    response=RESPONSE,
    failure=None,
    retries=1,
    elapsed_ms=2.25,
    repeat=2,
    trace_id="ab",
)
FAILED = Failure(kind="status", message="HTTP 500", status=500)
LABELS = Labels(
    matches=((0, 1), ()),
    heading_only=(True, False),
    bodiless=(False, True),
    duplicates=(1,),
    truncated=True,
    empty=(1,),
    strange_headings=(0,),
    strange_texts=(0, 1),
    filed_elsewhere=(0,),
    copies=(1,),
    leaks=(Leak(rank=1, note="work/a.md", part="vault"),),
    ambiguous=(1,),
    as_read=True,
    unclear_citations=((0, 1),),
    judged=(1,),
)
PROBE = Probe(
    kind="spelling",
    mode="hybrid",
    question="WHY\ud800?",
    case_id="q",
    variant="capitals",
    principal="anna",
    note="work/a.md",
    heading_path="# A",
)
PROBED = ProbeAnswer(probe=PROBE, result=RESULT, strange_texts=(0, 1), leaks=LABELS.leaks)
JUDGEMENT = Judgement(score="groundedness", value=2.0, reason=None, judge="small")


@each_row("judgements", [(), (JUDGEMENT,)], ids=["unjudged", "judged"])
@each_row("failed", [False, True])
def test_comes_back_equal(judgements: tuple[Judgement, ...], *, failed: bool) -> None:
    """A result, its labels and its question come back equal, and of the same types all the way down."""
    answer: dict[str, Any] = {"response": None, "failure": FAILED} if failed else {"response": RESPONSE}
    result = Result(**{**{field.name: getattr(RESULT, field.name) for field in fields(RESULT)}, **answer})
    item = LabelledResult(case=make_case(), result=result, labels=LABELS, judgements=judgements)
    again = LABELLED.unpack(LABELLED.pack(item))
    assert again == item
    assert types(again) == types(item)
    assert RESULTS.unpack(RESULTS.pack(result)) == result
    probed = replace(PROBED, result=result)
    again = PROBE_ANSWERS.unpack(PROBE_ANSWERS.pack(probed))
    assert again == probed
    assert types(again) == types(probed)


@each_row("noun", [CHUNK, RESPONSE, LABELS, FAILED, RESULT, PROBE, PROBED], ids=lambda noun: type(noun).__name__)
def test_every_field_is_tried(noun: Any) -> None:
    """What is packed above has nothing left at its default, so that a further field cannot be forgotten."""
    left = {field.name for field in fields(noun) if getattr(noun, field.name) == field.default}
    assert left == set()


def types(value: Any) -> Any:
    """Give the types of a value and of what it holds."""
    if isinstance(value, Struct):
        return type(value), [types(getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, tuple | list):
        return type(value), [*map(types, value)]
    return type(value)
