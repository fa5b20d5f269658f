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


def test_a_model_without_a_version_is_refused_by_name() -> None:
    """A model that can change with nobody's doing is an error that names it and the keys that help."""
    with pytest.raises(ValidationError, match=r"expected 'build' with 'qwen2.5-14b'.*accept with `build: unpinned`"):
        section(LOCAL)


def test_a_build_or_a_permission_by_name_lets_a_model_be_used() -> None:
    """The hash of the weights pins a model, and a permission that names it lets it be unpinned."""
    assert section({**LOCAL, "build": "sha256:9f2c1a0b44de"}).models[0].pinned
    assert not section({**LOCAL, "build": "unpinned"}).models[0].pinned


@each_row("extra", [{"base_url": "http://elsewhere.example"}, {"api_key_env": "MY_KEY"}])
def test_the_token_of_a_job_goes_to_github_alone(extra: dict[str, str]) -> None:
    """A model of GitHub's has no other address and no other key."""
    with pytest.raises(ValidationError, match="the job's token goes to GitHub alone"):
        section({"model": "github:openai/gpt-4o-2024-11-20", **extra})


@each_row("name", ["GITHUB_TOKEN", "ACTIONS_RUNTIME_TOKEN", "INPUT_GITHUB-TOKEN"])
def test_no_judge_is_given_a_token_of_the_runner(name: str) -> None:
    """The key of a judge is a variable of the user's, never one of the runner's."""
    with pytest.raises(ValidationError, match="expected a variable that is not the runner's, Docker's or raggate's"):
        section({**LOCAL, "build": "b1", "api_key_env": name})


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


def test_a_model_at_two_addresses_is_one_judge() -> None:
    """A panel cannot be one model several times, nor a spot check its own second opinion, by another address."""
    here = {**LOCAL, "build": "b1"}
    there = {**here, "base_url": "http://127.0.0.1:8082"}
    for twice in ((here, there), (here, here), ({**here, "api_key_env": "A"}, here)):
        with pytest.raises(ValidationError, match="expected every model once"):
            section(*twice)
    other = {**there, "build": "b2"}
    assert len(section(here, other).models) == 2
    for second in (here, there, other):
        with pytest.raises(ValidationError, match=r"expected another model in 'spot_model'"):
            section(here, other, spot_check=20, spot_model=second)
    assert section(here, spot_check=20, spot_model=other).spot_model is not None
    with pytest.raises(ValidationError, match="expected 'spot_check: 20'"):
        section(here, spot_model=other)
    with pytest.raises(ValidationError, match="expected every score once"):
        section(here, scores=["correctness", "correctness"])


def test_a_budget_in_dollars_needs_prices() -> None:
    """What a call costs is not known without a price, so a budget in dollars without one is an error."""
    with pytest.raises(ValidationError, match=r"expected 'price' with 'qwen2\.5-14b'"):
        section({**LOCAL, "build": "b1"}, max_usd=1)
    assert section({**LOCAL, "build": "b1", "price": [0.1, 0.2]}, max_usd=1).max_usd == 1


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
