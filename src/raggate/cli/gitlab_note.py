"""`raggate gitlab-note`: a report that was written becomes the one note of a GitLab merge request."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from raggate.cli.options import PATH
from raggate.models.answer import Answer
from raggate.text.escape import gitlab, log_line, markdown, plain

if TYPE_CHECKING:
    from raggate.cli.results.authoring import NoteWritten

MARKER = "<!-- raggate:{} -->\n"
_MISSING = "### raggate: no report\n\nThe job ended before there was one. Its log says why."


@click.command("gitlab-note")
@click.argument("report", type=PATH)
@click.option("--name", default="gate", show_default=True, help="Tells notes apart where a pipeline has several gates.")
@click.pass_obj
def gitlab_note(environment: Mapping[str, str], /, report: Path, name: str) -> Answer[NoteWritten]:
    """Write REPORT as a note on the GitLab merge request of this pipeline, or replace the note of an earlier one.

    REPORT is a file of `raggate check --report markdown=FILE`. The token is in RAGGATE_GITLAB_TOKEN; docs/gitlab.md
    shows the job.
    """
    from raggate.cli.results.authoring import NoteWritten
    from raggate.gitlab import notes
    from raggate.text.files import read_file

    request = notes.MergeRequest.of(environment)
    text = read_file(report).decode(errors="replace") if report.exists() else _MISSING
    marker = MARKER.format("".join(filter(str.isalnum, plain(name, limit=60))))
    body = _fitting(marker + gitlab(text), _footer(environment), notes.MAX_CHARACTERS)
    number, new = notes.write(request, marker.strip(), body)
    click.echo(log_line(f"{'wrote' if new else 'replaced'} note {number} of merge request !{request.number}"))
    return Answer(NoteWritten(note=number, new=new, merge_request=request.number, report=report.exists()))


def _footer(environment: Mapping[str, str]) -> str:
    commit = environment.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA") or environment.get("CI_COMMIT_SHA", "")
    job = environment.get("CI_JOB_ID", "")
    parts = [f"commit `{commit[:12]}`" if commit.isalnum() else "", f"job {markdown(job)}" if job else ""]
    return f"\n\n<sub>{' · '.join(filter(None, parts))}</sub>\n" if any(parts) else "\n"


def _fitting(body: str, footer: str, most: int) -> str:
    """Cut whole lines off a report that GitLab would refuse."""
    room = most - len(footer)
    if len(body) <= room:
        return body.rstrip("\n") + footer
    end = "\n\n… The rest is in the report of the job."
    return body[: room - len(end)].rpartition("\n")[0] + end + footer
