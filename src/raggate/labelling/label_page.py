"""The page to label: one document, and the four things that it asks of the server. Routes below the guard."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from html import unescape
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from raggate.base.errors import CannotTell, RaggateError, UsageError
from raggate.base.jsonio import dumps
from raggate.base.numbers import written
from raggate.base.quote import first_problem
from raggate.inputs.authoring.passages import snippet_of
from raggate.labelling.decisions import GRADES, Decision, Kind, Name, Where, read_as
from raggate.labelling.label_file import Unit
from raggate.labelling.pool import Pooled
from raggate.labelling.session import Session
from raggate.models.golden import Case, Support
from raggate.reports.page import frame

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

PACKAGES = ("raggate.labelling", frame.OWN)
MOST_LINES = 400
"""Lines of a file's difference that are shown."""
_POLICY = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]*)"')


class _Act(BaseModel):
    """What the page says that somebody did; the server finds the passage that it means."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    do: Kind
    case: str = ""
    passage: str = ""
    grade: int | None = None
    misleading: bool = False
    text: str = ""


class _Acts(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    by: Name
    acts: Annotated[list[_Act], Field(min_length=1, max_length=500)]


class _Writing(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    by: Name
    digest: str


def page(session: Session, annotator: str) -> str:
    """Render the document."""
    return frame.render(
        "label.html",
        {"golden": session.names["golden"], "suite": session.bench.settings.suite},
        title=f"label {session.bench.settings.suite}",
        packages=PACKAGES,
        styles=("style.css", "label.css"),
        scripts=("label.js",),
        data={"start": {"annotator": annotator}},
        policy=("connect-src 'self'",),
    )


def app(session: Session, annotator: str) -> Starlette:
    """Return the page and its routes."""
    from starlette.applications import Starlette
    from starlette.responses import HTMLResponse
    from starlette.routing import Route

    document = page(session, annotator)
    strict = f"{_policy_of(document)}; frame-ancestors 'none'"

    async def shown(_: Request) -> Response:
        return HTMLResponse(document, headers={"content-security-policy": strict})

    def answering(give: Callable[[Mapping[str, str], bytes], Any]) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            # of no other method is the length of a body checked
            body = await request.body() if request.method == "POST" else b""
            return _answered(lambda: give({"by": annotator, "id": "", **request.query_params}, body))

        return answer

    return Starlette(
        routes=[
            Route("/", shown),
            Route("/overview", answering(lambda query, _: overview(session, query["by"]))),
            Route("/question", answering(lambda query, _: question(session, query["id"], query["by"]))),
            Route("/review", answering(lambda *_: review(session))),
            Route("/decide", answering(lambda _, body: _decide(session, body)), methods=["POST"]),
            Route("/write", answering(lambda _, body: _write(session, body)), methods=["POST"]),
        ]
    )


def _policy_of(document: str) -> str:
    """Return the policy that a document names itself: sent as a header, it counts from the first byte on."""
    policy = _POLICY.search(document)
    if policy is None:
        raise ValueError("the page names no policy")
    return unescape(policy[1])


def _answered(work: Callable[[], Any]) -> Response:
    from starlette.responses import Response

    status, value = 200, None
    try:
        value = work()
    except RaggateError as error:
        status = 507 if isinstance(error, CannotTell) else 409
        value = {"problem": error.message, "hint": error.hint}
    return Response(dumps(value), status, media_type="application/json")


def _decide(session: Session, body: bytes) -> dict[str, Any]:
    acts = read_as(_Acts, body, "the request")
    decisions = []
    for act in acts.acts:
        where = where_of(session, act.case, act.passage) if act.passage else None
        given = act.model_dump(exclude={"passage"})
        try:
            decisions.append(Decision.model_validate({**given, "where": where, "by": acts.by, "at": ""}, strict=True))
        except ValidationError as error:
            raise UsageError(first_problem(error)) from None
    session.decide(decisions)
    return {"kept": len(decisions)}


def _write(session: Session, body: bytes) -> dict[str, Any]:
    asked = read_as(_Writing, body, "the request")
    whole = session.write(asked.digest, asked.by)
    return {"written": [file.name for file in whole.files]}


def overview(session: Session, annotator: str) -> dict[str, Any]:
    """Return all questions with how far one person has come."""
    cases = session.bench.golden.cases
    return {
        "suite": session.bench.settings.suite,
        "golden": session.names["golden"],
        "grades": [*GRADES.values()],
        "questions": [
            {
                "id": case.id,
                "question": case.question,
                "answerable": case.answerable,
                "tags": case.tags,
                "must_pass": case.must_pass,
                "passages": [_mark(session, case, place, annotator) for place in session.order(case.id, annotator)],
            }
            for case in cases
        ],
        "unplaced": session.pool.unplaced,
        "people": sorted({name for votes in session.state.votes.values() for name in votes}),
    }


def _mark(session: Session, case: Case, place: Pooled, annotator: str) -> dict[str, Any]:
    """One person's judgement of a passage; the judgements of others would sway them."""
    unit = Unit(case.id, place.where)
    vote = session.state.of(unit).get(annotator)
    return {
        "id": place.where.id,
        "grade": None if vote is None else vote.grade,
        "misleading": vote is not None and vote.misleading,
        "snippet": session.state.snippets.get(unit, ""),
    }


def question(session: Session, case_id: str, annotator: str) -> dict[str, Any]:
    """Return the texts of one question's passages, and what counts as its answer now."""
    case = session.by_id.get(case_id)
    if case is None:
        raise UsageError(f"no question {case_id!r}")
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
