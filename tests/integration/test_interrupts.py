"""An interrupt anywhere on the way, in the process of the run."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import raggate
from project import Project
from raggate.base.numbers import lot
from raggate.pipeline import asking, check
from raggate.pipeline.request import RunFailed
from raggate.service import signals
from suite_in_process import asked_by, booted, make_suite

# a file that was being opened when the signal came
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
SEED = "7"
TRIED = int(os.environ.get("RAGGATE_INTERRUPTS", "12"))
"""Places that are tried, of some 900; the variable names another number."""

WATCHED = (f"{Path(raggate.__file__).parent}/pipeline/", signals.__file__, contextlib.__file__)
Line = tuple[str, int]


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A suite that an API in this process answers, and signals as the program has them."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asking, "booted", booted)
        patch.setattr("raggate.service.ask.WATCH_SECONDS", 0)
        yield make_suite(tmp_path_factory.mktemp("interrupts"))
    # forgets the last one
    signals.install()
    for number, handler in before.items():
        signal.signal(number, handler)


def checked(suite: Project, out: Path, at_line: Callable[[Line], None]) -> None:
    """Check in this process, and call back before each line of what makes a run and what it is held together by."""

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if not frame.f_code.co_filename.startswith(WATCHED):
            return None
        if event == "line":
            at_line((frame.f_code.co_filename, frame.f_lineno))
        return trace

    signals.install()
    sys.settrace(trace)
    try:
        check.check(asked_by(suite, out=out))
    except (RunFailed, KeyboardInterrupt):
        pass
    finally:
        sys.settrace(None)


@pytest.fixture(scope="module")
def places(suite: Project, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Line, int]]:
    """The lines of a check that is not interrupted, each with the first and last time that it is reached."""
    reached: list[Line] = []
    for name in ("loads every module", "counts"):
        reached.clear()
        checked(suite, tmp_path_factory.mktemp(name.split()[0]), reached.append)
    times = {line: len([*same]) for line, same in groupby(sorted(reached))}
    return sorted({(line, time) for line, last in times.items() for time in (1, last)})


def test_an_interrupt_between_measuring_and_deciding(
    suite: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal that comes when everything was asked, and before it is judged, is what the verdict says."""
    conclude = check.conclude

    def interrupted(*given: Any, **named: Any) -> Any:
        signal.raise_signal(signal.SIGTERM)
        return conclude(*given, **named)

    monkeypatch.setattr(check, "conclude", interrupted)
    checked(suite, tmp_path, lambda line: None)
    (run,) = tmp_path.iterdir()
    assert json.loads((run / "verdict.json").read_bytes())["verdict"] == "interrupted"


def test_an_interrupt_anywhere_leaves_a_verdict(suite: Project, places: list[tuple[Line, int]], tmp_path: Path) -> None:
    """Wherever a signal comes, a run directory that was made says how the run ended."""
    silent = {}
    for number, (line, time) in enumerate(sorted(places, key=lambda place: lot(SEED, str(place)))[:TRIED]):
        left = [time]

        def interrupt(reached: Line, line: Line = line, left: list[int] = left) -> None:
            left[0] -= reached == line
            if not left[0]:
                left[0] = -1
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)

        out = tmp_path / str(number)
        checked(suite, out, interrupt)
        for run in out.iterdir() if out.exists() else ():
            try:
                json.loads((run / "verdict.json").read_bytes())
            except FileNotFoundError:
                silent[f"{line[0]}:{line[1]}"] = time
    assert not silent
