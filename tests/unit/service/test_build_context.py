"""Files that judge and lie in the build context of the API, or in its vaults: found whatever is kept away."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from raggate.cli.init import write_example
from raggate.config.service_settings import Api
from raggate.inputs.trusted import InputSource, load_change
from raggate.pipeline.measure import blank_run
from raggate.pipeline.request import Request, Voice, unheard
from raggate.service.build_context import HISTORY, exposed, in_vaults
from tables import each_row

GOLDEN, BASELINE = "golden/eval_set.jsonl", "baselines/notes.json"


def api(context: str = ".", **container: object) -> Api:
    return Api.model_validate({"container": {"build": {"context": context}, "port": 9000, **container}})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path in (GOLDEN, BASELINE, "service/Dockerfile"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("x")
    return tmp_path


def found(root: Path, settings: Api) -> tuple[str, ...]:
    return exposed(settings, root, (GOLDEN, BASELINE))


@each_row(
    ("ignored", "left"),
    [
        ("", (GOLDEN, BASELINE)),
        ("# golden\nbaselines/\n", (GOLDEN,)),
        ("golden\nbaselines\n", ()),
        ("*\n!src\n", ()),
        ("*\n!golden\n", (GOLDEN,)),
        ("**/*.jsonl\n", (BASELINE,)),
        ("**/golden\n**/baselines/\n", ()),
        ("golden\n!golden/eval_set.jsonl\n/baselines/notes.json", (GOLDEN,)),
    ],
)
def test_what_dockerignore_leaves_in_the_context(root: Path, ignored: str, left: tuple[str, ...]) -> None:
    """A golden set or baseline that is sent to the builder is named; one that .dockerignore keeps away is not."""
    (root / ".dockerignore").write_text(ignored)
    assert found(root, api()) == left


@each_row(
    ("ignored", "left"),
    [("", (HISTORY,)), (".git", ()), ("**/.git/\n", ()), ("*\n!src\n", ()), ("*\n!.git/objects/ab", (HISTORY,))],
)
def test_the_history_is_named(root: Path, ignored: str, left: tuple[str, ...]) -> None:
    """Commits that are sent to the builder hold questions and baseline, whatever else is kept away."""
    (root / HISTORY).mkdir(parents=True, exist_ok=True)
    (root / ".dockerignore").write_text(f"golden\nbaselines\n{ignored}")
    assert found(root, api()) == left


@each_row("backend", [{"container": {"image": "x:1", "port": 1}}, {"command": {"run": ["x"]}}])
def test_a_service_is_built_too(root: Path, backend: dict[str, dict[str, object]]) -> None:
    """The image of a service can carry them as well, beside a container and beside a process."""
    services = {"db": {"build": {"context": "."}}}
    settings = Api.model_validate({**backend, "services": services})
    assert found(root, settings) == (GOLDEN, BASELINE)


@pytest.mark.parametrize(
    ("vaults", "left"),
    [
        ({"notes": "service"}, ()),
        ({"notes": "service", "more": "golden"}, (GOLDEN,)),
        ({"notes": "golden/"}, (GOLDEN,)),
        ({"notes": "./service/.."}, (GOLDEN, BASELINE, HISTORY)),
    ],
)
def test_a_vault_holds_what_judges(root: Path, vaults: dict[str, str], left: tuple[str, ...]) -> None:
    """Attack: a container that is given the questions with the notes can answer from memory, however it was built."""
    (root / HISTORY).mkdir(parents=True)
    directories = {name: root / place for name, place in vaults.items()}
    settings = Api.model_validate({"container": {"image": "x:1", "port": 1}})
    assert in_vaults(settings, vaults, directories, (GOLDEN, BASELINE)) == left
    # what is a process of this machine can read all of it anyway, and one that runs already is given nothing
    for backend in ({"command": {"run": ["x"]}}, {"url": "http://127.0.0.1:1"}):
        assert in_vaults(Api.model_validate(backend), vaults, directories, (GOLDEN, BASELINE)) == ()


def test_a_vault_of_a_commit_need_not_hold_it(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """What counts are the files that the API is given."""
    committed = tmp_path_factory.mktemp("committed")
    assert in_vaults(api(), {"notes": "."}, {"notes": committed}, (GOLDEN,)) == ()
    assert in_vaults(api(), {"notes": "."}, {"notes": root}, (GOLDEN,)) == (GOLDEN,)


def test_a_run_says_so(tmp_path: Path) -> None:
    """It stands in the run, where an invariant finds it."""
    (tmp_path / "note.md").write_text("# A\n\nb\n")
    (tmp_path / "golden.jsonl").write_text(json.dumps({"id": "q", "question": "b?", "answerable": False}))
    container = "{image: x, port: 1}"
    config = f"suite: s\ngolden: golden.jsonl\nvault: {{notes: .}}\napi: {{container: {container}}}\n"
    (tmp_path / "raggate.yml").write_text(config)
    inputs = load_change(InputSource(root=tmp_path, config_name="raggate.yml"), lambda settings, _name: settings)
    request = Request(config_file=tmp_path / "raggate.yml", environment={}, voice=Voice(say=unheard))
    run = blank_run(tmp_path / "out", "2026-01-02T03:04:05+00:00", request, inputs, command="run")
    assert run.provenance.in_vaults == ("golden.jsonl",)


def test_what_init_writes_keeps_them_apart(tmp_path: Path) -> None:
    """The .dockerignore of `raggate init` keeps golden set and baseline out of the context that it configures."""
    written = write_example(tmp_path)
    assert tmp_path / ".dockerignore" in written
    (tmp_path / "baselines").mkdir()
    (tmp_path / BASELINE).write_text("x")
    (tmp_path / HISTORY).mkdir(parents=True)
    assert found(tmp_path, api()) == ()
