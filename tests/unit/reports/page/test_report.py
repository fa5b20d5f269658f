"""report.html: what a reader sees without script, what the script is given, and foreign text as text alone."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest
from msgspec.structs import replace

from builders import (
    make_case,
    make_chunk,
    make_config,
    make_labelled,
    make_result,
    make_support,
)
from histories import history, revision
from pages import Elements, data_of
from raggate.base.escape import plain
from raggate.gate.evaluation import evaluate_run
from raggate.models.golden import Selection, with_hash
from raggate.models.scorecard import ListEntry
from raggate.pipeline import stored_runs
from raggate.reports.page import details as listing, report
from raggate.reports.page.details import Passages
from raggate.reports.parts import formatting, header
from raggate.reports.plots import trend_of
from raggate.scoring.score import heading_hash, score, short_hash
from reviews import (
    BESIDE,
    CUTOFFS,
    HOSTILE,
    NOTES,
    REVIEWS,
    baseline_of,
    cannot_tell,
    first_run,
    foreign,
    good,
    hostile,
    regression,
    review,
    review_of,
    run_of,
)
from tables import each_row

OWN_TAGS = set(
    "br html head meta title style body a header p div h1 h2 h3 span dl dt dd nav main section table thead tbody tr th "
    "td svg path g circle ul ol li details summary strong kbd code noscript footer script wbr pre polyline".split()
)
"""What a page is made of; nothing in it loads anything."""
OWN_ADDRESS = re.compile(r"#[\w%.=~+-]*|(\.\./)+[\w%.~/-]+")


@each_row("name", REVIEWS | BESIDE)
def test_verdict_and_sentences_are_seen_without_script(name: str) -> None:
    """Every kind of review has its verdict, its sentences and its reasons on the page itself."""
    shown = review(name)
    page = Elements(report.render(shown))
    assert (header.greeting(shown) or shown.verdict.outcome) in page.visible.lower()
    introduced = header.introduction(shown)
    for sentence in introduced if header.greeting(shown) == "first run" else shown.verdict.sentences:
        assert " ".join(sentence.split()) in page.visible


def test_broken_questions_are_seen_without_script() -> None:
    """Each question that broke stands on the page with its rank then and now, and why."""
    page = Elements(report.render(regression())).visible
    broke = [flip for flip in regression().comparison.flips if flip.kind == "broke"]
    assert len(broke) == 7
    for flip in broke:
        assert flip.question in page
        assert flip.why in page
    assert "rank 1 → 7" in page


def test_a_run_that_was_cut_short_breaks_no_question() -> None:
    """Of a run that stopped, the page names no question as broken, and no value as worse."""
    document = report.render(cannot_tell())
    kinds = {row["id"]: row["kind"] for row in data_of(document, "rows")["rows"]}
    assert kinds == {"q00": "same", "q01": "error"}
    assert "Questions that broke" not in document
    assert report.plotted(cannot_tell(), formatting.main_rows) == []
    assert "decides nothing here" in document
    assert "panic: runtime error: index out of range [5]" in Elements(document).visible


def test_how_many_questions_were_asked() -> None:
    """A part is of the whole golden set, and a run that was cut short is not said to have asked them."""
    run = replace(run_of(good()[:1]), selection=Selection(asked=(good()[0].case.id,), of=26, words="-k x"))
    part = evaluate_run(run, score(run, CUTOFFS), baseline_of(run_of(good())))
    assert "1 of 26 questions, hybrid" in Elements(report.render(part)).visible
    assert "To be asked" in Elements(report.render(cannot_tell())).visible


def test_a_long_run_is_listed_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond what a page has room for, those that changed or failed are listed first, and the page says how many."""
    whole = data_of(report.render(regression()), "rows")["rows"]
    changed = [row["id"] for row in whole if row["kind"] not in {"same", "new", "relabelled"}]
    monkeypatch.setattr(listing, "MOST_LISTED", len(whole) - 1)
    monkeypatch.setattr(listing, "LISTED_OF_MORE", len(changed) + 2)
    document = report.render(regression())
    rows = data_of(document, "rows")["rows"]
    assert [row["id"] for row in rows] == sorted(
        {*changed, *[row["id"] for row in whole if row["id"] not in changed][:2]}
    )
    assert [row for row in whole if row in rows] == rows
    assert len(data_of(document, "details")["details"]) == len(rows) < len(whole)
    assert f"The list has {len(rows)} of {len(whole)} answers" in Elements(document).visible
    monkeypatch.setattr(listing, "LISTED_OF_MORE", 3)
    few = data_of(report.render(regression()), "rows")["rows"]
    assert [row["kind"] for row in few] == ["broke"] * 3


@cache
def of_regression(name: str) -> Any:
    """Return data of the page with a regression: rendered by the first test that reads it, not by every collection."""
    return data_of(report.render(regression()), name)


class TestRows:
    """The list of all questions."""

    DATA = property(lambda _: of_regression("rows"))
    ROWS = property(lambda self: {row["id"]: row for row in self.DATA["rows"]})

    @each_row(
        ("case", "kind", "before", "now"),
        [("q01", "broke", 1, 7), ("q07", "broke", 1, None), ("q21", "fixed", None, 1), ("q00", "same", 1, 1)],
    )
    def test_how_a_question_stands(self, case: str, kind: str, before: int | None, now: int | None) -> None:
        """A row says what became of a question and where its passage stands on both sides."""
        row = self.ROWS[case]
        assert (row["kind"], row["before"], row["now"]) == (kind, before, now)

    def test_facts(self) -> None:
        """A question that must pass is marked, one that the baseline does not have is new, slices are by number."""
        assert self.ROWS["q07"]["must"]
        assert "must" not in self.ROWS["q01"]
        assert self.ROWS["q50"]["kind"] == "new"
        assert {self.DATA["slices"][number] for number in self.ROWS["q01"]["slices"]} >= {"difficulty=hard"}


class TestDetails:
    """What is shown of a question when it is opened."""

    DATA = property(lambda _: of_regression("details"))
    ROWS = property(lambda _: of_regression("rows")["rows"])

    def detail(self, case: str) -> dict[str, object]:
        """Return the details of a question."""
        place = next(place for place, row in enumerate(self.ROWS) if row["id"] == case)
        return self.DATA["details"][place]  # type: ignore[no-any-return]

    def headings(self, side: str, case: str) -> list[str]:
        """Return the headings of a question's list."""
        return [self.DATA["passages"][entry[0]][1] for entry in self.detail(case)[side]]  # type: ignore[attr-defined]

    def test_both_lists(self) -> None:
        """The old list has the passage first, and the new one last, by the same number."""
        old, new = self.detail("q01")["old"], self.detail("q01")["new"]
        assert old[0][0] == new[6][0]  # type: ignore[index]
        assert old[0][4] == new[6][4] == [0]  # type: ignore[index]
        assert new[0][4] == []  # type: ignore[index]
        assert self.headings("old", "q01")[0] == "Note 1 › Topic"

    def test_scores_and_values(self) -> None:
        """An entry has its scores, and each deciding metric its value on both sides."""
        new = self.detail("q01")["new"]
        assert new[1][1:4] == [0.5, None, None]  # type: ignore[index]
        values = dict(
            zip(data_of(report.render(regression()), "rows")["metrics"], self.detail("q01")["values"], strict=True)
        )  # type: ignore[call-overload]
        assert values["hit@5"] == [1.0, 0.0]
        assert values["MRR@10"] == [1.0, 0.1429]

    def test_failure(self) -> None:
        """A call that failed has its message and an empty list."""
        assert self.detail("q09")["failure"] == "timeout: no answer within 60 s"
        assert self.detail("q09")["new"] == []


def test_a_first_run_is_greeted() -> None:
    """Where only a baseline is missing the page does not begin with bad news, and says the steps to one."""
    page = Elements(report.render(review("introduced"))).visible
    assert "👋 First run This pull request introduces raggate. It brings no baseline." in page
    assert "Next: Look at the numbers and at the questions that were not found." in page
    assert "Promote a baseline with raggate promote latest or the promotion workflow, then require the check." in page
    assert "Cannot tell without a baseline" in Elements(report.render(first_run())).visible


class TestPassages:
    """Passages and notes by number, and the way to a note."""

    RUN = replace(
        run_of(good()[:1]), config=make_config().model_copy(update={"vault": {"work": "golden/work", "up": "../up"}})
    )

    FORGE = f"https://forge.example/team/notes/blob/{'c' * 40}/services/rag/"

    def address(self, vault: str | None, path: str, root: str = "../../../", forge: str = "") -> str:
        """Return where a note is linked to."""
        notes = {**NOTES, "work/a b.md": "1", "up/x.md": "1", "work/../../x.md": "1"}
        passages = Passages(replace(self.RUN, fingerprint={"notes": notes}), root, forge)
        return passages.notes[passages.of_note(vault, path)][1]

    def test_a_note_of_the_vault_is_linked(self) -> None:
        """The way leads from the run directory to the file, each part quoted."""
        assert self.address("work", "a b.md") == "../../../golden/work/a%20b.md"
        assert self.address(None, "n01.md") == "../../../golden/work/n01.md"

    @each_row(
        ("vault", "path", "root"),
        [
            ("work", "unknown.md", "../"),
            ("other", "n01.md", "../"),
            ("up", "x.md", "../"),
            ("work", "../../x.md", "../"),
            ("work", "n01.md", ""),
            ("work", "n01.md", "https://example.org/"),
            ("work", "n01.md", "javascript:alert(1)//"),
        ],
    )
    def test_nothing_else_is(self, vault: str, path: str, root: str) -> None:
        """What the API alone names, what leads out of the directory, and any root but dots are no links."""
        assert self.address(vault, path, root) == ""

    def test_a_note_is_linked_on_the_forge(self) -> None:
        """Where a job names the forge, the way is to the note at the commit, each part quoted, wherever the page is."""
        assert self.address("work", "a b.md", forge=self.FORGE) == f"{self.FORGE}golden/work/a%20b.md"
        assert self.address("work", "unknown.md", forge=self.FORGE) == ""
        gitlab = f"http://gitlab.example:8080/group/team/notes/-/blob/{'d' * 64}/"
        assert self.address("work", "n01.md", forge=gitlab) == f"{gitlab}golden/work/n01.md"

    @each_row(
        "forge",
        [
            "javascript:alert(1)//a/b/blob/" + "c" * 40 + "/",
            "https://user@forge.example/team/notes/blob/" + "c" * 40 + "/",
            "https://forge.example/team/notes/blob/main/",
            "https://forge.example/team/notes/blob/" + "c" * 40 + "/../../x/",
            "https://forge.example/team/notes/blob/" + "c" * 40 + '/"onclick="x/',
            "https://forge.example/team/notes/blob/" + "c" * 40 + "\n",
            "https://forge.example/" + "a/" * 600 + "blob/" + "c" * 40 + "/",
        ],
    )
    def test_no_other_address_is_a_forge(self, forge: str) -> None:
        """An address of another shape is none: the notes beside the page are linked."""
        assert self.address("work", "n01.md", forge=forge) == "../../../golden/work/n01.md"
        assert self.address("work", "n01.md", root="", forge=forge) == ""

    def test_texts_are_cut(self) -> None:
        """Of a passage 200 characters are kept, and that it is cut is said, also where it was cut before."""
        passages = Passages(self.RUN)
        whole, cut = make_chunk("w", text="x" * 200), make_chunk("c", text="y" * 201)
        stored = replace(cut, chunk_id="s", text="y" * 200 + "...", text_hash="1")
        shown = [passages.passages[passages.of_chunk(chunk)][2:] for chunk in (whole, cut, stored)]
        assert shown == [["x" * 200, False], ["y" * 200, True], ["y" * 200, True]]

    def test_hashes_of_a_baseline_are_named_where_anything_names_them(self) -> None:
        """A passage that an answer has is the same one; of another its note is known from the vault, or nothing."""
        passages = Passages(self.RUN)
        response = self.RUN.results[0].result.response
        assert response is not None
        chunk = response.chunks[0]
        same = ListEntry(note=short_hash(chunk.rel_path), chunk=short_hash(chunk.chunk_id))
        assert passages.of_entry(same) == passages.of_chunk(chunk)
        note = passages.passages[passages.of_entry(ListEntry(note=short_hash("n05.md"), chunk="00000000"))]
        assert passages.notes[note[0]][0] == "work/n05.md"  # type: ignore[call-overload]
        assert note[1:] == ["", None, False]
        assert passages.passages[passages.of_entry(ListEntry(note="12345678", chunk="9"))] == [-1, "", None, False]

    @each_row(
        ("path", "shown"),
        [("# A > ## B", "A › B"), ("A > B", "A › B"), ("# In gold", "In gold"), ("# Unknown", ""), ("", "")],
    )
    def test_an_old_passage_has_its_heading(self, path: str, shown: str) -> None:
        """A passage that has another id now is named with its heading, if an answer or the golden set has it."""
        case = make_case("q1", gold_supports=(make_support("a.md", "# In gold"),))
        now = make_chunk("new", rel_path="a.md", heading_path="# A > ## B")
        passages = Passages(run_of([make_labelled(case, make_result("q1", now))]))
        entry = ListEntry(note=short_hash("a.md"), chunk=short_hash("old"), heading=heading_hash(path))
        assert passages.passages[passages.of_entry(entry)][1:] == [shown, None, False]


def test_slices_that_lost_most_come_first() -> None:
    """The grid has a row for each slice that is not all questions, and the one that lost most on top."""
    ((mode, metrics, slices),) = report.grids(regression())
    name, rows = slices[0]
    assert (mode, name) == ("hybrid", "difficulty=hard")
    assert {"hit_at_5", "mrr_at_10"} <= {*metrics} & {*rows}
    page = Elements(report.render(regression())).visible
    assert "7 of 12 ▼ −33.3 pt" in " ".join(page.split())


class TestHostileText:
    """Foreign text wherever foreign text can stand."""

    @each_row("text", [None, HOSTILE, '"><img src=x onerror=alert(1)>', "\ud800"])
    def test_there_are_the_pages_own_elements_alone(self, text: str | None) -> None:
        """Nothing foreign becomes an element, an attribute that acts, or an address that leads elsewhere."""
        page = Elements(report.render(hostile() if text is None else foreign(text)))
        assert {tag for tag, _ in page.tags} <= OWN_TAGS
        for _, attributes in page.tags:
            assert not [name for name in attributes if name.startswith("on") or name in {"src", "style", "srcset"}]
            assert all(OWN_ADDRESS.fullmatch(attributes[name] or "") for name in {"href"} & attributes.keys())
        scripts = [attributes.get("type") for tag, attributes in page.tags if tag == "script"]
        assert scripts == ["application/json", "application/json", None]

    def test_a_run_without_a_verdict(self) -> None:
        """So it is on the page of a run that ended with an error."""
        from raggate.models.publication import RunFailure

        failed = RunFailure(label="cannot tell", exit_code=3, lines=(HOSTILE,), hint=HOSTILE, log=(HOSTILE, ""))
        page = Elements(report.render(replace(failed, suite=HOSTILE, run_id=HOSTILE)))
        assert {tag for tag, _ in page.tags} <= OWN_TAGS
        assert "script" not in {tag for tag, _ in page.tags}
        assert plain(HOSTILE)[:100] in page.visible


def test_a_relabelled_question_has_no_past_by_these_labels() -> None:
    """What the baseline found by other labels is neither its rank nor its values before."""
    item = good()[0]
    whole = replace(item, case=with_hash(replace(item.case, gold_supports=(make_support("n00.md", None),))))
    review = review_of(run_of([whole, *good()[1:]]), baseline_of(run_of(good())))
    document = report.render(review)
    (row,) = (row for row in data_of(document, "rows")["rows"] if row["id"] == item.case.id)
    assert review.comparison.golden.relabelled == (item.case.id,)
    assert (row["kind"], row["before"]) == ("relabelled", None)
    assert {before for before, _ in data_of(document, "details")["details"][0]["values"]} == {None}


def test_the_reasoning_of_a_folder_selection_is_shown() -> None:
    """An opened question names the folders that were searched and why; of an API that gives no reason it shows none."""
    items = good()[:2]
    response = items[0].result.response
    assert response is not None
    told = replace(response, selected_folders=("work/docs",), folder_reasoning="It is about <docs>.")
    items[0] = replace(items[0], result=replace(items[0].result, response=told))
    document = report.render(review_of(run_of(items), baseline_of(run_of(items))))
    first, second = data_of(document, "details")["details"]
    assert first["folders"] == "work/docs: It is about <docs>."
    assert "folders" not in second
    assert "Folders searched" in document


def test_lines_join_only_what_asked_the_same() -> None:
    """A line ends where other questions were asked, and none joins versions of which nobody knows what they asked."""
    goldens = ("g", "g", "h", "h", "", "", "g")
    past = history(*(revision(number, {"hit_at_5": 0.5}, golden=golden) for number, golden in enumerate(goldens, 1)))
    points = list(stored_runs.of_history(past, "default", {"hit_at_5"}))
    plot = trend_of("hybrid", "hit_at_5", points, newest=points[0])
    assert plot is not None
    assert [len(line.split()) for line in plot.lines] == [2, 2]
    assert [dot.other for dot in plot.dots] == [False, False, True, True, True, True, False]
    # as the tables of the page write it
    assert (plot.newest, plot.low, plot.high) == ("50.0%", "50.0%", "50.0%")
    assert all("50.0%" in dot.words for dot in plot.dots)
    assert plot.dots[2].words.endswith("other questions")
    assert plot.dots[4].words.endswith("nobody knows over which questions")
