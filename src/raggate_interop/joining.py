"""Result lists and judgements, joined by query while both are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from raggate_interop.totals import Totals
from raggate_interop.trec_beir.grades import QueryGrades
from raggate_interop.trec_beir.rankings import Ranking


class Scattered(Exception):
    """A query came twice: as `ranking`, or in the judgements."""

    def __init__(self, ranking: Ranking | None = None) -> None:
        super().__init__(ranking)
        self.ranking = ranking


class _WaitingGrades:
    """Judgements by query, read no further than the lists need: files in the same order pass by in step."""

    def __init__(self, groups: Iterable[QueryGrades]) -> None:
        self._groups = iter(groups)
        self._waiting: dict[str, QueryGrades] = {}
        self.given: set[str] = set()

    def take(self, query_id: str) -> Mapping[str, int] | None:
        """Return the judgements of a query, once; None when there are none (left)."""
        if query_id in self.given:
            return None
        query = self._waiting.pop(query_id, None)
        while query is None:
            group = next(self._groups, None)
            if group is None:
                return None
            if group.query_id in self.given or group.query_id in self._waiting:
                raise Scattered
            if group.query_id == query_id:
                query = group
            else:
                self._waiting[group.query_id] = group
        self.given.add(query_id)
        return query.grades

    def rest(self) -> Iterator[QueryGrades]:
        """Yield what was not taken."""
        yield from self._waiting.values()
        self.given.update(self._waiting)
        for group in self._groups:
            if group.query_id in self.given:
                raise Scattered
            self.given.add(group.query_id)
            yield group


def join(rankings: Iterable[Ranking], judgements: Iterable[QueryGrades], totals: Totals) -> None:
    """Add each list with its judgements to totals, both taken one by one.

    Raises:
        Scattered: when a query comes twice on either side.
    """
    lookup = _WaitingGrades(judgements)
    extra: set[str] = set()
    for ranking in rankings:
        grades = lookup.take(ranking.query_id)
        if grades is not None:
            totals.add(ranking, grades)
        elif ranking.query_id in lookup.given or ranking.query_id in extra:
            raise Scattered(ranking)
        else:
            extra.add(ranking.query_id)
    for query in lookup.rest():
        totals.add_missing(query)
    totals.counts.extra = len(extra)
