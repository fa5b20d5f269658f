"""How an API is brought up: the `api` section of raggate.yml as frozen models, and types that all sections share."""

from __future__ import annotations

import ast
import inspect
import re
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from raggate.config.hosts import is_metadata

DEFAULT_USER = "65534:65534"
_WITHHELD = re.compile(r"(?:INPUT|STATE|ACTIONS|GITHUB|RUNNER|DOCKER)_.*|(?:https?|ftp|all|no)_proxy", re.IGNORECASE)
# [domain/]path[:tag][@digest], as the engine reads it
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_IMAGE = (
    rf"(?:{_LABEL}(?:\.{_LABEL})*(?::[0-9]+)?/)?{_PART}(?:/{_PART})*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?"
)
_OWN_LOGS = frozenset(("api", "build"))


def _relative(path: str) -> str:
    pure = PurePosixPath(path)
    if not path or pure.is_absolute() or ".." in pure.parts or "\\" in path or "\0" in path:
        raise ValueError("expected a relative path inside the repository, without '..'")
    return str(pure)


def _http(url: str) -> str:
    problem = ValueError("expected a URL such as http://127.0.0.1:9000")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise problem from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        raise problem
    if parts.username or parts.password:
        raise ValueError("expected a URL without user name and password")
    if is_metadata(parts.hostname):
        raise ValueError("expected the URL of an API; this is a link-local or cloud metadata address")
    return url.rstrip("/")


def _image(name: str) -> str:
    if len(name) > 255 or not re.fullmatch(_IMAGE, name):
        raise ValueError("expected the name of an image such as ghcr.io/acme/api:1.2, its path in lower case")
    return name


def _no_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("expected text without NUL characters")
    return text


def _may_be_passed(name: str) -> str:
    if _WITHHELD.fullmatch(name):
        raise ValueError("expected a variable that is not the runner's, Docker's or a proxy's; set it in 'env' instead")
    return name


def _no_token(name: str) -> str:
    if name.startswith(("INPUT_", "ACTIONS_")) or name in {"GITHUB_TOKEN", "GH_TOKEN"}:
        raise ValueError("expected a variable that holds no token of the runner's")
    return name


def _mount_point(path: str) -> str:
    pure = PurePosixPath(path)
    if not path.startswith("/") or ".." in pure.parts or any(sign in path for sign in ":,\\\0"):
        raise ValueError("expected an absolute path")
    if len(pure.parts) < 2 or pure.parts[1] in {"proc", "sys", "dev"}:
        raise ValueError("expected a directory other than /, /proc, /sys and /dev")
    return str(pure)


def _service_name(name: str) -> str:
    if name in _OWN_LOGS:
        raise ValueError(f"expected another name for service {name!r}: its log would be raggate's own")
    return name


RelativePath = Annotated[str, AfterValidator(_relative)]
HttpUrl = Annotated[str, AfterValidator(_http)]
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Text = Annotated[str, AfterValidator(_no_nul)]
Port = Annotated[int, Field(ge=1, le=65_535)]
MountPoint = Annotated[str, AfterValidator(_mount_point)]
ImageName = Annotated[str, AfterValidator(_image), Field(json_schema_extra={"pattern": f"^{_IMAGE}$"})]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]*$")]
ServiceName = Annotated[str, Field(pattern=r"^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$"), AfterValidator(_service_name)]
# what Docker gives by default, without making devices and raw packets, and two that only concern memory and priority
# fmt: off
Capability = Literal[
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "IPC_LOCK", "KILL", "NET_BIND_SERVICE",
    "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT", "SYS_NICE",
]
# fmt: on


class SettingsModel(BaseModel):
    """A section of the configuration: frozen, without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def described(model: type[BaseModel]) -> dict[str, str]:
    """Give what stands below each key of a settings model.

    It is read from the source when it is asked for: pydantic's own way parses every model at every start.
    """
    descriptions: dict[str, str] = {}
    for part in reversed(model.__mro__):
        if issubclass(part, SettingsModel) and part is not SettingsModel:
            statements = ast.parse(inspect.getsource(part)).body[0]
            for key, text in pairwise(getattr(statements, "body", [])):
                if isinstance(key, ast.AnnAssign) and isinstance(key.target, ast.Name) and isinstance(text, ast.Expr):
                    descriptions[key.target.id] = inspect.cleandoc(str(ast.literal_eval(text.value)))
    return descriptions


class Build(SettingsModel):
    """Build the image with the engine's own builder. Its output is in build.log of the run directory."""

    context: RelativePath = "."
    """Directory handed to the engine, relative to raggate.yml; its .dockerignore is respected."""
    dockerfile: RelativePath = "Dockerfile"
    """The Dockerfile, relative to the context."""
    target: Text | None = None
    """The stage to build; null for the last."""
    args: dict[Variable, Text] = {}
    """Build arguments."""
    timeout: Seconds = 600
    """Seconds for the whole build."""


class Contained(SettingsModel):
    """What every container has: an image, words and variables, and limits of which each can be relaxed by name."""

    image: ImageName | None = None
    """The image. Used as it is on this machine when it is there, pulled otherwise."""
    build: Build | None = None
    """Build the image instead."""
    pull: Literal["missing", "never"] = "missing"
    """Whether an image that is not there is pulled. No credentials are used: pull a private image beforehand."""
    command: list[Text] = []
    """Words in place of the image's command; its entry point stays."""
    env: dict[Variable, Text] = {}
    """Environment, beside the image's own and what `pass_env` lets through."""
    pass_env: list[Annotated[Variable, AfterValidator(_may_be_passed)]] = []
    """Names of variables handed on from raggate's own environment; the runner's, Docker's and proxies' cannot be."""
    user: Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*(:[A-Za-z0-9_][A-Za-z0-9_.-]*)?$")] | None = (
        DEFAULT_USER
    )
    """User and group of the process; null for the image's own."""
    read_only: bool = True
    """Whether the root file system is read-only."""
    tmpfs: list[MountPoint] = ["/tmp"]  # noqa: S108 - inside the container
    """Writable directories, in memory."""
    cap_add: list[Capability] = []
    """Capabilities kept; all others are dropped."""
    memory: Annotated[str, Field(pattern=r"^[1-9][0-9]{0,8}[kmg]$")] = "512m"
    """Most memory, swap included; beyond it the process is killed."""
    cpus: Annotated[float, Field(ge=0.01, le=1024, allow_inf_nan=False)] = 1.0
    """Share of processors."""
    pids: Annotated[int, Field(ge=2, le=100_000)] = 128
    """Most processes and threads."""

    @property
    def memory_bytes(self) -> int:
        """The memory limit in bytes."""
        return int(self.memory[:-1]) << {"k": 10, "m": 20, "g": 30}[self.memory[-1]]

    def relaxed(self) -> list[str]:
        """Name every limit that differs from the default."""
        kept = Contained.model_fields
        names = ("pass_env", "user", "read_only", "tmpfs", "cap_add", "memory", "cpus", "pids")
        return [
            f"{name}: {_written(getattr(self, name))} (default {_written(kept[name].default)})"
            for name in names
            if getattr(self, name) != kept[name].default
        ]

    @model_validator(mode="after")
    def _one_image(self) -> Contained:
        if (self.image is None) == (self.build is None):
            raise ValueError("expected exactly one of 'image' and 'build'")
        if self.memory_bytes < 6 << 20:
            raise ValueError("expected 'memory' of at least 6m")
        return self


class HttpReady(SettingsModel):
    """A service counts as up when this path answers 200 to 299."""

    port: Port
    """Port inside the container."""
    path: Annotated[str, Field(pattern=r"^/")] = "/"
    """The path."""


class ServiceReady(SettingsModel):
    """When a service counts as up; without `tcp` and `http`, as soon as it has started."""

    tcp: Port | None = None
    """It accepts connections at this port."""
    http: HttpReady | None = None
    """It answers at this path."""
    timeout: Seconds = 60
    """Seconds from the start until then."""

    @model_validator(mode="after")
    def _one_probe(self) -> ServiceReady:
        if self.tcp is not None and self.http is not None:
            raise ValueError("expected at most one of 'tcp' and 'http'")
        return self


class Service(Contained):
    """A container that the API needs, such as a vector database. Its name is its host name."""

    ready: ServiceReady = ServiceReady()
    """When it counts as up; the API is started after that."""


class CommandBackend(SettingsModel):
    """Start the API as a child process.

    `{port}`, `{root}`, `{out}` and `{vault.NAME}` stand for the chosen port, the directory of raggate.yml, the run
    directory and the directory of a vault; `{run}` for a name that no other run has; `{service.NAME}` for the address
    at which a service has the same ports as inside its container.
    """

    build: list[list[str]] = []
    """Commands run before the start, in order, as lists of words (no shell)."""
    build_timeout: Seconds = 300
    """Seconds for all build commands together."""
    run: Annotated[list[str], Field(min_length=1)]
    """The command that serves, as a list of words (no shell). It must stay in the foreground."""
    cwd: RelativePath = "."
    """Directory the commands run in."""
    env: dict[str, str] = {}
    """Environment of the commands, beside what `pass_env` lets through."""
    pass_env: list[Annotated[str, AfterValidator(_no_token)]] = ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR"]
    """Names of variables handed on from raggate's own environment; everything else is withheld."""
    services: dict[ServiceName, Service] = {}
    """Containers started before all commands, which reach the ports that the image declares and that of `ready`."""


class ContainerBackend(Contained):
    """Start the API as a hardened container beside raggate.

    In `env` and `command`, `{port}`, `{vault.NAME}` and `{service.NAME}` stand for the port, the path of a vault
    inside the container, and the host name of a service; `{run}`, also for services, for a name that no other run has.
    """

    port: Port
    """Port inside the container. The API must listen on it on all addresses, 0.0.0.0."""
    vault_path: MountPoint = "/vaults"
    """Where the copies of the vaults are mounted, read-only, each in a directory of its name."""
    egress: bool = False
    """Whether API and services reach anything but each other."""
    services: dict[ServiceName, Service] = {}
    """Containers started before the API, on the same network."""

    def relaxed(self) -> list[str]:
        """Name every limit that differs from the default."""
        egress = ["egress: true (the API reaches every network that this machine reaches)"] if self.egress else []
        return super().relaxed() + egress

    @model_validator(mode="after")
    def _sound(self) -> ContainerBackend:
        vaults = PurePosixPath(self.vault_path)
        if any(vaults.is_relative_to(path) or PurePosixPath(path).is_relative_to(vaults) for path in self.tmpfs):
            raise ValueError("expected 'vault_path' outside the directories of 'tmpfs'")
        return self


class Readiness(SettingsModel):
    """When the API counts as up: health answers, and its index is complete or has stopped growing."""

    timeout: Seconds = 60
    """Seconds from the start until the API must be ready."""
    health_path: Annotated[str, Field(pattern=r"^/")] = "/api/health"
    """Path that answers 200 when the API is healthy, and whose `status`, if any, is no word for the contrary."""
    index_path: str | None = "/api/index/status"
    """Path that tells whether indexing goes on; null when the API has none."""
    settle: Seconds = 3
    """Seconds an index that grew, or is not known to be complete, must stay unchanged to be taken as final."""


class Program(SettingsModel):
    """A program that is run for the questions, as the adapter `kebab` does; nothing has to be brought up."""

    run: Annotated[list[Text], Field(min_length=1)] = ["kebab"]
    """The words that start it, in the directory of raggate.yml."""
    config: RelativePath | None = None
    """Its configuration file, handed on with `--config`."""
    bulk: bool = True
    """Ask for retrieval in bulk."""
    env: dict[Variable, Text] = {}
    """Its environment, beside what `pass_env` lets through."""
    pass_env: list[Annotated[str, AfterValidator(_no_token)]] = ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR"]
    """Names of variables it gets from raggate's own environment."""


class Api(SettingsModel):
    """How to bring the API up: exactly one of `command`, `container`, `url` and `program`."""

    command: CommandBackend | None = None
    """Start it as a child process."""
    container: ContainerBackend | None = None
    """Start it as a hardened container."""
    url: HttpUrl | None = None
    """Use one that runs already; raggate neither starts nor stops it."""
    program: Program | None = None
    """Run a program for the questions, in place of an API; for the adapter `kebab` only."""
    ready: Readiness = Readiness()
    """When it counts as up."""

    def containers(self) -> dict[str, Contained]:
        """Give every container that is to be started, by its key."""
        containers: dict[str, Contained] = {} if self.container is None else {"api.container": self.container}
        for name, backend in (("command", self.command), ("container", self.container)):
            for service, settings in (backend.services if backend else {}).items():
                containers[f"api.{name}.services.{service}"] = settings
        return containers

    @model_validator(mode="after")
    def _one_backend(self) -> Api:
        if sum(backend is not None for backend in (self.command, self.container, self.url, self.program)) != 1:
            raise ValueError("expected exactly one of 'command', 'container', 'url' and 'program'")
        return self


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(value)}]"
    return "the image's own" if value is None else str(value)
