"""Jobs of pull requests on a fake GitHub, as the emulated runner starts them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from e2e.emulator import Job
from e2e.image import ROOT
from fakes.github_api import FakeGitHub

NAME = "someone/repo"
EVENTS = ROOT / "tests" / "fakes" / "github" / "events"
WRITES = {"contents": "read", "pull-requests": "write", "actions": "read"}


def pull_job(
    fake: FakeGitHub,
    root: Path,
    image: str,
    *,
    number: int,
    base: str,
    head: str,
    event: str = "pull_request",
    origin: str = NAME,
    token: dict[str, str] | None = None,
    **options: Any,
) -> Job:
    """Make a job for a pull request whose head is in the repository `origin`."""
    payload = json.loads((EVENTS / "pull_request" / "00-opened.json").read_text())
    pull = payload["pull_request"]
    payload["number"] = pull["number"] = number
    pull["head"] |= {"sha": head, "repo": {**pull["head"]["repo"], "full_name": origin}}
    pull["base"] |= {"sha": base, "repo": {**pull["base"]["repo"], "full_name": NAME}}
    action, happened = ROOT / "action.yml", (event, payload)
    own = {"event": happened, "token": fake.token(token or WRITES), "api_url": fake.api_url}
    return Job(root, action, image, **own, **options)
