"""An API that searches nothing: it carries the golden set and answers each question with the gold places.

FAKE_BEHAVIOUR says what it makes of heading and text: `invented_heading`, `invented_text`, and where the gold has no
snippet `empty_text`, `invisible_text`, `symbols`; without any it copies them from golden set and note. `silent` leaves
the coverage out, and `nothing_else` finds nothing for a question that it does not know.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import process_api

INVENTED = "Ask the person at the desk near the window, who keeps a list of such things and will gladly look it up."
TEXTS = {"empty_text": " \n", "invisible_text": "\u200b\u3164\u2060", "symbols": "🙂🙂"}


class Memory(process_api.Index):
    """Knows the answers."""

    def __init__(self) -> None:
        super().__init__()
        golden = Path(os.environ["VAULT_WORK_PATH"]).parents[1] / "golden.jsonl"
        self.cases = {case["question"]: case for case in map(json.loads, golden.read_text().splitlines())}

    def hits(self, question: str, *, k: int, vaults: list[str]) -> list[dict]:
        """Return the gold supports of a question, one chunk each."""
        case = self.cases.get(question)
        if case is None:
            return [] if "nothing_else" in process_api.BEHAVIOUR else super().hits(question, k=k, vaults=vaults)
        return [
            self.chunk(support, case["vaults"][0])
            | {"rank": rank, **dict.fromkeys(("score_final", "score_vector", "score_lexical"), 1 / rank)}
            for rank, support in enumerate(case["gold_supports"], 1)
        ]

    def chunk(self, support: dict, vault: str) -> dict:
        """Make a chunk of a gold support, with an id that tells the vault as the contract says."""
        known = next(
            chunk
            for home, chunk, _ in self.chunks
            if home == vault
            and chunk["rel_path"] == support["rel_path"]
            and chunk["heading_path"].startswith(support.get("heading_path") or "")
        )
        heading, text = known["heading_path"], known["text"]
        if "invented_heading" in process_api.BEHAVIOUR:
            heading += " > ### Where this is said"
        if "invented_text" in process_api.BEHAVIOUR:
            text = " ".join([INVENTED, *support.get("snippets", [])])
        if "snippets" not in support:
            text = next((TEXTS[name] for name in process_api.BEHAVIOUR if name in TEXTS), text)
        key = f"{process_api.VAULTS[vault]}|{support['rel_path']}|{heading}|{text}"
        number = hashlib.sha256(key.encode()).hexdigest()[:32]
        return {"chunk_id": number, "rel_path": support["rel_path"], "heading_path": heading, "text": text}

    def coverage(self) -> dict:
        """Return the state of the index, or nothing."""
        return {} if "silent" in process_api.BEHAVIOUR else super().coverage()


if __name__ == "__main__":
    process_api.Index = Memory
    process_api.main()
