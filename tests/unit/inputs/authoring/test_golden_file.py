"""Lines are added to a golden set, and nothing else of it changes."""

from __future__ import annotations

from builders import make_case
from raggate.inputs.authoring.golden_file import new_id, with_cases
from tables import each_row

LINE = b'{"answerable":true,"id":"a1","question":"Where?","gold_supports":[{"rel_path":"a.md"}]}'


@each_row("data", [b"", LINE, LINE + b"\n", b"\xef\xbb\xbf" + LINE + b"\r\n"])
def test_what_stands_there_stays(data: bytes) -> None:
    """A case is one further line, without the keys that are defaults; a last line without its end gets one."""
    whole = with_cases(data, [make_case("new", question="Größe?")])
    assert whole.startswith(data)
    row = '{"id": "new", "question": "Größe?", "answerable": true, "gold_supports": '
    row += '[{"rel_path": "a.md", "heading_path": "# A"}]}\n'
    assert whole[len(data) :].decode() == ("\n" if data == LINE else "") + row


@each_row(
    "question, taken, beside, wanted",
    [
        ("How long does it rest?", [], [], "how-long-does-it-rest"),
        ("How long does it rest?", ["how-long-does-it-rest"], [], "how-long-does-it-rest-2"),
        ("?!", [], [], "question"),
        ("Q", ["work-001", "work-009", "home-3"], [], "q"),
        ("Q", ["work-001", "work-009", "home-3"], ["work-001"], "work-010"),
        ("Q", ["work-001", "work-009", "home-3"], ["home-3"], "home-4"),
        ("Q", ["a", "b", "work-1"], ["a", "b", "work-1"], "q"),
        ("Q", ["7" * 5000], ["7" * 5000], "q"),
    ],
)
def test_ids(question: str, taken: list[str], beside: list[str], wanted: str) -> None:
    """An id is the next number where those of its vault are numbered, else made of words, and always new."""
    assert new_id(question, taken, beside) == wanted
