"""Several processes: the same evaluation as one gives, to the last bit, or the same error; and none that stays."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from raggate.errors import UsageError
from raggate.service import forked_processes
from raggate_interop import evaluate_parts
from raggate_interop.evaluate import evaluate_files
from raggate_interop.measures import CUTOFFS
from raggate_interop.totals import Evaluation
from raggate_interop.trec_beir import cuts, evaluation_files
from raggate_interop.trec_beir.evaluation_files import Files
from raggate_interop.trec_beir.stretches import Stretch
from tables import each_row

QUERIES = 60


def judged(queries: list[str]) -> list[str]:
    """Write judgements of three documents a query."""
    return [
        f"{query} 0 {document} {grade}\n" for query in queries for document, grade in (("a", 2), ("b", 1), ("z", 0))
    ]


def ranked(queries: list[str], seed: int = 1) -> list[str]:
    """Write a run of some of ten documents a query, with ties and ranks that say nothing."""
    chance = random.Random(seed)  # noqa: S311
    return [
        f"{query} Q0 {document} {rank} {chance.randint(0, 99) / 10} t\n"
        for query in queries
        for rank, document in enumerate(chance.sample("abcdefghij", chance.randint(1, 10)))
    ]


def listed(queries: list[str], seed: int = 1) -> list[str]:
    """Write the same kind of lists as JSON."""
    chance = random.Random(seed)  # noqa: S311
    lists = {query: chance.choices("abcdefghij", k=chance.randint(0, 10)) for query in queries}
    return [json.dumps({"query_id": query, "doc_ids": lists[query]}) + "\n" for query in queries]


NAMES = [f"q{number}" for number in range(QUERIES)]


def written(folder: Path, qrels: list[str], results: list[str]) -> Files:
    """Write both files; JSON is known by its first character."""
    (folder / "qrels").write_text("".join(qrels))
    (folder / "results").write_text("".join(results))
    kind = "lists" if results and results[0].startswith("{") else "run"
    return Files(qrels=folder / "qrels", **{kind: folder / "results"})  # type: ignore[arg-type]


def in_parts(files: Files, processes: int = 2) -> Evaluation | None:
    """Evaluate in several processes, and by no other way."""
    return evaluate_parts.evaluate_parts(files, CUTOFFS, processes)


def outcome(files: Files, processes: int) -> Evaluation | str:
    """Evaluate; give what is wrong where files are refused."""
    try:
        return evaluate_files(files, processes=processes)
    except UsageError as error:
        return f"{error} {error.hint}"


@pytest.mark.parametrize("results", [ranked, listed])
@pytest.mark.parametrize("processes", [2, 5])
def test_the_same_to_the_last_bit(tmp_path: Path, results: Callable[[list[str]], list[str]], processes: int) -> None:
    """Means and counts are those of one process, whatever the number of processes."""
    files = written(tmp_path, judged(NAMES[3:]), results(NAMES[:-2]))
    assert len(cuts.parts(files, processes)) == processes
    assert in_parts(files, processes) == evaluate_files(files)


LISTS = st.lists(st.sampled_from(NAMES), max_size=3)


@given(
    results=st.sampled_from([ranked, listed]),
    qrels_again=LISTS,
    again=LISTS,
    missing=LISTS,
    extra=LISTS,
    seed=st.integers(0, 99),
    odd=st.sampled_from(
        [""] * 5 + ["q1 Q0 a\n", "{}\n", "q7 Q0 a 1 nan t\n", "q8 Q0 a x 1 t\n", "\ufeff\n", "\n\n", "\x1c\n"]
    ),
    at=st.integers(0, 100),
    processes=st.integers(2, 3),
)
def test_unusual_files(
    tmp_path_factory: pytest.TempPathFactory,
    results: Callable[[list[str], int], list[str]],
    qrels_again: list[str],
    again: list[str],
    missing: list[str],
    extra: list[str],
    seed: int,
    odd: str,
    at: int,
    processes: int,
) -> None:
    """Queries that come twice, are missing or too many, and lines that are none, end as they do in one process."""
    qrels = judged([name for name in NAMES if name not in extra] + qrels_again)
    lines = results([name for name in NAMES if name not in missing] + again, seed)
    lines.insert(at % len(lines), odd)
    files = written(tmp_path_factory.mktemp("files"), qrels, lines)
    assert outcome(files, processes) == outcome(files, 1)


def test_another_order_is_not_cut(tmp_path: Path) -> None:
    """Files in different orders are read by one process from the start on, not a second time."""
    files = written(tmp_path, judged(NAMES[::-1]), ranked(NAMES))
    assert len(cuts.parts(files, 2)) == 1
    assert in_parts(files) is None


@each_row(
    ("qrels", "results"),
    [
        pytest.param([*NAMES, "q1"], NAMES, id="judgements of a query in two parts"),
        pytest.param(NAMES, [*NAMES, "q1"], id="a list in two parts"),
        pytest.param([*NAMES, "q1"], [*NAMES, "q1"], id="both in two parts"),
        pytest.param([*NAMES[:1], *NAMES[2:], "q1"], NAMES, id="a list in one part, its judgements in another"),
    ],
)
def test_a_query_in_two_parts(tmp_path_factory: pytest.TempPathFactory, qrels: list[str], results: list[str]) -> None:
    """What one part cannot know of the other is never believed."""
    files = written(tmp_path_factory.mktemp("files"), judged(qrels), listed(results))
    assert len(cuts.parts(files, 2)) == 2
    assert in_parts(files) is None


def test_a_process_that_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a process did not finish is measured again by one, and none of the others stays."""
    files = written(tmp_path, judged(NAMES), ranked(NAMES))
    expected, score, pids = evaluate_files(files), evaluate_parts._score, tmp_path / "pids"

    def dies(part: Files, *others: object) -> None:
        with pids.open("a") as stream:
            stream.write(f"{os.getpid()}\n")
        assert isinstance(part.run, Stretch)
        if part.run.begin == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        score(part, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(evaluate_parts, "_score", dies)
    assert in_parts(files) is None
    assert evaluate_files(files, processes=2) == expected
    assert_gone(map(int, pids.read_text().split()))


def assert_gone(pids: Iterable[int]) -> None:
    """Claim that processes ended and were waited for."""
    for pid in pids:
        with pytest.raises(ChildProcessError):
            os.waitpid(pid, 0)


def test_an_interrupt_ends_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends an evaluation while its processes work, and them."""
    files = written(tmp_path, judged(NAMES), ranked(NAMES))
    parent, start, running = os.getpid(), forked_processes.start, list[int]()
    gate, opened = os.pipe()

    def waits(part: Files, *_: object) -> None:
        # once: a second one would come when the test is over
        if isinstance(part.run, Stretch) and part.run.begin == 0:
            os.read(gate, 1)
            os.kill(parent, signal.SIGINT)
        signal.pause()

    def noted(work: Callable[[], object], processes: list[int]) -> None:
        start(work, processes)
        running[:] = processes
        if len(running) == 2:
            os.write(opened, b".")

    monkeypatch.setattr(evaluate_parts, "_score", waits)
    monkeypatch.setattr(forked_processes, "start", noted)
    with pytest.raises(KeyboardInterrupt):
        in_parts(files)
    assert len(running) == 2
    assert_gone(running)
    os.close(gate)
    os.close(opened)


def test_an_interrupt_just_before_it_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal that ends no read, as one that comes just before it or in another thread does not, is seen at once."""
    files = written(tmp_path, judged(NAMES), ranked(NAMES))
    start, running = forked_processes.start, list[int]()

    def interrupted() -> None:
        time.sleep(0.1)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    def noted(work: Callable[[], object], processes: list[int]) -> None:
        start(work, processes)
        running[:] = processes
        if len(running) == 2:
            threading.Thread(target=interrupted).start()

    # long enough to tell from at once, and none stays where it is not seen
    monkeypatch.setattr(evaluate_parts, "_score", lambda *_: time.sleep(5))
    monkeypatch.setattr(forked_processes, "start", noted)
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        in_parts(files)
    assert time.monotonic() - begun < 4
    assert_gone(running)


def test_no_further_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system gives no further process, one is enough."""

    def refused() -> int:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    files = written(tmp_path, judged(NAMES), ranked(NAMES))
    monkeypatch.setattr(os, "fork", refused)
    assert evaluate_files(files, processes=2) == evaluate_files(files)


def test_how_many_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is one for each core, if there is enough to do for each, and one alone where a file is a pipe."""
    files = written(tmp_path, judged(NAMES), ranked(NAMES))
    size = (tmp_path / "results").stat().st_size
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)), raising=False)
    for part, processes in ((size // 6, 4), (size // 3, 3), (size, 1), (size + 1, 1)):
        monkeypatch.setattr(evaluation_files, "PART_BYTES", part)
        assert files.processes() == processes
    monkeypatch.setattr(evaluation_files, "PART_BYTES", 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert files.processes() == 1
    monkeypatch.delattr(os, "sched_getaffinity")
    assert files.processes() == 1
    os.mkfifo(tmp_path / "pipe")
    assert Files(qrels=tmp_path / "qrels", run=tmp_path / "pipe").processes() == 1
    assert Files(qrels=tmp_path / "qrels", run=tmp_path / "none").processes() == 1
