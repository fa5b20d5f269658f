"""Who must not get which notes: private ones nobody, the others only those who may see them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from builders import make_case, make_chunk, make_labelled, make_response, make_result
from probed import examples, make_probe, probed
from raggate.models.run import Chunk, Leak, Reference
from tables import each_row

PRIVATE: dict[str, Any] = {"private": ("home/diary.md",), "config": {"private": {"places": ["home/diary.md"]}}}
DIARY = make_chunk(rel_path="diary.md")
OPEN = make_chunk(rel_path="a.md")


def seen_by(*places: str) -> dict[str, Any]:
    principal = {"headers": {"X-User": "anna"}, "sees": list(places)}
    return {"config": {"ask": {"principals": {"anna": principal}}}}


def test_a_private_note_is_told_wherever_it_comes_back() -> None:
    """Chunks and cited places of the suite and of every probe are looked at, whatever was asked."""
    cited = Reference(vault="home", rel_path="diary.md", heading_path="", chunk_index=0)
    run = probed(
        make_probe("private", OPEN, DIARY, question="My diary", case_id=""),
        make_probe("private", response__references=(cited,), question="Wavu?", case_id=""),
        make_probe("principal", DIARY, principal="anna"),
        suite=(DIARY,),
        **PRIVATE,
    )
    assert sorted(examples("private_withheld", run)) == [
        "'My diary' (hybrid): rank 2 is home/diary.md",
        "'Question q1?' (hybrid as anna): rank 1 is home/diary.md",
        "'Wavu?' (hybrid): cited place 1 is home/diary.md",
        "q1 (hybrid): rank 1 is home/diary.md",
    ]


def test_a_private_text_is_told_in_whatever_place() -> None:
    """A chunk that names a public note, and an answer, are told by their text; other notes are not private."""
    kept, other = Leak(rank=2, note="home/diary.md"), Leak(rank=1, note="work/b.md")
    suite = make_labelled(make_case(), make_result(response=make_response(OPEN, OPEN)), leaks=(other, kept))
    answer = make_probe("principal", OPEN, principal="anna", response__answer="So it is.")
    run = replace(
        probed(
            replace(answer, leaks=(other, replace(kept, rank=0))),
            replace(answer, leaks=(replace(kept, rank=0, part="available_folders"),)),
            replace(answer, leaks=(replace(kept, rank=1, part="chunk_id"),)),
            **PRIVATE,
        ),
        results=(suite, replace(suite, labels=replace(suite.labels, leaks=(other,)))),
    )
    assert sorted(examples("private_withheld", run)) == [
        "'Question q1?' (hybrid as anna): available_folders contains text of home/diary.md",
        "'Question q1?' (hybrid as anna): rank 1, a.md, contains text of home/diary.md in its chunk_id",
        "'Question q1?' (hybrid as anna): the answer contains text of home/diary.md",
        "q1 (hybrid): rank 2, a.md, contains text of home/diary.md",
    ]


@each_row(
    ("note", "expected"),
    [("home/diary.md", []), ("work/b.md", ["q1 (hybrid) as anna: rank 1, a.md, contains text of work/b.md"])],
)
def test_a_text_that_a_principal_may_not_see(note: str, expected: list[str]) -> None:
    """A chunk of a note that they may see is told where its text is of another."""
    answer = replace(make_probe("principal", OPEN, principal="anna"), leaks=(Leak(rank=1, note=note),))
    assert examples("principals_isolated", probed(answer, **seen_by("home"))) == expected


@each_row("path", ["dia\u0301ry.md", "/vault/home/diary.md"])
def test_a_probe_that_brings_a_note_of_no_vault(path: str) -> None:
    """Under another spelling of its path a private note is private still, so a path of no vault is no excuse."""
    run = probed(make_probe("private", make_chunk(rel_path=path), question="My diary", case_id=""), **PRIVATE)
    (example,) = examples("private_withheld", run)
    assert example.endswith(f"{path}, a path that is in no vault, so it may be any note")


@each_row(
    ("chunk", "private", "leaks"),
    [
        pytest.param(make_chunk(rel_path="a.md", vault="work"), "work/a.md", True, id="its-vault-told"),
        pytest.param(make_chunk(rel_path="a.md", vault="home"), "work/a.md", False, id="a-public-one-of-that-path"),
        pytest.param(make_chunk(rel_path="a.md"), "work/a.md", False, id="may-be-the-public-one"),
        pytest.param(make_chunk(rel_path="b.md"), "work/b.md", True, id="only-a-private-one-of-that-path"),
        pytest.param(make_chunk(rel_path="x.md"), "work/a.md", False, id="no-note-at-all"),
    ],
)
def test_which_note_a_chunk_is_of(chunk: Chunk, private: str, *, leaks: bool) -> None:
    """Where the vault is not told, a chunk is private when every note of its path is."""
    run = probed(suite=(chunk,), private=(private,), config={"private": {"places": [private]}})
    assert bool(examples("private_withheld", run)) == leaks


@each_row(
    ("chunk", "sees", "expected"),
    [
        pytest.param(make_chunk(vault="work"), ("work",), [], id="a-vault-they-see"),
        pytest.param(make_chunk(vault="work", rel_path="In/b.md"), ("work/In",), [], id="a-folder"),
        pytest.param(make_chunk(vault="work", rel_path="In/b.md"), ("work/In/b.md",), [], id="a-note"),
        pytest.param(make_chunk(), ("home",), [], id="vault-not-told-and-it-may-be-theirs"),
        pytest.param(make_chunk(vault="work"), ("home",), ["work/a.md"], id="another-vault"),
        pytest.param(
            make_chunk(vault="work", rel_path="Inner/b.md"), ("work/In",), ["work/Inner/b.md"], id="alike-in-name-alone"
        ),
        pytest.param(make_chunk(rel_path="diary.md"), ("work",), ["diary.md"], id="only-others-have-that-path"),
        pytest.param(make_chunk(rel_path="x.md"), ("work", "home"), ["x.md"], id="of-no-note-nobody-may-see-it"),
        pytest.param(make_chunk(vault="work"), (), ["work/a.md"], id="who-sees-nothing"),
    ],
)
def test_a_principal_gets_what_they_may_see(chunk: Chunk, sees: tuple[str, ...], expected: list[str]) -> None:
    """Places count by their parts, and the benefit of the doubt is of a note that they may see."""
    run = probed(make_probe("principal", chunk, principal="anna"), **seen_by(*sees))
    assert examples("principals_isolated", run) == [f"q1 (hybrid) as anna: rank 1 is {path}" for path in expected]
