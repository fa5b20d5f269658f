"""What must agree in a configuration that asks an MCP server. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raggate.config.schema import Config


def check(config: Config) -> None:
    """Refuse what cannot be done over standard input and output.

    Raises:
        ValueError: naming the key, and what it expects.
    """
    if config.api.command is None or not config.api.command.stdio:
        return
    mcp = config.ask.mcp
    if mcp is None:
        raise ValueError("expected ask.adapter 'mcp' with api.command.stdio, as the others speak HTTP alone")
    for key in ("path", "headers", "pass_env"):
        if getattr(mcp, key) != type(mcp).model_fields[key].default:
            raise ValueError(
                f"expected no ask.mcp.{key} with api.command.stdio, which has no HTTP; use api.command.env"
            )
    if any(principal.headers for principal in config.ask.probes.principals.values()):
        raise ValueError("expected no headers of ask.probes.principals with api.command.stdio, which has no HTTP")
    if config.ask.probes.reindex is not None:
        raise ValueError(
            "expected no ask.probes.reindex with api.command.stdio, which has no HTTP: the server is started anew"
        )
