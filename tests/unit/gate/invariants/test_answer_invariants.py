"""Invariants of answers: each with what it lets pass and what breaks it, live and as it is stored."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from msgspec.structs import replace

from builders import (
    make_case,
    make_chunk,
    make_chunks,
    make_config,
    make_labelled,
    make_response,
    make_result,
    make_run,
)
from probed import make_probe
from raggate.config.gate_settings import Gate
from raggate.config.invariant_settings import Invariants
from raggate.gate.invariants.answer_invariants import breach
from raggate.gate.invariants.invariants import check_answers
from raggate.models.comparison import Finding
from raggate.models.provenance import Provenance
from raggate.models.run import Chunk, LabelledResult, Leak, Probing, Reference
from raggate.pipeline import run_directory
from tables import each_row

OFF = Invariants(**dict.fromkeys(Invariants.model_fields, "off"))
THREE = make_chunks("a.md", "b.md", "c.md")
WITHHELD = ("private_withheld", "principals_isolated")
"""Tried by `test_withheld_notes.py`."""
NOTES = {"work/a.md": "1", "work/b.md": "1", "home/c.md": "1"}
REFERENCE = Reference(vault="work", rel_path="a.md", heading_path="# A", chunk_index=0)


def answer(*chunks: Chunk, case: dict[str, Any] | None = None, case_id: str = "q1", **response: Any) -> LabelledResult:
    asked = make_case(case_id, **(case or {}))
    return make_labelled(asked, make_result(case_id, response=make_response(*chunks, **response)))


def mixed(note: str, vaults: tuple[str, ...] = ("work",)) -> LabelledResult:
    leaks = (Leak(rank=1, note=note),)
    return make_labelled(make_case(vaults=vaults), make_result("q1", make_chunk(vault="work")), leaks=leaks)


def judged(case_id: str = "q1", **labels: Any) -> LabelledResult:
    return make_labelled(make_case(case_id), make_result(case_id, *THREE), **labels)


def found(name: str, *items: LabelledResult, level: str = "error", **run: Any) -> tuple[Finding, ...]:
    return check_answers(make_run(*items, **run), OFF.model_copy(update={name: level}), Gate())


def ranked(*ranks: int | None) -> LabelledResult:
    return answer(*(make_chunk(f"c{number}", rank=rank) for number, rank in enumerate(ranks)))


def scored(*scores: float | None) -> LabelledResult:
    return answer(*(make_chunk(f"c{number}", score_final=score) for number, score in enumerate(scores)))


def covered(case_id: str = "q1", **coverage: Any) -> LabelledResult:
    return answer(*THREE, case_id=case_id, coverage=coverage)


IN_VAULT: dict[str, Any] = {"fingerprint": {"notes": NOTES}}
IN_BOTH: dict[str, Any] = {"fingerprint": {"notes": {**NOTES, "home/a.md": "2"}}}
AT_WORK = {"vaults": ("work",)}
TO_DEPTH_3: dict[str, Any] = {"config": make_config(score={"k": [1, 3]})}


def repeated(asked: int, *, differ: int, failed: int = 0, **keys: Any) -> dict[str, Any]:
    return {"fingerprint": {"repeated": {"asked": asked, "failed": failed, "differ": differ, **keys}}}


def holds(name: str, why: str, *items: LabelledResult, **run: Any) -> Any:
    """Return a row of answers that an invariant finds nothing in."""
    return pytest.param(name, [*items], run, id=why)


def broken(name: str, example: str, *items: LabelledResult, **run: Any) -> Any:
    """Return a row of answers that break an invariant, with where it is seen."""
    return pytest.param(name, [*items], run, example)


HOLDS = [
    holds("lists_ordered", "ranks-in-order", ranked(1, 2, 3)),
    holds("lists_ordered", "ranks-not-told", ranked(None, None)),
    holds("lists_ordered", "scores-fall", scored(0.9, 0.9, 0.1)),
    holds("chunk_ids_unique", "chunks-once", answer(*THREE)),
    holds("chunks_distinct", "places-once", answer(*THREE), answer(*THREE, case_id="q2")),
    holds("chunks_distinct", "no-texts", answer(make_chunk("a", text=""), make_chunk("b", text=""))),
    holds("chunks_distinct", "other-texts", answer(make_chunk("a"), make_chunk("b", text="x"))),
    holds("chunk_ids_stable", "same-content", answer(*THREE), answer(*THREE, case_id="q2")),
    holds("scope_respected", "in-scope", answer(make_chunk(vault="work"), case={"vaults": ("work",)})),
    holds("scope_respected", "vault-not-told-but-possible", answer(make_chunk(), case=AT_WORK), **IN_BOTH),
    holds("scope_respected", "path-in-no-vault", answer(make_chunk(rel_path="x.md"), case=AT_WORK), **IN_VAULT),
    holds("scope_respected", "text-of-a-note-in-scope", mixed("work/b.md"), **IN_VAULT),
    holds("scope_respected", "text-of-no-note", mixed("home/x.md"), **IN_VAULT),
    holds("scope_respected", "text-of-any-vault-without-scope", mixed("home/c.md", vaults=()), **IN_VAULT),
    holds("vaults_known", "vault-told", answer(make_chunk(vault="work"), case=AT_WORK), **IN_BOTH),
    holds("vaults_known", "path-in-one-vault", answer(make_chunk(), case=AT_WORK), **IN_VAULT),
    holds("notes_exist", "notes-in-some-vault", answer(*THREE), **IN_VAULT),
    holds("notes_exist", "notes-in-that-vault", answer(make_chunk(vault="work")), **IN_VAULT),
    holds("headings_exist", "headings-of-the-notes", judged()),
    holds("text_in_note", "texts-of-the-notes", judged()),
    holds("text_in_note", "no-text-told", judged(empty=(0, 1, 2)), judged("q2", empty=(0, 1, 2))),
    holds("golden_kept_apart", "nothing-in-the-context", answer(), provenance=Provenance(in_build_context=())),
    holds("abstained_is_empty", "abstains-and-cites-nothing", answer(abstained=True)),
    holds("abstained_is_empty", "answers-and-cites", answer(references=(REFERENCE,))),
    holds("notes_exist", "vault-not-known", answer(*THREE)),
    holds("index_complete", "as-many-documents-as-notes", covered(docs_processed=3), **IN_VAULT),
    holds("index_complete", "one-version", covered(index_version="1"), covered("q2", index_version="1")),
    holds("no_empty_documents", "no-empty-document", covered(docs_with_0_chunks=0)),
    holds("list_deep_enough", "list-as-deep-as-scored", answer(*THREE), **TO_DEPTH_3),
    holds("list_deep_enough", "the-index-has-no-more", answer(*THREE[:2]), **TO_DEPTH_3),
    holds(
        "list_deep_enough",
        "a-threshold-ends-most-lists",
        answer(*THREE),
        answer(*THREE[:1], case_id="q2"),
        answer(*THREE[:1], case_id="q3"),
        **TO_DEPTH_3,
    ),
    holds("must_be_deterministic", "the-same-twice", answer(), **repeated(10, differ=0)),
    holds("must_be_deterministic", "as-many-fail-as-may", answer(), **repeated(50, failed=1, differ=0)),
    holds("must_be_deterministic", "not-come-to", answer(), stopped="it died"),
]

BROKEN = [
    broken("lists_ordered", "q1 (hybrid): ranks [1, 3, 2]", ranked(1, 3, 2)),
    broken("lists_ordered", "q1 (hybrid): ranks [1]", ranked(1, None)),
    broken("lists_ordered", "q1 (hybrid): score rises from 0.4 at rank 2 to 0.6", scored(0.5, 0.4, 0.6)),
    broken("lists_ordered", "q1 (hybrid): a score is not finite", scored(float("nan"), 0.4)),
    broken("chunk_ids_unique", "q1 (hybrid): rank 4 repeats passage c2", answer(*THREE, THREE[1])),
    broken(
        "chunks_distinct",
        "q1 (hybrid): rank 2 has the place and text of rank 1, a.md",
        answer(make_chunk("a"), make_chunk(""), make_chunk("")),
    ),
    broken(
        "chunk_ids_stable",
        "q2 (hybrid): passage c1 has other content than in an earlier answer",
        answer(make_chunk(text="old")),
        answer(make_chunk(text="new"), case_id="q2"),
    ),
    broken(
        "scope_respected",
        "q1 (hybrid): rank 2 is from vault home, asked of work",
        answer(make_chunk(vault="work"), make_chunk("c2", vault="home"), case={"vaults": ("work",)}),
    ),
    broken(
        "scope_respected",
        "q1 (hybrid): rank 3 is from vault home, asked of work",
        answer(*THREE, case=AT_WORK),
        **IN_VAULT,
    ),
    broken("scope_respected", "q1 (hybrid): rank 1, a.md, contains text of home/c.md", mixed("home/c.md"), **IN_VAULT),
    broken(
        "vaults_known",
        "q1 (hybrid): rank 2, a.md, may be from home or work",
        answer(THREE[1], THREE[0], case=AT_WORK),
        **IN_BOTH,
    ),
    broken("notes_exist", "q1 (hybrid): x.md is not in the vault", answer(make_chunk(rel_path="x.md")), **IN_VAULT),
    broken(
        "notes_exist",
        "q1 (hybrid): rank 2 has no path of a note",
        answer(THREE[0], make_chunk("k2", rel_path="")),
        **IN_VAULT,
    ),
    broken("notes_exist", "q1 (hybrid): a.md is not in vault home", answer(make_chunk(vault="home")), **IN_VAULT),
    broken(
        "golden_kept_apart",
        "golden/eval_set.jsonl lies in the build context of the API: name it in .dockerignore",
        answer(*THREE),
        provenance=Provenance(in_build_context=("golden/eval_set.jsonl",)),
    ),
    broken(
        "golden_kept_apart",
        "golden/eval_set.jsonl lies in a vault, and the API gets the whole vault: keep it elsewhere",
        answer(*THREE),
        provenance=Provenance(in_vaults=("golden/eval_set.jsonl",)),
    ),
    broken("headings_exist", "q1 (hybrid): rank 2, b.md has no heading '# A'", judged(strange_headings=(1, 2))),
    broken("text_in_note", "q1 (hybrid): the text at rank 1 is not in a.md", judged(strange_texts=(0, 2))),
    broken(
        "text_in_note",
        "'Question q1?' (hybrid): the text at rank 2 is not in b.md",
        judged(),
        probes=Probing(answers=(replace(make_probe("private", *THREE), strange_texts=(1,)),)),
    ),
    broken("text_in_note", "q1 (hybrid): 2 of 3 passages without text, first rank 2, b.md", judged(empty=(1, 2))),
    broken(
        "text_in_note",
        "q1 (hybrid): 3 of 3 passages without text, first rank 1, a.md",
        judged(empty=(0, 1, 2)),
        judged("q2"),
    ),
    broken(
        "abstained_is_empty",
        "q1 (hybrid): abstains, but cites 1 place(s)",
        answer(abstained=True, references=(REFERENCE,)),
    ),
    broken(
        "index_complete",
        "the index has 2 of the vault's 3 notes with text; if it was still growing, raise api.ready.settle",
        covered(docs_processed=2),
        **IN_VAULT,
    ),
    broken(
        "index_complete", "index versions 1, 2 in one run", covered(index_version="2"), covered("q2", index_version="1")
    ),
    broken(
        "index_complete",
        "5 to 9 passages in one run; if it was still growing, raise api.ready.settle",
        covered(chunks_embedded=9),
        covered("q2", chunks_embedded=5),
    ),
    broken("no_empty_documents", "2 indexed document(s) without passages", covered(docs_with_0_chunks=2)),
    broken(
        "list_deep_enough",
        "hybrid: 2 of 3 lists end at rank 2, and none goes on; scored to depth 3",
        answer(*THREE[:2]),
        answer(*THREE[1:], case_id="q2"),
        answer(THREE[0], case_id="q3"),
        **TO_DEPTH_3,
    ),
    broken(
        "must_be_deterministic",
        "asked twice, 2 of 49 questions returned other passages or another order (rank-biased overlap 0.75, "
        "2 flip hit_at_1): q1 (hybrid)",
        answer(),
        **repeated(
            50, failed=1, differ=2, overlap=0.75, flips={"hit_at_1": 2, "hit_at_5": 0}, questions=["q1 (hybrid)"]
        ),
    ),
]


@each_row(("name", "items", "run"), HOLDS)
def test_holds(name: str, items: list[LabelledResult], run: dict[str, Any]) -> None:
    """An invariant that holds, or that the API tells too little to check, is no finding."""
    assert found(name, *items, **run) == ()


@each_row(("name", "items", "run", "example"), BROKEN)
def test_broken(name: str, items: list[LabelledResult], run: dict[str, Any], example: str) -> None:
    """An invariant that does not hold is found, with the breach in words and where it broke."""
    (finding,) = found(name, *items, **run)
    assert (finding.invariant, finding.level, finding.count) == (name, "error", 1)
    assert finding.examples == (example,)
    assert finding.message == breach(name, 1)


@each_row(
    ("name", "count", "sentence"),
    [
        ("chunk_ids_unique", 1, "1 answer returned the same passage twice."),
        ("scope_respected", 78, "78 answers returned text from a vault that the question excludes."),
        ("golden_kept_apart", 2, "The API could read 2 paths of the gate (golden set, baseline or .git)."),
        ("list_deep_enough", 1, "No list reached the largest cut-off that is scored, in 1 mode."),
    ],
)
def test_breach(name: str, count: int, sentence: str) -> None:
    """A broken rule is named by what is wrong, with its number, in one sentence."""
    assert breach(name, count) == sentence


@each_row(("name", "items", "run"), [param.values[:3] for param in (*HOLDS, *BROKEN)])
@pytest.mark.parametrize("padding", ["", "x" * 300], ids=["short", "long"])
def test_from_disk(name: str, items: list[LabelledResult], run: dict[str, Any], padding: str) -> None:
    """An invariant finds in a stored run what it found in the live one, wherever in the texts the reason stands."""
    padded = [_padded(item, padding) for item in items]
    levels = OFF.model_copy(update={name: "error"})
    with TemporaryDirectory() as directory:
        run_directory.write(Path(directory), make_run(*padded, **run))
        assert check_answers(run_directory.read(Path(directory)), levels, Gate()) == found(name, *padded, **run)


def _padded(item: LabelledResult, padding: str) -> LabelledResult:
    """Put the same text before that of every chunk; scores are finite, as JSON and so every adapter has them."""
    if item.result.response is None:
        return item
    chunks = tuple(
        replace(
            chunk,
            text=padding + chunk.text,
            score_final=None if score is None else float(score) if isfinite(score) else 9.0,
        )
        for chunk in item.result.response.chunks
        for score in [chunk.score_final]
    )
    return make_labelled(item.case, replace(item.result, response=replace(item.result.response, chunks=chunks)))


def test_every_invariant_is_covered_here() -> None:
    """Each has a case in which it holds and one in which it does not: here, or beside those of its own questions."""
    for table in (HOLDS, BROKEN):
        assert {param.values[0] for param in table} == set(Invariants.model_fields) - {*WITHHELD, "lists_alike"}
