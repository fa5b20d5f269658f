"""The trusted inputs and a build -> that build up and ready to be asked, the same way for every build of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from raggate.config.schema import Config
from raggate.config.service_settings import Api, Readiness
from raggate.errors import RaggateError, SettingError
from raggate.inputs.leaks import private_notes
from raggate.inputs.trusted import Inputs
from raggate.models.golden import Vault
from raggate.models.provenance import Checkout, Fingerprint
from raggate.models.run import Result
from raggate.models.service import IndexState, Started, Workspace
from raggate.pipeline.request import Request
from raggate.service import boot
from raggate.service.adapters import Adapter, made_of
from raggate.service.boot import Expected
from raggate.text import redact, yamlio
from raggate.text.files import read_file
from raggate.text.http_client import httpx
from raggate.text.quote import without_userinfo
from raggate.text.redact import Guarded


class Build(Struct, frozen=True, kw_only=True):
    """One build of the API: its settings, the directory that its source lies in, and what it is called.

    `source` says whose source that is; see `Workspace`. `checkout` is what is known of the commit it is of. `title`
    names a build that is not the API of the configuration, in a few words; empty for that one.
    """

    api: Api
    root: Path
    name: str = ""
    source: str = ""
    checkout: Checkout = field(default_factory=Checkout)
    title: str = ""


class Booted(Guarded, Struct, frozen=True, kw_only=True):
    """A build that is up: who asks it, and what takes secrets out of its answers and words.

    `wait` waits until it can be asked again, once it was made to index anew; it raises as `boot.wait_again`.
    """

    adapter: Adapter
    api: Started
    clean: Callable[[Result], Result]
    secrets: tuple[str, ...]
    wait: Callable[[], None]

    def log_tail(self) -> tuple[str, ...]:
        """Return the last lines of its output without secrets. Untrusted text."""
        return redacted(self.api.log_tail(), self.secrets)


class Place(Struct, frozen=True, kw_only=True):
    """Where a build leaves its files: `out`, below the directory `runs`; `identified` as in `Workspace`.

    `counted` takes each look at the index until the build is up.
    """

    out: Path
    runs: Path
    identified: Callable[[str], None] = field(default=lambda _: None)
    counted: Callable[[IndexState], None] = field(default=lambda _: None)


@contextmanager
def booted(request: Request, inputs: Inputs, build: Build, place: Place, before: Fingerprint) -> Iterator[Booted]:
    """Bring a build up; on leaving it is gone.

    Args:
        before: the fingerprint of the baseline, which tells how large its index was; empty without one.

    Raises:
        RaggateError: as `boot.up`, without secrets.
    """
    secrets = _secrets(request, inputs.config, build.api)

    def say(line: str) -> None:
        request.say(redact.redact_cut(line, secrets))

    workspace = _workspace(request, inputs, build, place, secrets, say)
    settings = inputs.config
    adapter: Adapter = made_of(settings, build.root, request.environment)
    expected = _expected(inputs, before)

    def counted(client: httpx.Client, readiness: Readiness) -> IndexState:
        state = adapter.index_state(client, readiness)
        place.counted(state)
        return state

    ready = boot.up(build.api, workspace, index_state=counted, expected=expected)
    again = partial(boot.wait_again, build.api, index_state=adapter.index_state, expected=expected)
    with _redacted_errors(secrets), _with_line(request, build), ready as api:
        yield Booted(
            adapter=adapter,
            api=api,
            clean=_redactor(secrets, inputs.vault),
            secrets=secrets,
            wait=partial(again, api, say=say),
        )


def _workspace(
    request: Request, inputs: Inputs, build: Build, place: Place, secrets: tuple[str, ...], say: Callable[[str], None]
) -> Workspace:
    return Workspace(
        root=build.root,
        out=place.out.resolve(),
        runs=place.runs.resolve(),
        vaults=inputs.vault.directories,
        environment=request.environment,
        say=say,
        in_action=request.action,
        secrets=secrets,
        identified=place.identified,
        source=build.source,
    )


def _expected(inputs: Inputs, before: Fingerprint) -> Expected:
    """Say what a complete index holds, also by the run of the baseline where that was of the same notes."""
    chunks = before.get("chunks") if before.get("vault") == inputs.vault.hash else None
    # an API that leaves private notes out of its index is complete without them
    documents = len(inputs.vault.texts) - len(private_notes(inputs.vault, inputs.config.private))
    return Expected(documents=documents, chunks=chunks if type(chunks) is int else None)


def _secrets(request: Request, settings: Config, api: Api) -> tuple[str, ...]:
    """Return the values that nothing may show: the API may know them, or find them, and print them."""
    sections = [api.command, api.program, *api.containers().values(), settings.ask.mapped, settings.ask.mcp]
    names = [name for section in sections if section is not None for name in section.pass_env]
    names += settings.ask.probes.pass_env
    return redact.of_environment(request.environment, names)


@contextmanager
def _redacted_errors(secrets: tuple[str, ...]) -> Iterator[None]:
    try:
        yield
    except RaggateError as error:
        error.lines = redacted(error.lines, secrets)
        error.hint = redact.redact_cut(error.hint, secrets)
        error.log = redacted(error.log, secrets)
        raise


@contextmanager
def _with_line(request: Request, build: Build) -> Iterator[None]:
    """Say of a key that names what is not there in which line of the file it stands, where it is the file's."""
    try:
        yield
    except SettingError as error:
        if request.against is None and not request.overrides.api_build and not build.title:
            document = yamlio.parse(read_file(request.config_file), request.config_place)
            place = f"{document.name}:{document.line(tuple(error.key.split('.')))}"
            error.lines = (f"{place}: {error.lines[0]}", *error.lines[1:])
        raise


def redacted(lines: Sequence[str], secrets: tuple[str, ...]) -> tuple[str, ...]:
    """Take secrets out of lines, and name and password out of URLs."""
    return tuple(without_userinfo(redact.redact_cut(line, secrets)) for line in lines)


def _redactor(secrets: tuple[str, ...], notes: Vault) -> Callable[[Result], Result]:
    """Return what takes secrets out of a result. What stands in a note is none, and stays for the note to be found."""
    note_texts = [text for name, note in notes.texts.items() for text in (*name, note)]
    scrub = redact.Scrubber(secret for secret in secrets if not any(secret in text for text in note_texts))

    def clean(result: Result) -> Result:
        if result.failure is None:
            response = scrub(result.response)
            return result if response is result.response else replace(result, response=response)
        return replace(
            result, failure=replace(result.failure, message=redact.redact_cut(result.failure.message, secrets))
        )

    return clean
