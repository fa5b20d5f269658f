"""What every pull request has that a workflow opens: a title that does nothing by itself, and how its checks start."""

from __future__ import annotations

import re

from raggate.reports.parts.markup import inert
from raggate.text.escape import plain

LONGEST_TITLE = 256
"""Characters; GitHub refuses a pull request with a longer title."""

CHECKS = """\
A workflow opened this pull request. With a workflow's own token such events start no workflows, or only after somebody
with write access has approved them. If required checks are missing below, do one of these:

- press **Approve workflows to run**, where that is offered;
- close this pull request and open it again;
- push an empty commit to its branch: `git commit --allow-empty --message "Run the checks" && git push`;
- let that workflow use the token of a GitHub App, whose pull requests start workflows like anybody's."""


def title_text(text: str) -> str:
    """Make one line of a title or a commit message that mentions nobody, closes no issue and skips no workflow."""
    return re.sub(r"[@#[]|:(?=//)|\bGH-(?=\d)", "\\g<0>\u2060", plain(text, limit=600), flags=re.IGNORECASE)


def pull_title(text: str) -> str:
    """Make a title that GitHub takes, as `title_text` does."""
    line = title_text(text)
    return line if len(line) <= LONGEST_TITLE else f"{line[: LONGEST_TITLE - 1]}…"


def unsigned_warning(why: str) -> str:
    """Warn that GitHub did not sign the commit of a pull request; `why` is the reason it gives."""
    return (
        f"**GitHub did not sign the commit of this pull request** ({inert(why, limit=80)}). A rule that requires "
        "signed commits will keep it from being merged."
    )
