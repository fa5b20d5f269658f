"""Objects of a repository in memory, for what is read from where the local repository has nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from raggate.base.errors import UsageError
from raggate.inputs.git_objects import Entry, Limits, object_id, tree_content

LIKE = "0" * 40


class StoredObjects:
    """A commit with these files; `asked` counts how often something is read."""

    limits = Limits(files=100, directory_bytes=1 << 20, file_bytes=1 << 20)

    def __init__(self, files: Mapping[str, bytes], commit: str = "f" * 40) -> None:
        self.asked = 0
        self._commit = commit
        self._blobs = {object_id("blob", content, like=LIKE): content for content in files.values()}
        self._trees: dict[str, dict[str, Entry]] = {}
        self._top = self._add(files)

    def _add(self, files: Mapping[str, bytes]) -> str:
        below: dict[str, dict[str, bytes]] = {}
        entries = {}
        for path, content in files.items():
            name, slash, rest = path.partition("/")
            if slash:
                below.setdefault(name, {})[rest] = content
            else:
                entries[name] = Entry(mode="100644", id=object_id("blob", content, like=LIKE), size=len(content))
        entries |= {name: Entry(mode="40000", id=self._add(inner)) for name, inner in below.items()}
        tree = object_id("tree", tree_content(entries), like=LIKE)
        self._trees[tree] = entries
        return tree

    def tree_of(self, commit: str) -> str:
        self.asked += 1
        if commit != self._commit:
            raise UsageError(f"no commit {commit}")
        return self._top

    def merge_base(self, commit: str, other: str) -> str | None:
        self.asked += 1
        return self._commit if self._commit in (commit, other) else None

    def tree(self, tree_id: str) -> Mapping[str, Entry]:
        self.asked += 1
        return self._trees[tree_id]

    def walk(self, tree_id: str) -> Iterator[tuple[str, Entry]]:
        for name, entry in self.tree(tree_id).items():
            if entry.kind == "tree":
                yield from ((f"{name}/{inner}", below) for inner, below in self.walk(entry.id))
            else:
                yield name, entry

    def blob(self, entry: Entry, *, limit: int) -> bytes:
        self.asked += 1
        assert len(self._blobs[entry.id]) <= limit
        return self._blobs[entry.id]
