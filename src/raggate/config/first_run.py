"""What a first run takes from the change that brings raggate in, whose configuration nobody has reviewed yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from raggate.base.errors import UsageError
from raggate.base.quote import cut

if TYPE_CHECKING:
    from raggate.config.schema import Config

INPUT = "allow-first-run"
"""The action's input that allows settings."""
SETTINGS = ("pass_env", "egress", "user", "services")
"""The settings that are refused in a first run until they are allowed by name."""


def check(settings: Config, name: str, allowed: frozenset[str]) -> None:
    """Refuse settings that the workflow does not allow; `name` is that of the configuration's file."""
    asked = [(setting, key) for setting, key in _requested(settings) if setting not in allowed]
    if asked:
        needed = [setting for setting in SETTINGS if setting in dict(asked)]
        raise UsageError(
            f"{name}: {', '.join(cut(key) for _, key in asked)}: refused in a first run, where the base "
            "commit has no configuration and the change's own counts",
            hint=f"Merge the configuration first, or let the workflow allow it: "
            f"`{INPUT}: {', '.join((*sorted(allowed), *needed))}`.",
        )


def _requested(settings: Config) -> Iterator[tuple[str, str]]:
    """Yield each setting that is asked for, and the key where it stands."""
    # who has such settings has loaded their models
    from raggate.config.service_settings import DEFAULT_USER, variables_in

    beside = settings.api.command
    if beside is not None and set(beside.pass_env) - set(type(beside).model_fields["pass_env"].default):
        yield "pass_env", "api.command.pass_env"
    principals = settings.ask.principals
    headers = {"ask.headers": settings.ask.headers} | {
        f"ask.principals.{name}.headers": principal.headers for name, principal in principals.items()
    }
    yield from (("pass_env", key) for key, sent in headers.items() if variables_in(sent.values()))
    for key, judge in (settings.judges.asked() if settings.judges is not None else {}).items():
        # its key is a variable of the job's, and goes wherever the change says
        if judge.provider or judge.api_key_env:
            yield "pass_env", f"judges.{key}"
    if settings.api.egress:
        yield "egress", "api.egress"
    for key, container in settings.api.containers().items():
        if container is not settings.api.container:
            yield "services", key
        if container.pass_env:
            yield "pass_env", f"{key}.pass_env"
        if container.user != DEFAULT_USER:
            yield "user", f"{key}.user"
