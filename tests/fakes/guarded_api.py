"""The notes API of `process_api.py` that keeps what invariants ask for, and breaks one of them when it is told to.

It leaves private notes out, and shows each principal (header `X-User`) their vault alone. FAKE_FAULT names what it does
wrong.
"""

from __future__ import annotations

import hashlib
import os

import process_api
from plain_http import PlainServer

FAULT = os.environ.get("FAKE_FAULT", "")
NEXT = "next"
"""Stands among the vaults that are asked as anna."""
SEES = {"anna": ["work"], "bert": ["personal"]}


class GuardedIndex(process_api.Index):
    """The chunks of all notes but private ones."""

    def __init__(self) -> None:
        super().__init__()
        hidden = {path for _, path, text in self.notes if "private: true" in text}
        texts = {chunk["rel_path"]: chunk["text"] for _, chunk, _ in self.chunks}
        self.kept_back, self.personal = texts["Notes/diary.md"], texts["Notes/sister.md"]
        if FAULT != "exposes":
            self.notes = [note for note in self.notes if note[1] not in hidden]
            self.chunks = [chunk for chunk in self.chunks if chunk[1]["rel_path"] not in hidden]

    def hits(self, question: str, *, k: int, vaults: list[str]) -> list[dict]:
        """Rank as ever, but for what is wrong."""
        ranked = super().hits(question, k=10, vaults=vaults)
        if "bitter" in question.lower() and FAULT in {"borrows_place", "runs_on"}:
            before = "{text}\n" if FAULT == "runs_on" else ""
            ranked[:1] = [self.retold(chunk, before + self.kept_back) for chunk in ranked[:1]]
        if FAULT == "next_note" and NEXT in vaults:
            ranked[:1] = [self.retold(chunk, "{text}\n" + self.personal) for chunk in ranked[:1]]
        return [{**chunk, "rank": rank, "score_final": 1 / rank} for rank, chunk in enumerate(ranked[:k], 1)]

    def retold(self, chunk: dict, text: str) -> dict:
        """Return a chunk another text, in which `{text}` is its own, under an id that is true to it."""
        vault = next(vault for vault, own, _ in self.chunks if own["chunk_id"] == chunk["chunk_id"])
        text = text.replace("{text}", chunk["text"])
        key = f"{process_api.VAULTS[vault]}|{chunk['rel_path']}|{chunk['heading_path']}|{text}"
        return {**chunk, "text": text, "chunk_id": hashlib.sha256(key.encode()).hexdigest()[:32]}


class GuardedHandler(process_api.Handler):
    """Answers those who may ask."""

    def retrieve(self, request: dict, query: dict[str, str]) -> None:
        """Limit a question to what the principal may see."""
        who = self.headers.get("x-user")
        if who is not None and FAULT == "locks_out":
            self.reply({"error": "Unauthorized"}, 401)
            return
        if who is not None and FAULT != "leaks":
            asked = request.get("vaults") or list(process_api.VAULTS)
            request = {**request, "vaults": [vault for vault in asked if vault in SEES[who]] or ["none"]}
            request["vaults"] += [NEXT] if who == "anna" else []
        super().retrieve(request, query)

    def reply(self, value: dict, status: int = 200) -> None:
        """Answer, with a private text in a field beside the answer where that is wrong."""
        if "debug" in value:
            if FAULT == "reasons":
                value = {**value, "answer": "See the notes.", "abstain_reason": self.index.kept_back}
            if FAULT == "names_folders":
                folders = {"selected_folders": [], "available_folders": [f"work/{self.index.kept_back}"]}
                value = {**value, "debug": {**value["debug"], "folder_selection": folders}}
        super().reply(value, status)


def main() -> None:
    GuardedHandler.index = GuardedIndex()
    PlainServer(("127.0.0.1", int(os.environ["API_PORT"])), GuardedHandler).serve_forever()


if __name__ == "__main__":
    main()
