"""Where the files of judges may not be: in git's own directory, among the notes, or in place of another file."""

from __future__ import annotations

import pytest

from raggate.config.schema import load
from raggate.errors import UsageError
from tables import each_row

MODEL = "models: [{model: m, base_url: 'http://127.0.0.1:1', build: b1}]"


def text_with(judges: str, vault: str = "notes") -> bytes:
    """Write a configuration with these keys of the section `judges`."""
    return f"vault: {{work: {vault}}}\napi: {{url: 'http://127.0.0.1:9'}}\njudges: {{{MODEL}, {judges}}}\n".encode()


@each_row(
    "judges, message",
    [
        (
            "cassette: .git/config",
            "raggate.yml:3: judges.cassette: expected a file that is committed; found '.git/config'",
        ),
        ("cassette: a/.GIT/hooks/c", "judges.cassette: expected a file that is committed"),
        (
            "cassette: notes/c.jsonl",
            "judges.cassette: expected a file outside the notes; found 'notes/c.jsonl' in vault",
        ),
        ("cassette: notes", "judges.cassette: expected a file outside the notes"),
        ("canary: {file: notes/sub/canary.jsonl}", "judges.canary.file: expected a file outside the notes"),
        ("cassette: golden/eval_set.jsonl", "which is that of 'golden'"),
        ("cassette: baselines/default.json", "which is that of 'baseline'"),
        ("canary: {file: golden/judge_cassette.jsonl}", "which is that of 'judges.canary.file'"),
    ],
)
def test_a_place_that_is_somebody_elses_is_refused(judges: str, message: str) -> None:
    """A configuration error names the key, the file and whose place that is."""
    with pytest.raises(UsageError) as caught:
        load(text_with(judges), "raggate.yml")
    assert message in caught.value.message


@each_row(
    "judges, vault",
    [
        ("cassette: notes-and-replies/c.jsonl", "notes"),
        ("cassette: .github/c.jsonl", "notes"),
        # where the notes lie beside everything else, there is no other place
        ("cassette: golden/c.jsonl", "."),
    ],
)
def test_any_other_place_is_taken(judges: str, vault: str) -> None:
    """A path that only looks like such a place is none."""
    assert load(text_with(judges, vault), "raggate.yml").judges is not None
