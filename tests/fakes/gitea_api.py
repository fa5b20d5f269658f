"""A Gitea in this process, as far as raggate asks it: what a real one answers, without the keys that nobody reads.

`tests/gitea` makes the same claims of a real Gitea, so that this one cannot drift from it.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import unquote

from fakes.github.objects import FILE, ObjectStore, Person
from raggate.github.rest.gitea import Gitea as GiteaClient
from raggate.text.http_client import httpx
from raggate.text.jsonio import loads

SOMEBODY = Person("ada", "ada@example.org", "2026-01-01T00:00:00Z", 1767225600)
JOB = "of-a-job"
"""The token of a job, which may not ask for its own user."""


class Refusal(Exception):
    """The server says no."""

    def __init__(self, status: int, message: str = "") -> None:
        super().__init__(message)
        self.status = status


@dataclass
class FakeGitea:
    """One repository of `ada` with a branch `main`.

    Attributes:
        faults: what the next requests that fit (method and a part of the path) are answered with, after they were done
            where that is wanted.
        before: what happens just before the next requests that fit are looked at.
    """

    name: str = "notes"
    url: str = "http://forge.example"
    token: str = "of-ada"  # noqa: S105 - nobody else's
    version: str = "1.26.0"
    objects: ObjectStore = field(default_factory=ObjectStore)
    branches: dict[str, str] = field(default_factory=dict)
    pulls: dict[int, dict[str, Any]] = field(default_factory=dict)
    issues: dict[int, dict[str, Any]] = field(default_factory=dict)
    comments: dict[int, dict[str, Any]] = field(default_factory=dict)
    statuses: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    logins: dict[str, str] = field(default_factory=lambda: {"of-ada": "ada", "of-bob": "bob"})
    requests: list[tuple[str, str]] = field(default_factory=list)
    faults: list[tuple[str, str, int, bool]] = field(default_factory=list)
    before: list[tuple[str, str, Callable[[FakeGitea], None]]] = field(default_factory=list)
    ids: Any = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        """Begin with one file."""
        self.branches["main"] = self._commit({"README.md": b"# notes\n"}, [], "Initial commit")

    @property
    def is_forgejo(self) -> bool:
        """Whether it is a Forgejo, which names the Gitea that it came from."""
        return "+gitea-" in self.version

    @property
    def robot(self) -> str:
        """Give the login that a job's token has."""
        return "forgejo-actions" if self.is_forgejo else "gitea-actions"

    @property
    def server(self) -> FakeGitea:
        """Give the server, which is this too."""
        return self

    @property
    def api_url(self) -> str:
        """Give what GITHUB_API_URL would hold."""
        return f"{self.url}/api/v1"

    def client(self, token: str = "") -> GiteaClient:
        """Give raggate's client of it, which does not wait."""
        return GiteaClient(
            api_url=self.api_url,
            token=token or self.token,
            transport=httpx.MockTransport(self._answer),
            sleep=lambda _: None,
            clock=lambda: 0.0,
        )

    def call(self, method: str, path: str, body: object = None, *, token: str = "") -> Any:
        """Ask the API, below the repository."""
        headers = {"Authorization": f"Bearer {token or self.token}"}
        with httpx.Client(transport=httpx.MockTransport(self._answer), headers=headers) as client:
            answer = client.request(method, f"{self.api_url}/repos/ada/{self.name}{path}", json=body)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def write(self, path: str, content: bytes, *, onto: str = "main", new: str | None = None) -> None:
        """Commit a new file."""
        self.branches[new or onto] = self._commit({path: content}, [self.branches[onto]], f"Write {path}")

    def job(self) -> tuple[str, int]:
        """Give the token of a job, and the number of its run."""
        return "of-a-job", 7

    def _commit(self, files: dict[str, bytes], parents: list[str], message: str) -> str:
        base = self.objects.commits[parents[0]].tree if parents else None
        changes = {path: (FILE, self.objects.add_blob(content)) for path, content in files.items()}
        tree = self.objects.changed_tree(base, changes)
        # git adds the line's end
        return self.objects.add_commit(tree, parents, message=f"{message.strip()}\n", author=SOMEBODY).sha

    def _answer(self, request: httpx.Request) -> httpx.Response:
        path = unquote(request.url.raw_path.decode().partition("?")[0].removeprefix("/api/v1"))
        self.requests.append((request.method, path))
        for hook in [one for one in self.before if one[0] == request.method and one[1] in path]:
            self.before.remove(hook)
            hook[2](self)
        fault = next((one for one in self.faults if one[0] == request.method and one[1] in path), None)
        if fault is not None:
            self.faults.remove(fault)
            if not fault[3]:
                return httpx.Response(fault[2])
        try:
            result = self._carried_out(request, path)
        except Refusal as refusal:
            return httpx.Response(refusal.status, json={"message": str(refusal)})
        if fault is not None:
            return httpx.Response(fault[2])
        return httpx.Response(204) if result is None else httpx.Response(200, json=result)

    def _carried_out(self, request: httpx.Request, path: str) -> Any:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        login = self.robot if token == JOB else self.logins.get(token)
        if login is None:
            raise Refusal(401, "token is required")
        if path == "/version":
            return {"version": self.version}
        if path == "/user":
            if token == JOB:
                raise Refusal(403, "not a person")
            return {"id": 1, "login": login, "username": login}
        rest = path.removeprefix(f"/repos/ada/{self.name}")
        if rest == path:
            raise Refusal(404)
        body = loads(request.content) if request.content else {}
        for method, pattern, operation in OPERATIONS:
            match = re.fullmatch(pattern, rest)
            if method == request.method and match:
                return operation(self, match.groups(), body, request.url.params, login)
        raise Refusal(404, f"no operation that raggate uses: {request.method} {rest}")

    def user(self, login: str) -> dict[str, Any]:
        """Show a person: those servers tell no type."""
        return {"id": 1, "login": login, "username": login}

    def pull(self, number: int) -> dict[str, Any]:
        """Show a pull request as it is now."""
        if number not in self.pulls:
            raise Refusal(404)
        pull = self.pulls[number]
        repository = {"full_name": f"ada/{self.name}"}
        # the pull request of a branch that is gone is closed
        state = pull["state"] if pull["head"] in self.branches else "closed"
        pull |= {"state": state, "sha": self.branches.get(pull["head"], pull["sha"])}
        shown = {"number": number, "title": pull["title"], "body": pull["body"], "state": state, "merged": False}
        return shown | {
            "html_url": f"{self.url}/ada/{self.name}/pulls/{number}",
            "head": {"ref": pull["head"], "sha": pull["sha"], "repo": repository},
            "base": {"ref": pull["base"], "sha": self.branches[pull["base"]], "repo": repository},
        }


Operation = Callable[[FakeGitea, tuple[str, ...], Any, httpx.QueryParams, str], Any]


def _repository(fake: FakeGitea, *_: Any) -> Any:
    return {"full_name": f"ada/{fake.name}", "default_branch": "main"}


def _branch(fake: FakeGitea, names: tuple[str, ...], *_: Any) -> Any:
    if names[0] not in fake.branches:
        raise Refusal(404)
    return {"name": names[0], "commit": {"id": fake.branches[names[0]]}}


def _new_branch(fake: FakeGitea, _: Any, body: Any, *__: Any) -> Any:
    name, start = body["new_branch_name"], body["old_ref_name"]
    if name in fake.branches:
        raise Refusal(409, "The branch already exists.")
    fake.branches[name] = fake.branches.get(start, start)
    return {"name": name, "commit": {"id": fake.branches[name]}}


def _no_branch(fake: FakeGitea, names: tuple[str, ...], *_: Any) -> Any:
    _branch(fake, names)
    del fake.branches[names[0]]


def _commit(fake: FakeGitea, names: tuple[str, ...], *_: Any) -> Any:
    commit = fake.objects.commits.get(names[0])
    if commit is None:
        raise Refusal(404)
    signed = {"verified": commit.verified, "reason": "gpg.error.not_signed_commit"}
    # where the tree's id should be is the commit's own, as in every Gitea so far
    inner = {"message": commit.message, "tree": {"sha": commit.sha}, "verification": signed}
    return {"sha": commit.sha, "commit": inner, "parents": [{"sha": parent} for parent in commit.parents]}


def _tree(fake: FakeGitea, names: tuple[str, ...], _: Any, query: httpx.QueryParams, *__: Any) -> Any:
    objects = fake.objects
    tree = objects.commits[names[0]].tree if names[0] in objects.commits else names[0]
    if tree not in objects.trees:
        raise Refusal(400, "sha not found")
    listed = list(objects.walk(tree, into=query.get("recursive") == "true").items())
    size, page = int(query["per_page"]), int(query["page"])
    part = listed[(page - 1) * size : page * size]
    entries = [
        {
            "path": path,
            "mode": mode,
            "sha": sha,
            "size": len(objects.blobs.get(sha, b"")),
            "type": "tree" if sha in objects.trees else "blob",
        }
        for path, (mode, sha) in part
    ]
    # Forgejo means the list, not what comes after the page
    truncated = (size if fake.is_forgejo else page * size) < len(listed)
    return {"sha": names[0], "tree": entries or None, "truncated": truncated, "total_count": len(listed)}


def _blob(fake: FakeGitea, names: tuple[str, ...], *_: Any) -> Any:
    if names[0] not in fake.objects.blobs:
        raise Refusal(400, "object does not exist")
    content = fake.objects.blobs[names[0]]
    return {"content": base64.b64encode(content).decode(), "encoding": "base64", "size": len(content)}


def _compare(fake: FakeGitea, names: tuple[str, ...], *_: Any) -> Any:
    base, head = (fake.branches.get(name, name) for name in names)
    if not {base, head} <= set(fake.objects.commits):
        raise Refusal(404)
    theirs = set(fake.objects.history(base))
    return {"total_commits": len([sha for sha in fake.objects.history(head) if sha not in theirs]), "commits": []}


def _role(fake: FakeGitea, names: tuple[str, ...], *_: Any) -> Any:
    if names[0] not in fake.logins.values():
        raise Refusal(404)
    return {"permission": "owner" if names[0] == "ada" else "read", "user": fake.user(names[0])}


def _write(fake: FakeGitea, _: Any, body: Any, *__: Any) -> Any:
    standing = fake.branches[body["branch"]]
    files = {}
    for file in body["files"]:
        entry = fake.objects.entry(fake.objects.commits[standing].tree, file["path"])
        if file["operation"] == "create" and entry is not None:
            raise Refusal(422, "repository file already exists")
        if file["operation"] == "update" and (entry is None or entry[1] != file["sha"]):
            raise Refusal(422, "sha does not match")
        files[file["path"]] = base64.b64decode(file["content"])
    sha = fake._commit(files, [standing], body["message"])
    fake.branches[body["branch"]] = sha
    return {"commit": {"sha": sha}, "files": []}


def _pulls(fake: FakeGitea, _: Any, __: Any, query: httpx.QueryParams, *___: Any) -> Any:
    shown = [fake.pull(number) for number in sorted(fake.pulls, reverse=True)]
    return [pull for pull in shown if query.get("state") in {None, "all", pull["state"]}]


def _new_pull(fake: FakeGitea, _: Any, body: Any, __: Any, login: str) -> Any:
    if any((pull["head"], pull["state"]) == (body["head"], "open") for pull in map(dict, fake.pulls.values())):
        raise Refusal(409, "pull request already exists for these targets")
    number = max((*fake.pulls, *fake.issues), default=0) + 1
    fake.pulls[number] = body | {"state": "open", "sha": fake.branches[body["head"]], "login": login}
    return fake.pull(number)


def _pull(fake: FakeGitea, names: tuple[str, ...], body: Any, *_: Any) -> Any:
    fake.pull(int(names[0]))
    fake.pulls[int(names[0])] |= body
    return fake.pull(int(names[0]))


def _files(fake: FakeGitea, names: tuple[str, ...], *_: Any) -> Any:
    pull = fake.pull(int(names[0]))
    head, base = (fake.objects.commits[pull[side]["sha"]] for side in ("head", "base"))
    before = fake.objects.walk(base.tree)
    changed = {path: entry for path, entry in fake.objects.walk(head.tree).items() if before.get(path) != entry}
    return [{"filename": path} for path, entry in changed.items() if entry[1] in fake.objects.blobs]


def _comments(fake: FakeGitea, names: tuple[str, ...], *_: Any) -> Any:
    return [comment for comment in fake.comments.values() if comment["number"] == int(names[0])]


def _new_comment(fake: FakeGitea, names: tuple[str, ...], body: Any, _: Any, login: str) -> Any:
    number, own = int(names[0]), next(fake.ids)
    kind = "pulls" if number in fake.pulls else "issues"
    address = f"{fake.url}/ada/{fake.name}/{kind}/{number}#issuecomment-{own}"
    made = {"id": own, "number": number, "html_url": address, "body": body["body"], "user": fake.user(login)}
    fake.comments[own] = made
    return made


def _comment(fake: FakeGitea, names: tuple[str, ...], body: Any, *_: Any) -> Any:
    if int(names[0]) not in fake.comments:
        raise Refusal(404)
    fake.comments[int(names[0])] |= body
    return fake.comments[int(names[0])]


def _no_comment(fake: FakeGitea, names: tuple[str, ...], *_: Any) -> Any:
    if fake.comments.pop(int(names[0]), None) is None:
        raise Refusal(404)


def _issues(fake: FakeGitea, _: Any, __: Any, query: httpx.QueryParams, *___: Any) -> Any:
    wanted = [issue for issue in fake.issues.values() if query.get("state") in {"all", issue["state"]}]
    return sorted(wanted, key=lambda issue: -int(issue["number"]))


def _new_issue(fake: FakeGitea, _: Any, body: Any, __: Any, login: str) -> Any:
    number = max((*fake.pulls, *fake.issues), default=0) + 1
    # the key is there for an issue too
    shown = {"number": number, "state": "open", "user": fake.user(login), "pull_request": None}
    fake.issues[number] = shown | body | {"html_url": f"{fake.url}/ada/{fake.name}/issues/{number}"}
    return fake.issues[number]


def _issue(fake: FakeGitea, names: tuple[str, ...], body: Any, *_: Any) -> Any:
    fake.issues[int(names[0])] |= body
    return fake.issues[int(names[0])]


def _new_status(fake: FakeGitea, names: tuple[str, ...], body: Any, *_: Any) -> Any:
    made = {"id": next(fake.ids), "status": body["state"], **{key: body[key] for key in ("context", "description")}}
    fake.statuses.setdefault(names[0], []).append(made)
    return made


def _statuses(fake: FakeGitea, names: tuple[str, ...], *_: Any) -> Any:
    return fake.statuses.get(names[0], [])


OPERATIONS: list[tuple[str, str, Operation]] = [
    ("GET", "", _repository),
    ("GET", r"/branches/(.+)", _branch),
    ("POST", r"/branches", _new_branch),
    ("DELETE", r"/branches/(.+)", _no_branch),
    ("GET", r"/git/commits/([^/]+)", _commit),
    ("GET", r"/git/trees/([^/]+)", _tree),
    ("GET", r"/git/blobs/([^/]+)", _blob),
    ("GET", r"/compare/([^/]+)\.\.\.([^/]+)", _compare),
    ("GET", r"/collaborators/([^/]+)/permission", _role),
    ("POST", r"/contents", _write),
    ("GET", r"/pulls", _pulls),
    ("POST", r"/pulls", _new_pull),
    ("GET", r"/pulls/(\d+)", _pull),
    ("PATCH", r"/pulls/(\d+)", _pull),
    ("GET", r"/pulls/(\d+)/files", _files),
    ("GET", r"/issues/(\d+)/comments", _comments),
    ("POST", r"/issues/(\d+)/comments", _new_comment),
    ("GET", r"/issues/comments/(\d+)", _comment),
    ("PATCH", r"/issues/comments/(\d+)", _comment),
    ("DELETE", r"/issues/comments/(\d+)", _no_comment),
    ("GET", r"/issues", _issues),
    ("POST", r"/issues", _new_issue),
    ("GET", r"/issues/(\d+)", _issue),
    ("PATCH", r"/issues/(\d+)", _issue),
    ("POST", r"/statuses/([^/]+)", _new_status),
    ("GET", r"/commits/([^/]+)/statuses", _statuses),
]
