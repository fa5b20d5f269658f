"""A configuration -> its golden set opened for new questions: what the API answers to one, and lines added to the file.

The golden set may not be there yet. What is added is checked as a check would, and written whole or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from raggate.base.dates import beside_notes, within
from raggate.base.errors import CannotTell, UsageError
from raggate.base.files import read_file, scratch_directory, write_file
from raggate.config.schema import Config
from raggate.gate import baseline as baseline_file
from raggate.gate.suite_checks import check_abstentions, check_headings
from raggate.inputs import golden, headings, vault
from raggate.inputs.authoring.golden_file import with_cases
from raggate.inputs.leaks import visible
from raggate.inputs.lint import check_questions, check_supports
from raggate.inputs.trusted import Inputs
from raggate.models.baseline import Baseline
from raggate.models.golden import Case, Golden, Vault, digest
from raggate.models.lint import LintFinding
from raggate.models.run import Chunk
from raggate.pipeline.asking import Build, Place, booted
from raggate.pipeline.request import Request
from raggate.pipeline.trusted_inputs import working_tree
from raggate.scoring.score import directions

SHOWN = 10
"""Passages of an answer that are shown."""


class Workbench(Struct, frozen=True, kw_only=True):
    """A golden set that is written: its configuration, its file and content, its cases, and the notes.

    `visible` are the notes that questions may be about: those that are not private. `baseline` is the file of the
    suite's baseline, which need not be there.
    """

    settings: Config
    path: Path
    data: bytes
    golden: Golden
    vault: Vault
    visible: Vault
    baseline: Path


def open_golden(request: Request) -> Workbench:
    """Read configuration, golden set and notes. A golden set that is not there has no cases."""
    settings, vaults = working_tree(request)
    # a link to the file stays one
    path = (request.root / settings.golden).resolve()
    data = read_file(path) if path.is_file() else b""
    cases = _cases(data, request.place(settings.golden))
    notes = vault.load(vaults)
    seen = visible(notes, settings.private)
    baseline = request.root / settings.baseline_path
    return Workbench(
        settings=settings, path=path, data=data, golden=cases, vault=notes, visible=seen, baseline=baseline
    )


def ask(request: Request, bench: Workbench, case: Case) -> tuple[Chunk, ...]:
    """Bring the API up and ask it; give the first passages of its answer."""
    settings = bench.settings.asking_once().asking(k=max(SHOWN, bench.settings.ask.k))
    inputs = Inputs(config=settings, golden=bench.golden, vault=bench.vault, baseline=None, against=None)
    with scratch_directory() as out:
        place = Place(out=out, runs=out)
        with booted(request, inputs, Build(api=settings.api, root=request.root), place, {}) as up:
            asked = up.adapter.ask(
                [(replace(case, id="question"), settings.ask.modes[0])], up.api, on_result=lambda *_: None
            )
            result = up.clean(asked.results[0])
    if result.response is None:
        reason = result.failure.message if result.failure else "no answer"
        raise CannotTell(f"the API did not answer: {reason}", hint="`--search` finds passages without the API.")
    return result.response.chunks[:SHOWN]


def _baseline(bench: Workbench, new: Golden) -> Baseline | None:
    """Read the baseline, which says whether answers have headings; None where no label names one, or it has no say."""
    if not any(support.heading_path for case in new.cases for support in case.gold_supports):
        return None
    try:
        return baseline_file.read(read_file(bench.baseline), bench.baseline.name, directions(bench.settings.score.k))
    except UsageError:
        return None


def checked(bench: Workbench, cases: Sequence[Case]) -> tuple[bytes, tuple[LintFinding, ...]]:
    """Return the content of the file with cases added, and what `raggate lint` would say of them."""
    if not cases:
        # a golden set may still be empty
        return bench.data, ()
    try:
        data = with_cases(bench.data, cases)
    except ValueError as error:
        raise UsageError(str(error)) from None
    whole = golden.load(data, bench.golden.name)
    added = whole.cases[len(bench.golden.cases) :]
    new = Golden(name=whole.name, cases=added, hash=digest([*added]))
    headings.check_anchors(new, bench.vault)
    names = {case.id for case in added}
    findings = (
        *check_questions(whole, whole.name),
        *check_supports(new, bench.vault, whole.name, snippets=bench.settings.score.reads_snippets),
        *check_headings(bench.settings, new, whole.name, _baseline(bench, new)),
        *check_abstentions(bench.settings, new, whole.name),
    )
    return data, tuple(item for item in findings if item.key in names)


@contextmanager
def in_time(bench: Workbench) -> Iterator[None]:
    """Stop work on texts and notes that takes longer than their size allows."""
    size = len(bench.data) + bench.vault.size
    late = UsageError(
        "the questions could not be compared with the notes in time", hint="Import fewer questions at once."
    )
    with within(4 * beside_notes(size, len(bench.golden.cases)), late):
        yield


def check_content(bench: Workbench, data: bytes) -> None:
    """See that a check would take the content of a golden set."""
    if data.strip():
        headings.check_anchors(golden.load(data, bench.golden.name), bench.vault)


def reopened(bench: Workbench, data: bytes) -> Workbench:
    """Return a golden set with the content that its file has now, and the notes as they are now."""
    bench = replace(bench, data=data, golden=_cases(data, bench.golden.name))
    notes = notes_now(bench)
    if notes.hash == bench.vault.hash:
        return bench
    return replace(bench, vault=notes, visible=visible(notes, bench.settings.private))


def notes_now(bench: Workbench) -> Vault:
    """Read the notes again."""
    return vault.load(bench.vault.directories)


def _cases(data: bytes, name: str) -> Golden:
    return golden.load(data, name) if data.strip() else Golden(name=name, cases=(), hash="")


def save(bench: Workbench, data: bytes) -> Workbench:
    """Write the golden set, and open it as it is now."""
    now = read_file(bench.path) if bench.path.is_file() else b""
    if now != bench.data:
        raise UsageError(
            f"{bench.golden.name}: changed meanwhile. Nothing was written, so try again", hint="Do it again."
        )
    write_file(bench.path, data)
    return replace(bench, data=data, golden=golden.load(data, bench.golden.name))
