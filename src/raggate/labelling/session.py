"""One sitting: what is there to judge, what each person decided, and the writing. Front ends show it, and know no more.

Every decision is in the journal before it counts. Files are written on demand alone, whole or not at all, and never
over something that nobody has seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from raggate.errors import UsageError
from raggate.inputs.authoring import proposals_file
from raggate.inputs.authoring.proposals import Proposal, propose
from raggate.inputs.authoring.proposals_file import Kept
from raggate.inputs.golden import write_case
from raggate.labelling import label_file, returned
from raggate.labelling.decisions import Decision, words_of
from raggate.labelling.golden_edits import edits
from raggate.labelling.grades import Agreement, agreement
from raggate.labelling.journal import Journal
from raggate.labelling.label_file import Unit
from raggate.labelling.plan import Plan, plan
from raggate.labelling.pool import Places, Pool, Pooled, pool, shuffled
from raggate.labelling.progress import Progress, left_over, progress
from raggate.models.golden import Case
from raggate.pipeline import authoring, run_directory
from raggate.pipeline.authoring import Workbench
from raggate.pipeline.request import Request
from raggate.text.clock import now
from raggate.text.files import read_file, write_file

FOLDER = ".raggate/labels"
"""Where journals lie, below the configuration, each by the path of its golden set."""


class Sources(Struct, frozen=True, kw_only=True):
    """Where passages and proposals come from.

    Attributes:
        runs: run directories; none for the newest.
        depth: how many passages of each list are pooled; None for the deepest cut-off that is scored.
        baseline: whether the baseline's lists count.
        proposals: how many proposals wait at most.
        seed: another one gives another order of passages.
        again: whether passages that are judged already are shown, too, to see how far people agree.
    """

    runs: tuple[Path, ...] = ()
    depth: int | None = None
    baseline: bool = True
    proposals: int = 20
    seed: int = 0
    again: bool = False


class Session(Struct):
    """What is judged, and by whom so far."""

    bench: Workbench
    journal: Journal
    files: dict[str, Path]
    names: dict[str, str]
    lists: returned.Lists
    sources: Sources
    places: Places
    pool: Pool
    stored: dict[str, bytes]
    kept: list[Kept]
    state: Progress
    unknown: int = 0
    by_id: dict[str, Case] = field(default_factory=dict)

    def order(self, case_id: str, annotator: str) -> list[Pooled]:
        """Give the passages of a question in the order that one person sees them in."""
        return shuffled(case_id, self.pool.passages.get(case_id, ()), annotator, self.sources.seed)

    def waiting(self) -> list[Proposal]:
        """Give the proposals that were not in the golden set's file of rejected ones when it was read."""
        return [item.proposal for item in self.kept if item.state == "waiting"]

    def decide(self, decisions: Sequence[Decision]) -> None:
        """Keep decisions and act on them.

        Raises:
            UsageError: for one about a question, passage or proposal that is not there; then none is kept.
            CannotTell: when the disk is full.
        """
        whole = [self._checked(decision) for decision in decisions]
        self.journal.append(whole)
        for decision in whole:
            self.state.take(decision)

    def _checked(self, decision: Decision) -> Decision:
        if decision.do == "written":
            raise UsageError("written: is noted by writing alone")
        if decision.case and decision.case not in self.by_id:
            raise UsageError(f"no question {decision.case!r}")
        if decision.where is not None:
            wheres = {place.where for place in self.pool.passages.get(decision.case, ())}
            if decision.where not in wheres and Unit(decision.case, decision.where) not in self.state.votes:
                raise UsageError("no such passage to judge")
        if decision.proposal:
            proposal = next((item for item in self.waiting() if item.id == decision.proposal), None)
            if proposal is None:
                raise UsageError(f"no proposal {decision.proposal!r} waits")
            if decision.do == "accept":
                decision = decision.model_copy(update={"line": write_case(proposal.case).decode()})
        case = self.by_id.get(decision.case)
        return decision.model_copy(update={"at": now(), "asked": words_of(case.question) if case else ""})

    def plan(self) -> Plan:
        """Give what writing would do now."""
        edited = edits(self.bench.golden, self.bench.vault, self.state)
        return plan(self.names, self.stored, self.bench.golden, self.state, self.kept, edited)

    def agreement(self) -> Agreement:
        """Say how far people agree, over all votes there are."""
        return agreement(self.state.votes.values())

    def write(self, digest: str, annotator: str) -> Plan:
        """Write what a plan says, if it is still the one that somebody saw.

        Raises:
            UsageError: when a file was changed meanwhile, which is then read again, when there is another plan by now,
                or a check would refuse the golden set.
            CannotTell: when the disk is full; a file is then as it was.
        """
        if self._is_outdated():
            self.reload()
            raise UsageError(
                f"{self.names['golden']}, its labels or the notes changed meanwhile: nothing was written",
                hint="The files were read again. Look at the difference, and write it if it is still what you mean.",
            )
        whole = self.plan()
        if whole.digest != digest:
            raise UsageError(
                "somebody decided more meanwhile: nothing was written", hint="Look at the difference again."
            )
        authoring.check_content(self.bench, whole.golden.after)
        # the golden set first: a grade that was taken back counts there as long as the label file still has it
        for file, key in ((whole.golden, "golden"), (whole.labels, "labels"), (whole.proposals, "proposals")):
            if file.before != file.after:
                write_file(self.files[key], file.after)
        done = Decision(at=now(), by=annotator, do="written")
        self.journal.append([done, *left_over(self.journal.decisions, whole.edits.refused, self.state)])
        self.reload()
        return whole

    def _is_outdated(self) -> bool:
        changed = any(self._on_disk(key) != data for key, data in self.stored.items())
        return changed or authoring.notes_now(self.bench).hash != self.bench.vault.hash

    def reload(self) -> None:
        """Read the files again, and what was decided since they were written last."""
        fresh = authoring.reopened(self.bench, self._on_disk("golden"))
        stored = {key: self._on_disk(key) for key in self.files}
        labels = label_file.read(stored["labels"], self.names["labels"])
        kept = proposals_file.load(stored["proposals"], self.names["proposals"])
        known = {item.proposal.id for item in kept}
        # what was proposed for this sitting is in no file until somebody decides on it
        here = {case.question for case in fresh.golden.cases}
        kept += [
            item for item in self.kept if item.proposal.id not in known and item.proposal.case.question not in here
        ]
        if fresh.vault is not self.bench.vault:
            self.places = self.places.of_notes(fresh.visible)
        self.bench, self.stored, self.kept = fresh, stored, kept
        words = {case.id: words_of(case.question) for case in fresh.golden.cases}
        self.state = progress(labels, self.journal.decisions, words)
        self.by_id = {case.id: case for case in fresh.golden.cases}
        depth = self.sources.depth or max(fresh.settings.score.k)
        new = pool(fresh.golden, self.lists, self.places, depth, again=self.sources.again)
        self.pool = _with_decided(new, self.pool, self.state)

    def _on_disk(self, key: str) -> bytes:
        path = self.files[key]
        return read_file(path, most_bytes=label_file.MAX_BYTES) if path.exists() else b""


def _with_decided(fresh: Pool, before: Pool, state: Progress) -> Pool:
    """Keep the passages that somebody has judged in this sitting, so that they can be looked at again."""
    passages = {}
    for case_id, own in fresh.passages.items():
        names = {place.where for place in own}
        judged = [
            place
            for place in before.passages.get(case_id, ())
            if place.where not in names and state.of(Unit(case_id, place.where))
        ]
        passages[case_id] = (*own, *judged)
    return replace(fresh, passages=passages)


def open_session(request: Request, sources: Sources, say: Callable[[str], None]) -> Session:
    """Open the golden set, what was returned, the proposals and the journal.

    Raises:
        UsageError: for what cannot be read, and when another process has the journal open.
    """
    bench = authoring.open_golden(request)
    # by the whole path: golden sets of two suites often have the same file name
    journal = Path(FOLDER, bench.settings.golden)
    run_directory.check_place(request.root, str(journal.parent))
    stem = bench.path.stem
    files = {
        "golden": bench.path,
        "labels": bench.path.with_name(f"{stem}.labels.jsonl"),
        "proposals": bench.path.with_name(f"{stem}.proposals.jsonl"),
    }
    names = {key: str(Path(bench.settings.golden).with_name(path.name)) for key, path in files.items()}
    runs = sources.runs or (returned.newest_run(request.runs(bench.settings.out)),)
    lists = returned.of_runs(runs, bench.golden)
    unknown = 0
    if sources.baseline:
        name = bench.settings.baseline_path
        unknown = returned.of_baseline(request.root / name, name, lists, bench.golden, say)
    session = Session(
        bench=bench,
        journal=Journal(request.root / journal, str(journal)),
        files=files,
        names=names,
        lists=lists,
        sources=sources,
        places=Places(bench.visible, by_heading=bench.settings.ask.reads_headings and returned.tell_headings(lists)),
        pool=Pool(passages={}),
        stored={},
        kept=[],
        state=Progress(),
        unknown=unknown,
    )
    try:
        session.reload()
        session.kept += _proposed(session, sources.proposals)
    except BaseException:
        session.journal.close()
        raise
    return session


def _proposed(session: Session, most: int) -> list[Kept]:
    """Propose by rule until so many wait."""
    missing = most - len(session.waiting())
    if missing <= 0:
        return []
    bench = session.bench
    passed = [item.proposal.case.question for item in session.kept]
    with authoring.in_time(bench):
        return [Kept(proposal) for proposal in propose(bench.golden, bench.visible, passed, missing)]
