"""What `make cluster` and `make field` say if something cannot be built or installed: a skip that names it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from cluster import cluster
from field import conftest as field

BUILD = Path(cluster.__file__).with_name("build")


def program(path: Path, script: str = "") -> None:
    """Write a program that stands for another."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with all that `tests/cluster/build` compiles, on a machine whose apt-get fails."""
    directory, tools = tmp_path / "built", tmp_path / "tools"
    for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubectl", "pause"):
        program(directory / "bin" / name)
    program(directory / "bin" / "kubelet", "echo Kubernetes v1.34.2")
    program(directory / "bin" / "coredns", "echo CoreDNS-1.12.4")
    for name, script in {"go": "", "dpkg-deb": "", "apt-get": "exit 100"}.items():
        program(tools / name, script)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setattr(cluster, "BUILT", directory)
    monkeypatch.setattr(os, "getuid", lambda: 0)
    monkeypatch.setattr(cluster.image, "base", lambda: "base:1")
    return directory


def test_a_cluster_whose_last_step_failed_is_not_built(built: Path) -> None:
    """Without Debian's packages the tests are skipped with that reason, also if an earlier build had finished."""
    (built / "ready").touch()
    assert subprocess.run([BUILD, built], capture_output=True, check=False).returncode == 100
    assert cluster.missing().endswith("tests/cluster/build did not finish")
    program(built / "debian" / "usr" / "bin" / "etcd")
    assert subprocess.run([BUILD, built], capture_output=True, check=False).returncode == 0
    assert cluster.missing() == ""


def test_a_base_image_that_cannot_be_made_is_named(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without debootstrap the tests of the cluster are skipped, and the reason says so."""

    def base() -> str:
        raise RuntimeError("base-image.sh: debootstrap is not installed")

    (built / "ready").touch()
    monkeypatch.setattr(cluster.image, "base", base)
    assert cluster.missing().endswith("cannot be made: base-image.sh: debootstrap is not installed")


def test_an_engine_that_is_not_installed_names_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With Python 3.11 the hybrid search says that it needs a newer one, and not to run the command just run."""
    monkeypatch.delenv("RAGGATE_REQUIRE_FIELD", raising=False)
    monkeypatch.setattr(field, "FIELD", tmp_path)
    with pytest.raises(pytest.skip.Exception, match=r"if there is Python 3\.12 or newer \(FIELD_PYTHON=python3\.12\)$"):
        field.installed_hybrid()
