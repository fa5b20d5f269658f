"""raggate.yml -> one frozen Config with a slice per stage. Every error names file, line and key."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from raggate.base.errors import FileProblems, Problem, UsageError
from raggate.base.headings import inside_place
from raggate.base.yamlio import Document, Path, dotted, parse, sentence
from raggate.config.ask_settings import Ask
from raggate.config.effects import OTHER, Looser
from raggate.config.gate_settings import AGAIN, REF, TIMES_AGAIN, Fault, Gate, Recheck, Score, Waiver
from raggate.config.invariant_settings import Invariants
from raggate.config.judge_settings import Judges, in_git
from raggate.config.probe_settings import Private
from raggate.config.question_settings import Chosen, asks_fewer
from raggate.config.service_settings import Api, SettingsModel
from raggate.config.values import Name, PathInRepository, RelativePath, Text

SHOWN_PROBLEMS = 10
_HINT = "docs/configuration.md lists every key."


DESCRIPTION = "description"
"""The name in `about` that says what a run tries; every other one identifies a build."""


def _runs_less(before: Collection[str], now: Collection[str]) -> bool:
    """Return whether there are changes that do not run the suite any more; if no path is named, all of them do."""
    return bool(now) and not (before and all(inside_place(path, now) for path in before))


def of(error: ValidationError, document: Document, root: type[BaseModel]) -> tuple[list[Problem], int]:
    """Return the problems that are shown, in the order of the file, and how many others there are.

    Args:
        root: the model of the whole file, which knows its keys.
    """
    problems = error.errors(include_url=False)
    places = [tuple(part for part in problem["loc"] if not _is_union_tag(part)) for problem in problems]
    enclosing = {where[:depth] for where in places for depth in range(len(where))}
    # of the branches of a union the one that got furthest is the one that was meant
    meant = [(where, problem) for where, problem in zip(places, problems, strict=True) if where not in enclosing]
    meant.sort(key=lambda item: document.line(item[0]))
    shown: dict[Problem, None] = {}
    for done, (where, problem) in enumerate(meant):
        # explaining takes longer than finding, and a file can be wrong in thousands of places
        if len(shown) == SHOWN_PROBLEMS:
            return [*shown], len({place for place, _ in meant[done:]})
        known_keys = _known_keys(where[:-1], root) if problem["type"] == "extra_forbidden" else ()
        key, text = _placed(where, problem, document) or (where, sentence(where, problem, known_keys))
        shown[Problem(document.name, document.line(key), text, dotted(key))] = None
    return [*shown], 0


def _placed(
    where: tuple[int | str, ...], problem: ErrorDetails, document: Document
) -> tuple[tuple[int | str, ...], str] | None:
    """Return the key that a check of a whole section names first, and what it says; None for another problem."""
    if problem["type"] != "value_error" or not isinstance(problem["input"], dict):
        return None
    said = str(problem.get("ctx", {}).get("error", ""))
    named, _, rest = said.partition(": ")
    key = (*where, *named.split("."))
    if rest and key in document.lines:
        return key, f"{dotted(key)}: {rest}"
    return where, f"{dotted(where)}: {said}" if where else said


def _is_union_tag(part: int | str) -> bool:
    return isinstance(part, str) and (
        part in {"Rule", "float", "[key]"} or part.startswith(("constrained", "literal["))
    )


def _known_keys(path: tuple[int | str, ...], root: type[BaseModel]) -> tuple[str, ...]:
    annotation: Any = root
    for part in path:
        model = model_in(annotation)
        if get_origin(annotation) in {dict, list}:
            annotation = get_args(annotation)[-1]
        elif model is not None and part in model.model_fields:
            annotation = model.model_fields[str(part)].annotation
        else:
            return ()
    model = model_in(annotation)
    return tuple(model.model_fields) if model and get_origin(annotation) is not dict else ()


def model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the section that a key holds, be it in a list, under names, or not at all."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for part in get_args(annotation) if (model := model_in(part))), None)


def run_for_questions(adapter: str) -> str:
    """Return what is wrong with an adapter that runs a program, beside an API that is up."""
    return f"ask.adapter: {adapter} runs a program for the questions: expected `api.command` without `stdio`"


class Config(SettingsModel):
    """The whole of raggate.yml. Paths are relative to the directory of the file."""

    suite: Annotated[Name, OTHER] = "default"
    """Name of the suite; its baseline is baselines/<suite>.json."""
    about: dict[Name, Annotated[Text, Field(min_length=1, max_length=2000)]] = {}
    """Facts for the reports: `description` for what you try; other names, such as `embedding_model`,
    `retriever_version` and `answerer_version`, identify the build."""
    golden: Annotated[RelativePath, OTHER] = "golden/eval_set.jsonl"
    """The golden set, one case per line."""
    questions: Annotated[list[Chosen], OTHER, Looser(asks_fewer)] = []
    """The questions that the suite asks, such as `[must_pass, tag=smoke]` for those that must pass or have the tag
    `smoke`. Empty: all."""
    vault: Annotated[dict[Name, RelativePath], Field(min_length=1), OTHER]
    """The fixture vaults: name -> directory of Markdown notes. The order numbers them from 1."""
    private: Private = Private()
    """Which notes are private or deleted and must never be returned: for `invariants.private_withheld`."""
    paths: Annotated[list[PathInRepository], Looser(_runs_less)] = []
    """Files and directories whose changes concern the suite, beside its own files; `..` is allowed. A change
    that leaves all of them as they are does not run the suite where it is one of a list; alone it always runs. Empty:
    every change runs it."""
    api: Api
    """How to bring the API up."""
    ask: Ask = Ask()
    """How the questions are asked."""
    score: Score = Score()
    """What is computed from the answers."""
    gate: Gate = Gate()
    """What makes the verdict red."""
    invariants: Invariants = Invariants()
    """What must hold of the API's answers."""
    judges: Annotated[Judges | None, OTHER, Looser(lambda before, now: before and now is None)] = None
    """Models that grade the answers; null for none. Needs `ask.retrieval_only: false`."""
    recheck: Recheck = AGAIN
    """Who answers lost questions again before a red verdict: `again` this build, `ref` also the base commit's, an
    image's name also that image, `off` nobody. A noisy build is asked twice. An image needs `api.container`. An API at
    `api.url` is never asked again: its process has been asked before."""
    waivers: list[Waiver] = []
    """Metrics and cases that may be worse until a given day. A change cannot waive itself."""
    faults: Annotated[dict[Name, Fault], Field(max_length=100)] = {}
    """Faults that only this API can have, by name: variables that it is started with, or a patch of its source.
    `raggate prove` tries them too. They do not affect verdicts."""

    @model_validator(mode="after")
    def _can_be_asked(self) -> Config:
        if self.ask.runs_program and (self.api.command is None or self.api.stdio):
            raise ValueError(run_for_questions(self.ask.adapter))
        _check_probes(self)
        _check_stdio(self)
        return self

    @property
    def versions(self) -> dict[str, str]:
        """What `about` says to identify the build."""
        return {name: text for name, text in self.about.items() if name != DESCRIPTION}

    def asking_once(self) -> Config:
        """Return the same configuration, by which the questions are asked, each once, and nothing else is done."""
        ask = self.ask.model_copy(update={"repeat": 1, "repeat_sample": 0, "principals": {}})
        off = dict.fromkeys(("must_be_deterministic", "private_withheld", "principals_isolated"), "off")
        invariants = self.invariants.model_copy(update=off)
        return self.model_copy(update={"ask": ask, "invariants": invariants, "judges": None})

    def asking(self, **keys: int) -> Config:
        """Return the same configuration with other keys of its section `ask`."""
        return self.model_copy(update={"ask": self.ask.model_copy(update=keys)})

    @property
    def asks_again(self) -> bool:
        """Whether a whole run asks a few questions a second time: where all are asked once, and of no program."""
        return self.ask.repeat == 1 and self.ask.repeat_sample > 0 and not self.ask.runs_program

    @property
    def confirmations(self) -> int:
        """How often what a noisy API lost is asked again: only of a process that can be started anew for it."""
        again = self.recheck != "off" and self.api.url is None and not self.ask.runs_program
        return TIMES_AGAIN if again else 0

    @property
    def asks_base(self) -> bool:
        """Whether the build before the change is asked what counts against it."""
        return self.recheck not in {AGAIN, "off"}

    @property
    def base_image(self) -> str | None:
        """The image of the build before the change, where it is one."""
        return self.recheck if self.asks_base and self.recheck != REF else None

    @property
    def judging(self) -> Judges | None:
        """Who grades the answers of a run; None where nobody does, or no answers are asked for."""
        return None if self.ask.retrieval_only else self.judges

    @property
    def baseline_path(self) -> str:
        """The baseline file of the suite."""
        return default_baseline(self.suite)

    @property
    def judged_by(self) -> tuple[str, ...]:
        """The files and directories that judge a change beside the configuration, as it writes their paths."""
        judges = self.judging
        replies = (judges.cassette, judges.canary) if judges is not None else ()
        return (self.golden, *self.vault.values(), *filter(None, replies), self.baseline_path)


def default_baseline(suite: str) -> str:
    """Return the baseline file of a suite."""
    return f"baselines/{suite}.json"


def load(data: bytes, name: str) -> Config:
    """Read a configuration; `name` is that of its file for messages.

    Raises:
        UsageError: naming file, line and key, what was found, what was expected, and the nearest known key.
    """
    document = parse(data, name)
    if not isinstance(document.value, dict):
        raise UsageError(
            f"{name}: expected a mapping with at least 'vault' and 'api'",
            hint="`raggate init` writes a commented example.",
        )
    try:
        config = Config.model_validate(document.value, strict=True)
    except ValidationError as error:
        problems, more = of(error, document, Config)
    else:
        file = _misplaced(config)
        if file is None:
            return config
        key, text = file
        problems, more = [_problem(document, key, text)], 0
    raise FileProblems("invalid-config", problems, more=more, hint=_HINT)


def refused(data: bytes, name: str, key: Path, text: str) -> FileProblems:
    """Make the error of a key that fits the schema, and not the files that the configuration names."""
    return FileProblems("invalid-config", [_problem(parse(data, name), key, text)], hint=_HINT)


def _problem(document: Document, key: Path, text: str) -> Problem:
    return Problem(document.name, document.line(key), f"{dotted(key)}: {text}", dotted(key))


def _check_probes(config: Config) -> None:
    """Refuse invariants that could never be seen to hold."""
    asked_twice = config.ask.repeat > 1 or config.asks_again
    if config.invariants.must_be_deterministic != "off" and not asked_twice:
        raise ValueError("must_be_deterministic: expected ask.repeat above 1, or for an API ask.repeat_sample")
    if config.ask.principals and config.ask.runs_program:
        raise ValueError(f"ask.principals: remove it, as {config.ask.adapter} is sent no headers and no vaults")
    for key, places in _places(config):
        strange = next((place for place in places if place.split("/")[0] not in config.vault), None)
        if strange is not None:
            raise ValueError(f"{key}: expected one of the vaults {', '.join(config.vault)}, found {strange!r}")


def _places(config: Config) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield what names a vault or something in one, by key."""
    yield "private.places", config.private.places
    for name, principal in config.ask.principals.items():
        yield f"ask.principals.{name}.sees", principal.sees
        yield f"ask.principals.{name}.vaults", principal.vaults or ()


def _check_stdio(config: Config) -> None:
    """Refuse what cannot be done over standard input and output."""
    ask = config.ask
    if not config.api.stdio:
        if ask.adapter == "mapped" and not ask.path:
            raise ValueError("expected ask.path, such as /search, as the API is asked over HTTP")
        return
    if ask.adapter not in {"mapped", "mcp"}:
        raise ValueError("expected ask.adapter 'mcp' or 'mapped' with api.stdio, as 'ask' speaks HTTP alone")
    if ask.adapter == "mapped" and "id" in (ask.body or {}):
        raise ValueError("ask.body: remove 'id', which raggate sets itself for a program")
    of_http: dict[str, object] = {
        "ask.path": ask.path,
        "ask.headers": ask.headers,
        "ask.response.stream": ask.fields.stream,
    }
    # a program tells its state by itself, an MCP server by a tool
    of_http |= {"ask.index": ask.index} if ask.adapter == "mapped" else {}
    of_http |= {f"ask.principals.{name}.headers": principal.headers for name, principal in ask.principals.items()}
    if key := next((key for key, value in of_http.items() if value), ""):
        raise ValueError(f"expected no {key} with api.stdio, which has no HTTP: use `env` beside `command`")


def _misplaced(config: Config) -> tuple[Path, str] | None:
    """Return the key of a cassette or canary set that lies in `.git`, among the notes or in place of another file."""
    judges = config.judges
    if judges is None:
        return None
    canary: dict[Path, str] = {} if judges.canary is None else {("judges", "canary"): judges.canary}
    own: dict[Path, str] = {("judges", "cassette"): judges.cassette, **canary}
    for key, path in own.items():
        if in_git(path):
            return key, f"expected a file that is committed, found {path!r} in git's own directory"
        for name, vault in config.vault.items():
            # notes that lie beside everything else leave no other place
            if vault != "." and PurePosixPath(path).is_relative_to(vault):
                return key, f"expected a file outside the notes, found {path!r} in vault {name!r}"
    others: dict[Path, str] = {("golden",): config.golden, ("baseline",): config.baseline_path, **canary}
    for key, path in others.items():
        if path == judges.cassette:
            own_key: Path = ("judges", "cassette")
            return own_key, f"expected a file of its own, found {path!r}, which is that of '{dotted(key)}'"
    return None
