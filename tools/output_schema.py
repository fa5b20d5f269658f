"""What `--json` prints, as a table of keys: the JSON Schema that is shipped, and docs/json.md, are made of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from pydantic import TypeAdapter

from raggate.cli.main import cli
from raggate.cli.output import SCHEMA
from raggate.errors import ExitCode
from raggate.models.public_verdict import Verdict

DIALECT = "https://json-schema.org/draft/2020-12/schema"

TYPES: Mapping[str, dict[str, Any]] = {
    "text": {"type": "string"},
    "text or null": {"type": ["string", "null"]},
    "whole number": {"type": "integer"},
    "whole number or null": {"type": ["integer", "null"]},
    "number or null": {"type": ["number", "null"]},
    "true or false": {"type": "boolean"},
    "list of texts": {"type": "array", "items": {"type": "string"}},
    "list": {"type": "array", "items": {"type": "object"}},
    "list or null": {"type": ["array", "null"]},
    "mapping": {"type": "object"},
    "mapping or null": {"type": ["object", "null"]},
    "anything": {},
}

Keys = Mapping[str, tuple[str, str]]
"""Key -> its type, one of `TYPES`, and what it says."""

RUN_DIRECTORY: Keys = {"run_directory": ("text", "the run directory")}
METRICS: Keys = {"metrics": ("list", "`mode`, `metric`, `value`, `n`, `unscored` of each metric over all questions")}
MEASURED: Keys = {
    **RUN_DIRECTORY,
    "run_id": ("text", "the run's name"),
    "suite": ("text", "the suite"),
    "questions": ("whole number", "questions asked, each in each mode"),
    "failed": ("whole number", "those without an answer"),
}
WRITTEN: Keys = {"written": ("true or false", "false with --dry-run")}
IMPORTED: Keys = {**RUN_DIRECTORY, "questions": ("whole number", "questions of the run")}
LINES: Keys = {
    "file": ("text or null", "the file, with --out"),
    "lines": ("list or null", "the lines as objects, without --out"),
}
OWN: Keys = {}
"""The document of another system, which its page describes."""

RESULTS: Mapping[str, Keys] = {
    "demo": {
        "directory": ("text or null", "the files of the demo, with --keep"),
        "questions": ("whole number", "questions asked"),
        "good": ("mapping", "`outcome` and `exit_code` of the good change"),
        "broken": ("mapping", "the same of the broken one"),
    },
    "init": {"written": ("list of texts", "the files")},
    "probe": {
        "case_id": ("text", "the question's id"),
        "question": ("text", "what was asked"),
        "chunks": ("whole number", "chunks in the answer"),
        "rank": ("whole number or null", "where the first gold passage stands"),
        "fields": ("list", "what the answer filled: `name`, `source`, `filled`, `of`, `first`, `cost`"),
        "failure": ("mapping or null", "why there is no answer: `kind`, `message`, `status`"),
        "unknown": ("list of texts", "what keeps it from being judged"),
        "broken": ("list of texts", "what would break the gate"),
        "hints": ("list of texts", "what is worth knowing besides"),
    },
    "golden add": {
        "golden": ("text", "the golden set"),
        "case": ("mapping", "the question as it stands there"),
        **WRITTEN,
    },
    "golden import": {
        "format": ("text", "the format of FILE"),
        "golden": ("text", "the golden set"),
        "added": ("list of texts", "ids"),
        "known": ("whole number", "how many were there already"),
        "undecided": ("list", "`place` and `reason` of each question without a clear answer"),
        **WRITTEN,
    },
    "golden propose": {
        "accepted": ("list of texts", "ids taken over"),
        "rejected": ("list of texts", "ids dropped"),
        "waiting": ("list", "`id`, `question`, `answer`, `source` of those to decide on"),
        "proposals": ("text", "the file they wait in"),
    },
    "label": {
        "golden": ("text", "the golden set"),
        "open": ("whole number", "passages that the person has not judged"),
        "unwritten": ("list of texts", "files that say less than was decided"),
    },
    "lint": {
        "config": ("text", "the configuration"),
        "findings": ("list", "`check`, `severity`, `path`, `line`, `key`, `message`, `fix`"),
        "outlook": ("mapping or null", "what the suite can show"),
    },
    "diff": {
        **RUN_DIRECTORY,
        "base": ("mapping", "`kind`, `name`, `commit`, `run_id`"),
        "head": ("mapping", "the same"),
        "matrix": ("list", "`mode`, `metric`, `base`, `head`, `delta`, `n`, `status` of each gated metric"),
        "verdict": ("mapping", "as of `check`, with base in place of the baseline"),
    },
    "run": MEASURED,
    "calibrate": {**MEASURED, "noise": ("mapping or null", "what equal runs differ by, by mode and metric")},
    "judge": {
        "run_directory": ("text", "the run directory; not with --prune"),
        "metrics": ("list", "the judged metrics; not with --bias or --prune"),
        "bias": ("mapping", "with --bias: what judge_bias.json holds"),
        "cassette": ("text", "with --prune: the file of replies"),
        "dropped": ("whole number", "with --prune: replies dropped"),
        "kept": ("whole number", "with --prune: replies kept"),
        "written": ("true or false", "with --prune: false with --dry-run"),
    },
    "score": {
        **RUN_DIRECTORY,
        "complete": ("true or false", "whether all questions were asked; false for a part of them"),
        **METRICS,
    },
    "report": {
        **RUN_DIRECTORY,
        "report": ("text", "the name of the report"),
        "text": ("text", "what it says"),
    },
    "runs": {
        "out": ("text", "where they are"),
        "runs": (
            "list",
            "`id`, `started`, `suite`, `verdict`, `partial` (`asked`, `of`), `stopped` (before all were asked), "
            "`bytes`; the newest first",
        ),
    },
    "runs prune": {
        "out": ("text", "where they are"),
        "deleted": ("list of texts", "ids of the runs"),
        "left": ("whole number", "how many are left"),
        **WRITTEN,
    },
    "promote": {
        "baseline": ("text", "the baseline file"),
        "suite": ("text", "its suite"),
        "run_id": ("text", "the run it is made of"),
        "cases": ("whole number", "its questions"),
        **WRITTEN,
    },
    "baseline show": {
        "source": ("text", "the file"),
        "suite": ("text", "its suite"),
        "run_id": ("text", "the run it is made of"),
        "age_days": ("number or null", "days since it was measured"),
        "provenance": ("mapping", "where it is from"),
        "counts": ("mapping", "questions by mode"),
        "values": ("mapping", "mode, slice, metric: `value` and `n`"),
        "accepted": ("mapping", "mode, metric: the best accepted value and what lowered it"),
    },
    "baseline log": {
        "path": ("text", "the file"),
        "more": ("anything", "whether there are older versions"),
        "shallow": ("true or false", "whether the clone hides some"),
        "revisions": ("list", "every version with its values, newest first"),
    },
    "prove": {"directory": ("text", "where the reports are"), "proof": ("mapping", "what proof.json holds")},
    "comment": {"comments": ("list", "`pull_request`, `exit_code`, `url`")},
    "gitlab-note": {
        "note": ("whole number", "the note"),
        "new": ("true or false", "whether there was none before"),
        "merge_request": ("text", "its number"),
        "report": ("true or false", "whether REPORT was there"),
    },
    "convert": {
        "cases": ("whole number", "cases of SOURCE"),
        "written": ("whole number", "cases of TARGET"),
        "files": ("list of texts", "the files written"),
        "lost": ("list", "`case`, `key`, `kind`, `message` of what TARGET cannot say"),
        "filled": ("list", "the same of defaults that became explicit"),
    },
    "export run": {
        "file": ("text", "the file"),
        "lists": ("whole number", "lists in it"),
        "failed": ("whole number", "failed calls, which are not"),
        "empty": ("whole number", "empty lists, which are not"),
    },
    "export corpus": {"file": ("text", "the file"), "documents": ("whole number", "documents in it")},
    "evaluate": {
        "cutoffs": ("anything", "the cut-offs"),
        "counts": ("mapping", "queries, and what is odd about them"),
        "metrics": ("mapping", "metric: `value` and `n`"),
        "per_query": ("mapping", "with --per-query: query, metric: value"),
    },
    "labels agreement": {"tasks": ("list", "`task`, `labels`, `pairs` of each task")},
    "labels score": {
        "task": ("text", "the task"),
        "k": ("whole number or null", "the cut-off; null if it is inferred"),
        "queries": ("whole number", "queries scored"),
        "metrics": ("mapping", "metric: value and interval, or null"),
    },
    "labels show": {"reports": ("list", "`file`, `task`, `queries`, `metrics`")},
    "labels check": {
        "judgments": ("whole number", "judgments read"),
        "panels": ("whole number", "retrieval panels"),
        "complete": ("whole number", "those known to be complete"),
        "findings": ("list", "`rule`, `message`, `place` of each"),
    },
    "labels join": {
        **RUN_DIRECTORY,
        "k": ("whole number", "the cut-off"),
        "unjudged": ("number or null", "share of the first K chunks without a label"),
        "metrics": ("mapping", "metric: value"),
        "deltas": ("list", "with --baseline: the metrics on both sides"),
        "doubts": ("list of texts", "why there is no verdict"),
    },
    "helloworld score": OWN,
    "helloworld compare": {"comparison": ("mapping", "invariants, settings, means, questions that flipped")},
    "helloworld export": {
        **RUN_DIRECTORY,
        "rows": ("whole number", "rows"),
        "failed": ("whole number", "failed calls without one"),
    },
    "helloworld redact": {**RUN_DIRECTORY, "rows": ("whole number", "rows")},
    "helloworld import": IMPORTED,
    "kebab aggregate": OWN,
    "kebab compare": OWN,
    "kebab variants": OWN,
    "kebab runs": {"runs": ("list", "the runs, oldest first")},
    "kebab import": IMPORTED,
    "kebab export": {
        "file": ("text", "the file"),
        "rows": ("whole number", "rows"),
        "failed": ("whole number", "failed calls among them"),
    },
    "substrate score": {"metrics": ("mapping", "mode, bucket, metric: value")},
    "substrate compare": {
        "rows": ("list", "`mode`, `difficulty`, `metric`, both values, `delta`, `status`"),
        "vanished": ("list of texts", "what the baseline has and METRICS has not"),
        "fewer": ("list of texts", "buckets with fewer queries"),
        "new": ("list of texts", "what METRICS alone has"),
        "limits": ("list of texts", "limits that are broken"),
    },
    "substrate baseline update": {
        "baseline": ("text", "the file"),
        "key": ("text", "its key"),
        "written": ("true or false", "false if it was the same already"),
    },
    "substrate trace": LINES,
    "substrate results": LINES,
}
"""By command; `check` and `compare` give a verdict, whose keys are the fields of `raggate.Verdict`."""

OPTIONAL: Mapping[str, frozenset[str]] = {"judge": frozenset(RESULTS["judge"]), "evaluate": frozenset({"per_query"})}
"""Keys that only some flags give."""


def commands() -> list[str]:
    """Name every command that does something, as people type it."""
    return sorted(_below(cli, ()))


def _below(group: click.Group, path: tuple[str, ...]) -> list[str]:
    names: list[str] = []
    for name, command in group.commands.items():
        inner = (*path, name)
        if not isinstance(command, click.Group) or command.invoke_without_command:
            names.append(" ".join(inner))
        names += _below(command, inner) if isinstance(command, click.Group) else []
    return names


def schema() -> dict[str, Any]:
    """Give the JSON Schema of what `--json` prints."""
    verdict = TypeAdapter(Verdict).json_schema(mode="serialization", ref_template="#/$defs/{model}")
    definitions = verdict.pop("$defs")
    rules = [
        {
            "if": {"properties": {"command": {"const": command}}},
            "then": {"properties": {"result": {"anyOf": [_result(command), {"type": "null"}]}}},
        }
        for command in commands()
    ]
    return {
        "$schema": DIALECT,
        "title": "What raggate prints with --json",
        "type": "object",
        "required": ["schema", "command", "exit_code", "result", "error"],
        "properties": {
            "schema": {"const": SCHEMA},
            "command": {"enum": ["", *_groups(), *commands()]},
            "exit_code": {"enum": [int(code) for code in ExitCode]},
            "result": {"type": ["object", "null"]},
            "error": {"anyOf": [{"$ref": "#/$defs/Error"}, {"type": "null"}]},
        },
        "allOf": rules,
        "$defs": {**definitions, "Verdict": verdict, "Error": _error()},
    }


def _groups() -> list[str]:
    paths = [name.split() for name in commands()]
    return sorted({" ".join(words[:end]) for words in paths for end in range(1, len(words))})


def _result(command: str) -> dict[str, Any]:
    if command in {"check", "compare"}:
        return {"$ref": "#/$defs/Verdict"}
    keys = RESULTS[command]
    required = [key for key in keys if key not in OPTIONAL.get(command, ())]
    properties = {key: {**TYPES[kind], "description": meaning} for key, (kind, meaning) in keys.items()}
    return {"type": "object", "required": required, "properties": properties}


def _error() -> dict[str, Any]:
    problem = {"file": TYPES["text"], "line": TYPES["whole number"], "text": TYPES["text"], "key": TYPES["text"]}
    properties = {
        "code": {"enum": ["usage-error", "cannot-tell", "interrupted", "internal-error", "error"]},
        "message": TYPES["text"],
        "hint": TYPES["text"],
        "exit_code": TYPES["whole number"],
        "check": TYPES["text or null"],
        "problems": {"type": "array", "items": {"type": "object", "required": [*problem], "properties": problem}},
        "run_directory": TYPES["text or null"],
        "log": TYPES["list of texts"],
    }
    return {"type": "object", "required": [*properties], "properties": properties}


def page() -> str:
    """Write docs/json.md: the text of tools/json.md, and a table for each command."""
    parts = [(Path(__file__).parent / "json.md").read_text(encoding="utf-8").strip()]
    for command in commands():
        if command in {"check", "compare"}:
            verdict = "[`raggate.Verdict`](python.md#the-verdict)"
            fields = f"The fields of {verdict} but for `passed`; `run_directory` as text."
            parts.append(f"### {command}\n\n{fields}")
        elif not RESULTS[command]:
            parts.append(f"### {command}\n\nThe document that `raggate {command} --json` prints by itself.")
        else:
            rows = [f"| `{key}` | {kind} | {meaning} |" for key, (kind, meaning) in RESULTS[command].items()]
            parts.append("\n".join([f"### {command}\n", "| key | type | |", "|---|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"
