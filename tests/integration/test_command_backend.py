"""Real processes: what the command backend starts, what it says when that fails, and that nothing is ever left."""

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

import preloaded
from raggate.base.certificates import checked_by
from raggate.base.errors import CannotTell, UsageError
from raggate.base.http_client import httpx
from raggate.config.ask_settings import Ask
from raggate.config.service_settings import Api, CommandBackend, Readiness
from raggate.models.service import Workspace
from raggate.service import boot
from raggate.service.adapters.ask import AskAdapter
from raggate.service.backends import command, processes
from raggate.service.boot import Expected

FAKE = Path(__file__).parents[1] / "fakes" / "process_api.py"
ENV = {
    "API_PORT": "{port}",
    "VAULT_PERSONAL_PATH": "{vault.personal}",
    "VAULT_WORK_PATH": "{vault.work}",
    "FAKE_PID_FILE": "{out}/child.pid",
}
# reading the usual authorities takes longer than a whole test
PLAIN = checked_by("http://127.0.0.1")
SLEEP = "import time; time.sleep(600)"
FORGETFUL = (
    "import subprocess; print(subprocess.Popen(['sleep', '600'], env={'PATH': '/usr/bin:/bin'}).pid, flush=True)"
)
DETACHED = FORGETFUL.replace("}).pid", "}, start_new_session=True).pid")

linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def carriers(tag: str) -> list[int]:
    """List the processes whose environment holds the tag."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            found += [int(entry.name)] if tag.encode() in (entry / "environ").read_bytes() else []
    return found


def gone(pid: int) -> bool:
    """Return whether a process has ended; nobody may have collected it yet."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def children() -> set[int]:
    """Return the children of this process, zombies included."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            found |= {int(entry.name)} if int(parent) == os.getpid() else set()
    return found


def eventually(condition: Callable[[], object], seconds: float = 5.0) -> bool:
    """Wait until the condition holds, at most so long."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


@pytest.fixture(autouse=True)
def tag() -> Iterator[str]:
    """Mark what a test starts, and fail it when any of that is left."""
    preloaded.server()
    tag, before = f"tag-{uuid.uuid4().hex}", children()
    yield tag
    assert carriers(tag) == []
    assert children() <= before


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    """Return two vaults with three notes and an empty run directory."""
    vaults = {"personal": tmp_path / "vault" / "personal", "work": tmp_path / "vault" / "work"}
    for directory in vaults.values():
        directory.mkdir(parents=True)
    (vaults["personal"] / "Packing.md").write_text("# Packing\n\nTake a towel.\n\n## Winter\n\nTake two jumpers.\n")
    (vaults["work"] / "Failover.md").write_text("# Failover\n\nPromote the replica.\n")
    (vaults["work"] / "Oncall.md").write_text("# Oncall\n\nThe pager rotates on Mondays.\n")
    (tmp_path / "out").mkdir()
    secrets = {"GITHUB_TOKEN": "ghs_secret", "SEARCH_KEY": "sk-1"}
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **secrets}
    return Workspace(root=tmp_path, out=tmp_path / "out", vaults=vaults, environment=environment)


@pytest.fixture
def settings(tag: str) -> Callable[..., CommandBackend]:
    """Return a function that makes settings: of the fake API with a behaviour, or of any Python code."""

    def make(behaviour: str = "ok", *, code: str | None = None, env: dict[str, str] | None = None, **more: object):
        # what is installed is of no use to it, and takes a while to be looked for
        run = [sys.executable, "-S", *(("-c", code) if code else (str(FAKE),))]
        own = {**ENV, "TAG": tag, "FAKE_BEHAVIOUR": behaviour, **(env or {})}
        return CommandBackend.model_validate({"run": run, "env": own, **more})

    return make


@pytest.fixture
def bring_up(place: Workspace):
    """Return a function that boots the fake API with the real adapter and collects what is said."""

    def up(settings: CommandBackend, *, timeout: float = 15, settle: float = 0.3, expected: int = 3):
        api = Api(command=settings, ready=Readiness(timeout=timeout, settle=settle))
        adapter = AskAdapter(Ask(), list(place.vaults))
        said: list[str] = []
        told = replace(place, say=said.append)
        complete = Expected(documents=expected)
        return boot.up(api, told, index_state=adapter.index_state, expected=complete), said

    return up


def test_boot_well_behaved(bring_up, settings):
    """An API that behaves is ready soon, answers, and is gone afterwards."""
    begun = time.monotonic()
    context, said = bring_up(settings())
    with context as api:
        assert time.monotonic() - begun < 5
        body = {"question": "How many jumpers in winter?"}
        address = f"{api.base_url}/api/v1/ask?debug=true&retrieval_only=true"
        answer = httpx.post(address, json=body, verify=PLAIN).json()
        assert answer["debug"]["retrieved_chunks"][0]["heading_path"] == "# Packing > ## Winter"
        assert api.died() is None
    assert "3 of 3 documents, 4 passages" in said[-1]
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{api.base_url}/api/health", verify=PLAIN)


def test_placeholders_replaced_everywhere(place, settings):
    """Port, name, run directory and vaults are replaced in `build`, `run` and `env`; other braces stay."""
    show = "import sys, os; print(sys.argv[1:], os.environ['SHOWN'])"
    build = [[sys.executable, "-c", show, "{port}|{run}|{out}|{vault.work}"]]
    made = settings(code=SLEEP, build=build, env={"SHOWN": '{"a": {}} ${HOME} {{name}} {0} }{ {vault.personal}'})
    with command.start(Api(command=made), place) as api:
        port = api.base_url.rpartition(":")[2]
    shown = (place.out / "build.log").read_text()
    assert f"['{port}|{place.run}|{place.out}|{place.vaults['work']}']" in shown
    assert f'{{"a": {{}}}} ${{HOME}} {{{{name}}}} {{0}} }}{{ {place.vaults["personal"]}' in shown


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"env": {"X": "{vault.privat}", "P": "{port}"}}, "api.command.env.X"),
        ({"build": [["make"], ["make", "{vault.privat}"]]}, r"api.command.build\[1\]\[1\]"),
    ],
)
def test_placeholders_unknown(place, settings, change, key):
    """An unknown placeholder is an error that names the key, the nearest known one, and all of them."""
    made = settings(**change)
    with pytest.raises(UsageError, match=rf"^{key}: unknown placeholder {{vault.privat}}") as caught:
        command.start(Api(command=made), place).__enter__()
    assert "{vault.personal}, {vault.work}" in caught.value.hint


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (["no-such-command-here", "{port}"], "no command 'no-such-command-here' on PATH"),
        (["./api", "{port}"], "no file './api'"),
        (["./plain", "{port}"], "'./plain' is not executable"),
        (["./script", "{port}"], "exists, but not the interpreter it names"),
        (["serve"], "does not know where to listen"),
        (["", "{port}"], "expected a command"),
        (["a\0b", "{port}"], "NUL"),
    ],
)
def test_refusals_run(place, run, why):
    """A `run` that cannot be executed is a usage error that names key and reason."""
    (place.root / "plain").write_text("x")
    (place.root / "script").write_text("#!/no/such/interpreter\n")
    (place.root / "script").chmod(0o755)
    with pytest.raises(UsageError, match=r"^api\.command") as caught:
        command.start(Api(command=CommandBackend(run=run)), place).__enter__()
    assert why in caught.value.message


@pytest.mark.parametrize(
    ("env", "own", "error", "said"),
    [
        ("{service.store}", "", CannotTell, "no Docker socket at /nowhere/s, but .* need a Docker engine"),
        ("{service.stroe}", "", UsageError, r"api\.command\.env\.A: .*Did you mean \{service\.store\}"),
        ("", "{port}", UsageError, r"api\.services\.store\.env\.A: unknown placeholder"),
    ],
)
def test_services_refused_before_anything_runs(place, settings, env, own, error, said):
    """A mistake in a placeholder is said by its key before an engine is looked for, and then who needs one."""
    made = settings(build=[[sys.executable, "-c", "open('built', 'w')"]], env={"P": "{port}", "A": env})
    api = Api.model_validate({"command": made, "services": {"store": {"image": "x", "env": {"A": own}}}})
    nowhere = replace(place, environment={**place.environment, "DOCKER_HOST": "unix:///nowhere/s"})
    with pytest.raises(error, match=said):
        command.start(api, nowhere).__enter__()
    assert not (place.root / "built").exists()


def test_build_in_order_in_the_working_directory(place, settings):
    """Build steps run one after the other in the working directory, and their output is kept."""
    (place.root / "sub").mkdir()
    steps = [["sh", "-c", "echo one > made; pwd"], ["sh", "-c", "cat made; echo two >&2"]]
    with command.start(Api(command=settings(code=SLEEP, build=steps, cwd="sub")), place):
        lines = (place.out / "build.log").read_text().splitlines()
    first = ["$ sh -c 'echo one > made; pwd'", str(place.root / "sub")]
    assert lines == [*first, "$ sh -c 'cat made; echo two >&2'", "one", "two"]


def test_build_failure(place, settings):
    """A step that fails is named with its exit code and last output, and nothing after it runs."""
    steps = [["true"], ["sh", "-c", "echo undefined: foo; exit 7"], ["touch", "never"]]
    with pytest.raises(CannotTell, match=r"build step 2 of 3 \(`sh -c .*`\) exited with code 7") as caught:
        command.start(Api(command=settings(build=steps)), place).__enter__()
    assert caught.value.log[-1] == "undefined: foo"
    assert not (place.root / "never").exists()


def test_build_shared_time(place, settings, monkeypatch):
    """All steps share one time limit, after which the one that runs is ended with all it started."""
    monkeypatch.setattr(command, "BUILD_SECONDS", 0.6)
    begun = time.monotonic()
    steps = [["sleep", "0.3"], ["sh", "-c", "echo compiling; sleep 600 & sleep 600"]]
    said = "build step 2 of 2 .* took too long: all build steps together have 0.6 s"
    with pytest.raises(CannotTell, match=said) as caught:
        command.start(Api(command=settings(build=steps)), place).__enter__()
    assert 0.5 < time.monotonic() - begun < 3
    assert caught.value.log[-1] == "compiling"


def test_environment_allow_list(place, settings):
    """Only the named variables and the configured ones reach the API; stdin is empty."""
    code = "import os, json, sys, time; print(json.dumps(dict(os.environ))); print(repr(sys.stdin.read()))"
    with command.start(Api(command=settings(code=code)), place) as api:
        assert eventually(api.died)
        seen, stdin = api.log_tail()
    environment = json.loads(seen)
    assert not {"GITHUB_TOKEN", "SEARCH_KEY"} & set(environment)
    assert environment["PATH"] == place.environment["PATH"]
    allowed = {"PATH", "HOME", "TAG", "FAKE_BEHAVIOUR", "RAGGATE_RUN_MARK", *ENV, "LC_CTYPE"}
    assert set(environment) <= allowed
    assert stdin == "''"


def test_log_hostile_output(place, bring_up, settings):
    """Huge lines, escape codes, workflow commands and invalid UTF-8 neither stop the API nor grow the memory."""
    context, _ = bring_up(settings("noisy_log"))
    with context as api:
        assert httpx.get(f"{api.base_url}/api/health", verify=PLAIN).status_code == 200
        tail = api.log_tail()
    assert tail[:2] == ("\x1b[31mred\x1b[0m", "::error::pwned")
    assert tail[2] == "x" * processes.LINE_CHARACTERS
    assert tail[3] == "\N{REPLACEMENT CHARACTER}" * 2 + " not UTF-8"
    assert (place.out / "api.log").stat().st_size > 1 << 20


def test_log_bounds(place, settings, monkeypatch):
    """Only so many lines are kept in memory and so many bytes in the file, which says that it was cut."""
    monkeypatch.setattr(processes, "FILE_BYTES", 3 << 20)
    code = "import sys\nfor i in range(60_000): print(i, 'x' * 90)\nsys.stdout.write('the end')"
    with command.start(Api(command=settings(code=code)), place) as api:
        assert eventually(api.died)
        assert api.log_tail()[-1] == "the end"
    written = (place.out / "api.log").read_bytes()
    assert len(written) < (3 << 20) + 100
    assert written.endswith(b"\n[the log was cut here, at 3 MiB]\n")
    with processes.Log(Path(os.devnull)) as log:
        log.feed(b"line\n" * 10_000)
        assert len(log.tail(10_000)) == processes.KEPT_LINES


def test_log_last_words(place, settings):
    """What a process says right before it ends is there as soon as it is known to have ended."""
    code = "import os, sys; sys.stderr.write('panic'); sys.stderr.flush(); os.abort()"
    for _ in range(5):
        with command.start(Api(command=settings(code=code)), place) as api:
            while (ended := api.died()) is None:
                pass
            assert (ended.message, ended.signal) == ("was killed by SIGABRT", "SIGABRT")
            assert api.log_tail() == ("panic",)


@given(data=st.binary(max_size=60), cuts=st.lists(st.integers(0, 60), max_size=5))
def test_log_cut_anywhere(data, cuts):
    """The lines do not depend on where the output is cut into pieces."""
    with processes.Log(Path(os.devnull)) as whole, processes.Log(Path(os.devnull)) as pieces:
        whole.feed(data)
        edges = [0, *sorted(cuts), len(data)]
        for start, end in itertools.pairwise(edges):
            pieces.feed(data[start:end])
        assert pieces.tail(100) == whole.tail(100)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, SystemExit])
def test_teardown_on_every_exception(bring_up, settings, error):
    """An exception of any kind inside the block ends the API and comes through unchanged."""
    context, _ = bring_up(settings())
    with pytest.raises(error), context as api:
        raise error
    assert api.died().message == "was killed by SIGTERM"


def test_teardown_deaf_to_sigterm(bring_up, settings, monkeypatch):
    """An API that ignores SIGTERM is killed after the grace."""
    monkeypatch.setattr(processes, "_GRACE", 0.7)
    context, _ = bring_up(settings("ignore_sigterm"))
    with context as api:
        begun = time.monotonic()
    assert 0.6 < time.monotonic() - begun < 3
    assert api.died().message == "was killed by SIGKILL"


@linux
def test_teardown_grandchild_in_a_session_of_its_own(tag, place, bring_up, settings):
    """A grandchild that has left process group and session goes, too."""
    context, _ = bring_up(settings("children"))
    with context:
        pid = int((place.out / "child.pid").read_text())
        assert os.getsid(pid) == pid
        assert pid in carriers(tag)
    assert carriers(tag) == []


@linux
def test_teardown_orphans_of_a_dead_api(place, settings):
    """What a crashed API has left behind goes at the end, though it holds the API's output open."""
    orphan = f"subprocess.Popen([sys.executable, '-c', '{SLEEP}'], start_new_session=True)"
    code = f"import subprocess, sys; {orphan}; sys.exit(5)"
    with command.start(Api(command=settings(code=code)), place) as api:
        assert eventually(api.died)
        assert api.died().message == "exited with code 5"


@linux
def test_teardown_a_child_without_the_mark(place, settings):
    """A child that has lost its environment goes with its process group, even when the API has ended before."""
    with command.start(Api(command=settings(code=FORGETFUL)), place) as api:
        assert eventually(api.died)
        pid = int(api.log_tail()[-1])
        assert not gone(pid)
    assert eventually(lambda: gone(pid), 1)


@linux
def test_teardown_a_library_ends_no_child_of_its_program(place, settings):
    """In a process that is not raggate's own, its children in sessions of their own go on."""
    own = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        with command.start(Api(command=settings(code=SLEEP)), place):
            pass
        assert own.poll() is None
    finally:
        own.kill()
        own.wait()


PARENT = """
    import json, sys, time
    from pathlib import Path
    from raggate.service.backends import command
    from raggate.config.service_settings import Api, CommandBackend
    from raggate.models.service import Workspace
    given = json.loads(sys.argv[1])
    place = Workspace(root=Path(given["root"]), out=Path(given["out"]), environment=given["environment"],
                  vaults={name: Path(path) for name, path in given["vaults"].items()})
    print("begin", flush=True)
    with command.start(Api(command=CommandBackend.model_validate(given["settings"])), place) as api:
        from raggate.base.http_client import httpx
        while True:
            try:
                httpx.get(api.base_url + "/api/health", trust_env=False, verify=False)
                break
            except httpx.HTTPError:
                time.sleep(0.01)
        print("up", flush=True)
        time.sleep(600)
"""


PARENT_THAT_LEAVES = f"""{PARENT.partition('    print("begin"')[0]}
    import os, subprocess
    from raggate.service import signals
    signals.install()
    own = subprocess.Popen(["sleep", "600"], start_new_session=True)
    with command.start(Api(command=CommandBackend.model_validate(given["settings"])), place) as api:
        while not api.died():
            time.sleep(0.01)
        pid = int(api.log_tail()[-1])
        os.kill(pid, 0)
        print("alive", flush=True)
    print(pid, own.poll())
    own.kill()
    own.wait()
"""


def raggate(place: Workspace, settings: CommandBackend, code: str) -> preloaded.Process:
    """Start a raggate as a process of its own, with the settings and the place of a test."""
    vaults = {name: str(path) for name, path in place.vaults.items()}
    given = {"root": str(place.root), "out": str(place.out), "environment": dict(place.environment), "vaults": vaults}
    words = json.dumps({**given, "settings": settings.model_dump()})
    return preloaded.start(words, at=Path.cwd(), environment={**os.environ}, code=textwrap.dedent(code))


@linux
class TestSignals:
    """Signals to a raggate that runs as a process of its own."""

    @pytest.fixture
    def parent(self, place: Workspace) -> Iterator[Callable[..., preloaded.Process]]:
        """Yield a function that starts a raggate and waits until it says so."""
        started: list[preloaded.Process] = []

        def start(settings: CommandBackend, until: str = "up") -> preloaded.Process:
            process = raggate(place, settings, PARENT)
            started.append(process)
            assert process.stdout is not None
            for line in process.stdout:
                if line.strip() == until:
                    break
            return process

        yield start
        for process in started:
            process.kill()
            process.communicate(timeout=10)

    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
    def test_killed(self, tag, parent, settings, number):
        """When a signal that it does not handle ends raggate, API and grandchildren are gone within two seconds."""
        process = parent(settings("children,ignore_sigterm"))
        assert carriers(tag)
        process.send_signal(number)
        assert eventually(lambda: not carriers(tag), 2)

    def test_a_child_that_has_left_all_behind(self, place, settings):
        """A child without the mark, session and parent ends with the API; one that was there before goes on."""
        process = raggate(place, settings(code=DETACHED), PARENT_THAT_LEAVES)
        out, _ = process.communicate(timeout=20)
        alive, pid, own = out.split()
        assert (alive, own) == ("alive", "None")
        assert gone(int(pid))

    def test_second_interrupt(self, tag, parent, settings):
        """A second Ctrl-C ends the grace of a deaf API, and never leaves it running."""
        process = parent(settings("children,ignore_sigterm"))
        process.send_signal(signal.SIGINT)
        time.sleep(0.4)
        assert carriers(tag), "the grace was not granted"
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(5) == -signal.SIGINT
        assert time.monotonic() - begun < 1.5
        assert carriers(tag) == []

    def test_interrupt_at_any_moment(self, tag, parent, settings):
        """An interrupt at any moment from the build to the first answer leaves nothing."""
        chance = random.Random(7)  # noqa: S311 - only moments
        for _ in range(6):
            process = parent(settings(build=[["sleep", "0.1"]]), until="begin")
            time.sleep(chance.uniform(0, 0.4))
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == -signal.SIGINT
            assert eventually(lambda: not carriers(tag), 1)
