"""Settings of a container -> the hardened profile that it is created with; and it started, log and end watched."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Mapping
from typing import Any

from raggate.config.service_settings import Contained
from raggate.errors import CannotTell
from raggate.models.service import ProcessExit
from raggate.service import signals
from raggate.service.backends.engine import Client, connected, engine_errors, reason
from raggate.service.backends.images import declared_volumes
from raggate.service.backends.networking import IMPATIENT, NO_RESOLVER
from raggate.service.backends.processes import Log
from raggate.text.quote import cut

_DRAIN = 0.5
_HEALTH_SECONDS = 0.5
_LAYER = "rw,noexec,nosuid,nodev,mode=1777"


def hardened(client: Client, settings: Contained, image: str, *, internal: bool) -> dict[str, Any]:
    """Return what the host is told of a container, but for its network, ports and volumes.

    Args:
        internal: whether its network leads nowhere else.
    """
    import docker

    writable = list(settings.tmpfs)
    if settings.read_only:
        # an image may declare volumes, which would be writable and as large as the disk
        writable += [path for path in declared_volumes(client, image) if path not in writable]
    return {
        "cap_drop": ["ALL"],
        "cap_add": list(settings.cap_add) or None,
        "security_opt": ["no-new-privileges:true"],
        "read_only": settings.read_only,
        "tmpfs": dict.fromkeys(writable, _LAYER),
        "pids_limit": settings.pids,
        "mem_limit": settings.memory_bytes,
        "memswap_limit": settings.memory_bytes,
        "nano_cpus": int(settings.cpus * 1e9),
        "oom_score_adj": 500,
        "init": True,
        "ipc_mode": "private",
        "ulimits": [docker.types.Ulimit(name="core", soft=0, hard=0)],
        "dns": list(NO_RESOLVER) if internal else None,
        "dns_opt": list(IMPATIENT) if internal else None,
        "log_config": docker.types.LogConfig(type="json-file", config={"max-size": "16m", "max-file": "2"}),
        "restart_policy": {"Name": "no"},
    }


class Running:
    """A container that was started, its log, and how it ended.

    Two threads with connections of their own wait for output and for the end; a third looks at the image's health
    check where there is one. They end with the container.

    Args:
        client: the engine.
        container: id of the created container.
        name: what messages call it.
        settings: its settings.
        log: takes its output.
        environment: raggate's own, which leads to the engine.

    Raises:
        CannotTell: when the engine cannot start it.
    """

    def __init__(
        self,
        client: Client,
        container: str,
        *,
        name: str,
        settings: Contained,
        log: Log,
        environment: Mapping[str, str],
    ) -> None:
        self.id = container
        self.log = log
        self._settings = settings
        self._environment = environment
        self._ended: ProcessExit | None = None
        self._drained = False
        try:
            with signals.deferred():
                client.start(container)
        except engine_errors() as error:
            raise CannotTell(
                f"the container {name!r} could not be started: {reason(error)}",
                hint="The image must have a command that serves and that the user of the container may execute.",
            ) from None
        self._reader = threading.Thread(target=self._follow, name=f"log of {name}", daemon=True)
        self._reader.start()
        threading.Thread(target=self._wait, name=f"end of {name}", daemon=True).start()
        if _has_health_check(client, container):
            threading.Thread(target=self._look_at_health, name=f"health of {name}", daemon=True).start()

    def ended(self) -> ProcessExit | None:
        """Return how it ended, or None while it runs. Once it has ended, its last output is in the log."""
        if self._ended is not None and not self._drained:
            self._drained = True
            self._reader.join(_DRAIN)
        return self._ended

    def _follow(self) -> None:
        try:
            with connected(self._environment) as client:
                for piece in client.logs(self.id, stdout=True, stderr=True, stream=True, follow=True):
                    self.log.feed(piece)
        except engine_errors(CannotTell) as error:
            self.log.feed(f"[the log ends here: {cut(error)}]\n".encode(errors="replace"))
        self.log.end_line()

    def _wait(self) -> None:
        try:
            with connected(self._environment) as client:
                client.wait(self.id, timeout=None)
                self._ended = self._how(client.inspect_container(self.id)["State"])
        except CannotTell as error:
            self._ended = ProcessExit(message=f"was lost: {error.message}")
        except engine_errors() as error:
            message = f"was lost, the Docker engine does not answer any more: {reason(error)}"
            self._ended = ProcessExit(message=message)

    def _how(self, state: dict[str, Any]) -> ProcessExit:
        code = int(state.get("ExitCode") or 0)
        if state.get("OOMKilled"):
            message = f"was killed for using more than {self._settings.memory} of memory (OOM)"
            return ProcessExit(message=message, out_of_memory=True)
        if code == 128 + signal.SIGKILL:
            return ProcessExit(message="was killed by SIGKILL", signal="SIGKILL")
        try:
            name = f" ({signal.Signals(code - 128).name})"
        except ValueError:
            name = ""
        return ProcessExit(message=f"exited with code {code}{name}", code=code)

    def _look_at_health(self) -> None:
        try:
            with connected(self._environment) as client:
                while self._ended is None:
                    health = client.inspect_container(self.id)["State"].get("Health") or {}
                    if health.get("Status") == "unhealthy":
                        last = (health.get("Log") or [{}])[-1]
                        output = cut(last.get("Output") or "", limit=200)
                        message = f"was found unhealthy by its image's health check ({output})"
                        self._ended = ProcessExit(message=message)
                    time.sleep(_HEALTH_SECONDS)
        except engine_errors(CannotTell):
            return  # what waits for the end says so


def _has_health_check(client: Client, container: str) -> bool:
    try:
        return bool(client.inspect_container(container)["State"].get("Health"))
    except engine_errors():
        return False
