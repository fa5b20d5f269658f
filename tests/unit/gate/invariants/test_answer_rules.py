"""How invariants look at a run: one pass for all of them, and examples that stay few however many there are."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given, strategies as st
from msgspec.structs import replace

from builders import make_case, make_chunks, make_failure, make_labelled, make_result, make_run
from probed import make_probe
from raggate.gate.invariants.answer_rules import SHOWN_EXAMPLES, Answer, Examples, Rule, Suite, at_end, broken, of_each
from raggate.models.run import LabelledResult, Probing


class Counted(tuple[LabelledResult, ...]):
    """Results that count how often somebody goes through them."""

    passes = 0

    def __iter__(self) -> Iterator[LabelledResult]:
        type(self).passes += 1
        return super().__iter__()


def names(answer: Answer) -> Iterator[str]:
    """Find every answer broken."""
    yield answer.place


def test_all_rules_share_one_pass() -> None:
    """However many invariants there are, each answer is looked at once; where none looks at answers, not at all."""
    items = [make_labelled(make_case(name), make_result(name, *make_chunks("a.md"))) for name in ("q1", "q2")]
    for checks, passes in (({"a": of_each(names), "b": of_each(names)}, 1), ({"c": at_end(lambda _: ["end"])}, 0)):
        Counted.passes = 0
        _, examples = broken(replace(make_run(), results=Counted(items)), checks)
        assert Counted.passes == passes
        assert {name: its.count for name, its in examples.items()} == dict.fromkeys(checks, 1 + passes)


def test_a_rule_that_does_not_apply_finds_nothing() -> None:
    """What was found is dropped where all answers together show that the rule is none for this run."""
    run = make_run(make_labelled(result=make_result("q1", *make_chunks("a.md"))))
    assert broken(run, {"a": lambda _: Rule(names, applies=lambda: False)})[1] == {}


def test_failed_calls_are_not_seen() -> None:
    """A rule sees responses alone, and the end also of a run without any."""
    failed = make_labelled(make_case(), make_result(failure=make_failure()))
    rule = Rule(names, lambda: ["end"])
    assert broken(make_run(failed), {"a": lambda _: rule})[1]["a"].shortest == ["end"]


def test_probed_questions_are_collected_on_the_way() -> None:
    """At the end a rule has the suite's answers to the questions of probes, and to no others."""
    items = [make_labelled(make_case(name), make_result(name, *make_chunks(f"{name}.md"))) for name in ("q1", "q2")]
    run = make_run(*items, probes=Probing(answers=(make_probe("control", case_id="q2"),)))
    seen: list[Suite] = []
    broken(run, {"a": at_end(lambda suite: seen.append(suite) or ())})
    assert seen[0].probed == {("hybrid", "q2"): items[1].result.response}


@given(st.lists(st.text("ab", max_size=8), max_size=30))
def test_examples_are_the_shortest(texts: list[str]) -> None:
    """All are counted, the few shortest are kept, and of equally long ones the first."""
    examples = Examples()
    examples.extend(texts)
    assert (examples.count, examples.shortest) == (len(texts), sorted(texts, key=len)[:SHOWN_EXAMPLES])
