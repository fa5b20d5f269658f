"""What a command line says instead of the configuration."""

from __future__ import annotations

import pytest

from raggate.base.errors import UsageError
from raggate.config import schema
from raggate.config.overrides import Overrides
from raggate.config.schema import Config
from tables import each_row

COMMAND = b"suite: notes\nvault: {a: b}\napi: {command: {run: [x]}, ready: {timeout: 7}}\n"
PROGRAM = b"suite: notes\nvault: {a: b}\napi: {command: {run: [x]}}\nask: {adapter: kebab}\n"
IMAGE = b"suite: notes\nvault: {a: b}\napi: {container: {image: old, port: 80, memory: 1g}}\n"
BUILD = b"suite: notes\nvault: {a: b}\napi: {container: {build: {context: a, dockerfile: d}, port: 80}}\n"


def loaded(data: bytes) -> Config:
    return schema.load(data, "raggate.yml")


def test_url_takes_the_place_of_any_other_way() -> None:
    """A URL replaces the command or container, and readiness stays."""
    api = Overrides(api_url="http://api:9000").apply(loaded(COMMAND)).api
    assert (api.url, api.command, api.container, api.ready.timeout) == ("http://api:9000", None, None, 7)


def test_image_keeps_the_other_settings_of_the_container() -> None:
    """An image replaces image or build alone, so that its limits cannot change with it."""
    for data in (IMAGE, BUILD):
        container = Overrides(api_image="new:1").apply(loaded(data)).api.container
        assert container is not None
        assert (container.image, container.build, container.port) == ("new:1", None, 80)
    assert container.memory == "512m"


def test_build_keeps_the_other_settings_of_the_build() -> None:
    """A directory replaces the context of a build, and an image."""
    container = Overrides(api_build="api").apply(loaded(BUILD)).api.container
    assert container is not None
    assert container.build is not None
    assert (container.build.context, container.build.dockerfile) == ("api", "d")
    assert Overrides(api_build="api").apply(loaded(IMAGE)).api.container is not None


def test_an_image_of_the_base_is_checked_on() -> None:
    """An image of the build before the change turns the check on, whatever the configuration says of it."""
    for given in (b"", b"recheck: ref\n", b"recheck: old\n"):
        changed = Overrides(base_image="api:base").apply(loaded(IMAGE + given))
        assert changed.recheck == changed.base_image == "api:base"
    assert Overrides(base_image="").apply(loaded(IMAGE)).recheck == "again"


def test_judges_are_replayed_where_they_must_not_be_called() -> None:
    """Judges are replayed whatever their mode, and a configuration without judges gets none by that."""
    judges = b"judges: {mode: refresh, models: [{model: 'openai:gpt-4o-2024-08-06'}]}\n"
    replayed = Overrides(replayed=True).apply(loaded(COMMAND + judges)).judges
    assert replayed is not None
    assert (replayed.mode, replayed.models) == ("replay", (loaded(COMMAND + judges).judges or replayed).models)
    assert Overrides(replayed=True).apply(loaded(COMMAND)).judges is None


@each_row(
    ("overrides", "data", "message"),
    [
        (Overrides(base_image="-v"), IMAGE, "base-image: expected the name of an image such as ghcr.io/acme/api:1.2"),
        (Overrides(api_image="a", api_url="http://b"), IMAGE, "api-image and api-url: expected at most one of them"),
        (Overrides(api_image="a"), COMMAND, "api-image needs the section api.container"),
        (
            Overrides(api_image="-v"),
            IMAGE,
            "api-image: expected the name of an image such as ghcr.io/acme/api:1.2, its path in lower case, found '-v'",
        ),
    ],
)
def test_what_cannot_be_is_named(overrides: Overrides, data: bytes, message: str) -> None:
    """Another suite, two ways at once, or a value that cannot be is a usage error that names the flag."""
    with pytest.raises(UsageError) as caught:
        overrides.apply(loaded(data))
    assert message in caught.value.message


def test_contained_refuses_what_runs_beside_raggate_alone() -> None:
    """Where the API must not share raggate's surroundings, what runs beside it is refused, by its key."""
    with pytest.raises(UsageError, match=r"api\.command is refused") as caught:
        Overrides(contained=True).apply(loaded(COMMAND))
    assert "api.container" in caught.value.hint
    assert "allow-command: true" in caught.value.hint
    assert Overrides(contained=True).apply(loaded(IMAGE)).api.container is not None
    assert Overrides(contained=True, api_url="http://api:9000").apply(loaded(COMMAND)).api.command is None


def test_a_program_is_not_replaced_by_an_api() -> None:
    """The adapter that asks a program cannot ask an API: an input that names one is refused."""
    with pytest.raises(UsageError, match=r"^api-url: ask\.adapter: kebab runs a program for the questions"):
        Overrides(api_url="http://127.0.0.1:9").apply(schema.load(PROGRAM, "raggate.yml"))
