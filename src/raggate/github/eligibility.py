"""A measured run and the trusted inputs of a branch -> whether they made it, and the baseline it would be."""

from __future__ import annotations

import hashlib

from msgspec.structs import replace

from raggate.config.schema import Config
from raggate.errors import CannotTell
from raggate.gate import promote
from raggate.inputs.trusted import Inputs
from raggate.models.promotion import BaselineCandidate
from raggate.models.run import Run
from raggate.pipeline import check
from raggate.pipeline.trusted_inputs import read_baseline
from raggate.text.jsonio import dumps
from raggate.text.quote import cut

ALLOW = "`allow-regression: true`, with a reason that says why"
"""What accepts a lower value, in a workflow."""

MEASURE_AGAIN = "Measure again at the head of the branch: promote without `run-id`."


def check_measured(run: Run, inputs: Inputs, commit: str, which: str) -> None:
    """Check that a run was measured by the trusted inputs, of an unchanged checkout of one commit.

    Args:
        inputs: the trusted inputs.
        commit: full id of the commit that was checked out.

    Raises:
        CannotTell: naming what differs.
    """
    differing = {
        "it is of another suite": (run.suite, inputs.config.suite),
        "it was measured by another golden set than the branch has now": (
            run.fingerprint.get("golden"),
            inputs.golden.hash,
        ),
        "its questions are not those of the golden set it names": (run.golden.hash, inputs.golden.hash),
        "it was measured by another vault than the branch has now": (run.fingerprint.get("vault"), inputs.vault.hash),
        "it was measured by another configuration than the branch has now": (
            configuration_hash(run.config) if isinstance(run.config, Config) else None,
            configuration_hash(inputs.config),
        ),
    }
    for difference, (value, expected) in differing.items():
        if value != expected:
            shown = f"expected {cut(expected, limit=80)}, found {cut(value, limit=80)}"
            raise CannotTell(f"{which} cannot become the baseline: {difference}: {shown}", hint=MEASURE_AGAIN)
    checkout = run.provenance.checkout
    if checkout.commit != commit:
        raise CannotTell(
            f"{which} cannot become the baseline: it measured a checkout of "
            f"{cut(checkout.commit, limit=12)}, expected {commit[:12]}",
            hint=MEASURE_AGAIN,
        )
    if checkout.dirty is not False:
        raise CannotTell(
            f"{which} cannot become the baseline: files of its checkout had been changed",
            hint="Let no step before raggate change files that are in git.",
        )


def configuration_hash(settings: Config) -> str:
    """Return the hash of everything in a configuration that decides what is measured and how it is judged.

    Where run directories go, what is waived, and which build of the API is measured are not part of it.
    """
    values = settings.model_dump(
        mode="json", exclude={"out": True, "waivers": True, "api": {"url": True, "container": {"image", "build"}}}
    )
    return hashlib.sha256(dumps(values)).hexdigest()


def image_of(run: Run) -> str:
    """Return the container image of the API: as the engine knew it, or as the configuration names it by digest.

    Empty when neither is known, as in run directories of earlier versions.
    """
    if run.provenance.api_image:
        return run.provenance.api_image
    container = run.config.api.container if isinstance(run.config, Config) else None
    image = container.image if container is not None else None
    return image if image is not None and "@sha256:" in image else ""


def propose(run: Run, trusted: Inputs, terms: promote.Terms) -> BaselineCandidate:
    """Say what the baseline will be: what `raggate promote` says and writes, to the byte, of the same run.

    Args:
        trusted: the inputs at the head of the branch; their policy and baseline count.
        terms: why, by whom, and whether lower values are accepted.

    Raises:
        CannotTell: for a run that was not measured well enough.
        UsageError: for a run that is worse and not accepted as that, or a baseline that cannot be read.
    """
    terms = replace(terms, permission=ALLOW)
    return check.propose(run, trusted.config, terms, lambda: read_baseline(trusted))
