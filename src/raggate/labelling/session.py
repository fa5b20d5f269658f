"""One sitting: what is there to judge, what each person decided, and the writing. Front ends show it, and know no more.

Every decision is in the journal before it counts. Files are written on demand alone, whole or not at all, and never
over something that nobody has seen.
"""

from __future__ import annotations

import difflib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from raggate.base.dates import now
from raggate.base.errors import FileProblems, UsageError
from raggate.base.files import read_file, write_file
from raggate.base.headings import covers
from raggate.base.quote import quoted
from raggate.inputs.authoring.golden_file import with_cases, with_changed
from raggate.inputs.golden import broken_rule, complete, place_key
from raggate.inputs.headings import check_anchors
from raggate.labelling import label_file
from raggate.labelling.decisions import Decision, Journal, Where, words_of
from raggate.labelling.label_file import Agreement, Labels, Unit, Vote, Votes, agreement, consensus, is_split
from raggate.labelling.pool import Places, Pool, Pooled, pool, shuffled
from raggate.models.golden import Case, Golden, Support, Vault
from raggate.models.run import Chunk, Run
from raggate.pipeline import authoring, run_directory
from raggate.pipeline.authoring import Workbench
from raggate.pipeline.request import Request

Lists = dict[str, list[tuple[Chunk, ...]]]
"""By the id of a case, the lists of its question, best first."""
FOLDER = ".raggate/labels"
"""Where journals lie, below the configuration, each by the path of its golden set."""


class Progress(Struct):
    """What was decided.

    Attributes:
        votes: all votes that count: those of the label file, and what was changed since.
        former: votes of the label file that were given when the question had other words.
        stored: passages that the label file has a vote on.
        touched: passages that somebody graded since the last writing: those that change the golden set.
        snippets: the text that a chunk must hold to be one of these passages, by who graded it last.
        settled: the grade that was settled on where people differ, since the last writing.
    """

    votes: Labels = field(default_factory=dict)
    former: Labels = field(default_factory=dict)
    stored: frozenset[Unit] = frozenset()
    touched: dict[Unit, None] = field(default_factory=dict)
    snippets: dict[Unit, str] = field(default_factory=dict)
    settled: dict[Unit, int] = field(default_factory=dict)

    def take(self, decision: Decision) -> None:
        """Go one decision on."""
        if decision.where is None:
            for decided in (self.touched, self.snippets, self.settled):
                decided.clear()
            return
        unit = Unit(decision.case, decision.where)
        if decision.grade is None:
            self._take_back(decision.by, unit)
        elif decision.do == "settle":
            self.settled[unit] = decision.grade
        else:
            vote = Vote(decision.grade, decision.misleading, decision.at, decision.asked)
            self.votes.setdefault(unit, {})[decision.by] = vote
            self.touched[unit] = None
            self.snippets.pop(unit, None)
            if decision.text:
                self.snippets[unit] = decision.text
            # who grades anew disagrees with what was settled before
            self.settled.pop(unit, None)

    def _take_back(self, name: str, unit: Unit) -> None:
        votes = self.votes.get(unit, {})
        votes.pop(name, None)
        self.snippets.pop(unit, None)
        self.touched[unit] = None
        if not votes:
            self.votes.pop(unit, None)
            if unit not in self.stored:
                # as if nobody had graded it: what the golden set says of it is from elsewhere, and stays
                self.touched.pop(unit)

    def of(self, unit: Unit) -> Votes:
        """Return the votes on a passage."""
        return self.votes.get(unit, {})

    def written(self) -> Labels:
        """Return the votes as the label file holds them: former ones too, but for those that were given anew."""
        units = dict.fromkeys((*self.former, *self.votes))
        return {unit: {**self.former.get(unit, {}), **self.votes.get(unit, {})} for unit in units}


def progress(labels: Mapping[Unit, Votes], decisions: Sequence[Decision], words: Mapping[str, str]) -> Progress:
    """Return what was decided: the votes of a label file, and then a journal from where it was last written.

    A vote of the label file counts for the words that it was given for: `words` are those of each question now.
    What came before stands in the files, where somebody may have edited it since. After a crash between writing and
    noting that, decisions are taken again, which changes nothing.
    """
    current: Labels = {}
    former: Labels = {}
    for unit, votes in labels.items():
        for name, vote in votes.items():
            reworded = vote.asked and vote.asked != words.get(unit.case, vote.asked)
            (former if reworded else current).setdefault(unit, {})[name] = vote
    state = Progress(votes=current, former=former, stored=frozenset(current))
    for decision in since_writing(decisions):
        # a grade is for the words that the question had
        if not decision.asked or decision.asked == words.get(decision.case, decision.asked):
            state.take(decision)
    return state


def since_writing(decisions: Sequence[Decision]) -> Sequence[Decision]:
    """Return what was decided since the files were written last."""
    done = max((number for number, decision in enumerate(decisions, 1) if decision.do == "written"), default=0)
    return decisions[done:]


def left_over(decisions: Sequence[Decision], refused: Container[str]) -> list[Decision]:
    """Return the decisions that could not be written, which wait for the next writing."""
    return [decision for decision in since_writing(decisions) if decision.case and decision.case in refused]


class Edits(Struct, frozen=True, kw_only=True):
    """What decisions make of a golden set."""

    changed: dict[str, Case]
    refused: dict[str, str]
    split: tuple[Unit, ...]


def edits(golden: Golden, vault: Vault, state: Progress) -> Edits:
    """Apply what was decided."""
    refused: dict[str, str] = {}
    changed = {}
    by_case = _grades(state)
    for case in golden.cases:
        grades = by_case.pop(case.id, {})
        if not grades:
            continue
        snippets = {unit.where: text for unit, text in state.snippets.items() if unit.case == case.id}
        edited, problem = edit(case, grades, snippets)
        problem = problem or _unwritable(edited)
        if problem:
            refused[case.id] = problem
        elif edited != case:
            changed[case.id] = edited
    changed = _with_places(golden, vault, changed, refused)
    for gone in by_case:
        refused[gone] = "the golden set has no such question any more"
    return Edits(changed=changed, refused=refused, split=splits(golden, state))


def _with_places(golden: Golden, vault: Vault, changed: Mapping[str, Case], refused: dict[str, str]) -> dict[str, Case]:
    """Leave out cases that name what is in the notes no more: for them a check would refuse all."""
    left = dict(changed)
    while left:
        try:
            check_anchors(replace(golden, cases=tuple(left.values())), vault)
        except FileProblems as error:
            for problem in error.problems:
                refused[problem.key] = problem.text.removeprefix(f"question {quoted(problem.key)}: ")
                left.pop(problem.key, None)
        else:
            break
    return left


def splits(golden: Golden, state: Progress) -> tuple[Unit, ...]:
    """Name what people differ on and have not settled: a place that the golden set judges is settled."""
    ids = {case.id for case in golden.cases}
    judged = {
        (case.id, place_key(place)) for case in golden.cases for place in (*case.gold_supports, *case.not_relevant)
    }
    return tuple(
        unit
        for unit, votes in state.votes.items()
        if unit.case in ids
        and is_split(votes)
        and unit not in state.settled
        and (unit in state.touched or (unit.case, place_key(unit.where.support(1))) not in judged)
    )


def _grades(state: Progress) -> dict[str, dict[Where, int | None]]:
    """Return by question the grades that count; None for a passage that nobody judges any more."""
    grades: dict[str, dict[Where, int | None]] = {}
    for unit in dict.fromkeys((*state.touched, *state.settled)):
        votes = state.of(unit)
        if unit in state.settled or not is_split(votes):
            grade = state.settled.get(unit, consensus(votes))
            grades.setdefault(unit.case, {})[unit.where] = grade
    return grades


def edit(
    case: Case,
    grades: Mapping[Where, int | None],
    snippets: Mapping[Where, str] | None = None,
) -> tuple[Case, str]:
    """Return a case with grades and snippets, and what is wrong with it then; empty if it can be written."""
    supports, groups = [*case.gold_supports], case.required_support_groups
    wrong = {place_key(place): place for place in case.not_relevant}
    for where, grade in grades.items():
        place = where.support(grade or 0)
        key = place_key(place)
        wrong.pop(key, None)
        at = next((index for index, support in enumerate(supports) if place_key(support) == key), None)
        if grade:
            if at is None:
                at = len(supports)
                supports.append(place)
            snippet = (snippets or {}).get(where)
            supports[at] = replace(supports[at], grade=grade, snippets=(snippet,) if snippet else supports[at].snippets)
            continue
        if at is not None:
            if any(at in group for group in groups or ()):
                return case, "a passage graded as no answer is in required_support_groups: edit the file by hand"
            supports.pop(at)
            groups = _without(groups, at)
        if grade == 0:
            wrong[key] = place
    edited = replace(
        case, gold_supports=tuple(supports), required_support_groups=groups, not_relevant=tuple(wrong.values())
    )
    # a case whose supports follow from its ids keeps them
    edited = complete(edited)
    return edited, broken_rule(edited) or ""


def _unwritable(case: Case) -> str:
    """Return why no line can hold a case; empty where one can. A journal may be from anywhere."""
    try:
        with_cases(b"", [case])
    except (ValueError, UsageError) as error:
        return str(error).removeprefix(f"question {quoted(case.id)}: ")
    return ""


def _without(groups: tuple[tuple[int, ...], ...] | None, gone: int) -> tuple[tuple[int, ...], ...] | None:
    return groups and tuple(tuple(index - (index > gone) for index in group) for group in groups)


class FileChange(Struct, frozen=True, kw_only=True):
    """A file, by the name that people know it by, before and after; the same when nothing changes."""

    name: str
    before: bytes
    after: bytes

    @property
    def lines(self) -> list[str]:
        """Return the changed lines as a unified diff without context lines."""
        before, after = (data.decode("utf-8", "replace").split("\n") for data in (self.before, self.after))
        return list(difflib.unified_diff(before, after, n=0, lineterm=""))[2:]


class Plan(Struct, frozen=True, kw_only=True):
    """What writing would do.

    Attributes:
        golden, labels: the two files.
        sentences: what changes in the golden set, a line for each passage and question.
        edits: the cases behind it, with what is refused and split.
    """

    golden: FileChange
    labels: FileChange
    sentences: tuple[str, ...]
    edits: Edits

    @property
    def files(self) -> tuple[FileChange, ...]:
        """The files that change, the golden set last."""
        return tuple(file for file in (self.labels, self.golden) if file.before != file.after)

    @property
    def digest(self) -> str:
        """What tells it from other plans: whoever writes says which one they saw."""
        parts = (part for file in self.files for part in (file.name.encode(), file.before, file.after))
        return sha256(b"\0".join(sha256(part).digest() for part in parts)).hexdigest()[:16]


def _sentences(golden: Golden, edited: Edits) -> Iterator[str]:
    for case in golden.cases:
        if (new := edited.changed.get(case.id)) is not None:
            yield from (f"{case.id}: {change}" for change in _changes(case, new))


def _changes(old: Case, new: Case) -> Iterator[str]:
    before = {_name(place): place.grade for place in (*old.gold_supports, *old.not_relevant)}
    after = {_name(place): place.grade for place in (*new.gold_supports, *new.not_relevant)}
    for place in dict.fromkeys((*before, *after)):
        if before.get(place) != after.get(place):
            yield f"{place}: {_grade(before.get(place))} → {_grade(after.get(place))}"
    if {*new.gold_supports, *new.not_relevant} - {*old.gold_supports, *old.not_relevant}:
        yield from _overlaps(new)


def _overlaps(case: Case) -> Iterator[str]:
    """Yield where a gold section holds one that does not answer: a gold support counts for all below its heading."""
    for gold in case.gold_supports:
        for place in case.not_relevant:
            heading, deeper = gold.heading_path, place.heading_path
            same = gold.rel_path and (gold.rel_path, gold.vault) == (place.rel_path, place.vault)
            if same and not gold.snippets and deeper and (heading is None or covers(heading, deeper)):
                yield f"note: {_name(gold)} is gold and holds {deeper}, so a passage of that counts as found"


def _name(place: Support) -> str:
    note = f"{place.vault}/{place.rel_path}" if place.vault else place.rel_path
    return " ".join(filter(None, (note or place.chunk_id or place.doc_id, place.heading_path)))


def _grade(grade: int | None) -> str:
    return "not judged" if grade is None else f"grade {grade}"


def of_runs(directories: Iterable[Path], golden: Golden) -> Lists:
    """Read what runs returned for the questions of a golden set.

    A question that was asked in other words is another one: its list is left out.
    """
    lists: Lists = {}
    questions = {case.id: case.question for case in golden.cases}
    for directory in directories:
        run = run_directory.read(directory)
        for item in run.answers:
            if item.result.response is not None and questions.get(item.case.id) == item.case.question:
                lists.setdefault(item.case.id, []).append(_ranked(run, item.result.response.chunks))
    return lists


def tell_headings(lists: Lists) -> bool:
    """Whether any chunk has a heading, or there is none to tell it: a label by one would never match otherwise."""
    chunks = [chunk for several in lists.values() for ranked in several for chunk in ranked]
    return not chunks or any(chunk.heading_path.strip() for chunk in chunks)


def _ranked(run: Run, chunks: Sequence[Chunk]) -> tuple[Chunk, ...]:
    """Leave out the private notes that a run returned: nobody has to read those to judge."""
    private = set(run.probes.private)
    return tuple(chunk for chunk in chunks if f"{chunk.vault}/{chunk.rel_path}" not in private)


class Session(Struct):
    """What is judged, and by whom so far.

    Attributes:
        again: whether passages that are judged already are shown, too, to see how far people agree.
    """

    bench: Workbench
    journal: Journal
    files: dict[str, Path]
    names: dict[str, str]
    lists: Lists
    places: Places
    pool: Pool
    stored: dict[str, bytes]
    state: Progress
    again: bool = False
    by_id: dict[str, Case] = field(default_factory=dict)

    def order(self, case_id: str, annotator: str) -> list[Pooled]:
        """Return the passages of a question in the order that one person sees them in."""
        return shuffled(case_id, self.pool.passages.get(case_id, ()), annotator)

    def decide(self, decisions: Sequence[Decision]) -> None:
        """Keep decisions and act on them."""
        whole = [self._checked(decision) for decision in decisions]
        self.journal.append(whole)
        for decision in whole:
            self.state.take(decision)

    def _checked(self, decision: Decision) -> Decision:
        if decision.do == "written":
            raise UsageError("only writing can note `written`")
        if decision.case and decision.case not in self.by_id:
            raise UsageError(f"no question {decision.case!r}")
        if decision.where is not None:
            wheres = {place.where for place in self.pool.passages.get(decision.case, ())}
            if decision.where not in wheres and Unit(decision.case, decision.where) not in self.state.votes:
                raise UsageError("no such passage to judge")
        case = self.by_id.get(decision.case)
        return decision.model_copy(update={"at": now(), "asked": words_of(case.question) if case else ""})

    def plan(self) -> Plan:
        """Return what writing would do now."""
        golden, labels = self.bench.golden, self.state.written()
        edited = edits(golden, self.bench.vault, self.state)
        after = {"golden": with_changed(self.stored["golden"], edited.changed), "labels": label_file.write(labels)}
        # an order or spacing that somebody else gave the file is no change
        if label_file.read(self.stored["labels"], self.names["labels"]) == labels:
            after["labels"] = self.stored["labels"]
        files = {
            key: FileChange(name=name, before=self.stored[key], after=after[key]) for key, name in self.names.items()
        }
        return Plan(**files, sentences=tuple(_sentences(golden, edited)), edits=edited)

    def agreement(self) -> Agreement:
        """Return how far people agree, over all votes there are."""
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
                f"{self.names['golden']}, its labels or the notes changed meanwhile. Nothing was written",
                hint="raggate read the files again. Look at the difference, and write it if you still agree.",
            )
        whole = self.plan()
        if whole.digest != digest:
            raise UsageError(
                "somebody decided more meanwhile. Nothing was written", hint="Look at the difference again."
            )
        authoring.check_content(self.bench, whole.golden.after)
        # the golden set first: a grade that was taken back counts there as long as the label file still has it
        for file, key in ((whole.golden, "golden"), (whole.labels, "labels")):
            if file.before != file.after:
                write_file(self.files[key], file.after)
        done = Decision(at=now(), by=annotator, do="written")
        self.journal.append([done, *left_over(self.journal.decisions, whole.edits.refused)])
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
        if fresh.vault is not self.bench.vault:
            self.places = self.places.of_notes(fresh.visible)
        self.bench, self.stored = fresh, stored
        words = {case.id: words_of(case.question) for case in fresh.golden.cases}
        self.state = progress(labels, self.journal.decisions, words)
        self.by_id = {case.id: case for case in fresh.golden.cases}
        new = pool(fresh.golden, self.lists, self.places, max(fresh.settings.score.k), again=self.again)
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


def open_session(request: Request, runs: Sequence[Path], *, again: bool = False) -> Session:
    """Open the golden set, what runs returned, and the journal."""
    bench = authoring.open_golden(request)
    # by the whole path: golden sets of two suites often have the same file name
    journal = Path(FOLDER, bench.settings.golden)
    run_directory.check_place(request.root, str(journal.parent))
    files = {"golden": bench.path, "labels": bench.path.with_name(f"{bench.path.stem}.labels.jsonl")}
    names = {key: str(Path(bench.settings.golden).with_name(path.name)) for key, path in files.items()}
    lists = of_runs(runs, bench.golden)
    session = Session(
        bench=bench,
        journal=Journal(request.root / journal, str(journal)),
        files=files,
        names=names,
        lists=lists,
        places=Places(bench.visible, by_heading=bench.settings.ask.reads_headings and tell_headings(lists)),
        pool=Pool(passages={}),
        stored={},
        state=Progress(),
        again=again,
    )
    try:
        session.reload()
    except BaseException:
        session.journal.close()
        raise
    return session
