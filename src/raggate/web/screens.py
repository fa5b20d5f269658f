"""A session -> what the page to label shows, as JSON. Texts are as they came: the page makes text nodes of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from raggate.inputs.authoring.passages import snippet_of
from raggate.inputs.authoring.proposals import Proposal
from raggate.labelling.decisions import GRADES, Where
from raggate.labelling.label_file import Unit
from raggate.labelling.pool import Pooled
from raggate.labelling.session import Session
from raggate.models.golden import Case, Support
from raggate.text.numbers import written

MOST_LINES = 400
"""Lines of a file's difference that are shown."""


def overview(session: Session, annotator: str) -> dict[str, Any]:
    """Return all questions with how far one person has come, and the proposals."""
    cases = session.bench.golden.cases
    return {
        "suite": session.bench.settings.suite,
        "golden": session.names["golden"],
        "grades": [*GRADES.values()],
        "categories": sorted({case.category for case in cases}),
        "difficulties": sorted({case.difficulty for case in cases}),
        "questions": [_question(session, case, annotator) for case in cases],
        "proposals": [_proposal(session, proposal) for proposal in session.waiting()],
        "unplaced": session.pool.unplaced,
        "unknown": session.unknown,
        "people": sorted({name for votes in session.state.votes.values() for name in votes}),
    }


def _question(session: Session, case: Case, annotator: str) -> dict[str, Any]:
    set_here: Mapping[Any, Any] = session.state.keys.get(case.id, {})
    return {
        "id": case.id,
        "question": case.question,
        "answerable": case.answerable,
        "tags": case.tags,
        **{key: set_here.get(key, getattr(case, key)) for key in ("must_pass", "category", "difficulty")},
        "passages": [_mark(session, case, place, annotator) for place in session.order(case.id, annotator)],
    }


def _mark(session: Session, case: Case, place: Pooled, annotator: str) -> dict[str, Any]:
    """Say what one person said of a passage; what others said would sway them."""
    unit = Unit(case.id, place.where)
    vote = session.state.of(unit).get(annotator)
    return {
        "id": place.where.id,
        "grade": None if vote is None else vote.grade,
        "misleading": vote is not None and vote.misleading,
        "snippet": session.state.snippets.get(unit, ""),
        "skipped": unit in session.state.skipped.get(annotator, ()),
    }


def question(session: Session, case_id: str, annotator: str) -> dict[str, Any] | None:
    """Return the texts of one question's passages, and what counts as its answer now; None for no such question."""
    case = session.by_id.get(case_id)
    if case is None:
        return None
    proposes = session.bench.settings.score.reads_snippets
    return {
        "id": case.id,
        "facts": case.expected_key_facts,
        "gold": [_gold(session, support) for support in case.gold_supports],
        "passages": [
            {
                "id": place.where.id,
                "note": _note(place),
                "heading": place.where.heading_path or "",
                "text": place.text,
                "snippet": snippet_of(case.question, place.text) if proposes and place.where.rel_path else "",
            }
            for place in session.order(case.id, annotator)
        ],
    }


def _note(place: Pooled) -> str:
    where = place.where
    name = where.rel_path or where.chunk_id or where.doc_id or ""
    line = f":{place.line}" if place.line else ""
    return f"{place.vault}/{name}{line}" if place.vault else name + line


def _gold(session: Session, support: Support) -> dict[str, Any]:
    return {
        "note": support.rel_path or support.chunk_id or support.doc_id,
        "heading": support.heading_path or "",
        "grade": support.grade,
        "snippets": support.snippets,
        "text": session.places.text_of(support),
    }


def _proposal(session: Session, proposal: Proposal) -> dict[str, Any]:
    decision = session.state.proposals.get(proposal.id)
    words = session.state.drafts.get(proposal.id, "")
    return {
        "id": proposal.id,
        "source": proposal.source,
        "question": words or (decision.text if decision else "") or proposal.case.question,
        "answer": proposal.answer,
        "state": decision.do if decision else "waiting",
        "places": [_gold(session, support) for support in proposal.case.gold_supports],
    }


def review(session: Session) -> dict[str, Any]:
    """Return what writing would do, what waits for people to settle it, and how far they agree."""
    whole, agreed = session.plan(), session.agreement()
    return {
        "digest": whole.digest,
        "sentences": whole.sentences,
        "refused": [{"what": name, "why": why} for name, why in whole.edits.refused.items()],
        "files": [
            {"name": file.name, "lines": file.lines[:MOST_LINES], "more": max(len(file.lines) - MOST_LINES, 0)}
            for file in whole.files
        ],
        "splits": [_split(session, unit) for unit in whole.edits.split],
        "agreement": {
            "passages": agreed.passages,
            "alpha": written(agreed.alpha),
            "percent": written(agreed.percent),
            "pairs": [
                {"names": [pair.first, pair.second], "shared": pair.shared, "kappa": written(pair.kappa)}
                for pair in agreed.pairs
            ],
        },
    }


def _split(session: Session, unit: Unit) -> dict[str, Any]:
    votes = session.state.of(unit)
    case = session.by_id.get(unit.case)
    place = next((item for item in session.pool.passages.get(unit.case, ()) if item.where == unit.where), None)
    return {
        "case": unit.case,
        "passage": unit.where.id,
        "question": case.question if case else "",
        "note": _note(place) if place else unit.where.rel_path,
        "heading": unit.where.heading_path or "",
        "text": place.text if place else "",
        "votes": [{"by": name, "grade": vote.grade} for name, vote in sorted(votes.items())],
    }


def where_of(session: Session, case_id: str, passage: str) -> Where | None:
    """Find a passage of a question by its id; None for no such passage."""
    pooled = (place.where for place in session.pool.passages.get(case_id, ()))
    judged = (unit.where for unit in session.state.votes if unit.case == case_id)
    return next((where for where in (*pooled, *judged) if where.id == passage), None)
