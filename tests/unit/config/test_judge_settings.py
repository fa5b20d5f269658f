"""The section `judges`: every judge has an address and an immutable version, or the section says that it has none."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from raggate.base.errors import UsageError
from raggate.config.judge_settings import JudgeModelSettings, Judges
from raggate.config.schema import load
from tables import each_row

LOCAL = {"model": "qwen2.5-14b", "base_url": "http://127.0.0.1:8081"}


def section(*models: dict[str, Any], **keys: Any) -> Judges:
    return Judges.model_validate({"models": [*models], **keys})


@each_row(
    ("name", "pinned"),
    [
        ("openai:gpt-4o-2024-08-06", True),
        ("judge@9f2c1a0b44de", True),
        ("judge:sha256:9f2c1a0b44de9f2c1a0b44de", True),
        ("openai:gpt-4o", False),
        ("anthropic:claude-sonnet-4-5", False),
        # sizes, context lengths and days that no calendar has
        ("qwen2.5-14b-instruct-131072", False),
        ("model-120241022", False),
        ("model-2024-1022", False),
    ],
)
def test_a_day_or_a_digest_in_the_name_pins_a_model(name: str, pinned: bool) -> None:
    """A name says which version it is for ever when a day or a digest stands in it, and not otherwise."""
    assert JudgeModelSettings(model=name, base_url=None if "github" in name else LOCAL["base_url"]).pinned is pinned


HERE = {**LOCAL, "build": "b1"}
THERE = {**HERE, "base_url": "http://127.0.0.1:8082"}
OTHER = {**THERE, "build": "b2"}
GITHUB = {"model": "github:openai/gpt-4o-2024-11-20"}
SPOT = "expected another model in 'spot_model'"
TWICE = "expected every model once"
TOKEN = "expected a variable that is not the runner's, Docker's or raggate's"  # noqa: S105 - a message


@each_row(
    ("models", "keys", "said"),
    [
        ([LOCAL], {}, r"expected 'build' with 'qwen2.5-14b'.*accept with `build: unpinned`"),
        ([{**GITHUB, "base_url": "http://elsewhere.example"}], {}, "the job's token goes to GitHub alone"),
        ([{**GITHUB, "api_key_env": "MY_KEY"}], {}, "the job's token goes to GitHub alone"),
        *(
            ([{**HERE, "api_key_env": name}], {}, TOKEN)
            for name in ("GITHUB_TOKEN", "ACTIONS_RUNTIME_TOKEN", "INPUT_GITHUB-TOKEN")
        ),
        *(([first, HERE], {}, TWICE) for first in (HERE, THERE, {**HERE, "api_key_env": "A"})),
        *(([HERE, OTHER], {"spot_check": 20, "spot_model": second}, SPOT) for second in (HERE, THERE, OTHER)),
        ([HERE], {"spot_model": OTHER}, "expected 'spot_check: 20'"),
        ([HERE], {"scores": ["correctness", "correctness"]}, "expected every score once"),
        ([HERE], {"max_usd": 1}, r"expected 'price' with 'qwen2\.5-14b'"),
    ],
)
def test_what_is_refused(models: list[dict[str, Any]], keys: dict[str, Any], said: str) -> None:
    """A model has a version and no token of the runner's, none counts twice at any address, and dollars need prices."""
    with pytest.raises(ValidationError, match=said):
        section(*models, **keys)


def test_what_is_taken() -> None:
    """A model may be said to have no version; two builds are two judges, and a second one checks."""
    assert section(HERE).models[0].pinned
    assert not section({**LOCAL, "build": "unpinned"}).models[0].pinned
    assert len(section(HERE, OTHER).models) == 2
    assert section(HERE, spot_check=20, spot_model=OTHER).spot_model is not None
    assert section({**HERE, "price": [0.1, 0.2]}, max_usd=1).max_usd == 1


@each_row(
    ("model", "endpoint"),
    [
        ({"model": "openai:gpt-4o-2024-08-06"}, "openai"),
        ({"model": "openai:gpt-4o-2024-08-06", "base_url": "https://proxy.example"}, "other"),
        ({"model": "anthropic:claude-3-5-sonnet-20241022"}, "anthropic"),
        ({"model": "anthropic:claude-3-5-sonnet-20241022", "base_url": "https://proxy.example"}, "other"),
        ({"model": "github:openai/gpt-4o-2024-11-20"}, "github"),
        ({**LOCAL, "model": "qwen2.5:14b", "build": "b1"}, "local"),
    ],
)
def test_an_endpoint_is_whose_server_it_is(model: dict[str, str], endpoint: str) -> None:
    """The provider's own server is told from another one that speaks the same, and from one's own."""
    assert section(model).models[0].endpoint == endpoint


MODEL = "models: [{model: m, base_url: 'http://127.0.0.1:1', build: b1}]"


def text_with(judges: str, vault: str = "notes") -> bytes:
    return f"vault: {{work: {vault}}}\napi: {{url: 'http://127.0.0.1:9'}}\njudges: {{{MODEL}, {judges}}}\n".encode()


@each_row(
    "judges, message",
    [
        (
            "cassette: a/.GIT/config",
            "raggate.yml:3: judges.cassette: expected a file that is committed, found 'a/.GIT/config'",
        ),
        (
            "cassette: notes/c.jsonl",
            "judges.cassette: expected a file outside the notes, found 'notes/c.jsonl' in vault",
        ),
        ("canary: notes/sub/canary.jsonl", "judges.canary: expected a file outside the notes"),
        ("cassette: golden/eval_set.jsonl", "which is that of 'golden'"),
        ("cassette: baselines/default.json", "which is that of 'baseline'"),
        ("canary: golden/judge_cassette.jsonl", "which is that of 'judges.canary'"),
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
