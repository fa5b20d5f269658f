"""Settings of a command -> an API that runs as a child process on a free port of this machine."""

from __future__ import annotations

import shlex
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from raggate.base.errors import CannotTell, SettingError, UsageError
from raggate.base.quote import cut, quoted
from raggate.base.redact import Guarded
from raggate.config.service_settings import BUILD_SECONDS, Api, CommandBackend
from raggate.models.service import ProcessExit, Started, Workspace
from raggate.service.backends import engine, group, images, networking
from raggate.service.backends.group import Filler, Group
from raggate.service.backends.processes import Log, ManagedProcess, ProcessGroup
from raggate.service.functions import SHIM
from raggate.service.line_pipes import STDIO_URL, Serving, Spoken

_MOST_PORTS = 32


@contextmanager
def started(api: Api, workspace: Workspace) -> Iterator[tuple[dict[str, str], Callable[[], ProcessExit | None]]]:
    """Start the services one after the other; on leaving, containers and network are gone, whatever happened.

    Where raggate runs in a container of the engine, it joins their network, and they have addresses there. Elsewhere
    their ports are published at a loopback address of this machine, one for each service, under the same numbers.
    Yields what stands for each `service.NAME`, and a function that says which service has ended and how.
    """
    settings = api.services
    if not settings:
        yield {}, lambda: None
        return
    host = workspace.environment.get("DOCKER_HOST", "")
    with group.opened(group.services(settings, workspace), api, workspace) as made:
        at = {name: networking.loopback(made.own, host) or "" for name in settings}
        service_images = {name: made.image(name) for name in settings}
        ports = {
            name: _ports(made, name, service.port, service_images[name]) if at[name] else ()
            for name, service in settings.items()
        }
        made.connect(internal=True, published=any(at.values()))
        addresses = {
            f"service.{name}": made.serve(name, image, at=at[name], ports=ports[name])
            for name, image in service_images.items()
        }
        yield addresses, made.lost


def _ports(made: Group, name: str, port: int | None, image: str) -> tuple[int, ...]:
    try:
        ports = set(images.declared_ports(made.client, image))
    except engine.engine_errors() as error:
        raise CannotTell(f"api.services.{name}: the engine cannot look up its image: {engine.reason(error)}") from None
    ports |= set() if port is None else {port}
    if 0 < len(ports) <= _MOST_PORTS:
        return tuple(sorted(ports))
    raise UsageError(
        f"api.services.{name}: its image declares {len(ports) or 'no'} TCP ports to connect to",
        hint=f"Name its `port` here, or declare it by EXPOSE in the image, {_MOST_PORTS} at most.",
    )


@contextmanager
def start(api: Api, workspace: Workspace, pipes: Spoken | None = None) -> Iterator[Started]:
    """Build and start the API; on leaving, everything that was started is gone, whatever happened.

    The API listens on 127.0.0.1 at the port its command was given. Its output is in `api.log` of the run directory,
    that of the build steps in `build.log`. Services are up before anything is built. With `stdio` it has no port: it is
    spoken to through `pipes`, and only its standard error is in the log.
    """
    port = None if api.stdio else _free_port()
    with prepared(api, workspace, port) as made:
        child = _run(made.group, made.plan, made.log, spoken_to=api.stdio)

        def died() -> ProcessExit | None:
            return child.ended() or made.lost()

        def log_tail() -> tuple[str, ...]:
            child.ended()
            return made.log.tail()

        serving = Serving(base_url=f"http://127.0.0.1:{port}", died=died, log_tail=log_tail)
        if pipes is None or not api.stdio:
            yield serving
            return
        with closing(pipes(*child.pipes, made.log.feed)) as spoken_to:
            yield replace(serving, base_url=STDIO_URL, pipes=spoken_to)


@contextmanager
def prepared(api: Api, workspace: Workspace, port: int | None = None) -> Iterator[Prepared]:
    """Start the services and run the build steps; on leaving, whatever was started is gone. `port` is the command's."""
    settings = api.command
    assert settings is not None  # noqa: S101 - it is why this backend was chosen
    workspace.say("starting the API (command)")
    # before anything is started, so that a mistake costs nobody the time
    names = {f"service.{name}": name for name in api.services}
    if not _plan(settings, workspace, port, names).cwd.is_dir():
        hint = "Name a directory of the repository, relative to the configuration."
        raise SettingError("api.command.cwd", f"{quoted(settings.cwd)} is not a directory", hint=hint)
    with (
        started(api, workspace) as (addresses, lost),
        Log(workspace.out / "api.log", workspace.secrets) as log,
        ProcessGroup(workspace.environment) as group,
    ):
        plan = _plan(settings, workspace, port, addresses)
        if plan.build:
            with Log(workspace.out / "build.log", workspace.secrets) as build_log:
                _build(group, plan, build_log)
        yield Prepared(plan=plan, group=group, log=log, lost=lost)


class Plan(Guarded, Struct, frozen=True, kw_only=True):
    """The words of a command, its placeholders filled in, and where and with what it runs."""

    build: tuple[tuple[str, ...], ...]
    run: tuple[str, ...]
    cwd: Path
    environment: dict[str, str]


class Prepared(Struct, frozen=True, kw_only=True):
    """A command that can be run: its services are up, and it is built."""

    plan: Plan
    group: ProcessGroup
    log: Log
    lost: Callable[[], ProcessExit | None]


def _plan(settings: CommandBackend, workspace: Workspace, port: int | None, addresses: Mapping[str, str]) -> Plan:
    values = {} if port is None else {"port": str(port)}
    values |= {"root": str(workspace.root), "out": str(workspace.out), "run": workspace.run, "shim": str(SHIM)}
    values |= {**addresses, **{f"vault.{name}": str(path) for name, path in workspace.vaults.items()}}
    filler = Filler(values)
    fill = filler.fill

    def words(key: str, texts: list[str]) -> tuple[str, ...]:
        filled = tuple(fill(f"{key}[{index}]", text) for index, text in enumerate(texts))
        if not filled or not filled[0]:
            raise UsageError(f"{key}: expected a command, as a list of words")
        return filled

    passed = {name: workspace.environment[name] for name in settings.pass_env if name in workspace.environment}
    own = {name: fill(f"api.command.env.{cut(name)}", text) for name, text in settings.env.items()}
    wrong = next((name for name in own if not name or "=" in name or "\0" in name), None)
    if wrong is not None:
        raise UsageError(f"api.command.env: {quoted(wrong)} cannot be the name of a variable")
    build = tuple(words(f"api.command.build[{index}]", step) for index, step in enumerate(settings.build))
    run = words("api.command.run", settings.run)
    plan = Plan(build=build, run=run, cwd=workspace.root / settings.cwd, environment=passed | own)
    if "port" not in filler.used and port is not None:
        raise UsageError(
            "api.command: neither `run` nor `env` uses {port}, so the API does not know where to listen",
            hint='For example: env: { API_PORT: "{port}" }. A program without a port takes `api.stdio: true`.',
        )
    return plan


def _build(group: ProcessGroup, plan: Plan, log: Log) -> None:
    end = time.monotonic() + BUILD_SECONDS
    for number, words in enumerate(plan.build, 1):
        step = f"build step {number} of {len(plan.build)} (`{_joined(words)}`)"
        log.feed(f"$ {_joined(words)}\n".encode())
        try:
            child = group.start(words, cwd=plan.cwd, environment=plan.environment, log=log)
        except (OSError, ValueError) as error:
            why = f"could not be started: {_why_not(words, plan.cwd, error)}"
            hint = "Install it, or correct `api.command.build` (PATH must be in `pass_env` or `env`)."
            raise CannotTell(f"{step} {why}", hint=hint, log=log.tail()) from None
        ended = child.wait(end - time.monotonic())
        if ended is None:
            why = f"took too long: all build steps together have {BUILD_SECONDS} s"
            raise CannotTell(f"{step} {why}", hint="Build in a step before raggate.", log=log.tail())
        if ended.code != 0:
            hint = "The whole output is in build.log of the run directory."
            raise CannotTell(f"{step} {ended.message}", hint=hint, log=log.tail())


def _run(group: ProcessGroup, plan: Plan, log: Log, *, spoken_to: bool) -> ManagedProcess:
    try:
        return group.start(plan.run, cwd=plan.cwd, environment=plan.environment, log=log, spoken_to=spoken_to)
    except (OSError, ValueError) as error:
        hint = "The build steps ran, but none made it." if plan.build else "A step of `api.command.build` can make it."
        if not isinstance(error, FileNotFoundError):
            hint = "Name an executable file that this machine can run."
        why = _why_not(plan.run, plan.cwd, error)
        problem = f"`{_joined(plan.run)}` cannot be started in {quoted(plan.cwd)}: {why}"
        raise SettingError("api.command.run", problem, hint=hint) from None


def _why_not(words: tuple[str, ...], cwd: Path, error: OSError | ValueError) -> str:
    command = quoted(words[0])
    if isinstance(error, FileNotFoundError):
        if "/" not in words[0]:
            return f"no command {command} on PATH"
        if (cwd / words[0]).exists():
            return f"{command} exists, but not the interpreter it names"
        return f"no file {command}"
    if isinstance(error, PermissionError):
        return f"{command} is not executable"
    return cut(getattr(error, "strerror", None) or error)


def _joined(words: tuple[str, ...]) -> str:
    return cut(shlex.join(words), limit=200)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
