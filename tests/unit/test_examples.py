"""The worked examples of real engines ask what this repository's own gate asks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from benchmarks import noise, scale

from raggate.base.yamlio import parse
from raggate.config.schema import Config
from tables import each_row

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
GATES = sorted(EXAMPLES.glob("*/raggate*.yml"))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def of_notes(case: dict[str, Any]) -> dict[str, Any]:
    """Return a question whose gold is whole notes, and that need not be answered."""
    supports = [{key: support[key] for key in support if key == "rel_path"} for support in case["gold_supports"]]
    return {key: value for key, value in case.items() if key != "must_pass"} | {"gold_supports": supports}


def test_basic_memory_is_asked_the_gates_own_questions() -> None:
    """Its golden set is the one of this repository for the vault `work`, without headings, snippets and must_pass."""
    own = [case for case in lines(ROOT / "golden" / "eval_set.jsonl") if case["vaults"] == ["work"]]
    assert lines(EXAMPLES / "basic-memory" / "golden.jsonl") == [of_notes(case) for case in own]


@each_row("file", GATES, ids=lambda file: f"{file.parent.name}-{file.name}")
def test_an_example_is_ten_lines_of_yaml(file: Path) -> None:
    """A gate on an engine of others needs no more, and none of them is several in disguise."""
    lines_of_yaml = file.read_text(encoding="utf-8").splitlines()
    assert len(lines_of_yaml) <= 10
    assert max(map(len, lines_of_yaml)) <= 160


@each_row("file", GATES, ids=lambda file: f"{file.parent.name}-{file.name}")
def test_an_example_is_valid_and_documented(file: Path) -> None:
    """It is a configuration of this version, and the README beside it names it."""
    Config.model_validate(parse(file.read_bytes(), file.name).value)
    assert f"[{file.name}]({file.name})" in (file.parent / "README.md").read_text(encoding="utf-8")


@each_row("written", [scale.CONFIG.format(url="http://localhost:9000"), noise.CONFIG])
def test_a_benchmark_is_asked_by_a_valid_configuration(written: str) -> None:
    """What a benchmark writes is a configuration of this version."""
    Config.model_validate(parse(written.encode(), "raggate.yml").value)


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every pod of the recipe for Kubernetes: of what, and its spec."""
    for file in sorted((EXAMPLES / "kubernetes").rglob("*.yaml")):
        for made in yaml.safe_load_all(file.read_text(encoding="utf-8")):
            if made["kind"] in {"Pod", "Job", "Deployment"}:
                spec = made["spec"]
                yield f"{made['kind']} {made['metadata']['name']}", spec.get("template", {}).get("spec", spec)


def test_pods_are_hardened() -> None:
    """No container has a right, a writable root or, but raggate, questions; no pod is root or has a token."""
    rights = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    names = []
    for name, spec in pods():
        names.append(name)
        for container in (*spec.get("initContainers", ()), *spec.get("containers", ())):
            assert container["securityContext"] == rights, name
            assert container["resources"]["limits"]["memory"], name
            # the questions say what is right
            mounts = {mount["subPath"] for mount in container["volumeMounts"] if "subPath" in mount}
            assert container["image"] == "raggate" or mounts == {"suite/golden/vault"}, name
        if "containers" in spec:
            assert spec["securityContext"]["runAsNonRoot"] is True, name
            assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
            assert spec["automountServiceAccountToken"] is False, name
    assert sorted(names) == ["Deployment api", "Job merge", "Job shards", "Job shards", "Pod files"]


def test_as_many_shards_as_completions() -> None:
    """The job of the shards has as many completions as its command says that there are shards."""
    shards = yaml.safe_load((EXAMPLES / "kubernetes" / "base" / "shards.yaml").read_text())["spec"]
    words = shards["template"]["spec"]["containers"][0]["command"]
    assert words[words.index("--shards") + 1] == str(shards["completions"])
