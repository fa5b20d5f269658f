"""How an API is brought up: the `api` section of raggate.yml as frozen models, and what every section is."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from operator import lt
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from raggate.base.quote import cut, nearest
from raggate.base.yamlio import one_yaml_line as one_line
from raggate.config.effects import OTHER, SAME, Looser, more
from raggate.config.values import (
    HttpUrl,
    ImageName,
    PassedVariable,
    Port,
    RelativePath,
    Seconds,
    ServiceName,
    Text,
    TokenlessVariable,
    Variable,
    WritablePlace,
)

DEFAULT_USER = "65534:65534"
VAULTS = "/vaults"
"""Where the API's container has copies of the vaults, each in a directory of its name."""
BUILD_SECONDS = 1800
"""For a whole build: of an image, or of all commands of `api.command.build`."""


PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
"""A placeholder, a brace that is meant as one (`{{`, `}}`), or a brace that is a mistake."""
ENVIRONMENT = "env."
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_HEADER_VALUE = re.compile(r"[\x20-\x7e]{0,2000}")
# what raggate or the connection sets, and what would let one request become two
_OWN_HEADERS = frozenset(
    "host connection content-length content-type content-encoding transfer-encoding accept-encoding expect te trailer"
    " upgrade traceparent keep-alive proxy-authorization proxy-connection".split()
)
_MEMORY = re.compile(r"^[1-9][0-9]{0,8}[kmg]$")
UserName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*(:[A-Za-z0-9_][A-Za-z0-9_.-]*)?$")]
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_WITHHELD = re.compile(r"(?:INPUT|ACTIONS|GITHUB|RUNNER|DOCKER)_.*|GH_TOKEN", re.IGNORECASE)


class SettingsModel(BaseModel):
    """A section of the configuration: frozen, without unknown keys."""

    # the check of the whole configuration has those of its sections in it, and is made when it is needed
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


def described(model: type[BaseModel]) -> dict[str, str]:
    """Return what stands below each key of a settings model.

    It is read from the source when it is asked for: pydantic's own way parses every model at every start.
    """
    descriptions: dict[str, str] = {}
    for part in reversed(model.__mro__):
        if issubclass(part, SettingsModel) and part is not SettingsModel:
            for key, text in pairwise(_classes(part.__module__)[part.__name__]):
                if isinstance(key, ast.AnnAssign) and isinstance(key.target, ast.Name) and isinstance(text, ast.Expr):
                    descriptions[key.target.id] = inspect.cleandoc(str(ast.literal_eval(text.value)))
    return descriptions


@lru_cache(maxsize=64)
def _classes(module: str) -> dict[str, list[ast.stmt]]:
    """Return the statements of each class of a module, which is parsed once for all of them."""
    source = ast.parse(inspect.getsource(sys.modules[module]))
    return {part.name: part.body for part in source.body if isinstance(part, ast.ClassDef)}


class Build(SettingsModel):
    """Build the image with the engine's own builder. Its output is in build.log of the run directory."""

    context: RelativePath = "."
    """Directory handed to the engine, relative to raggate.yml; its .dockerignore is respected."""
    dockerfile: RelativePath = "Dockerfile"
    """The Dockerfile, relative to the context."""

    @model_validator(mode="before")
    @classmethod
    def _not_a_directory_alone(cls, section: object) -> object:
        # as other tools write it
        if isinstance(section, str):
            meant = one_line({"context": cut(section, limit=60)}, unescaped=True)
            raise ValueError(f"expected a mapping, as in `build: {meant}`")
        return section


def _in_bytes(memory: str) -> int:
    return int(memory[:-1]) << {"k": 10, "m": 20, "g": 30}[memory[-1]]


def _larger_memory(before: str, now: str) -> bool:
    return _in_bytes(now) > _in_bytes(before)


class Container(SettingsModel):
    """A hardened container: the API's own, or that of a service it needs, such as a vector database.

    In `env` and `command`, `{service.NAME}` stands for the host name of a service, and `{run}` for a name that no other
    run has. The API's own also knows `{port}`, in `{vault.NAME}` the path of a vault inside the container, where its
    copy is read-only, and in `{shim}` that of the file that asks a function of Python.
    """

    image: ImageName | None = None
    """The image. An image on this machine is used as it is; any other is pulled, without credentials."""
    build: Build | None = None
    """Build the image instead, as in `build: {context: .}`."""
    command: list[Text] = []
    """Replaces the image's command, word by word; its entry point stays."""
    env: dict[Variable, Text] = {}
    """Environment variables, added to the image's own and to those of `pass_env`."""
    pass_env: Annotated[list[PassedVariable], Looser(more)] = []
    """Names of variables to pass on from raggate's own environment. Those of the runner, Docker and proxies are
    refused."""
    port: Port | None = None
    """Port inside the container, on which it listens on all addresses, 0.0.0.0. The API's must be named, unless
    `api.stdio` is true. A service is up when it accepts connections at its port, or without one as soon as it has
    started."""
    health_path: Annotated[str | None, Field(pattern=r"^/"), OTHER] = None
    """Of a service: it is up when `GET` of this path at its port answers 2xx. The API has `api.ready.health_path`."""
    user: Annotated[UserName | None, SAME, Looser(lambda before, now: before != now != DEFAULT_USER)] = DEFAULT_USER
    """User and group of the process; null for the image's own."""
    writable: Annotated[list[WritablePlace], SAME, Looser(more)] = ["/tmp"]  # noqa: S108 - inside the container
    """Directories that can be written: in memory, and empty at the start. `/` for the file system of the image."""
    memory: Annotated[str, Field(pattern=_MEMORY.pattern), SAME, Looser(_larger_memory)] = "512m"
    """Memory limit, swap included; beyond it the process is killed."""

    @property
    def memory_bytes(self) -> int:
        """The memory limit in bytes."""
        return _in_bytes(self.memory)

    def relaxed(self) -> list[str]:
        """Name every limit that differs from the default."""
        kept = Container.model_fields
        return [
            f"{name}: {_written(getattr(self, name))} (default {_written(kept[name].default)})"
            for name in ("pass_env", "user", "writable", "memory")
            if getattr(self, name) != kept[name].default
        ]

    @model_validator(mode="after")
    def _sound(self) -> Container:
        if (self.image is None) == (self.build is None):
            raise ValueError("expected exactly one of 'image' and 'build'")
        if self.health_path is not None and self.port is None:
            raise ValueError("expected 'port' beside 'health_path'")
        if self.memory_bytes < 6 << 20:
            raise ValueError("expected 'memory' of at least 6m")
        if any(PurePosixPath(path).is_relative_to(VAULTS) for path in self.writable):
            raise ValueError(f"expected 'writable' outside {VAULTS}, where the copies of the vaults are")
        return self


class CommandBackend(SettingsModel):
    """Start the API as a child process. With the adapter `kebab` it is run for the questions, and needs no `{port}`.

    `{port}`, `{root}`, `{out}` and `{vault.NAME}` stand for the chosen port, the directory of raggate.yml, the run
    directory and the directory of a vault; `{run}` for a name that no other run has; `{service.NAME}` for the address
    at which a service has the same ports as inside its container; `{shim}` for the file that asks a function of Python.
    """

    build: list[list[str]] = []
    """Commands run before the start, in order, as lists of words (no shell)."""
    run: Annotated[list[str], Field(min_length=1)]
    """The command that serves, as a list of words (no shell). It must stay in the foreground."""
    cwd: RelativePath = "."
    """Directory the commands run in."""
    env: dict[str, str] = {}
    """Environment variables of the commands, added to those of `pass_env`."""
    pass_env: Annotated[list[TokenlessVariable], Looser(more)] = ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR"]
    """Names of variables to pass on from raggate's own environment; everything else is withheld."""


class Readiness(SettingsModel):
    """When the API is ready: its health check answers, and its index is complete or has stopped growing."""

    timeout: Seconds = 60
    """Seconds from the start until the API must be ready."""
    health_path: Annotated[str, Field(pattern=r"^/"), OTHER] = "/api/health"
    """Path of the health check. It must answer 200, without a JSON `status` such as `starting` or `error`."""
    settle: Annotated[float, Field(ge=0.05, le=86_400, allow_inf_nan=False)] = 3
    """Seconds an index that grew, or is not known to be complete, must stay unchanged to be taken as final. An index
    that holds all notes, and is the size that the baseline was measured with, is not waited for. Lower it for an API
    that indexes before it answers its health check: to 0.05 at least, as two looks are 0.1 s apart."""


class Api(SettingsModel):
    """How to bring the API up: exactly one of `command`, `container` and `url`."""

    command: Annotated[CommandBackend | None, OTHER] = None
    """Start it as a child process."""
    container: Annotated[Container | None, OTHER] = None
    """Start it as a hardened container beside raggate."""
    services: Annotated[dict[ServiceName, Container], OTHER] = {}
    """Containers started before `command` or `container`, in this order. An API in a container reaches them by their
    names; a command at the addresses `{service.NAME}`, at `port` and the ports that the image declares."""
    egress: Annotated[bool, Looser(lt)] = False
    """Allow a contained API and its services to reach other networks."""
    url: Annotated[HttpUrl | None, OTHER] = None
    """Use an API that is already running; raggate neither starts nor stops it."""
    stdio: Annotated[bool, OTHER] = False
    """Talk over standard input and output, without a port: with the adapter `mcp` to an MCP server, with `mapped` to a
    program that answers in lines of JSON."""
    ready: Readiness = Readiness()
    """When it is ready."""

    def containers(self) -> dict[str, Container]:
        """Return every container that is to be started, by its key."""
        own = {} if self.container is None else {"api.container": self.container}
        return own | {f"api.services.{name}": service for name, service in self.services.items()}

    def relaxed(self) -> list[str]:
        """Name every limit of containers that differs from the default."""
        egress = ["api.egress: true (the API reaches every network that this machine reaches)"] if self.egress else []
        return egress + [f"{key}.{text}" for key, part in self.containers().items() for text in part.relaxed()]

    @model_validator(mode="after")
    def _one_backend(self) -> Api:
        if sum(backend is not None for backend in (self.command, self.container, self.url)) != 1:
            raise ValueError("expected exactly one of 'command', 'container' and 'url'")
        if self.stdio and self.url is not None:
            raise ValueError("stdio: remove it, as an API at 'url' is asked over HTTP")
        if self.container is not None and self.stdio != (self.container.port is None):
            raise ValueError(
                "container: remove 'port', as `stdio: true` asks without one"
                if self.stdio
                else "container: expected 'port', at which the API listens, or `stdio: true` beside 'container'"
            )
        if self.egress and self.container is None:
            raise ValueError("expected 'egress' with 'container' only: raggate keeps no other API from networks")
        if self.services and self.command is None and self.container is None:
            raise ValueError("expected 'services' with 'command' or 'container', which raggate starts")
        return self


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(value)}]"
    return "the image's own" if value is None else str(value)


_SENDABLE = "a variable that is not the runner's, Docker's or raggate's"


def is_sendable(name: str) -> bool:
    """Return whether a name is that of a variable that an API or a judge may get."""
    return _VARIABLE.fullmatch(name) is not None and _WITHHELD.fullmatch(name) is None


def _may_be_sent(name: str) -> str:
    if not is_sendable(name):
        raise ValueError(f"expected {_SENDABLE}")
    return name


SentVariable = Annotated[Variable, AfterValidator(_may_be_sent)]


def names(template: str) -> Iterator[str]:
    """Yield what the placeholders of a text name."""
    for match in PLACEHOLDER.finditer(template):
        if match[0] in {"{", "}"}:
            raise ValueError("expected {{ and }} where braces are meant as such")
        if match[1] is not None:
            yield match[1]


def check_template(template: str, allowed: Collection[str]) -> None:
    """Refuse placeholders that are not among the allowed ones."""
    for name in names(template):
        if name not in allowed:
            placeholders = ", ".join(f"{{{placeholder}}}" for placeholder in allowed)
            like = nearest(name, allowed)
            meant = f". Did you mean {{{like}}}?" if like else ""
            raise ValueError(f"expected placeholders among {placeholders or 'none'}, found {{{name}}}{meant}")


def check_headers(headers: Mapping[str, str], asked: Collection[str], key: str) -> None:
    """Refuse headers that raggate sets itself, that no request can have, or that name what they may not.

    `asked` holds the placeholders of what is asked that values may use, beside `{env.NAME}`.
    """
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or name.lower() in _OWN_HEADERS:
            raise ValueError(f"{key}: expected the name of a header that raggate does not set, found {name!r}")
        if not _HEADER_VALUE.fullmatch(value):
            raise ValueError(f"{key}: {name}: expected printable ASCII characters")
        sent = variables_in([value])
        if refused := next((variable for variable in sent if not is_sendable(variable)), None):
            raise ValueError(f"{key}: {name}: expected {_SENDABLE}, found {refused!r}")
        check_template(value, (*asked, *(f"{ENVIRONMENT}{variable}" for variable in sent)))
    if len({name.lower() for name in headers}) < len(headers):
        raise ValueError(f"{key}: expected each name once, whatever its case")


def variables_in(texts: Iterable[str]) -> list[str]:
    """Return the variables of raggate's own environment that texts name as `{env.NAME}`."""
    placeholders = (name for text in texts for name in names(text))
    return [name.removeprefix(ENVIRONMENT) for name in placeholders if name.startswith(ENVIRONMENT)]


def passes_more(before: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Return whether headers send more variables of raggate's own environment than before."""
    return more(variables_in(before.values()), variables_in(now.values()))
