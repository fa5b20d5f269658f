"""The issue about a branch that got worse: its title, what stands above the report, and what ends it."""

from __future__ import annotations

from raggate.models.publication import Links, Push
from raggate.reports.parts.markup import commit_link
from raggate.text.escape import markdown as safe, plain


def title(suite: str, branch: str) -> str:
    """Name the issue, in plain text."""
    return f"raggate: {plain(suite, limit=80)} does not pass on {plain(branch, limit=80)}"


def opening(first: Push, newest: Push, branch: str, links: Links) -> str:
    """Say since which commit a branch does not pass. None is blamed: what was not measured may be the cause as well."""
    again = f" The newest one is {commit_link(links, newest.head)}." if newest.head != first.head else ""
    return (
        f"**{safe(branch, limit=100)} does not pass.** The first commit that was measured so is "
        f"{commit_link(links, first.head)}.{again}\n\n"
        "<sub>Commits that came with the first one, or before it without being measured, may be the cause too. raggate "
        "writes this text anew after every run, and closes the issue when one passes.</sub>\n\n"
    )


def closing(first: Push, passed: Push, links: Links) -> str:
    """Say that it is over, and since when it was so."""
    since = f"The first commit that was measured not to was {commit_link(links, first.head)}."
    return f"✅ It passes again, at {commit_link(links, passed.head)}. {since}\n"
