"""What judging may take is set aside before a call and settled after it, so that no limit is ever passed."""

from __future__ import annotations

import asyncio

import pytest

from judging import make_judge, make_request
from raggate.config.judge_settings import MAX_TOKENS
from raggate.judges.budget import Budget, Reserved, upper_bound
from raggate.models.judging import Usage

REQUEST = make_request()


def told(tokens: int, usd: float | None = None) -> Usage:
    """Return what a server says it took."""
    return Usage(replies=1, input_tokens=tokens, usd=usd)


def test_every_attempt_is_a_call_and_a_retry_counts_as_one() -> None:
    """With three calls allowed, one call and two retries leave none."""

    async def spend() -> None:
        budget = Budget(calls=3)
        for retry in (False, True, True):
            reserved = await budget.reserve(REQUEST, retry=retry)
            assert isinstance(reserved, Reserved)
            await budget.settle(reserved, None)
        assert await budget.reserve(REQUEST) == "judges.max_calls: 3 calls are made"
        spending = budget.spending()
        assert (spending.calls, spending.retries, spending.refused, spending.tokens) == (3, 2, 1, 0)

    asyncio.run(spend())


def test_what_is_set_aside_is_more_than_a_call_can_take() -> None:
    """Of the prompt, a token per byte is set aside, and of the reply all that it may have."""
    text = "é" * 500
    assert upper_bound(make_request(text)).tokens - upper_bound(make_request("")).tokens == 1000
    assert upper_bound(make_request("")).tokens > MAX_TOKENS


def test_a_call_waits_for_what_others_have_set_aside() -> None:
    """A call that fits as soon as one under way has taken less than it might is not refused, but waits."""
    request = make_request(judge=make_judge(price=[100_000, 0]))

    async def spend() -> None:
        budget = Budget(calls=9, usd=upper_bound(request).usd + 1)
        first = await budget.reserve(request)
        assert isinstance(first, Reserved)
        second = asyncio.create_task(budget.reserve(request))
        await asyncio.sleep(0.01)
        assert not second.done()
        await budget.settle(first, told(1, usd=1.0))
        assert isinstance(await second, Reserved)

    asyncio.run(spend())


def test_what_a_server_does_not_tell_counts_as_the_most() -> None:
    """A call that timed out, or whose tokens are not told, is charged with all that it can have taken."""

    async def spend() -> None:
        budget = Budget(calls=9)
        reserved = await budget.reserve(REQUEST)
        assert isinstance(reserved, Reserved)
        await budget.settle(reserved, Usage(untold=1, usd=None))
        spending = budget.spending()
        assert (spending.tokens, spending.untold, spending.usd) == (reserved.tokens, 1, None)

    asyncio.run(spend())


def test_dollars_are_counted_by_the_price_and_their_limit_holds() -> None:
    """What replies cost adds up, and a call that could cost more than what is left is not made."""
    request = make_request(judge=make_judge(price=[100_000, 0]))

    async def spend() -> None:
        budget = Budget(calls=9, usd=upper_bound(request).usd + 1)
        reserved = await budget.reserve(request)
        assert isinstance(reserved, Reserved)
        await budget.settle(reserved, told(2, usd=2.0))
        assert budget.spending().usd == pytest.approx(2.0)
        refused = await budget.reserve(request)
        assert isinstance(refused, str)
        assert refused.startswith("judges.max_usd")

    asyncio.run(spend())


def test_a_call_without_a_price_is_never_free() -> None:
    """From the first call to a model without a price on, cost is unknown, also where the call is refused."""
    priced = make_request(judge=make_judge(price=[1, 1]))

    async def spend() -> None:
        budget = Budget(calls=9)
        for request, usd in ((priced, 0.0), (REQUEST, None), (priced, None)):
            reserved = await budget.reserve(request)
            assert isinstance(reserved, Reserved)
            assert budget.spending().usd == usd
            await budget.settle(reserved, None)
            assert budget.spending().usd == usd

    asyncio.run(spend())
