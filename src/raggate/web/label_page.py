"""The page to label: one document, and the four things that it asks of the server. Routes below the guard."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from raggate.errors import CannotTell, RaggateError, UsageError
from raggate.labelling.decisions import Decision, Key, Kind, Name
from raggate.labelling.session import Session
from raggate.reports.page import frame
from raggate.text.jsonio import dumps, loads
from raggate.text.problems import first_problem
from raggate.web import screens

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

Body = TypeVar("Body", bound=BaseModel)

PACKAGES = ("raggate.web", frame.OWN)
_POLICY = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]*)"')


class _Act(BaseModel):
    """What the page says that somebody did; the server finds the passage that it means."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    do: Kind
    case: str = ""
    passage: str = ""
    grade: int | None = None
    misleading: bool = False
    key: Key | None = None
    value: bool | str | None = None
    proposal: str = ""
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
    """Return the page and its routes.

    Args:
        annotator: who judges unless they give another name in the page.
    """
    from starlette.applications import Starlette
    from starlette.responses import HTMLResponse
    from starlette.routing import Route

    document = page(session, annotator)
    strict = f"{_policy_of(document)}; frame-ancestors 'none'"

    async def shown(_: Request) -> Response:
        return HTMLResponse(document, headers={"content-security-policy": strict})

    def reading(give: Callable[[Request], Any]) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            return _answered(lambda: give(request))

        return answer

    def by(request: Request) -> str:
        return request.query_params.get("by", annotator)

    async def decided(request: Request) -> Response:
        body = await request.body()
        return _answered(lambda: _decide(session, body))

    async def written(request: Request) -> Response:
        body = await request.body()
        return _answered(lambda: _write(session, body))

    return Starlette(
        routes=[
            Route("/", shown),
            Route("/overview", reading(lambda request: screens.overview(session, by(request)))),
            Route(
                "/question",
                reading(lambda request: _question(session, request.query_params.get("id", ""), by(request))),
            ),
            Route("/review", reading(lambda _: screens.review(session))),
            Route("/decide", decided, methods=["POST"]),
            Route("/write", written, methods=["POST"]),
        ]
    )


def _policy_of(document: str) -> str:
    """Return the policy that a document names itself: sent as a header, it counts from the first byte on."""
    policy = _POLICY.search(document)
    if policy is None:
        raise ValueError("the page names no policy")
    return unescape(policy[1])


def _answered(work: Callable[[], Any]) -> Response:
    """Answer with what work gives, or with why there is nothing."""
    from starlette.responses import Response

    status, value = 200, None
    try:
        value = work()
    except RaggateError as error:
        status = 507 if isinstance(error, CannotTell) else 409
        value = {"problem": error.message, "hint": error.hint}
    return Response(dumps(value), status, media_type="application/json")


def _question(session: Session, case_id: str, annotator: str) -> dict[str, Any]:
    value = screens.question(session, case_id, annotator)
    if value is None:
        raise UsageError(f"no question {case_id!r}")
    return value


def _read(model: type[Body], body: bytes) -> Body:
    try:
        return model.model_validate(loads(body), strict=True)
    except ValidationError as error:
        raise UsageError(first_problem(error)) from None
    except ValueError as error:
        raise UsageError(f"not JSON: {error}") from None


def _decide(session: Session, body: bytes) -> dict[str, Any]:
    acts = _read(_Acts, body)
    decisions = []
    for act in acts.acts:
        where = screens.where_of(session, act.case, act.passage) if act.passage else None
        given = act.model_dump(exclude={"passage"})
        try:
            decisions.append(Decision.model_validate({**given, "where": where, "by": acts.by, "at": ""}, strict=True))
        except ValidationError as error:
            raise UsageError(first_problem(error)) from None
    session.decide(decisions)
    return {"kept": len(decisions)}


def _write(session: Session, body: bytes) -> dict[str, Any]:
    asked = _read(_Writing, body)
    whole = session.write(asked.digest, asked.by)
    return {"written": [file.name for file in whole.files]}
