"""The contents API: files, directories, links and submodules of a commit, and writing one file."""

from __future__ import annotations

import base64
import posixpath
from typing import Any

from fakes.github import shapes
from fakes.github.calls import Call, Refusal, Response
from fakes.github.git_operations import RULE, authorship, decoded, move_pulls
from fakes.github.objects import FILE, SUBMODULE, SYMLINK, TREE, Entry

JSON_LIMIT, LIMIT = 1 << 20, 100 << 20
RAW = "application/vnd.github.raw+json; charset=utf-8"


def get_contents(call: Call) -> Response:
    """Answer GET contents.

    Above 1 MiB the content is left out of the JSON, and its encoding says so; only the raw media type has it, up to
    100 MiB. A link to a file of the repository is followed.
    """
    repository, path = call.repository, call.parameters["path"].strip("/")
    ref = call.request.query.get("ref") or repository.default_branch
    commit = repository.commit(ref)
    if commit is None:
        raise Refusal(404, f"No commit found for the ref {ref}")
    objects = repository.objects
    entry = objects.entry(commit.tree, path)
    if entry is None:
        raise Refusal(404, "Not Found")
    mode, sha = entry
    if mode == TREE:
        return Response(200, [_described(call, name, one, listed=True) for name, one in _listed(call, sha, path)])
    if mode == SYMLINK:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), objects.blobs[sha].decode()))
        followed = objects.entry(commit.tree, target)
        if followed and followed[0] == FILE:
            mode, sha = followed
    if mode in {SYMLINK, SUBMODULE}:
        return Response(200, _described(call, path, (mode, sha)))
    content = objects.blobs[sha]
    if len(content) > LIMIT:
        error = {"resource": "Blob", "field": "data", "code": "too_large"}
        raise Refusal(403, "This API returns blobs up to 100 MB in size.", errors=[error])
    if "raw" in call.request.headers.get("accept", ""):
        return Response(200, content, content_type=RAW)
    return Response(200, _described(call, path, (mode, sha)))


def _listed(call: Call, tree: str, path: str) -> list[tuple[str, Entry]]:
    prefix = f"{path}/" if path else ""
    return list(call.repository.objects.walk(tree, prefix, into=False).items())


def _described(call: Call, path: str, entry: Entry, *, listed: bool = False) -> dict[str, Any]:
    mode, sha = entry
    objects = call.repository.objects
    content = objects.blobs.get(sha, b"")
    kinds = {TREE: "dir", SYMLINK: "symlink", SUBMODULE: "file" if listed else "submodule"}
    kind = kinds.get(mode, "file")
    url = f"{call.api_url}/repos/{call.repository.full_name}/contents/{path}"
    links = {"self": url, "git": url, "html": url}
    values: dict[str, Any] = {"name": posixpath.basename(path), "path": path, "sha": sha, "type": kind}
    values |= {"size": 0 if mode in {TREE, SUBMODULE} else len(content), "url": url, "_links": links}
    values |= {"git_url": url, "html_url": url, "download_url": None if kind in {"dir", "submodule"} else url}
    if listed:
        return values
    if kind == "symlink":
        return {**values, "target": content.decode()}
    if kind == "submodule":
        return {**values, "submodule_git_url": f"{call.server_url}/other/module"}
    small = len(content) <= JSON_LIMIT
    text = base64.encodebytes(content).decode() if small else ""
    return {**values, "content": text, "encoding": "base64" if small else "none"}


def put_contents(call: Call) -> Response:
    """Answer PUT contents: replacing a file needs the id of what is replaced."""
    repository, path, body = call.repository, call.parameters["path"], call.body
    branch = body.get("branch") or repository.default_branch
    ref = f"refs/heads/{branch}"
    if ref not in repository.refs:
        raise Refusal(404, f"Branch {branch} not found")
    objects = repository.objects
    head = objects.commits[repository.refs[ref]]
    old = objects.entry(head.tree, path)
    if old and "sha" not in body:
        raise Refusal(422, 'Invalid request.\n\n"sha" wasn\'t supplied.')
    if "sha" in body and (old is None or old[1] != body["sha"]):
        raise Refusal(409, f"{path} does not match {body['sha']}")
    if ref in repository.protected:
        raise Refusal(409, RULE)
    entry = (FILE, objects.add_blob(decoded(body["content"])))
    author, committer, verified = authorship(call)
    commit = objects.add_commit(
        objects.changed_tree(head.tree, {path: entry}),
        [head.sha],
        message=body["message"],
        author=author,
        committer=committer,
        verified=verified,
    )
    repository.refs[ref] = commit.sha
    move_pulls(call, ref)
    shown = {
        name: value for name, value in _described(call, path, entry).items() if name not in {"content", "encoding"}
    }
    values = {"content": shown, "commit": shapes.git_commit(commit)}
    return Response(200 if old else 201, call.filled("file-commit", values))


OPERATIONS = {"repos/get-content": get_contents, "repos/create-or-update-file-contents": put_contents}
