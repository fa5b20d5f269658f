"""What somebody points at, a retrieved chunk or `note#heading` -> the gold support that names it, or why none does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from raggate.errors import UsageError
from raggate.inputs import headings
from raggate.inputs.authoring.passages import Passage, heading_starts
from raggate.models.golden import Golden, Support, Vault
from raggate.models.run import CUT, Chunk
from raggate.text.headings import Elements, closest, elements, fold, is_path, without_attributes, written
from raggate.text.quote import enumerated, nearest, quoted

_Note = tuple[str, str]


def of_chunk(chunk: Chunk, among: Iterable[Passage], vault: Vault) -> Passage | None:
    """Find the passage that a chunk of an answer is from: by its heading path, else by its text; None for neither.

    Args:
        among: all passages of the vault that hold text. A chunk may also be a heading without any of its own.
    """
    note = [item for item in among if item.rel_path == chunk.rel_path and chunk.vault in {None, item.vault}]
    named = _under(chunk, note)
    text = chunk.text.removesuffix(CUT) if chunk.text_hash else chunk.text
    holding = [item for item in named or note if headings.holds(item.text, text)]
    choice = holding if len(holding) == 1 else named or _bare_headings(chunk, vault)
    return choice[0] if len(choice) == 1 else None


def whole_note(chunk: Chunk, vault: Vault) -> Passage | None:
    """Find the note that a chunk of an answer is from, as a passage; None for no note of its path, and several."""
    notes = vault.notes_at(chunk.rel_path, (chunk.vault,) if chunk.vault else ())
    return Passage(*notes[0], (), 1, chunk.text) if len(notes) == 1 else None


def _under(chunk: Chunk, among: Iterable[Passage]) -> list[Passage]:
    """Return the passages under the heading path of a chunk, by the closest way to compare headings that finds any."""
    wanted, candidates = elements(chunk.heading_path), list(among)
    return list(closest(lambda same: [item for item in candidates if is_path(wanted, item.path, same)]))


def _bare_headings(chunk: Chunk, vault: Vault) -> list[Passage]:
    """Return the headings of a chunk's note that are its heading path, each as a passage without text."""
    names = (chunk.vault,) if chunk.vault else tuple(vault.directories)
    bare = (
        Passage(name, chunk.rel_path, path, line + 1, "")
        for name in names
        if (name, chunk.rel_path) in vault.texts
        for line, path in heading_starts(vault.texts[name, chunk.rel_path], chunk.rel_path).items()
    )
    return _under(chunk, bare)


def of_anchor(anchor: str, vault: Vault) -> Support:
    """Read `note`, `note#heading` or `vault/note#heading`, where the heading may be a path, or the end of one.

    Raises:
        UsageError: for a note or heading that is not there, with the nearest that is, and for one of several.
    """
    note, heading = _note(anchor, vault)
    several = sum(rel_path == note[1] for _, rel_path in vault.texts) > 1
    support = Support(rel_path=note[1], vault=note[0] if several else None)
    if not heading:
        return support
    paths = list(dict.fromkeys(heading_starts(vault.texts[note], note[1]).values()))
    path = _only(heading, paths, note[1])
    return Support(rel_path=support.rel_path, vault=support.vault, heading_path=written(path))


def cases_beside(golden: Golden, supports: Iterable[Support], vault: Vault) -> list[str]:
    """Name the cases with a gold support in a vault of some others; of unanswerable ones nobody knows."""
    wanted = {name for support in supports for name in _vaults(support, vault)}
    return [
        case.id
        for case in golden.cases
        if any(name in wanted for support in case.gold_supports for name in _vaults(support, vault))
    ]


def _vaults(support: Support, vault: Vault) -> tuple[str, ...]:
    names = (support.vault,) if support.vault else vault.directories
    return tuple(name for name in names if (name, support.rel_path) in vault.texts)


def _note(anchor: str, vault: Vault) -> tuple[_Note, str]:
    """Split an anchor into its note and the heading; the note's own name may hold the mark between them."""
    names = {f"{name}/{path}": (name, path) for name, path in vault.texts}
    short: dict[str, list[_Note]] = {}
    for note in vault.texts:
        short.setdefault(note[1], []).append(note)
    cuts = [len(anchor), *(place for place, letter in enumerate(anchor) if letter == "#")]
    for cut in sorted(cuts, reverse=True):
        written_note, heading = anchor[:cut].strip(), anchor[cut:].strip()
        if written_note in names:
            return names[written_note], heading
        if len(notes := short.get(written_note, [])) == 1:
            return notes[0], heading
        if notes:
            choices = enumerated([f"{name}/{path}" for name, path in notes])
            raise UsageError(f"--anchor: {quoted(written_note)} is in several vaults: {choices}")
    name = anchor.partition("#")[0].strip()
    close = nearest(name, (*short, *names), cutoff=0.5)
    raise UsageError(
        f"--anchor: no note {quoted(name)} in the vault{f'; nearest: {quoted(close)}' if close else ''}",
        hint="Expected NOTE#HEADING, with the note's path in its vault.",
    )


def _only(heading: str, paths: Sequence[Elements], note: str) -> Elements:
    """Find the one path that a heading names: all of it, or its end."""
    # `note.md#Costs` and `note.md## Costs` name the same
    wanted = elements(heading) or (fold(heading),)
    bare = elements(heading.removeprefix("#"))
    names = [name for name in (wanted, bare) if name]
    ending = closest(lambda same: [path for path in paths if any(is_path(it, path[-len(it) :], same) for it in names)])
    exact = [path for path in ending if len(path) in map(len, names)]
    choice = exact if len(exact) == 1 else ending
    if len(choice) == 1:
        return choice[0]
    if choice:
        several = enumerated([quoted(written(path)) for path in choice])
        raise UsageError(f"--anchor: {quoted(note)} has several headings {quoted(heading)}: {several}")
    # an id or classes at the end of a heading are not what somebody misspelt
    titles = {without_attributes(title): title for path in paths for title in path[-1:]}
    close = nearest(heading.lstrip("# "), titles, cutoff=0.5)
    raise UsageError(
        f"--anchor: {quoted(note)} has no heading {quoted(heading)}{f'; nearest: {quoted(close)}' if close else ''}",
        hint=f"It has {enumerated([*titles])}." if titles else "It has none: name the note alone.",
    )
