"""The recipe of examples/kubernetes on a real Kubernetes: its commands, on real pods that ask a real API."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.cluster import Cluster
from e2e import image
from integration.test_shards import contents

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "examples" / "kubernetes"
PAGE = (RECIPE / "README.md").read_text(encoding="utf-8")
# slow enough that a pod can be caught while it asks
SETTINGS = {"modes": ["hybrid"], "k": 5, "repeat": 20, "rate": 150}
"""A shard asks for some three seconds, in which it can be disturbed."""

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1200)]


def commands(number: int) -> list[str]:
    """Return the commands of a block of the page."""
    return re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[number].splitlines()


def suite_of(root: Path) -> None:
    """Write the suite that the pods are given: this repository's own."""
    shutil.copytree(ROOT / "golden", root / "golden")
    shutil.copytree(ROOT / "baselines", root / "baselines")
    settings = yaml.safe_load((ROOT / "raggate.yml").read_text())
    kept = {key: settings[key] for key in ("suite", "golden", "vault", "gate")}
    api = {"api": {"url": "http://127.0.0.1:9000"}, "ask": SETTINGS}
    (root / "raggate.yml").write_text(json.dumps({**kept, **api}))


def prepare(cluster: Cluster, at: Path, variant: str) -> Path:
    """Write suite and kustomization as the page says, and a volume; gives the directory that the volume is."""
    cluster.kubectl("delete", "namespace", "raggate", "--ignore-not-found")  # whatever a test that failed has left
    suite_of(at / "suite")
    volume = at / "volume"
    volume.mkdir()
    volume.chmod(0o777)
    (at / "examples").mkdir()
    shutil.copytree(RECIPE, at / "examples" / "kubernetes")
    (at / "gate").mkdir()
    page = re.search(r"```yaml\n# gate/kustomization.yaml\n(.*?)```", PAGE, re.DOTALL)
    assert page is not None
    settings = yaml.safe_load(page[1])
    settings["resources"] = [name.replace("sidecar", variant) for name in settings["resources"]]
    built = [name.partition(":") for name in (image.ACTION, image.EXAMPLE_API)]
    settings["images"] = [
        {"name": entry["name"], "newName": f"docker.io/library/{name}", "newTag": tag}
        for entry, (name, _, tag) in zip(settings["images"], built, strict=True)
    ]
    (at / "gate" / "kustomization.yaml").write_text(json.dumps(settings))
    spec = {
        "capacity": {"storage": "2Gi"},
        "accessModes": ["ReadWriteMany"],
        "claimRef": {"namespace": "raggate", "name": "raggate"},
        "hostPath": {"path": str(volume), "type": "Directory"},
    }
    meta = {"name": f"volume-{variant}"}
    cluster.apply({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta, "spec": spec})
    return volume


def follow(cluster: Cluster, at: Path, lines: list[str], before: dict[str, Callable[[], object]]) -> None:
    """Run commands of the page one after the other; some have something done before them."""
    for line in lines:
        for words, act in before.items():
            if words in line:
                act()
        try:
            cluster.run(["bash", "-c", line], at)
        except (AssertionError, TimeoutError):
            print(cluster.kubectl("-n", "raggate", "get", "jobs,pods", "--output=wide"))  # noqa: T201
            print(cluster.kubectl("-n", "raggate", "get", "events"))  # noqa: T201
            raise


def asking_pod(cluster: Cluster, volume: Path, index: int) -> dict[str, Any]:
    """Wait until a shard has asked something and is not through; gives the metadata of its pod."""
    label = f"--selector=job-name=shards,batch.kubernetes.io/job-completion-index={index}"
    until = time.monotonic() + 120
    while not (pods := cluster.read("pods", "--namespace=raggate", label)["items"]):
        assert time.monotonic() < until, "there is no pod"
    directory = volume / "results" / "shards" / f"shard-{index + 1}-of-8"
    results = directory / "results.jsonl"
    while not (results.exists() and results.stat().st_size):
        assert time.monotonic() < until, "the shard asks nothing"
        time.sleep(0.02)
    assert not (directory / "results.jsonl.gz").exists()
    metadata: dict[str, Any] = pods[0]["metadata"]
    return metadata


def kill_process(pod: dict[str, Any]) -> None:
    """Kill raggate in a pod, as the kernel kills what has no memory left."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words, groups = (process / "cmdline").read_bytes(), (process / "cgroup").read_text()
        except OSError:
            continue
        if b"/opt/raggate/bin/raggate" in words and pod["uid"] in groups:
            os.kill(int(process.name), signal.SIGKILL)
            return
    pytest.fail(f"{pod['name']} runs no raggate")


def job(cluster: Cluster, at: Path, name: str, **changes: Any) -> dict[str, Any]:
    """Return the job of the shards, as the kustomization makes it, under another name and with other settings."""
    rendered = yaml.safe_load_all(cluster.run(["kubectl", "kustomize", "gate"], at).stdout)
    shards: dict[str, Any] = next(
        deepcopy(item) for item in rendered if (item["kind"], item["metadata"]["name"]) == ("Job", "shards")
    )
    shards["metadata"]["name"] = name
    shards["spec"].update({"suspend": False, **changes})
    return shards


def whole_run(cluster: Cluster, at: Path, volume: Path) -> Path:
    """Ask everything in one pod, by `raggate run`; gives its run directory."""
    one = job(cluster, at, "whole", completions=1, parallelism=1, maxFailedIndexes=1)
    words = one["spec"]["template"]["spec"]["containers"][0]["command"]
    del words[words.index("--shards") : words.index("--shards") + 2]
    words[words.index("--out") + 1] = "/results/whole"
    cluster.apply(one)
    cluster.kubectl("-n", "raggate", "wait", "job/whole", "--for=condition=Complete", "--timeout=5m")
    (directory,) = (volume / "results" / "whole").iterdir()
    return directory


@pytest.mark.parametrize("variant", ["sidecar", "service"])
def test_the_server_takes_every_manifest(cluster: Cluster, tmp_path: Path, variant: str) -> None:
    """A dry run of the server has nothing against a manifest, and refuses a word that it does not know."""
    cluster.kubectl("apply", "--filename", str(RECIPE / "base" / "namespace.yaml"))
    made = cluster.kubectl("apply", "--dry-run=server", "--kustomize", str(RECIPE / variant))
    kinds = {document["kind"] for document in _documents(cluster, variant)}
    assert len(made.splitlines()) == len(_documents(cluster, variant))
    assert {"Job", "NetworkPolicy", "PersistentVolumeClaim", "Pod"} <= kinds
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(
        (RECIPE / "base" / "shards.yaml").read_text().replace("backoffLimitPerIndex", "backoffLimitPerShard")
    )
    done = cluster.run(
        ["kubectl", "apply", "--dry-run=server", "-n", "raggate", "-f", str(wrong)], tmp_path, check=False
    )
    assert "backoffLimitPerShard" in done.stderr
    assert done.returncode == 1


def _documents(cluster: Cluster, variant: str) -> list[dict[str, Any]]:
    return [*yaml.safe_load_all(cluster.kubectl("kustomize", str(RECIPE / variant)))]


def test_eight_shards_on_pods_are_one_run(cluster: Cluster, tmp_path: Path) -> None:
    """The page's commands: a deleted pod and a killed process are made up for, and the merge is the unsharded run."""
    volume = prepare(cluster, tmp_path, "sidecar")

    faults: list[Future[None]] = []

    def delete_pod() -> None:
        pod = asking_pod(cluster, volume, 2)
        cluster.kubectl("-n", "raggate", "delete", "pod", pod["name"], "--grace-period=1", "--wait=false")

    def disturb() -> None:
        faults.append(pool.submit(lambda: kill_process(asking_pod(cluster, volume, 5))))
        faults.append(pool.submit(delete_pod))

    *lines, delete = commands(0)
    with ThreadPoolExecutor(2) as pool:
        follow(cluster, tmp_path, lines, {"patch job/shards": disturb})
    for fault in faults:
        fault.result()
    shards = tmp_path / "results" / "shards"
    assert {path.name for path in shards.iterdir()} == {
        *(f"shard-{number}-of-8" for number in range(1, 9)),
        "shard-3-of-8-attempt-2",
        "shard-6-of-8-attempt-2",
    }
    assert not (shards / "shard-6-of-8" / "results.jsonl.gz").exists()
    (merged,) = (tmp_path / "results" / "runs").iterdir()
    assert contents(merged) == contents(whole_run(cluster, tmp_path, volume))
    (verdict,) = (tmp_path / "results" / "verdicts").glob("*/verdict.json")
    assert json.loads(verdict.read_text())["exit_code"] == 0
    refuses_another_suite(cluster, tmp_path, volume)
    cluster.run(["bash", "-c", delete], tmp_path)


def refuses_another_suite(cluster: Cluster, at: Path, volume: Path) -> None:
    """A shard with an unusable golden set ends after one try, says why and leaves nothing."""
    golden = at / "suite" / "golden" / "eval_set.jsonl"
    golden.write_text("no JSON\n")
    cluster.run(["kubectl", "-n", "raggate", "cp", "suite", "files:/files"], at)
    before = sorted((volume / "results" / "shards").iterdir())
    cluster.apply(job(cluster, at, "wrong", completions=2, parallelism=2, maxFailedIndexes=2))
    cluster.kubectl("-n", "raggate", "wait", "job/wrong", "--for=condition=Failed", "--timeout=2m")
    status = cluster.read("job/wrong", "--namespace=raggate")["status"]
    assert (status["failedIndexes"], status.get("succeeded", 0), status["failed"]) == ("0,1", 0, 2)
    log = cluster.kubectl("-n", "raggate", "logs", "--selector=job-name=wrong", "--container=raggate", "--tail=-1")
    assert log.count("eval_set.jsonl:1: ") == 2
    assert sorted((volume / "results" / "shards").iterdir()) == before


def test_shards_share_an_api_by_its_name(cluster: Cluster, tmp_path: Path) -> None:
    """One API for all shards, behind a service: its commands come before the shards, and the verdict is a pass."""
    prepare(cluster, tmp_path, "service")
    lines = commands(0)
    place = next(number for number, line in enumerate(lines) if "job/shards" in line)
    lines[place:place] = commands(1)
    follow(cluster, tmp_path, lines, {})
    (verdict,) = (tmp_path / "results" / "verdicts").glob("*/verdict.json")
    assert json.loads(verdict.read_text())["exit_code"] == 0
