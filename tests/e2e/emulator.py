"""An emulator of GitHub's runner: starts a container action exactly as the runner does and reads what it says.

Every rule is taken from ContainerActionHandler.cs, DockerCommandManager.cs and ProcessInvoker.cs of actions/runner
2.336; tests/README.md tells which. It needs a Docker engine on this machine and nothing of raggate.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import secrets
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from e2e import grammar
from e2e.grammar import Command, FileCommandError, Log

RUNNER_UID = 1001
SOCKET = Path("/var/run/docker.sock")
Cancel = tuple[float, int]
"""Seconds after the start, and the first signal that the `docker run` process gets then."""


@dataclass(slots=True, kw_only=True)
class Step:
    """What the runner knows of a step that has ended."""

    exit_code: int
    seconds: float
    spoke: float
    """Seconds from the start to the first output: a signal before that may have found no container yet."""
    text: str
    log: Log
    outputs: dict[str, str]
    state: dict[str, str]
    summary: str
    problems: list[str]
    """What the runner itself would complain about: unreadable files, a summary that is too large."""
    container: str
    argv: list[str] = field(default_factory=list)

    @property
    def commands(self) -> list[Command]:
        return self.log.commands


class Job:
    """One job on an emulated runner: its directories, its network, and the steps that run in it.

    Args:
        root: an empty directory of the host; the workspace lies below it.
        action: the action's action.yml.
        image: the image that the runner built or pulled for the action.
        network: None for the default bridge; `github_network_…` as for jobs with `container:` or `services:`;
            `container:<id>` and `host` as other implementations of the runner start it.
        event: name and payload of the event.
        env: the `env:` context of workflow, job and step.
        socket: whether the engine's socket is there, as it is on every runner but some.
        token: the job's token, for inputs whose default is `${{ github.token }}`.
        api_url: where the API of the server is.
        run_id: of the workflow run; a random one otherwise.
    """

    def __init__(
        self,
        root: Path,
        action: Path,
        image: str,
        *,
        network: str | None = None,
        event: tuple[str, Mapping[str, Any]] = ("push", {}),
        env: Mapping[str, str] | None = None,
        socket: bool = True,
        token: str = "",
        api_url: str = "https://api.github.com",
        run_id: str = "",
    ) -> None:
        self.root = root
        self.image = image
        self.network = network
        self.action: dict[str, Any] = yaml.safe_load(action.read_text(encoding="utf-8"))
        self.env = dict(env or {})
        self.event = event
        self.socket = socket
        self.token = token
        self.api_url = api_url
        self.run_id = run_id or str(secrets.randbelow(10**10))
        self.workspace = root / "work" / "repo" / "repo"
        self.temp = root / "work" / "_temp"
        for path in (self.workspace, *(self.temp / name for name in _MOUNTED.values())):
            path.mkdir(parents=True, exist_ok=True)
        (self.temp / "_github_workflow" / "event.json").write_text(json.dumps(event[1]))

    def own(self) -> None:
        """Hand the directories to the runner's user, as after a checkout."""
        if os.geteuid() == 0:
            for folder, folders, files in os.walk(self.root):
                for name in (".", *folders, *files):
                    os.chown(Path(folder, name), RUNNER_UID, RUNNER_UID, follow_symlinks=False)

    def run(
        self,
        inputs: Mapping[str, str] | None = None,
        *,
        cancel: Cancel | None = None,
        variables: Mapping[str, str] | None = None,
        during: Callable[[str], None] | None = None,
    ) -> Step:
        """Run the action's step.

        Args:
            inputs: what stands under `with:`.
            cancel: cancel the step.
            variables: more of its environment, as given; for what another implementation of the runner would set.
            during: called with the container's name right after the start, in a thread.
        """
        return self._start(inputs or {}, {}, None, cancel=cancel, variables=variables or {}, during=during)

    def post(
        self, step: Step, inputs: Mapping[str, str] | None = None, *, variables: Mapping[str, str] | None = None
    ) -> Step:
        """Run the action's post step in a fresh container of the same image, with the state of its step."""
        state = {f"STATE_{name}": value for name, value in step.state.items()}
        return self._start(inputs or {}, state, self.action["runs"]["post-entrypoint"], variables=variables)

    def _start(
        self,
        inputs: Mapping[str, str],
        state: Mapping[str, str],
        entrypoint: str | None,
        *,
        cancel: Cancel | None = None,
        variables: Mapping[str, str] | None = None,
        during: Callable[[str], None] | None = None,
    ) -> Step:
        files = self._file_commands()
        environment = {**self._environment(inputs, files), **state, **(variables or {})}
        name = f"{self.image.replace(':', '').replace('/', '')[:20]}_{secrets.token_hex(3)}"
        argv = self._argv(name, environment, entrypoint)
        begin = time.monotonic()
        code, text, spoke = _invoke(argv, environment, cancel, (lambda: during(name)) if during else None)
        seconds = time.monotonic() - begin
        log = Log().feed(text)
        problems: list[str] = []
        outputs, saved = dict(log.outputs), dict(log.state)
        for target, key in ((outputs, "GITHUB_OUTPUT"), (saved, "GITHUB_STATE")):
            try:
                target.update(grammar.values(files[key].read_text(encoding="utf-8", errors="replace")))
            except FileCommandError as error:
                problems.append(f"unable to process file command {key}: {error}")
        problems += [f"{key} was written" for key in ("GITHUB_ENV", "GITHUB_PATH") if files[key].stat().st_size]
        summary = files["GITHUB_STEP_SUMMARY"].read_bytes()
        if len(summary) > grammar.SUMMARY_BYTES:
            problems.append(f"the summary has {len(summary)} bytes and is not shown")
            summary = b""
        return Step(
            exit_code=code,
            seconds=seconds,
            spoke=spoke,
            text=text,
            log=log,
            outputs=outputs,
            state=saved,
            summary=summary.decode("utf-8", "replace"),
            problems=problems,
            container=name,
            argv=argv,
        )

    def _file_commands(self) -> dict[str, Path]:
        suffix = secrets.token_hex(16)
        names = {
            "GITHUB_OUTPUT": "set_output",
            "GITHUB_ENV": "set_env",
            "GITHUB_PATH": "add_path",
            "GITHUB_STATE": "save_state",
            "GITHUB_STEP_SUMMARY": "step_summary",
        }
        found = {}
        for key, name in names.items():
            found[key] = self.temp / "_runner_file_commands" / f"{name}_{suffix}"
            found[key].touch()
            if os.geteuid() == 0:
                os.chown(found[key], RUNNER_UID, RUNNER_UID)
        return found

    def _environment(self, inputs: Mapping[str, str], files: Mapping[str, Path]) -> dict[str, str]:
        # the one expression of defaults that the action uses
        filled = {"${{ github.token }}": self.token}
        defaults = {name: str(spec.get("default", "")) for name, spec in (self.action.get("inputs") or {}).items()}
        given = {name: filled.get(text, text) for name, text in defaults.items()}
        environment = {
            **self.env,
            **{f"INPUT_{name.replace(' ', '_').upper()}": value for name, value in {**given, **inputs}.items()},
            "HOME": str(self.temp / "_github_home"),
            "GITHUB_JOB": "gate",
            "GITHUB_REF": "refs/pull/7/merge",
            "GITHUB_SHA": "0" * 40,
            "GITHUB_REPOSITORY": "someone/repo",
            "GITHUB_REPOSITORY_OWNER": "someone",
            "GITHUB_RUN_ID": self.run_id,
            "GITHUB_RUN_NUMBER": "1",
            "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_ACTOR": "someone",
            "GITHUB_WORKFLOW": "rag-gate",
            "GITHUB_HEAD_REF": "change",
            "GITHUB_BASE_REF": "main",
            "GITHUB_EVENT_NAME": self.event[0],
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_API_URL": self.api_url,
            "GITHUB_GRAPHQL_URL": f"{self.api_url.removesuffix('/v3')}/graphql",
            "GITHUB_ACTION": "__self",
            "GITHUB_EVENT_PATH": str(self.temp / "_github_workflow" / "event.json"),
            "GITHUB_WORKSPACE": str(self.workspace),
            "RUNNER_OS": "Linux",
            "RUNNER_ARCH": "X64",
            "RUNNER_NAME": "emulator",
            "RUNNER_ENVIRONMENT": "github-hosted",
            "RUNNER_TEMP": str(self.temp),
            "RUNNER_TOOL_CACHE": str(self.root / "tools"),
            "RUNNER_WORKSPACE": str(self.workspace.parent),
            "ACTIONS_RUNTIME_URL": "https://pipelines.invalid/",
            "ACTIONS_RUNTIME_TOKEN": "emulated-runtime-token",
            "ACTIONS_CACHE_URL": "https://cache.invalid/",
            "ACTIONS_RESULTS_URL": "https://results.invalid/",
            **{key: str(path) for key, path in files.items()},
        }
        kept = {"RUNNER_TOOL_CACHE", "RUNNER_WORKSPACE"}
        return {key: value if key in kept else self._translated(value) for key, value in environment.items()} | {
            "GITHUB_ACTIONS": "true",
            "CI": "true",
        }

    def _translated(self, value: str) -> str:
        """Rewrite a value that is, or starts with, a mounted directory; longest first, as the runner does."""
        for host, inside in sorted(self._mounts().items(), key=lambda pair: -len(pair[0])):
            if value == host or value.startswith(host + "/"):
                return inside + value[len(host) :]
        return value

    def _mounts(self) -> dict[str, str]:
        return {
            str(self.temp): "/github/runner_temp",
            **{str(self.temp / name): inside for inside, name in _MOUNTED.items()},
            str(self.workspace): "/github/workspace",
        }

    def _argv(self, name: str, environment: Mapping[str, str], entrypoint: str | None) -> list[str]:
        argv = ["docker", "run", "--name", name, "--label", secrets.token_hex(3), "--workdir", "/github/workspace"]
        argv += ["--rm", *(word for key in environment for word in ("-e", key))]
        argv += ["--entrypoint", entrypoint] if entrypoint else []
        argv += ["--network", self.network] if self.network else []
        mounts = {str(SOCKET): str(SOCKET), **self._mounts()} if self.socket else self._mounts()
        return [*argv, *(word for host, inside in mounts.items() for word in ("-v", f"{host}:{inside}")), self.image]


_MOUNTED = {
    "/github/home": "_github_home",
    "/github/workflow": "_github_workflow",
    "/github/file_commands": "_runner_file_commands",
}


def _invoke(
    argv: list[str], environment: Mapping[str, str], cancel: Cancel | None, during: Callable[[], None] | None
) -> tuple[int, str, float]:
    # the values travel in the environment of the command, as the runner hands them over
    process = subprocess.Popen(
        argv,
        env={**environment, "PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    chunks: list[bytes] = []
    begin, spoke = time.monotonic(), [float("inf")]
    stream = process.stdout

    def read() -> None:
        while data := os.read(stream.fileno(), 1 << 16):
            spoke[0] = min(spoke[0], time.monotonic() - begin)
            chunks.append(data)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    if during:
        threading.Thread(target=during, daemon=True).start()
    if cancel:
        _cancel(process, *cancel)
    try:
        code = process.wait(240)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    reader.join(5)
    stream.close()
    return code, b"".join(chunks).decode("utf-8", "replace"), spoke[0]


def _cancel(process: subprocess.Popen[bytes], after: float, first: int) -> None:
    begin = time.monotonic() + after
    for delay, number in ((0.0, first), (7.5, signal.SIGTERM), (10.0, signal.SIGKILL)):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(begin + delay - time.monotonic(), 0))
        if process.poll() is not None:
            return
        process.send_signal(number)


def docker(*words: str, check: bool = True, **options: Any) -> str:
    """Run a command of the engine's own client and give its output."""
    done = subprocess.run(["docker", *words], capture_output=True, text=True, check=False, timeout=300, **options)
    if check and done.returncode != 0:
        raise RuntimeError(f"docker {' '.join(words)}: {done.stdout}{done.stderr}")
    return done.stdout.strip()


@contextlib.contextmanager
def job_network() -> Iterator[str]:
    """Make the network that a runner makes for a job with `container:` or `services:`."""
    name = f"github_network_{secrets.token_hex(16)}"
    docker("network", "create", "--label", secrets.token_hex(3), name)
    try:
        yield name
    finally:
        # an engine has room for some thirty: one that stays is a failure of the test
        docker("network", "rm", name)


def gateway() -> str:
    """Return the address at which containers on the default bridge reach this machine."""
    shown = json.loads(docker("network", "inspect", "bridge"))[0]["IPAM"]["Config"]
    network = ipaddress.ip_network(next(config["Subnet"] for config in shown if "." in config["Subnet"]))
    return str(next(network.hosts()))


def leftovers(job: Job) -> list[str]:
    """Name every container, network and volume that carries the label of the job's run."""
    label = f"label=raggate.run={job.run_id}"
    found = docker("ps", "-aq", "--filter", label).split()
    found += docker("network", "ls", "-q", "--filter", label).split()
    return found + docker("volume", "ls", "-q", "--filter", label).split()


def copy_tree(source: Path, target: Path, names: tuple[str, ...]) -> None:
    """Copy files and directories of a repository into a workspace."""
    for name in names:
        if (source / name).is_dir():
            shutil.copytree(source / name, target / name, dirs_exist_ok=True)
        else:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source / name, target / name)
