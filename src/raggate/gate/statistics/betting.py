"""Numbers that are drawn without replacement -> how sure it is already that all of them together come to less than 0.

Two answers: whether that is certain, whatever is left; and by how much a bet against "they come to at least 0" has
grown. A fair bet grows to 1/a in at most the share a of all orders, at whatever moment it is looked at (Ville 1939).
Source: Waudby-Smith and Ramdas 2020, Confidence sequences for sampling without replacement.
"""

from __future__ import annotations

from math import fsum, isfinite

STAKES = (0.1, 0.25, 0.5, 0.75, 0.99)
"""Shares of the largest stake that are bet beside each other, so that none has to be chosen."""

SLACK = 1e-6
"""What rounding may add up to in a sum of many numbers."""


class Total:
    """The sum of all numbers, of which some are known. Of each the largest that it can be is known before.

    What is drawn must be drawn at random from all that are not known yet; what is known without that is no bet.
    """

    def __init__(self) -> None:
        self.count = 0
        """How many numbers there are in all."""
        self.sum = 0.0
        """The sum of those that are known."""
        self._left = 0
        self._reach = 0.0
        self._most = 0.0
        self._bets = [1.0] * len(STAKES)

    def expect(self, most: float) -> None:
        """Say before anything is known that there is a number of at most so much, at least 0.

        Raises:
            ValueError: when that is below 0, or no number.
        """
        if not (isfinite(most) and most >= 0):
            raise ValueError("the largest that a number can be is finite and at least 0")
        self.count += 1
        self._left += 1
        self._reach += most
        self._most = max(self._most, most)

    @property
    def highest(self) -> float:
        """The largest sum that is still possible."""
        return self.sum + self._reach

    @property
    def certain(self) -> bool:
        """Whether the sum is below 0, whatever is left."""
        return self.highest < -SLACK

    @property
    def evidence(self) -> float:
        """What a bet of 1 has become; in at most 1 of x orders it ever reaches x where the sum is at least 0."""
        return fsum(self._bets) / len(self._bets)

    def know(self, value: float, most: float) -> None:
        """Take a number of at most `most` that was not drawn at random. One that is no number counts as that."""
        self.sum += value if value <= most else most
        self._reach -= most
        self._left -= 1

    def draw(self, value: float, most: float) -> None:
        """Take one that was drawn at random, and bet on it; arguments as of `know`."""
        value = value if value <= most else most
        # were the sum at least 0, those that are left would have at least this mean
        fair = -self.sum / self._left
        if fair < self._most:
            move = (fair - value) / (self._most - fair)
            self._bets = [bet * (1 + stake * move) for bet, stake in zip(self._bets, STAKES, strict=True)]
        self.know(value, most)
