"""Retrieval metrics of one case: did the gold supports come back, how high, and among how much else.

All are None for a case without gold supports (unanswerable), and a failed call is a miss.
"""

from __future__ import annotations

from raggate.base.headings import in_scope
from raggate.models.run import LabelledResult
from raggate.scoring.metrics.ranking import complete_at, discounted, first_hit, gains_of, labelled, ranking


def hit(item: LabelledResult, k: int) -> float | None:
    """At least one of the first k chunks matches a gold support (recall_any@k of helloworld).

    Formula: 1 if some rank <= k matches, else 0.
    Null: unanswerable cases.
    Also: recall_at_k (helloworld), hit_at_k (kebab, substrate), success@k (TREC), sufficiency_hit
        (human labels, of chunks).
    Source: TREC success@k.
    """
    if not labelled(item.case):
        return None
    rank = first_hit(ranking(item))
    return float(rank is not None and rank <= k)


def recall_all(item: LabelledResult, k: int) -> float | None:
    """Everything that one of the support groups requires is in the first k chunks.

    Formula: 1 if for some group every support is matched by a rank <= k, else 0.
    Null: cases without required_support_groups.
    Also: recall_all_at_k (helloworld).
    Source: helloworld's recall_all@k.
    """
    groups = item.case.required_support_groups
    if not labelled(item.case) or not groups:
        return None
    depth = complete_at(ranking(item), groups)
    return float(depth is not None and depth <= k)


def mrr(item: LabelledResult, k: int) -> float | None:
    """How high the first match is ranked.

    Formula: 1 / rank of the first matching chunk if that rank <= k, else 0.
    Null: unanswerable cases.
    Also: mrr_avg (helloworld), mrr (kebab, at 10), mrr_at_k (substrate), reciprocal rank (TREC, human
        labels).
    Source: Voorhees 1999, TREC-8 question answering track.
    """
    if not labelled(item.case):
        return None
    rank = first_hit(ranking(item))
    return 1 / rank if rank is not None and rank <= k else 0.0


def precision(item: LabelledResult, k: int) -> float | None:
    """Share of the first k places with a matching chunk. A list shorter than k is still divided by k.

    Formula: matching chunks among the first k / k.
    Null: unanswerable cases.
    Also: precision_at_k (helloworld), precision_at_k_chunk (kebab), P@k (TREC).
    Source: TREC P@k.
    """
    if not labelled(item.case):
        return None
    return sum(bool(supports) for supports in ranking(item)[:k]) / k


def ndcg(item: LabelledResult, k: int) -> float | None:
    """Discounted gain of the ranking over that of the ideal one, which is built from the golden set.

    Formula: sum of grade / log2(rank + 1) over rank <= k, divided by the same sum of the grades in descending order.
    Null: unanswerable cases.
    Also: ndcg_at_k (substrate), ndcg_cut (TREC).
    Source: Järvelin and Kekäläinen 2002, linear gain as in trec_eval's ndcg_cut; a support gains once.
    """
    return _ndcg(item, k, exponential=False)


def ndcg_exp(item: LabelledResult, k: int) -> float | None:
    """The same with exponential gain; equal to ndcg when all grades are 1.

    Formula: as ndcg with 2^grade - 1 in place of grade.
    Null: unanswerable cases.
    Also: ndcg (human labels, with gains of 1 and 3).
    Source: Burges et al. 2005.
    """
    return _ndcg(item, k, exponential=True)


def _ndcg(item: LabelledResult, k: int, *, exponential: bool) -> float | None:
    if not labelled(item.case):
        return None
    supports = item.case.gold_supports
    ideal = sorted((support.grade for support in supports), reverse=True)[:k]
    actual = gains_of(item)[:k]
    if exponential:
        ideal, actual = [2**grade - 1 for grade in ideal], [2**grade - 1 for grade in actual]
    return discounted(actual) / discounted(ideal)


def unjudged(item: LabelledResult, k: int) -> float | None:
    """Share of the first k chunks that nobody judged: no gold support, and no place that is said not to answer.

    Every other retrieval metric takes such a chunk for one that does not answer.

    Formula: chunks among the first k that match neither a gold support nor its place nor not_relevant / chunks among
        the first k.
    Null: unanswerable cases, empty lists and failed calls.
    Also: 1 - Judged@k (BEIR, ir_measures), unjudged_at_k (human labels).
    Source: Judged@k of ir_measures, as its complement.
    """
    if not labelled(item.case):
        return None
    judged, dropped = set(item.labels.judged), set(item.labels.duplicates)
    places = [place for place in range(len(item.labels.matches)) if place not in dropped][:k]
    open_places = sum(not item.labels.matches[place] and place not in judged for place in places)
    return open_places / len(places) if places else None


def scope_miss(item: LabelledResult) -> float | None:
    """Folder selection left out the folder of every gold support.

    Formula: 1 if no gold support's vault/folder lies in a selected folder, else 0; selecting nothing means no limit.
    Null: unanswerable cases, failed calls, APIs that do not say, and supports named by an id alone.
    Also: scope_miss_rate (helloworld).
    Source: helloworld's definition; its script measures no match in the list.
    """
    response = item.result.response
    if not labelled(item.case) or response is None or response.selected_folders is None:
        return None
    selected = response.selected_folders
    if not selected:
        return 0.0
    places = [
        in_scope(support.rel_path, item.case.vaults_of(support), selected)
        for support in item.case.gold_supports
        if support.rel_path
    ]
    return float(not any(places)) if places else None


def heading_dominance(item: LabelledResult) -> float | None:
    """The first chunk has words of the question in its heading only, and none in its body.

    Formula: 1 if the first chunk is heading-only, else 0; an empty list is 0, a failed call is 1.
    Null: never.
    Also: heading_dominance_rate (substrate).
    Source: substrate's seed definition.
    """
    if item.result.response is None:
        return 1.0
    return float(bool(item.labels.heading_only) and item.labels.heading_only[0])
