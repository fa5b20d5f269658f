"""What stands beside a run: what is written reads back equal, and what is read may have been written by anybody."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders import make_case_score, make_delta, make_metric
from raggate.errors import UsageError
from raggate.models.comparison import NoteChange, to_stored
from raggate.models.verdict import Preview, Recheck, ReportContext, SourceLine
from raggate.pipeline import run_directory
from raggate.text.jsonio import dumps


def test_context_keeps_its_keys(tmp_path: Path) -> None:
    """What stands beside a run is read again as it was written, under the keys that earlier versions have."""
    row = make_delta(regressed=2, improved=1, unpaired=3, full_run=make_metric(0.75, 12))
    context = ReportContext(
        source_lines={"q1": SourceLine(path="vault/a.md", line=7)},
        preview=Preview(loosened=("gate.tolerance",), rows=(row,), vault=(NoteChange("added", "work/a b.md"),)),
        first_run=True,
        expired_waivers_resolved=True,
        recheck=Recheck(asked=(("hybrid", "q1"),), build="commit 0123", base=((make_case_score(),),)),
    )
    run_directory.write_context(tmp_path, context)
    stored = json.loads((tmp_path / run_directory.ASIDE_FILE).read_text())
    assert stored.keys() == {"places", "preview", "first_run", "waivers_settled", "recheck", "root", "trend"}
    assert [stored["preview"]["rows"][0][key] for key in ("lost", "gained", "lapsed")] == [2, 1, 3]
    assert stored["preview"]["rows"][0]["whole"]["n"] == 12
    assert stored["preview"]["vault"] == ["added work/a b.md"]
    assert run_directory.read_context(tmp_path) == context


@pytest.mark.parametrize("notes", [["moved work/a.md"], ["added"], [None], [{"added": "work/a.md"}], {"a.md": "added"}])
def test_hostile_note_changes(tmp_path: Path, notes: object) -> None:
    """A stored preview whose notes are not told as added, changed or removed is a usage error that names the file."""
    (tmp_path / run_directory.ASIDE_FILE).write_text(json.dumps({"preview": {"vault": notes}}))
    with pytest.raises(UsageError, match=f"{run_directory.ASIDE_FILE}: .*vault"):
        run_directory.read_context(tmp_path)


@pytest.mark.parametrize(
    ("stored", "place"),
    [
        ({"preview": {"rows": [to_stored(make_delta()) | {"lost": "two"}]}}, "preview.rows.0.lost: "),
        ({"places": {"q1": {"path": "a.md", "line": "x"}}}, "places.q1.line: "),
        ({"waivers_settled": "maybe"}, "waivers_settled: "),
    ],
)
def test_an_error_beside_the_run_names_the_key_of_the_file(tmp_path: Path, stored: object, place: str) -> None:
    """What cannot be read is named as it stands in the file, whatever the program calls it."""
    (tmp_path / run_directory.ASIDE_FILE).write_bytes(dumps(stored))
    with pytest.raises(UsageError) as caught:
        run_directory.read_context(tmp_path)
    assert place in caught.value.message
