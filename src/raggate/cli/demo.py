"""The command `raggate demo`: a small search service, a good change and a broken one, and the verdict on each."""

from __future__ import annotations

import io
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct
from msgspec.structs import replace

from raggate.base.errors import CannotTell, ExitCode, UsageError
from raggate.base.escape import log_line
from raggate.base.files import writing
from raggate.cli.options import PATH
from raggate.frontends import console
from raggate.models.answer import Answer

if TYPE_CHECKING:
    from raggate.frontends.answers import Demonstrated
    from raggate.models.scorecard import Scorecard
    from raggate.models.verdict import Review
    from raggate.pipeline.request import Request

SERVICE = "search.py"


class Change(Struct, frozen=True):
    """A line of the service in place of another, and the exit code that the gate gives for it."""

    title: str
    old: str
    new: str
    expected: ExitCode

    @property
    def difference(self) -> str:
        """The two lines as a difference shows them."""
        return f"  - {self.old}\n  + {self.new}"


GOOD = Change(
    title="more common words are ignored",
    old='COMMON = {"the", "a", "of", "to", "is", "are"}',
    new='COMMON = {"the", "a", "of", "to", "is", "are", "does", "how", "what", "when", "where"}',
    expected=ExitCode.PASS,
)
BROKEN = Change(
    title="comparing letters takes time, so it is switched off",
    old="LETTER_WEIGHT = 0.5",
    new="LETTER_WEIGHT = 0",
    expected=ExitCode.REGRESSION,
)


@click.command()
@click.option("--keep", type=PATH, metavar="DIR", help="Keep the demo's files in this new directory.")
@click.pass_obj
def demo(environment: dict[str, str], /, keep: Path | None) -> Answer[Demonstrated]:
    """See a good and a broken change to a small search service.

    Needs no Docker, no network and none of your files.
    """
    from raggate.frontends.answers import Demonstrated

    # the commands that its runs advise are for whoever stands there
    with _directory(keep) as directory, chdir(directory):
        service = _write_files(Path())
        request = _request(environment)
        questions = len(_make_baseline(request).cases)
        click.echo(f"A small search service was asked {questions} questions. Its answers are the baseline.")
        click.echo(f"\nA good change: {GOOD.title}.\n{GOOD.difference}\n")
        good = _check(request, service, GOOD)
        verdict = good.verdict
        click.echo(f"{verdict.headline}\nverdict: {verdict.outcome} (exit {verdict.exit_code})")
        click.echo(f"\nA broken change: {BROKEN.title}.\n{BROKEN.difference}")
        broken = _check(request, service, BROKEN)
        # no command does it again once the files are removed
        run = replace(broken.run, provenance=replace(broken.run.provenance, reproduce=""))
        click.echo(console.rendered(replace(broken, run=run), environment), color=True)
    left = "The files are removed. With `raggate demo --keep DIR` you keep them and can try your own changes."
    left = left if keep is None else f"The files are in {keep}: change {SERVICE}, and run `raggate check` there."
    click.echo(log_line(left))
    click.echo("Next: `raggate init --probe URL` writes the configuration for your running API.")
    kept = directory if keep is not None else None
    return Answer(
        Demonstrated(directory=kept, questions=questions, good=good.verdict.outcome, broken=broken.verdict.outcome)
    )


@contextmanager
def _directory(keep: Path | None) -> Iterator[Path]:
    """Return an empty directory, which is removed afterwards unless it is to be kept."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="raggate-demo-") as temporary:
            yield Path(temporary)
        return
    if keep.exists():
        raise UsageError(f"--keep: {keep} exists already", hint="Name a directory that does not exist yet.")
    with writing(keep):
        keep.mkdir(parents=True)
    yield keep


def _write_files(directory: Path) -> str:
    from importlib.resources import as_file, files

    with as_file(files("raggate.cli") / "demo_files") as source:
        shutil.copytree(source, directory, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    config = directory / "raggate.yml"
    # what is written as JSON is YAML too
    text = config.read_text(encoding="utf-8").replace("PYTHON", json.dumps(sys.executable))
    config.write_text(text, encoding="utf-8")
    return (directory / SERVICE).read_text(encoding="utf-8")


def _request(environment: dict[str, str]) -> Request:
    from raggate.pipeline.request import USUAL, Request, Voice, unheard
    from raggate.reports.progress import Progress

    return Request(
        config_file=Path(USUAL),
        environment=environment,
        voice=Voice(say=unheard, progress=lambda: Progress(io.StringIO())),
    )


def _make_baseline(request: Request) -> Scorecard:
    from raggate.pipeline import check, rerun

    _, proposal = rerun.promote_directory(request, check.run(request).directory)
    return proposal.comparison.scorecard


def _check(request: Request, service: str, change: Change) -> Review:
    """Gate the service with one change to it; `service` is its source without any."""
    from raggate.pipeline import check

    (request.root / SERVICE).write_text(service.replace(change.old, change.new), encoding="utf-8")
    review = check.check(request).review
    if review.verdict.exit_code != change.expected:
        raise CannotTell(f"the demo did not go as planned: {review.verdict.headline}", log=review.run.log)
    return review
