"""Annotations stand on the line that matters, the worst first, and hold plain text only."""

from __future__ import annotations

from msgspec.structs import replace

from builders import make_flip
from raggate.base.escape import plain
from raggate.models.golden import Golden
from raggate.models.publication import Links
from raggate.models.verdict import Review
from raggate.reports.annotations import Annotation, annotations, for_log
from reviews import foreign, hostile_everywhere, passing, review
from tables import each_row

LINKS = Links(server="https://forge.example", repository="team/api", prefix="rag/")


def numbered(found: Review) -> Review:
    """Return a review whose questions have lines in the golden set."""
    golden = found.run.golden
    cases = tuple(replace(case, line=number) for number, case in enumerate(golden.cases, 1))
    return replace(found, run=replace(found.run, golden=Golden(name=golden.name, cases=cases, hash=golden.hash)))


def places(found: Review, *changed: str) -> dict[str, tuple[str | None, int | None]]:
    """Return title and place of the annotations of questions."""
    made = annotations(numbered(found), LINKS, changed=changed)
    return {item.title: (item.path, item.line) for item in made if "uestion" in item.title}


@each_row(
    ("changed", "place"),
    [
        ((), ("rag/golden/vault/team/n07.md", 7)),
        (("golden/vault/team/n07.md",), ("rag/golden/eval_set.jsonl", 8)),
        (("golden/vault/team/n07.md", "golden/eval_set.jsonl"), (None, None)),
    ],
)
def test_broken_question_stands_on_its_note(changed: tuple[str, ...], place: tuple[str | None, int | None]) -> None:
    """A question that broke is put on its note, else on the golden set, and never on a file that the change edits."""
    found = places(review("placed"), *changed)
    assert found["Must-pass question q07 broke"] == place
    assert found["Question q01 broke"] == ("rag/golden/vault/team/n01.md", 7)


def test_verdict_first_then_invariants_then_questions() -> None:
    """The most important comes first, and a run that stopped accuses no question."""
    whole, stopped = (
        [item.title.split(" ")[0] for item in annotations(shown, LINKS)]
        for shown in (foreign("x", flips=1), review("cannot-tell"))
    )
    assert whole == ["raggate", "Invariant", "Invariant", "Must-pass"]
    assert stopped == ["raggate"]


@each_row(
    ("name", "levels"),
    [
        ("pass", set()),
        ("slightly-worse", {"warning"}),
        ("placed", {"error"}),
        ("invariant-broken", {"error"}),
        ("cannot-tell", {"error"}),
        ("first-run", {"error"}),
        ("introduced", {"notice"}),
    ],
)
def test_levels(name: str, levels: set[str]) -> None:
    """What makes a verdict red is an error; what is only worth knowing is a warning or a notice."""
    assert {item.level for item in annotations(review(name), None)} == levels


def test_at_most_ten_of_a_level() -> None:
    """The runner shows ten of a level, and the last of them says how many are left."""
    found = passing()
    flips = tuple(make_flip(f"q{number}") for number in range(15))
    made = annotations(replace(found, comparison=replace(found.comparison, flips=flips)), None)
    kept = for_log(made)
    assert [item.level for item in kept] == ["warning"] * 10
    assert kept[9].message.endswith("(+5 more)")


def test_what_is_printed_besides_leaves_fewer() -> None:
    """With others of a level printed too, so many fewer are kept, and the last of those tells of all that are left."""
    found = [Annotation(level="warning", path=None, line=None, title="t", message=str(number)) for number in range(12)]
    kept = for_log(found, taken={"warning": 2, "error": 10})
    assert [item.message for item in kept] == [*map(str, range(7)), "7 (+4 more)"]
    assert for_log(found, taken={"warning": 11}) == []


def test_note_of_what_is_left_fits() -> None:
    """The number of those that are left is kept within the length of a message."""
    item = Annotation(level="error", path=None, line=None, title="t", message="m" * 4096)
    last = for_log([item] * 3, taken={"error": 8})[-1].message
    assert (len(last), last[-9:]) == (4096, "(+1 more)")


@each_row(
    "make", [hostile_everywhere, lambda: foreign("\r\n::error::x"), lambda: foreign("@" * 9000), lambda: foreign("")]
)
def test_foreign_text(make: object) -> None:
    """Title and message are one printable line within the runner's limits, and a path is a path."""
    for item in annotations(make(), LINKS):  # type: ignore[operator]
        assert item.title == plain(item.title, limit=255)
        assert item.message == plain(item.message, limit=4096)
        assert item.path is None or item.path == plain(item.path, limit=1024)
        assert (item.path is None) == (item.line is None)
