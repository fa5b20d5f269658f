"""Which shard a process is: by its flag, by what started it, and never by guessing; and which questions it asks."""

from __future__ import annotations

import pytest

from builders import make_case, make_golden
from raggate.base.errors import UsageError
from raggate.pipeline.shards import Shard, cases_of, shard_of, written_shard
from tables import each_row


@each_row(
    "environment, number",
    [
        ({"RAGGATE_SHARD_INDEX": "0", "RAGGATE_SHARD_TOTAL": "8"}, 1),
        ({"JOB_COMPLETION_INDEX": "7"}, 8),
        ({"BUILDKITE_PARALLEL_JOB": "2", "BUILDKITE_PARALLEL_JOB_COUNT": "8"}, 3),
        ({"CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "8"}, 1),
        ({"CIRCLE_NODE_INDEX": "2", "CIRCLE_NODE_TOTAL": "8"}, 3),
        ({"AWS_BATCH_JOB_ARRAY_INDEX": "0"}, 1),
        ({"TEST_SHARD_INDEX": "7", "TEST_TOTAL_SHARDS": "8"}, 8),
        ({"SLURM_ARRAY_TASK_ID": "1", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_COUNT": "8"}, 1),
        ({"SLURM_ARRAY_TASK_ID": "0", "SLURM_ARRAY_TASK_MIN": "0", "SLURM_ARRAY_TASK_COUNT": "8"}, 1),
    ],
)
def test_what_started_a_process_says_which_shard_it_is(environment: dict[str, str], number: int) -> None:
    """Each variable counts as what sets it does."""
    assert shard_of(8, environment) == Shard(number, 8)


@each_row(
    "environment, words",
    [
        ({}, "raggate does not know which shard this is"),
        ({"JOB_COMPLETION_INDEX": "8"}, "JOB_COMPLETION_INDEX is 8, but 8 shards count from 0"),
        ({"CI_NODE_INDEX": "0", "CI_NODE_TOTAL": "8"}, "but 8 shards count from 1"),
        ({"JOB_COMPLETION_INDEX": "x"}, "JOB_COMPLETION_INDEX: expected a number"),
        ({"CIRCLE_NODE_INDEX": "0", "CIRCLE_NODE_TOTAL": "4"}, "says 4 shards, but --shards says 8"),
    ],
)
def test_a_number_that_does_not_fit_is_refused(environment: dict[str, str], words: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(UsageError, match=words):
        shard_of(8, environment)


@pytest.mark.parametrize("text", ["0/8", "9/8", "3", "a/b", "1/10001", "٣/8"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    """The flag counts from 1, and says how many there are."""
    with pytest.raises(UsageError, match="--shard: expected i/n"):
        written_shard(text, "--shard")


@pytest.mark.parametrize("count", [1, 2, 7, 23, 40])
def test_every_question_is_asked_by_one_shard(count: int) -> None:
    """Shards differ by one question at most, and one question more moves few."""
    golden = make_golden(*(make_case(f"q{number}") for number in range(23)))
    parts = [cases_of(golden, Shard(number, count)) for number in range(1, count + 1)]
    assert sorted(case.id for part in parts for case in part) == sorted(case.id for case in golden.cases)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
