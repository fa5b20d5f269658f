"""The git data API: refs, commits, trees, blobs, branches and comparisons."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from fakes.github import shapes
from fakes.github.calls import Call, Refusal, Response
from fakes.github.objects import EXECUTABLE, FILE, SUBMODULE, SYMLINK, TREE, Commit, Entry

BLOB_LIMIT = 40 << 20
RULE = "Repository rule violations found\n\nChanges must be made through a pull request.\n\n"
_REF = re.compile(r"refs/(?:heads|tags)/(?!.*(?:\.\.|//|@\{|\.lock$|/$|\.$))[^\x00-\x20~^:?*\[\\\x7f]+")


def get_ref(call: Call) -> Response:
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


def _ref(call: Call, name: str) -> dict[str, Any]:
    sha = call.repository.refs[name]
    return call.filled("git-ref", {"ref": name, "object": {"type": "commit", "sha": sha}})


def get_commit_object(call: Call) -> Response:
    return Response(200, call.filled("git-commit", shapes.git_commit(_commit(call, call.parameters["commit_sha"]))))


def create_commit(call: Call) -> Response:
    """Answer POST git/commits: GitHub signs what a bot writes without naming an author."""
    objects = call.repository.objects
    if call.body["tree"] not in objects.trees:
        raise Refusal(422, "Tree SHA does not exist")
    for parent in call.body.get("parents", ()):
        if parent not in objects.commits:
            raise Refusal(422, "Parent SHA does not exist or is not a commit object")
    named = {"author", "committer"} & set(call.body)
    commit = objects.add_commit(
        call.body["tree"],
        call.body.get("parents", ()),
        message=call.body["message"],
        author=call.world.person(call.login),
        verified=bool(call.token and call.token.is_bot and not named),
    )
    return Response(201, call.filled("git-commit", shapes.git_commit(commit)))


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
    """Answer POST git/trees."""
    objects = call.repository.objects
    base = call.body.get("base_tree")
    if base in objects.commits:
        base = objects.commits[base].tree
    if base is not None and base not in objects.trees:
        raise Refusal(422, "base_tree is not a valid tree oid")
    changes = {entry["path"]: _entry(call, entry) for entry in call.body["tree"]}
    return Response(201, _tree(call, objects.changed_tree(base, changes), recursive=False))


def _entry(call: Call, entry: dict[str, Any]) -> Entry:
    objects = call.repository.objects
    path, mode = entry["path"], entry.get("mode")
    if path.startswith("/") or {"", ".", "..", ".git"} & set(path.split("/")):
        raise Refusal(422, "tree.path contains a malformed path component")
    if mode not in {FILE, EXECUTABLE, SYMLINK, SUBMODULE, TREE}:
        raise Refusal(422, "Must supply a valid tree.mode")
    sha = entry.get("sha")
    if sha is None:
        raise Refusal(422, "Must supply tree.sha")
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
    """Answer GET git/blobs, raw."""
    objects, sha = call.repository.objects, call.parameters["file_sha"]
    if sha not in objects.blobs:
        raise Refusal(404, "Not Found")
    return Response(200, objects.blobs[sha], content_type="application/vnd.github.raw+json; charset=utf-8")


def create_blob(call: Call) -> Response:
    """Answer POST git/blobs; at most 40 MiB, as base64."""
    try:
        content = base64.b64decode("".join(call.body["content"].split()), validate=True)
    except binascii.Error:
        raise Refusal(422, "content is not valid Base64") from None
    if len(content) > BLOB_LIMIT:
        raise Refusal(422, "Sorry, your input was too large to process.")
    return Response(201, call.filled("short-blob", {"sha": call.repository.objects.add_blob(content)}))


def compare(call: Call) -> Response:
    """Answer GET compare of two commits: how they lie to each other."""
    base_name, _, head_name = call.parameters["basehead"].partition("...")
    base, head = call.repository.commit(base_name), call.repository.commit(head_name)
    objects = call.repository.objects
    parted = objects.merge_base(head.sha, base.sha) if base and head else None
    if base is None or head is None or parted is None:
        raise Refusal(404, "Not Found")
    before, after = set(objects.history(base.sha)), set(objects.history(head.sha))
    ahead, behind = len(after - before), len(before - after)
    status = {(False, False): "identical", (True, False): "ahead", (False, True): "behind"}
    values = {
        "status": status.get((bool(ahead), bool(behind)), "diverged"),
        "ahead_by": ahead,
        "behind_by": behind,
        "total_commits": ahead,
        "base_commit": shapes.commit(base),
        "merge_base_commit": shapes.commit(objects.commits[parted]),
    }
    return Response(200, call.filled("commit-comparison", values))


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
