"""What follows `/raggate waive`: hostile text in, one waiver to the letter or a reason why there is none out."""

from __future__ import annotations

from hypothesis import given, strategies as st

from raggate.github.comment_commands import Unclear
from raggate.github.waiver_request import WaiverRequest, parse
from tables import each_row

DAY = "2026-12-31"


def asked(names: str, **others: object) -> WaiverRequest:
    """Build a request."""
    return WaiverRequest(**{"names": names, "metric": False, "mode": None, "day": DAY, "reason": "x", **others})  # type: ignore[arg-type]


@each_row(
    "argument, request",
    [
        (f"q17 until {DAY} because x", asked("q17")),
        (f"  q17   until  {DAY}  because   x  y ", asked("q17", reason="x y")),
        (f"q17, q18 q19 until {DAY} because x", asked("q17, q18 q19")),
        (f"q17 in hybrid until {DAY} because x", asked("q17", mode="hybrid")),
        (f"metric hit_at_5 until {DAY} because x", asked("hit_at_5", metric=True)),
        (f"metric until {DAY} because x", asked("metric")),
        (
            f"q17 until {DAY} because until 2099-01-01 because in x",
            asked("q17", reason="until 2099-01-01 because in x"),
        ),
    ],
)
def test_requests(argument: str, request: WaiverRequest) -> None:
    """What is waived, for which mode, until when, and why: in this order, with spaces or commas between names."""
    assert parse(argument) == request


@each_row(
    "argument",
    [
        "",
        "q17",
        f"q17 until {DAY}",
        f"q17 until {DAY} because",
        f"until {DAY} because x",
        f", until {DAY} because x",
        f"q17 because x until {DAY}",
        f"q17 until {DAY} until {DAY} because x",
        f"until q17 until {DAY} because x",
        f"q17 {DAY} because x",
        f"q17 until {DAY} x because x",
        f"in hybrid until {DAY} because x",
        f"q17 in until {DAY} because x",
        f"q17 in hybrid q18 until {DAY} because x",
        f"q17 in in until {DAY} because x",
        "q17 until tomorrow because x",
        "q17 until 2026-2-3 because x",
        "q17 until 2026-02-30 because x",
        "q17 until 20261231 because x",
        "q17 until 2026-W53-4 because x",
        "q17 until 2026-12-31T00:00 because x",
        "q17 until \u0662\u0660\u0662\u0666-12-31 because x",
        "q17 until \uff12026-12-31 because x",
        "q17 until 10000-01-01 because x",
        "q17 Until 2026-12-31 Because x",
    ],
)
def test_what_is_not_clear(argument: str) -> None:
    """Anything else is no request: nothing is guessed, least of all a day."""
    assert isinstance(parse(argument), Unclear)


def test_one_name_or_several() -> None:
    """What is written is one id where there is such a question, several where there is none, and nothing where both."""
    request = asked("a b, c")
    assert request.questions({"a", "b", "c"}) == ["a", "b", "c"]
    assert request.questions({"a b, c", "a"}) == ["a b, c"]
    assert request.questions({"a b, c", "a", "b", "c"}) is None
    assert asked("a").questions({"a"}) == ["a"]
    assert asked("a, a").questions({"a"}) == ["a"]


WORDS = st.sampled_from(("q17", "until", DAY, "because", "in", "metric", ",", "x", "@eve"))


@given(st.lists(WORDS, max_size=9).map(" ".join) | st.text(max_size=40))
def test_no_text_gets_through(argument: str) -> None:
    """Whatever is written, a request has a name, a day, and a reason on one line; a refusal repeats nothing of it."""
    request = parse(argument)
    if isinstance(request, Unclear):
        assert "eve" not in request.why
        return
    assert request.names.strip(", ")
    assert request.reason == " ".join(request.reason.split())
    assert len(request.day) == 10
    assert request.day.isascii()
    assert not {"in", "until", "because"} & {request.mode, *request.names.split()}
