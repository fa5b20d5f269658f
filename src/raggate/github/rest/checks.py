"""The check run on the head commit: begun before there is a verdict, completed with it, its title, text and places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal
from urllib.parse import quote

from raggate.errors import ExitCode
from raggate.github.rest.client import GitHubError, encodable, unexpected
from raggate.github.rest.repository import Repository
from raggate.reports.annotations import Annotation
from raggate.text.escape import plain
from raggate.text.jsonio import fields

SUMMARY_CHARACTERS = 65_535
TITLE_CHARACTERS = 255
BATCH = 50
"""Annotations in one request."""

_MESSAGE_BYTES = 64_000

Conclusion = Literal["success", "failure", "cancelled", "skipped"]


def conclusion_of(exit_code: int) -> Conclusion:
    """Return what a run that ended with an exit code is to GitHub: what could not be measured is never a success."""
    if exit_code == ExitCode.PASS:
        return "success"
    return "cancelled" if exit_code == ExitCode.INTERRUPTED else "failure"


def begin(repository: Repository, *, head: str, name: str, external_id: str, details_url: str) -> int:
    """Begin a check run, in progress, and give its id.

    Args:
        repository: where; the token may write checks.
        head: the commit under test, never the merge commit.
        name: what a required check is known by; the same on every run.
        external_id: what tells this run and attempt from all others.

    Raises:
        GitHubError: when GitHub refuses.
    """

    def find_existing() -> Any | None:
        runs = _runs(repository, head, name)
        return next((run for run in runs if run.get("name") == name and run.get("external_id") == external_id), None)

    body = {
        "name": name,
        "head_sha": head,
        "status": "in_progress",
        "external_id": external_id,
        "details_url": details_url,
    }
    path = f"{repository.path}/check-runs"
    run_id = fields(repository.github.send("POST", path, body, find_existing=find_existing)).get("id")
    if type(run_id) is not int:
        raise unexpected("a check run", where=f"POST {path}")
    return run_id


def complete(
    repository: Repository,
    *,
    run_id: int,
    conclusion: Conclusion,
    title: str,
    summary: str,
    annotations: Sequence[Annotation] = (),
) -> None:
    """Complete a check run. It is complete only after its annotations are there, or GitHub has refused them.

    Args:
        repository: where; the token may write checks.
        run_id: as `begin` gave it.
        conclusion: see `conclusion_of`.
        title: one line, cut after 255 characters.
        summary: Markdown of at most 65,535 characters.
        annotations: the most important first. Those without a place are left out, texts too long for GitHub are cut.

    Raises:
        GitHubError: when GitHub refuses; if it were the annotations alone, the check run is complete all the same.
        ValueError: for a summary that is too long.
    """
    summary = encodable(summary)
    if len(summary) > SUMMARY_CHARACTERS:
        raise ValueError(f"a summary of {len(summary)} characters was rendered, and GitHub takes {SUMMARY_CHARACTERS}")
    path = f"{repository.path}/check-runs/{run_id}"
    output = {"title": plain(title, limit=TITLE_CHARACTERS), "summary": summary}
    end = {"status": "completed", "conclusion": conclusion, "output": output}
    placed = [_to_json(annotation) for annotation in annotations if annotation.path]
    refused: GitHubError | None = None
    try:
        _annotate(repository, path, output=output, placed=placed)
    except GitHubError as error:
        refused = error
    repository.github.send("PATCH", path, end)
    if refused:
        raise refused


def _annotate(repository: Repository, path: str, *, output: dict[str, str], placed: list[dict[str, object]]) -> None:
    """Add annotations batch by batch. GitHub adds what comes to what is there, so no batch may be sent twice."""
    if not placed:
        return
    begun = fields(repository.github.send("PATCH", path, {"status": "in_progress", "output": output}))
    head, there = begun.get("head_sha"), _count(begun)
    for start in range(0, len(placed), BATCH):
        batch = placed[start : start + BATCH]
        there += len(batch)

        def find_existing(expected: int = there) -> Any | None:
            if not isinstance(head, str):
                return None
            runs = _runs(repository, head)
            return next((run for run in runs if run.get("id") == begun["id"] and _count(run) >= expected), None)

        repository.github.send("PATCH", path, {"output": {**output, "annotations": batch}}, find_existing=find_existing)


def _runs(repository: Repository, head: str, name: str | None = None) -> Iterator[dict[str, Any]]:
    path = f"{repository.path}/commits/{quote(head, safe='')}/check-runs"
    runs = repository.github.pages(path, key="check_runs", filter="all", check_name=name)
    return (run for run in runs if isinstance(run, dict))


def _count(run: dict[str, Any]) -> int:
    count = fields(run.get("output")).get("annotations_count")
    return count if type(count) is int else 0


def _to_json(annotation: Annotation) -> dict[str, object]:
    line = max(annotation.line or 1, 1)
    return {
        "path": encodable(annotation.path or ""),
        "start_line": line,
        "end_line": line,
        "annotation_level": "failure" if annotation.level == "error" else annotation.level,
        "title": plain(annotation.title, limit=TITLE_CHARACTERS),
        # GitHub wants a message that says something
        "message": _cut(annotation.message) or plain(annotation.title, limit=TITLE_CHARACTERS) or "-",
    }


def _cut(text: str) -> str:
    data = encodable(text).encode()
    return encodable(text) if len(data) <= _MESSAGE_BYTES else data[:_MESSAGE_BYTES].decode("utf-8", "ignore") + "…"
