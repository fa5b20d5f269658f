"""A repository -> raggate.yml, a workflow, who reviews them, and an example golden set if it has none."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from raggate.base.errors import UsageError
from raggate.base.escape import log_line
from raggate.base.numbers import counted
from raggate.cli import first_config
from raggate.cli.options import PATH, request_of
from raggate.frontends import console
from raggate.models.answer import Answer

if TYPE_CHECKING:
    from raggate.frontends.answers import Initialised

WORKFLOW = ".github/workflows/rag-gate.yml"
PLACEHOLDER = "OWNER/raggate@REF"
"""Stands in the workflow for the action, until somebody says which one."""

_CONFIG = "raggate.yml"
_TARGETS = {_CONFIG: _CONFIG, "rag-gate.yml": WORKFLOW}
_EXAMPLES = {"eval_set.jsonl": "golden/eval_set.jsonl", "Sourdough.md": "golden/vault/notes/Recipes/Sourdough.md"}
_OF_A_CONTAINER = (
    "      - name: Build the API's image\n        run: docker build --tag my-api:change .\n",
    "        with:\n          api-image: my-api:change\n",
)
"""Parts of the workflow that stand for an API in a container: the action refuses an image for any other."""
_STARTED = {
    "url": "Check: `api.url` is an API that runs already, so a change to its code is not measured. For pull requests "
    "let raggate start it: `api.container`.",
    "command": "Check: the workflow runs the change's code as the user of its job, with a token that only reads. "
    "Install there what it needs. For code that you have not read, use `api.container`.",
    "container": "Check: `api.container` starts the API from your Dockerfile. Its `env` must say where the notes are: "
    '`VARIABLE: "{vault.NAME}"`.',
    "container over stdio": "Check: it runs in the image of your Dockerfile, without network, and writes only to "
    "/tmp. docs/containers.md has the keys that allow more.",
}
"""What is left to do by how the API is started."""
IGNORED = ".dockerignore"
"""Keeps what judges the API out of its image."""

_ACTION = re.compile(r"[A-Za-z0-9-]+/[A-Za-z0-9._-]+@[0-9a-f]{40}")
_OWNERS = re.compile(r"@[A-Za-z0-9-]+(/[A-Za-z0-9._-]+)?( @[A-Za-z0-9-]+(/[A-Za-z0-9._-]+)?)*")
_CODEOWNERS = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
"""Where GitHub looks: it obeys the first of these alone, so a new one would switch the others off."""
_ALWAYS_OWNED = ("/.github/", "/.dockerignore")


@click.command()
@click.argument("directory", type=PATH, default=Path())
@click.option(
    "--action", default="", metavar="OWNER/raggate@SHA", help="Use this release in the workflow, by its full commit id."
)
@click.option(
    "--owners", default="", metavar="@ORG/TEAM", help="Write CODEOWNERS: they review gate, questions and notes."
)
@click.option("--preset", metavar="NAME", help="Use the settings of a known engine: opensearch, weaviate, r2r, …")
@click.option(
    "--probe", default="", metavar="URL|COMMAND", help="Call this address, or start this MCP server, for its settings."
)
@click.option("--python", default="", metavar="MODULE:NAME", help="Ask this function or retriever: rag.search:build.")
@click.option("--program", default="", metavar="COMMAND", help="Ask this program in lines of JSON (docs/functions.md).")
@click.option("--tool", default="", metavar="NAME", help="Search with this tool of the MCP server.")
@click.option(
    "--body", default="", metavar="JSON", help='What --probe sends: \'{"utterance": "{question}", "size": "{k}"}\'.'
)
@click.option("--health", default="", metavar="PATH", help="Path that answers 200 when the API is up.")
@click.option("--vault", type=PATH, help="Use your notes in this directory, instead of an example.")
@click.option("--question", default="", metavar="TEXT", help="What --probe asks.")
@click.option(
    "--map", "fields", multiple=True, metavar="PART=PATH", help="Where a part of a passage is: rel_path=file."
)
@click.option(
    "--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="Send this header: 'X-API-Key: {env.API_KEY}'."
)
@click.option("--force", is_flag=True, help="Replace existing files.")
@click.pass_obj
def init(
    environment: dict[str, str],
    /,
    directory: Path,
    action: str,
    owners: str,
    vault: Path | None,
    *,
    force: bool,
    **known: Any,
) -> Answer[Initialised]:
    """Write raggate.yml, a workflow, and example questions.

    A golden set that is there is used, and stays as it is: raggate.yml names it, and the directory of its notes.

    In a repository that has raggate.yml, --owners alone writes CODEOWNERS, for the files of every suite.

    With --probe the API is called, its OpenAPI document is read if it has one, and its answer is recognised; what
    cannot be recognised is reported, with the option that says it. With --preset only the names of your own index
    and fields are unknown, and the file shows where they go; --probe then says where the API runs, and tries it out.
    """
    from raggate.frontends.answers import Initialised

    alone = not (force or action or vault or any(known.values()))
    if owners and alone and (directory / _CONFIG).is_file():
        return Answer(Initialised(written=tuple(_write_owners(directory, owners))))
    there = first_config.there(directory, vault)
    api = first_config.Known(**known, there=there, environment=environment)
    if api.tried:
        # nothing is asked for what would not be written
        check_terms(directory, action, owners, there=there, force=force)
    config = first_config.text_of(directory, api)
    written = write_example(directory, action, owners, config=config, there=there, force=force)
    for path in written:
        click.echo(log_line(f"wrote {path}"))
    _advise(directory, action, api, config)
    for name in first_config.sent_variables(config) if config is not None else ():
        line = f"env: {{{name}: ${{{{ secrets.{name} }}}}}}"
        click.echo(f"Fill in: `{line}` at the step `Gate` of {WORKFLOW}. Runs of forks have no secrets.")
    if api.tried:
        _try_out(directory, api)
    return Answer(Initialised(written=tuple(written)))


def _advise(directory: Path, action: str, api: first_config.Known, config: str | None) -> None:
    from raggate.base.quote import enumerated
    from raggate.service import build_context

    there = api.there
    if there.golden:
        click.echo(log_line(f"Your golden set: {there.golden}, {counted(there.questions, 'question')}."))
    ignored = {pattern.strip("/") for pattern in build_context.patterns(directory)}
    judging = (_judging(there).strip("/"), "baselines", ".raggate")
    if missing := [name for name in judging if name not in ignored]:
        click.echo(log_line(f"Add to {IGNORED}: {enumerated(missing)}, so that the API's image leaves them out."))
    if not action:
        click.echo(f"Fill in: {PLACEHOLDER} in {WORKFLOW}, the action's repository and the commit of its release.")
    click.echo(
        f"Check: {WORKFLOW} gates changes into `main`. If your default branch has another name, change it there."
    )
    if config is not None:
        click.echo(_STARTED[_backend(config)])
    _advise_next(api, config)


def _advise_next(api: first_config.Known, config: str | None) -> None:
    """Print the next command: it asks the API that runs, also if raggate.yml starts one."""
    flag = f" --api-url {api.address}" if api.address and _backend(config) == "container" else ""
    before = "set `api` in raggate.yml, then " if config is None else ""
    if api.there.vaults and not api.there.golden:
        line = f"`raggate golden add{flag} QUESTION` writes a question down, `raggate golden propose` suggests some."
    elif api.there.golden or config is None:
        line = f"`raggate check{flag}`."
    else:
        line = f"name your notes under `vault`, write questions for them, then `raggate check{flag}`."
    click.echo(log_line(f"Next: {before}{line}"))


def _backend(config: str | None) -> str:
    """Return how raggate.yml starts the API, as `_STARTED` has it."""
    from raggate.config import schema

    if config is None:
        return "container"
    api = schema.load(config.encode(), "raggate.yml").api
    if api.container is not None and api.stdio:
        return "container over stdio"
    return next(name for name in ("container", "command", "url") if getattr(api, name) is not None)


def _judging(there: first_config.There) -> str:
    """Return the directory of the golden set, or the file if it lies at the top."""
    return _place(there.golden or _EXAMPLES["eval_set.jsonl"])


def _place(file: str) -> str:
    """Return the directory of a file, or the file if it lies at the top, as CODEOWNERS has it."""
    folder = posixpath.dirname(file)
    return f"/{folder}/" if folder else f"/{file}"


def _owned(directory: Path, config: bytes) -> list[str]:
    """Return the places of what judges a change, of every suite that the repository has; `config` is raggate.yml."""
    from raggate.config import schema

    places = [*_ALWAYS_OWNED]
    for path, text in {**first_config.configurations(directory), _CONFIG: config}.items():
        places.append(f"/{path}")
        with suppress(UsageError):
            settings = schema.load(text, path)
            notes = {*settings.vault.values()}
            for name in settings.judged_by:
                inside = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
                places.append(f"/{inside}/" if name in notes else _place(inside))
    whole = [place for place in places if place.endswith("/")]
    kept = [
        place for place in dict.fromkeys(places) if not any(place != one and place.startswith(one) for one in whole)
    ]
    return [place.replace(" ", "\\ ") for place in kept]


def _try_out(directory: Path, api: first_config.Known) -> None:
    from raggate.pipeline.smoke_test import smoke_test
    from raggate.reports.smoke_test import render

    request = request_of(directory / "raggate.yml", api_url=api.address or None)
    name = "--question" if api.question else api.there.golden or "none of your questions"
    test = smoke_test(request, first_config.question_of(api), name=name)
    click.echo("\n" + render(test, width=max(console.width(), 60)), nl=False)


def check_terms(
    directory: Path,
    action: str = "",
    owners: str = "",
    *,
    there: first_config.There = first_config.NOTHING,
    force: bool = False,
) -> None:
    """Refuse terms under which nothing may be written; see `write_example`."""
    from raggate.base.yamlio import one_line

    if action and not _ACTION.fullmatch(action):
        raise UsageError(
            f"--action: expected OWNER/raggate@ and the 40 hex digits of a commit, found {one_line(action, limit=80)}",
            hint="A tag can move to other code. Name the commit of the release that you trust.",
        )
    _check_owners(owners)
    names = (*(() if force else _targets(there).values()), *(_CODEOWNERS if owners else ()))
    existing = [name for name in names if (directory / name).exists()]
    if existing:
        raise UsageError(
            f"{', '.join(existing)}: exists already. Nothing was written",
            hint="Move it away, or run `raggate init` in an empty directory and copy what you need. With --force it is "
            "replaced, unless it is CODEOWNERS: run without --owners, then `raggate init --owners` prints the lines to "
            "add. Your golden set and notes stay unchanged.",
        )


def _check_owners(owners: str) -> None:
    from raggate.base.yamlio import one_line

    if owners and not _OWNERS.fullmatch(owners):
        raise UsageError(
            f"--owners: expected @user or @organisation/team, separated by spaces, found {one_line(owners, limit=80)}",
            hint="Check the spelling: for unknown owners GitHub requests no review.",
        )


def _write_owners(directory: Path, owners: str) -> list[Path]:
    """Write CODEOWNERS for the suites that a repository has. Returns it; of one that is there the missing lines."""
    from raggate.base.files import read_file, write_file

    _check_owners(owners)
    places = _owned(directory, read_file(directory / _CONFIG))
    there = next((name for name in _CODEOWNERS if (directory / name).exists()), None)
    if there is None:
        write_file(directory / _CODEOWNERS[0], _owners_text(places, owners).encode())
        click.echo(log_line(f"wrote {directory / _CODEOWNERS[0]}"))
        return [directory / _CODEOWNERS[0]]
    lines = read_file(directory / there).decode(errors="replace").splitlines()
    missing = [place for place in places if not any(line.startswith(f"{place} ") for line in lines)]
    if missing:
        added = "".join(f"\n  {place} {owners}" for place in missing)
        raise UsageError(f"{there}: exists already. Nothing was written", hint=f"Add these lines to it:{added}")
    click.echo(log_line(f"{there} has a line for every file that judges a change."))
    return []


def _owners_text(places: Sequence[str], owners: str) -> str:
    width = max(map(len, places))
    return _template("CODEOWNERS") + "".join(f"{place.ljust(width)} {owners}\n" for place in places)


def _targets(there: first_config.There) -> dict[str, str]:
    return _TARGETS if there.vaults else {**_TARGETS, **_EXAMPLES}


def write_example(
    directory: Path,
    action: str = "",
    owners: str = "",
    *,
    config: str | None = None,
    there: first_config.There = first_config.NOTHING,
    force: bool = False,
) -> list[Path]:
    """Write the files below a directory, with example questions if it has no notes. Returns what was written.

    `config` is the text of raggate.yml, in place of the example's.
    """
    from raggate.base.files import write_file

    check_terms(directory, action, owners, there=there, force=force)
    # one that is there is the owner's to add to
    beside = Path(there.golden or _EXAMPLES["eval_set.jsonl"]).with_name(".gitignore").as_posix()
    ignores = {"dockerignore": IGNORED, "gitignore": beside}
    ignored = {template: name for template, name in ignores.items() if not (directory / name).exists()}
    texts = {
        name: _filled(template, directory, config, there) for template, name in {**_targets(there), **ignored}.items()
    }
    if owners:
        texts[_CODEOWNERS[0]] = _owners_text(_owned(directory, texts[_CONFIG].encode()), owners)
    texts[_CONFIG] = first_config.editor_line(action) + texts[_CONFIG]
    for name, text in texts.items():
        write_file(directory / name, text.replace(PLACEHOLDER, action or PLACEHOLDER).encode())
    written = [directory / name for name in texts]
    first_config.write_schema(directory)
    return written


def _template(name: str) -> str:
    from importlib.resources import files

    return files("raggate.cli").joinpath("templates", name).read_text(encoding="utf-8")


def _filled(template: str, directory: Path, config: str | None, there: first_config.There) -> str:
    of_a_job = template == "rag-gate.yml" and _backend(config) == "command"
    template = "rag-gate-job.yml" if of_a_job else template
    text = _template(template)
    if template == "raggate.yml":
        return first_config.example(directory, there, text) if config is None else config
    if template == "rag-gate.yml" and not _backend(config).startswith("container"):
        return reduce(lambda kept, part: kept.replace(part, ""), _OF_A_CONTAINER, text)
    if template == "dockerignore":
        return text.replace("golden\n", f"{_judging(there).strip('/')}\n")
    return text
