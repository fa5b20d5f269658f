"""What a case asks and expects -> its hash, and that of a golden set: two with the same hash are scored the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from msgspec.structs import replace

from raggate.models.golden import Case
from raggate.text.jsonio import dumps


def digest(cases: Iterable[Case]) -> str:
    """Hash a golden set by content: the order of its lines and the layout of its JSON do not count."""
    return hash_of_list(sorted((case.id, case.hash) for case in cases))[:16]


def hash_of_list(items: Iterable[object]) -> str:
    """Return the SHA-256 of a JSON array of these items, which is never in memory as a whole."""
    hashed, comma = hashlib.sha256(b"["), b""
    for item in items:
        hashed.update(comma + dumps(item))
        comma = b","
    hashed.update(b"]")
    return hashed.hexdigest()


def with_hash(case: Case) -> Case:
    """Return the case its content hash: what a score depends on, and nothing else.

    Only keys that say something are hashed, so that a new optional key does not change the hash of older cases. The
    expected key facts have a part of their own: baselines from before they counted hold the first part alone.
    """
    scored = {key: value for key in SCORED_KEYS if (value := getattr(case, key)) not in (None, ())}
    scored["gold_supports"] = [
        {key: value for key in _SUPPORT_KEYS if (value := getattr(support, key)) not in (None, ())}
        for support in case.gold_supports
    ]
    facts = f"-{_hash(case.expected_key_facts)}" if case.expected_key_facts else ""
    return replace(case, hash=_hash(scored) + facts)


SCORED_KEYS = (
    "question",
    "answerable",
    "required_support_groups",
    "recency_conflict_rule",
    "vaults",
    "folders",
    "k",
    "detail",
    "expected_doc_ids",
    "must_contain",
    "forbidden",
)
_SUPPORT_KEYS = ("rel_path", "heading_path", "snippets", "vault", "grade", "chunk_id", "doc_id")


def _hash(value: object) -> str:
    return hashlib.sha256(dumps(value)).hexdigest()[:16]
