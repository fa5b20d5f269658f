"""The journal -> what people have decided since it was last written into the golden set, and all votes. Pure."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from msgspec import Struct, field

from raggate.labelling.decisions import Decision
from raggate.labelling.label_file import Labels, Unit, Vote, Votes


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
    current, former = (
        {
            unit: chosen
            for unit, votes in labels.items()
            if (chosen := {name: vote for name, vote in votes.items() if _is_former(vote, unit, words) is left})
        }
        for left in (False, True)
    )
    state = Progress(votes=current, former=former, stored=frozenset(current))
    for decision in since_writing(decisions):
        # a grade is for the words that the question had
        if not decision.asked or decision.asked == words.get(decision.case, decision.asked):
            state.take(decision)
    return state


def _is_former(vote: Vote, unit: Unit, words: Mapping[str, str]) -> bool:
    return bool(vote.asked) and vote.asked != words.get(unit.case, vote.asked)


def since_writing(decisions: Sequence[Decision]) -> Sequence[Decision]:
    """Return what was decided since the files were written last."""
    done = max((number for number, decision in enumerate(decisions, 1) if decision.do == "written"), default=0)
    return decisions[done:]


def left_over(decisions: Sequence[Decision], refused: Container[str]) -> list[Decision]:
    """Return the decisions that could not be written, which wait for the next writing."""
    return [decision for decision in since_writing(decisions) if decision.case and decision.case in refused]
