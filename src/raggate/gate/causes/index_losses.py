"""What an index has lost since the baseline, and what of it is no longer counted, as reasons. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from raggate.gate.causes.index_change import IndexChange
from raggate.models.comparison import Comparison
from raggate.models.verdict import Reason
from raggate.text.numbers import counted

_GROWING = "if it was still growing, raise api.ready.settle"
_ALLOWED = "with --allow-regression and a --reason"
_FIELDS = {"documents": "indexing_coverage.docs_processed", "chunks": "indexing_coverage.chunks_embedded"}
"""What an index may count -> the field of answers that counts it too."""


def documents(comparison: Comparison, *, promoting: bool) -> Iterator[Reason]:
    """Say that an index of the same notes holds fewer documents than the baseline's: notes that no question is for too.

    Unlike chunks, which may be cut otherwise, documents are only fewer where some are missing. One that is counted and
    has no chunk is missing as well.
    """
    index = _index(comparison)
    if index is not None and index.documents and index.lost > 0:
        was, is_now = index.documents
        purpose = "" if promoting else f"; if notes are left out on purpose, promote a run without them, {_ALLOWED}"
        message = (
            f"the index has {counted(is_now, 'document')} of the same notes, {was} in the baseline's run, and what it "
            f"lacks is found by no question; {_GROWING}{purpose}"
        )
        yield Reason("documents-missing", message)
    if index is not None and index.hollowed > 0:
        purpose = "" if promoting else f"; if they have nothing to be found, promote a run of this index, {_ALLOWED}"
        message = (
            f"{counted(index.hollowed, 'more document')} of the index without any chunk than in the baseline's run, of "
            f"the same notes, and what has none is found by no question; {_GROWING}{purpose}"
        )
        yield Reason("documents-missing", message)


def chunks(comparison: Comparison, *, same_chunker: bool) -> Iterator[Reason]:
    """Say that an index of the same notes holds fewer chunks than the baseline's, cut the same way or not.

    What a part of an index does not find, nobody made worse.
    """
    index = _index(comparison)
    if index is None:
        return
    before, now = index.before, index.now
    was, is_now = before.get("chunks"), now.get("chunks")
    if before.get("vault") != now.get("vault") or type(was) is not int or type(is_now) is not int or is_now >= was:
        return
    versions = [side.get("chunker_version") for side in (before, now)]
    if same_chunker == (versions[0] is not None and versions[0] == versions[1]):
        message = f"the index has {counted(is_now, 'chunk')} of the same notes, {was} in the baseline's run; {_GROWING}"
        yield Reason("index-smaller", message)


def counts(comparison: Comparison, vanished: Collection[str]) -> Iterator[Reason]:
    """Say what the API counted of its index and does no longer, so that a smaller one is not seen.

    Args:
        vanished: the fields of answers that are told no more, which say it already.
    """
    index = _index(comparison)
    if index is None:
        return
    for noun, field in _FIELDS.items():
        if type(index.before.get(noun)) is int and type(index.now.get(noun)) is not int and field not in vanished:
            message = (
                f"the API counted the {noun} of its index in the baseline's run and does not now, so an index that "
                "lost some is not noticed"
            )
            yield Reason("field-vanished", message)


def _index(comparison: Comparison) -> IndexChange | None:
    if comparison.baseline is None or comparison.incomparable:
        return None
    return IndexChange(comparison.baseline.scorecard.fingerprint, comparison.scorecard.fingerprint)
