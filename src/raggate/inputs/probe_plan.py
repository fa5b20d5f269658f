"""What is asked after the suite, for private notes and principals: the same probes of the same inputs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from heapq import nsmallest

from msgspec.structs import replace

from raggate.base.headings import inside_place
from raggate.base.numbers import lot
from raggate.config.question_settings import asked_in
from raggate.config.schema import Config
from raggate.inputs.headings import headings_with_text
from raggate.models.golden import Case, Golden, Question, Vault
from raggate.models.run import Probe

MAX_HEADING = 200
"""Characters of a heading that is asked as a question."""

SAMPLE = 5
"""How many private notes are asked for, and how many questions as each principal."""


def plan(config: Config, golden: Golden, vault: Vault, private: Sequence[str]) -> tuple[Probe, ...]:
    """Return what is to be asked."""
    probes: list[Probe] = []
    if config.invariants.private_withheld != "off" and not config.ask.runs_program:
        probes += _of_private_notes(config, vault, private)
    if config.invariants.principals_isolated != "off":
        probes += _of_principals(config, golden)
    return tuple(probes)


def question_of(probe: Probe, golden: Golden, config: Config) -> Case:
    """Return the case that asks a probe. Nothing in it tells that it is one."""
    case = next((case for case in golden.cases if case.id == probe.case_id), None)
    if case is None:
        name = sha256(f"{probe.note}|{probe.question}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
        return Case(id=name, question=probe.question, answerable=True)
    principal = config.ask.principals.get(probe.principal)
    if principal is not None and principal.vaults is not None:
        case = replace(case, vaults=tuple(principal.vaults), folders=())
    return case


def _of_private_notes(config: Config, vault: Vault, private: Sequence[str]) -> Iterator[Probe]:
    """Ask for private notes by a heading of theirs, or by their name."""
    texts = vault.named_texts
    for position, note in enumerate(sorted(private, key=lot)[:SAMPLE]):
        # a heading such as "2024" or "Log" is asked for by nobody
        titles = (heading[-1] for heading in headings_with_text(texts[note]))
        headings = [title for title in titles if len(title) <= MAX_HEADING and len(title.split()) > 1]
        name = note.rpartition("/")[2].removesuffix(".md")
        yield Probe(
            kind="private",
            mode=config.ask.modes[position % len(config.ask.modes)],
            question=(headings or [name])[-1],
            note=note,
        )


def _of_principals(config: Config, golden: Golden) -> Iterator[Probe]:
    """Ask every principal the same questions, those first whose answer somebody must not see."""
    principals = config.ask.principals
    if not principals:
        return

    def order(question: Question) -> tuple[bool, bytes]:
        case, mode = question
        return not _kept_from_somebody(case, config), lot(mode, case.id)

    asked = ((case, mode) for mode in config.ask.modes for case in golden.cases if asked_in(case.modes, mode))
    for case, mode in nsmallest(SAMPLE, asked, key=order):
        for name in principals:
            yield Probe(kind="principal", mode=mode, question=case.question, case_id=case.id, principal=name)


def _kept_from_somebody(case: Case, config: Config) -> bool:
    notes = [
        f"{vault}/{support.rel_path}"
        for support in case.gold_supports
        for vault in ([support.vault] if support.vault else case.vaults or config.vault)
    ]
    return any(not inside_place(note, who.sees) for who in config.ask.principals.values() for note in notes)
