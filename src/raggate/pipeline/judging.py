"""Whether the answers of a run are judged, and the step that does it; nothing of judges is loaded where not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from raggate.inputs.trusted import Inputs
from raggate.models.run import Run
from raggate.pipeline import run_directory
from raggate.pipeline.request import Request


def ready(request: Request, inputs: Inputs, directory: Path) -> Callable[[Run], Run]:
    """Make the judges of a run ready, and give what adds to a run what they say of its answers."""
    settings = inputs.config.judging
    if settings is None:
        if inputs.config.judges is not None:
            request.say("nothing is judged: `judges` grades answers, but `ask.retrieval_only: true` asks for none")
        return unjudged

    from raggate.pipeline.jury import Jury, write_labels

    jury = Jury.of(request, inputs, directory, settings)

    def judged(run: Run) -> Run:
        if run.stopped is not None:
            return run
        # with whole texts, so that it can be judged although this process may be killed
        run_directory.write(directory, run, full_text=True)
        graded = jury.judge(run)
        write_labels(directory, graded)
        return graded

    return judged


def check_files(inputs: Inputs) -> None:
    """Refuse inputs whose cassette or canary set nobody could be judged by."""
    if inputs.config.judging is not None:
        from raggate.pipeline.jury import graded_by_people, stored_replies

        stored_replies(inputs.cassette)
        graded_by_people(inputs.canary, inputs.config.judging)


def unjudged(run: Run) -> Run:
    """Return a run as it is."""
    return run
