"""The nouns of judging: what makes two requests the same, and what replies took."""

from __future__ import annotations

import pytest

from judging import make_judge, make_request
from raggate.models.judging import Judgement, JudgeRequest, Message, Reply, Usage, usage_of
from tables import each_row

FIRST = make_request()
PRICED = make_judge(price=[0.5, 2.0])


@each_row(
    "other",
    [
        make_request("Grade that."),
        make_request(judge=make_judge("large")),
        make_request(judge=make_judge(build="b2")),
        make_request(judge=make_judge("openai:small")),
        make_request(judge=make_judge("anthropic:small")),
        make_request(judge=make_judge(json_schema=False)),
        make_request(schema={"type": "object"}),
        make_request(messages=(*FIRST.prompt.messages, Message(role="user", text=""))),
        make_request(messages=(Message(role="user", text="You grade."), FIRST.prompt.messages[1])),
    ],
)
def test_whatever_a_reply_depends_on_is_in_the_key(other: JudgeRequest) -> None:
    """Requests that differ in model, build, server, messages, schema or parameters have other keys."""
    assert other.key != FIRST.key


@each_row(
    "same",
    [
        make_request(),
        make_request(judge=make_judge(base_url="http://10.0.0.7:9999")),
        make_request(judge=make_judge(api_key_env="KEY", price=[1, 1])),
        make_request(about={"case": "q1"}),
    ],
)
def test_where_a_server_is_and_what_it_costs_is_not_in_the_key(same: JudgeRequest) -> None:
    """The same request to the same kind of server has the same key, wherever it is and whatever it costs."""
    assert same.key == FIRST.key


def test_a_key_stays_the_same_from_version_to_version() -> None:
    """A cassette that is committed today is read tomorrow: the key of this request is written down here."""
    assert FIRST.key == "e1bc6c5650c8f04f8b891a5772c3ecf0b528585a8fff8edf4904709491674fd1"


def test_a_reply_costs_what_its_tokens_cost() -> None:
    """A million tokens read and half a million written, at 0.5 and 2 dollars per million, are 1.5 dollars."""
    usage = Usage.of(PRICED, Reply(text="", input_tokens=1_000_000, output_tokens=500_000))
    assert usage == Usage(replies=1, input_tokens=1_000_000, output_tokens=500_000, usd=1.5)


def test_a_sum_with_something_unknown_is_unknown() -> None:
    """The cost of several replies is known when that of each is: all have a price, and all tell their tokens."""
    assert Usage.of(PRICED, Reply(text="", input_tokens=7)) == Usage(replies=1, untold=1, usd=None)
    known = Usage.of(PRICED, Reply(text="", input_tokens=10, output_tokens=0))
    unknown = Usage.of(make_judge(), Reply(text="", input_tokens=4, output_tokens=5))
    total = Usage.total([known, unknown])
    assert (total.input_tokens, total.output_tokens, total.replies, total.usd) == (14, 5, 2, None)
    assert Usage.total([known, known]).usd == pytest.approx(1e-5)
    assert Usage.total([]) == Usage()


def test_amounts_that_are_not_known_are_not_0() -> None:
    """A reply whose tokens no server told has no amounts, and one without a price has no dollars."""
    assert Usage().amounts() == {}
    assert Usage(replies=2, untold=1, input_tokens=5, usd=None).amounts() == {}
    assert Usage(replies=1, input_tokens=5, output_tokens=2, usd=None).amounts() == {"judge_tokens": 7}
    whole = Usage(replies=1, input_tokens=5, usd=0.5)
    assert whole.amounts() == {"judge_tokens": 5, "judge_cost_usd": 0.5}


def test_a_reply_that_two_answers_share_is_counted_once() -> None:
    """Of answers that rest on the same requests, the first has what their replies took."""
    counted: set[tuple[str, ...]] = set()
    usage = Usage(replies=1, input_tokens=5)
    own = [Judgement(score="groundedness", value=4.0, keys=("k1",), usage=usage)]
    assert usage_of(own, counted) == usage
    assert usage_of(own, counted) == Usage()
