"""The golden set: what a line may hold, how every mistake is named, what counts as the same question."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given, strategies as st
from msgspec.structs import replace

from builders import make_case, make_golden
from raggate.base.errors import UsageError
from raggate.base.yamlio import Path, dotted
from raggate.inputs import golden
from raggate.inputs.golden import part_of
from raggate.models.golden import Case, Golden, Support, with_hash
from tables import each_row

GOLD = {"rel_path": "a.md", "heading_path": "# A"}
ROW: dict[str, Any] = {"id": "q1", "question": "Why?", "answerable": True, "gold_supports": [GOLD]}


def lines(*rows: dict[str, Any]) -> bytes:
    """Write rows as JSON Lines."""
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def load_one(**changes: Any) -> Case:
    """Read the one case of a golden set; `...` leaves a key out."""
    row = {key: value for key, value in {**ROW, **changes}.items() if value is not ...}
    return golden.load(lines(row), "g.jsonl").cases[0]


def refusal(data: bytes) -> str:
    """Return the message with which a golden set is refused."""
    with pytest.raises(UsageError) as caught:
        golden.load(data, "g.jsonl")
    return str(caught.value)


def test_minimal_case() -> None:
    """Four keys are enough, and the rest has the documented defaults."""
    assert load_one() == replace(
        Case(
            id="q1",
            question="Why?",
            answerable=True,
            gold_supports=(Support(rel_path="a.md", heading_path="# A"),),
            category="factual",
            difficulty="medium",
            line=1,
        ),
        hash=load_one().hash,
    )


@each_row("nothing", [None, [], ...], ids=["null", "empty", "missing"])
def test_nothing_in_a_list(nothing: object) -> None:
    """Null, an empty list and no key at all mean the same, so no case is asked in no mode."""
    case = load_one(tags=nothing, vaults=nothing, folders=nothing, expected_key_facts=nothing, retriever_types=nothing)
    assert case == load_one()
    assert case.modes is None


TWO = [GOLD, {"rel_path": "b.md"}]


@each_row(
    ("changes", "message"),
    [
        pytest.param({"id": ...}, "key 'id' is missing", id="no id"),
        pytest.param({"id": ""}, "question '': id: expected at least 1 character(s), found ''", id="empty id"),
        pytest.param({"id": "x" * 201}, "id: expected", id="id too long"),
        pytest.param(
            {"answerable": 1}, "question 'q1': answerable: expected a valid boolean, found 1", id="1 for true"
        ),
        pytest.param({"anwserable": True}, "unknown key 'anwserable'. Did you mean 'answerable'?", id="unknown key"),
        pytest.param({"tags": "work"}, 'tags: expected a list, such as ["work"], found ', id="text for a list"),
        pytest.param({"k": 0}, "k: expected greater than or equal to 1, found 0", id="k"),
        pytest.param({"gold_supports": GOLD}, "gold_supports: expected a list, found", id="one support without a list"),
        pytest.param({"gold_supports": [{}]}, "key 'gold_supports[0].rel_path' is missing", id="no rel_path"),
        pytest.param(
            {"gold_supports": [{**GOLD, "headding_path": "x"}]},
            "unknown key 'gold_supports[0].headding_path'. Did you mean 'heading_path'?",
            id="unknown key of a support",
        ),
        pytest.param(
            {"gold_supports": [{**GOLD, "grade": 0}]},
            "gold_supports[0].grade: expected greater than or equal to 1, found 0",
            id="grade 0",
        ),
        pytest.param(
            {"gold_supports": [{**GOLD, "snippets": ["  "]}]},
            r"gold_supports[0].snippets[0]: expected text that matches \S",
            id="a blank snippet would stand in every text",
        ),
        pytest.param(
            {"gold_supports": [GOLD, {"doc_id": "d", "chunk_id": "c"}]},
            "gold_supports[1]: doc_id and chunk_id cannot be combined: keep one of them",
            id="two names of a support",
        ),
        pytest.param(
            {"gold_supports": [{"doc_id": "d", "heading_path": "# A"}]},
            "gold_supports[0].heading_path belongs to rel_path, not to doc_id",
            id="a heading of an id",
        ),
        pytest.param({"gold_supports": []}, "answerable, but gold_supports is empty", id="answerable without label"),
        pytest.param(
            {"answerable": False},
            "not answerable, but gold_supports is not empty: remove it, or set answerable to true",
            id="label without answer",
        ),
        pytest.param({"required_support_groups": []}, "groups: expected at least 1 item(s)", id="no group"),
        pytest.param({"required_support_groups": [[]]}, "groups[0]: expected at least 1 item(s)", id="an empty group"),
        pytest.param({"required_support_groups": [[1]]}, "expected indexes from 0 to 0 into", id="index too large"),
        pytest.param(
            {"gold_supports": TWO, "required_support_groups": [[0], [1, 2]]},
            "required_support_groups: expected indexes from 0 to 1 into gold_supports, found 2",
            id="index too large in a second group",
        ),
        pytest.param({"category": "multi_hop"}, "add required_support_groups", id="multi_hop without groups"),
        pytest.param(
            {"category": "recency/conflict"},
            "category is recency/conflict: add recency_conflict_rule, one of cite_newer, acknowledge_both, cite_both",
            id="recency without rule",
        ),
        pytest.param(
            {"recency_conflict_rule": "cite_both"},
            "recency_conflict_rule needs category 'recency/conflict', found category 'factual'",
            id="rule without recency",
        ),
    ],
)
def test_mistake(changes: dict[str, Any], message: str) -> None:
    """A mistake is named with file, line, case, key, what was expected and what was found."""
    row = {key: value for key, value in {**ROW, **changes}.items() if value is not ...}
    refused = refusal(b"\n" + lines(row))
    assert refused.startswith("g.jsonl:2: ")
    assert message in refused
    assert "question 'q1'" in refused or "id" in changes


@each_row(
    ("data", "message"),
    [
        pytest.param(b"", "g.jsonl: the golden set has no question", id="empty"),
        pytest.param(b"[1]\n", "g.jsonl:1: expected a JSON object, found [1]", id="a list"),
        pytest.param(b"<<<<<<< HEAD\n", "g.jsonl:1: unresolved merge conflict", id="conflict, ours"),
        pytest.param(b'"\xff"\n', "g.jsonl:1: not valid UTF-8 at byte 1 of the line", id="not UTF-8"),
        pytest.param(b'{"id": NaN}', "g.jsonl:1: not valid JSON", id="nan"),
        pytest.param(b'{"id":' + b"[" * 199 + b"]" * 199 + b"}", "g.jsonl:1: id: expected a", id="deep value"),
        pytest.param(
            b'"' + b"x" * golden.MAX_LINE_BYTES + b'"', "g.jsonl:1: the line has 1048578 bytes", id="line too long"
        ),
        pytest.param(
            lines(ROW, {**ROW, "id": "q2"}, ROW),
            "g.jsonl:3: id 'q1' is already in line 1: rename or remove one",
            id="duplicate id",
        ),
        pytest.param(b'{"id": "a", "id": "b"}', "g.jsonl:1: key 'id' occurs twice", id="duplicate key"),
        pytest.param(lines(ROW) + b"{", "g.jsonl:2: not valid JSON", id="one bad line among good ones"),
        pytest.param("{\u2028}\n".encode(), "g.jsonl:1: not valid JSON", id="only a newline ends a line"),
    ],
)
def test_bad_file(data: bytes, message: str) -> None:
    """What is no golden set is refused with the line; no bad line is skipped."""
    assert refusal(data).startswith(message)


def test_problems_are_cut() -> None:
    """Ten problems are told, in the order of the file, and how many more there are."""
    lines = refusal(b"{\n" * 13).split("\n")
    assert [line.split(":")[1] for line in lines[:-1]] == [str(number) for number in range(1, 11)]
    assert lines[-1] == "… and 3 more"


def test_layout_does_not_matter() -> None:
    """A byte order mark, CRLF, blank lines and the spelling of the JSON change nothing but the line number."""
    plain = golden.load(lines(ROW), "g.jsonl")
    other = b"\xef\xbb\xbf\r\n" + json.dumps(dict(reversed(ROW.items())), indent=None).encode() + b"\r\n\r\n"
    loaded = golden.load(other, "g.jsonl")
    assert loaded.hash == plain.hash
    assert loaded.cases == (replace(plain.cases[0], line=2),)


@each_row(
    "changes",
    [
        {"tags": ["x"]},
        {"category": "general"},
        {"difficulty": "hard"},
        {"group": "g"},
        {"must_pass": True},
        {"retriever_types": ["vector"]},
        {"id": "q2"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_case_hash_ignores(changes: dict[str, Any]) -> None:
    """How a case is filed does not change its hash."""
    assert load_one(**changes).hash == load_one().hash


@each_row(
    "changes",
    [
        pytest.param({"question": "Why not?"}, id="question"),
        pytest.param({"answerable": False, "gold_supports": []}, id="answerable"),
        pytest.param({"gold_supports": TWO}, id="a further support"),
        pytest.param({"gold_supports": [{**GOLD, "rel_path": "b.md"}]}, id="note"),
        pytest.param({"gold_supports": [{**GOLD, "heading_path": "# B"}]}, id="heading"),
        pytest.param({"gold_supports": [{**GOLD, "snippets": ["x"]}]}, id="snippet"),
        pytest.param({"gold_supports": [{**GOLD, "grade": 2}]}, id="grade"),
        pytest.param({"gold_supports": [{**GOLD, "vault": "w"}]}, id="vault of a support"),
        pytest.param({"required_support_groups": [[0]]}, id="groups"),
        pytest.param({"vaults": ["work"]}, id="vaults"),
        pytest.param({"folders": ["docs"]}, id="folders"),
        pytest.param({"k": 3}, id="k"),
        pytest.param({"detail": "brief"}, id="detail"),
        pytest.param({"expected_key_facts": ["x"]}, id="facts"),
    ],
)
def test_case_hash_covers(changes: dict[str, Any]) -> None:
    """What a score depends on changes the hash."""
    assert load_one(**changes).hash != load_one().hash


def test_case_hash_is_the_same_in_every_version() -> None:
    """Stored baselines hold these hashes, so they change only when the meaning of a case does."""
    assert make_case("q1", question="Why?").hash == "fa3b65b10dd6c199"
    assert make_case("q1", question="Why?", answerable=False, vaults=("work",)).hash == "572244924ef216c7"


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=10).filter(lambda text: text.strip())
_NAMES = st.lists(_TEXT, max_size=3).map(tuple)


@st.composite
def _cases(draw: st.DrawFn) -> Case:
    grades = st.integers(1, 100)
    supports = draw(
        st.lists(
            st.builds(
                Support,
                rel_path=_TEXT,
                heading_path=st.none() | _TEXT,
                snippets=_NAMES,
                vault=st.none() | _TEXT,
                grade=grades,
            )
            | st.builds(Support, rel_path=st.just(""), doc_id=_TEXT, grade=grades)
            | st.builds(Support, rel_path=st.just(""), chunk_id=_TEXT, grade=grades),
            max_size=3,
        )
    )
    indices = st.lists(st.integers(0, len(supports) - 1), min_size=1, max_size=3).map(tuple)
    recency = draw(st.sampled_from([None, "cite_newer", "acknowledge_both", "cite_both"]))
    case = Case(
        id=draw(_TEXT),
        question=draw(_TEXT),
        answerable=bool(supports),
        gold_supports=tuple(supports),
        required_support_groups=draw(st.none() | st.lists(indices, min_size=1, max_size=2).map(tuple))
        if supports
        else None,
        recency_conflict_rule=recency,
        category="recency/conflict" if recency else draw(_TEXT.filter(lambda text: text != "multi_hop")),
        expected_key_facts=draw(_NAMES),
        tags=draw(_NAMES),
        vaults=draw(_NAMES),
        folders=draw(_NAMES),
        difficulty=draw(_TEXT),
        group=draw(st.none() | _TEXT),
        modes=draw(st.none() | st.lists(_TEXT, min_size=1, max_size=2).map(tuple)),
        must_pass=draw(st.booleans()),
        k=draw(st.none() | st.integers(1, 1000)),
        detail=draw(st.sampled_from([None, "brief", "normal", "detailed"])),
        line=1,
    )
    return with_hash(case)


@given(_cases())
def test_written_case_is_read_back(case: Case) -> None:
    """A written case is one line, and reading it gives an equal case with the same hash."""
    written = golden.write_case(case)
    assert written.count(b"\n") == 1
    assert golden.load(written, "g.jsonl").cases == (case,)


@given(st.binary(max_size=100) | st.text('{}[]":,0123456789truefalsnid \n', max_size=60).map(str.encode))
@example(b'{"id": "a", "question": "q", "answerable": false}')
@example(b"null")
def test_any_bytes_load_or_are_refused(data: bytes) -> None:
    """No input at all crashes the loader, and what it accepts holds at least one case."""
    try:
        outcome = f"g.jsonl: {len(golden.load(data, 'g.jsonl').cases)} case"
    except UsageError as error:
        outcome = str(error)
    assert outcome.startswith("g.jsonl:")
    assert outcome != "g.jsonl: 0 case"


def make(**fields: object) -> Case:
    """Read a golden set of one case."""
    return golden.load(json.dumps({"id": "q", "question": "?", "answerable": True, **fields}).encode(), "g").cases[0]


@each_row(
    ("fields", "supports"),
    [
        pytest.param({"expected_chunk_ids": ["c1", "c2", "c1"]}, ("c1", "c2"), id="chunks, each once"),
        pytest.param({"expected_doc_ids": ["d1"]}, ("d1",), id="documents"),
        pytest.param({"expected_doc_ids": ["d1"], "expected_chunk_ids": ["c1"]}, ("c1",), id="chunks are finer"),
        pytest.param(
            {"expected_doc_ids": ["d1"], "gold_supports": [{"rel_path": "a.md"}]}, (None,), id="places count first"
        ),
        pytest.param({"must_contain": ["x"]}, (), id="only what the answer says"),
    ],
)
def test_labels_by_id(fields: dict[str, object], supports: tuple[str | None, ...]) -> None:
    """A case may name what answers it by ids alone; it reads back the same, with the same hash."""
    case = make(**fields)
    assert tuple(support.chunk_id or support.doc_id for support in case.gold_supports) == supports
    again = golden.load(golden.write_case(case), "g").cases[0]
    assert again == case


@each_row(
    ("category", "meant"),
    [
        ("multi-hop", "multi_hop"),
        ("recency_conflict", "recency/conflict"),
    ],
)
def test_a_misspelt_category_does_not_escape_its_rule(category: str, meant: str) -> None:
    """A category almost like one that has a rule is refused with the right name."""
    assert f"category {category!r} has no rule. Did you mean {meant!r}" in refusal(lines({**ROW, "category": category}))


@each_row(
    "line",
    [
        pytest.param(b"{" + b",".join(b'"k%d":1' % number for number in range(80_000)) + b"}", id="keys"),
        pytest.param(b'{"tags": [' + b"1," * 250_000 + b"1]}", id="wrong items"),
        pytest.param(b'{"id": "' + b"x" * 1_000_000 + b'"}', id="a long text"),
        pytest.param(b"[" * 1_000_000, id="depth"),
        pytest.param(b'{"k": ' + b"9" * 1_000_000 + b"}", id="digits"),
    ],
)
def test_the_largest_line(line: bytes) -> None:
    """A line as long as one may be is refused in seconds, whatever it holds."""
    begun = time.process_time()
    assert refusal(line).startswith("g.jsonl:1: ")
    assert time.process_time() - begun < 10


CASES = (
    make_case("first", must_pass=True),
    make_case("second", tags=("smoke", "fees")),
    make_case("third", tags=("fees",)),
    make_case("fourth"),
)


def refuse(key: Path, text: str) -> UsageError:
    """Make an error that names the key."""
    return UsageError(f"{dotted(key)}: {text}")


def names(whole: Golden, *questions: str) -> list[str]:
    """Name the questions that are chosen."""
    return [case.id for case in part_of(whole, questions, refuse).cases]


@each_row(
    ("questions", "chosen"),
    [
        (["must_pass"], ["first"]),
        (["tag=smoke"], ["second"]),
        (["tag=fees", "tag=smoke"], ["second", "third"]),
        (["must_pass", "tag=fees"], ["first", "second", "third"]),
    ],
)
def test_what_is_named(questions: list[str], chosen: list[str]) -> None:
    """A question is asked where any of the choices applies, once, in the order of the file."""
    assert names(make_golden(*CASES), *questions) == chosen


def test_what_it_says_of_itself() -> None:
    """The part has a hash of its own questions alone, keeps their lines, and tells of how many they are."""
    whole = make_golden(*(replace(case, line=number) for number, case in enumerate(CASES, 1)))
    part = part_of(whole, ["must_pass", "tag=fees"], refuse)
    assert (part.hash, part.part_of) == (make_golden(*CASES[:3]).hash, 4)
    assert part.asked == "3 of 4 questions of eval_set.jsonl"
    assert [case.line for case in part.cases] == [1, 2, 3]


@each_row("questions", [(), ["must_pass", "tag=smoke", "tag=fees"]])
def test_all_of_them(questions: Sequence[str]) -> None:
    """Without a choice, and with one that leaves nothing out, the set is the whole one and says so."""
    whole = make_golden(*CASES[:3])
    assert part_of(whole, questions, refuse) is whole
    assert whole.asked == "3 questions"


REFUSED: list[tuple[list[str], str]] = [
    (["tag=fees", "tag=smok"], r"^questions\[1\]: no question of eval_set\.jsonl has the tag 'smok'.*smoke"),
    (["must_pass"], r"^questions: none of the 3 questions of eval_set\.jsonl is chosen, so nothing would be asked$"),
]


@each_row(("questions", "message"), REFUSED)
def test_what_is_refused(questions: list[str], message: str) -> None:
    """A tag that no question has is refused though others are, and so is a choice that no question fits."""
    with pytest.raises(UsageError, match=message):
        names(make_golden(*CASES[1:]), *questions)


def lines_of(cases: tuple[Case, ...], whole: int | None) -> list[int]:
    """Return the lines of questions after they were written and read again."""
    written = b"".join(golden.written(Golden(name="g", cases=cases, hash="", part_of=whole)))
    return [case.line for case in golden.load(written, "g").cases]


def test_lines_are_kept() -> None:
    """In a run directory the questions of a part keep their lines; where the file was asked whole they are one each."""
    cases = tuple(replace(make_case(f"q{line}"), line=line) for line in (2, 3, 7))
    assert lines_of(cases, 9) == [2, 3, 7]
    assert lines_of(cases, None) == [1, 2, 3]


def test_number_of_cases_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A golden set of exactly the largest number of cases is read, one more is refused."""
    monkeypatch.setattr(golden, "MAX_CASES", 1)
    assert len(golden.load(lines(ROW), "g.jsonl").cases) == 1
    assert refusal(lines(ROW, {**ROW, "id": "q2"})) == "g.jsonl: expected at most 1 case, found more"
