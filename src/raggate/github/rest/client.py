"""Requests to GitHub -> JSON or bytes: paced, repeated where that is safe, within one budget of waiting."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from raggate.errors import UsageError
from raggate.github.rest.exchange import Answer, Request
from raggate.github.rest.failures import reply_message
from raggate.github.rest.retry import RetryingClient
from raggate.text.http_client import httpx
from raggate.text.jsonio import dumps, loads
from raggate.text.quote import cut, quoted

MOST_JSON_BYTES = 64 << 20
"""The largest JSON answer that is read: a page of a hundred comments of full length has about half."""

RAW = "application/vnd.github.raw+json"

MOST_ITEMS = 100_000
_MOST_PAGES = 1000
_PER_PAGE = 100
_PATH = re.compile(r"(/[A-Za-z0-9._~!$&'()*+,;=:@%-]+)+")


class GitHub(RetryingClient, AbstractContextManager["GitHub"]):
    """GitHub's API, with one token, one request at a time. To be used as a context manager; see `RetryingClient`."""

    def __exit__(self, *error: object) -> None:
        self._connection.close()

    def get(self, path: str, **params: str | int | None) -> Any:
        """Read a JSON value; None when the answer is empty. A parameter that is None is left out.

        Args:
            path: below the API's base, its foreign parts percent-encoded.

        Raises:
            GitHubError: when GitHub refuses, or does not answer in time.
        """
        request = Request(method="GET", url=self._url(path, **params), path=path, limit=MOST_JSON_BYTES)
        return self._parsed(request, self.perform(request))

    def pages(self, path: str, *, key: str | None = None, **params: str | int | None) -> Iterator[Any]:
        """Read a list page by page, as far as the caller goes. One of more than `MOST_ITEMS` is an error, never cut.

        Args:
            key: where the list stands when it is wrapped in an object, such as `check_runs`.

        Raises:
            GitHubError: when a page cannot be read or is no list, or the list does not end.
        """
        url = self._url(path, per_page=_PER_PAGE, **params)
        count, seen = 0, {str(url)}
        while True:
            request = Request(method="GET", url=url, path=path, limit=MOST_JSON_BYTES)
            answer = self.perform(request)
            items = self._parsed(request, answer)
            if key is not None:
                items = items.get(key) if isinstance(items, dict) else None
            if not isinstance(items, list):
                raise self.error(request, "expected a list" + (f" in {key!r}" if key else ""), status=answer.status)
            for item in items:
                count += 1
                if count > MOST_ITEMS:
                    raise self.error(request, f"the list has more than {MOST_ITEMS} entries", status=answer.status)
                yield item
            if not answer.next_url:
                return
            url = self._connection.resolve_url(answer.next_url, start=url)
            if not self._connection.same_origin(url):
                raise self.error(request, f"its next page is at {cut(url.host)}, which is not followed")
            if str(url) in seen or len(seen) >= _MOST_PAGES:
                raise self.error(request, "its pages do not end")
            seen.add(str(url))

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        find_existing: Callable[[], Any | None] | None = None,
        repeatable: bool = False,
    ) -> Any:
        """Write, and give the JSON answer; None when the answer is empty.

        A failure that leaves open whether GitHub did it (no answer, or 5xx) is followed by another try for PUT, PATCH
        and DELETE, which do the same again. A POST would do it twice: it is tried again only when the caller can look.

        Args:
            path: below the API's base, its foreign parts percent-encoded.
            find_existing: looks whether an earlier try has been done after all and gives what `send` then returns, or
                None. Asked before every further try once it is open, and before giving up.
            repeatable: a POST without `find_existing` that may be done twice all the same.

        Raises:
            GitHubError: when GitHub refuses, or does not answer in time; the message says when it may have been done.
        """
        request = Request(
            method=method,
            url=self._url(path),
            path=path,
            content=None if body is None else dumps(body),
            limit=MOST_JSON_BYTES,
            repeatable=repeatable or find_existing is not None,
            find_existing=find_existing,
        )
        return self._parsed(request, self.perform(request))

    def graphql(self, query: str, variables: dict[str, object]) -> Any:
        """Ask the GraphQL API, what may be done twice, and give what stands in `data`.

        Raises:
            GitHubError: also for errors in the body of the answer.
            UsageError: when the GraphQL API is not where the API is.
        """
        request = Request(
            method="POST",
            url=self._graphql_address(),
            path="/graphql",
            content=dumps({"query": query, "variables": variables}),
            limit=MOST_JSON_BYTES,
            graphql=True,
        )
        answer = self.perform(request)
        reply = self._parsed(request, answer)
        if not isinstance(reply, dict) or reply.get("errors") or not isinstance(reply.get("data"), dict):
            raise self.error(
                request, reply_message(answer.body) or "expected `data` and no errors", status=answer.status
            )
        return reply["data"]

    def download(self, path: str, *, limit: int, accept: str = "application/vnd.github+json") -> bytes:
        """Read bytes such as an artifact's, also from where GitHub redirects to, which does not get the token.

        Args:
            limit: the most bytes that are read.

        Raises:
            GitHubError: when GitHub refuses, does not answer in time, or sends more than `limit` bytes.
        """
        url = self._url(path)
        return self.perform(Request(method="GET", url=url, path=path, accept=accept, limit=limit, leave=True)).body

    def _graphql_address(self) -> httpx.URL:
        try:
            url = httpx.URL(self._graphql_url)
        except httpx.InvalidURL:
            url = httpx.URL()
        if not self._connection.same_origin(url):
            raise UsageError(
                f"GITHUB_GRAPHQL_URL: expected a URL at {cut(self._base)}, where the token may be sent; "
                f"found {quoted(self._graphql_url)}"
            )
        return url

    def _url(self, path: str, **params: str | int | None) -> httpx.URL:
        if not _PATH.fullmatch(path) or {"..", "."} & set(path.lower().replace("%2e", ".").split("/")):
            raise ValueError(f"not a path of the API, or not percent-encoded: {path!r}")
        query = {name: value for name, value in params.items() if value is not None}
        return httpx.URL(self._base + path, params=query)

    def _parsed(self, request: Request, answer: Answer) -> Any:
        """Read the JSON value of an answer.

        Raises:
            GitHubError: when it is no JSON.
        """
        if answer.existing is not None:
            return answer.existing
        if not answer.body.strip():
            return None
        try:
            return loads(answer.body)
        except ValueError as error:
            excerpt = cut(answer.body[:200].decode("utf-8", "replace"), limit=80)
            raise self.error(
                request,
                f"expected JSON; found {excerpt!r}",
                status=answer.status,
                hint="Is GITHUB_API_URL the API's URL, and does no proxy answer in its place?",
            ) from error
