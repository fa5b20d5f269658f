"""The git data API: refs, commits, trees, blobs, branches and comparisons."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from fakes.github import shapes
from fakes.github.calls import Call, Refusal, Response
from fakes.github.objects import EXECUTABLE, FILE, SUBMODULE, SYMLINK, TREE, Commit, Entry, Person
from fakes.github.world import Repository

BLOB_LIMIT = 40 << 20
RULE = "Repository rule violations found\n\nChanges must be made through a pull request.\n\n"
_REF = re.compile(r"refs/(?:heads|tags)/(?!.*(?:\.\.|//|@\{|\.lock$|/$|\.$))[^\x00-\x20~^:?*\[\\\x7f]+")


def get_ref(call: Call) -> Response:
    """Answer GET git/ref."""
    name = f"refs/{call.parameters['ref']}"
    if name not in call.repository.refs:
        raise Refusal(404, "Not Found")
    return Response(200, _ref(call, name))


def create_ref(call: Call) -> Response:
    """Answer POST git/refs."""
    name, sha = call.body["ref"], call.body["sha"]
    if not _REF.fullmatch(name):
        raise Refusal(422, f"{name} is not a valid ref name.")
    if name in call.repository.refs:
        raise Refusal(422, "Reference already exists")
    if sha not in call.repository.objects.commits:
        raise Refusal(422, "Object does not exist")
    if name in call.repository.protected:
        raise Refusal(422, RULE)
    call.repository.refs[name] = sha
    move_pulls(call, name)
    return Response(201, _ref(call, name))


def update_ref(call: Call) -> Response:
    """Answer PATCH git/refs: fast-forward only, unless forced."""
    name, sha = f"refs/{call.parameters['ref']}", call.body["sha"]
    repository = call.repository
    if name not in repository.refs:
        raise Refusal(422, "Reference does not exist")
    if sha not in repository.objects.commits:
        raise Refusal(422, "Object does not exist")
    if name in repository.protected:
        raise Refusal(422, RULE)
    if not call.body.get("force") and repository.refs[name] not in repository.objects.history(sha):
        raise Refusal(422, "Update is not a fast forward")
    repository.refs[name] = sha
    move_pulls(call, name)
    return Response(200, _ref(call, name))


def move_pulls(call: Call, name: str) -> None:
    """Let open pull requests follow the branch they come from."""
    for repository in call.world.repositories.values():
        for pull in repository.pulls.values():
            if pull.head_repo is call.repository and f"refs/heads/{pull.head_ref}" == name and pull.state == "open":
                pull.head_sha = call.repository.refs[name]
                pull.updated = call.world.now()


def _ref(call: Call, name: str) -> dict[str, Any]:
    sha = call.repository.refs[name]
    return call.filled("git-ref", {"ref": name, "node_id": f"REF_{name}", "object": {"type": "commit", "sha": sha}})


def get_commit_object(call: Call) -> Response:
    """Answer GET git/commits."""
    return Response(200, call.filled("git-commit", shapes.git_commit(_commit(call, call.parameters["commit_sha"]))))


def create_commit(call: Call) -> Response:
    """Answer POST git/commits: GitHub signs what a bot writes without naming an author."""
    objects = call.repository.objects
    if call.body["tree"] not in objects.trees:
        raise Refusal(422, "Tree SHA does not exist")
    for parent in call.body.get("parents", ()):
        if parent not in objects.commits:
            raise Refusal(422, "Parent SHA does not exist or is not a commit object")
    author, committer, verified = authorship(call)
    commit = objects.add_commit(
        call.body["tree"],
        call.body.get("parents", ()),
        message=call.body["message"],
        author=author,
        committer=committer,
        verified=verified,
    )
    return Response(201, call.filled("git-commit", shapes.git_commit(commit)))


def authorship(call: Call) -> tuple[Person, Person, bool]:
    """Tell author, committer and whether GitHub signs: what a bot writes without naming anybody."""
    given = [call.body.get(name) for name in ("author", "committer")]
    people = [call.world.person(call.login, **(one or {})) for one in given]
    if given[0] and not given[1]:
        people[1] = people[0]
    return people[0], people[1], bool(call.token and call.token.is_bot and not any(given))


def _commit(call: Call, sha: str) -> Commit:
    if sha not in call.repository.objects.commits:
        raise Refusal(404, "Not Found")
    return call.repository.objects.commits[sha]


def get_tree(call: Call) -> Response:
    """Answer GET git/trees, by the id of a tree or by what names a commit."""
    repository, name = call.repository, call.parameters["tree_sha"]
    commit = repository.commit(name)
    sha = commit.tree if commit else name
    if sha not in repository.objects.trees:
        raise Refusal(404, "Not Found")
    return Response(200, _tree(call, sha, recursive="recursive" in call.request.query))


def create_tree(call: Call) -> Response:
    """Answer POST git/trees; an entry whose id is null takes a path out."""
    objects = call.repository.objects
    base = call.body.get("base_tree")
    if base in objects.commits:
        base = objects.commits[base].tree
    if base is not None and base not in objects.trees:
        raise Refusal(422, "base_tree is not a valid tree oid")
    changes = {entry["path"]: _entry(call, entry) for entry in call.body["tree"]}
    return Response(201, _tree(call, objects.changed_tree(base, changes), recursive=False))


def _entry(call: Call, entry: dict[str, Any]) -> Entry | None:
    objects = call.repository.objects
    path, mode = entry["path"], entry.get("mode")
    if path.startswith("/") or {"", ".", "..", ".git"} & set(path.split("/")):
        raise Refusal(422, "tree.path contains a malformed path component")
    if "sha" in entry and entry["sha"] is None:
        return None
    if mode not in {FILE, EXECUTABLE, SYMLINK, SUBMODULE, TREE}:
        raise Refusal(422, "Must supply a valid tree.mode")
    if "content" in entry:
        return mode, objects.add_blob(entry["content"].encode())
    sha = entry.get("sha")
    if sha is None:
        raise Refusal(422, "Must supply either tree.sha or tree.content")
    if sha not in (objects.trees if mode == TREE else objects.blobs) and mode != SUBMODULE:
        raise Refusal(422, f"tree.sha {sha} is not a valid {'tree' if mode == TREE else 'blob'}")
    return mode, sha


def _tree(call: Call, sha: str, *, recursive: bool) -> dict[str, Any]:
    objects = call.repository.objects
    kinds = {TREE: "tree", SUBMODULE: "commit"}
    entries = []
    for path, (mode, one) in objects.walk(sha, into=recursive).items():
        # as GitHub has a name that is not UTF-8
        name = path.encode(errors="surrogateescape").decode(errors="replace")
        entry = {"path": name, "mode": mode, "type": kinds.get(mode, "blob"), "sha": one, "url": call.api_url}
        entries.append({**entry, "size": len(objects.blobs[one])} if one in objects.blobs else entry)
    return call.filled("git-tree", {"sha": sha, "tree": entries, "truncated": False})


def get_blob(call: Call) -> Response:
    """Answer GET git/blobs, as base64 or raw."""
    objects, sha = call.repository.objects, call.parameters["file_sha"]
    if sha not in objects.blobs:
        raise Refusal(404, "Not Found")
    content = objects.blobs[sha]
    if "raw" in call.request.headers.get("accept", ""):
        return Response(200, content, content_type="application/vnd.github.raw+json; charset=utf-8")
    text = base64.encodebytes(content).decode()
    values = {"sha": sha, "size": len(content), "content": text, "encoding": "base64", "node_id": f"B_{sha}"}
    return Response(200, call.filled("blob", values))


def create_blob(call: Call) -> Response:
    """Answer POST git/blobs; at most 40 MiB."""
    encoding = call.body.get("encoding", "utf-8")
    if encoding not in {"utf-8", "base64"}:
        raise Refusal(422, "encoding must be utf-8 or base64")
    content = decoded(call.body["content"]) if encoding == "base64" else call.body["content"].encode()
    if len(content) > BLOB_LIMIT:
        raise Refusal(422, "Sorry, your input was too large to process.")
    return Response(201, call.filled("short-blob", {"sha": call.repository.objects.add_blob(content)}))


def decoded(text: str) -> bytes:
    """Decode base64, line breaks in it allowed.

    Raises:
        Refusal: 422 when it is none.
    """
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except binascii.Error:
        raise Refusal(422, "content is not valid Base64") from None


def compare(call: Call) -> Response:
    """Answer GET compare: how far head is ahead of base, and which files changed since they parted."""
    base_name, dots, head_name = call.parameters["basehead"].partition("...")
    base, head = _side(call, base_name), _side(call, head_name)
    if not dots or base is None or head is None:
        raise Refusal(404, "Not Found")
    repository, objects = call.repository, call.repository.objects
    parted = objects.merge_base(head.sha, base.sha)
    if parted is None:
        raise Refusal(404, "No common ancestor between the two commits.")
    before, after = objects.history(base.sha), objects.history(head.sha)
    ahead = [sha for sha in after if sha not in set(before)][::-1]
    behind = [sha for sha in before if sha not in set(after)]
    status = {(False, False): "identical", (True, False): "ahead", (False, True): "behind"}
    shown, headers = call.page(ahead) if "per_page" in call.request.query else (ahead[:250], {})
    values = {
        "status": status.get((bool(ahead), bool(behind)), "diverged"),
        "ahead_by": len(ahead),
        "behind_by": len(behind),
        "total_commits": len(ahead),
        "base_commit": shapes.commit(base, repository),
        "merge_base_commit": shapes.commit(objects.commits[parted], repository),
        "commits": [shapes.commit(objects.commits[sha], repository) for sha in shown],
        "files": _changed_files(repository, objects.commits[parted], head)[:300],
    }
    return Response(200, call.filled("commit-comparison", values), headers)


def _side(call: Call, name: str) -> Commit | None:
    owner, colon, branch = name.partition(":")
    if not colon:
        return call.repository.commit(name)
    of_owner = (one for one in call.world.repositories.values() if one.owner == owner)
    network = [one for one in of_owner if one.objects is call.repository.objects]
    return network[0].commit(branch) if network else None


def _changed_files(repository: Repository, before: Commit, after: Commit) -> list[dict[str, Any]]:
    old, new = (repository.objects.walk(commit.tree) for commit in (before, after))
    files = []
    for path in sorted(old.keys() | new.keys()):
        one, other = old.get(path), new.get(path)
        if one != other and TREE not in {(one or other)[0], (other or one)[0]}:  # type: ignore[index]
            status = "added" if one is None else "removed" if other is None else "modified"
            files.append({"filename": path, "status": status, "sha": (other or one)[1], "changes": 1})  # type: ignore[index]
    return files


OPERATIONS = {
    "git/get-ref": get_ref,
    "git/create-ref": create_ref,
    "git/update-ref": update_ref,
    "git/get-commit": get_commit_object,
    "git/create-commit": create_commit,
    "git/get-tree": get_tree,
    "git/create-tree": create_tree,
    "git/get-blob": get_blob,
    "git/create-blob": create_blob,
    "repos/compare-commits-with-basehead": compare,
}
