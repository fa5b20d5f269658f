"""What a run directory says is what the run said: every metric, every invariant, every verdict."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

from hypothesis import given, strategies as st
from msgspec.structs import replace

from builders import (
    make_case,
    make_chunk,
    make_config,
    make_failure,
    make_labelled,
    make_response,
    make_result,
    make_run,
)
from raggate.config.gate_settings import Gate
from raggate.config.invariant_settings import Invariants
from raggate.gate.evaluation import evaluate_run
from raggate.gate.invariants.invariants import check_answers
from raggate.inputs import golden
from raggate.models.baseline import Baseline
from raggate.models.golden import Support
from raggate.models.run import Chunk, LabelledResult, Probe, ProbeAnswer, ProbeKind, Probing, Reference, Run
from raggate.pipeline import run_directory
from raggate.scoring.metrics import METRICS
from raggate.scoring.score import score
from tries import tried

STRICT = Invariants(**dict.fromkeys(Invariants.model_fields, "error"))
LONG_HEADING = "A heading that goes on " * 12
BODIES = ("", " ", "\n", "Text of the note.", "x" * 199, "x" * 201, " " * 230 + "end", "note " * 60 + "gold snippet")
HEADINGS = ("# A", "# A > ## B", f"# {LONG_HEADING.strip()}", "")
CUTOFFS = (1, 3, 5)
SETTINGS = make_config(
    vault={"work": "vaults/work", "home": "vaults/home"},
    score={"k": list(CUTOFFS)},
    invariants=STRICT.model_dump(),
    private={"places": ["home/b.md"]},
    ask={"principals": {"anna": {"headers": {"X-User": "anna"}, "sees": ["work"]}}},
)


def stored(run: Run) -> Run:
    with TemporaryDirectory() as directory:
        run_directory.write(Path(directory), run)
        return run_directory.read(Path(directory))


def labelled(run: Run) -> Run:
    """Number the lines of the cases as a golden set that was read from a file has them."""
    cases = golden.load(b"".join(map(golden.write_case, run.golden.cases)), run.golden.name)
    by_id = {case.id: case for case in cases.cases}
    return replace(run, golden=cases, results=tuple(replace(item, case=by_id[item.case.id]) for item in run.results))


@st.composite
def chunks(draw: st.DrawFn) -> Chunk:
    """Draw a chunk: few ids, paths and headings, and texts shorter and longer than what is stored."""
    heading = draw(st.sampled_from(HEADINGS))
    repeated = draw(st.booleans()) and heading
    body = draw(st.sampled_from(BODIES))
    title = heading.rpartition(" > ")[2]
    return make_chunk(
        draw(st.sampled_from(("c1", "c2", "c3", ""))),
        rel_path=draw(st.sampled_from(("a.md", "b.md"))),
        heading_path=heading,
        text=f"{title}\n{body}" if repeated else body,
        rank=draw(st.none() | st.integers(0, 4)),
        vault=draw(st.sampled_from((None, "work", "home"))),
        score_final=draw(st.none() | st.floats(allow_nan=False, allow_infinity=False)),
        score_lexical=draw(st.none() | st.floats(0, 1)),
    )


@st.composite
def answers(draw: st.DrawFn, case_id: str) -> LabelledResult:
    answerable = draw(st.booleans())
    supports = (
        Support(rel_path="a.md", heading_path=draw(st.sampled_from((None, "# A")))),
        Support(rel_path="b.md", heading_path=None, snippets=("gold snippet",), grade=2),
    )
    case = make_case(
        case_id,
        question=draw(st.sampled_from(("What is A?", "Which note?"))),
        answerable=answerable,
        gold_supports=supports if answerable else (),
        required_support_groups=((0, 1),) if answerable and draw(st.booleans()) else None,
        vaults=draw(st.sampled_from(((), ("work",)))),
        expected_key_facts=draw(st.sampled_from(((), ("gold",)))),
        must_contain=draw(st.sampled_from(((), ("note",)))),
        must_pass=draw(st.booleans()),
    )
    if draw(st.integers(0, 9)) == 0:
        return make_labelled(case, make_result(case_id, failure=make_failure()))
    cited = Reference(vault="work", rel_path="a.md", heading_path="# A", chunk_index=0)
    response = make_response(
        *draw(st.lists(chunks(), max_size=6)),
        answer=draw(st.sampled_from((None, "", "gold note [File: a.md, Section: # A]"))),
        references=draw(st.sampled_from(((), (cited,)))),
        abstained=draw(st.booleans()),
        selected_folders=draw(st.sampled_from((None, (), ("work/docs",)))),
        coverage=draw(st.none() | st.just({"docs_processed": 2, "docs_with_0_chunks": 1, "index_version": "1"})),
    )
    return make_labelled(case, make_result(case_id, response=response))


@st.composite
def probes(draw: st.DrawFn, item: LabelledResult) -> ProbeAnswer:
    """Draw a probe of any kind that is made of a question, and what came of it: often what the question itself got."""
    kind = draw(st.sampled_from(get_args(ProbeKind)))
    question, note = draw(st.sampled_from(("What is A?", "WHAT\x1b[31m?"))), draw(st.sampled_from(("", "work/a.md")))
    probe = Probe(
        kind=kind,
        mode="hybrid",
        question=question,
        case_id=item.case.id,
        principal="anna" if kind == "principal" else "",
        note=note,
    )
    return ProbeAnswer(probe=probe, result=(item if draw(st.booleans()) else draw(answers(item.case.id))).result)


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """Draw a run of a few cases on a vault of two notes."""
    items = [draw(answers(f"q{number}")) for number in range(draw(st.integers(1, 4)))]
    fingerprint = {"k": 5, "notes": {"work/a.md": "1", "work/b.md": "2", "home/b.md": "2"}}
    asked = [draw(probes(item)) for item in items for _ in range(draw(st.integers(0, 3)))]
    probing = Probing(answers=tuple(asked), private=("home/b.md",))
    return labelled(make_run(*items, config=SETTINGS, fingerprint=fingerprint, probes=probing))


@tried(10)
@given(runs())
def test_every_metric_is_the_same_from_disk(run: Run) -> None:
    """The scorecard of a run that is read, with every metric of every case, is the one it had when it was measured."""
    live = score(run, CUTOFFS)
    without_judges = {name for name, metric in METRICS.items() if not metric.judged}
    assert {name.partition("_at_")[0] for name in live.cases[0].values} == without_judges
    assert score(stored(run), CUTOFFS) == live


@tried(10)
@given(runs())
def test_every_finding_is_the_same_from_disk(run: Run) -> None:
    """Every invariant finds in a run that is read what it found when the run was measured."""
    assert check_answers(stored(run), STRICT, Gate()) == check_answers(run, STRICT, Gate())


@tried(10)
@given(runs(), runs())
def test_every_verdict_is_the_same_from_disk(run: Run, before: Run) -> None:
    """A run that is read gets the verdict it got when it was measured, against nothing and against another run."""
    baseline = Baseline(source="before", scorecard=score(before, CUTOFFS), provenance={})
    again = stored(run)
    for against in (None, baseline):
        live = evaluate_run(run, score(run, CUTOFFS), against)
        assert evaluate_run(again, score(again, CUTOFFS), against).verdict == live.verdict
