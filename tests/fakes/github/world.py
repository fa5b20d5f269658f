"""What the fake GitHub knows: repositories with their objects, branches, pull requests, comments, runs and tokens."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from fakes.github.nouns import Artifact, Comment, Content, Issue, Pull, Submodule, Symlink, Token
from fakes.github.objects import FILE, SUBMODULE, SYMLINK, Commit, Entry, ObjectStore

START = datetime(2026, 1, 1, tzinfo=UTC)
BOT = "github-actions[bot]"


@dataclass
class Repository:
    """One repository; forks share the objects of what they were forked from, as on GitHub."""

    world: World
    id: int
    full_name: str
    private: bool
    default_branch: str
    fork: bool
    objects: ObjectStore
    refs: dict[str, str] = field(default_factory=dict)
    protected: set[str] = field(default_factory=set)
    pulls: dict[int, Pull] = field(default_factory=dict)
    issues: dict[int, Issue] = field(default_factory=dict)
    comments: dict[int, Comment] = field(default_factory=dict)
    runs: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    artifacts: dict[int, Artifact] = field(default_factory=dict)
    reactions: list[tuple[int, str, str]] = field(default_factory=list)
    roles: dict[str, str] = field(default_factory=dict)
    actions_may_open_pulls: bool = True

    @property
    def owner(self) -> str:
        return self.full_name.split("/")[0]

    @property
    def head(self) -> str:
        """Return the commit of the default branch."""
        return self.refs[f"refs/heads/{self.default_branch}"]

    def add_commit(
        self,
        files: Mapping[str, Content],
        parents: Iterable[str] = (),
        *,
        sha: str | None = None,
        message: str = "A commit",
        branch: str | None = None,
    ) -> str:
        """Commit files on top of those of the first parent (None removes a path) and give the commit's id."""
        with self.world.lock:
            parents = tuple(parents)
            base = self.objects.commits[parents[0]].tree if parents else None
            tree = self.objects.changed_tree(base, {path: self._entry(content) for path, content in files.items()})
            author = self.world.person("octocat")
            commit = self.objects.add_commit(tree, parents, message=message, author=author, sha=sha)
            if branch:
                self.refs[f"refs/heads/{branch}"] = commit.sha
            return commit.sha

    def _entry(self, content: Content) -> Entry | None:
        match content:
            case None:
                return None
            case Symlink(target):
                return SYMLINK, self.objects.add_blob(target.encode())
            case Submodule(sha):
                return SUBMODULE, sha
            case _:
                return FILE, self.objects.add_blob(content.encode() if isinstance(content, str) else content)

    def protect(self, branch: str) -> None:
        """Let a branch change through pull requests only."""
        self.protected.add(f"refs/heads/{branch}")

    def read(self, path: str, ref: str | None = None) -> bytes | None:
        """Read a file of a branch, tag or commit; None where there is none."""
        commit = self.commit(ref or self.default_branch)
        entry = self.objects.entry(commit.tree, path) if commit else None
        return self.objects.blobs.get(entry[1]) if entry else None

    def resolve(self, name: str) -> str | None:
        """Find the commit id of a branch, tag, full ref or commit id."""
        for ref in (f"refs/heads/{name}", f"refs/tags/{name}", f"refs/{name}", name):
            if ref in self.refs:
                return self.refs[ref]
        return name if name in self.objects.commits else None

    def commit(self, name: str) -> Commit | None:
        sha = self.resolve(name)
        return self.objects.commits.get(sha) if sha else None

    def add_pull(
        self,
        number: int,
        *,
        head_sha: str,
        head_ref: str = "change",
        head_repo: Repository | str | None = "",
        base_ref: str | None = None,
        base_sha: str | None = None,
        **others: Any,
    ) -> Pull:
        """Open a pull request; the head is a branch of this repository unless `head_repo` names a fork or None.

        `others` are further fields of `Pull`, such as `state`, `locked` and `login`.
        """
        with self.world.lock:
            repository = self.world.repositories[head_repo] if isinstance(head_repo, str) and head_repo else head_repo
            base_ref = base_ref or self.default_branch
            pull = Pull(
                number=number,
                head_sha=head_sha,
                head_repo=self if repository == "" else repository,  # type: ignore[arg-type]
                head_ref=head_ref,
                base_ref=base_ref,
                base_sha=base_sha or self.refs[f"refs/heads/{base_ref}"],
                **others,
            )
            self.pulls[number] = pull
            return pull

    def add_issue(self, login: str, title: str, body: str | None = None) -> Issue:
        """Open an issue, by the next number that neither issue nor pull request has."""
        with self.world.lock:
            number = max((*self.pulls, *self.issues), default=0) + 1
            self.issues[number] = Issue(number=number, login=login, title=title, body=body)
            return self.issues[number]

    def add_comment(self, number: int, login: str, body: str, *, type: str | None = None) -> Comment:  # noqa: A002
        """Write a comment; its author is a bot when the login says so, unless `type` is given."""
        with self.world.lock:
            kind = type or ("Bot" if login.endswith("[bot]") else "User")
            comment = Comment(next(self.world.ids), number, login, kind, body)
            self.comments[comment.id] = comment
            return comment

    def comments_of(self, number: int) -> list[Comment]:
        """List the comments of a pull request, oldest first."""
        return [comment for comment in self.comments.values() if comment.number == number]

    def add_run(self, run_id: int | None = None, *, head_sha: str, **fields: Any) -> int:
        """Add a workflow run, or a further attempt of one, and give its id.

        `fields` are those of the API; a `head_repository` may be the name of a repository of this fake.
        """
        with self.world.lock:
            run_id = run_id or next(self.world.ids)
            attempts = self.runs.setdefault(run_id, [])
            defaults = {
                "name": "checks",
                "event": "pull_request",
                "status": "completed",
                "conclusion": "success",
                "head_branch": self.default_branch,
                "path": ".github/workflows/rag-gate.yml",
                "head_repository": self.full_name,
                "pull_requests": [],
            }
            attempt = {"run_attempt": len(attempts) + 1}
            attempts.append(
                {**defaults, **attempt, "id": run_id, "head_sha": head_sha, "created_at": self.world.now(), **fields}
            )
            return run_id

    def add_artifact(
        self,
        run_id: int,
        name: str,
        content: bytes,
        *,
        digest: str | None = None,
        expired: bool = False,
    ) -> Artifact:
        """Upload an artifact; `digest` is the true one unless given, and absent when it is the empty text."""
        with self.world.lock:
            true = f"sha256:{hashlib.sha256(content).hexdigest()}"
            found = true if digest is None else digest or None
            number = next(self.world.ids)
            signature = hashlib.sha256(f"signed {number}".encode()).hexdigest()[:16]
            artifact = Artifact(number, run_id, name, content, found, expired, signature)
            self.artifacts[artifact.id] = artifact
            return artifact


class World:
    """Everything behind the API; writes happen under `lock`."""

    def __init__(self, lock: Any) -> None:
        self.lock = lock
        self.server_url = ""
        self.repositories: dict[str, Repository] = {}
        self.tokens: dict[str, Token] = {}
        self.ids = itertools.count(1001)
        self._seconds = itertools.count()

    def now(self) -> str:
        """Return the next second of the fake's clock, in ISO form."""
        return (START + timedelta(seconds=next(self._seconds))).strftime("%Y-%m-%dT%H:%M:%SZ")

    def person(self, login: str) -> str:
        """Return who commits now, as git stores it."""
        seconds = int(datetime.fromisoformat(self.now()).timestamp())
        return f"{login} <{login}@users.noreply.github.com> {seconds} +0000"

    def add_repository(
        self,
        full_name: str,
        *,
        private: bool = True,
        default_branch: str = "main",
        files: Mapping[str, Content] | None = None,
        fork_of: Repository | None = None,
    ) -> Repository:
        """Create a repository with one commit on its default branch, or a fork with the branches of its parent.

        Public repositories can be read without permissions, so they are private unless told otherwise.
        """
        with self.lock:
            objects = fork_of.objects if fork_of else ObjectStore()
            repository = Repository(
                self, next(self.ids), full_name, private, default_branch, fork_of is not None, objects
            )
            self.repositories[full_name] = repository
            if fork_of:
                repository.refs.update(fork_of.refs)
            else:
                repository.add_commit(files or {"README.md": "# A repository\n"}, branch=default_branch)
            return repository

    def token(
        self,
        permissions: Mapping[str, str] | None = None,
        *,
        login: str = BOT,
    ) -> str:
        """Make a token; permission names as in a workflow; without `permissions` it may do everything."""
        with self.lock:
            value = f"ghs_fake{next(self.ids)}"
            normal = (
                None if permissions is None else {name.replace("-", "_"): kind for name, kind in permissions.items()}
            )
            self.tokens[value] = Token(value, login, normal)
            return value
