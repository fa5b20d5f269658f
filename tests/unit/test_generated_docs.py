"""The generated documentation agrees with the code."""

from pathlib import Path

from tools.generate_docs import FACTS, PAGES, metric_facts
from tools.metric_definitions import EVALUATED, HELLOWORLD, KEBAB, SUBSTRATE

from raggate.scoring.metrics import METRICS
from raggate_interop import evaluate
from raggate_interop.helloworld import compare, metrics
from raggate_interop.kebab import metrics as kebab
from raggate_interop.labels.metrics import LABEL_METRICS
from raggate_interop.substrate import gate
from tables import each_row

ROOT = Path(__file__).parents[2]
UNDEFINED = {"groundedness_avg", "correctness_avg", "latency_p50_ms", "latency_p95_ms"}
"""What is a judge's or a clock's, and no metric of raggate's."""


@each_row("name", PAGES)
def test_page_is_current(name: str) -> None:
    """Every generated page is what the code says now; `make docs` brings it up to date."""
    assert PAGES[name]() == (ROOT / name).read_text(encoding="utf-8")


@each_row("name", METRICS)
def test_a_metric_says_everything_of_itself(name: str) -> None:
    """No metric is without definition, formula, null, source, and who calls it what, if it is only `none`."""
    facts = metric_facts(METRICS[name])
    assert [fact for fact in ("Summary", *FACTS) if not facts.get(fact, "").strip()] == []


def test_other_numbers_are_defined_in_full() -> None:
    """The metrics of labels, of `evaluate` and of the systems are all defined, with no empty field."""
    assert set(EVALUATED) == {*evaluate.AT_CUTOFF, "judged", "unjudged", "map"}
    assert tuple(KEBAB) == kebab.METRICS
    assert {name for name, definition in KEBAB.items() if definition.direction == "lower"} == kebab.LOWER_IS_BETTER
    assert {*metrics.MEANS.values(), *compare.DIRECTIONS} - set(HELLOWORLD) == UNDEFINED
    for name, definition in HELLOWORLD.items():
        assert definition.direction == compare.DIRECTIONS.get(name, "higher")
    for name, definition in SUBSTRATE.items():
        assert definition.direction == gate.direction_of(name)
    for definition in (*EVALUATED.values(), *KEBAB.values(), *HELLOWORLD.values(), *SUBSTRATE.values()):
        assert all((definition.summary, definition.formula, definition.null, definition.also, definition.source))
    for metric in LABEL_METRICS.values():
        assert all((metric.question, metric.formula, metric.null, metric.also, metric.source))
