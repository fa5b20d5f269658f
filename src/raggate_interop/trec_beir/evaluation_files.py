"""The two files of an evaluation: paths in, judgements and result lists out, whatever format they are in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from raggate.errors import UsageError
from raggate_interop.trec_beir import beir, trec
from raggate_interop.trec_beir.grades import QueryGrades
from raggate_interop.trec_beir.rankings import Ranking, iter_lists


class Files(Struct, frozen=True, kw_only=True):
    """What to score: judgements from `qrels` or `beir`, result lists from `run` or `lists`; one of each pair.

    Attributes:
        qrels: a TREC qrels file.
        beir: a BEIR folder, of which the judgements of `split` are read.
        split: the name of the split.
        run: a TREC run file.
        lists: result lists as JSON lines.
        keep_first: of a document that occurs twice for a query in qrels or run count the first, in place of an error.
    """

    qrels: Path | None = None
    beir: Path | None = None
    split: str = "test"
    run: Path | None = None
    lists: Path | None = None
    keep_first: bool = False

    def judgements(self, *, whole: bool) -> Iterator[QueryGrades]:
        """Read the judgements; `whole` puts lines together that stand apart."""
        if self.beir is not None:
            qrels = beir.read_qrels(self.beir, self.split, keep_first=self.keep_first)
        elif self.qrels is None:
            raise UsageError("no judgements: name a qrels file or a BEIR folder")
        elif not whole:
            return trec.iter_qrels(self.qrels, keep_first=self.keep_first)
        else:
            qrels = trec.read_qrels(self.qrels, keep_first=self.keep_first)
        return (QueryGrades(query_id, grades) for query_id, grades in qrels.items())

    def rankings(self, *, whole: bool) -> Iterable[Ranking]:
        """Read the result lists; `whole` puts lines together that stand apart."""
        if self.lists is not None:
            return iter_lists(self.lists)
        if self.run is None:
            raise UsageError("no result lists: name a run file or a file of JSON lines")
        if not whole:
            return trec.iter_run(self.run, keep_first=self.keep_first)
        return trec.read_run(self.run, keep_first=self.keep_first).values()

    def can_be_read_again(self) -> bool:
        """Return whether none of the files is a pipe."""
        sources = (self.qrels, self.run, self.lists)
        return all(source is None or source.is_file() for source in sources)
