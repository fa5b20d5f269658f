"""One model that grades: how it is asked, and how what it says becomes a judgement."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from raggate.base.jsonio import JsonObject, fields
from raggate.config.judge_settings import JudgeModelSettings
from raggate.judges.prompts import Frame, render
from raggate.judges.replies import ReplyFormat, schema_of, unescaped
from raggate.judges.session import Asker, Opinion
from raggate.models.judging import Judgement, JudgeRequest, NotJudged, Usage

_QUOTES = ('"', "'", "`")
# a reply may stand there as JSON inside JSON inside JSON
_LEVELS = 3

F = TypeVar("F", bound=ReplyFormat)


def is_quoted(reply: ReplyFormat, material: JsonObject) -> bool:
    """Return whether a reply stands in the material, however JSON spells it there, as one does that was put there.

    That is when its reasons stand there between quotes; of a reply without reasons, when all of its texts do, with
    their keys. Reasons that quote the answer are no such thing: what they quote is not all of them, or has no quotes
    there. It is also when all its keys stand there with the same grades, whatever its reasons: a model that was led by
    them gives reasons of its own, too.
    """
    wanted, given = _telling(reply), _given(reply)
    return any(
        _stands_in(reading, wanted) or (bool(given) and all(part.search(_packed(reading)) for part in given))
        for text in _strings(material)
        for reading in _readings(text)
    )


def _stands_in(reading: str, wanted: list[str]) -> bool:
    return bool(wanted) and all(any(f"{quote}{part}{quote}" in reading for quote in _QUOTES) for part in wanted)


def _given(reply: ReplyFormat) -> list[re.Pattern[str]]:
    """Return what finds a reply with the same grades in packed text; nothing of one that is texts alone."""
    content, parts = reply.model_dump(), fields(schema_of(type(reply)).get("properties"))
    grades = {key for key, part in parts.items() if _is_grade(fields(part))}
    values = {key: re.escape(json.dumps(content[key], separators=(",", ":"))) + r"(?![\d.])" for key in grades}
    return [re.compile(f'"{key}":{values.get(key, "")}') for key in parts] if grades else []


def _is_grade(part: JsonObject) -> bool:
    """Return whether a key of a reply holds a grade, by its schema, and not a text or claims."""
    kinds = {part.get("type"), fields(part.get("items")).get("type")}
    return "enum" in part or bool(kinds & {"boolean", "integer"})


def _packed(reading: str) -> str:
    """Write a text as its JSON would be without spaces, whatever quotes it has, and as Python writes yes and no."""
    return re.sub(r"['`]", '"', reading.replace(" ", "")).lower()


def _telling(reply: ReplyFormat) -> list[str]:
    """Return the texts that nobody but its author would have written like that; none of a reply that has no text."""
    content = reply.model_dump()
    if "reasoning" in content:
        return [reasons] if (reasons := _spaced(content["reasoning"])) else []
    values = [_spaced(text) for text in _strings(content)]
    return [*_keys(content), *values] if any(values) else []


def _readings(text: str) -> Iterator[str]:
    """Yield a text without backslashes, and as what its escapes of JSON stand for, read once and more often."""
    yield _spaced(text.replace("\\", ""))
    for _ in range(_LEVELS):
        if "\\" not in text:
            return
        text = unescaped(text)
        yield _spaced(text)


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _strings(part)


def _keys(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from value
        for part in value.values():
            yield from _keys(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _keys(part)


class Grader(Struct, frozen=True, kw_only=True):
    """A model, what asks it, and the wording around the material."""

    ask: Asker
    model: JudgeModelSettings
    frame: Frame = "first"

    async def reply(self, rubric: str, material: JsonObject, expected: type[F]) -> Opinion[F]:
        """Ask for a grade of the material by a rubric."""
        limited = self.model.endpoint == "local"
        prompt = render(rubric, material, expected, frame=self.frame, limited=limited)
        opinion = await self.ask(JudgeRequest(model=self.model, prompt=prompt), expected)
        if not isinstance(opinion.says, NotJudged) and is_quoted(opinion.says, material):
            problem = NotJudged(reason="unusable_score", detail="the reply copies the text that it should grade")
            return replace(opinion, says=problem)
        return opinion

    def value(self, score: str, value: float, opinions: Iterable[Opinion[Any]], **texts: Any) -> Judgement:
        """Return what a score came out as; `texts` are the reasons and claims of the judgement."""
        keys, usage = _cost(opinions)
        return Judgement(score=score, value=value, judge=self.model.model, keys=keys, usage=usage, **texts)

    def none(self, score: str, problem: NotJudged, opinions: Iterable[Opinion[Any]] = ()) -> Judgement:
        """Return why a score has no value, and what that took all the same."""
        keys, usage = _cost(opinions)
        return Judgement(
            score=score,
            value=None,
            reason=problem.reason,
            detail=problem.detail,
            judge=self.model.model,
            keys=keys,
            usage=usage,
        )


def _cost(opinions: Iterable[Opinion[Any]]) -> tuple[tuple[str, ...], Usage]:
    opinions = tuple(opinions)
    return tuple(key for opinion in opinions for key in opinion.keys), Usage.total(item.usage for item in opinions)
