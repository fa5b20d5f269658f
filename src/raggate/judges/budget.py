"""What judging a run may take, and what it has taken: reserved before a call, settled after it, retries included."""

from __future__ import annotations

import asyncio

from msgspec import Struct

from raggate.base.jsonio import dumps
from raggate.base.numbers import counted, setting
from raggate.config.judge_settings import MAX_TOKENS
from raggate.models.judging import JudgeRequest, Spending, Usage

PER_MESSAGE = 64
"""Tokens that a server may put around a message, at most."""


class Reserved(Struct, frozen=True):
    """The most that a call under way may take."""

    tokens: int
    usd: float


class Budget:
    """The limits of one run. Nothing is beyond them at any time, whatever the calls under way come to."""

    def __init__(self, *, calls: int, usd: float | None = None) -> None:
        self._most_calls, self._most_usd = calls, usd
        self._calls = self._retries = self._refused = self._untold = 0
        self._tokens = 0
        self._usd = self._held_usd = 0.0
        self._priced = True
        self._under_way = 0
        self._changed = asyncio.Condition()

    async def reserve(self, request: JudgeRequest, *, retry: bool = False) -> Reserved | str:
        """Set aside the most that a call may take, or return the limit that does not allow it, as a sentence.

        It waits for calls under way if they may leave enough.
        """
        most = upper_bound(request)
        async with self._changed:
            while (limit := self._exceeded(most)) and self._under_way and self._exceeded(most, held=False) is None:
                await self._changed.wait()
            if limit:
                self._refused += 1
                return limit
            self._calls += 1
            # also where the call will fail: nobody knows what it costs
            self._priced = self._priced and request.model.price is not None
            self._retries += retry
            self._under_way += 1
            self._held_usd += most.usd
            return most

    async def settle(self, reserved: Reserved, usage: Usage | None) -> None:
        """Replace what was set aside by what the call took.

        Args:
            usage: what the server says it took; None where it refused the call, which nobody charges for. What it does
                not tell is taken to be all that was set aside.
        """
        async with self._changed:
            self._under_way -= 1
            self._held_usd -= reserved.usd
            if usage is not None:
                untold = usage.untold > 0
                self._untold += untold
                self._tokens += reserved.tokens if untold else usage.input_tokens + usage.output_tokens
                self._usd += reserved.usd if usage.usd is None else usage.usd
                self._priced = self._priced and (usage.usd is not None)
            self._changed.notify_all()

    def spending(self) -> Spending:
        """Return what was spent so far."""
        return Spending(
            calls=self._calls,
            retries=self._retries,
            refused=self._refused,
            untold=self._untold,
            tokens=self._tokens,
            usd=self._usd if self._priced else None,
        )

    def _exceeded(self, most: Reserved, *, held: bool = True) -> str | None:
        usd = self._usd + most.usd + (self._held_usd if held else 0.0)
        if self._calls >= self._most_calls:
            are = "is" if self._most_calls == 1 else "are"
            return f"judges.max_calls: {counted(self._most_calls, 'call')} {are} made"
        if self._most_usd is not None and usd > self._most_usd:
            return f"judges.max_usd: the call could take more than {setting(self._most_usd)} dollars in all"
        return None


def upper_bound(request: JudgeRequest) -> Reserved:
    """Return the most that a call can take: no token is shorter than a byte."""
    messages = request.prompt.messages
    read = sum(len(message.text.encode()) + PER_MESSAGE for message in messages) + len(dumps(request.prompt.schema))
    price = request.model.price
    usd = 0.0 if price is None else (read * price[0] + MAX_TOKENS * price[1]) / 1e6
    return Reserved(read + MAX_TOKENS, usd)
