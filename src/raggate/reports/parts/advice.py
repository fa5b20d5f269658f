"""What to do next: one line for each verdict, which names a command or a key. Not escaped; keys are in backticks."""

from __future__ import annotations

import re

from raggate.base.quote import cut
from raggate.config.schema import Config
from raggate.models.comparison import Flip
from raggate.models.run import Run
from raggate.models.verdict import Review
from raggate.reports.parts import reasons

RED = ("regression", "failed in part")

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}")
"""Ids that need no quotes in a shell and are no options."""

_ON_PURPOSE = "promote a run without it: `raggate promote latest --allow-regression --reason TEXT`."
_BY_CODE = {
    "stopped": "read the end of {log}. `raggate probe` shows whether the API starts, and what its answer lacks. Then "
    "run the job again.",
    "too-many-errors": "run `raggate probe` to see what an answer lacks, and read {log}. If calls time out, lower "
    "`ask.concurrency` or raise `ask.timeout`.",
    "base-fails-too": "if the base branch answers as it should, promote a run of it. Otherwise find what changed since "
    "the baseline: code, data, a model or a dependency.",
    "not-confirmed": "measure how noisy the API is with `raggate calibrate`, and promote that run. Or find out why the "
    "same question gets different answers.",
    "vanished": f"ask and score it again. If it is gone on purpose, {_ON_PURPOSE}",
    "vault-changed": "promote a run over today's notes. Or let changed notes pass with a warning: "
    "`gate.on_vault_change: warn`.",
    "zero-cases": "run `raggate lint`: it shows whether `golden` has questions for the modes in `ask.modes`.",
    "not-asked": "run the job again: the results in the run directory lack some questions.",
    "no-match": "make the API and the golden set name notes and headings in the same way. Until then nothing can be "
    "scored.",
    "breaks-gate": "correct the file that is named above. `raggate lint` checks it before you push.",
    "retires-suite": "put the configuration back. If you want to end this suite, merge against this check.",
    "little-overlap": "run the version of the baseline with today's questions, and promote that run.",
    "index-smaller": f"find out what the index lacks, then run the job again. If you left out notes on purpose, "
    f"{_ON_PURPOSE}",
    "field-vanished": f"let the API return it again. If it is gone on purpose, {_ON_PURPOSE}",
}
"""Code of the reason that comes first -> what to do; `{log}` stands for where the API's output is."""

_BY_OUTCOME = {
    "invariant broken": "correct what is named under each invariant, or set its level in `invariants`. Then run it "
    "again.",
    "interrupted": "run the job again: it was cancelled before it had a verdict.",
}
_NO_VERDICT = "correct what is named above, then run the job again. The check stays red until then."

LOOK_FIRST = "Look at the numbers and at the questions that were not found. Later changes are compared with them."
_ANEW = (
    "This run does not pass with the baseline of this pull request. Promote a run of this build, and commit the new "
    "baseline: `raggate promote latest`."
)
MATCH_FIRST = (
    "Make the API and the golden set name notes and headings in the same way. Until then nothing can be scored, and "
    "promotion is refused."
)


def next_step(review: Review, lists: str = "in `report.html`") -> str:
    """Return it; empty for a pass, and where a first run has its own steps. `lists` is where both lists are shown."""
    verdict = review.verdict
    if verdict.outcome in {"pass", "partial"} or not verdict.reasons or review.context.first_run:
        return ""
    if verdict.outcome in RED:
        return _regression(review, lists)
    if verdict.outcome in _BY_OUTCOME:
        return _BY_OUTCOME[verdict.outcome]
    codes = [reason.code for reason in verdict.reasons]
    if set(codes) <= {"no-baseline"}:
        return ""
    step = next((_BY_CODE[code] for code in codes if code in _BY_CODE), _NO_VERDICT)
    place = log_place(review.run)
    return step.replace("{log}", place.replace("api.log", "`api.log`") or "the API's own log")


def log_place(run: Run) -> str:
    """Where all that the API of a run wrote is; empty where raggate did not start it, and so has no log of it."""
    if not isinstance(run.config, Config) or run.config.api.url is not None or run.config.ask.runs_program:
        return ""
    # a run that was judged later is in a directory of its own, beside which no API ran
    return "api.log where the run was measured" if run.provenance.measured else "api.log in the run directory"


def _regression(review: Review, lists: str) -> str:
    codes = {reason.code for reason in review.verdict.reasons}
    if codes == {"waiver-expired"}:
        return "remove the expired entry from `waivers`, or give it a later `expires`. Then push again."
    # with --against the keys are those of the commit, not of the files here
    how = "which counts after the merge" if review.judged_by else "or promote this run with `--allow-regression`"
    end = f"If you accept the loss, add it under `waivers`, {how}."
    # where raggate.yml can mend it, a look at one question shows no more
    stops = next((reach.why for reach in review.comparison.reach if reach.by_text and not reach.matches), "")
    if stops:
        return f"correct what stops every question. {stops[:1].upper()}{stops[1:]}. {end}"
    first = first_red(review)
    if first is None:
        return f"run it again. {end}"
    # a backtick in an id would begin or end a key
    name = cut(first.case_id, limit=80).replace("`", "'")
    return f"ask question {name}, then compare its two lists {lists}. {end}"


def command(review: Review) -> str:
    """Return the command that repeats a run: of a regression, with the first question that broke alone."""
    whole, first = review.run.provenance.reproduce, first_red(review)
    alone = whole and review.verdict.outcome in RED and review.run.selection is None
    return f"{whole} --case {first.case_id}" if alone and first and _PLAIN.fullmatch(first.case_id) else whole


def first_red(review: Review) -> Flip | None:
    """Return the question to look at first: one that the named cause explains, must-pass and broken ones first."""
    fallen = [flip for flip in review.fallen if not flip.waived]
    lost = [flip for flip in review.comparison.flips if flip.kind != "fixed" and not flip.waived]
    explains = review.diagnosis.explains if review.diagnosis is not None else frozenset()
    explained = [[flip for flip in flips if (flip.mode, flip.case_id) in explains] for flips in (lost, fallen)]
    groups = reasons.grouped(explained[0] or explained[1] or lost or fallen)
    first = next(iter(groups.values()), [])
    return next((flip for flip in first if flip.must_pass), first[0] if first else None)


def first_steps(review: Review) -> list[str]:
    """Return the steps after a run that there is no baseline for."""
    nothing = any(reason.code == "no-match" for reason in review.verdict.reasons)
    merge = ["Merge this while the check is not required yet."] if review.context.first_run else []
    if review.context.brings:
        anew = [] if review.context.brings == "pass" else [_ANEW]
        return [LOOK_FIRST, *anew, *merge, "Then require the check."]
    end = ", then require the check" if merge else ""
    promote = f"Promote a baseline with `raggate promote latest` or the promotion workflow{end}."
    return [MATCH_FIRST if nothing else LOOK_FIRST, *merge, promote]
