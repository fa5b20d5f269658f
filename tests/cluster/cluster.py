"""A real Kubernetes on one node, which `make cluster` builds: what the tests start, ask and stop."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e import image
from e2e.emulator import docker

HERE = Path(__file__).parent
BUILT = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "raggate-k8s"
PAUSE = "raggate-test-pause:1"


@dataclass(frozen=True)
class Cluster:
    """A cluster that is up; commands run in its namespaces."""

    state: Path

    def words(self) -> list[str]:
        """Return the words that begin every command in its namespaces."""
        return ["nsenter", "--target", (self.state / "namespaces.pid").read_text().strip(), "--mount", "--net"]

    def run(self, command: Sequence[str], at: Path, *, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command where `kubectl` is the cluster's."""
        environment = {**os.environ, "KUBECONFIG": str(self.state / "kubeconfig")}
        environment["PATH"] = f"{BUILT / 'bin'}:{environment['PATH']}"
        words = [*self.words(), "env", f"--chdir={at}", *command]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=600)
        assert not check or done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done

    def kubectl(self, *words: str) -> str:
        """Ask the cluster."""
        return self.run(["kubectl", *words], self.state).stdout

    def read(self, *words: str) -> dict[str, Any]:
        """Ask for an object, or a list of them."""
        loaded: dict[str, Any] = json.loads(self.kubectl("get", *words, "--output=json"))
        return loaded

    def apply(self, *objects: dict[str, Any]) -> None:
        """Make objects."""
        file = self.state / "objects.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        self.kubectl("apply", "--filename", str(file))


def missing() -> str:
    """Return what keeps the cluster from being started here; empty if nothing does."""
    try:
        if os.getuid() != 0:
            why = "only root can start it"
        elif not (BUILT / "ready").exists():
            why = f"{HERE / 'build'} did not finish"
        else:
            image.base()
            return ""
    except RuntimeError as error:
        why = f"the base image of its containers cannot be made: {error}"
    return f"KUBERNETES IS NOT STARTED, SO ITS RECIPE IS NOT TRIED HERE: {why}"


@contextmanager
def running(scratch: Path) -> Iterator[Cluster]:
    """Start a cluster that holds raggate's image and that of the example API, and stop it."""
    (scratch / "pause").mkdir()
    shutil.copy(BUILT / "bin" / "pause", scratch / "pause")
    (scratch / "pause" / "Dockerfile").write_text('FROM scratch\nCOPY pause /pause\nENTRYPOINT ["/pause"]\n')
    docker("build", "--quiet", "--tag", PAUSE, str(scratch / "pause"))
    archive = scratch / "images.tar"
    docker("save", "--output", str(archive), PAUSE, image.action(), image.example_api())
    state = scratch / "cluster"
    try:
        done = subprocess.run([HERE / "up", BUILT, state, archive], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        yield Cluster(state)
    finally:
        subprocess.run([HERE / "down", state], check=False)
