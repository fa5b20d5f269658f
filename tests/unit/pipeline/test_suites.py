"""What several suites of one request are told apart by: the files of their reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from raggate.errors import UsageError
from raggate.inputs.suite_list import SuiteFile
from raggate.pipeline import suites


def listed(*names: str) -> list[SuiteFile]:
    """Give suites of these names."""
    return [SuiteFile(config=f"{name}.yml", suite=name) for name in names]


def test_each_suite_has_a_file_of_its_own() -> None:
    """The name of the suite stands for `{suite}`, and a configuration without one for its path."""
    files = suites.reports_of(["junit={suite}.xml"], listed("a", "services/b/raggate.yml"), "--report")
    assert [[*each.formats] for each in files.values()] == [[Path("a.xml")], [Path("services-b-raggate.yml.xml")]]


def test_two_suites_never_write_one_file() -> None:
    """A report of one suite would be replaced by that of another: refused, where there are any reports."""
    same = listed("services/b", "services-b")
    with pytest.raises(UsageError, match="two suites would write the same file"):
        suites.reports_of(["junit={suite}.xml"], same, "--report")
    assert [*suites.reports_of([], same, "--report")] == ["services/b", "services-b"]
