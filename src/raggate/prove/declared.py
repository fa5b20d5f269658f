"""The faults that a configuration declares: what the API is booted again with, or built again from."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from raggate.config.proof_settings import DeclaredFault
from raggate.config.service_settings import Api
from raggate.errors import UsageError
from raggate.inputs import git
from raggate.inputs.trusted import Inputs
from raggate.pipeline.booted import Build
from raggate.pipeline.request import Request
from raggate.text.files import read_file
from raggate.text.quote import cut, quoted
from raggate.text.scratch import scratch_directory

MAX_PATCH_BYTES = 16 << 20
MAX_COPY_BYTES = 4 << 30
TIMEOUT_S = 60

_NO_OBJECT = "0" * 40


@contextmanager
def patched_copy(root: Path, patch: str, name: str) -> Iterator[Path]:
    """Copy the files of a directory that git does not ignore, apply a patch to the copy, and remove it on leaving.

    Args:
        root: absolute directory of the configuration, in a git checkout.
        patch: the patch, relative to it; its paths are relative to it too.
        name: what messages call the key that names the patch.

    Raises:
        UsageError: without git or a checkout, for a patch that cannot be read, leads elsewhere or does not apply, and
            for too many bytes to copy.
    """
    content = _read_patch(root, patch, name)
    with scratch_directory() as folder:
        copy = folder / (root.name or "project")
        _copy_files(root, copy, name)
        _apply(content, copy, f"{name} ({quoted(patch)})")
        yield copy


def _read_patch(root: Path, patch: str, name: str) -> bytes:
    path = root / patch
    if not path.resolve().is_relative_to(root.resolve()):
        raise UsageError(f"{name}: {quoted(patch)} leads out of the directory of the configuration")
    return read_file(
        path, f"{name} names it, relative to the configuration.", most_bytes=MAX_PATCH_BYTES, name=Path(patch)
    )


def _copy_files(root: Path, copy: Path, name: str) -> None:
    checkout = git.find(root)
    if checkout is None:
        raise UsageError(
            f"{name}: {cut(root.name)} is not in a git checkout, so raggate cannot tell which files are source",
            hint="Declare the fault by `env`, or put the project into git.",
        )
    prefix = os.path.relpath(root.resolve(), checkout.top.resolve())
    purpose = f"{name} needs it to copy the source and patch it"
    with git.reading(checkout, like=_NO_OBJECT, purpose=purpose) as reader:
        listed = reader.listed(prefix)
    copy.mkdir()
    size = 0
    for path in listed:
        source = checkout.top / path
        if not source.is_symlink() and not source.is_file():
            # what is listed as a directory is a repository of its own
            continue
        size += source.lstat().st_size
        if size > MAX_COPY_BYTES:
            raise UsageError(f"{name}: the files that git does not ignore have more than {MAX_COPY_BYTES} bytes")
        target = copy / os.path.relpath(path, prefix)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target, follow_symlinks=False)


def _apply(patch: bytes, copy: Path, name: str) -> None:
    program = shutil.which("git") or "git"
    try:
        done = subprocess.run(
            [program, "apply", "--whitespace=nowarn", "-"],
            cwd=copy,
            env=_environment(copy),
            input=patch,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(f"{name}: git took longer than {TIMEOUT_S} s to apply it") from None
    if done.returncode != 0:
        raise UsageError(
            f"{name}: does not apply: {git.stderr_line(done)}",
            hint="Write it anew in the directory of the configuration: `git diff --relative > FILE`.",
        )


def _environment(copy: Path) -> Mapping[str, str]:
    """Keep git from every repository around the copy, and from settings that a person has."""
    return {
        "PATH": os.defpath,
        "LC_ALL": "C",
        "HOME": "/nonexistent",
        "GIT_CEILING_DIRECTORIES": str(copy.parent),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }


def check_declared(request: Request, inputs: Inputs) -> None:
    """Refuse faults that cannot be made, before anything is started.

    Raises:
        UsageError: naming the key.
    """
    settings = inputs.config
    for place, fault in enumerate(settings.prove.faults):
        name = f"{request.config_place}: prove.faults[{place}]"
        if settings.api.url is not None:
            raise UsageError(
                f"{name}: with api.url the API is started by somebody else, so it cannot be booted with a fault",
                hint="Let raggate start it (`api.command` or `api.container`), or take the fault out.",
            )
        if fault.patch is None:
            continue
        if not _built(settings.api):
            raise UsageError(
                f"{name}: a patch needs an API that is built from source, by api.command.build or api.container.build",
                hint="Declare the fault by `env`.",
            )
        with patched_copy(request.root, fault.patch, f"{name}.patch"):
            pass


def _built(api: Api) -> bool:
    if api.container is not None:
        return api.container.build is not None
    # what is interpreted is its own source
    return api.command is not None or api.program is not None


@contextmanager
def with_fault(request: Request, inputs: Inputs, fault: DeclaredFault, place: int) -> Iterator[Build]:
    """Return the build of the API that has a fault.

    Raises:
        UsageError: when the patch does not apply.
    """
    if fault.patch is None:
        yield Build(api=_with_environment(inputs.config.api, fault.env), root=request.root, name=fault.name)
        return
    with patched_copy(request.root, fault.patch, f"{request.config_place}: prove.faults[{place}].patch") as copy:
        source = f"{fault.name} of {request.root}"
        yield Build(api=inputs.config.api, root=copy, name=fault.name, source=source)


def _with_environment(api: Api, environment: dict[str, str]) -> Api:
    """Return the settings by which the API has these variables, in place of those of its own."""
    kind = next(name for name in ("command", "container", "program") if getattr(api, name) is not None)
    backend = getattr(api, kind)
    return api.model_copy(update={kind: backend.model_copy(update={"env": {**backend.env, **environment}})})
