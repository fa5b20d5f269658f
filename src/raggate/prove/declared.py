"""The faults that a configuration declares: what the API is booted again with, or built again from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from raggate.config.proof_settings import DeclaredFault
from raggate.config.service_settings import Api
from raggate.errors import UsageError
from raggate.inputs.trusted import Inputs
from raggate.pipeline.booted import Build
from raggate.pipeline.request import Request
from raggate.prove.patched_copy import patched_copy


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
    """Give the build of the API that has a fault.

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
    """Give the settings by which the API has these variables, in place of those of its own."""
    kind = next(name for name in ("command", "container", "program") if getattr(api, name) is not None)
    backend = getattr(api, kind)
    return api.model_copy(update={kind: backend.model_copy(update={"env": {**backend.env, **environment}})})
