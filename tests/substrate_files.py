"""Files of substrate, as its scripts write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def put(path: Path, value: Any) -> Path:
    """Write a JSON file indented by two, or the rows of a file of JSON lines."""
    rows = [json.dumps(row, ensure_ascii=False) for row in value] if path.suffix == ".jsonl" else []
    path.write_text("".join(f"{row}\n" for row in rows or [json.dumps(value, indent=2)]), encoding="utf-8")
    return path
