"""The shelf of adapters and the configuration, which does not know it, name the same."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from raggate.base import plugins
from raggate.config.ask_settings import ADAPTER_NAMES, Ask
from raggate.config.json_schema import FILE
from raggate.service.adapters import ADAPTERS


def test_the_configuration_names_every_adapter() -> None:
    """A configuration, and its schema for editors, take the adapters of the shelf and of other packages."""
    assert (*ADAPTERS, *plugins.names(plugins.ADAPTERS)) == ADAPTER_NAMES
    schema = json.loads(files("raggate.config").joinpath(FILE).read_bytes())
    assert schema["$defs"]["Ask"]["properties"]["adapter"]["enum"] == [*ADAPTER_NAMES]


def test_a_misspelt_adapter_is_answered_with_the_nearest() -> None:
    """Whoever misspells one is told which there are, and which was meant."""
    with pytest.raises(ValueError, match=rf"expected one of {', '.join(ADAPTER_NAMES)}. Did you mean 'kebab'"):
        Ask(adapter="kebap")
