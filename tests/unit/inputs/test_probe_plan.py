"""What is asked after the suite: as much as is configured, and the same of the same inputs."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import given, strategies as st

from builders import make_case, make_config, make_golden
from raggate.config.invariant_settings import PROBES_OFF
from raggate.config.schema import Config
from raggate.inputs.probe_plan import WORDS, fewer, nonsense, plan, question_of, spellings, unicode_form
from raggate.models.golden import Golden, Vault
from raggate.models.run import Probe
from tables import each_row

TEXTS = {
    ("work", "a.md"): "# Alpha\n\n## Opening hours\n\nnine\n\n## Empty one\n\n## Log\n\nlines\n",
    ("work", "b.md"): "---\ntitle: Front matter\n---\n# Beta rays\n\ntext\n\n## Same words\n\ntext\n",
    ("home", "c.md"): "# Gamma\n\n## same  Words\n\ntext\n",
    ("home", "diary.md"): "# Dear diary\n\nI met somebody\n",
}
VAULT = Vault(directories={"work": Path(), "home": Path()}, texts=TEXTS, notes={}, hash="v1")
GOLDEN = make_golden(*(make_case(f"q{number}", question=f"caf\u00e9 {number}") for number in range(9)))
PRIVATE = ("home/diary.md",)
PRINCIPALS = {
    "anna": {"headers": {"X-User": "anna"}, "sees": ["work"]},
    "bert": {"vaults": ["home"], "sees": ["home"]},
}


def config(*names: str, sample: int = 2, k: int = 5) -> Config:
    """Build a configuration with some invariants switched on."""
    probes = {"sample": sample, "reindex": {"path": "/rebuild"}, "principals": PRINCIPALS}
    levels = {**PROBES_OFF, **dict.fromkeys(names, "error")}
    return make_config(vault={"work": "w", "home": "h"}, ask={"probes": probes, "k": k}, invariants=levels)


def planned(*names: str, golden: Golden = GOLDEN, **keys: Any) -> tuple[Probe, ...]:
    """Plan the probes of some invariants."""
    return plan(config(*names, **keys), golden, VAULT, PRIVATE)


@each_row(
    ("names", "expected"),
    [
        ((), {}),
        (("top_is_prefix",), {"control": 2, "prefix": 2}),
        (("spelling_ignored",), {"control": 2, "spelling": 6}),
        (("reindex_idempotent",), {"control": 2, "reindex": 2}),
        (("top_is_prefix", "spelling_ignored"), {"control": 2, "prefix": 2, "spelling": 6}),
        (("headings_findable",), {"heading": 2}),
        (("nonsense_abstains",), {"nonsense": 2}),
        (("private_withheld",), {"private": 1}),
        (("principals_isolated",), {"principal": 4}),
    ],
)
def test_what_each_costs(names: tuple[str, ...], expected: dict[str, int]) -> None:
    """Every invariant takes as many questions as the sample, by variant and principal; repeated ones are shared."""
    probes = planned(*names)
    assert Counter(probe.kind for probe in probes) == expected
    assert planned(*names) == probes


def test_questions_of_ascii_are_joined_by_others_that_have_two_forms() -> None:
    """Where the sample has no letter that Unicode writes in two ways, questions that have one are asked too."""
    cases = [*(make_case(f"p{number}", question=f"plain {number}") for number in range(20)), *GOLDEN.cases]
    probes = planned("spelling_ignored", golden=make_golden(*cases), sample=1)
    assert Counter(probe.variant for probe in probes if probe.kind == "spelling")["Unicode form NFD"] == 1


def test_headings_are_those_that_can_be_told_apart() -> None:
    """Asked are headings of several words, with text of their own, that stand once in all vaults, in public notes."""
    probes = planned("headings_findable", sample=9)
    assert {(probe.question, probe.note, probe.heading_path) for probe in probes} == {
        ("Opening hours", "work/a.md", "# Alpha > ## Opening hours"),
        ("Beta rays", "work/b.md", "# Beta rays"),
    }


def test_private_notes_are_asked_for_by_a_heading_of_theirs() -> None:
    """The question is what somebody would ask who knows the note."""
    (probe,) = planned("private_withheld")
    assert (probe.question, probe.note) == ("Dear diary", "home/diary.md")


def test_every_principal_is_asked_the_same_questions() -> None:
    """Those first that somebody must not see the answer to."""
    everybody = make_case("open", gold_supports=())
    probes = planned("principals_isolated", golden=make_golden(everybody, *GOLDEN.cases), sample=9)
    asked = {name: [probe.case_id for probe in probes if probe.principal == name] for name in PRINCIPALS}
    assert asked["anna"] == asked["bert"]
    assert "open" not in asked["anna"]


def test_nothing_in_a_question_tells_that_it_is_a_probe() -> None:
    """What is sent is a case as the suite has them, with its id, vaults and folders; only what is tested is another."""
    settings = config("top_is_prefix")
    golden = make_golden(make_case("q1", vaults=("work",), folders=("work/In",), k=7))
    spelled = Probe(kind="spelling", mode="hybrid", question="OTHER", case_id="q1", variant="capitals")
    case = question_of(spelled, golden, settings)
    assert (case.id, case.question, case.vaults, case.folders, case.k) == ("q1", "OTHER", ("work",), ("work/In",), 7)
    shorter = Probe(kind="prefix", mode="hybrid", question="OTHER", case_id="q1")
    assert question_of(shorter, golden, settings).k == 4
    heading = Probe(kind="heading", mode="hybrid", question="Opening hours", note="work/a.md")
    assert len(question_of(heading, golden, settings).id) == 8
    bert = Probe(kind="principal", mode="hybrid", question="OTHER", case_id="q1", principal="bert")
    assert question_of(bert, golden, settings).vaults == ("home",)
    assert question_of(bert, golden, settings).folders == ()
    anna = Probe(kind="principal", mode="hybrid", question="OTHER", case_id="q1", principal="anna")
    assert question_of(anna, golden, settings).vaults == ("work",)


@each_row(("k", "half"), [(2, 1), (5, 3), (10, 5), (1000, 500)])
def test_half_as_many(k: int, half: int) -> None:
    """The top 5 of 10, and never none."""
    assert fewer(k) == half


@given(st.text(max_size=10), st.integers(0, 5))
def test_the_same_seed_gives_the_same_questions(seed: str, number: int) -> None:
    """As many questions as asked for, each of six words of three syllables, the same every time."""
    questions = nonsense(seed, number, [])
    assert questions == nonsense(seed, number, [])
    assert len(questions) == number
    for question in questions:
        assert re.fullmatch(rf"[A-Z][a-z]{{5}}(?: [a-z]{{6}}){{{WORDS - 1}}}\?", question)


def test_no_word_stands_in_a_note() -> None:
    """A word that some note has, in whatever case, is left out."""
    (question,) = nonsense("seed", 1, [])
    used = question.rstrip("?").casefold().split()
    (other,) = nonsense("seed", 1, [f"The word {used[0].upper()}, and _{used[2]} {used[2]}."])
    words = other.rstrip("?").casefold().split()
    assert words[:4] == [used[1], used[3], used[4], used[5]]


@each_row(
    ("question", "expected"),
    [
        ("Where is it?", {"capitals": "WHERE IS IT?", "white space": "  Where  is  it? "}),
        ("WHERE?", {"small letters": "where?", "white space": "  WHERE? "}),
        ("caf\u00e9", {"capitals": "CAF\u00c9", "white space": "  caf\u00e9 ", "Unicode form NFD": "cafe\u0301"}),
        ("cafe\u0301", {"capitals": "CAFE\u0301", "white space": "  cafe\u0301 ", "Unicode form NFC": "caf\u00e9"}),
        ("42", {"white space": "  42 "}),
        # the capital of a dotless i is that of another letter
        ("\u0131", {"white space": "  \u0131 "}),
    ],
)
def test_variants(question: str, expected: dict[str, str]) -> None:
    """Each variant is another text, named by what was changed."""
    assert dict(spellings(question)) == expected


@given(st.text(max_size=40))
def test_variants_mean_the_same(question: str) -> None:
    """No variant is the question itself, and case folding and white space apart each is made of the same characters."""

    def folded(text: str) -> str:
        return "".join(unicodedata.normalize("NFC", text).casefold().split())

    for changed, other in spellings(question):
        assert other != question
        assert changed.startswith("Unicode") or folded(other) == folded(question)
    for _, other in unicode_form(question):
        assert unicodedata.normalize("NFC", other) == unicodedata.normalize("NFC", question)
