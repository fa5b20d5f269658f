"""A real engine: APIs in containers, what they can and cannot do there, and that nothing is ever left behind."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from e2e.engine import HOSTILE, NOTES_API, ROOT, build_program, compile_program, connect, leftovers, remove_leftovers
from project import ended
from raggate.base.errors import CannotTell, UsageError
from raggate.base.http_client import httpx
from raggate.config.ask_settings import Ask
from raggate.config.service_settings import Api, Readiness
from raggate.models.service import Workspace
from raggate.service import boot
from raggate.service.adapters.ask import AskAdapter
from raggate.service.backends import command, container, images
from raggate.service.boot import Expected

pytestmark = [pytest.mark.docker, pytest.mark.go, pytest.mark.timeout(120)]

NOTES_ENV = {
    "API_HOST": "0.0.0.0",
    "API_PORT": "{port}",
    "VAULT_PERSONAL_PATH": "{vault.personal}",
    "VAULT_WORK_PATH": "{vault.work}",
}
SECRETS = {
    "INPUT_GITHUB-TOKEN": "ghs_secret1",
    "ACTIONS_RUNTIME_TOKEN": "ghs_secret2",
    "GITHUB_TOKEN": "ghs_secret3",
    "HTTPS_PROXY": "http://user:secret4@proxy.invalid",
    "AWS_SECRET_ACCESS_KEY": "secret5",
}
CONFIG = {
    "suite": "notes",
    "golden": "golden/eval_set.jsonl",
    "ask": {"k": 5},
    "vault": {"personal": "golden/vault/personal", "work": "golden/vault/work"},
}


@pytest.fixture(scope="session")
def engine() -> Iterator[Any]:
    client = connect()
    yield client
    client.close()


@pytest.fixture(scope="session")
def built(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Yield the images: the example API and the hostile one."""
    tag = f"raggate-test-{uuid.uuid4().hex[:8]}"
    made = {
        "notes": build_program(engine, NOTES_API, tmp_path_factory.mktemp("notes"), f"{tag}:notes"),
        "hostile": build_program(engine, HOSTILE, tmp_path_factory.mktemp("hostile"), f"{tag}:hostile"),
        "volume": build_program(engine, HOSTILE, tmp_path_factory.mktemp("volume"), f"{tag}:volume", "VOLUME /data"),
    }
    yield made
    for name in made.values():
        engine.images.remove(name, force=True)


@pytest.fixture
def run(engine: Any) -> Iterator[str]:
    """Yield the id of a run, and fail the test when anything of it is left."""
    run = f"test-{uuid.uuid4().hex}"
    yield run
    left = leftovers(engine, run)
    remove_leftovers(engine, run)
    assert left == []


@pytest.fixture
def place(tmp_path: Path, run: str) -> Workspace:
    """Return two vaults with three notes, an empty run directory, and an environment full of secrets."""
    vaults = {"personal": tmp_path / "vault" / "personal", "work": tmp_path / "vault" / "work"}
    for directory in vaults.values():
        directory.mkdir(parents=True)
    (vaults["personal"] / "Packing.md").write_text("# Packing\n\nTake a towel.\n")
    (vaults["work"] / "Failover.md").write_text("# Failover\n\nPromote the replica.\n")
    (vaults["work"] / "Oncall.md").write_text("# Oncall\n\nThe pager rotates on Mondays.\n")
    (tmp_path / "out").mkdir()
    environment = {**os.environ, **SECRETS, "GITHUB_RUN_ID": run, "GITHUB_JOB": "gate"}
    return Workspace(root=tmp_path, out=tmp_path / "out", vaults=vaults, environment=environment)


@pytest.fixture
def settings(built: dict[str, str]) -> Callable[..., Api]:

    def make(image: str = "hostile", *, api: dict[str, object] | None = None, **more: object) -> Api:
        return Api.model_validate({**(api or {}), "container": {"image": built[image], "port": 9000, **more}})

    return make


@pytest.fixture
def neighbour() -> Iterator[str]:
    """Yield the address of a listener on what is another machine to the engine: a network namespace of its own."""
    name = f"rg{uuid.uuid4().hex[:8]}"
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root and iproute2")

    def ip(*words: str) -> int:
        return subprocess.run(["ip", *words], check=False, capture_output=True).returncode

    serve = "import socket; s = socket.create_server(('0.0.0.0', 8080)); print(flush=True)\nwhile True: s.accept()"
    listener = None
    try:
        if ip("netns", "add", name) or ip("link", "add", name, "type", "veth", "peer", "eth0", "netns", name):
            pytest.skip("network namespaces cannot be made here")
        ip("addr", "add", "198.51.100.1/30", "dev", name)
        ip("link", "set", name, "up")
        ip("-n", name, "addr", "add", "198.51.100.2/30", "dev", "eth0")
        ip("-n", name, "link", "set", "eth0", "up")
        listener = subprocess.Popen(
            ["ip", "netns", "exec", name, sys.executable, "-c", serve], stdout=subprocess.PIPE, text=True
        )
        assert listener.stdout
        listener.stdout.readline()
        yield "198.51.100.2:8080"
    finally:
        if listener is not None:
            listener.kill()
            listener.communicate()
        ip("link", "del", name)
        ip("netns", "del", name)


def listening(base_url: str, path: str = "/report", /, **parameters: str) -> httpx.Response:
    """Ask a path as soon as somebody listens."""
    end = time.monotonic() + 10
    while True:
        try:
            return httpx.get(f"{base_url}{path}", params=parameters, timeout=30, trust_env=False)
        except httpx.ConnectError:
            assert time.monotonic() < end
            time.sleep(0.02)


def inspected(engine: Any, run: str, suffix: str = "-api") -> dict[str, Any]:
    """Inspect the container of a run whose name ends so."""
    (found,) = [
        one
        for one in engine.containers.list(all=True, filters={"label": f"raggate.run={run}"})
        if one.name.endswith(suffix)
    ]
    attributes: dict[str, Any] = found.attrs
    return attributes


def failure(settings: Api, place: Workspace, *, timeout: float = 10) -> CannotTell:
    """Boot what does not come up and give the error."""
    api = settings.model_copy(update={"ready": Readiness(timeout=timeout, settle=0.3)})
    adapter = AskAdapter(Ask(), list(place.vaults))
    with (
        pytest.raises(CannotTell) as caught,
        boot.up(api, place, index_state=adapter.index_state, expected=Expected(documents=3)),
    ):
        pass
    return caught.value


def death(api: Any) -> str:
    """Wait until an API is gone, and say why."""
    end = time.monotonic() + 3
    while api.died() is None and time.monotonic() < end:
        time.sleep(0.01)
    return str(api.died().message)


class Gate:
    """raggate as a process of its own, in a repository with a configuration made for the test."""

    def __init__(self, root: Path, run: str) -> None:
        self.root = root
        self.environment = {**os.environ, **SECRETS, "GITHUB_RUN_ID": run}
        for name in ("golden", "baselines"):
            (root / name).symlink_to(ROOT / name)

    def start(self, api: dict[str, Any], **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "raggate", *self._words(api)],
            cwd=self.root,
            env={**self.environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def check(self, api: dict[str, Any], *, out: Path | None = None, **environment: str) -> tuple[int, str, str]:
        """Run `raggate check` to its end; give code, stdout and stderr."""
        done = ended(*self._words(api, out), at=self.root, environment={**self.environment, **environment}, seconds=100)
        return done.code, done.out, done.err

    def _words(self, api: dict[str, Any], out: Path | None = None) -> list[str]:
        """Write a configuration and give the words of the command line that check by it."""
        name = f"{uuid.uuid4().hex}.yml"
        (self.root / name).write_text(yaml.safe_dump({**CONFIG, "api": api}))
        return ["check", "-c", name, "--out", str(out or self.root / name[:-4])]

    def verdicts(self) -> list[dict[str, Any]]:
        return [json.loads(path.read_text()) for path in self.root.glob("*/*/verdict.json")]


@pytest.fixture
def gate(tmp_path: Path, run: str) -> Gate:
    """Return a repository with the golden set and the vault of this one."""
    return Gate(tmp_path, run)


def notes(built: dict[str, str], **more: object) -> dict[str, Any]:
    """Configure the example API in a container."""
    return {"container": {"image": built["notes"], "port": 9000, "env": NOTES_ENV, **more}}


class TestGate:
    """The whole way, from raggate.yml to the verdict."""

    def test_passes_like_a_process(self, gate: Gate, built: dict[str, str]) -> None:
        """The example API in a container is measured as it is as a process: pass, every metric the same."""
        code, out, err = gate.check(notes(built))
        assert code == 0, out + err
        assert "203 calls, 0 failed, 0 retried" in out
        assert "relaxed" not in err
        assert {row["status"] for row in gate.verdicts()[0]["metrics"] if row["slice"] == "overall"} == {"same"}
        (stored,) = gate.root.glob("*/*/config.json")
        assert "sha256:" in json.loads(stored.read_text())["config"]["api_image"]

    def test_memory_is_named_in_the_verdict(self, gate: Gate, built: dict[str, str]) -> None:
        """An API that eats memory is killed, and limit and reason stand in the verdict."""
        api = {"container": {"image": built["hostile"], "port": 9000, "command": ["eat"], "memory": "64m"}}
        code, _, err = gate.check(api)
        assert code == 3
        assert "was killed for using more than 64m of memory (OOM)" in err
        assert "64m of memory (OOM)" in json.dumps(gate.verdicts())

    def test_runner_commands_are_inert(self, gate: Gate, built: dict[str, str]) -> None:
        """What an API prints never begins a line as a runner command, nor holds the older form of one."""
        code, out, err = gate.check({"container": {"image": built["hostile"], "port": 9000, "command": ["shout"]}})
        assert code == 3
        assert "exited with code 4 before it was ready" in err
        lines = re.split(r"[\r\n]", out + err)
        assert sum("pwned" in line for line in lines) >= 3
        assert not [line for line in lines if line.strip().startswith("::") or "##[" in line or "\x1b" in line]

    def test_nobody_at_the_socket(self, gate: Gate, built: dict[str, str], tmp_path: Path) -> None:
        """A socket that nobody answers at is told apart from none."""
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(tmp_path / "s"))
        code, _, err = gate.check(notes(built), DOCKER_HOST=f"unix://{tmp_path}/s")
        assert code == 3
        assert "does not answer: connection refused" in err


class TestProfile:
    """What an API finds when it looks around."""

    def test_as_inspected(self, engine: Any, settings: Any, place: Workspace, run: str) -> None:
        """The engine says what was promised: no privilege, no capability, no host path, bounded resources."""
        with container.start(settings(), place):
            state = inspected(engine, run)
            network = engine.networks.list(filters={"label": f"raggate.run={run}"})[0].attrs
        host, config = state["HostConfig"], state["Config"]
        assert host["CapDrop"] == ["ALL"]
        assert not host["CapAdd"]
        assert host["SecurityOpt"] == ["no-new-privileges:true"]
        assert host["ReadonlyRootfs"] is True
        assert host["Privileged"] is False
        assert (host["Binds"], host["Devices"], host["PortBindings"]) == (None, None, {}) or not host["Binds"]
        assert {mount["Type"] for mount in state["Mounts"]} == {"volume"}
        assert {mount["RW"] for mount in state["Mounts"]} == {False}
        assert list(host["Tmpfs"]) == ["/tmp"]
        assert host["PidsLimit"] == 1024
        assert host["Memory"] == host["MemorySwap"] == 512 << 20
        assert (host["PidMode"], host["IpcMode"], host["UTSMode"]) == ("", "private", "")
        assert host["LogConfig"] == {"Type": "json-file", "Config": {"max-file": "2", "max-size": "16m"}}
        assert host["RestartPolicy"]["Name"] in {"", "no"}
        assert config["User"] == "65534:65534"
        assert network["Internal"] is True
        assert config["Labels"]["raggate.job"] == "gate"
        assert (config["Labels"]["raggate.attempt"], config["Labels"]["raggate.run"]) == ("1", run)

    def test_as_seen_from_inside(self, settings: Any, place: Workspace) -> None:
        """The API has no capability, no secret, no socket and no file it may change but those in /tmp."""
        own = settings(env={"MINE": "{port} {vault.work}"})
        with container.start(own, place) as api:
            found = listening(api.base_url).json()
        assert re.search(r"CapEff:\s+0{16}\n", found["status"])
        assert re.search(r"CapBnd:\s+0{16}\n", found["status"])
        assert re.search(r"NoNewPrivs:\s+1\n", found["status"])
        assert re.search(r"Uid:\s+65534\s+65534", found["status"])
        everything = json.dumps(found)
        assert not [secret for secret in SECRETS.values() if secret in everything]
        names = {variable.partition("=")[0] for variable in found["environment"]}
        assert names == {"PATH", "HOSTNAME", "HOME", "MINE"}
        assert "MINE=9000 /vaults/work" in found["environment"]
        assert len(found["processes"]) <= 2, "it sees processes of others"
        assert found["socket"] == "stat /var/run/docker.sock: no such file or directory"
        assert "read-only file system" in found["write_root"]
        assert "read-only file system" in found["write_vault"]
        assert found["write_tmp"] == "done"
        assert found["write_proc"] != "done"
        assert {found[name] for name in ("chown", "mount", "setuid")} <= {
            "operation not permitted",
            "chown /tmp/mine: operation not permitted",
        }

    def test_no_network(self, settings: Any, place: Workspace) -> None:
        """The API reaches neither an address outside nor a resolver, and a look-up fails by itself at once."""
        with container.start(settings(), place) as api:
            assert listening(api.base_url, "/resolve").text != "done"
            assert listening(api.base_url, "/lookup").text.startswith("true ")
            for address in ("1.1.1.1:443", "169.254.169.254:80"):
                assert listening(api.base_url, "/reach", address=address).text != "done"

    def test_only_egress_leads_out(self, settings: Any, place: Workspace, neighbour: str) -> None:
        """Another machine is reached with `egress`, which is said, and by the same API not without."""
        reached, said = {}, list[str]()
        for egress in (True, False):
            with container.start(settings(api={"egress": egress}), replace(place, say=said.append)) as api:
                reached[egress] = listening(api.base_url, "/reach", address=neighbour).text
        assert reached[True] == "done"
        assert "timeout" in reached[False] or "unreachable" in reached[False]
        assert any("egress: true" in line for line in said)

    def test_fork_bomb(self, settings: Any, place: Workspace) -> None:
        """A fork bomb gets no further than the limit."""
        with container.start(settings(), place) as api:
            said = listening(api.base_url, "/bomb").text
        count = re.search(r"(\d+) resource temporarily unavailable", said)
        assert (count and int(count[1]) < 1024) or "failed to create new OS thread" in said

    def test_relaxations_work(self, engine: Any, settings: Any, place: Workspace, run: str) -> None:
        """Each relaxed limit is what the container gets."""
        more = {"user": "0:0", "writable": ["/scratch"], "memory": "64m"}
        with container.start(settings(**more), place) as api:
            host = inspected(engine, run)["HostConfig"]
            found = listening(api.base_url).json()
        assert (host["Memory"], list(host["Tmpfs"])) == (64 << 20, ["/scratch"])
        assert re.search(r"CapEff:\s+0{16}\n", found["status"])
        assert "read-only file system" in found["write_vault"]
        with container.start(settings(user="0:0", writable=["/"]), place) as api:
            assert listening(api.base_url).json()["write_root"] == "done"

    def test_volumes_of_the_image_stay_in_memory(self, settings: Any, place: Workspace) -> None:
        """A volume that the image declares is no way to the disk."""
        with container.start(settings("volume"), place) as api:
            mounts = listening(api.base_url).json()["mounts"].split("\n")
            assert ["- tmpfs tmpfs" in line for line in mounts if " /data " in line] == [True]


class TestVaults:
    """The copies of the vaults."""

    def test_many_files(self, settings: Any, place: Workspace) -> None:
        """Ten thousand notes are copied within seconds."""
        for number in range(100):
            folder = place.vaults["work"] / f"folder {number}"
            folder.mkdir()
            for note in range(100):
                (folder / f"note {note}.md").write_text(f"{number} {note}")
        begun = time.monotonic()
        with container.start(settings(), place) as api:
            assert time.monotonic() - begun < 15
            found = listening(api.base_url, "/files", path="/vaults/work").json()
        assert len(found) == 1 + 2 + 100 + 10_000
        assert found["folder 99/note 42.md"] == "99 42"


class TestReadiness:
    """APIs that do not come up, and ones that go down."""

    def test_exit(self, settings: Any, place: Workspace) -> None:
        """An API that exits ends the wait within two seconds, with code and last words."""
        begun = time.monotonic()
        error = failure(settings(command=["exit"]), place, timeout=60)
        assert error.message == "the API exited with code 3 before it was ready"
        assert error.log[-1] == "fatal: no settings"
        assert time.monotonic() - begun < 5, "start, notice within 2 s, and teardown"

    def test_never_listening(self, settings: Any, place: Workspace) -> None:
        """An API that never listens is not ready in time, and told to listen on all addresses."""
        error = failure(settings(command=["never"]), place, timeout=1)
        assert "it is not listening" in error.message
        assert "port 9000 of 0.0.0.0" in error.hint

    def test_no_such_program(self, settings: Any, place: Workspace, built: dict[str, str], engine: Any) -> None:
        """An image whose program cannot be executed says so."""
        (place.root / "Dockerfile").write_text('FROM scratch\nCOPY Dockerfile /\nCMD ["/none"]\n')
        made = Api.model_validate({"container": {"build": {}, "port": 9000}})
        error = failure(made, place)
        assert "the container 'api' could not be started" in error.message or "exited with code 127" in error.message

    def test_killed_from_outside(self, engine: Any, settings: Any, place: Workspace, run: str) -> None:
        """An API that is killed while it serves is noticed at once."""
        with container.start(settings(), place) as api:
            listening(api.base_url)
            assert api.died() is None
            engine.containers.get(inspected(engine, run)["Id"]).kill()
            assert death(api) == "was killed by SIGKILL"

    def test_a_deaf_api_is_stopped(self, settings: Any, place: Workspace) -> None:
        """An API that ignores SIGTERM is gone three seconds after the end."""
        with container.start(settings(command=["deaf"]), place) as api:
            listening(api.base_url, "/api/health")
            begun = time.monotonic()
        assert time.monotonic() - begun < 3
        assert "deaf" in (place.out / "api.log").read_text()


class TestServices:
    """Containers that the API needs."""

    def test_by_name(self, settings: Any, place: Workspace, built: dict[str, str]) -> None:
        """A service is up before the API, which reaches it by its name; both logs are kept."""
        service = {
            "image": built["notes"],
            "env": {"API_HOST": "0.0.0.0", "VAULT_PERSONAL_PATH": "/", "VAULT_WORK_PATH": "/"},
            "port": 9000,
        }
        second = {"image": built["hostile"], "port": 9000}
        api = {"services": {"notes": service, "second": second}}
        made = settings(env={"STORE": "http://{service.notes}:9000"}, api=api)
        with container.start(made, place) as api:
            found = listening(api.base_url).json()
            assert "STORE=http://notes:9000" in found["environment"]
            assert listening(api.base_url, "/reach", address="notes:9000").text == "done"
            assert listening(api.base_url, "/reach", address="second:9000").text == "done"
        assert "listening" in (place.out / "notes.log").read_text()

    @pytest.mark.parametrize(
        ("does", "message", "log"),
        [
            ("exit", "the service 'store' exited with code 3 before it was ready", ("fatal: no settings",)),
            ("never", "not ready after 1 s: no connection", ()),
        ],
    )
    def test_that_is_never_ready(
        self, settings: Any, place: Workspace, built: dict[str, str], does: str, message: str, log: tuple[str, ...]
    ) -> None:
        """A service that ends, or is not ready in time, is named with the reason, and the API is never started."""
        services = {"store": {"image": built["hostile"], "command": [does], "port": 9000}}
        with pytest.raises(CannotTell, match=message) as caught:
            container.start(settings(api={"services": services, "ready": {"timeout": 1}}), place).__enter__()
        assert caught.value.log == log

    def test_that_dies_later(
        self, engine: Any, settings: Any, place: Workspace, built: dict[str, str], run: str
    ) -> None:
        """A service that dies while the API runs is the reason that is given."""
        services = {"store": {"image": built["hostile"], "port": 9000}}
        with container.start(settings(api={"services": services}), place) as api:
            listening(api.base_url)
            engine.containers.get(inspected(engine, run, "-store")["Id"]).kill()
            assert death(api) == "lost its service store, which was killed by SIGKILL"


FORWARD = """
import http.server, os, urllib.request
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with urllib.request.urlopen(os.environ["STORE"] + self.path, timeout=20) as answer:
            body = answer.read()
        self.send_response(200); self.end_headers(); self.wfile.write(body)
http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""


class TestServicesOfACommand:
    """Containers that an API needs that runs as a process of this machine, and hands on what it is asked."""

    @pytest.fixture
    def forward(self, built: dict[str, str]) -> Callable[..., Api]:
        """Return a function that makes settings of the API and its store."""

        def make(*, ready: float = 60, **more: object) -> Api:
            store = {"image": built["hostile"], "port": 9000, "env": {"RUN": "{run}"}, **more}
            return Api.model_validate(
                {
                    "command": {
                        "run": [sys.executable, "-c", FORWARD],
                        "env": {"PORT": "{port}", "STORE": "http://{service.store}:9000"},
                    },
                    "services": {"store": store, "second": {"image": built["hostile"], "port": 9000}},
                    "ready": {"timeout": ready},
                }
            )

        return make

    def test_reached_from_the_process(self, engine: Any, forward: Any, place: Workspace, run: str) -> None:
        """The API reaches its service, which is hardened as ever, at this machine alone, and both go together."""
        with command.start(forward(), place) as api:
            found = listening(api.base_url).json()
            states = [inspected(engine, run, suffix)["HostConfig"] for suffix in ("-store", "-second")]
            assert api.died() is None
        assert f"RUN={place.run}" in found["environment"]
        assert re.search(r"CapEff:\s+0{16}\n", found["status"])
        assert not [secret for secret in SECRETS.values() if secret in json.dumps(found)]
        published = [state["PortBindings"]["9000/tcp"] for state in states]
        assert {len(ports) for ports in published} == {1}
        assert {ports[0]["HostPort"] for ports in published} == {"9000"}
        assert len({ports[0]["HostIp"] for ports in published}) == 2
        assert all(ports[0]["HostIp"].startswith("127.") for ports in published)
        assert all(state["ReadonlyRootfs"] and state["CapDrop"] == ["ALL"] for state in states)
        assert (place.out / "store.log").exists()

    def test_services_reach_each_other_alone(self, forward: Any, place: Workspace, neighbour: str) -> None:
        """A service reaches another by its name; no other machine answers it, and no other name is known."""
        with command.start(forward(), place) as api:
            assert listening(api.base_url, "/reach", address="second:9000").text == "done"
            assert listening(api.base_url, "/reach", address=neighbour).text != "done"
            assert listening(api.base_url, "/resolve").text != "done"

    def test_after_a_signal(self, engine: Any, gate: Gate, forward: Any, run: str) -> None:
        """A signal leaves nothing."""
        api = forward().model_dump(mode="json", exclude_unset=True)
        api["command"]["env"]["STORE"] = "http://{service.store}:1"  # never healthy
        process = gate.start(api)
        wait_for_container(engine, run, "-second")
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30)
        assert process.returncode == 130, err
        assert leftovers(engine, run) == []


class TestImages:
    """Images that are built, pulled or missing."""

    def test_build(self, place: Workspace) -> None:
        """An image is built from the repository, with its output in build.log, and runs."""
        context = place.root / "app"
        context.mkdir()
        compile_program(HOSTILE, context / "program")
        (context / "Dockerfile").write_text('FROM scratch\nCOPY program /p\nENTRYPOINT ["/p"]\n')
        made = Api.model_validate({"container": {"build": {"context": "app"}, "port": 9000}})
        known: list[str] = []
        with container.start(made, replace(place, identified=known.append)) as api:
            assert listening(api.base_url).json()["write_tmp"] == "done"
        assert re.fullmatch("sha256:[0-9a-f]{64}", "".join(known))
        assert "COPY program /p" in (place.out / "build.log").read_text()

    def test_failing_build(self, place: Workspace) -> None:
        """A build that fails is shown with its last lines."""
        (place.root / "Dockerfile").write_text("FROM scratch\nCOPY missing /\n")
        made = Api.model_validate({"container": {"build": {}, "port": 9000}})
        with pytest.raises(CannotTell, match=r"api.container.build: the image could not be built") as caught:
            container.start(made, place).__enter__()
        assert "missing" in caught.value.log[-1]

    @pytest.mark.parametrize(
        ("build", "message"),
        [
            ({"context": "none"}, "not a directory of the repository"),
            ({"context": "away"}, "not a directory of the repository"),
            ({"dockerfile": "No"}, "there is no 'No'"),
        ],
    )
    def test_nothing_to_build(self, place: Workspace, build: dict[str, str], message: str) -> None:
        """A context or Dockerfile that is not there, or leads out of the repository, is a usage error."""
        (place.root / "away").symlink_to("/")
        made = Api.model_validate({"container": {"build": build, "port": 9000}})
        with pytest.raises(UsageError, match=message):
            container.start(made, place).__enter__()

    def test_registry_that_does_not_answer(self, place: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
        """A registry that does not answer is tried three times."""
        pauses: list[int] = []
        monkeypatch.setattr(images, "_pause", pauses.append)
        made = Api.model_validate({"container": {"image": "localhost:1/none:1", "port": 9000}})
        with pytest.raises(CannotTell, match="could not be pulled in 3 attempts because the registry does not answer"):
            container.start(made, place).__enter__()
        assert pauses == [1, 2]


RELAY = """
import asyncio, sys
async def copy(reader, writer):
    while data := await reader.read(1 << 16):
        writer.write(data)
    writer.write_eof()
async def serve(reader, writer):
    far_reader, far_writer = await asyncio.open_unix_connection(sys.argv[2])
    await asyncio.gather(copy(reader, far_writer), copy(far_reader, writer))
    writer.close()
async def main():
    server = await asyncio.start_unix_server(serve, sys.argv[1])
    print(flush=True)
    await server.serve_forever()
asyncio.run(main())
"""


@contextlib.contextmanager
def relayed(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Serve the engine's socket at another place, by a process that can be killed."""
    own = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
    with subprocess.Popen([sys.executable, "-c", RELAY, str(path), own], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        yield process
        process.kill()


class TestLostEngine:
    """An engine that goes away while an API runs."""

    # the library leaves the socket to the garbage collector with which it could not connect
    @pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
    @pytest.mark.parametrize("quietly", [False, True])
    def test_it_is_said_and_nothing_hangs(
        self, engine: Any, settings: Any, place: Workspace, run: str, tmp_path: Path, *, quietly: bool
    ) -> None:
        """The loss is a death with its reason, what cannot be removed is said, and neither takes long."""
        path, said = tmp_path / "relay.sock", list[str]()
        own = replace(place, environment={**place.environment, "DOCKER_HOST": f"unix://{path}"}, say=said.append)
        with relayed(path) as relay, socket.socket(socket.AF_UNIX) as silent, container.start(settings(), own) as api:
            listening(api.base_url)
            relay.kill()
            if quietly:
                # connections are taken, and nobody answers
                path.unlink()
                silent.bind(str(path))
                silent.listen()
            assert "was lost" in death(api)
            begun = time.monotonic()
        assert time.monotonic() - begun < 6
        assert "could not clean up" in said[-1]
        assert leftovers(engine, run)
        remove_leftovers(engine, run)
        gc.collect()


class TestInterrupts:
    """Signals at any moment."""

    @pytest.mark.timeout(150)
    def test_at_any_moment(self, engine: Any, gate: Gate, built: dict[str, str], run: str) -> None:
        """A signal at 24 random moments, or two, end raggate within seven seconds, by the verdict if there is one."""
        chance = random.Random(11)  # noqa: S311 - only moments
        deaf = {"container": {"image": built["hostile"], "port": 9000, "command": ["deaf"]}}
        plans = [
            (chance.uniform(0.2, 4.0), chance.choice([signal.SIGINT, signal.SIGTERM]), own)
            for own in [deaf] * 16 + [notes(built)] * 8
        ]

        def interrupt(plan: tuple[float, signal.Signals, dict[str, Any]]) -> tuple[int, float, str, list[int]]:
            delay, number, api = plan
            process = gate.start(api)
            out = Path(process.args[-1]).name  # type: ignore[index]
            time.sleep(delay)
            begun = time.monotonic()
            was_over = process.poll() is not None
            process.send_signal(number)
            if api is deaf:
                # a second one does not end the cleaning up
                time.sleep(0.2)
                process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=60)
            seconds = time.monotonic() - begun
            written = [json.loads(path.read_text())["exit_code"] for path in gate.root.glob(f"{out}/*/verdict.json")]
            return (130 if was_over else process.returncode), seconds, err, written

        with ThreadPoolExecutor(max_workers=3) as pool:
            outcomes = list(pool.map(interrupt, plans))
        assert max(seconds for _, seconds, _, _ in outcomes) < 7
        # a signal that comes before the first line of raggate has run is the interpreter's own affair
        ends = {130, -signal.SIGINT, -signal.SIGTERM}
        heard = [outcome for outcome in outcomes if "Could not import runpy" not in outcome[2]]
        assert [outcome for outcome in heard if outcome[0] not in ends and outcome[3] != [outcome[0]]] == []
        assert sum(code == 130 for code, *_ in outcomes) >= 12
        assert leftovers(engine, run) == []


def wait_for_container(engine: Any, run: str, suffix: str = "-api") -> None:
    """Wait until a container of a run is running, by default the API's."""
    end = time.monotonic() + 20
    while not any(one.name.endswith(suffix) for one in engine.containers.list(filters={"label": f"raggate.run={run}"})):
        assert time.monotonic() < end
        time.sleep(0.05)


class TestNeighbour:
    """A container of somebody else on the same machine, whose shareable memory the machine's mounts show."""

    @pytest.fixture
    def shared(self, engine: Any, built: dict[str, str]) -> Iterator[Any]:
        neighbour = engine.containers.run(built["hostile"], detach=True, ipc_mode="shareable")
        yield neighbour
        neighbour.remove(force=True)

    def test_it_is_not_taken_for_raggate(self, settings: Any, place: Workspace, shared: Any) -> None:
        """It never joins the network of the API."""
        with container.start(settings(), place) as api:
            listening(api.base_url)
            shared.reload()
            assert set(shared.attrs["NetworkSettings"]["Networks"]) == {"bridge"}

    def test_localhost_stays_the_machine(self, gate: Gate, shared: Any) -> None:
        """An `api.url` on this machine is asked, and not called raggate's own container."""
        assert shared.id
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        code, _, err = gate.check({"url": f"http://127.0.0.1:{port}", "ready": {"timeout": 1}})
        assert code == 3
        assert "it is not listening" in err


class TestRepeatedBuilds:
    """Builds from the checkout: their time limit, what is built again, and what is left."""

    def context(self, root: Path, built: dict[str, str], *lines: str) -> dict[str, Any]:
        """Write a Dockerfile on the hostile image into the root itself, as `init` has it, and configure its build."""
        (root / "Dockerfile").write_text("\n".join([f"FROM {built['hostile']}", *lines, ""]))
        return {"container": {"build": {"context": "."}, "port": 9000}}

    def ours(self, engine: Any, root: Path) -> set[str]:
        found = engine.images.list(filters={"label": "raggate.built"})
        return {image.id for image in found if image.labels.get("root") == root.name}

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_a_silent_step_ends(
        self, engine: Any, gate: Gate, built: dict[str, str], run: str, number: signal.Signals
    ) -> None:
        """A step that runs for ever without a word ends at a signal, and leaves nothing."""
        process = gate.start(self.context(gate.root, built, 'RUN ["/program", "deaf"]'))
        try:
            end = time.monotonic() + 30
            while not any("Running in" in path.read_text() for path in gate.root.glob("*/*/build.log")):
                assert time.monotonic() < end
                time.sleep(0.05)
            process.send_signal(number)
            process.communicate(timeout=45)
        finally:
            process.kill()
            process.communicate()
        assert process.returncode == 130
        assert leftovers(engine, run) == []

    def test_unchanged_is_not_built_again(self, engine: Any, gate: Gate, built: dict[str, str]) -> None:
        """Runs in the context do not change the image; a change makes a new one that takes the place of the old."""
        api = self.context(gate.root, built, f"LABEL root={gate.root.name}", "COPY . /context")
        (gate.root / ".dockerignore").write_text("*\n!.raggate\n!note\n")
        (gate.root / "note").write_text("1")
        out = gate.root / ".raggate" / "runs"
        seen = []
        for note in ("1", "1", "2"):
            (gate.root / "note").write_text(note)
            gate.check({**api, "ready": {"timeout": 3}}, out=out)
            seen.append(self.ours(engine, gate.root))
        try:
            assert [len(found) for found in seen] == [1, 1, 1]
            assert seen[0] == seen[1] != seen[2]
        finally:
            for image in seen[-1]:
                engine.images.remove(image, force=True)

    def test_an_image_in_use_stays(self, engine: Any, place: Workspace, built: dict[str, str]) -> None:
        """What another run has just built by the same settings is not taken away from it."""
        made = []
        with contextlib.ExitStack() as stack:
            for note in ("1", "2"):
                self.context(place.root, built, f"LABEL root={place.root.name} note={note}")
                settings = Api.model_validate({"container": {"build": {"context": "."}, "port": 9000}})
                listening(stack.enter_context(container.start(settings, place)).base_url)
                made.append(len(self.ours(engine, place.root)))
        assert made == [1, 2]
        for image in self.ours(engine, place.root):
            engine.images.remove(image, force=True)
