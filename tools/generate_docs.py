"""Generate the documentation that must agree with the code: `make docs` writes it, a test compares it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from math import isinf
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from tools import output_schema

from raggate.base.jsonio import dumps
from raggate.base.numbers import setting
from raggate.config.gate_settings import DEFAULT_GATED
from raggate.config.json_schema import json_schema
from raggate.config.schema import Config
from raggate.config.service_settings import described
from raggate.models.judging import highest
from raggate.models.lint import CHECKS
from raggate.scoring.metrics import METRICS, Metric
from raggate_interop.labels.metrics import LABEL_METRICS

ROOT = Path(__file__).parents[1]
NAMED = {"metrics": ".<metric>", "services": ".<name>"}
NOTE = "<!-- generated from the code by `make docs`; do not edit -->"


WORKFLOW = ROOT / "src/raggate/cli/templates/rag-gate.yml"


def action_page() -> str:
    """Show the workflow that `raggate init` writes, and list the inputs and outputs of the action."""
    action: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    inputs = ["| input | default | |", "|---|---|---|"]
    for name, spec in action["inputs"].items():
        default = f"`{spec['default']}`" if spec["default"] else ""
        inputs.append(f"| `{name}` | {default} | {_cell(spec['description'])} |")
    outputs = ["| output | |", "|---|---|"]
    outputs += [f"| `{name}` | {_cell(spec['description'])} |" for name, spec in action["outputs"].items()]
    workflow = WORKFLOW.read_text(encoding="utf-8").partition("\n")[2]
    parts = [
        "# The action: inputs and outputs",
        NOTE,
        "`raggate init` writes this workflow. Replace `OWNER/raggate@REF` by the repository of the action and the "
        "full commit id of the release you trust, or let `raggate init --action` fill it in. "
        "[From nothing to a required check](required-check.md) has every step.",
        f"```yaml\n{workflow}```",
        "The action runs in a container, in which `localhost` is that container itself. You reach an API under the "
        "job's `services:` by the name of the service.",
        "## Inputs",
        "\n".join(inputs),
        "## Outputs",
        "Every output is set whatever happens, also if the API never came up or the step was cancelled.",
        "\n".join(outputs),
    ]
    return "\n\n".join(parts) + "\n"


EXAMPLE = """\
suite: notes
vault: {notes: notes}                # directories of Markdown notes that your API indexes
golden: golden/eval_set.jsonl        # one question per line
api:
  container:
    build: {context: ., dockerfile: Dockerfile}
    port: 9000
    env: {NOTES_DIR: "{vault.notes}", PORT: "{port}"}
ask:
  adapter: mapped
  modes: [hybrid]
  path: /search
  body: {query: "{question}", limit: "{k}"}
  response:
    chunks: {list: hits, rel_path: file, heading_path: section, text: text, score: score}
gate:
  tolerance: 0.05
  metrics:
    hit_at_5: {tolerance: 0.03, floor: 0.70}
invariants: {must_be_deterministic: error}
waivers:
  - {metric: ndcg_at_10, owner: ada, reason: "reindexing, issue 12", expires: 2026-12-31}
"""


EXPLAINED = ("index", "response")
"""Sections of `ask` whose keys a page of their own explains."""

SECTIONS = {
    "private": "private: {tags: [secret], places: [notes/Diary]}",
    "api": """\
api:
  command:
    build: [[go, build, -o, bin/notes-api, .]]
    run: [bin/notes-api]
    env: {API_PORT: "{port}", NOTES_DIR: "{vault.notes}"}
  ready: {timeout: 120}""",
    "ask": "ask: {modes: [hybrid, vector], k: 20, concurrency: 4, timeout: 30}",
    "score": "score: {k: [1, 3, 5, 10, 20]}",
    "gate": """\
gate:
  policy: evidence
  slices: fail
  metrics:
    hit_at_5: {tolerance: 0.03, floor: 0.70}
    hit_at_1: off""",
    "invariants": "invariants: {must_be_deterministic: error, lists_alike: off}",
    "judges": """\
judges:
  models: [{model: "openai:gpt-4o-2024-08-06"}]
  scores: [groundedness]
  max_calls: 500""",
    "waivers": """\
waivers:
  - {case: lease-notice, owner: ada, reason: "the note is being rewritten", expires: 2026-12-31}""",
    "faults": """\
faults:
  vector-off: {NOTES_DISABLE: vector}
  first-folder-skipped: faults/first-folder-skipped.patch""",
}
"""An example of every section; tests/unit/test_generated_docs.py loads each."""

SEE_ALSO = {
    "ask": "[Adapters](adapters.md) and [MCP](mcp.md) explain the keys within `index` and `response`.",
    "gate": "[Verdicts](verdicts.md#the-decision-rule) has the rules in full.",
    "waivers": "[Verdicts](verdicts.md#waivers) says what a waiver does, and what follows after its last day.",
    "faults": "[`raggate prove`](prove.md) tries them.",
}
"""Where a section is explained further."""


def configuration_page() -> str:
    """List the keys of raggate.yml by section, each below an example, and all below a complete one."""
    parts = [
        "# raggate.yml",
        NOTE,
        f"```yaml\n{EXAMPLE}```",
        "An unknown key, a duplicate key or a value of another type is an error that names file, line and key. Paths "
        "are relative to the file. [The schema](../src/raggate/config/raggate.schema.json) says more about each key: "
        "editors show it while you type. If a default is one of several values, all are listed, the default first.",
        "## Top level",
    ]
    shown: dict[type[BaseModel], str] = {}
    plain = [name for name in Config.model_fields if name not in SECTIONS]
    parts.append(_table(_rows(Config, "", plain, shown, {})))
    for name, example in SECTIONS.items():
        meaning = _first_sentence(described(Config).get(name, ""))
        model = model_in(Config.model_fields[name].annotation)
        alike = {frozenset(_choices(field)) for field in model.model_fields.values()} if model else set()
        if model and len(alike) == 1 and len(model.model_fields) > 1 and (values := sorted(*alike)):
            meaning += f" Each is one of {', '.join(f'`{value}`' for value in values)}."
        parts += [f"## `{name}`", meaning, f"```yaml\n{example}\n```"]
        if model:
            rows = _rows(model, "", list(model.model_fields), shown, {}, choices=len(alike) > 1)
            parts.append(_table(rows))
        parts += [SEE_ALSO[name]] if name in SEE_ALSO else []
    parts += ["## Metrics gated by default", ", ".join(f"`{name}`" for name in DEFAULT_GATED)]
    return "\n\n".join(parts) + "\n"


def _table(rows: list[str]) -> str:
    return "\n".join(["| key | default | meaning |", "|---|---|---|", *rows])


def _rows(
    model: type[BaseModel],
    prefix: str,
    names: list[str],
    shown: dict[type[BaseModel], str],
    said: dict[str, str],
    *,
    choices: bool = True,
) -> list[str]:
    """Return a row for each key of a model, each followed by the keys within it unless they were shown before.

    Keys that say the same share one row: `said` holds the rows of the section so far, with the place of each. Below
    `EXPLAINED` the keys of a section are listed in its own row.
    """
    rows: list[str] = []
    meanings = described(model)
    alike: dict[str, list[str]] = {}
    for name in names:
        field = model.model_fields[name]
        key = f"{prefix}{name}"
        below = any(key.startswith(f"{top}.") for top in EXPLAINED)
        meaning = _first_sentence(meanings.get(name, ""))
        inner = model_in(field.annotation)
        if inner in shown:
            meaning += f" Its keys are those of `{shown[inner]}`."
        elif inner is not None and below:
            meaning += f" Keys: {', '.join(f'`{part}`' for part in inner.model_fields)}."
        row = f"{name} | {_default(field, choices=choices)} | {meaning} |"
        if below and inner is None and prefix.removesuffix(".") not in EXPLAINED:
            continue
        if row in said and inner is None and not field.is_required():
            alike.setdefault(said[row], []).append(f"`{key}`")
            continue
        said.setdefault(row, prefix.removesuffix("."))
        rows.append(f"| `{key}` | {_default(field, choices=choices)} | {meaning} |")
        if inner is not None and inner not in shown:
            shown[inner] = key
            rows += _rows(inner, f"{key}{NAMED.get(name, '')}.", list(inner.model_fields), shown, said, choices=choices)
    return rows + [f"| {', '.join(keys)} | | as in `{before}` |" for before, keys in alike.items()]


def _first_sentence(text: str) -> str:
    """Return a text up to its first full stop or semicolon, unless what follows is about another value."""
    sentence = re.split(r"(?<=[a-z0-9`)*]\.)\s+(?=[A-Z`])", " ".join(text.split()))[0]
    first, semicolon, rest = sentence.partition("; ")
    return f"{first}." if semicolon and not rest.startswith("`") else sentence


WORKED = """\
A question has two gold supports, both needed. The API returns five chunks: no, **yes**, no, no, **yes**.

| metric | value | how |
|---|---|---|
| `hit_at_1`, `hit_at_5` | 0, 1 | a match is among the first 5, none is first |
| `mrr_at_10` | 0.5 | 1 / 2, the rank of the first match |
| `recall_all_at_3`, `recall_all_at_5` | 0, 1 | both are found at rank 5 |
| `precision_at_5` | 0.4 | 2 of 5 |
| `ndcg_at_5` | 0.624 | (1/log2(3) + 1/log2(6)) / (1/log2(2) + 1/log2(3)) |"""
"""One list with its values; tests/unit/test_generated_docs.py computes them."""


ARROWS = {"higher": "↑", "lower": "↓"}
"""Which values are better, as a sign."""


def metrics_page() -> str:
    """Return the formula, the range and the source of every metric."""
    rows = [_row(f"{name}_at_<k>" if metric.ranked else name, metric) for name, metric in METRICS.items()]
    labels, before = [], ""
    for name, metric in LABEL_METRICS.items():
        null = "as above" if len(metric.null) > len("as above") and metric.null == before else _cell(metric.null)
        values = f"{_range(1, binary=metric.binary)} {ARROWS[metric.direction]}"
        labels.append(f"| `{name}` | {_cell(metric.formula)} | {values} | {null} |")
        before = metric.null
    head = "| metric | formula | values | does not apply | source |\n|---|---|---|---|---|\n"
    of_labels = "| metric | formula | values | does not apply |\n|---|---|---|---|\n"
    return (
        "\n\n".join(
            [
                "# Metrics",
                NOTE,
                WORKED,
                "↑ means that higher is better, ↓ that lower is.",
                "A chunk matches a gold support if three things hold: the note is the same, the support's heading "
                "path is the chunk's or encloses it ([as people read "
                "headings](golden-set.md#when-two-headings-are-one)), and one of the support's snippets is in the "
                "chunk's text. Case and white space do not count.",
                "A value that does not apply is null. It is never 0 and never averaged: `n` counts the questions "
                "that have a value, `unscored` the others. A failed call is a miss and stays in the mean. A chunk "
                "whose id already appeared higher up is dropped before ranks are counted.",
                "## Of a run",
                head + "\n".join(rows),
                "## Operational rates",
                "`error_rate`, `timeout_rate`, `empty_result_rate`, `empty_response_rate` and `unasked_answer_rate` "
                "divide by all calls. `no_chunks_rate` and `chunks_skipped_rate` come from what the API says of its "
                "index. Latencies are nearest-rank percentiles in milliseconds: `client_ms` as raggate saw it, the "
                "others as the API reports them. None of them is ever gated.",
                "## Human labels",
                "`raggate labels` computes these, see [labelling.md](labelling.md#labels-of-other-tools). K is a "
                "number, or the judged chunks of each query.",
                of_labels + "\n".join(labels),
            ]
        )
        + "\n"
    )


def lint_page() -> str:
    """List every check of `raggate lint` by its level."""
    parts = [
        "# What `raggate lint` checks",
        NOTE,
        "```sh\nraggate lint --strict\n```",
        "`raggate lint` reads your files and starts nothing. It exits with 2 if "
        "a check finds an error (with `--strict` also a warning), otherwise with 0. To run it before every commit with "
        "[pre-commit](https://pre-commit.com):",
        "```yaml\nrepos:\n  - repo: https://github.com/OWNER/raggate\n    rev: SHA  # the release you trust\n"
        "    hooks:\n      - id: raggate-lint\n        args: [--strict]  # optional: warnings stop a commit too\n```",
        "The checks cannot see whether a label is right, or whether people really ask a question: see "
        "[questions.md](questions.md). Each finding names its place and tells you what to do.",
    ]
    headings = {"error": "Errors", "warning": "Warnings", "note": "Notes"}
    for severity, title in headings.items():
        rows = ["| check | what it finds |", "|---|---|"]
        own = [(name, check) for name, check in CHECKS.items() if check.severity == severity]
        rows += [f"| `{name}` | {_cell(check.title)} |" for name, check in own]
        parts += [f"## {title}", "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


FACTS = ("Formula", "Null", "Also", "Source")


def metric_facts(metric: Metric) -> dict[str, str]:
    """Parse the docstring of a metric: the summary, and the paragraphs of `FACTS`."""
    summary, _, rest = (inspect.getdoc(metric.function) or "").partition("\n")
    paragraphs = re.findall(rf"^({'|'.join(FACTS)}): (.+?)(?=^\w+: |\Z)", rest, re.MULTILINE | re.DOTALL)
    return {"Summary": summary, **dict(paragraphs)}


def _row(name: str, metric: Metric) -> str:
    facts = metric_facts(metric)
    values = f"{_range(highest(metric.judged or name), binary=metric.binary)} {ARROWS[metric.direction]}"
    return f"| `{name}` | {_cell(facts['Formula'])} | {values} | {_cell(facts['Null'])} | {_cell(facts['Source'])} |"


def _range(most: float, *, binary: bool) -> str:
    return "0/1" if binary else "≥ 0" if isinf(most) else f"0–{setting(most)}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the section that a key holds, alone or in a list or mapping."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for part in getattr(annotation, "__args__", ()) if (model := model_in(part))), None)


def _choices(field: FieldInfo) -> list[str]:
    return [part for part in getattr(field.annotation, "__args__", ()) if isinstance(part, str)]


def _default(field: FieldInfo, *, choices: bool) -> str:
    """Return the default of a field; of one of several values all of them if wanted, the default first."""
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel) or value in (None, [], {}, ()):
        return ""
    shown = [f"`{dumps(value).decode()}`"] if not isinstance(value, str) or not value else [f"`{value}`"]
    return ", ".join(shown + [f"`{part}`" for part in _choices(field) if choices and part != value])


PAGES: dict[str, Callable[[], str]] = {
    "docs/action.md": action_page,
    "src/raggate/config/raggate.schema.json": lambda: dumps(json_schema(), pretty=True).decode(),
    "docs/configuration.md": configuration_page,
    "docs/metrics.md": metrics_page,
    "src/raggate/cli/output.schema.json": lambda: dumps(output_schema.schema(), pretty=True).decode(),
    "docs/lint.md": lint_page,
}
"""What gives every generated file, by its path in the repository."""


def main() -> None:
    """Write every generated file."""
    for name, page in PAGES.items():
        (ROOT / name).write_text(page(), encoding="utf-8")
        print(f"wrote {name}")


if __name__ == "__main__":
    main()
