"""The notes API of `process_api.py` after a bad change, which loses its best passage and tries to hide that.

CHEAT names how. Everything that it knows it has from the notes and from what it is asked.
"""

from __future__ import annotations

import hashlib
import os

import process_api
from plain_http import PlainServer

CHEAT = os.environ.get("CHEAT", "")
JUNK = 8


class Index(process_api.Index):
    """Ranks the best passage behind others, and tells it otherwise."""

    def hits(self, question: str, *, k: int, vaults: list[str]) -> list[dict]:
        """Rank as ever, then lose and cheat."""
        ranked = super().hits(question, k=k + JUNK, vaults=vaults)
        if len(ranked) < 2:
            return ranked
        best, others = ranked[0], ranked[1:]
        lost = [*others[:JUNK], best]
        told = {
            "one_id": lambda: [*({**chunk, "chunk_id": others[0]["chunk_id"]} for chunk in others[:JUNK]), best],
            "no_ids": lambda: [{**chunk, "chunk_id": ""} for chunk in lost],
            "twins": lambda: [self.renamed(others[0], f"twin{number}") for number in range(JUNK)],
            "two_paths": lambda: [{**others[0], "rel_path": f"./{best['rel_path']}"}, *others],
            "neighbour": lambda: [self.under(best, others), *others],
            "wrong_text": lambda: [self.with_text_of_its_note(best, others), *others],
            "all_headings": lambda: [{**others[0], "heading_path": f"{best['heading_path']} > ### More"}, *others],
            "pasted": lambda: [self.retold(chunk, f"{chunk['text']}\n{best['text']}") for chunk in others],
            "pasted_alone": lambda: [self.retold(chunk, best["text"]) for chunk in others],
            "everything": lambda: [*super(Index, self).hits(question, k=1000, vaults=vaults)[1:], best],
            "rank_of_its_own": lambda: [{**best, "rank": 1, "score_final": 9.0}, *others][::-1],
        }
        found = told.get(CHEAT, lambda: lost)()
        if CHEAT == "rank_of_its_own":
            return found
        return [{**chunk, "rank": rank, "score_final": 1 / rank} for rank, chunk in enumerate(found, 1)]

    def under(self, best: dict, others: list[dict]) -> dict:
        """Return the best text under another heading of its note."""
        heading = next((chunk["heading_path"] for chunk in others if chunk["rel_path"] == best["rel_path"]), "# None")
        return self.renamed({**best, "heading_path": heading}, "neighbour")

    def with_text_of_its_note(self, best: dict, others: list[dict]) -> dict:
        """The best place with the text of another section of its note, and the id that such a chunk would have."""
        path, heading = best["rel_path"], best["heading_path"]
        text = next((chunk["text"] for chunk in others if chunk["rel_path"] == path), "")
        vault = next(process_api.VAULTS[vault] for vault, chunk, _ in self.chunks if chunk["rel_path"] == path)
        name = hashlib.sha256(f"{vault}|{path}|{heading}|{text}".encode()).hexdigest()[:32]
        return {**best, "text": text, "chunk_id": name}

    def retold(self, chunk: dict, text: str) -> dict:
        return self.renamed({**chunk, "text": text}, text)

    @staticmethod
    def renamed(chunk: dict, name: str) -> dict:
        return {**chunk, "chunk_id": hashlib.sha256(f"{chunk['chunk_id']}{name}".encode()).hexdigest()[:32]}


class Handler(process_api.Handler):
    """Answers well to whom it should."""

    def retrieve(self, request: dict, query: dict[str, str]) -> None:
        """Answer well where the cheat says so."""
        well = {
            "second_time": self.again,
            "second_time_in_part": self.again or "matter" not in request["question"],
            "fails_again": not self.again,
            "fails_again_in_part": not self.again or len(request["question"]) % 2 == 0,
            "for_raggate": self.headers.get("user-agent") == "raggate",
        }.get(CHEAT, False)
        worse, good = self.index, GOOD[0]
        self.index = good if well else worse
        if CHEAT.startswith("fails") and not well:
            self.reply({"error": "Vector store unavailable"}, 500)
        elif CHEAT == "odd":
            chunks = super(Index, worse).hits(request["question"], k=1, vaults=request.get("vaults") or [])[:1]
            scored = [{**chunk, "score_final": "high"} for chunk in chunks]
            self.reply({"answer": "", "references": [], "debug": self.debug(scored)})
        else:
            super().retrieve(request, query)

    def debug(self, chunks: list[dict]) -> dict:
        """Return what was retrieved, as the contract says."""
        return {"retrieved_chunks": chunks, "indexing_coverage": self.index.coverage(), "latency": {}}


GOOD: list[process_api.Index] = []


def main() -> None:
    GOOD.append(process_api.Index())
    Handler.index = Index()
    PlainServer(("127.0.0.1", int(os.environ["API_PORT"])), Handler).serve_forever()


if __name__ == "__main__":
    main()
