"""Tests in several processes that are forked when everything is loaded and every test is known: `--workers`.

Elsewhere pytest-xdist shares tests out. Each of its processes loads all modules and finds all tests, which for the many
short ones takes each four seconds of CPU. To plugins a worker looks as one of pytest-xdist does.
"""

from __future__ import annotations

import atexit
import gc
import multiprocessing
import os
import signal
import traceback
from collections.abc import Iterator
from itertools import chain, groupby
from multiprocessing.connection import Connection, wait
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from _pytest.unraisableexception import collect_unraisable


def number(given: str) -> int:
    """Read how many: by default twice as many as there are processors, and two, since many tests only wait."""
    return 2 * (os.cpu_count() or 1) + 2 if given == "auto" else int(given)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    how = "run the tests in so many forked processes; auto: somewhat more than there are processors"
    parser.addoption("--workers", type=number, default=0, metavar="NUMBER", help=how)


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Let workers run the tests, and report what they report as it comes; otherwise pytest runs them itself."""
    option = session.config.option
    if not option.workers or option.collectonly or option.usepdb or session.testsfailed:
        return None
    files = _files(session)
    queue, numbers = os.pipe()
    os.write(numbers, b"".join(place.to_bytes(2) for place in range(len(files))))
    os.close(numbers)
    session.config._tmp_path_factory.getbasetemp()
    session.config.get_terminal_writer().flush()
    workers: dict[Connection, int] = {}
    try:
        for name in (f"gw{place}" for place in range(option.workers)):
            results, ours = multiprocessing.Pipe(duplex=False)
            workers[results] = os.fork()
            if not workers[results]:
                _work(name, session, chain.from_iterable(files[place] for place in _taken(queue)), ours)
            ours.close()
        _report(session, workers)
    except BaseException:
        for pid in workers.values():
            os.kill(pid, signal.SIGINT)
        raise
    finally:
        for pid in workers.values():
            os.waitpid(pid, 0)
    return True


def _files(session: pytest.Session) -> list[list[pytest.Item]]:
    """Give the tests of each file; integration tests come first, whose files take longest: short ones end evenly."""
    files = [[*tests] for _, tests in groupby(session.items, lambda item: item.path)]
    return sorted(files, key=lambda tests: "integration" not in tests[0].path.parts)


def _taken(queue: int) -> Iterator[int]:
    """Take the next number of a file for as long as there is one: workers read them from one pipe."""
    while taken := os.read(queue, 2):
        yield int.from_bytes(taken)


def _report(session: pytest.Session, workers: dict[Connection, int]) -> None:
    """Hand the reports of all workers on, until each has said that it has ended."""
    hook, running = session.config.hook, dict.fromkeys(workers, "")
    while running:
        for results in wait([*running]):
            try:
                reports, running[results], output = results.recv()
            except EOFError:
                pytest.exit(f"a worker ended at {running[results] or 'no test'}", pytest.ExitCode.INTERNAL_ERROR)
            for sent in reports:
                report = hook.pytest_report_from_serializable(config=session.config, data=sent)
                hook.pytest_runtest_logreport(report=report)
            if output is not None:
                del running[results]
                hook.pytest_testnodedown(node=SimpleNamespace(config=session.config, workeroutput=output), error=None)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)


def _work(name: str, session: pytest.Session, tests: Iterator[pytest.Item], results: Connection) -> NoReturn:
    """Run tests in a process that was forked for it, and end it."""
    config = session.config
    try:
        os.environ["PYTEST_XDIST_WORKER"] = name
        config.workerinput, config.workeroutput = {"workerid": name}, {}
        _take_own_files(config, name)
        worker = _Worker(config, results)
        config.pluginmanager.register(worker)
        test = next(tests, None)
        while test is not None:
            following = next(tests, None)
            config.hook.pytest_runtest_protocol(item=test, nextitem=following)
            test = following
        gc.collect()
        collect_unraisable(config)
        config.hook.pytest_sessionfinish(session=session, exitstatus=pytest.ExitCode.OK)
        atexit._run_exitfuncs()
        worker.send("", config.workeroutput)
        os._exit(0)
    except Exception:  # noqa: BLE001 - whose cause is to be seen
        traceback.print_exc()
    finally:
        os._exit(1)


def _take_own_files(config: pytest.Config, name: str) -> None:
    """Capture into files of this process, write into a directory of its own, and leave the terminal to the first."""
    capture = config.pluginmanager.getplugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    capture.suspend_global_capture()
    config.pluginmanager.unregister(name="terminalreporter")
    directories = config._tmp_path_factory
    directories._basetemp = directories.mktemp(name, numbered=False)


class _Worker:
    """Sends what is reported with the name of the test that begins then, by which a test is known that ends it."""

    def __init__(self, config: pytest.Config, results: Connection) -> None:
        self._config = config
        self._results = results
        self._reports: list[dict[str, Any]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        hook = self._config.hook
        # only here is known how many subtests failed, of which the outcome of their test is made when it is asked for
        hook.pytest_report_teststatus(report=report, config=self._config)
        self._reports.append(hook.pytest_report_to_serializable(config=self._config, report=report))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.send(nodeid)

    def send(self, running: str, output: dict[str, Any] | None = None) -> None:
        self._results.send((self._reports, running, output))
        self._reports = []
