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
    support = Support(rel_path="a.md", heading_path="# A")
    case = Case(id="q1", question="Why?", answerable=True, gold_supports=(support,), category="factual", line=1)
    assert load_one() == with_hash(replace(case, difficulty="medium"))


@each_row("nothing", [None, [], ...], ids=["null", "empty", "missing"])
def test_nothing_in_a_list(nothing: object) -> None:
    """Null, an empty list and no key at all mean the same, so no case is asked in no mode."""
    case = load_one(tags=nothing, vaults=nothing, folders=nothing, expected_key_facts=nothing, retriever_types=nothing)
    assert case == load_one()
    assert case.modes is None


TWO = [GOLD, {"rel_path": "b.md"}]
MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"id": ...}, "key 'id' is missing"),
    ({"id": ""}, "question '': id: expected at least 1 character(s), found ''"),
    ({"id": "x" * 201}, "id: expected"),
    ({"answerable": 1}, "question 'q1': answerable: expected a valid boolean, found 1"),
    ({"anwserable": True}, "unknown key 'anwserable'. Did you mean 'answerable'?"),
    ({"tags": "work"}, 'tags: expected a list, such as ["work"], found '),
    ({"k": 0}, "k: expected greater than or equal to 1, found 0"),
    ({"gold_supports": GOLD}, "gold_supports: expected a list, found"),
    ({"gold_supports": [{}]}, "key 'gold_supports[0].rel_path' is missing"),
    (
        {"gold_supports": [{**GOLD, "headding_path": "x"}]},
        "unknown key 'gold_supports[0].headding_path'. Did you mean 'heading_path'?",
    ),
    ({"gold_supports": [{**GOLD, "grade": 0}]}, "gold_supports[0].grade: expected greater than or equal to 1, found 0"),
    # a blank snippet would stand in every text
    ({"gold_supports": [{**GOLD, "snippets": ["  "]}]}, r"gold_supports[0].snippets[0]: expected text that matches \S"),
    (
        {"gold_supports": [GOLD, {"doc_id": "d", "chunk_id": "c"}]},
        "gold_supports[1]: doc_id and chunk_id cannot be combined: keep one of them",
    ),
    (
        {"gold_supports": [{"doc_id": "d", "heading_path": "# A"}]},
        "gold_supports[0].heading_path belongs to rel_path, not to doc_id",
    ),
    ({"not_relevant": [GOLD]}, "not_relevant[0] is a gold support too"),
    ({"gold_supports": []}, "answerable, but gold_supports is empty"),
    ({"answerable": False}, "not answerable, but gold_supports is not empty: remove it, or set answerable to true"),
    ({"required_support_groups": []}, "groups: expected at least 1 item(s)"),
    ({"required_support_groups": [[]]}, "groups[0]: expected at least 1 item(s)"),
    (
        {"gold_supports": TWO, "required_support_groups": [[0], [1, 2]]},
        "required_support_groups: expected indexes from 0 to 1 into gold_supports, found 2",
    ),
    ({"category": "multi_hop"}, "add required_support_groups"),
    (
        {"category": "recency/conflict"},
        "category is recency/conflict: add recency_conflict_rule, one of cite_newer, acknowledge_both, cite_both",
    ),
    (
        {"recency_conflict_rule": "cite_both"},
        "recency_conflict_rule needs category 'recency/conflict', found category 'factual'",
    ),
    # misspelt, a category would escape its rule
    ({"category": "multi-hop"}, "category 'multi-hop' has no rule. Did you mean 'multi_hop'"),
    ({"category": "recency_conflict"}, "category 'recency_conflict' has no rule. Did you mean 'recency/conflict'"),
]


@each_row(("changes", "message"), MISTAKES)
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
        (b"", "g.jsonl: the golden set has no question"),
        (b"[1]\n", "g.jsonl:1: expected a JSON object, found [1]"),
        (b"<<<<<<< HEAD\n", "g.jsonl:1: unresolved merge conflict"),
        (b'"\xff"\n', "g.jsonl:1: not valid UTF-8 at byte 1 of the line"),
        (b'{"id": NaN}', "g.jsonl:1: not valid JSON"),
        (b'{"id":' + b"[" * 199 + b"]" * 199 + b"}", "g.jsonl:1: id: expected a"),
        (b'"' + b"x" * golden.MAX_LINE_BYTES + b'"', "g.jsonl:1: the line has 1048578 bytes"),
        (lines(ROW, {**ROW, "id": "q2"}, ROW), "g.jsonl:3: id 'q1' is already in line 1: rename or remove one"),
        (b'{"id": "a", "id": "b"}', "g.jsonl:1: key 'id' occurs twice"),
        (lines(ROW) + b"{", "g.jsonl:2: not valid JSON"),
        # only a newline ends a line
        ("{\u2028}\n".encode(), "g.jsonl:1: not valid JSON"),
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


FILED: list[dict[str, Any]] = [
    *({"tags": ["x"]}, {"category": "general"}, {"difficulty": "hard"}, {"group": "g"}, {"must_pass": True}),
    *({"retriever_types": ["vector"]}, {"id": "q2"}),
]
MEANT: list[dict[str, Any]] = [
    *({"question": "Why not?"}, {"answerable": False, "gold_supports": []}, {"gold_supports": TWO}),
    *({"gold_supports": [{**GOLD, "rel_path": "b.md"}]}, {"gold_supports": [{**GOLD, "heading_path": "# B"}]}),
    *({"gold_supports": [{**GOLD, "snippets": ["x"]}]}, {"gold_supports": [{**GOLD, "grade": 2}]}),
    *({"gold_supports": [{**GOLD, "vault": "w"}]}, {"required_support_groups": [[0]]}, {"vaults": ["work"]}),
    *({"folders": ["docs"]}, {"k": 3}, {"detail": "brief"}, {"expected_key_facts": ["x"]}),
]


@each_row(("changes", "same"), [*((changes, True) for changes in FILED), *((changes, False) for changes in MEANT)])
def test_case_hash(changes: dict[str, Any], *, same: bool) -> None:
    """What a score depends on changes the hash, and how a case is filed does not."""
    assert (load_one(**changes).hash == load_one().hash) is same


def test_case_hash_is_the_same_in_every_version() -> None:
    """Stored baselines hold these hashes, so they change only when the meaning of a case does."""
    assert make_case("q1", question="Why?").hash == "fa3b65b10dd6c199"
    assert make_case("q1", question="Why?", answerable=False, vaults=("work",)).hash == "572244924ef216c7"


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=10).filter(lambda text: text.strip())
_NAMES = st.lists(_TEXT, max_size=3).map(tuple)


_GRADES = st.integers(1, 100)
_SUPPORTS = st.lists(
    st.builds(
        Support, rel_path=_TEXT, heading_path=st.none() | _TEXT, snippets=_NAMES, vault=st.none() | _TEXT, grade=_GRADES
    )
    | st.builds(Support, rel_path=st.just(""), doc_id=_TEXT, grade=_GRADES)
    | st.builds(Support, rel_path=st.just(""), chunk_id=_TEXT, grade=_GRADES),
    max_size=3,
)
_GROUPS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=3).map(tuple), min_size=1, max_size=2)
_CASES = st.builds(
    Case,
    id=_TEXT,
    question=_TEXT,
    answerable=st.booleans(),
    gold_supports=_SUPPORTS.map(tuple),
    required_support_groups=st.none() | _GROUPS.map(tuple),
    recency_conflict_rule=st.sampled_from([None, "cite_newer", "acknowledge_both", "cite_both"]),
    category=_TEXT,
    expected_key_facts=_NAMES,
    tags=_NAMES,
    vaults=_NAMES,
    folders=_NAMES,
    difficulty=_TEXT,
    group=st.none() | _TEXT,
    modes=st.none() | st.lists(_TEXT, min_size=1, max_size=2).map(tuple),
    must_pass=st.booleans(),
    k=st.none() | st.integers(1, 1000),
    detail=st.sampled_from([None, "brief", "normal", "detailed"]),
    line=st.just(1),
).map(with_hash)


@given(_CASES)
def test_written_case_is_read_back(case: Case) -> None:
    """A written case is one line, and reading it gives an equal case with the same hash."""
    written = golden.write_case(case)
    assert written.count(b"\n") == 1
    assert golden.load(written, "g.jsonl", rules=False).cases == (case,)


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


@each_row(
    ("fields", "supports"),
    [
        ({"expected_chunk_ids": ["c1", "c2", "c1"]}, ("c1", "c2")),
        ({"expected_doc_ids": ["d1"]}, ("d1",)),
        ({"expected_doc_ids": ["d1"], "expected_chunk_ids": ["c1"]}, ("c1",)),
        ({"expected_doc_ids": ["d1"], "gold_supports": [GOLD]}, (None,)),
        ({"must_contain": ["x"]}, ()),
    ],
)
def test_labels_by_id(fields: dict[str, object], supports: tuple[str | None, ...]) -> None:
    """A case may name what answers it by ids alone, of which chunks are finer; it reads back the same."""
    case = load_one(**{"gold_supports": ..., **fields})
    assert tuple(support.chunk_id or support.doc_id for support in case.gold_supports) == supports
    assert golden.load(golden.write_case(case), "g").cases[0] == case


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


@each_row(
    ("questions", "chosen"),
    [
        (["must_pass"], ["first"]),
        (["tag=fees", "tag=smoke"], ["second", "third"]),
        (["must_pass", "tag=fees"], ["first", "second", "third"]),
    ],
)
def test_what_is_named(questions: list[str], chosen: list[str]) -> None:
    """A question is asked where any of the choices applies, once, in the order of the file, by its own line."""
    whole = make_golden(*(replace(case, line=number) for number, case in enumerate(CASES, 1)))
    part = part_of(whole, questions, refuse)
    assert [case.id for case in part.cases] == chosen
    assert part.asked == f"{len(chosen)} of 4 questions of eval_set.jsonl"
    assert part.hash == make_golden(*part.cases).hash
    assert [whole.cases[case.line - 1] for case in part.cases] == [*part.cases]


@each_row("questions", [(), ["must_pass", "tag=smoke", "tag=fees"]])
def test_all_of_them(questions: Sequence[str]) -> None:
    """Without a choice, and with one that leaves nothing out, the set is the whole one and says so."""
    whole = make_golden(*CASES[:3])
    assert part_of(whole, questions, refuse) is whole
    assert whole.asked == "3 questions"


@each_row(
    ("questions", "message"),
    [
        (["tag=fees", "tag=smok"], r"^questions\[1\]: no question of eval_set\.jsonl has the tag 'smok'.*smoke"),
        (
            ["must_pass"],
            r"^questions: none of the 3 questions of eval_set\.jsonl is chosen, so nothing would be asked$",
        ),
    ],
)
def test_what_is_refused(questions: list[str], message: str) -> None:
    """A tag that no question has is refused though others are, and so is a choice that no question fits."""
    with pytest.raises(UsageError, match=message):
        part_of(make_golden(*CASES[1:]), questions, refuse)


def test_lines_are_kept() -> None:
    """In a run directory the questions of a part keep their lines; where the file was asked whole they are one each."""
    cases = tuple(replace(make_case(f"q{line}"), line=line) for line in (2, 3, 7))
    for whole, expected in ((9, [2, 3, 7]), (None, [1, 2, 3])):
        written = b"".join(golden.written(Golden(name="g", cases=cases, hash="", part_of=whole)))
        assert [case.line for case in golden.load(written, "g").cases] == expected


def test_number_of_cases_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A golden set of exactly the largest number of cases is read, one more is refused."""
    monkeypatch.setattr(golden, "MAX_CASES", 1)
    assert len(golden.load(lines(ROW), "g.jsonl").cases) == 1
    assert refusal(lines(ROW, {**ROW, "id": "q2"})) == "g.jsonl: expected at most 1 case, found more"
