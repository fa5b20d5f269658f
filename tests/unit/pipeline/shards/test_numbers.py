"""Which shard a process is: by its flag, by what started it, and never by guessing."""

from __future__ import annotations

import pytest

from raggate.errors import UsageError
from raggate.pipeline.shards.numbers import attempt_of, shard_of
from tables import each_row

TOLD = [
    ("3/8", {}, 3),
    ("8/8", {}, 8),
    (None, {"RAGGATE_SHARD": "3/8"}, 3),
    (None, {"RAGGATE_SHARD_INDEX": "0", "RAGGATE_SHARD_TOTAL": "8"}, 1),
    (None, {"JOB_COMPLETION_INDEX": "7"}, 8),
    (None, {"BUILDKITE_PARALLEL_JOB": "2", "BUILDKITE_PARALLEL_JOB_COUNT": "8"}, 3),
    (None, {"CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "8"}, 1),
    (None, {"CIRCLE_NODE_INDEX": "2", "CIRCLE_NODE_TOTAL": "8"}, 3),
    (None, {"AWS_BATCH_JOB_ARRAY_INDEX": "0"}, 1),
    (None, {"TEST_SHARD_INDEX": "7", "TEST_TOTAL_SHARDS": "8"}, 8),
    (None, {"SLURM_ARRAY_TASK_ID": "1", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_COUNT": "8"}, 1),
    (None, {"SLURM_ARRAY_TASK_ID": "0", "SLURM_ARRAY_TASK_MIN": "0", "SLURM_ARRAY_TASK_COUNT": "8"}, 1),
    (None, {"SLURM_ARRAY_TASK_ID": "14", "SLURM_ARRAY_TASK_MIN": "10", "SLURM_ARRAY_TASK_STEP": "2"}, 3),
    ("3/8", {"JOB_COMPLETION_INDEX": "2"}, 3),
    # a part of an array that is started again by hand
    ("4/8", {"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_MIN": "3", "SLURM_ARRAY_TASK_COUNT": "1"}, 4),
    # a job of GitLab that is not parallel
    ("4/8", {"CI_NODE_TOTAL": "1"}, 4),
]


@each_row("flag, environment, shard", TOLD)
def test_what_started_a_process_says_which_shard_it_is(
    flag: str | None, environment: dict[str, str], shard: int
) -> None:
    """The flag counts from 1, each variable as what sets it does; a shard of a plan of 8 comes of it."""
    assert shard_of(flag, environment, 8) == shard


@each_row(
    "flag, environment, words",
    [
        (None, {}, "which shard is this"),
        ("0/8", {}, "--shard: expected i/n"),
        ("9/8", {}, "--shard: expected i/n"),
        ("3", {}, "--shard: expected i/n"),
        ("3/7", {}, "the plan has 8 shards"),
        (None, {"JOB_COMPLETION_INDEX": "8"}, "no shard 9 in a plan of 8"),
        (None, {"CI_NODE_INDEX": "0", "CI_NODE_TOTAL": "8"}, "no shard 0 in a plan of 8"),
        (None, {"RAGGATE_SHARD": "0/8"}, "RAGGATE_SHARD: expected i/n"),
        (None, {"JOB_COMPLETION_INDEX": "x"}, "JOB_COMPLETION_INDEX: expected a number"),
        (None, {"CIRCLE_NODE_INDEX": "0", "CIRCLE_NODE_TOTAL": "4"}, "says shard 1 of 4, and the plan has 8"),
        ("3/8", {"JOB_COMPLETION_INDEX": "3"}, "--shard says shard 3 of 8, JOB_COMPLETION_INDEX says shard 4"),
        (None, {"JOB_COMPLETION_INDEX": "3", "TEST_SHARD_INDEX": "1"}, "says shard 4, TEST_SHARD_INDEX says shard 2"),
        (None, {"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_MIN": "0", "SLURM_ARRAY_TASK_STEP": "2"}, "is none of 0"),
    ],
)
def test_what_contradicts_itself_or_the_plan_is_refused(
    flag: str | None, environment: dict[str, str], words: str
) -> None:
    """Two that say otherwise, another number of shards, and a shard that there is not are usage errors."""
    with pytest.raises(UsageError) as refused:
        shard_of(flag, environment, 8)
    assert words in refused.value.message


def test_an_attempt_is_told_by_what_started_it() -> None:
    """The first variable that tells counts, from 1 whatever it counts from."""
    assert attempt_of({}) == 1
    assert attempt_of({"GITHUB_RUN_ATTEMPT": "2"}) == 2
    assert attempt_of({"BUILDKITE_RETRY_COUNT": "0"}) == 1
    assert attempt_of({"RAGGATE_ATTEMPT": "3", "GITHUB_RUN_ATTEMPT": "2"}) == 3
