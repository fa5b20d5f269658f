"""Decisions -> cases of the golden set as they would be, and what keeps one from being written. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from raggate.errors import FileProblems, UsageError
from raggate.inputs.anchor_check import check_anchors
from raggate.inputs.authoring.golden_file import new_id, with_cases
from raggate.inputs.authoring.places import cases_beside
from raggate.inputs.golden import complete, read_case
from raggate.inputs.golden_rules import broken_rule, place_key
from raggate.labelling.decisions import Decision, Where
from raggate.labelling.grades import consensus, is_split
from raggate.labelling.label_file import Unit
from raggate.labelling.progress import Progress
from raggate.models.golden import Case, Golden, Vault
from raggate.text.quote import quoted


class Edits(Struct, frozen=True, kw_only=True):
    """What decisions make of a golden set.

    Attributes:
        changed: cases that say something else, by their ids.
        added: new cases, in the order they were accepted.
        refused: by the id of a case or proposal, why what was decided cannot be written.
        split: passages that people differ on, which wait until somebody settles them.
    """

    changed: dict[str, Case]
    added: tuple[Case, ...]
    refused: dict[str, str]
    split: tuple[Unit, ...]


def edits(golden: Golden, vault: Vault, state: Progress) -> Edits:
    """Apply what was decided."""
    refused: dict[str, str] = {}
    changed = {}
    by_case = _grades(state)
    for case in golden.cases:
        grades, keys = by_case.pop(case.id, {}), state.keys.get(case.id, {})
        if not grades and not keys:
            continue
        snippets = {unit.where: text for unit, text in state.snippets.items() if unit.case == case.id}
        edited, problem = edit(case, grades, keys, snippets)
        problem = problem or _unwritable(edited)
        if problem:
            refused[case.id] = problem
        elif edited != case:
            changed[case.id] = edited
    changed = _with_places(golden, vault, changed, refused)
    known = {case.id for case in golden.cases}
    for gone in dict.fromkeys((*by_case, *state.keys)):
        if gone not in known:
            refused[gone] = "the golden set has no such question any more"
    accepted = [item for item in state.proposals.values() if item.do == "accept"]
    added = tuple(_accepted(accepted, golden, vault, refused))
    return Edits(changed=changed, added=added, refused=refused, split=splits(golden, state))


def _with_places(golden: Golden, vault: Vault, changed: Mapping[str, Case], refused: dict[str, str]) -> dict[str, Case]:
    """Leave out cases that name what is in the notes no more: for them a check would refuse all."""
    left = dict(changed)
    while left:
        try:
            check_anchors(replace(golden, cases=tuple(left.values())), vault)
        except FileProblems as error:
            for problem in error.problems:
                refused[problem.key] = problem.text.removeprefix(f"case {quoted(problem.key)}: ")
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
    keys: Mapping[Any, bool | str],
    snippets: Mapping[Where, str] | None = None,
) -> tuple[Case, str]:
    """Return a case with grades, snippets and keys, and what is wrong with it then; empty if it can be written."""
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
                return case, "a passage graded as no answer is in required_support_groups; edit the file by hand"
            supports.pop(at)
            groups = _without(groups, at)
        if grade == 0:
            wrong[key] = place
    fields: dict[str, Any] = {**keys, "gold_supports": tuple(supports), "required_support_groups": groups}
    edited = replace(case, **fields, not_relevant=tuple(wrong.values()))
    # a case whose supports follow from its ids keeps them
    edited = complete(edited)
    return edited, broken_rule(edited) or ""


def _unwritable(case: Case) -> str:
    """Return why no line can hold a case; empty where one can. A journal may be from anywhere."""
    try:
        with_cases(b"", [case])
    except (ValueError, UsageError) as error:
        return str(error).removeprefix(f"case {quoted(case.id)}: ")
    return ""


def _without(groups: tuple[tuple[int, ...], ...] | None, gone: int) -> tuple[tuple[int, ...], ...] | None:
    """Return support groups for a list that lost a support, which none of them names."""
    return groups and tuple(tuple(index - (index > gone) for index in group) for group in groups)


def _accepted(decisions: Iterable[Decision], golden: Golden, vault: Vault, refused: dict[str, str]) -> Iterable[Case]:
    taken = [case.id for case in golden.cases]
    asked = {case.question for case in golden.cases}
    for decision in decisions:
        try:
            case = read_case(decision.line.encode(), 0)
        except ValueError as error:
            refused[decision.proposal] = str(error)
            continue
        question = decision.text.strip() or case.question
        if question in asked:
            # written before a crash, or added by somebody else
            continue
        asked.add(question)
        beside = cases_beside(golden, case.gold_supports, vault)
        name = new_id(question, taken, beside)
        taken.append(name)
        yield complete(replace(case, id=name, question=question, line=0))
