"""The cassette: one line per reply, on disk at once, the same file for the same replies, whoever writes beside."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import pytest
from msgspec.structs import replace

from judging import make_request
from raggate.base.errors import FileError, UsageError
from raggate.judges import cassette
from raggate.judges.cassette import Cassette, Line
from raggate.models.judging import Reply
from tables import each_row

FIRST, SECOND = make_request("one", about={"question": "q1"}), make_request("two", about={"question": "q2"})
REPLY = Reply(text='{"score": 3}', model="small-b1", input_tokens=7, output_tokens=2)


def read(path: Path) -> dict[str, Line]:
    """Read a cassette on disk."""
    return cassette.read(path.read_bytes(), path.name)


def test_a_line_tells_what_was_asked_and_replied(tmp_path: Path) -> None:
    """A reviewer sees judge, prompt, question and reply in a line; the key stands for all of the request."""
    path = tmp_path / "c.jsonl"
    Cassette({}, path).record(FIRST, REPLY)
    assert json.loads(path.read_text()) == {
        "key": FIRST.key,
        "model": "small",
        "build": "b1",
        "endpoint": "local",
        "prompt": "grade",
        "template": "t1",
        "about": {"question": "q1"},
        "reply": {
            "text": '{"score": 3}',
            "model": "small-b1",
            "input_tokens": 7,
            "output_tokens": 2,
            "cut_off": False,
        },
    }


def test_the_same_replies_are_the_same_bytes(tmp_path: Path) -> None:
    """Whatever order replies come in, the file is the same in the end, and lines of a question are together."""
    contents = []
    for number, order in enumerate([(FIRST, SECOND), (SECOND, FIRST)]):
        path = tmp_path / f"{number}.jsonl"
        tape = Cassette({}, path)
        for request in order:
            tape.record(request, REPLY)
        tape.put_in_order()
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]
    assert [json.loads(line)["about"]["question"] for line in contents[0].splitlines()] == ["q1", "q2"]


def test_a_file_elsewhere_becomes_the_whole_cassette(tmp_path: Path) -> None:
    """A file that only new replies go to ends up with the known ones too, ready to be committed in their place."""
    path = tmp_path / "c.jsonl"
    Cassette({}, path).record(FIRST, REPLY)
    elsewhere = tmp_path / "run" / "c.jsonl"
    tape = Cassette(read(path), elsewhere)
    tape.record(SECOND, REPLY)
    tape.put_in_order()
    assert {*read(elsewhere)} == {FIRST.key, SECOND.key}
    assert {*read(path)} == {FIRST.key}


def test_the_half_of_a_line_is_nothing(tmp_path: Path) -> None:
    """What a killed process has left of a line is not read, and is gone when the next line is added."""
    path = tmp_path / "c.jsonl"
    tape = Cassette({}, path)
    tape.record(FIRST, REPLY)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:50])
    assert [*read(path)] == [FIRST.key]
    Cassette(read(path), path).record(SECOND, REPLY)
    assert {*read(path)} == {FIRST.key, SECOND.key}
    path.write_bytes(whole[:50])
    Cassette({}, path).record(SECOND, REPLY)
    assert [*read(path)] == [SECOND.key]


def test_a_whole_last_line_needs_no_newline(tmp_path: Path) -> None:
    """A file that an editor saved without its last newline has lost no reply, and loses none by the next one."""
    path = tmp_path / "c.jsonl"
    Cassette({}, path).record(FIRST, REPLY)
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    assert {*read(path)} == {FIRST.key}
    Cassette(read(path), path).record(SECOND, REPLY)
    assert {*read(path)} == {FIRST.key, SECOND.key}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"key": "short"}, r"Expected `str` matching regex .* at `\$\.key`"),
        ({"reply": {"text": 5}}, r"Expected `str`, got `int` - at `\$\.reply\.text`"),
        ({"score": 5}, "Object contains unknown field `score`"),
        # what could not be written again, or would make a report say that less was paid
        ({"about": {"question": 10**30}}, r"Expected `bool . str . array`, got `float` - at `\$\.about"),
        ({"reply": {"text": "", "input_tokens": -5}}, "Expected `int` >= 0"),
        ({"reply": {"text": "", "output_tokens": 10**18}}, "Expected `int` <= 1000000000"),
    ],
)
def test_a_line_that_is_none_is_named(tmp_path: Path, change: dict[str, object], problem: str) -> None:
    """A line that was edited to something else is an error with the file and the number of the line."""
    path = tmp_path / "c.jsonl"
    Cassette({}, path).record(FIRST, REPLY)
    line = json.loads(path.read_text()) | change
    path.write_text(f"\n{json.dumps(line)}\n")
    with pytest.raises(FileError, match=rf"c\.jsonl:2: {problem}"):
        read(path)


def test_a_line_with_a_key_twice_is_none(tmp_path: Path) -> None:
    """Whoever reviews a line may see the first of two answers, and a program takes the last."""
    Cassette({}, tmp_path / "c.jsonl").record(FIRST, REPLY)
    line = (tmp_path / "c.jsonl").read_bytes().replace(b'"about":', b'"about":{"answer":"Fine."},"about":', 1)
    with pytest.raises(FileError, match=r"c\.jsonl:1: key 'about' occurs twice"):
        cassette.read(line, "c.jsonl")


def test_larger_than_any_cassette(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file larger than any cassette can be is not even parsed."""
    monkeypatch.setattr(cassette, "MOST_BYTES", 10)
    with pytest.raises(FileError, match=r"c\.jsonl: larger than 10 bytes"):
        cassette.read(b"<" * 11, "c.jsonl")


@each_row(
    "lie",
    [
        {"about": {"question": "Another?", "answer": "A good one."}},
        {"about": {}},
        {"prompt": "abstention"},
        {"template": "t0"},
        {"model": "large"},
        {"build": "b0"},
        {"endpoint": "openai"},
    ],
)
def test_a_line_that_tells_people_something_else_is_no_reply(lie: dict[str, object]) -> None:
    """Whoever reviews a line sees what it is a reply to: one filed under the key of another request is none."""
    line = cassette.line_of(FIRST, REPLY)
    honest = Cassette({FIRST.key: line}, Path("c.jsonl"))
    assert honest.reply(FIRST) == REPLY
    assert Cassette({FIRST.key: replace(line, **lie)}, Path("c.jsonl")).reply(FIRST) is None


def test_pruning_keeps_what_was_asked_for_and_what_others_added(tmp_path: Path) -> None:
    """What was there before and nobody asked for goes; what another process has added meanwhile stays."""
    path = tmp_path / "c.jsonl"
    before, third = Cassette({}, path), make_request("Third.")
    before.record(FIRST, REPLY)
    before.record(SECOND, REPLY)
    tape = Cassette(read(path), path)
    with pytest.raises(UsageError, match="contains no reply that this run needs"):
        tape.prune()
    assert tape.reply(FIRST) == REPLY
    before.record(third, REPLY)
    assert tape.prune() == (1, 2)
    assert read(path).keys() == {FIRST.key, third.key}


def _record_many(path: Path, start: int) -> None:
    tape = Cassette({}, path)
    for number in range(start, start + 40):
        tape.record(make_request(str(number)), REPLY)
    tape.put_in_order()


def test_two_runs_at_once_lose_nothing(tmp_path: Path) -> None:
    """Two processes that record and put the file in order at the same time leave every line whole."""
    path = tmp_path / "c.jsonl"
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_record_many, args=(path, start)) for start in (0, 40)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    assert {*read(path)} == {make_request(str(number)).key for number in range(80)}
