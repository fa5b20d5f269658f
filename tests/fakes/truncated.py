"""Trees that are too large for one answer of GitHub."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fakes import github_api
from fakes.github.calls import Call, Response


def cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let recursive answers be cut where there are directories, as GitHub does after 100,000 entries."""
    whole = github_api.OPERATIONS["git/get-tree"]

    def answer(call: Call) -> Response:
        # the whole is not even put together: it may be without end
        recursive = call.request.query.pop("recursive", None) is not None
        response = whole(call)
        if recursive and any(entry["type"] == "tree" for entry in response.body["tree"]):
            body = {**response.body, "tree": response.body["tree"][:2], "truncated": True}
            return replace(response, body=body)
        return response

    monkeypatch.setitem(github_api.OPERATIONS, "git/get-tree", answer)
