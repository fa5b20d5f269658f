"""Everything that was decided -> the files as they would be, and the difference for people to look at. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from hashlib import sha256

from msgspec import Struct

from raggate.inputs.authoring.golden_file import with_cases, with_changed
from raggate.inputs.authoring.proposals_file import Kept, write as write_proposals
from raggate.labelling import label_file
from raggate.labelling.decisions import words_of
from raggate.labelling.golden_edits import Edits
from raggate.labelling.progress import Progress
from raggate.models.golden import Case, Golden, Support
from raggate.text.anchors import covers


class FileChange(Struct, frozen=True, kw_only=True):
    """A file, by the name that people know it by, before and after; the same when nothing changes."""

    name: str
    before: bytes
    after: bytes

    @property
    def lines(self) -> list[str]:
        """Give the changed lines as a unified diff without any lines around them."""
        before, after = (data.decode("utf-8", "replace").split("\n") for data in (self.before, self.after))
        return list(difflib.unified_diff(before, after, n=0, lineterm=""))[2:]


class Plan(Struct, frozen=True, kw_only=True):
    """What writing would do.

    Attributes:
        golden, labels, proposals: the three files.
        sentences: what changes in the golden set, a line for each passage, key and question.
        edits: the cases behind it, with what is refused and split.
    """

    golden: FileChange
    labels: FileChange
    proposals: FileChange
    sentences: tuple[str, ...]
    edits: Edits

    @property
    def files(self) -> tuple[FileChange, ...]:
        """Give the files that change, the golden set last."""
        return tuple(file for file in (self.labels, self.proposals, self.golden) if file.before != file.after)

    @property
    def digest(self) -> str:
        """Give what tells it from other plans: whoever writes says which one they saw."""
        parts = (part for file in self.files for part in (file.name.encode(), file.before, file.after))
        return sha256(b"\0".join(sha256(part).digest() for part in parts)).hexdigest()[:16]


def plan(
    names: Mapping[str, str],
    stored: Mapping[str, bytes],
    golden: Golden,
    state: Progress,
    kept: list[Kept],
    edited: Edits,
) -> Plan:
    """Give what writing would do.

    Args:
        names: of the files `golden`, `labels` and `proposals`, for people.
        stored: what they hold now.
        golden: the golden set that is stored.
        state: what was decided.
        kept: the proposals there are.
        edited: what the decisions make of the golden set.
    """
    after = {
        "golden": with_cases(with_changed(stored["golden"], edited.changed), edited.added),
        "labels": label_file.write(state.written()),
        "proposals": write_proposals(_proposals(kept, state, edited)),
    }
    # an order or spacing that somebody else gave the file is no change
    if label_file.read(stored["labels"], names["labels"]) == state.written():
        after["labels"] = stored["labels"]
    if not state.proposals:
        after["proposals"] = stored["proposals"]
    files = {key: FileChange(name=names[key], before=stored[key], after=after[key]) for key in names}
    return Plan(**files, sentences=tuple(_sentences(golden, edited, state)), edits=edited)


def _proposals(kept: list[Kept], state: Progress, edited: Edits) -> Iterator[Kept]:
    for item in kept:
        decision = state.proposals.get(item.proposal.id)
        refused = item.proposal.id in edited.refused
        if decision is None or refused:
            yield item
        elif decision.do == "reject" or decision.text.strip() not in {"", item.proposal.case.question}:
            # one that was taken in other words would be proposed again in its own
            yield item._replace(state="rejected")


def _sentences(golden: Golden, edited: Edits, state: Progress) -> Iterator[str]:
    for case in golden.cases:
        if (new := edited.changed.get(case.id)) is not None:
            if state.asked.get(case.id, set()) - {words_of(case.question)}:
                yield f"{case.id}: note: asked something else when it was judged; now it asks: {case.question}"
            yield from (f"{case.id}: {change}" for change in _changes(case, new))
    yield from (f"{case.id}: new: {case.question}" for case in edited.added)


def _changes(old: Case, new: Case) -> Iterator[str]:
    before = {_name(place): place.grade for place in (*old.gold_supports, *old.not_relevant)}
    after = {_name(place): place.grade for place in (*new.gold_supports, *new.not_relevant)}
    for place in dict.fromkeys((*before, *after)):
        if before.get(place) != after.get(place):
            yield f"{place}: {_grade(before.get(place))} → {_grade(after.get(place))}"
    if {*new.gold_supports, *new.not_relevant} - {*old.gold_supports, *old.not_relevant}:
        yield from _overlaps(new)
    for key in ("must_pass", "category", "difficulty"):
        if getattr(old, key) != getattr(new, key):
            yield f"{key}: {_value(getattr(old, key))} → {_value(getattr(new, key))}"


def _overlaps(case: Case) -> Iterator[str]:
    """Say where a gold section holds one that does not answer: a gold support counts for all below its heading."""
    for gold in case.gold_supports:
        for place in case.not_relevant:
            heading, deeper = gold.heading_path, place.heading_path
            same = gold.rel_path and (gold.rel_path, gold.vault) == (place.rel_path, place.vault)
            if same and not gold.snippets and deeper and (heading is None or covers(heading, deeper)):
                yield f"note: {_name(gold)} is gold and holds {deeper}, so a chunk of that counts as found"


def _name(place: Support) -> str:
    note = f"{place.vault}/{place.rel_path}" if place.vault else place.rel_path
    return " ".join(filter(None, (note or place.chunk_id or place.doc_id, place.heading_path)))


def _grade(grade: int | None) -> str:
    return "not judged" if grade is None else f"grade {grade}"


def _value(value: bool | str) -> str:  # noqa: FBT001 - it is what is written
    return str(value).lower() if isinstance(value, bool) else value
