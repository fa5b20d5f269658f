"""Text of a note that is kept back is known wherever it stands, and nothing else is taken for it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from builders import make_case, make_chunk, make_labelled, make_response, make_result, make_run, make_vault
from probed import make_probe
from raggate.config.probe_settings import Principal, Private
from raggate.inputs import leaks
from raggate.inputs.leaks import private_notes
from raggate.inputs.notes import Notes
from raggate.models.run import Chunk, Leak, LeakPart, Probing, Reference, Run
from tables import each_row

KEPT = "the brewer owes the bank eleven thousand and pays nothing back before spring"
DIARY = f"# Diary\n\n## Status of the week\n\nWe are on track with all of it. Between us, {KEPT}.\n"
OPEN = "# Diary\n\n## Rules\n\nNobody reads this.\n\n## Status of the week\n\nWe are on track with all of it.\n"
TEXTS = {
    "work/a.md": OPEN,
    "work/b.md": "# Litres\n\nForty litres fit into the kettle beside the door, and no more than that ever.\n",
    "home/diary.md": DIARY,
}
NOTES = Notes(make_vault(TEXTS))
ANNA = {"anna": Principal(headers={"X-User": "anna"}, sees=["work/a.md", "home"])}
PRIVATE = ("home/diary.md",)


def cite(**fields: str) -> Reference:
    """Cite a place."""
    return Reference(**{"vault": "", "rel_path": "a.md", "heading_path": "", **fields}, chunk_index=0)


def noted(*chunks: Chunk, question: str = "Who owes?") -> Run:
    """Look for leaks in a run of one question that got some chunks."""
    item = make_labelled(make_case(question=question), make_result(response=make_response(*chunks)))
    return leaks.noted(make_run(item, probes=Probing(private=PRIVATE)), NOTES, {})


@each_row(
    ("text", "rank"),
    [
        (KEPT, 1),
        (f"Nobody reads this. We are on track with all of it. {KEPT.upper()}", 1),
        ("eleven **thousand** and\npays nothing [back](x.md) before spring", 1),
        # seven words, text of a note that may be seen, its own, and its own behind its place
        ("thousand and pays nothing back before spring", None),
        ("Forty litres fit into the kettle beside the door", None),
        ("Nobody reads this.", None),
        ("work a.md Diary > Status of the week: We are on track with all of it", None),
        ("", None),
    ],
)
def test_text_of_a_private_note_under_another_path(text: str, rank: int | None) -> None:
    """Eight words in a row of the private note alone are a leak, whatever markup and other text is there."""
    (item,) = noted(make_chunk(text=text)).results
    assert item.labels.leaks == (() if rank is None else (Leak(rank=rank, note="home/diary.md"),))


@each_row(
    ("part", "fields"),
    [
        ("", {"answer": f"{KEPT} {KEPT}"}),
        ("abstain_reason", {"answer": "ok", "abstain_reason": KEPT}),
        ("model", {"answer": "ok", "model": KEPT}),
        ("references", {"references": [cite(heading_path=KEPT)]}),
        ("references", {"references": [cite(rel_path=f"{KEPT}.md")]}),
        ("selected_folders", {"selected_folders": ("work", f"work/{KEPT}")}),
        ("available_folders", {"available_folders": (f"work/{KEPT}",)}),
        ("folder_reasoning", {"folder_reasoning": KEPT}),
        ("coverage", {"coverage": {"index_version": KEPT}}),
        ("coverage", {"coverage": {"stats": {KEPT: 1}}}),
        ("latency", {"latency": {KEPT.replace(" ", "_"): 1.0}}),
        ("cost", {"cost": {KEPT: 1.0}}),
    ],
)
def test_every_text_of_a_response_is_looked_at(part: LeakPart, fields: dict[str, Any]) -> None:
    """A private text leaks in whatever field it comes back, and the field is named, once."""
    item = make_labelled(make_case(), make_result(response=make_response(make_chunk(), **fields)))
    (item,) = leaks.noted(make_run(item, probes=Probing(private=PRIVATE)), NOTES, {}).results
    assert item.labels.leaks == (Leak(rank=0, note="home/diary.md", part=part),)


def test_names_of_notes_that_may_be_seen_are_no_leak() -> None:
    """A folder, a cited place and an id that a private note writes of are not its own."""
    folder = "work/how we brew the dark beer of the long winter"
    heading = "What is left of the barley in the dark winter"
    texts = {
        f"{folder}/a.md": f"# {heading}\n\nNothing.\n",
        "home/diary.md": f"# Diary\n\nSee {folder}/a.md for more, below a md, {heading}.\n",
    }
    notes = Notes(make_vault(texts))
    path = f"{folder[5:]}/a.md"
    response = make_response(
        make_chunk(f"{folder}/a.md#{heading}", rel_path=path, heading_path=f"{path} > {heading}"),
        answer=f"Look into {folder}.",
        references=[cite(rel_path=path, heading_path=f"{path} > {heading}")],
        available_folders=(folder,),
    )
    item = make_labelled(make_case(), make_result(response=response))
    (item,) = leaks.noted(make_run(item, probes=Probing(private=PRIVATE)), notes, {}).results
    assert item.labels.leaks == ()


@each_row(
    ("vaults", "text", "leaks_there"),
    [
        pytest.param(("work",), KEPT, True, id="excluded"),
        pytest.param(("work", "home"), KEPT, False, id="not-excluded"),
        pytest.param((), KEPT, False, id="without-vaults"),
        pytest.param(("work",), "Forty litres fit into the kettle beside the door", False, id="of-its-own-vault"),
        pytest.param(("work",), "thousand and pays nothing back before spring", False, id="seven-words"),
    ],
)
def test_text_of_a_vault_that_the_question_excludes(vaults: tuple[str, ...], text: str, *, leaks_there: bool) -> None:
    """A passage that holds eight words in a row of a note in such a vault is noted, private or not."""
    chunks = (make_chunk(text="Nobody reads this."), make_chunk("c2", text=f"Nobody reads this. {text}"))
    item = make_labelled(make_case(vaults=vaults), make_result(response=make_response(*chunks, answer=KEPT)))
    (item,) = leaks.noted(make_run(NOTES.label(item)), NOTES, {}).results
    assert item.labels.leaks == ((Leak(rank=2, note="home/diary.md"),) if leaks_there else ())


@each_row(
    ("path", "question", "leaks_there"),
    [("x.md", "Who owes?", True), ("diary.md", "Who owes?", False), ("x.md", f"Is it true that {KEPT}?", False)],
)
def test_a_path_of_no_note_and_one_of_two_vaults(path: str, question: str, *, leaks_there: bool) -> None:
    """Text under a path that no vault holds leaks. Under its own, in either vault, or in the question, it does not."""
    (item,) = noted(make_chunk(rel_path=path, text=KEPT), question=question).results
    assert bool(item.labels.leaks) == leaks_there


@each_row(
    ("principal", "text", "note"),
    [
        # private for all, private for a principal of that vault, and what a principal may not see, and everybody may
        ("", KEPT, "home/diary.md"),
        ("anna", KEPT, "home/diary.md"),
        ("anna", TEXTS["work/b.md"], "work/b.md"),
        ("", TEXTS["work/b.md"], None),
    ],
)
def test_probes(principal: str, text: str, note: str | None) -> None:
    """From a principal everything is kept that they may not see; what is private, from everybody."""
    answer = make_probe("principal", question="Who owes?", principal=principal)
    answer = replace(answer, result=replace(answer.result, response=make_response(make_chunk(text=text))))
    run = make_run(probes=Probing(answers=(answer,), private=PRIVATE))
    (answer,) = leaks.noted(run, NOTES, ANNA).probes.answers
    assert answer.leaks == (() if note is None else (Leak(rank=1, note=note),))


def marked(text: str, path: str = "In/a.md", **private: Any) -> bool:
    """Return whether one note of the vault `work` is private."""
    return private_notes(make_vault({f"work/{path}": text}), Private.model_validate(private, strict=True)) == (
        f"work/{path}",
    )


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
