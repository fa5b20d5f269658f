"""Workflows whose steps the action would refuse with the configuration beside them."""

from __future__ import annotations

from raggate.config import schema
from raggate.inputs.lint.workflows import check_workflows
from tables import each_row

URL = '{url: "http://localhost:9"}'
CONTAINER = "{container: {image: a, port: 9}}"
COMMAND = "{command: {run: [a]}}"
PATH = ".github/workflows/gate.yml"


def found(
    api: str, inputs: str, *, on: str = "pull_request", uses: str = "me/raggate@abc"
) -> list[tuple[str, int, str]]:
    """Return what is found of a step with these inputs: file, line and key."""
    text = f"on: {on}\njobs:\n  a:\n    steps:\n      - run: make\n      - uses: {uses}\n        with:\n{inputs}"
    settings = schema.load(f"suite: s\nvault: {{a: a}}\napi: {api}\n".encode(), "raggate.yml")
    findings = check_workflows(settings, {PATH: text.encode()}, "raggate.yml")
    return [(item.path, item.line, item.key) for item in findings]


@each_row(
    ("api", "inputs", "options", "keys"),
    [
        (URL, "          k: v\n          api-image: a\n", {}, [(PATH, 9, "api-image")]),
        (COMMAND, "          api-build: a\n", {"on": "push"}, [(PATH, 8, "api-build")]),
        (COMMAND, "          config: raggate.yml\n", {"on": "[push, merge_group]"}, [(PATH, 7, "allow-command")]),
        (COMMAND, "          k: v\n", {"on": "{pull_request: {branches: [main]}}"}, [(PATH, 7, "allow-command")]),
        (COMMAND, "          k: v\n", {"on": "push"}, []),
        (COMMAND, "          allow-command: true\n", {}, []),
        (COMMAND, '          api-url: "http://localhost:1"\n', {}, []),
        (CONTAINER, "          api-image: a\n", {}, []),
        (URL, "          api-image: ${{ inputs.image }}\n", {}, []),
        (URL, "          api-image: a\n          config: other.yml\n", {}, []),
        (
            URL,
            "          api-image: a\n          config: |\n            other.yml\n            raggate.yml\n",
            {},
            [(PATH, 8, "api-image")],
        ),
        (URL, "          api-image: a\n", {"uses": "me/ungraggate@abc"}, []),
        (URL, "          api-image: a\n          api-image: b\n", {}, []),
    ],
)
def test_a_step_that_is_refused(
    api: str, inputs: str, options: dict[str, str], keys: list[tuple[str, int, str]]
) -> None:
    """An image needs `api.container`, and a command on pull requests needs leave; other steps are not looked at."""
    assert found(api, inputs, **options) == keys


@each_row("text", [b"jobs: {a: {steps: {}}}", b"jobs: [1]", b"[]", b"", b"on: 1\njobs: {a: 1}", b"\xff"])
def test_a_workflow_of_another_shape(text: bytes) -> None:
    """What GitHub does not run is no finding."""
    settings = schema.load(f"suite: s\nvault: {{a: a}}\napi: {URL}\n".encode(), "raggate.yml")
    assert not [*check_workflows(settings, {PATH: text}, "raggate.yml")]
