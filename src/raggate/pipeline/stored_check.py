"""A run directory that was measured before, perhaps elsewhere -> its verdict, by the trusted inputs.

The directory is only read: what the run comes to stands in a new one, with the configuration that judged it.
"""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path

from msgspec.structs import replace

from raggate.errors import CannotTell, UsageError
from raggate.gate import waivers
from raggate.gate.promote import OF_THE_SUITE
from raggate.inputs import sources
from raggate.inputs.trusted import Inputs
from raggate.models.golden import EVERYTHING
from raggate.models.provenance import Checkout, Provenance, commit_words, exact_image
from raggate.models.run import Run
from raggate.pipeline import check, claimed_run, judging, measured_run, run_directory
from raggate.pipeline.request import CheckResult, Request
from raggate.pipeline.run_place import run_place
from raggate.pipeline.trusted_inputs import load_inputs, read_baseline
from raggate.text.dates import moment, stamp
from raggate.text.jsonio import JsonObject, dumps, fields, loads
from raggate.text.quote import cut, quoted

MEASURING = ("suite", "golden", "vault", "private", "api", "ask")
"""The sections of a configuration by which a run is measured; the others judge."""

_SAME = (
    "Give `check --run` the files and flags that the run was measured by (--config, --against, --api-url), or measure "
    "again."
)
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_VERSION = re.compile(r"[0-9A-Za-z.+-]{1,40}")


def check_run(request: Request, directory: Path) -> CheckResult:
    """Judge a run directory, as `check` judges what it has asked.

    Args:
        directory: the run directory; nothing in it is trusted.

    Raises:
        RunFailed: for a directory that cannot be read, or a run that these inputs cannot judge.
    """
    with load_inputs(request) as inputs:
        if request.choice != EVERYTHING:
            raise UsageError(f"{request.choice.words}: a run is judged as a whole", hint="Leave it out with --run.")
        waivers.check_cases(inputs.config, inputs.golden, request.config_place)
        baseline = read_baseline(inputs)
        claimed = run_directory.read(directory, config=inputs.config)
        if claimed.selection is not None:
            hint = "Ask all questions, or let `raggate check` ask the same part and judge it."
            raise UsageError(f"the run is {claimed.selection.sentence}: it is not judged as a whole one", hint=hint)
        origin = run_directory.stored_provenance(directory)
        _refuse_other_command(origin)
        _refuse_other_commit(origin, sources.commit_of(request.root, request.remote))
        _refuse_other_config(run_directory.stored_config(directory), inputs)
        run = claimed_run.accepted(claimed, inputs, reproduce=request.reproduce, hint=_SAME)
        _refuse_cut_texts(run, inputs)
        measured = _measured(origin.measured or claimed.started, run.started)
        with ExitStack() as stack:
            place = run_place(stack, request, inputs, run.started)
            blank = measured_run.blank_run(place, run.started, request, inputs, command="check")
            provenance = _provenance(origin, blank.provenance)
            run = replace(run, run_id=place.name, provenance=replace(provenance, measured=measured))
            judged = judging.ready(request, inputs, place)(run)
            scorecard = measured_run.write(place, judged, request, inputs.config)
            return check.conclude(request, inputs, baseline, place, judged, scorecard, source=directory)


def _refuse_other_command(origin: Provenance) -> None:
    """Refuse a run that says that it is of another build than the configuration's, or asked otherwise than `run`."""
    if origin.build or origin.command not in {None, *OF_THE_SUITE}:
        raise UsageError(
            f"the run is one of `raggate {origin.command}`, which `check` does not judge",
            hint="Name one of `raggate merge`, `raggate run` or `raggate check`.",
        )


def _refuse_other_commit(origin: Provenance, here: str | None) -> None:
    """Refuse a run of another commit, or of none: its verdict would be taken for one on what is checked out here."""
    measured = origin.checkout.commit
    if here and measured != here:
        raise CannotTell(
            f"the run was measured at {commit_words(measured)}, and {cut(here, limit=12)} is checked out here",
            hint="Check out the commit that was measured, or measure again. `raggate compare` holds an older run "
            "against another baseline or policy.",
        )


def _refuse_other_config(stored: JsonObject, inputs: Inputs) -> None:
    trusted = loads(dumps(inputs.config.model_dump(mode="json")))
    differing = [key for key in MEASURING if stored.get(key) != trusted[key]]
    # every key is stored, those at their default too
    versions = [
        key for key in ("private", "api", "ask") if fields(stored.get(key)).keys() != fields(trusted[key]).keys()
    ]
    if differing and {*differing} <= {*versions}:
        raise CannotTell(
            f"the run was measured by a version of raggate that has other settings in {' and '.join(differing)}",
            hint="Let that version judge it, or measure again.",
        )
    if differing:
        raise CannotTell(
            f"the run was measured by another configuration than the one that judges it: {', '.join(differing)} "
            f"{'differs' if len(differing) == 1 else 'differ'}",
            hint=_SAME,
        )


def _refuse_cut_texts(run: Run, inputs: Inputs) -> None:
    """Refuse to have judges grade what is not there any more: their own grades are no part of what is believed."""
    if inputs.config.judging is not None and any(item.labels.truncated for item in (*run.results, *run.repeats)):
        raise CannotTell(
            "judges need whole texts, and the run was kept without them",
            hint="Measure again with --store-full-text, or with the judges configured, which keeps them too.",
        )


def _measured(claimed: str, judged: str) -> str:
    """Return when a run was asked, as it says itself, and not after it was judged."""
    asked, now = moment(claimed), moment(judged)
    if asked is None or now is None:
        raise UsageError(f"started: expected when the run was asked, found {quoted(claimed)}", hint=_SAME)
    return stamp(min(asked, now))


def _provenance(claimed: Provenance, own: Provenance) -> Provenance:
    """Return where a run comes from as it says itself, in words of raggate's alone; what judges it is known here."""
    commit = claimed.checkout.commit
    checkout = claimed.checkout if commit is not None and _COMMIT.fullmatch(commit) else Checkout()
    version = claimed.raggate_version
    return replace(
        own,
        raggate_version=version if version is not None and _VERSION.fullmatch(version) else None,
        checkout=checkout,
        api_image=exact_image(claimed.api_image),
        resumed=claimed.resumed,
    )
