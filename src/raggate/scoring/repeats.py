"""A few questions asked twice: which, and whether the API ranked the same both times. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any, Self

from raggate.models.run import Chunk, Result

KEY = "repeated"
"""What it is called in the fingerprint of a run, and so in its baseline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """How many questions were asked a second time, how many got no answer then, and how many another ranking.

    `questions` names those of another ranking, as `case (mode)`.
    """

    asked: int
    failed: int
    differ: int
    questions: tuple[str, ...] = ()

    @property
    def compared(self) -> int:
        """How many were answered both times."""
        return self.asked - self.failed

    @classmethod
    def of(cls, fingerprint: Any) -> Self | None:
        """Read it from a fingerprint, which may come from anywhere; None when it holds none that can be."""
        stored = fingerprint.get(KEY) if isinstance(fingerprint, dict) else None
        if not isinstance(stored, dict):
            return None
        asked, failed, differ = (stored.get(name) for name in ("asked", "failed", "differ"))
        if not (type(asked) is int and type(failed) is int and type(differ) is int):
            return None
        if not (min(failed, differ) >= 0 and asked > 0 and failed + differ <= asked):
            return None
        names = stored.get("questions")
        questions = names if isinstance(names, list | tuple) else ()
        return cls(asked=asked, failed=failed, differ=differ, questions=tuple(map(str, questions))[:differ])

    def stored(self) -> dict[str, Any]:
        """Give it as plain JSON values."""
        return {**asdict(self), "questions": list(self.questions)}


def sample(results: Iterable[Result], size: int) -> tuple[Result, ...]:
    """Choose results to ask for again: the same ones in every run, and most of them when the golden set grows.

    Args:
        results: the results; only those with a response can be chosen.
        size: how many at most.
    """
    answered = [result for result in results if result.response is not None]
    return tuple(sorted(answered, key=_lot)[:size])


def compare(first: Sequence[Result], second: Sequence[Result]) -> Repeated:
    """Hold the second results against the first; both are of the same questions, in the same order."""
    pairs = [(before, after) for before, after in zip(first, second, strict=True) if after.response is not None]
    other = [
        f"{before.case_id} ({before.mode})" for before, after in pairs if not _same(_chunks(before), _chunks(after))
    ]
    return Repeated(asked=len(first), failed=len(first) - len(pairs), differ=len(other), questions=tuple(other))


def _lot(result: Result) -> bytes:
    return sha256(f"{result.mode}|{result.case_id}".encode()).digest()


def _chunks(result: Result) -> tuple[Chunk, ...]:
    return result.response.chunks if result.response is not None else ()


def _same(first: Sequence[Chunk], second: Sequence[Chunk]) -> bool:
    """Say whether two lists are one ranking, by their ids or, where an API makes ids up anew, by what they are."""
    return [chunk.chunk_id for chunk in first] == [chunk.chunk_id for chunk in second] or [
        (chunk.vault, chunk.rel_path, chunk.heading_path, chunk.text) for chunk in first
    ] == [(chunk.vault, chunk.rel_path, chunk.heading_path, chunk.text) for chunk in second]
