"""The section `judges` and what a command line says instead -> the judges that count."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from pydantic import ValidationError

from raggate.config.judge_settings import Judges, JudgingMode
from raggate.errors import UsageError
from raggate.text.yamlio import sentence

_FLAGS = {
    "model": "--judge-model",
    "base_url": "--judge-base-url",
    "build": "--judge-build",
    "answers_as": "--judge-answers-as",
    "mode": "--mode",
}

_HINT = "--judge-base-url gives the address, --judge-build the version; --allow-unpinned accepts a judge without one."
_HINT_OF_SECOND = (
    "The section's spot check is by that model, which cannot be its own second opinion: name another one, or give a "
    "configuration without that spot check with --config."
)


class JudgeOverrides(Struct, frozen=True, kw_only=True):
    """What a command line says instead of the section. None: as configured.

    Attributes:
        model: the one judge, in place of all that are configured; with it `base_url`, `build` and
            `answers_as` as in the section.
        allow_unpinned: whether that model may have no immutable version.
        mode: where replies come from.
        spot_check: whether a sample is judged once more, although the section may say nothing of it.
        spot_check_n: of how many answers.
    """

    model: str | None = None
    base_url: str | None = None
    build: str | None = None
    answers_as: str | None = None
    allow_unpinned: bool = False
    mode: JudgingMode | None = None
    spot_check: bool = False
    spot_check_n: int | None = None

    def apply(self, settings: Judges | None) -> Judges:
        """Change the section accordingly.

        Raises:
            UsageError: when nobody is named who judges, or a value is none that the section could have.
        """
        if self.model is None and (self.base_url or self.build or self.answers_as or self.allow_unpinned):
            raise UsageError(
                "--judge-base-url, --judge-build, --judge-answers-as and --allow-unpinned are about the model of "
                "--judge-model"
            )
        configured = settings is not None and settings.spot_check is not None
        if self.spot_check_n is not None and not (self.spot_check or configured):
            raise UsageError("--spot-check-n is about --spot-check, which is not asked for")
        if settings is None and self.model is None:
            raise UsageError(
                "nobody is named who judges",
                hint="Name a model with --judge-model, or in the section `judges` of raggate.yml (docs/judges.md).",
            )
        # what the configuration did not say stays unsaid
        section: dict[str, Any] = {} if settings is None else settings.model_dump(exclude_unset=True)
        if self.model is not None:
            fields = ("model", "base_url", "build", "answers_as")
            section |= {"models": [{name: getattr(self, name) for name in fields}]}
            section["allow_unpinned"] = self._allowed(settings)
        if self.mode is not None:
            section["mode"] = self.mode
        if self.spot_check or self.spot_check_n is not None:
            number = {} if self.spot_check_n is None else {"n": self.spot_check_n}
            section["spot_check"] = {**(section.get("spot_check") or {}), **number}
        try:
            return Judges.model_validate(section)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            key = str(problem["loc"][-1]) if problem["loc"] else ""
            if key in _FLAGS:
                raise UsageError(sentence((_FLAGS[key],), problem, ())) from None
            hint = _HINT_OF_SECOND if "'spot_check.model'" in problem["msg"] else _HINT
            raise UsageError(sentence(("--judge-model",), {**problem, "input": self.model}, ()), hint=hint) from None

    def _allowed(self, settings: Judges | None) -> list[str]:
        """Name the models that may have no version: the one that is named, and the one of the section's spot check."""
        configured = settings.allow_unpinned if settings is not None else []
        kept = [name for name in configured if name in {self.model, _second(settings)}]
        added = [self.model] if self.model is not None and self.allow_unpinned and self.model not in kept else []
        return [*kept, *added]


def _second(settings: Judges | None) -> str | None:
    """Name the model of the configured spot check; None where there is none."""
    spot = settings.spot_check if settings is not None else None
    return spot.model.model if spot is not None and spot.model is not None else None
