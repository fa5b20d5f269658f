"""The section `invariants` of raggate.yml: a level for each rule, whose description is what it demands."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Literal

from raggate.config.effects import Looser, weaker
from raggate.config.service_settings import SettingsModel, described

Level = Annotated[Literal["error", "warn", "off"], Looser(weaker)]


class Invariants(SettingsModel):
    """Rules that every answer must meet: `error` breaks the gate (exit 4), `warn` is shown, `off` is not checked."""

    lists_ordered: Level = "error"
    """Final scores are finite numbers, highest first, and reported ranks are 1, 2, 3, … in list order."""
    chunk_ids_unique: Level = "error"
    """No chunk is twice in one list."""
    chunks_distinct: Level = "warn"
    """No two chunks of one list have the same place and text."""
    chunk_ids_stable: Level = "error"
    """One chunk id always comes with the same place and text."""
    scope_respected: Level = "error"
    """A question limited to some vaults gets no chunk of another."""
    vaults_known: Level = "warn"
    """A chunk whose path is in several vaults names its vault."""
    notes_exist: Level = "error"
    """Every retrieved chunk names a note of the fixture vault."""
    headings_exist: Level = "error"
    """Every retrieved chunk names a heading path that its note has."""
    text_in_note: Level = "error"
    """The text of every retrieved chunk is in its note, and no chunk is without text if others have some."""
    golden_kept_apart: Level = "warn"
    """Neither the build of the API's image nor a vault of its container holds golden set, baseline or `.git`."""
    abstained_is_empty: Level = "error"
    """An answer that abstains cites nothing."""
    index_complete: Level = "error"
    """The index has as many documents as the vault has notes with text, and does not change during the run."""
    no_empty_documents: Level = "warn"
    """No indexed document is without chunks."""
    list_deep_enough: Level = "warn"
    """The API cuts no list before the largest cut-off that is scored."""
    must_be_deterministic: Level = "off"
    """A question that is asked again gets the same ranking."""
    private_withheld: Level = "error"
    """No note that is private or deleted ever comes back."""
    principals_isolated: Level = "error"
    """No principal gets a note that they may not see."""
    lists_alike: Level = "warn"
    """Lists are much like the baseline's and about as long, and no list has become empty."""


@cache
def sentences() -> dict[str, str]:
    """Return what each rule demands: the description of its key."""
    return described(Invariants)
