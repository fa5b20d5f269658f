"""Who may do what: the permission each operation asks a token for."""

from __future__ import annotations

from fakes.github.calls import Call, Refusal
from fakes.github.contract import Route

# alternatives of permission -> level; public data can be read without
NEEDED: dict[str, tuple[tuple[str, str], ...]] = {
    **dict.fromkeys(
        "git/get-ref git/get-commit git/get-tree git/get-blob repos/compare-commits-with-basehead".split(),
        (("contents", "read"),),
    ),
    **dict.fromkeys(
        "git/create-ref git/update-ref git/create-commit git/create-tree git/create-blob".split(),
        (("contents", "write"),),
    ),
    **dict.fromkeys(
        "pulls/list pulls/get repos/list-pull-requests-associated-with-commit".split(), (("pull_requests", "read"),)
    ),
    **dict.fromkeys("pulls/create pulls/update".split(), (("pull_requests", "write"),)),
    **dict.fromkeys("issues/list-comments issues/get-comment".split(), (("issues", "read"), ("pull_requests", "read"))),
    **dict.fromkeys(
        "issues/create-comment issues/update-comment issues/delete-comment".split(),
        (("issues", "write"), ("pull_requests", "write")),
    ),
    "issues/list-for-repo": (("issues", "read"),),
    **dict.fromkeys("issues/create issues/update".split(), (("issues", "write"),)),
    **dict.fromkeys(
        "actions/get-workflow-run actions/list-workflow-run-artifacts actions/download-artifact".split(),
        (("actions", "read"),),
    ),
    "actions/list-workflow-runs": (("actions", "read"),),
    "actions/re-run-workflow": (("actions", "write"),),
    "reactions/create-for-issue-comment": (("issues", "write"), ("pull_requests", "write")),
    **dict.fromkeys("repos/get repos/get-collaborator-permission-level".split(), (("metadata", "read"),)),
}
MINIMIZE = (("issues", "write"), ("pull_requests", "write"))
FORBIDDEN = "Resource not accessible by integration"
# answers nobody who is not signed in, whatever the repository
SIGNED_IN = {"actions/download-artifact", "repos/get-collaborator-permission-level"}


def authorise(call: Call, route: Route) -> None:
    """Find the repository of the path and let the call through, or refuse it as GitHub does.

    Raises:
        Refusal: 401 without a token where one is needed, 403 for a missing permission, 404 for what it cannot see.
    """
    name = f"{call.parameters['owner']}/{call.parameters['repo']}"
    known = {key.lower(): repository for key, repository in call.world.repositories.items()}
    call.found = known.get(name.lower())
    reading = route.method == "GET" and route.operation not in SIGNED_IN
    public = call.found is not None and not call.found.private
    if call.found is None or not (call.token or public):
        raise Refusal(404, "Not Found")
    if reading and public:
        return
    if call.token is None:
        raise Refusal(401, "Requires authentication")
    if not granted(call, NEEDED[route.operation]):
        raise Refusal(403, FORBIDDEN, headers={"x-accepted-github-permissions": accepted(NEEDED[route.operation])})


def granted(call: Call, needed: tuple[tuple[str, str], ...]) -> bool:
    """Return whether the token has one of the permissions; whoever may write may read."""
    if call.token is None or call.token.permissions is None:
        return call.token is not None
    held = {"metadata": "read", **call.token.permissions}
    return any(held.get(name) in ({"write"} if level == "write" else {"read", "write"}) for name, level in needed)


def accepted(needed: tuple[tuple[str, str], ...]) -> str:
    """Return the header that names the permissions; alternatives are separated by semicolons."""
    return "; ".join(f"{name}={level}" for name, level in needed)
