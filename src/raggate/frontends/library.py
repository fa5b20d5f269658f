"""`raggate.check` for programs: arguments -> Request -> pipeline -> the verdict. Nothing is printed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from raggate.models.public_verdict import Verdict


def check(
    config: str | Path = "raggate.yml",
    *,
    against: str | None = None,
    api_url: str | None = None,
    api_image: str | None = None,
    baseline: str | Path | None = None,
    out: str | Path | None = None,
    environment: Mapping[str, str] | None = None,
    retriever: object | None = None,
    say: Callable[[str], None] | None = None,
) -> Verdict:
    """Do what `raggate check` does, in this process: boot the API, ask the questions, compare, and decide.

    Args:
        against: read configuration, golden set, vault and baseline from this git revision.
        api_url: gate an API that runs at this address already.
        environment: the variables that the configuration may name; those of the process by default.
        retriever: a search function or retriever of this process, asked in place of the program that the configuration
            starts: all that `raggate init --python` takes. It could change the verdict, so this is no trusted gate.
        say: hears what is done, a line at a time; nobody by default.

    Raises:
        raggate.RunFailed: when there is no verdict (a regression is one). Its `exit_code` is 2 if you have to change
            something, 3 if the API could not be measured. Its `directory` is None if no run has begun.
    """
    import io

    from raggate.config.overrides import Overrides
    from raggate.pipeline import check as pipeline
    from raggate.pipeline.request import Request, Voice, unheard
    from raggate.reports.progress import Progress
    from raggate.reports.verdict_file import verdict_of

    _refuse_event_loop()
    _refuse_no_names({"config": config, "against": against, "baseline": baseline, "out": out})
    request = Request(
        config_file=Path(config),
        environment=dict(os.environ if environment is None else environment),
        voice=Voice(say=say or unheard, progress=lambda: Progress(io.StringIO())),
        overrides=Overrides(api_url=api_url, api_image=api_image, in_process=retriever is not None),
        against=against,
        out=None if out is None else Path(out),
        baseline_file=None if baseline is None else Path(baseline),
        retriever=retriever,
    )
    done = pipeline.check(request)
    return verdict_of(done.review, done.directory)


def _refuse_event_loop() -> None:
    """Refuse to be called by what an event loop runs."""
    import asyncio

    from raggate.base.errors import UsageError
    from raggate.pipeline.request import RunFailed

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    hint = "Call it from a plain function, or in a thread: `await asyncio.to_thread(raggate.check)`."
    raise RunFailed(UsageError("raggate.check cannot be called where an event loop runs", hint=hint), suite="")


def _refuse_no_names(arguments: Mapping[str, str | Path | None]) -> None:
    """Refuse characters that the name of no file and no revision has."""
    from raggate.base.errors import UsageError
    from raggate.base.quote import quoted
    from raggate.pipeline.request import RunFailed

    for argument, value in arguments.items():
        try:
            usable = b"\0" not in os.fsencode(value or "")
        except UnicodeEncodeError:
            usable = False
        if not usable:
            problem = f"{argument}: expected a name without null bytes and lone surrogates, found {quoted(value)}"
            raise RunFailed(UsageError(problem), suite="")
