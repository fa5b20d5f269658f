"""A configuration and what a command line says instead -> the configuration that counts."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from pydantic import ValidationError

from raggate.base.errors import UsageError
from raggate.base.quote import quoted
from raggate.base.yamlio import sentence
from raggate.config.schema import Config, run_for_questions
from raggate.config.service_settings import Api
from raggate.config.values import image_name


class Overrides(Struct, frozen=True, kw_only=True):
    """What a command line says instead of raggate.yml. None, or empty: as configured.

    Attributes:
        api_image: container image of the API. The configured `api.container` keeps its other settings.
        api_build: build context of the API's image, relative to the configuration; the same.
        api_url: where the API runs already.
        base_image: container image of the base build, which a regression is checked on.
        in_process: whether a function of this process is asked, in place of the program that the configuration starts.
        contained: whether an API that would share raggate's own surroundings is refused.
        replayed: whether judges are not called, and replies are those of the cassette alone.
    """

    api_image: str | None = None
    api_build: str | None = None
    api_url: str | None = None
    base_image: str | None = None
    in_process: bool = False
    contained: bool = False
    replayed: bool = False

    def apply(self, settings: Config) -> Config:
        """Change the configuration accordingly.

        Raises:
            UsageError: for two ways to bring the API up at once, or a value that none of them takes.
        """
        changed = self._with_base(self._changed(settings))
        if self.replayed and changed.judges is not None:
            changed = changed.model_copy(update={"judges": changed.judges.model_copy(update={"mode": "replay"})})
        if self.in_process and not (changed.api.stdio and changed.ask.adapter == "mapped"):
            raise UsageError(
                "retriever needs the configuration of a function: `api.stdio: true` and `ask.adapter: mapped`",
                hint="`raggate init --python MODULE:NAME` writes it. docs/functions.md shows it.",
            )
        if self.contained and changed.api.command is not None:
            raise UsageError(
                "api.command is refused for this event: it would run code of the change inside raggate's own "
                "container, next to the token, the files of the job and the Docker socket",
                hint="Run it in a container of its own: section api.container. Where everybody who can open a pull "
                "request is trusted with all of that, the input `allow-command: true` allows it, "
                "except on pull_request_target.",
            )
        return changed

    def _with_base(self, settings: Config) -> Config:
        if not self.base_image:
            return settings
        try:
            return settings.model_copy(update={"recheck": image_name(self.base_image)})
        except ValueError as error:
            raise UsageError(f"base-image: {error}, found {quoted(self.base_image)}") from None

    def _changed(self, settings: Config) -> Config:
        given = {"api-image": self.api_image, "api-build": self.api_build, "api-url": self.api_url}
        chosen = [(name, value) for name, value in given.items() if value]
        if not chosen:
            return settings
        if len(chosen) > 1:
            raise UsageError(f"{' and '.join(name for name, _ in chosen)}: expected at most one of them")
        ((name, value),) = chosen
        if settings.ask.runs_program:
            raise UsageError(f"{name}: {run_for_questions(settings.ask.adapter)}")
        if name != "api-url" and settings.api.container is None:
            raise UsageError(
                f"{name} needs the section api.container in the configuration, which says at least the API's `port`",
                hint="An image alone does not say where the API listens and how it finds its notes.",
            )
        try:
            api = Api.model_validate(_api(settings.api, name, value), strict=True)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            raise UsageError(sentence((name,), {**problem, "input": value}, ())) from None
        return settings.model_copy(update={"api": api})


def _api(api: Api, name: str, value: str) -> dict[str, Any]:
    # what the configuration did not say stays unsaid, so that it is not taken for a choice
    current = api.model_dump(exclude_unset=True)
    kept = {key: part for key, part in current.items() if key not in {"command", "url", "container"}}
    if name == "api-url":
        return {**kept, "url": value}
    container = {key: part for key, part in current["container"].items() if key not in {"image", "build"}}
    if name == "api-image":
        return {**kept, "container": {**container, "image": value}}
    build = current["container"].get("build") or {}
    return {**kept, "container": {**container, "build": {**build, "context": value}}}
