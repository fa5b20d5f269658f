"""Generate the documentation that must agree with the code: `make docs` writes it, a test compares it."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from types import NoneType
from typing import Any

import yaml
from pydantic import BaseModel, WithJsonSchema
from pydantic.fields import FieldInfo
from tools import output_schema
from tools.metric_definitions import EVALUATED, HELLOWORLD, KEBAB, SUBSTRATE, Definition

from raggate.config.gate_settings import DEFAULT_GATED
from raggate.config.json_schema import json_schema
from raggate.config.schema import Config
from raggate.config.service_settings import described
from raggate.models.judging_quality import highest
from raggate.models.lint import CHECKS
from raggate.scoring.metrics import METRICS, Metric
from raggate.text.jsonio import dumps
from raggate.text.numbers import setting
from raggate_interop.labels.metrics import LABEL_METRICS, LabelMetric

ROOT = Path(__file__).parents[1]
NAMED = {"metrics": ".<metric>", "services": ".<name>"}
NOTE = "<!-- generated from the code by `make docs`; do not edit -->"


TABLES = ("<!-- inputs and outputs: generated from action.yml by `make docs` -->", "<!-- end of inputs and outputs -->")


def readme() -> str:
    """Put the tables of the action's inputs and outputs between the markers of README.md."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    action: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    inputs = ["| input | default | |", "|---|---|---|"]
    for name, spec in action["inputs"].items():
        default = f"`{spec['default']}`" if spec["default"] else ""
        inputs.append(f"| `{name}` | {default} | {_cell(spec['description'])} |")
    outputs = ["| output | |", "|---|---|"]
    outputs += [f"| `{name}` | {_cell(spec['description'])} |" for name, spec in action["outputs"].items()]
    before, _, rest = page.partition(TABLES[0])
    _, _, after = rest.partition(TABLES[1])
    tables = ["\n".join(inputs), "\n".join(outputs)]
    return before + "\n\n".join([TABLES[0], *tables, TABLES[1]]) + after


def configuration_page() -> str:
    """Describe every key of raggate.yml, section by section."""
    parts = [
        "# raggate.yml",
        NOTE,
        "Unknown keys, duplicate keys and values of another type are errors that name file, line and key. Paths are "
        "relative to the file. Editors complete it with [its schema](../src/raggate/config/raggate.schema.json).",
    ]
    pending: list[tuple[str, type[BaseModel]]] = [("", Config)]
    while pending:
        prefix, model = pending.pop(0)
        rows = ["| key | type | default | meaning |", "|---|---|---|---|"]
        meanings = described(model)
        for name, field in model.model_fields.items():
            inner = _model_in(field.annotation)
            key = f"{prefix}.{name}".lstrip(".")
            if inner is not None:
                pending.append((key + NAMED.get(name, ""), inner))
            default = "required" if field.is_required() else _default(field.get_default(call_default_factory=True))
            meaning = " ".join(meanings.get(name, "").split())
            rows.append(f"| `{key}` | {_field_type(field)} | {default} | {meaning} |")
        title = f"## `{prefix}`" if prefix else "## Top level"
        intro = " ".join((inspect.getdoc(model) or "").split())
        parts += [title, intro, "\n".join(rows)]
    parts += ["## Metrics gated by default", ", ".join(f"`{name}`" for name in DEFAULT_GATED)]
    return "\n\n".join(parts) + "\n"


OTHER_NUMBERS: tuple[tuple[str, str, dict[str, Definition]], ...] = (
    (
        "Result lists against judgements",
        "What `raggate evaluate` computes, see [evaluate.md](evaluate.md). A case is a judged query, and its list "
        "is of documents.",
        {name if name == "map" else f"{name}_at_<k>": definition for name, definition in EVALUATED.items()},
    ),
    (
        "As kebab computes them",
        "What `raggate kebab` computes, rounded to 4 decimals as kebab stores it, see "
        "[systems/kebab.md](systems/kebab.md). A case is a stored row.",
        KEBAB,
    ),
    (
        "As helloworld computes them",
        "What `raggate helloworld` computes, see [systems/helloworld.md](systems/helloworld.md). A case is a stored "
        "row whose question is in the golden set.",
        HELLOWORLD,
    ),
    (
        "As substrate computes them",
        "What `raggate substrate` computes, see [systems/substrate.md](systems/substrate.md). A case is a query in a "
        "mode; documents are compared without `.md`.",
        SUBSTRATE,
    ),
)
"""Title and introduction of a section -> the definitions in it."""


def metrics_page() -> str:
    """Describe every metric from its docstring."""
    parts = [
        "# Metrics",
        NOTE,
        "Every value comes with `n`, the cases it covers, and `unscored`, the cases it does not apply to. Null means "
        "*does not apply*; it is never 0 and never averaged. A failed call is a miss and an error: it stays in the "
        "mean of the retrieval metrics. Chunks whose id already appeared higher up are dropped before ranks are "
        "counted. Means are compared unrounded; where they are shown they are rounded half away from zero.",
        "A chunk matches a gold support when the note is the same (and the vault, if the API reports it), the "
        "support's heading path is the chunk's or encloses it, heading by heading "
        "[as people read them](golden-set.md#when-two-headings-are-one), and one of the support's snippets "
        "is in the chunk's text, ignoring case and white space.",
        "Of the other systems named here, helloworld is the note system, substrate the search-improver and "
        "pragmata the annotation taxonomy.",
    ]
    for name, metric in METRICS.items():
        parts.append(_metric(name, metric))
    parts += [
        "## Operational rates",
        "`error_rate`, `timeout_rate`, `empty_result_rate` (no chunk came back) and `empty_response_rate` (a blank "
        "answer; null in retrieval-only runs) divide by all calls, and so does `unasked_answer_rate` (an answer was "
        "generated in a retrieval-only run; null in others). `no_chunks_rate` and `chunks_skipped_rate` come "
        "from the API's own account of its index. Latencies are nearest-rank percentiles in milliseconds: "
        "`client_ms` as raggate saw it, `judge_ms` of a judged run the calls to judges for one answer, the others as "
        "the API reports them.",
        "`coverage_by_document_type` counts, by file extension (at most 20, the rest is `other`; `unknown` without "
        "one), the distinct documents and the chunks that came back over the whole run. `cost` has sum, mean and n of "
        "each cost that responses report; of a judged run `judge_tokens` and `judge_cost_usd` are those of all replies "
        "behind the scores, replayed ones too. A cost that nobody reports is left out. "
        "Neither is ever gated.",
    ]
    parts += [
        "## Human labels",
        "What `raggate labels` computes from what people said of chunks and answers, see [labels.md](labels.md). A "
        "case is a query. K is a number, or inferred: the judged chunks of each query.",
    ]
    parts += [_label_metric(name, metric) for name, metric in LABEL_METRICS.items()]
    for title, intro, definitions in OTHER_NUMBERS:
        parts += [
            f"## {title}",
            intro,
            *(_definition(f"`{name}`", definition) for name, definition in definitions.items()),
        ]
    return "\n\n".join(parts) + "\n"


def lint_page() -> str:
    """List every check of `raggate lint` with what to do about what it finds."""
    parts = [
        "# What `raggate lint` checks",
        NOTE,
        "`raggate lint` reads configuration, golden set, vault, baseline and waivers as `raggate check` does, and the "
        "workflows that run the action. It starts nothing. It exits with 2 if a check finds an error (with `--strict` "
        "also a warning), otherwise with 0. "
        "`--ignore CHECK` skips a check that is not an error.",
        "`--format` is `text` for a terminal, `json` with every finding (`check`, `severity`, `path`, `line`, `key`, "
        "`message`, `fix`), `github` for annotations in the log of a workflow, or `sarif` (2.1.0) for code scanning "
        "and editors. Paths are relative to the current directory.",
        "To run it before every commit with [pre-commit](https://pre-commit.com), in a repository with raggate's files "
        "at its root:",
        "```yaml\nrepos:\n  - repo: https://github.com/OWNER/raggate\n    rev: SHA  # the release you trust\n"
        "    hooks:\n      - id: raggate-lint\n        args: [--strict]  # optional: warnings stop a commit too\n```",
        "For code scanning, `raggate lint --format sarif > lint.sarif` writes the file, and GitHub's action "
        "`upload-sarif` uploads it, in a step with `if: always()`, since the command fails if there are errors.",
        "Ids are stable. The checks cannot see whether a label is right or whether people really ask a question; "
        "[questions.md](questions.md) explains how to write good ones.",
    ]
    headings = {"error": "Errors", "warning": "Warnings", "note": "Notes"}
    for severity, title in headings.items():
        rows = ["| check | what it finds | what to do |", "|---|---|---|"]
        own = [(name, check) for name, check in CHECKS.items() if check.severity == severity]
        rows += [f"| `{name}` | {_cell(check.title)} | {_cell(check.remedy)} |" for name, check in own]
        parts += [f"## {title}", "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


SYSTEMS = {
    "helloworld": ("helloworld", "helloworld/test_switch.py", "systems/helloworld.md"),
    "kebab": ("kebab", "kebab/test_switch.py", "systems/kebab.md"),
    "substrate": ("substrate", "substrate/test_switch.py", "systems/substrate.md"),
    "pragmata": ("labels", "pragmata/test_sheets.py", "labels.md"),
}
"""Heading -> command, the tests that walk the system's checklist, its own page."""


def migrating_page() -> str:
    """List for each system what a team needs to switch, by the tests that hold it."""
    parts = [
        "# Moving in from another system",
        NOTE,
        "Each row is a test on files of the system's exact shape; the table is made of the tests' own sentences. "
        "Golden sets are converted with `raggate convert`, see [convert.md](convert.md); TREC and BEIR files are "
        "scored by `raggate evaluate`, see [evaluate.md](evaluate.md); any other JSON API is asked by the adapter "
        "`mapped`, see [adapters.md](adapters.md).",
    ]
    for title, (command, tests, page) in SYSTEMS.items():
        tree = ast.parse((ROOT / "tests/unit/interop" / tests).read_text(encoding="utf-8"))
        rows = [f"| {_claim(test)} | `{test.name}` |" for test in _tests(tree)]
        parts += [f"## {title}", f"`raggate {command}`; [{page.rpartition('/')[2]}]({page})."]
        parts.append("\n".join(["| what works | test |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def _tests(tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]


def _claim(test: ast.FunctionDef) -> str:
    claim = (ast.get_docstring(test) or "").partition("\n")[0]
    return _cell(re.sub(r"^Item(?: \d+)?: ", "", claim))


FACTS = ("Formula", "Null", "Also", "Source")


def metric_facts(metric: Metric) -> dict[str, str]:
    """Give what the docstring of a metric says: the summary, and the paragraphs of `FACTS`."""
    summary, _, rest = (inspect.getdoc(metric.function) or "").partition("\n")
    paragraphs = re.findall(rf"^({'|'.join(FACTS)}): (.+?)(?=^\w+: |\Z)", rest, re.MULTILINE | re.DOTALL)
    return {"Summary": summary, **dict(paragraphs)}


def _metric(name: str, metric: Metric) -> str:
    facts = metric_facts(metric)
    definition = Definition(
        summary=facts["Summary"],
        formula=facts.get("Formula", ""),
        null=facts.get("Null", ""),
        also=facts.get("Also", ""),
        source=facts.get("Source", ""),
        direction=metric.direction,
        binary=metric.binary,
        highest=highest(metric.judged),
    )
    return _definition(f"`{name}_at_<k>`" if metric.ranked else f"`{name}`", definition, level=2)


def _label_metric(name: str, metric: LabelMetric) -> str:
    definition = Definition(
        summary=f"{metric.question} ({metric.task})",
        **{field: getattr(metric, field) for field in ("formula", "null", "also", "source", "direction", "binary")},
    )
    return _definition(f"`{name}`", definition, level=3)


def _definition(heading: str, definition: Definition, *, level: int = 3) -> str:
    values = "0 or 1" if definition.binary else f"0 to {setting(definition.highest)}"
    rows = [
        f"| formula | {_cell(definition.formula)} |",
        f"| range | {values} per case, mean over cases |",
        f"| better | {definition.direction} |",
        f"| null | {_cell(definition.null)} |",
        f"| other names | {_cell(definition.also)} |",
        f"| source | {_cell(definition.source)} |",
    ]
    return f"{'#' * level} {heading}\n\n{definition.summary}\n\n| | |\n|---|---|\n" + "\n".join(rows)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for part in getattr(annotation, "__args__", ()) if (model := _model_in(part))), None)


def _field_type(field: FieldInfo) -> str:
    """Name the type of a field; one that its own schema calls a text or a list is both."""
    schema = next((item.json_schema for item in field.metadata if isinstance(item, WithJsonSchema)), None) or {}
    types = {kind.get("type") for kind in schema.get("anyOf", ())}
    return "text or list" if types == {"string", "array", "null"} else _type(field.annotation)


def _type(annotation: Any) -> str:
    model = _model_in(annotation)
    if model is not None:
        text = str(annotation)
        return "list of sections" if "list[" in text else "sections by name" if "dict[" in text else "section"
    text = str(annotation)
    for full, short in (("dict", "mapping"), ("list", "list"), ("Literal", "choice"), ("bool", "true/false")):
        if full in text:
            if short == "choice":
                return ", ".join(_choice(part) for part in annotation.__args__ if part is not NoneType)
            return short
    for full, short in (("int", "whole number"), ("float", "number")):
        if full in text:
            return short
    return "text"


def _choice(part: Any) -> str:
    """Name one of several values, or a kind of them."""
    return _type(part) if isinstance(part, type) or hasattr(part, "__args__") else f"`{part}`"


def _default(value: Any) -> str:
    if isinstance(value, BaseModel):
        return "see below"
    return f"`{dumps(value).decode()}`"


PAGES: dict[str, Callable[[], str]] = {
    "README.md": readme,
    "src/raggate/config/raggate.schema.json": lambda: dumps(json_schema(), pretty=True).decode(),
    "docs/configuration.md": configuration_page,
    "docs/metrics.md": metrics_page,
    "src/raggate/cli/output.schema.json": lambda: dumps(output_schema.schema(), pretty=True).decode(),
    "docs/lint.md": lint_page,
    "docs/migrating.md": migrating_page,
}
"""What gives every generated file, by its path in the repository."""


def main() -> None:
    """Write every generated file."""
    for name, page in PAGES.items():
        (ROOT / name).write_text(page(), encoding="utf-8")
        print(f"wrote {name}")


if __name__ == "__main__":
    main()
