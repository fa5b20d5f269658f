"""When a run that is red already asks no further: the key `gate.early_stop`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from raggate.config.values import off_is_none

if TYPE_CHECKING:
    from raggate.config.schema import Config

MOST_FALSE_ALARMS = 0.1


def _error_rate(value: float | str | None) -> float | str | None:
    # also refuses what is no number
    if isinstance(value, float) and not 0 < value <= MOST_FALSE_ALARMS:
        raise ValueError("expected off, certain, or a share of false alarms above 0 and at most 0.1, such as 0.01")
    return value


EarlyStopping = Annotated[
    Literal["certain"] | float | None,
    BeforeValidator(off_is_none),
    AfterValidator(_error_rate),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": ["certain", "off", False, None]},
                {"type": "number", "exclusiveMinimum": 0, "maximum": MOST_FALSE_ALARMS},
            ]
        }
    ),
]


def readiness(value: float | str | None) -> float:
    """Say how soon it stops: the larger, the sooner."""
    return -1.0 if value is None else value if isinstance(value, float) else 0.0


def check(config: Config) -> None:
    """Refuse what needs all answers before anything can be told, beside a run that may stop before.

    Raises:
        ValueError: naming the key, and what it expects.
    """
    if config.gate.early_stop is None:
        return
    expected = {
        "expected ask.repeat: 1, as only what is asked once is known before the end": config.ask.repeat > 1,
        "expected recheck.base: off, as the base build is asked what a whole run lost": config.recheck.base != "off",
        "expected off with api.program, which is asked many questions at once": config.api.program is not None,
        "expected certain or off with gate.policy: evidence, by which no tolerance is red by itself": (
            config.gate.policy == "evidence" and config.gate.early_stop != "certain"
        ),
    }
    wrong = next((text for text, is_so in expected.items() if is_so), None)
    if wrong is not None:
        raise ValueError(f"gate.early_stop: {wrong}")
