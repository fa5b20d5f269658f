"""What invariants that ask questions of their own are asked with, and which notes are kept from whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field, model_validator

from raggate.config.service_settings import SentVariable, SettingsModel, check_headers
from raggate.config.values import Name, Text

if TYPE_CHECKING:
    from raggate.config.schema import Config


def _place(written: str) -> str:
    parts = written.split("/")
    if not all(parts) or not {".", ".."}.isdisjoint(parts):
        raise ValueError("expected a vault, or a folder or note in one, such as work or work/Shared")
    return written


Place = Annotated[Text, AfterValidator(_place)]


class Principal(SettingsModel):
    """A user to whom the API shows only some of the notes."""

    headers: dict[Text, Text] = {}  # noqa: RUF012 - pydantic copies it
    """Headers of this principal's requests; they replace others of the same name. `{env.NAME}` is a variable of
    `pass_env`."""
    vaults: list[Name] | None = None
    """The vaults to ask, instead of those that a question names."""
    sees: list[Place]
    """Everything this principal may see: vaults, and folders or notes in them, such as `work` or `work/Shared`."""

    @model_validator(mode="after")
    def _differs(self) -> Principal:
        if not self.headers and self.vaults is None:
            raise ValueError("expected 'headers' or 'vaults', so that the API can see who asks")
        return self


class Probes(SettingsModel):
    """Extra questions, asked after the suite, for invariants that need them. They do not count in any metric."""

    sample: Annotated[int, Field(ge=1, le=100)] = 5
    """How many private notes are asked for, and how many questions as each principal."""
    principals: Annotated[dict[Name, Principal], Field(max_length=20)] = {}  # noqa: RUF012
    """Users and what each may see, by name: for `invariants.principals_isolated`."""
    pass_env: list[SentVariable] = []  # noqa: RUF012
    """Variables of raggate's own environment that headers of principals may hold. The API sees them."""

    @model_validator(mode="after")
    def _sound_headers(self) -> Probes:
        for name, principal in self.principals.items():
            check_headers(principal.headers, (), self.pass_env, f"principals.{name}.headers")
        return self


def marking(value: object) -> str:
    """Return a value of front matter as it is compared: what is written, whichever type a reader of YAML gives it."""
    return str(value).strip().casefold()


def bare_tag(written: str) -> str:
    """Return a tag as it is compared."""
    return written.removeprefix("#").casefold()


class Private(SettingsModel):
    """Which notes are private or deleted and must never be returned. Each key adds some."""

    front_matter: dict[Text, list[Annotated[Text, Field(min_length=1)] | bool]] = {}  # noqa: RUF012
    """Front matter that marks a note, as key and values: `status: [deleted]`; `[]` for any value but none and no."""
    tags: list[Annotated[Text, Field(min_length=1)]] = []  # noqa: RUF012
    """Tags that mark a note, in `tags` of its front matter or as `#tag` in its text; nested tags are included."""
    places: list[Place] = []  # noqa: RUF012
    """Vaults, folders and notes that are private, such as `personal/Diary` or `work/Salaries.md`."""

    @property
    def marks(self) -> bool:
        """Whether anything is said to be private."""
        return bool(self.front_matter or self.tags or self.places)


def check(config: Config) -> None:
    """Refuse invariants that could never be seen to hold.

    Raises:
        ValueError: naming the key, and what it expects.
    """
    asked_twice = config.ask.repeat > 1 or config.asks_again
    if config.invariants.must_be_deterministic != "off" and not asked_twice:
        raise ValueError("must_be_deterministic: expected ask.repeat above 1, or for an API ask.repeat_sample")
    if config.ask.probes.principals and config.api.program is not None:
        raise ValueError("ask.probes.principals: expected none with api.program, which takes no headers and no vaults")
    for key, places in _places(config):
        strange = next((place for place in places if place.split("/")[0] not in config.vault), None)
        if strange is not None:
            raise ValueError(f"{key}: expected one of the vaults {', '.join(config.vault)}, found {strange!r}")


def _places(config: Config) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield what names a vault or something in one, by key."""
    yield "private.places", config.private.places
    for name, principal in config.ask.probes.principals.items():
        yield f"ask.probes.principals.{name}.sees", principal.sees
        yield f"ask.probes.principals.{name}.vaults", principal.vaults or ()
