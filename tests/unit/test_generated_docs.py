"""The generated documentation agrees with the code."""

import re
from pathlib import Path

import pytest
from tools.generate_docs import EXAMPLE, FACTS, PAGES, SECTIONS, WORKED, metric_facts

from builders import make_ranked
from raggate.config.schema import load
from raggate.scoring.metrics import METRICS
from raggate_interop.labels.metrics import LABEL_METRICS
from tables import each_row

ROOT = Path(__file__).parents[2]


@each_row("name", PAGES)
def test_page_is_current(name: str) -> None:
    """Every generated page is what the code says now; `make docs` brings it up to date."""
    assert PAGES[name]() == (ROOT / name).read_text(encoding="utf-8")


@each_row("name", METRICS)
def test_a_metric_says_everything_of_itself(name: str) -> None:
    """No metric is without definition, formula, null, source, and who calls it what, if it is only `none`."""
    facts = metric_facts(METRICS[name])
    assert [fact for fact in ("Summary", *FACTS) if not facts.get(fact, "").strip()] == []


def test_the_example_is_a_configuration() -> None:
    """The file that docs/configuration.md begins with can be loaded as it stands."""
    assert load(EXAMPLE.encode(), "docs/configuration.md").suite == "notes"


@each_row("section", SECTIONS)
def test_the_example_of_a_section_is_a_configuration(section: str) -> None:
    """Each section of the page can stand in a file as it is shown."""
    rest = {"vault": "vault: {notes: notes}\n", "api": "api: {url: http://127.0.0.1:9000}\n", "ask": ""}
    rest["ask"] = "ask: {retrieval_only: false}\n" if section == "judges" else ""
    text = "".join(line for name, line in rest.items() if name != section) + SECTIONS[section] + "\n"
    assert load(text.encode(), "docs/configuration.md")


def test_a_section_of_your_names_lists_no_keys() -> None:
    """`faults` holds names of yours, so its section ends without a table."""
    section = PAGES["docs/configuration.md"]().partition("## `faults`\n")[2].partition("\n## ")[0]
    assert "vector-off" in section
    assert "|" not in section


def test_labels_have_a_formula_and_a_source() -> None:
    """No metric of human labels is without formula, null and source."""
    assert [
        name for name, metric in LABEL_METRICS.items() if not (metric.formula and metric.null and metric.source)
    ] == []


def test_the_worked_example_of_the_metrics() -> None:
    """The values beside the list of five chunks are those of the metrics themselves."""
    item = make_ranked([(), (0,), (), (), (1,)], grades=(1, 1), groups=((0, 1),))
    for names, values in re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| ([\d., ]+) \|", WORKED, re.MULTILINE):
        for name, value in zip(re.findall(r"\w+", names), values.split(", "), strict=True):
            stem, _, k = name.rpartition("_at_")
            assert METRICS[stem].function(item, int(k)) == pytest.approx(float(value), abs=0.0005), name
