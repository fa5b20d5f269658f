"""Questions of words that stand in no note: made of a seed, so the same in every run over the same notes. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from hashlib import sha256

WORDS = 6
"""Words of a question."""

_CONSONANTS = "bdfgklmnprtvz"
_VOWELS = "aeiou"
_WORD = re.compile(r"\w+")


def nonsense(seed: str, number: int, texts: Iterable[str]) -> tuple[str, ...]:
    """Make questions of words of three syllables.

    Args:
        seed: what they are made of.
        number: how many questions.
        texts: the notes; no word of a question is one of theirs.
    """
    used = {word for text in texts for word in _WORD.findall(text.casefold())}
    words = _words(seed, used)
    return tuple(" ".join(next(words) for _ in range(WORDS)).capitalize() + "?" for _ in range(number))


def _words(seed: str, used: Collection[str]) -> Iterator[str]:
    counter = 0
    while True:
        digest = sha256(f"{seed}|{counter}".encode()).digest()
        counter += 1
        word = "".join(
            _CONSONANTS[first % len(_CONSONANTS)] + _VOWELS[second % len(_VOWELS)]
            for first, second in zip(digest[:6:2], digest[1:6:2], strict=True)
        )
        if word not in used:
            yield word
