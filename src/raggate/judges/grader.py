"""One model that grades: how it is asked, and how what it says becomes a judgement."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from raggate.judges.ask import Asker, Opinion
from raggate.judges.parse import ReplyFormat
from raggate.judges.prompts import Frame, render
from raggate.judges.quoted_replies import is_quoted
from raggate.models.judging import Judgement, JudgeModel, JudgeRequest, NotJudged, Parameters, Usage
from raggate.text.jsonio import JsonObject

F = TypeVar("F", bound=ReplyFormat)


class Grader(Struct, frozen=True, kw_only=True):
    """A model, what asks it, and how: parameters of sampling, and the wording around the material."""

    ask: Asker
    model: JudgeModel
    parameters: Parameters
    frame: Frame = "first"

    async def reply(self, rubric: str, material: JsonObject, expected: type[F]) -> Opinion[F]:
        """Ask for a grade of the material by a rubric."""
        limited = self.model.endpoint == "local"
        prompt = render(rubric, material, expected, frame=self.frame, limited=limited)
        opinion = await self.ask(JudgeRequest(model=self.model, prompt=prompt, parameters=self.parameters), expected)
        if not isinstance(opinion.says, NotJudged) and is_quoted(opinion.says, material):
            problem = NotJudged(reason="unusable_score", detail="the reply is copied from what is graded")
            return replace(opinion, says=problem)
        return opinion

    def value(self, score: str, value: float, opinions: Iterable[Opinion[Any]], **texts: Any) -> Judgement:
        """Give what a score came out as; `texts` are the reasons and claims of the judgement."""
        keys, usage = _cost(opinions)
        return Judgement(score=score, value=value, judge=self.model.name, keys=keys, usage=usage, **texts)

    def none(self, score: str, problem: NotJudged, opinions: Iterable[Opinion[Any]] = ()) -> Judgement:
        """Say why a score has no value, and what that took all the same."""
        keys, usage = _cost(opinions)
        return Judgement(
            score=score,
            value=None,
            reason=problem.reason,
            detail=problem.detail,
            judge=self.model.name,
            keys=keys,
            usage=usage,
        )


def _cost(opinions: Iterable[Opinion[Any]]) -> tuple[tuple[str, ...], Usage]:
    opinions = tuple(opinions)
    return tuple(key for opinion in opinions for key in opinion.keys), Usage.total(item.usage for item in opinions)
