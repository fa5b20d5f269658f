"""Whole reviews for the reports, each made once of answers the way a check makes them: scored, compared, decided."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from msgspec.structs import replace

from builders import (
    make_case,
    make_chunk,
    make_chunks,
    make_config,
    make_failure,
    make_golden,
    make_labelled,
    make_response,
    make_result,
    make_run,
    make_support,
)
from raggate.config.gate_settings import Gate
from raggate.config.invariant_settings import Invariants
from raggate.gate import baseline
from raggate.gate.causes.diagnosis import diagnose
from raggate.gate.compare import compare
from raggate.gate.completeness import obstacles
from raggate.gate.evaluation import find_misses
from raggate.gate.flips import find_fallen
from raggate.gate.invariants.invariants import check_answers
from raggate.gate.promote import provenance
from raggate.gate.verdict import Circumstances, decide
from raggate.models.baseline import Baseline
from raggate.models.comparison import Delta, Diagnosis, Finding, GoldenChanges, NoteChange, Reach
from raggate.models.golden import Case
from raggate.models.provenance import Provenance
from raggate.models.run import Chunk, LabelledResult, Run
from raggate.models.scorecard import OVERALL, MetricValue
from raggate.models.verdict import Preview, Reason, ReportContext, Review, SourceLine
from raggate.models.waiver import WaiverStatus
from raggate.scoring.score import directions, score

CUTOFFS = (1, 3, 5, 10)
CHECKED = Invariants(notes_exist="off", index_complete="off", list_deep_enough="off")
NOTES = {f"work/n{number:02}.md": "1" for number in range(32)}
FINGERPRINT: dict[str, Any] = {"adapter": "ask", "k": 5, "modes": ["hybrid"], "notes": NOTES}
COVERAGE = {"docs_processed": 31, "chunks_embedded": 214}
# everything foreign text may try, in one line each
HOSTILE = (
    "a | b </details><script>alert(1)</script> ![x](http://x) [y](javascript:1) @team #1 <!-- c --> `d` **e** "
    "\x1b[31mred\x1b[0m ::error::f\n::set-output name=g::h\n##[error]i\r\n# j\n- k\n\u202egnp.exe\u2066 "
    "<https://l.example> https://m.example n_o_p &lt;b&gt; \\| ~~q~~"
)


def case_of(number: int, **fields: Any) -> Case:
    """Build a question about one section of a note of its own."""
    defaults = {
        "question": f"What does note {number} say about topic {number}?",
        "gold_supports": (make_support(f"n{number:02}.md", f"# Note {number} > ## Topic"),),
        "vaults": ("work",),
        "difficulty": "hard" if number % 2 else "easy",
    }
    return make_case(f"q{number:02}", **{**defaults, **fields})


def gold_of(case: Case, index: int = 0) -> Chunk:
    support = case.gold_supports[index]
    heading = support.heading_path or ""
    return make_chunk(f"gold-{case.id}-{index}", rel_path=support.rel_path, heading_path=heading, vault="work")


def answer(
    case: Case, *chunks: Chunk, elapsed_ms: float = 12.0, mode: str = "hybrid", **response: Any
) -> LabelledResult:
    """Build the answer to a question, with ranks and falling scores filled in."""
    ranked = (replace(chunk, rank=rank, score_final=1 / rank) for rank, chunk in enumerate(chunks, 1))
    full = make_response(*ranked, **{"latency": {"retrieval_ms": 4.0}, "coverage": COVERAGE, **response})
    return make_labelled(case, make_result(case.id, response=full, elapsed_ms=elapsed_ms, mode=mode))


def others(count: int = 5) -> tuple[Chunk, ...]:
    found = make_chunks(*(f"other{number}.md" for number in range(1, count + 1)))
    return tuple(replace(chunk, chunk_id=f"other-{chunk.rel_path}", vault="work") for chunk in found)


STARTED = {"command": {"run": ["notes-api"]}}
"""An API that raggate starts, so that its output is in `api.log`."""


def judged_by(run: Run, *, golden: str, ignored: tuple[str, ...]) -> Run:
    """Return a run whose configuration names this golden set, however strange, and which had no use for these files."""
    config = make_config().model_copy(update={"golden": golden})
    return replace(run, config=config, provenance=replace(run.provenance, ignored=ignored))


def run_of(items: Sequence[LabelledResult], **fields: Any) -> Run:
    """Build a finished run of these answers."""
    fingerprint = {**FINGERPRINT, **fields.pop("fingerprint", {})}
    fields.setdefault("provenance", Provenance(reproduce="raggate check --against origin/main"))
    return make_run(*items, suite=fields.pop("suite", "notes"), fingerprint=fingerprint, **fields)


def baseline_of(run: Run) -> Baseline:
    """Return the baseline that a run becomes, through the file."""
    scorecard = score(run, CUTOFFS)
    data = baseline.write(scorecard, provenance(run, scorecard))
    return baseline.read(data, "baselines/notes.json", directions(CUTOFFS))


def review_of(
    run: Run,
    baseline: Baseline | None,
    *,
    gate: Gate | None = None,
    levels: Invariants = CHECKED,
    first_run: bool = False,
) -> Review:
    policy = gate or Gate()
    scorecard = score(run, CUTOFFS)
    findings = check_answers(run, levels, policy)
    incomparable = obstacles(scorecard, baseline)
    comparison = compare(run, scorecard, baseline, incomparable=incomparable)
    decided = decide(comparison, findings, policy, Circumstances(stopped=run.stopped, first_run=first_run))
    fallen = find_fallen(run, comparison, decided)
    return Review(
        run=run,
        comparison=comparison,
        findings=findings,
        verdict=decided,
        context=ReportContext(first_run=first_run),
        fallen=fallen,
        diagnosis=diagnose(run, comparison, decided, fallen),
        misses=find_misses(run, comparison),
    )


def beside(review: Review, **fields: Any) -> Review:
    """Return a review with other things known beside its scores."""
    return replace(review, context=replace(review.context, **fields))


def reproduced_by(review: Review, command: str) -> Review:
    """Return a review of a run that another command line does again."""
    return replace(review, run=from_elsewhere(review.run, reproduce=command))


def from_elsewhere(run: Run, **fields: Any) -> Run:
    return replace(run, provenance=replace(run.provenance, **fields))


QUESTIONS = tuple(case_of(number, must_pass=number == 7) for number in range(24))
PAIR = make_case(
    "q30",
    question="Which two notes tell the whole story?",
    gold_supports=(make_support("n30.md", "# One"), make_support("n31.md", "# Two")),
    required_support_groups=((0, 1),),
    vaults=("work",),
)
TRICK = make_case("q40", question="What is the admiral's shoe size?", answerable=False, vaults=("work",))


@cache
def _good() -> tuple[LabelledResult, ...]:
    items = [answer(case, gold_of(case), *others(4)) for case in QUESTIONS]
    items[21] = answer(QUESTIONS[21], *others())
    items.append(answer(PAIR, gold_of(PAIR), gold_of(PAIR, 1), *others(3)))
    items.append(answer(TRICK, abstained=True))
    return tuple(items)


def good() -> list[LabelledResult]:
    """Answer all questions well, but for q21, whose passage is not found."""
    return [*_good()]


def worse() -> list[LabelledResult]:
    """Answer so that questions break in every way there is, and one is fixed."""
    items = good()
    found = {number: gold_of(QUESTIONS[number]) for number in (1, 3, 5, 7, 9, 21)}
    items[1] = answer(QUESTIONS[1], *others(6), found[1])
    items[3] = answer(
        QUESTIONS[3], replace(found[3], chunk_id="moved", heading_path="# Note 3 > ## Something else"), *others(4)
    )
    archived = (
        replace(chunk, rel_path=f"archive/{chunk.rel_path}", chunk_id=f"old-{chunk.chunk_id}") for chunk in others()
    )
    folders = {"available_folders": ("work/", "work/archive"), "selected_folders": ("work/archive",)}
    items[5] = answer(QUESTIONS[5], *archived, **folders)
    items[7] = answer(QUESTIONS[7], *others())
    items[9] = make_labelled(QUESTIONS[9], make_result("q09", failure=make_failure(message="no answer within 60 s")))
    items[21] = answer(QUESTIONS[21], found[21], *others(4))
    items[24] = answer(PAIR, gold_of(PAIR), *others(4))
    items[25] = answer(TRICK, *others(2))
    return items


@cache
def passing() -> Review:
    return review_of(run_of(good()), baseline_of(run_of(good(), run_id="20260101_000000")))


@cache
def regression() -> Review:
    """Questions broke and one was fixed; slices got worse; notes, settings and the golden set changed."""
    added = case_of(50)
    now = run_of(
        [*worse(), answer(added, gold_of(added))],
        fingerprint={"notes": {**NOTES, "work/n00.md": "2", "work/new.md": "1"}, "index_version": "v2"},
        run_id="20260102_030405",
    )
    before = baseline_of(run_of(good(), run_id="20260101_000000"))
    policy = Gate(max_error_rate=0.5, metrics={"mrr_at_10": {"tolerance": 0.05, "floor": 0.9}})  # type: ignore[dict-item]
    return review_of(from_elsewhere(now, against="0123456789abcdef0123456789abcdef01234567"), before, gate=policy)


@cache
def cannot_tell() -> Review:
    """The API died on the way."""
    failed = make_labelled(QUESTIONS[1], make_result("q01", failure=make_failure("connection", message="refused")))
    run = run_of(
        [answer(QUESTIONS[0], gold_of(QUESTIONS[0])), failed],
        golden=make_golden(*QUESTIONS),
        config=make_config(api=STARTED),
        stopped="the API exited with code 2 after 2 of 24 calls",
        log=("listening on :9000", "", "panic: runtime error: index out of range [5]", "goroutine 1 [running]:"),
    )
    return review_of(run, baseline_of(run_of(good())))


@cache
def invariant_broken() -> Review:
    """Scores rise down the list of two answers."""
    items = good()
    for number in (2, 4):
        item = items[number]
        chunks = item.result.response.chunks if item.result.response else ()
        rising = make_response(*(replace(chunk, score_final=chunk.rank) for chunk in chunks))
        items[number] = make_labelled(item.case, replace(item.result, response=rising))
    return review_of(run_of(items), baseline_of(run_of(good())))


@cache
def first_run() -> Review:
    """A good run without a baseline."""
    return review_of(run_of(good()), None)


@cache
def bare() -> Review:
    """A good run held against a metrics file without single cases."""
    held = baseline_of(run_of(good()))
    means = replace(held.scorecard, cases=(), fingerprint={}, run_id="")
    return review_of(run_of(good()), replace(held, scorecard=means, source="baselines/metrics.json"))


@cache
def several_modes() -> Review:
    """Two modes, of which one got worse and a third is gone."""
    before = [
        replace(item, result=replace(item.result, mode=mode)) for mode in ("bm25", "hybrid", "old") for item in good()
    ]
    now = [replace(item, result=replace(item.result, mode="bm25")) for item in good()] + worse()
    return review_of(run_of(now), baseline_of(run_of(before)), gate=Gate(max_error_rate=0.5))


@cache
def hostile() -> Review:
    """Foreign text wherever foreign text can stand."""
    mode = "m" + HOSTILE
    cases = [
        make_case(
            f"{number}{HOSTILE}",
            question=HOSTILE,
            gold_supports=(make_support(HOSTILE, f"# {HOSTILE}", vault=HOSTILE),),
            tags=(HOSTILE,),
            must_pass=True,
        )
        for number in range(12)
    ]
    chunk = make_chunk(HOSTILE, rel_path=HOSTILE, heading_path=f"# {HOSTILE}", text=HOSTILE, vault=HOSTILE)
    other = make_chunk("x" + HOSTILE, rel_path="x" + HOSTILE, heading_path=HOSTILE, text=HOSTILE, vault=HOSTILE)
    before = [answer(case, chunk, mode=mode) for case in cases]
    now = [answer(case, other, mode=mode, coverage={"docs_processed": HOSTILE}) for case in cases]
    failure = make_failure(message=HOSTILE)
    now[3] = make_labelled(cases[3], make_result(cases[3].id, failure=failure, mode=mode))
    now[4] = answer(cases[4], other, selected_folders=(HOSTILE,), mode=mode)
    run = run_of(
        now,
        run_id=HOSTILE,
        suite=HOSTILE,
        log=(HOSTILE, "", f"::error::{HOSTILE}"),
        fingerprint={"index": HOSTILE, "modes": [mode]},
    )
    held = baseline_of(run_of(before, run_id=HOSTILE, suite=HOSTILE, fingerprint={"notes": {f"work/{HOSTILE}": "1"}}))
    return review_of(
        from_elsewhere(run, against=HOSTILE, reproduce=f"raggate check --against '{HOSTILE}'"),
        replace(held, source=HOSTILE),
        gate=Gate(max_error_rate=0.5),
        levels=Invariants(),
    )


@cache
def introduced() -> Review:
    """A good run of a change that introduces raggate."""
    return review_of(run_of(good()), None, first_run=True)


@cache
def nothing_matches() -> Review:
    """A first run of an API that finds every note and tells no headings."""
    return _headings_told("")


@cache
def headings_otherwise() -> Review:
    """A first run of an API that tells the last heading of a section alone."""
    return _headings_told("Topic")


def _headings_told(heading_path: str) -> Review:
    chunks = [(item.case, item.result.response) for item in good()]
    items = [
        answer(case, *(replace(chunk, heading_path=heading_path) for chunk in response.chunks))
        for case, response in chunks
        if response is not None
    ]
    return review_of(run_of(items), None, first_run=True)


@cache
def new_mode() -> Review:
    """A pass with a mode that the baseline has not, in which a few questions are not found."""
    items = [replace(item, result=replace(item.result, mode="vector")) for item in good()]
    for number in (2, 4):
        items[number] = answer(QUESTIONS[number], *others(), mode="vector")
    return review_of(run_of([*good(), *items]), baseline_of(run_of(good())))


@cache
def placed() -> Review:
    """The regression, with the lines of the gold notes, and files that the change has otherwise."""
    review = regression()
    places = {
        flip.case_id: SourceLine(path=f"golden/vault/team/{flip.support.rel_path}", line=7)
        for flip in review.comparison.flips
        if flip.support is not None
    }
    run = judged_by(review.run, golden="golden/eval_set.jsonl", ignored=("golden/vault/team/n00.md",))
    return beside(replace(review, run=run), source_lines=places)


def _previewed(review: Review, preview: Preview) -> Review:
    # where an earlier commit has no such module, its other states can still be made
    from raggate.pipeline import previewing

    return previewing.previewed(review, preview)


@cache
def previewed() -> Review:
    """A pass whose change also edits the gate: settings, questions, notes and the baseline."""
    measured = {"n": 26, "unscored": 0, "direction": "higher"}
    rows = tuple(
        Delta(
            mode="hybrid",
            slice=OVERALL,
            metric=metric,
            baseline=MetricValue(value=before, **measured),  # type: ignore[arg-type]
            current=MetricValue(value=now, **{**measured, "n": 28}),  # type: ignore[arg-type]
            delta=now - before,
        )
        for metric, before, now in (("hit_at_5", 0.9615, 0.9286), ("mrr_at_10", 0.9423, 0.9048))
    )
    preview = Preview(
        settings=(
            ("api.container.image", "notes-api:1", "notes-api:2"),
            ("ask.timeout_s", "60", "90"),
            ("gate.metrics.hit_at_5", "0.03", "0.1"),
            ("gate.min_cases", "10", "5"),
            ("invariants.lists_ordered", "error", "warn"),
        ),
        loosened=("gate.metrics.hit_at_5", "invariants.lists_ordered"),
        remeasured=("api.container.image",),
        weakened={"put into another group": ("q08", "q09")},
        unmarked=("work/n00.md",),
        lowered=("hit@5", "MRR@10"),
        outdated=("the number of chunks asked for (ask.k) changed: 5 in the baseline, 10 now",),
        edited=(("replies of judges", 1, 2),),
        golden=GoldenChanges(added=("q50", "q51", "q52"), removed=("q03",), relabelled=("q05",), released=("q07",)),
        vault=(
            NoteChange("added", "work/new.md"),
            NoteChange("changed", "work/n00.md"),
            NoteChange("removed", "work/old.md"),
        ),
        baseline="replaced",
        values=(("hit_at_5", 0.96, 0.9286), ("mrr_at_10", 0.9423, 0.9048)),
        rows=rows,
        unmet=(
            (
                "error",
                "notes_exist",
                "1 answer returned a passage of no note in the fixture vault. q50: rank 1, no note drafts/new.md",
            ),
            (
                "warn",
                "list_deep_enough",
                "No list reached the largest cut-off that is scored, in 1 mode. q51 (hybrid): 3 chunks",
            ),
        ),
        problems=("the API was killed by SIGKILL after 3 of 27 calls",),
    )
    return _previewed(passing(), preview)


@cache
def breaking() -> Review:
    """A pass of a change that leaves a golden set nobody can read, and no baseline."""
    preview = Preview(breaks=("golden/eval_set.jsonl:12: key 'id' is missing",), baseline="removed")
    return _previewed(passing(), preview)


@cache
def slightly_worse() -> Review:
    """A pass with a question that broke and warnings."""
    items = good()
    items[5] = answer(QUESTIONS[5], *others())
    now = run_of(items, fingerprint={"notes": {**NOTES, "work/n00.md": "2"}}, run_id="20260102_030405")
    return review_of(now, baseline_of(run_of(good(), run_id="20260101_000000")))


@cache
def hostile_everywhere() -> Review:
    """Foreign text in what stands beside the scores too."""
    preview = Preview(
        settings=((HOSTILE, HOSTILE, HOSTILE), ("gate.tolerance", HOSTILE, "9")),
        loosened=(HOSTILE,),
        remeasured=("gate.tolerance",),
        weakened={"put into another group": (HOSTILE,)},
        unmarked=(HOSTILE,),
        lowered=(HOSTILE,),
        outdated=(HOSTILE,),
        golden=GoldenChanges(added=(HOSTILE,), removed=(HOSTILE,), released=(HOSTILE,)),
        vault=(NoteChange("removed", HOSTILE), NoteChange("added", HOSTILE)),
        baseline="replaced",
        values=((HOSTILE, 0.5, None),),
        rows=(replace(passing().comparison.deltas[0], mode=HOSTILE, metric=HOSTILE),),
        unmet=(("error", HOSTILE, HOSTILE),),
        breaks=(HOSTILE,),
        unseen=(HOSTILE,),
        problems=(HOSTILE,),
    )
    review = hostile()
    places = {flip.case_id: SourceLine(path=HOSTILE.replace("\n", "/"), line=3) for flip in review.comparison.flips}
    run = judged_by(review.run, golden=HOSTILE, ignored=(HOSTILE,))
    return beside(replace(review, run=run), preview=preview, source_lines=places)


def foreign(text: str, *, flips: int = 5, findings: int = 2) -> Review:
    """The regression, with a text wherever foreign text can stand."""
    found = review("placed")
    comparison, verdict = found.comparison, found.verdict
    broke = next(flip for flip in comparison.flips if flip.kind == "broke")
    changed = {"mode": text, "question": text, "gold": text, "why": text, "displaced_by": text}
    several = tuple(
        replace(broke, case_id=f"{number}{text}", kind=kind, **changed)
        for kind in ("broke", "fixed")
        for number in range(flips)
    )
    names = tuple(Invariants.model_fields)
    rows = tuple(
        replace(row, delta=replace(row.delta, mode=text, slice=row.delta.slice and OVERALL)) for row in verdict.rows
    )
    run = judged_by(found.run, golden=text, ignored=(text,) * 20)
    run = from_elsewhere(run, reproduce=f"raggate check {text}", against=text)
    return replace(
        found,
        run=replace(run, suite=text, run_id=text, log=(text,) * 20),
        comparison=replace(
            comparison,
            baseline=replace(
                comparison.baseline, source=text, provenance={"measured": text, "checkout": {"commit": text}}
            )
            if comparison.baseline
            else None,
            flips=several,
            golden=GoldenChanges(added=(text,) * 40, removed=(text,)),
            vault_changes=(NoteChange("removed", text), NoteChange("added", text)),
            scorecard=replace(found.scorecard, slices={text: {}, "other": {}}),
            config_changes=((text, text, text),) * 5,
            reach=(Reach(mode=text, questions=9, notes=4, sections=2, matches=1, why=text),),
        ),
        misses=tuple(replace(flip, kind="absent") for flip in several),
        diagnosis=Diagnosis(questions=9, counts=((text, 5), (text, 4)), changes=(text,) * 3, likely=text),
        findings=tuple(
            Finding(invariant=names[number], level="error", message=text, count=9, examples=(text,) * 5)
            for number in range(findings)
        ),
        verdict=replace(
            verdict,
            sentences=(f"It got worse: {text}",),
            reasons=(Reason(code="stopped", message=text), *verdict.reasons),
            warnings=(Reason(code="x", message=text),) * 5,
            rows=rows,
            waivers=(waiver(case=text, owner=text, reason=text, state="expired"), waiver(metric=text, mode=text)),
        ),
        context=ReportContext(
            preview=Preview(
                settings=((text, text, text),),
                loosened=(text,),
                weakened={"put into another group": (text,)},
                lowered=(text,),
                outdated=(text,),
                golden=GoldenChanges(released=(text,)),
                vault=(NoteChange("changed", text),),
                baseline="replaced",
                values=((text, 0.5, None),),
                problems=(text,),
            ),
            source_lines={flip.case_id: SourceLine(path=text, line=3) for flip in several},
            dependencies=(text, text),
        ),
    )


def waiver(**fields: Any) -> WaiverStatus:
    given = {"metric": None if "case" in fields else "hit_at_5", "case": None, "mode": None, "owner": "search team"}
    given |= {"reason": "the new chunker is on its way", "expires": "2026-12-01", "state": "active", "days_left": 40}
    return WaiverStatus(**{**given, **fields})


@cache
def waived() -> Review:
    """The regression, with a metric and a question waived, a waiver that has expired and one without use."""
    review = placed()
    broke = next(flip for flip in review.comparison.flips if flip.kind == "broke")
    flips = tuple(replace(flip, waived=flip == broke) for flip in review.comparison.flips)
    rows = tuple(replace(row, waived=row.delta.metric == "hit_at_5") for row in review.verdict.rows)
    return replace(
        review,
        comparison=replace(review.comparison, flips=flips),
        verdict=replace(
            review.verdict,
            rows=rows,
            waivers=(
                waiver(days_left=3),
                waiver(case=broke.case_id, reason="the note is being rewritten"),
                waiver(metric="mrr_at_10", state="unused"),
                waiver(metric="ndcg_at_10", state="expired", expires="2026-01-01", days_left=-1),
            ),
        ),
    )


REVIEWS = {
    "pass": passing,
    "regression": regression,
    "cannot-tell": cannot_tell,
    "invariant-broken": invariant_broken,
    "nothing-matches": nothing_matches,
    "new-mode": new_mode,
    "first-run": first_run,
    "bare-metrics-file": bare,
    "several-modes": several_modes,
}
BESIDE = {
    "introduced": introduced,
    "placed": placed,
    "preview": previewed,
    "breaks-the-gate": breaking,
    "slightly-worse": slightly_worse,
    "waived": waived,
}
"""Reviews with more than scores, for the reports that tell it."""


def review(name: str) -> Review:
    return (REVIEWS | BESIDE)[name]()
