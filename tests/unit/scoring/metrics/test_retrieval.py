"""Retrieval metrics against tables worked out by hand, against trec_eval, and as properties of any ranking."""

from __future__ import annotations

import pytest
import pytrec_eval
from hypothesis import given, strategies as st
from msgspec.structs import replace

from builders import (
    make_case,
    make_chunk,
    make_failure,
    make_labelled,
    make_ranked,
    make_response,
    make_result,
    make_support,
)
from raggate.models.golden import Support
from raggate.models.run import LabelledResult
from raggate.scoring.metrics import METRICS, retrieval
from tables import each_row
from tries import tried

CUTOFFS = (1, 3, 5, 10)
# discounts 1 / log2(rank + 1) of the ranks used below
D2 = 0.6309297535714574
D3 = 0.5
D4 = 0.43067655807339306

FAILED = replace(make_ranked([]), result=make_result(failure=make_failure()))
NOTHING = (0.0, 0.0, 0.0, 0.0)
ONES = (1.0, 1.0, 1.0, 1.0)

# id, item, then hit, mrr, precision, ndcg and ndcg_exp at 1, 3, 5 and 10
TABLE: list[tuple[str, LabelledResult, dict[str, tuple[float, ...]]]] = [
    (
        "at rank 4",
        make_ranked([(), (), (), (0,), ()]),
        {
            "hit": (0, 0, 1, 1),
            "mrr": (0, 0, 1 / 4, 1 / 4),
            "precision": (0, 0, 1 / 5, 1 / 10),
            "ndcg": (0, 0, D4, D4),
            "ndcg_exp": (0, 0, D4, D4),
        },
    ),
    (
        "grade 1 above grade 2",
        make_ranked([(0,), (1,)], grades=(1, 2)),
        {
            "hit": ONES,
            "mrr": ONES,
            "precision": (1, 2 / 3, 2 / 5, 2 / 10),
            # 2.2619 / 2.6309 = 0.8597 with linear gain, 2.8928 / 3.6309 = 0.7967 with exponential
            "ndcg": (1 / 2, (1 + 2 * D2) / (2 + D2), (1 + 2 * D2) / (2 + D2), (1 + 2 * D2) / (2 + D2)),
            "ndcg_exp": (1 / 3, (1 + 3 * D2) / (3 + D2), (1 + 3 * D2) / (3 + D2), (1 + 3 * D2) / (3 + D2)),
        },
    ),
    (
        "two pieces of one section",
        make_ranked([(0,), (0,), ()]),
        # both match, but the section is gained once, so the ideal is reached and not exceeded
        {"hit": ONES, "mrr": ONES, "precision": (1, 2 / 3, 2 / 5, 2 / 10), "ndcg": ONES, "ndcg_exp": ONES},
    ),
    (
        "a piece of the first section before the second section",
        make_ranked([(0,), (0,), (1,)], grades=(1, 1)),
        {
            "hit": ONES,
            "mrr": ONES,
            "precision": (1, 3 / 3, 3 / 5, 3 / 10),
            "ndcg": (1, (1 + D3) / (1 + D2), (1 + D3) / (1 + D2), (1 + D3) / (1 + D2)),
            "ndcg_exp": (1, (1 + D3) / (1 + D2), (1 + D3) / (1 + D2), (1 + D3) / (1 + D2)),
        },
    ),
    (
        "one chunk that meets two supports",
        make_ranked([(0, 1)], grades=(1, 1)),
        {
            "hit": ONES,
            "mrr": ONES,
            "precision": (1, 1 / 3, 1 / 5, 1 / 10),
            "ndcg": (1, 1 / (1 + D2), 1 / (1 + D2), 1 / (1 + D2)),
            "ndcg_exp": (1, 1 / (1 + D2), 1 / (1 + D2), 1 / (1 + D2)),
        },
    ),
    (
        "a chunk twice",
        # without the copy at position 1 the ranks are: support 0, nothing, support 1
        make_ranked([(0,), (0,), (), (1,)], grades=(1, 1), duplicates=[1]),
        {
            "hit": ONES,
            "mrr": ONES,
            "precision": (1, 2 / 3, 2 / 5, 2 / 10),
            "ndcg": (1, (1 + D3) / (1 + D2), (1 + D3) / (1 + D2), (1 + D3) / (1 + D2)),
            "ndcg_exp": (1, (1 + D3) / (1 + D2), (1 + D3) / (1 + D2), (1 + D3) / (1 + D2)),
        },
    ),
    (
        "a copy of noise above the hit",
        # the copy has no rank, so the hit moves from position 4 to rank 3
        make_ranked([(), (), (), (0,)], duplicates=[2]),
        {
            "hit": (0, 1, 1, 1),
            "mrr": (0, 1 / 3, 1 / 3, 1 / 3),
            "precision": (0, 1 / 3, 1 / 5, 1 / 10),
            "ndcg": (0, D3, D3, D3),
            "ndcg_exp": (0, D3, D3, D3),
        },
    ),
    ("empty list", make_ranked([]), dict.fromkeys(("hit", "mrr", "precision", "ndcg", "ndcg_exp"), NOTHING)),
    ("failed call", FAILED, dict.fromkeys(("hit", "mrr", "precision", "ndcg", "ndcg_exp"), NOTHING)),
]


@each_row("metric", ["hit", "mrr", "precision", "ndcg", "ndcg_exp"])
@each_row(("item", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_ranked_metric(item: LabelledResult, expected: dict[str, tuple[float, ...]], metric: str) -> None:
    """Every ranked metric has the value worked out by hand at 1, 3, 5 and 10."""
    values = [METRICS[metric].function(item, k=k) for k in CUTOFFS]
    assert values == pytest.approx(expected[metric], abs=1e-9)


@each_row(
    ("matches", "groups", "expected"),
    [
        pytest.param([(0,), (), (), (1,)], [(0, 1)], (0, 0, 1, 1), id="both needed, the second at rank 4"),
        pytest.param([(0,), (), (), (1,)], [(0, 1), (0,)], (1, 1, 1, 1), id="or the first alone"),
        pytest.param([(2,), (1,), (0,)], [(0, 1), (2,)], (1, 1, 1, 1), id="or the third, which stands first"),
        pytest.param([(0, 1), (2,)], [(0, 1, 2)], (0, 1, 1, 1), id="one chunk brings two of three"),
        pytest.param([(0,), (0,), (0,)], [(0, 1)], NOTHING, id="half never suffices"),
        pytest.param([], [(0,)], NOTHING, id="empty list"),
    ],
)
def test_recall_all(matches: list[tuple[int, ...]], groups: list[tuple[int, ...]], expected: tuple[float, ...]) -> None:
    """Everything that some group requires must stand among the first k."""
    item = make_ranked(matches, grades=(1, 1, 1), groups=groups)
    assert tuple(retrieval.recall_all(item, k=k) for k in CUTOFFS) == expected


def test_recall_all_without_groups() -> None:
    """Without groups recall_all does not apply, even where everything was found."""
    assert [retrieval.recall_all(make_ranked([(0,)]), k=k) for k in CUTOFFS] == [None] * 4


RETRIEVAL = ["hit", "recall_all", "mrr", "precision", "ndcg", "ndcg_exp"]


@each_row("metric", RETRIEVAL)
@each_row("failed", [False, True], ids=["answered", "failed call"])
def test_unanswerable(metric: str, *, failed: bool) -> None:
    """No retrieval metric applies to an unanswerable case, whether the call failed or not."""
    case = make_case(answerable=False)
    result = make_result(failure=make_failure()) if failed else make_result("q1", make_chunk())
    assert METRICS[metric].function(make_labelled(case, result), k=5) is None


def test_rank_is_the_position() -> None:
    """What the API says of its ranks does not count, only where a chunk stands."""
    item = make_labelled(result=make_result("q1", make_chunk("1", rel_path="b.md", rank=2), make_chunk("2", rank=1)))
    assert retrieval.mrr(item, k=5) == 0.5


@st.composite
def _rankings(draw: st.DrawFn) -> tuple[list[int | None], list[int]]:
    """Draw a ranking of distinct documents (the index of a relevant one, or None) and the grades of the relevant."""
    grades = draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    supports = draw(st.permutations(range(len(grades))))[: draw(st.integers(0, len(grades)))]
    noise = draw(st.integers(0, 15 - len(supports)))
    ranks: list[int | None] = [*supports, *([None] * noise)]
    return draw(st.permutations(ranks)), grades


@tried(60)
@given(_rankings())
def test_agrees_with_trec_eval(drawn: tuple[list[int | None], list[int]]) -> None:
    """On distinct documents with one support each, hit, precision, MRR and nDCG are trec_eval's."""
    ranks, grades = drawn
    item = make_ranked([() if index is None else (index,) for index in ranks], grades=grades)
    names = [f"noise{rank}" if index is None else f"gold{index}" for rank, index in enumerate(ranks)]
    # strictly falling scores, as trec_eval breaks ties by name
    run = {"q": {name: float(len(names) - rank) for rank, name in enumerate(names)}}
    qrel = {"q": {f"gold{index}": grade for index, grade in enumerate(grades)}}
    cuts = ",".join(str(k) for k in CUTOFFS)
    measures = {f"success.{cuts}", f"P.{cuts}", f"ndcg_cut.{cuts}", "recip_rank"}
    # trec_eval leaves out a query without results, which counts 0 here
    theirs: dict[str, float] = pytrec_eval.RelevanceEvaluator(qrel, measures).evaluate(run).get("q", {})
    for k in CUTOFFS:
        assert retrieval.hit(item, k) == theirs.get(f"success_{k}", 0)
        assert retrieval.precision(item, k) == pytest.approx(theirs.get(f"P_{k}", 0), abs=1e-12)
        assert retrieval.ndcg(item, k) == pytest.approx(theirs.get(f"ndcg_cut_{k}", 0), abs=1e-12)
        # trec_eval's has no cut-off: it is applied to the rank
        reciprocal = theirs.get("recip_rank", 0)
        assert retrieval.mrr(item, k) == pytest.approx(reciprocal if reciprocal * k >= 1 - 1e-9 else 0, abs=1e-12)


_MATCHES = st.lists(st.sets(st.integers(0, 3)).map(lambda supports: tuple(sorted(supports))), max_size=14)


@st.composite
def _items(draw: st.DrawFn) -> LabelledResult:
    """Draw any labelled list: several matches per chunk, matches repeated, duplicates anywhere but in front."""
    matches = draw(_MATCHES)
    return make_ranked(
        matches,
        grades=draw(st.lists(st.integers(1, 5), min_size=4, max_size=4)),
        groups=draw(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=3), min_size=1, max_size=3)),
        duplicates=sorted(draw(st.sets(st.integers(1, 13), max_size=3))),
    )


@given(_items(), st.integers(1, 20))
def test_every_metric_is_between_0_and_1(item: LabelledResult, k: int) -> None:
    """Whatever matches what, every ranked metric lies between 0 and 1, and binary ones are one of them."""
    for name in RETRIEVAL:
        value = METRICS[name].function(item, k=k)
        assert value is not None
        assert 0 <= value <= 1
        assert not METRICS[name].binary or value in {0, 1}


def in_folders(*rel_paths: str, vault: str | None = None) -> tuple[Support, ...]:
    """Build one support per note."""
    return tuple(make_support(path, vault=vault) for path in rel_paths)


WORK, BOTH = ("work",), ("work", "personal")


@each_row(
    ("supports", "vaults", "selected", "expected"),
    [
        pytest.param(in_folders("docs/a.md"), WORK, ("work/docs",), 0, id="in the folder"),
        pytest.param(in_folders("docs/a.md"), WORK, ("personal/docs",), 1, id="same folder of another vault"),
        pytest.param(in_folders("docs/a.md"), BOTH, ("personal/docs",), 0, id="one of several vaults"),
        pytest.param(in_folders("docs/a.md", vault="work"), BOTH, ("personal/docs",), 1, id="a support's own vault"),
        pytest.param(in_folders("x/a.md", "docs/b.md"), WORK, ("work/docs",), 0, id="one of two supports is enough"),
        pytest.param(in_folders("x/a.md", "y/b.md"), WORK, ("work/docs",), 1, id="every support is left out"),
        pytest.param(in_folders("docs/a.md"), WORK, (), 0, id="nothing selected is no limit"),
        pytest.param(in_folders("docs/a.md"), WORK, None, None, id="the API does not tell"),
    ],
)
def test_scope_miss(
    supports: tuple[Support, ...], vaults: tuple[str, ...], selected: tuple[str, ...] | None, expected: float | None
) -> None:
    """Folder selection misses when it leaves out the folder of every gold support."""
    case = make_case(gold_supports=supports, vaults=vaults)
    item = make_labelled(case, make_result(response=make_response(selected_folders=selected)))
    assert retrieval.scope_miss(item) == expected


def test_scope_miss_does_not_apply() -> None:
    """Without a gold support or an answer there is nothing to miss."""
    chosen = make_result(response=make_response(selected_folders=("x/y",)))
    assert retrieval.scope_miss(make_labelled(make_case(answerable=False), chosen)) is None
    assert retrieval.scope_miss(FAILED) is None


@each_row(
    ("heading_only", "expected"),
    [
        pytest.param((True, False), 1, id="first chunk"),
        pytest.param((False, True), 0, id="only a later chunk"),
        pytest.param((), 0, id="empty list"),
    ],
)
@each_row("answerable", [True, False], ids=["answerable", "unanswerable"])
def test_heading_dominance(heading_only: tuple[bool, ...], expected: float, *, answerable: bool) -> None:
    """Only the first chunk counts, and unanswerable questions count too."""
    result = make_result("q1", *(make_chunk(str(position)) for position in range(len(heading_only))))
    item = make_labelled(make_case(answerable=answerable), result, heading_only=heading_only)
    assert retrieval.heading_dominance(item) == expected


def test_unjudged_is_what_neither_gold_nor_a_judgement_names() -> None:
    """Of four chunks one is gold, one lacks the gold snippet and one is judged not to answer: 1/4 is unjudged."""
    case = make_case(
        gold_supports=(make_support("a.md", "# A", snippets=("litres",)),),
        not_relevant=(make_support("b.md", "# B", grade=0), make_support("", None, chunk_id="c9", grade=0)),
    )
    chunks = [
        make_chunk("c1", rel_path="a.md", text="two litres"),
        make_chunk("c2", rel_path="b.md", heading_path="# B"),
        make_chunk("c3", rel_path="b.md", heading_path="# B > ## Deeper"),
        make_chunk("c4", rel_path="a.md", heading_path="# A > ## More", text="no number"),
        make_chunk("c1", rel_path="z.md"),
    ]
    item = make_labelled(case, make_result("q1", *chunks))
    assert item.labels.judged == (1, 3)
    assert [retrieval.unjudged(item, k) for k in (1, 2, 3, 4, 10)] == [0, 0, 1 / 3, 1 / 4, 1 / 4]


def test_unjudged_of_nothing() -> None:
    """Where no list came back, and where no note answers, nothing can be unjudged."""
    empty = make_labelled(make_case(), make_result("q1"))
    unanswerable = make_labelled(make_case(answerable=False), make_result("q1", make_chunk()))
    assert [retrieval.unjudged(item, 5) for item in (empty, FAILED, unanswerable)] == [None, None, None]
