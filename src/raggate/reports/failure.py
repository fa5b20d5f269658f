"""What is left when a run ended without a verdict: the same files, with the reason and the API's last words."""

from __future__ import annotations

from dataclasses import asdict

from raggate.errors import ExitCode, RaggateError
from raggate.escape import markdown as safe
from raggate.escape import plain
from raggate.jsonio import dumps
from raggate.outcomes import GoldenChanges
from raggate.reports.verdict_file import SCHEMA


def render_markdown(error: RaggateError, suite: str, run_id: str) -> str:
    """Render why there is no verdict, for summary.md."""
    sign = "⏹️" if error.exit_code == ExitCode.INTERRUPTED else "❔"
    parts = [
        f"## {sign} raggate: {error.label} (suite {safe(suite)})",
        "> [!WARNING]\n" + "<br>\n".join(f"> {safe(line, limit=1500)}" for line in error.message.split("\n")),
    ]
    if error.hint:
        parts.append(safe(error.hint, limit=600))
    if error.log:
        parts.append(log_section(error.log))
    parts.append(f"<sub>run {safe(run_id)}</sub>")
    return "\n\n".join(parts) + "\n"


def render_json(error: RaggateError, suite: str, run_id: str) -> str:
    """Serialise why there is no verdict, for verdict.json."""
    value = {
        "schema": SCHEMA,
        "suite": suite,
        "run_id": run_id,
        "verdict": error.label,
        "exit_code": int(error.exit_code),
        "headline": plain(error.message, limit=1500),
        "reasons": [{"code": error.label.replace(" ", "-"), "message": plain(error.message, limit=1500)}],
        "warnings": [],
        "baseline": None,
        "against": None,
        "compared": 0,
        "metrics": [],
        "flips": [],
        "golden_changes": asdict(GoldenChanges()),
        "vault_changes": [],
        "config_changes": [],
        "invariants": [],
        "not_used": [],
        "hint": error.hint,
        "log": [plain(line) for line in error.log],
    }
    return dumps(value, pretty=True).decode()


def log_section(lines: tuple[str, ...]) -> str:
    """Render the API's last log lines, folded."""
    body = "<br>\n".join(safe(line) or "&nbsp;" for line in lines)
    return f"<details open><summary>The API's last log lines</summary>\n\n{body}\n\n</details>"
