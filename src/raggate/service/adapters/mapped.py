"""Any JSON API: cases become the configured request, bodies are read by field paths, its index becomes a state."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, quote_plus

from raggate.base import jsonio
from raggate.base.errors import UsageError
from raggate.base.field_paths import ABSENT
from raggate.base.http_client import httpx
from raggate.base.quote import quoted
from raggate.config.ask_settings import Ask
from raggate.config.service_settings import ENVIRONMENT, PLACEHOLDER, Readiness, names
from raggate.models.golden import Case
from raggate.models.run import Response
from raggate.models.service import Call, IndexState
from raggate.service.adapters.ask import fetch_state, parsed, problem_of, status_text
from raggate.service.adapters.mapped_response import Prefixes, body_of, read, refuse_errors, state_of
from raggate.service.engines import indexes_beside

MAX_URL = 32_000
"""Characters of path and query together; the HTTP library takes no more than about twice that, servers less."""
_STREAMS = "text/event-stream, application/x-ndjson, application/json"

Values = Mapping[str, Any]
"""What each placeholder stands for; ABSENT for what the case does not say."""

_SENDABLE = re.compile(r"[\x21-\x7e]+(?: +[\x21-\x7e]+)*")


def values_of(case: Case, mode: str, settings: Ask) -> Values:
    """Return what the placeholders of a question stand for."""
    return {
        "question": case.question,
        "k": case.k or settings.k,
        "mode": mode,
        "vaults": list(case.vaults) or ABSENT,
        "folders": list(case.folders) or ABSENT,
        "detail": case.detail or ABSENT,
        "case_id": case.id,
    }


def filled_json(template: Any, values: Values) -> Any:
    """Fill a JSON template. A text that is one placeholder becomes its value; entries without a value are left out."""
    if isinstance(template, str):
        name = _only(template)
        return filled_text(template, values) if name is None else values[name]
    if isinstance(template, list):
        return [value for item in template if (value := filled_json(item, values)) is not ABSENT]
    if isinstance(template, dict):
        pairs = ((key, filled_json(item, values)) for key, item in template.items())
        return {key: value for key, value in pairs if value is not ABSENT}
    return template


def filled_path(template: str, values: Values) -> str:
    """Fill a path and its query, percent-encoded; what stands for a placeholder can be one step of it at most.

    A parameter that is one placeholder without a value is left out.
    """
    path, _, query = template.partition("?")
    pairs = [(pair, _only(pair.partition("=")[2])) for pair in query.split("&") if pair]
    kept = "&".join(pair for pair, name in pairs if name is None or values[name] is not ABSENT)
    filled = _filled(path, values, _step)
    return f"{filled}?{_filled(kept, values, quote_plus)}" if kept else filled


def filled_text(template: str, values: Values) -> str:
    """Fill a text: lists are joined by commas, what has no value is nothing."""
    return _filled(template, values, str)


def _filled(template: str, values: Values, written: Callable[[str], str]) -> str:
    pieces: list[str] = []
    position = 0
    for match in PLACEHOLDER.finditer(template):
        name = match[1]
        pieces += template[position : match.start()], match[0][0] if name is None else written(_text(values[name]))
        position = match.end()
    return "".join((*pieces, template[position:]))


def _only(template: str) -> str | None:
    """Return the name of the placeholder that is all of a text, if that is so."""
    match = PLACEHOLDER.fullmatch(template)
    return match[1] if match else None


def _text(value: Any) -> str:
    if value is ABSENT:
        return ""
    return ",".join(value) if isinstance(value, list) else str(value)


def _step(text: str) -> str:
    # a step of dots alone would be taken for the directory above
    return "%2E" * len(text) if text in {".", ".."} else quote(text, safe="")


def prefixes(written: str | None, vault_names: Sequence[str]) -> Prefixes:
    """Return what paths may begin with, longest first, and the vault that tells."""
    if not written:
        return ()
    if "vault" not in names(written):
        return ((filled_text(written, {}), None),)
    pairs = [(filled_text(written, {"vault": name}), name) for name in vault_names]
    return tuple(sorted(pairs, key=lambda pair: -len(pair[0])))


def variables(headers: Mapping[str, str], environment: Mapping[str, str], key: str) -> dict[str, str]:
    """Return the variables that headers name, by placeholder."""
    values: dict[str, str] = {}
    for header, template in headers.items():
        for name in names(template):
            if not name.startswith(ENVIRONMENT):
                continue
            variable = name.removeprefix(ENVIRONMENT)
            # a final line end is easily stored with a secret
            value = environment.get(variable, "").strip()
            if not value:
                raise UsageError(
                    f"the environment variable {variable}, which {key}.{header} needs, is not set",
                    hint=f"Set it, on GitHub as `env: {{{variable}: ...}}` of the step. "
                    "Pull requests from forks get no secrets.",
                )
            if not _SENDABLE.fullmatch(value):
                raise UsageError(
                    f"the environment variable {variable} contains characters that an HTTP header cannot have"
                )
            values[name] = value
    return values


class MappedAdapter:
    """Speaks the protocol that the section `ask` describes."""

    def __init__(self, settings: Ask, vault_names: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self._settings = settings
        self._fields = settings.fields
        self._secrets = variables(settings.headers, environment or {}, "ask.headers")
        self._prefixes = prefixes(self._fields.chunks.path_prefix, vault_names)

    def call(self, case: Case, mode: str) -> Call:
        values = values_of(case, mode, self._settings)
        path = filled_path(self._settings.path or "", values)
        if len(path) > MAX_URL:
            raise UsageError(
                f"case {quoted(case.id)} makes a URL of more than {MAX_URL} characters",
                hint="Send {question} in ask.body.",
            )
        body = None if self._settings.body is None else filled_json(self._settings.body, values)
        headers = self._headers(case.k or self._settings.k, mode)
        if self._fields.stream is not None and "accept" not in {name.lower() for name in headers}:
            headers["Accept"] = _STREAMS
        return Call(method="GET" if body is None else "POST", path=path, query={}, json=body, headers=headers)

    def parse(self, body: bytes, case: Case) -> Response:
        """Read a 200 body. Whatever no path leads to is ignored, and a ValueError names the case."""
        fields, retrieval_only = self._fields, self._settings.retrieval_only
        try:
            return read(body_of(body, fields.stream), fields, self._prefixes, retrieval_only=retrieval_only)
        except ValueError as error:
            raise ValueError(f"{error} (question {quoted(case.id, limit=60)})") from None

    def index_state(self, client: httpx.Client, ready: Readiness) -> IndexState:
        """Ask the API how its index stands: its health, and what `ask.index` says."""
        path = ready.health_path
        problem = problem_of(path, *self._fetch(client, "GET", path))
        if problem:
            return IndexState(healthy=False, indexing=False, detail=problem)
        index = self._settings.index
        if index is None:
            return IndexState(healthy=True, indexing=False)
        method, path = "GET" if index.body is None else "POST", index.path or ""
        status, body = self._fetch(client, method, path, index.body)
        if status == 200:
            root = parsed(body, "the body: ")
            try:
                refuse_errors(root, None)
                return state_of(index, root)
            except ValueError as error:
                beside = self._indexes(client, path)
                if not beside:
                    raise
                detail = str(error)
        else:
            beside, detail = self._indexes(client, path), status_text(status, body)
        words = "; ".join(filter(None, (f"{method} {path}: {detail}", beside)))
        return IndexState(healthy=True, indexing=True, unseen=True, detail=words)

    def _indexes(self, client: httpx.Client, path: str) -> str:
        """Return a sentence on the indexes of a known engine; empty for any other."""

        def get(listing: str) -> object:
            status, body = self._fetch(client, "GET", listing)
            return parsed(body) if status == 200 else None

        try:
            return indexes_beside(path, get)
        except (httpx.HTTPError, ValueError):
            return ""

    def _headers(self, k: int, mode: str) -> dict[str, str]:
        values = {**self._secrets, "k": k, "mode": mode}
        return {name: filled_text(text, values) for name, text in self._settings.headers.items()}

    def _fetch(self, client: httpx.Client, method: str, url: str, sent: object = None) -> tuple[int, bytes]:
        headers = self._headers(self._settings.k, self._settings.modes[0])
        if sent is None:
            return fetch_state(client, method, url, headers=headers)
        headers = {"Content-Type": "application/json", **headers}
        return fetch_state(client, method, url, headers=headers, content=jsonio.dumps(sent))
