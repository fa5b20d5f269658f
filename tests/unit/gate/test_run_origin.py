"""Which runs become a baseline by the command that made them."""

from __future__ import annotations

import click
import pytest

from builders import make_run
from raggate.cli.main import promote
from raggate.errors import UsageError
from raggate.gate.run_origin import OTHERS, refuse_other_origin
from raggate.models.provenance import Provenance, RunCommand
from tables import each_row


@each_row("command", [None, "check", "run"])
def test_a_run_of_the_suite(command: RunCommand | None) -> None:
    """A run of `check` or `run`, and one that does not say what made it, needs nothing more."""
    refuse_other_origin(make_run(provenance=Provenance(command=command)), ())


@each_row("command", OTHERS)
def test_a_run_of_another_command(command: RunCommand) -> None:
    """It is refused by name, with the flag that accepts it; another command's flag does not."""
    run = make_run(provenance=Provenance(command=command, build="revision v1"))
    refuse_other_origin(run, (command,))
    with pytest.raises(UsageError, match=f"is one of `raggate {command}`: revision v1, ") as refused:
        refuse_other_origin(run, set(OTHERS) - {command})
    assert refused.value.hint is not None
    assert refused.value.hint.endswith(f"add --from {command}.")


def test_the_flag_knows_them_all() -> None:
    """The values of --from are the commands that are refused without it."""
    (kind,) = (option.type for option in promote.params if option.name == "accepted_commands")
    assert isinstance(kind, click.Choice)
    assert tuple(kind.choices) == OTHERS
