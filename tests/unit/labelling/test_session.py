"""A sitting: passages nobody judged, decisions kept in a journal, files written with everybody knowing what changes."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from builders import make_chunk
from labelling_project import CONFIG, DOUGH, NOTE, LabelProject, grade, make_label_project
from raggate.base.errors import CannotTell, UsageError
from raggate.inputs.golden import load
from raggate.labelling import decisions as journals, label_page, session as sessions
from raggate.labelling.decisions import Decision, Where
from raggate.labelling.label_file import Unit, Vote
from raggate.labelling.session import Session, progress

OVEN = "# Bread > ## Oven"


@pytest.fixture
def project(tmp_path: Path) -> LabelProject:
    """Return a repository with a stored run."""
    return make_label_project(tmp_path)


def headings(session: Session, case_id: str) -> set[str | None]:
    """Name the sections that wait for a judgement."""
    return {place.where.heading_path for place in session.pool.passages[case_id]}


def write(session: Session, by: str = "ann") -> None:
    """Write what is planned now."""
    session.write(session.plan().digest, by)


def test_the_pool_is_what_nobody_judged(project: LabelProject) -> None:
    """The gold section is left out, with nothing else; no passage is asked of a question that no note answers."""
    session = project.open()
    assert headings(session, "q1") == {"# Bread", OVEN, "# Soup"}
    assert session.pool.passages["q3"] == ()
    assert {place.text for place in session.pool.passages["q1"]} == {
        "A loaf takes a day.",
        "It bakes at 220 degrees.",
        "It simmers for an hour.",
    }


def test_where_no_answer_has_a_heading_whole_notes_are_judged(tmp_path: Path) -> None:
    """A section would never match, though its text tells which it is; one heading is enough to judge by them."""
    text = make_chunk("o", rel_path="bread.md", heading_path="", text="It bakes at 220 degrees.")
    soup = make_chunk("s", rel_path="soup.md", heading_path="# Soup", text="It simmers for an hour.")
    for name, chunks, expected in (("a", [text], {None}), ("b", [text, soup], {OVEN, "# Soup"})):
        (tmp_path / name).mkdir()
        assert headings(make_label_project(tmp_path / name, chunks=chunks).open(), "q2") == expected


def test_each_person_has_an_order_of_their_own(project: LabelProject) -> None:
    """The order of passages is the same every time for one person and question, and differs between people."""
    session = project.open()
    orders = {name: [place.where.id for place in session.order("q1", name)] for name in map(str, range(12))}
    assert orders == {name: [place.where.id for place in session.order("q1", name)] for name in orders}
    assert len({tuple(order) for order in orders.values()}) > 2


def test_a_snippet_that_somebody_takes_is_written(project: LabelProject) -> None:
    """The page proposes a sentence of each passage; it is written with the grade, a new grade without it drops it."""
    session = project.open()
    shown = label_page.question(session, "q2", "ann")
    (oven,) = (one for one in shown["passages"] if one["heading"] == OVEN)
    assert oven["snippet"] == "It bakes at 220 degrees."
    taken = grade("q2", OVEN, 2, text=oven["snippet"])
    session.decide([taken, grade("q2", "# Bread", 1)])
    marks = label_page.overview(session, "ann")["questions"][1]["passages"]
    assert {mark["snippet"] for mark in marks} == {"", oven["snippet"]}
    written = {support.heading_path: support.snippets for support in session.plan().edits.changed["q2"].gold_supports}
    assert (written[OVEN], written["# Bread"]) == (("It bakes at 220 degrees.",), ())
    session.decide([grade("q2", OVEN, 2)])
    kept = session.plan().edits.changed["q2"].gold_supports
    assert [support.snippets for support in kept if support.heading_path == OVEN] == [()]
    session.decide([taken])
    write(session)
    assert "It bakes at 220 degrees." in project.golden.read_text()


def test_what_is_written_is_judged_by_the_next_check(project: LabelProject) -> None:
    """A grade from 1 on is gold, a 0 is not_relevant, and the next sitting shows only what is left."""
    session = project.open()
    before = project.golden.read_text().splitlines()
    session.decide([grade("q2", OVEN, 2), grade("q2", "# Bread", 0)])
    write(session)
    after = project.golden.read_text().splitlines()
    assert (before[0], before[2]) == (after[0], after[2])
    row = project.cases()["q2"]
    assert row["gold_supports"] == [DOUGH, {"rel_path": "bread.md", "heading_path": OVEN, "grade": 2}]
    assert row["not_relevant"] == [{"rel_path": "bread.md", "heading_path": "# Bread"}]
    assert list(row) == ["id", "question", "answerable", "gold_supports", "tags", "not_relevant"]
    assert headings(project_again(project, session), "q2") == {"# Soup"}


def project_again(project: LabelProject, session: Session) -> Session:
    """Open the repository once more, as the next start does."""
    session.journal.close()
    return project.open()


def test_a_section_too_long_to_show(tmp_path: Path) -> None:
    """What is left out of a text is told at its end."""
    project = make_label_project(tmp_path, notes={"bread.md": f"# Bread\n\n{'x' * 20_007}\n"})
    (text,) = (place.text for place in project.open().pool.passages["q1"] if place.where.heading_path == "# Bread")
    assert text.endswith("x\n[… 7 more characters, not shown here]")


def test_decisions_outlive_the_process(project: LabelProject) -> None:
    """What was decided and not written is there after a restart, undone grades included."""
    session = project.open()
    session.decide([grade("q1", OVEN, 3), grade("q1", "# Bread", 1), grade("q1", "# Bread", None)])
    planned = session.plan()
    again = project_again(project, session)
    assert again.plan().digest == planned.digest
    assert planned.sentences == (f"q1: bread.md {OVEN}: not judged → grade 3",)


def test_a_line_that_a_kill_cut_off(project: LabelProject) -> None:
    """Half a line at the end was acknowledged to nobody and is dropped; a damaged line within is named."""
    session = project.open()
    session.decide([grade("q1", OVEN, 3)])
    session.journal.close()
    whole = project.journal.read_bytes()
    project.journal.write_bytes(whole + b'{"at":"2026","by":"ann","do":"gra')
    session = project.open()
    assert len(session.journal.decisions) == 1
    session.decide([grade("q1", "# Bread", 0)])
    session.journal.close()
    assert project.journal.read_bytes().startswith(whole)
    assert len(project.journal.read_bytes().splitlines()) == 2
    project.journal.write_bytes(b"{}\n" + whole)
    with pytest.raises(UsageError, match=r"golden\.jsonl:1: key 'at'|golden\.jsonl:1: at"):
        project.open()


def test_a_journal_from_elsewhere(project: LabelProject) -> None:
    """What no golden set can hold keeps back its own question alone, and says why."""
    project.journal.parent.mkdir(parents=True)
    act = {"at": "", "by": "eve", "do": "grade", "case": "q2", "grade": 0, "where": {"rel_path": "a" * 30_000}}
    project.journal.write_text(json.dumps(act) + "\n")
    session = project.open()
    session.decide([grade("q1", OVEN, 3)])
    assert session.plan().edits.refused["q2"].startswith(("key ", "not_relevant"))
    write(session)
    assert project.cases()["q1"]["gold_supports"][1]["grade"] == 3


def test_one_process_at_a_time(project: LabelProject) -> None:
    """A second process is refused while the first has the journal open."""
    session = project.open()
    with pytest.raises(UsageError, match="another `raggate label` has it open"):
        project.open()
    project_again(project, session).journal.close()


def test_a_grade_that_is_taken_back(project: LabelProject) -> None:
    """What the golden set said of a passage before anybody graded it stays; what came of the grade goes again."""
    session = project.open(again=True)
    session.decide([grade("q1", "# Bread > ## Dough", 0), grade("q1", "# Bread > ## Dough", None)])
    assert (session.plan().sentences, session.plan().edits.refused) == ((), {})
    session.decide([grade("q1", OVEN, 3)])
    write(session)
    session.decide([grade("q1", OVEN, None)])
    assert session.plan().sentences == (f"q1: bread.md {OVEN}: grade 3 → not judged",)
    write(session)
    assert project.cases()["q1"]["gold_supports"] == [DOUGH]
    assert project.labels.read_text() == ""


def test_a_crash_between_two_files(project: LabelProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was written of two files, the next start plans the rest, with a grade that was taken back."""
    session = project.open()
    session.decide([grade("q1", OVEN, 3), grade("q2", OVEN, 2)])
    write(session)
    session.decide([grade("q1", OVEN, None), grade("q2", OVEN, 0)])

    done: list[Path] = []

    def full(path: Path, data: bytes) -> None:
        if done:
            raise CannotTell("No space left on device")
        path.write_bytes(data)
        done.append(path)

    monkeypatch.setattr(sessions, "write_file", full)
    with pytest.raises(CannotTell):
        write(session)
    monkeypatch.undo()
    session = project_again(project, session)
    write(session)
    assert project.cases()["q1"]["gold_supports"] == [DOUGH]
    assert project.cases()["q2"]["not_relevant"] == [{"rel_path": "bread.md", "heading_path": OVEN}]
    assert [json.loads(line)["grade"] for line in project.labels.read_text().splitlines()] == [0]


def test_golden_sets_of_the_same_file_name(project: LabelProject) -> None:
    """Those of two suites have a journal each: what is decided on one says nothing of the other's questions."""
    sentences = {}
    for folder in ("a", "b"):
        (project.root / folder).mkdir()
        (project.root / folder / "golden.jsonl").write_bytes(project.golden.read_bytes())
        (project.root / "raggate.yml").write_text(CONFIG.replace("golden.jsonl", f"{folder}/golden.jsonl"))
        with (session := project.open()).journal:
            if folder == "a":
                session.decide([grade("q1", OVEN, 3)])
            sentences[folder] = session.plan().sentences
    assert sentences == {"a": (f"q1: bread.md {OVEN}: not judged → grade 3",), "b": ()}


def test_a_golden_set_that_changed_meanwhile(project: LabelProject) -> None:
    """Nothing is written over an edit that nobody saw; the next plan is made from the file as it is."""
    session = project.open()
    session.decide([grade("q1", OVEN, 3)])
    digest = session.plan().digest
    edited = project.golden.read_bytes().replace(b"How hot", b"How warm")
    project.golden.write_bytes(edited)
    with pytest.raises(UsageError, match=r"changed meanwhile\. Nothing was written"):
        session.write(digest, "ann")
    assert project.golden.read_bytes() == edited
    assert not project.labels.exists()
    write(session)
    assert "How warm" in project.golden.read_text()
    assert project.cases()["q1"]["gold_supports"][1]["grade"] == 3


def test_notes_that_changed_meanwhile(project: LabelProject) -> None:
    """Nothing is written over notes that nobody saw; a heading that is gone keeps its own question back, no other."""
    session = project.open()
    session.decide([grade("q1", OVEN, 2), grade("q2", "# Soup", 2, note="soup.md")])
    digest = session.plan().digest
    (project.root / "vault" / "bread.md").write_text(NOTE.replace("## Oven", "## Stove"))
    with pytest.raises(UsageError, match=r"the notes changed meanwhile\. Nothing was written"):
        session.write(digest, "ann")
    assert f"'bread.md' has no heading '{OVEN}'" in session.plan().edits.refused["q1"]
    assert OVEN not in headings(session, "q2")
    write(session)
    assert [support["heading_path"] for support in project.cases()["q2"]["gold_supports"]][1:] == ["# Soup"]
    assert project.cases()["q1"]["gold_supports"] == [DOUGH]


def test_grades_of_a_question_that_was_reworded(project: LabelProject) -> None:
    """Grades that were given for other words stay in the file, and count no more."""
    session = project.open()
    session.decide([grade("q2", OVEN, 3, by="ann"), grade("q2", OVEN, 2, by="bob"), grade("q1", OVEN, 2, by="ann")])
    write(session)
    before = project.labels.read_bytes()
    project.golden.write_bytes(project.golden.read_bytes().replace(b"How hot", b"How old"))
    session = project_again(project, session)
    assert {unit.case for unit in session.state.votes} == {"q1"}
    assert session.agreement().passages == 0
    assert session.plan().labels.after == before
    project.golden.write_bytes(project.golden.read_bytes().replace(b"How old", b"How hot"))
    assert project_again(project, session).agreement().passages == 1


def test_a_grade_that_is_given_anew() -> None:
    """It takes the place of the one that the same person gave for other words, and nobody else's."""
    unit = Unit("q1", Where(rel_path="a.md"))
    old = {"ann": Vote(3, asked="0123abcd"), "bob": Vote(2, asked="0123abcd")}
    anew = grade("q1", "# A", 0, note="a.md").model_copy(update={"where": unit.where, "asked": "4567abcd"})
    state = progress({unit: old}, [anew], {"q1": "4567abcd"})
    assert state.of(unit) == {"ann": Vote(0, asked="4567abcd")}
    assert state.written() == {unit: {"ann": Vote(0, asked="4567abcd"), "bob": old["bob"]}}
    # a grade that does not say which words it is for counts
    assert progress({unit: {"ann": Vote(3)}}, [], {"q1": "4567abcd"}).of(unit) == {"ann": Vote(3)}


def test_a_difference_that_is_not_the_one_seen(project: LabelProject) -> None:
    """Whoever writes says which difference they saw; another decision in between asks them to look again."""
    session = project.open()
    session.decide([grade("q1", OVEN, 3)])
    digest = session.plan().digest
    session.decide([grade("q1", "# Bread", 0, by="bob")])
    with pytest.raises(UsageError, match="decided more meanwhile"):
        session.write(digest, "ann")


def test_people_who_differ(project: LabelProject) -> None:
    """A passage that one takes for an answer and another does not waits until it is settled; both votes are kept."""
    session = project.open()
    session.decide([grade("q1", OVEN, 3), grade("q1", OVEN, 0, by="bob"), grade("q1", "# Bread", 1)])
    session.decide([grade("q1", "# Bread", 2, by="bob")])
    plan = session.plan()
    assert [unit.where.heading_path for unit in plan.edits.split] == [OVEN]
    assert plan.sentences == ("q1: bread.md # Bread: not judged → grade 1",)
    where = Where(rel_path="bread.md", heading_path=OVEN)
    session.decide([Decision(at="", by="cleo", do="settle", case="q1", where=where, grade=2)])
    write(session)
    assert [support.get("grade", 1) for support in project.cases()["q1"]["gold_supports"]] == [1, 2, 1]
    assert len(project.labels.read_text().splitlines()) == 4
    assert project_again(project, session).plan().files == ()


def test_what_cannot_be_written_yet_is_not_forgotten(project: LabelProject) -> None:
    """A writing leaves what people differ on and what is refused for the next one, and for a restart."""
    session = project.open(again=True)
    session.decide([grade("q1", OVEN, 3), grade("q1", OVEN, 0, by="bob"), grade("q1", "# Bread", 0)])
    session.decide([grade("q2", DOUGH["heading_path"], 0)])
    write(session)
    for later in (session, project_again(project, session)):
        plan = later.plan()
        assert [unit.where.heading_path for unit in plan.edits.split] == [OVEN]
        assert "gold_supports is empty" in plan.edits.refused["q2"]
    assert [place["heading_path"] for place in project.cases()["q1"]["not_relevant"]] == ["# Bread"]


def test_again_shows_what_is_judged(project: LabelProject) -> None:
    """Another person can judge what is judged, so that agreement can be told: 2 of 2 agree here, on everything."""
    session = project.open()
    session.decide([grade("q1", OVEN, 3), grade("q1", "# Bread", 0)])
    write(session)
    session.journal.close()
    again = project.open(again=True)
    assert headings(again, "q1") == {"# Bread", OVEN, "# Soup", DOUGH["heading_path"]}
    again.decide([grade("q1", OVEN, 3, by="bob"), grade("q1", "# Bread", 0, by="bob")])
    agreed = again.agreement()
    assert (agreed.passages, agreed.alpha, agreed.percent) == (2, 1, 1)
    assert [(pair.first, pair.second, pair.shared, pair.kappa) for pair in agreed.pairs] == [("ann", "bob", 2, 1)]


def test_a_full_disk(project: LabelProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """A decision that the disk does not take is not counted, and the journal is as it was."""
    session = project.open()
    session.decide([grade("q1", OVEN, 3)])
    before = project.journal.read_bytes()
    real = os.write

    def half(handle: int, data: Any) -> int:
        real(handle, bytes(data)[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(journals.os, "write", half)
    with pytest.raises(CannotTell, match="No space left"):
        session.decide([grade("q1", "# Bread", 0)])
    monkeypatch.undo()
    assert project.journal.read_bytes() == before
    assert headings(session, "q1") == {"# Bread", OVEN, "# Soup"}
    assert len(session.plan().sentences) == 1


def test_links(project: LabelProject, tmp_path: Path) -> None:
    """A golden set behind a link stays a link; a journal or its folder that is one is refused and left alone."""
    real = tmp_path / "elsewhere.jsonl"
    project.golden.rename(real)
    project.golden.symlink_to(real)
    session = project.open()
    session.decide([grade("q1", OVEN, 3)])
    write(session)
    session.journal.close()
    assert project.golden.is_symlink()
    assert load(real.read_bytes(), "x").cases[0].gold_supports[1].grade == 3
    own = project.journal
    own.unlink()
    own.symlink_to(tmp_path / "victim")
    with pytest.raises(UsageError, match="cannot write"):
        project.open()
    assert not (tmp_path / "victim").exists()
    own.unlink()
    own.parent.rmdir()
    own.parent.symlink_to(tmp_path / "vault")
    with pytest.raises(UsageError, match="symbolic link"):
        project.open()


def test_a_gold_section_that_holds_what_does_not_answer(project: LabelProject) -> None:
    """A gold support counts for all sections below its heading: the difference says so where one is graded 0."""
    session = project.open()
    session.decide([grade("q1", "# Bread", 1), grade("q1", OVEN, 0)])
    note = "q1: note: bread.md # Bread is gold and holds # Bread > ## Oven, so a passage of that counts as found"
    assert session.plan().sentences[-1] == note


def test_decisions_on_what_is_not_there(project: LabelProject) -> None:
    """A question or passage that nobody knows is refused, and nothing is kept of what came with it."""
    session = project.open()
    wrong: list[Decision] = [
        grade("q9", OVEN, 1),
        grade("q1", "# Elsewhere", 1),
        grade("q1", "../../etc/passwd", 1, note="../../etc/passwd"),
        Decision(at="", by="ann", do="written"),
    ]
    for decision in wrong:
        with pytest.raises(UsageError):
            session.decide([grade("q1", OVEN, 1), decision])
    assert session.journal.decisions == []
    assert project.journal.read_bytes() == b""
