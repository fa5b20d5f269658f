"""What is asked after the suite, for the invariants that are switched on: the same probes of the same inputs. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import sha256
from heapq import nsmallest
from typing import Literal

from msgspec.structs import replace

from raggate.config.question_settings import asked_in
from raggate.config.schema import Config
from raggate.inputs.headings import headings_with_text
from raggate.models.golden import Case, Golden, Question, Vault
from raggate.models.run import Probe, ProbeKind
from raggate.text.headings import Elements, fold, inside_place, written
from raggate.text.numbers import lot
from raggate.text.unicode import stream_safe

WORDS = 6
"""Words of a question."""
_CONSONANTS = "bdfgklmnprtvz"
_VOWELS = "aeiou"
_WORD = re.compile(r"\w+")
MAX_HEADING = 200
"""Characters of a heading that is asked as a question."""
_LIST_HELD_AGAINST: dict[str, ProbeKind] = {
    "top_is_prefix": "prefix",
    "spelling_ignored": "spelling",
    "reindex_idempotent": "reindex",
}
"""Invariants whose probes are held against the suite's own answer."""


def spellings(question: str) -> Iterator[tuple[str, str]]:
    """Yield what was changed and the changed question, where that is another one.

    A case that another alphabet has no way back from (`ß`, `İ`) is left alone: capitals whose case folding is not that
    of the question are another word.
    """
    capitals = question.upper()
    if capitals != question and capitals.casefold() == question.casefold():
        yield "capitals", capitals
    elif (small := question.lower()) != question and small.casefold() == question.casefold():
        yield "small letters", small
    spaced = f"  {'  '.join(question.split())} "
    if spaced != question:
        yield "white space", spaced
    yield from unicode_form(question)


def unicode_form(question: str) -> Iterator[tuple[str, str]]:
    """Yield the decomposed form (NFD) of a question, or the composed one (NFC) of one that is decomposed already."""
    safe = stream_safe(question)
    forms: tuple[Literal["NFD"], Literal["NFC"]] = ("NFD", "NFC")
    for form in forms:
        other = unicodedata.normalize(form, safe)
        if other not in {question, safe}:
            yield f"Unicode form {form}", other
            return


def nonsense(seed: str, number: int, texts: Iterable[str]) -> tuple[str, ...]:
    """Make questions of words of three syllables.

    Args:
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


def plan(config: Config, golden: Golden, vault: Vault, private: Sequence[str]) -> tuple[Probe, ...]:
    """Say what is to be asked.

    Args:
        config: the levels of the invariants, and how many questions each takes.
        private: those that are private, as `vault/rel_path`.
    """
    levels, sample = config.invariants, config.ask.probes.sample
    kinds = {kind for name, kind in _LIST_HELD_AGAINST.items() if getattr(levels, name) != "off"}
    probes = list(_of_questions(config, golden, kinds)) if kinds else []
    if levels.headings_findable != "off":
        probes += _of_headings(config, vault, private)
    if levels.nonsense_abstains != "off":
        questions = nonsense(vault.hash, sample, vault.texts.values())
        probes += [
            Probe(kind="nonsense", mode=_mode(config, place), question=text) for place, text in enumerate(questions)
        ]
    if levels.private_withheld != "off" and config.api.program is None:
        probes += _of_private_notes(config, vault, private)
    if levels.principals_isolated != "off":
        probes += _of_principals(config, golden)
    return tuple(probes)


def question_of(probe: Probe, golden: Golden, config: Config) -> Case:
    """Return the case that asks a probe. Nothing in it tells that it is one.

    Args:
        golden: the questions of the suite, one of which it may be made of.
        config: how many chunks are asked for, and which vaults a principal asks.
    """
    case = next((case for case in golden.cases if case.id == probe.case_id), None)
    if case is None:
        name = sha256(f"{probe.note}|{probe.question}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
        return Case(id=name, question=probe.question, answerable=True)
    k = fewer(case.k or config.ask.k) if probe.kind == "prefix" else case.k
    principal = config.ask.probes.principals.get(probe.principal)
    if principal is not None and principal.vaults is not None:
        case = replace(case, vaults=tuple(principal.vaults), folders=())
    return replace(case, question=probe.question, k=k)


def fewer(k: int) -> int:
    """Return how many chunks are asked for to see whether they are the first of `k`: half as many."""
    return (k + 1) // 2


def _asked(config: Config, golden: Golden) -> Iterator[Question]:
    return ((case, mode) for mode in config.ask.modes for case in golden.cases if asked_in(case.modes, mode))


def _lot(question: Question) -> bytes:
    return lot(question[1], question[0].id)


def _of_questions(config: Config, golden: Golden, kinds: set[ProbeKind]) -> Iterator[Probe]:
    """Ask the same few questions otherwise; each once as it is too, where it is held against its own answer."""
    sample = config.ask.probes.sample
    chosen = nsmallest(sample, _asked(config, golden), key=_lot)
    accented: list[Question] = []
    if "spelling" in kinds:
        # questions of ASCII alone have one Unicode form
        other_forms = (item for item in _asked(config, golden) if any(unicode_form(item[0].question)))
        accented = [item for item in nsmallest(sample, other_forms, key=_lot) if item not in chosen]
    for case, mode in (*chosen, *accented):
        yield Probe(kind="control", mode=mode, question=case.question, case_id=case.id)
    for case, mode in chosen:
        if "prefix" in kinds:
            yield Probe(kind="prefix", mode=mode, question=case.question, case_id=case.id)
        if "spelling" in kinds:
            yield from _spelled(case, mode, spellings(case.question))
        if "reindex" in kinds:
            yield Probe(kind="reindex", mode=mode, question=case.question, case_id=case.id)
    for case, mode in accented:
        yield from _spelled(case, mode, unicode_form(case.question))


def _spelled(case: Case, mode: str, variants: Iterable[tuple[str, str]]) -> Iterator[Probe]:
    for variant, question in variants:
        yield Probe(kind="spelling", mode=mode, question=question, case_id=case.id, variant=variant)


def _of_headings(config: Config, vault: Vault, private: Sequence[str]) -> Iterator[Probe]:
    """Ask headings that no other section has, and whose words the question can be found by."""
    places = [
        (note, heading)
        for note, text in vault.named_texts.items()
        if note not in private
        for heading in headings_with_text(text)
    ]
    counts = Counter(_title(heading) for _, heading in places)
    only = [place for place in places if counts[_title(place[1])] == 1 and _askable(place[1])]
    only.sort(key=lambda place: lot(place[0], written(place[1])))
    for position, (note, heading) in enumerate(only[: config.ask.probes.sample]):
        yield Probe(
            kind="heading", mode=_mode(config, position), question=heading[-1], note=note, heading_path=written(heading)
        )


def _of_private_notes(config: Config, vault: Vault, private: Sequence[str]) -> Iterator[Probe]:
    """Ask for private notes by a heading of theirs, or by their name."""
    texts = vault.named_texts
    for position, note in enumerate(sorted(private, key=lot)[: config.ask.probes.sample]):
        headings = [heading[-1] for heading in headings_with_text(texts[note]) if _askable(heading)]
        name = note.rpartition("/")[2].removesuffix(".md")
        yield Probe(kind="private", mode=_mode(config, position), question=(headings or [name])[-1], note=note)


def _of_principals(config: Config, golden: Golden) -> Iterator[Probe]:
    """Ask every principal the same questions, those first whose answer somebody must not see."""
    principals = config.ask.probes.principals
    if not principals:
        return

    def order(question: Question) -> tuple[bool, bytes]:
        return not _kept_from_somebody(question[0], config), _lot(question)

    for case, mode in nsmallest(config.ask.probes.sample, _asked(config, golden), key=order):
        for name in principals:
            yield Probe(kind="principal", mode=mode, question=case.question, case_id=case.id, principal=name)


def _kept_from_somebody(case: Case, config: Config) -> bool:
    notes = [
        f"{vault}/{support.rel_path}"
        for support in case.gold_supports
        for vault in ([support.vault] if support.vault else case.vaults or config.vault)
    ]
    return any(not inside_place(note, who.sees) for who in config.ask.probes.principals.values() for note in notes)


def _title(heading: Elements) -> str:
    return fold(heading[-1]).casefold()


def _askable(heading: Elements) -> bool:
    # a heading such as "2024" or "Log" is asked for by nobody
    return len(heading[-1]) <= MAX_HEADING and len(heading[-1].split()) > 1


def _mode(config: Config, position: int) -> str:
    """Return the modes in turn."""
    return config.ask.modes[position % len(config.ask.modes)]
