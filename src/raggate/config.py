"""raggate.yml -> one frozen Config with a slice per stage. Every error names file, line and key."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from raggate.errors import UsageError
from raggate.yamlio import Document, explain, parse

Level = Literal["error", "warn", "off"]
Tolerance = Annotated[float, Field(strict=True, ge=0, le=1_000_000, allow_inf_nan=False)]

SHOWN_PROBLEMS = 10
DEFAULT_TOLERANCE = 0.05
DEFAULT_GATED = (
    "hit_at_1",
    "hit_at_3",
    "hit_at_5",
    "hit_at_10",
    "mrr_at_10",
    "ndcg_at_10",
    "recall_all_at_10",
    "scope_miss_rate",
    "heading_dominance_rate",
)
# rises of these rates are judged as the source systems judged them
DEFAULT_TOLERANCES = {"scope_miss_rate": 0.10, "heading_dominance_rate": 0.10}


def _relative(path: str) -> str:
    pure = PurePosixPath(path)
    if not path or pure.is_absolute() or ".." in pure.parts or "\\" in path or "\0" in path:
        raise ValueError("expected a relative path inside the repository, without '..'")
    return str(pure)


def _http(url: str) -> str:
    from urllib.parse import urlsplit

    problem = ValueError("expected a URL such as http://127.0.0.1:9000")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise problem from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        raise problem
    if parts.username or parts.password:
        raise ValueError("expected a URL without user name and password")
    return url.rstrip("/")


RelativePath = Annotated[str, AfterValidator(_relative)]
HttpUrl = Annotated[str, AfterValidator(_http)]
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]


class _Slice(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class CommandBackend(_Slice):
    """Start the API as a child process.

    `{port}`, `{root}`, `{out}` and `{vault.NAME}` stand for the chosen port, the directory of raggate.yml, the run
    directory and the directory of a vault.
    """

    build: list[list[str]] = []
    """Commands run before the start, in order, as lists of words (no shell)."""
    build_timeout: Seconds = 300
    """Seconds for all build commands together."""
    run: Annotated[list[str], Field(min_length=1)]
    """The command that serves, as a list of words (no shell). It must stay in the foreground."""
    cwd: RelativePath = "."
    """Directory the commands run in."""
    env: dict[str, str] = {}
    """Environment of the commands, beside what `pass_env` lets through."""
    pass_env: list[str] = ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR"]
    """Names of variables handed on from raggate's own environment; everything else is withheld."""


class Readiness(_Slice):
    """When the API counts as up: health answers, and its index is complete or has stopped growing."""

    timeout: Seconds = 60
    """Seconds from the start until the API must be ready."""
    health_path: Annotated[str, Field(pattern=r"^/")] = "/api/health"
    """Path that answers 200 when the API is healthy."""
    index_path: str | None = "/api/index/status"
    """Path that tells whether indexing goes on; null when the API has none."""
    settle: Seconds = 3
    """Seconds an index that is smaller than the vault must stay unchanged to be taken as final."""


class Api(_Slice):
    """How to bring the API up: exactly one of `command` and `url`."""

    command: CommandBackend | None = None
    """Start it as a child process."""
    url: HttpUrl | None = None
    """Use one that runs already; raggate neither starts nor stops it."""
    ready: Readiness = Readiness()
    """When it counts as up."""

    @model_validator(mode="after")
    def _one_backend(self) -> Api:
        if (self.command is None) == (self.url is None):
            raise ValueError("expected exactly one of 'command' and 'url'")
        return self


class Ask(_Slice):
    """How the questions are asked."""

    adapter: Name = "ask"
    """The protocol the API speaks."""
    modes: Annotated[list[Name], Field(min_length=1)] = ["hybrid"]
    """Retrieval modes; every question is asked in each of them."""
    k: Annotated[int, Field(ge=1, le=1000)] = 5
    """How many chunks are asked for. An API may return more in its debug list, or cap it."""
    retrieval_only: bool = True
    """Ask the API to skip generation."""
    concurrency: Annotated[int, Field(ge=1, le=256)] = 8
    """Questions under way at once."""
    connect_timeout: Seconds = 5
    """Seconds to open a connection."""
    read_timeout: Seconds = 30
    """Seconds without a byte."""
    total_timeout: Seconds = 60
    """Seconds for one question, all retries included."""
    retries: Annotated[int, Field(ge=0, le=10)] = 2
    """Further attempts after 502, 503 or a failed connection. Every one is counted and shown."""
    max_body_bytes: Annotated[int, Field(ge=1024, le=1 << 30)] = 8 << 20
    """Larger responses are failures."""
    give_up_after: Annotated[int, Field(ge=1)] = 10
    """Stop asking after this many failures in a row."""


class Score(_Slice):
    """What is computed from the answers."""

    k: Annotated[list[Annotated[int, Field(ge=1, le=1000)]], Field(min_length=1)] = [1, 3, 5, 10]
    """Cut-offs of the ranked metrics."""

    @model_validator(mode="after")
    def _distinct(self) -> Score:
        if sorted(set(self.k)) != self.k:
            raise ValueError("expected distinct cut-offs in ascending order")
        return self


class Rule(_Slice):
    """How one metric is gated."""

    tolerance: Tolerance | None = None
    """Largest allowed change for the worse, absolute. Default: the gate's."""
    floor: Annotated[float, Field(allow_inf_nan=False)] | None = None
    """Value a higher-is-better metric must not fall below, whatever the baseline."""
    ceiling: Annotated[float, Field(allow_inf_nan=False)] | None = None
    """Value a lower-is-better metric must not rise above, whatever the baseline."""


class Gate(_Slice):
    """What makes the verdict red."""

    tolerance: Tolerance = DEFAULT_TOLERANCE
    """Largest allowed change for the worse of a gated metric, absolute, as a difference of means."""
    # left to right, as 0 is a tolerance although it equals False
    metrics: dict[str, Annotated[Rule | Tolerance | Literal[False, "off"], Field(union_mode="left_to_right")]] = {}
    """Per metric: a tolerance, a rule, or `off` to stop gating it. Adds to the metrics gated by default."""
    slices: Literal["warn", "fail", "off"] = "warn"
    """What a slice (category, difficulty, tag, vault, …) that got worse does."""
    min_slice: Annotated[int, Field(ge=1)] = 10
    """Slices of fewer cases are shown as counts and never judged."""
    flip_at: Annotated[int, Field(ge=1)] = 5
    """Rank within which a question counts as found, for the list of questions that broke."""
    max_error_rate: Annotated[float, Field(ge=0, lt=1)] = 0.02
    """Share of calls that may fail before the run counts as not measured. Failed calls are misses."""
    min_overlap: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Share of the baseline's cases that must still be there unchanged for a comparison."""
    on_removed_cases: Literal["refuse", "warn"] = "refuse"
    """What cases of the baseline that are gone from the golden set do."""
    on_vault_change: Literal["refuse", "warn"] = "warn"
    """What a vault that differs from the baseline's does."""

    def rules(self) -> dict[str, Rule]:
        """Give every gated metric with its rule, defaults filled in."""
        found = {name: self.rule(name) for name in dict.fromkeys((*DEFAULT_GATED, *self.metrics))}
        return {name: rule for name, rule in found.items() if rule is not None}

    def rule(self, name: str) -> Rule | None:
        """Give the rule of one metric, defaults filled in; None when it is not gated."""
        given = self.metrics.get(name, Rule() if name in DEFAULT_GATED else "off")
        if given is False or given == "off":
            return None
        rule = given if isinstance(given, Rule) else Rule(tolerance=float(given))
        if rule.tolerance is not None:
            return rule
        return rule.model_copy(update={"tolerance": DEFAULT_TOLERANCES.get(name, self.tolerance)})


class Invariants(_Slice):
    """What must hold of the API's answers: `error` breaks the gate (exit 4), `warn` is shown, `off` is not checked."""

    ranks_contiguous: Level = "error"
    """Reported ranks are 1, 2, 3, … in list order."""
    scores_ordered: Level = "error"
    """Final scores are finite and never rise down the list."""
    chunk_ids_unique: Level = "error"
    """No chunk stands twice in one list."""
    chunk_ids_stable: Level = "error"
    """One chunk id always comes with the same place and text."""
    scope_respected: Level = "error"
    """A question limited to some vaults gets no chunk of another."""
    notes_exist: Level = "error"
    """Every retrieved chunk names a note of the fixture vault."""
    abstained_is_empty: Level = "error"
    """An answer that abstains cites nothing."""
    index_complete: Level = "error"
    """The index holds as many documents as the vault has notes with text."""
    index_constant: Level = "error"
    """The index version does not change during the run."""
    no_empty_documents: Level = "warn"
    """No indexed document is without chunks."""
    list_deep_enough: Level = "warn"
    """Lists are long enough for the largest cut-off that is scored."""
    ties_at_cutoff: Level = "off"
    """No tie of scores straddles a cut-off, where order is a matter of luck."""


class Config(_Slice):
    """The whole of raggate.yml. Paths are relative to the directory of the file."""

    version: Literal[1] = 1
    """Version of this file's format."""
    suite: Name = "default"
    """Name of the suite; its baseline is baselines/<suite>.json."""
    golden: RelativePath = "golden/eval_set.jsonl"
    """The golden set, one case per line."""
    vault: Annotated[dict[Name, RelativePath], Field(min_length=1)]
    """The fixture vaults: name -> directory of Markdown notes. The order numbers them from 1."""
    baseline: RelativePath | None = None
    """The baseline file. Default: baselines/<suite>.json."""
    out: RelativePath = ".raggate/runs"
    """Where run directories go."""
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

    @property
    def baseline_path(self) -> str:
        """The baseline file, its default filled in."""
        return self.baseline or f"baselines/{self.suite}.json"


def load(data: bytes, name: str) -> Config:
    """Read a configuration.

    Args:
        data: the content of the file.
        name: the file's name for messages.

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
        return Config.model_validate(document.value, strict=True)
    except ValidationError as error:
        raise UsageError(_describe(error, document), hint="docs/configuration.md lists every key.") from None


def json_schema() -> dict[str, Any]:
    """Build the JSON Schema of raggate.yml, for editors."""
    schema = Config.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "raggate.yml", **schema}


def _describe(error: ValidationError, document: Document) -> str:
    lines: dict[str, int] = {}
    problems = error.errors(include_url=False)
    places = [tuple(part for part in problem["loc"] if not _is_union_tag(part)) for problem in problems]
    for where, problem in zip(places, problems, strict=True):
        # of the branches of a union the one that got furthest is the one that was meant
        if any(len(other) > len(where) and other[: len(where)] == where for other in places):
            continue
        known = _known_keys(where[:-1]) if problem["type"] == "extra_forbidden" else ()
        lines.setdefault(explain(document, where, problem, known), document.line(where))
    shown = sorted(lines, key=lambda text: lines[text])
    more = [f"… and {len(shown) - SHOWN_PROBLEMS} more"] if len(shown) > SHOWN_PROBLEMS else []
    return "\n".join(shown[:SHOWN_PROBLEMS] + more)


def _is_union_tag(part: int | str) -> bool:
    return isinstance(part, str) and (
        part in {"Rule", "float", "[key]"} or part.startswith(("constrained", "literal["))
    )


def _known_keys(path: tuple[int | str, ...]) -> tuple[str, ...]:
    model: Any = Config
    for part in path:
        field = model.model_fields.get(part) if isinstance(part, str) and hasattr(model, "model_fields") else None
        model = _model_in(field.annotation) if field else (Rule if model is None or part else None)
    return tuple(model.model_fields) if hasattr(model, "model_fields") else ()


def _model_in(annotation: Any) -> Any:
    candidates = [annotation, *getattr(annotation, "__args__", ())]
    return next((item for item in candidates if isinstance(item, type) and issubclass(item, BaseModel)), None)
