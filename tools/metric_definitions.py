"""What numbers are that are not computed from a labelled case: their definitions, for docs/metrics.md alone."""

from __future__ import annotations

from dataclasses import dataclass

from raggate.models.scorecard import Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """What a docstring says of the metrics of a run, as fields; `also` says who calls it what."""

    summary: str
    formula: str
    null: str
    also: str
    source: str
    direction: Direction = "higher"
    binary: bool = False
    highest: float = 1


_R = "R is the number of documents judged for the query with grade 1 or more."
_LEFT_OUT = "queries without a relevant document, which are left out and counted."
_KEBAB = "kebab's metrics.rs."
_UNLABELLED = "never; 0 over nothing, as kebab stores it. Queries without expected_chunk_ids are left out."

EVALUATED: dict[str, Definition] = {
    "hit": Definition(
        summary="A relevant document is in the first k places.",
        formula="1 if some document of grade 1 or more has a rank <= k, else 0; without a list 0.",
        null=_LEFT_OUT,
        also="success@k (TREC), hit_at_k (substrate).",
        source="TREC success@k.",
        binary=True,
    ),
    "recall": Definition(
        summary=f"Share of the relevant documents that are in the first k places. {_R}",
        formula="relevant documents among the first k / R; without a list 0.",
        null=_LEFT_OUT,
        also="recall.k (TREC), recall_at_k_doc (kebab).",
        source="TREC recall.",
    ),
    "precision": Definition(
        summary="Share of the first k places with a relevant document. A list shorter than k is still divided by k.",
        formula="relevant documents among the first k / k; without a list 0.",
        null=_LEFT_OUT,
        also="P@k (TREC), precision_at_k (helloworld).",
        source="TREC P@k.",
    ),
    "mrr": Definition(
        summary="How high the first relevant document is ranked.",
        formula="1 / rank of the first relevant document if that rank is at most k, else 0; without a list 0.",
        null=_LEFT_OUT,
        also="recip_rank (TREC, without a cut-off), RR@k (ir_measures).",
        source="Voorhees 1999, TREC-8 question answering track.",
    ),
    "ndcg": Definition(
        summary="Discounted gain of the list over that of all judgements in the best order.",
        formula="sum of grade / log2(rank + 1) over rank <= k, divided by the same sum of the judged grades in "
        "descending order; negative grades are 0.",
        null=_LEFT_OUT,
        also="ndcg_cut (TREC).",
        source="Järvelin and Kekäläinen 2002, linear gain as in trec_eval's ndcg_cut.",
    ),
    "ndcg_exp": Definition(
        summary="The same with exponential gain.",
        formula="as ndcg with 2^grade - 1 in place of grade.",
        null=_LEFT_OUT,
        also="ndcg_burges (ranx).",
        source="Burges et al. 2005.",
    ),
    "judged": Definition(
        summary="Share of the first k places whose document has a judgement of any grade.",
        formula="judged documents among the first k / places of the first k that are filled.",
        null="empty lists, and queries without a list.",
        also="Judged@k (ir_measures).",
        source="raggate; what the other numbers can be relied on.",
    ),
    "unjudged": Definition(
        summary="Share of the first k places whose document nobody judged.",
        formula="1 - judged.",
        null="empty lists, and queries without a list.",
        also="unjudged_at_k (human labels, of chunks: `raggate labels join`).",
        source="raggate; the inverse of judged.",
        direction="lower",
    ),
    "map": Definition(
        summary=f"Mean average precision over the whole list, without a cut-off. {_R}",
        formula="sum of the precision at the rank of each relevant document / R; without a list 0.",
        null=_LEFT_OUT,
        also="map (TREC), AP (ir_measures).",
        source="TREC map.",
    ),
}
"""What `raggate evaluate` measures of result lists against judgements; all but `map` take a cut-off."""

KEBAB: dict[str, Definition] = {
    "hit_at_k": Definition(
        summary="An expected chunk is in the first k ranks.",
        formula="1 if the smallest rank of an expected chunk is at most k, else 0; an errored query is a miss.",
        null=_UNLABELLED,
        also="hit_at_k (raggate, of gold supports), recall_at_k (helloworld).",
        source=_KEBAB,
        binary=True,
    ),
    "mrr": Definition(
        summary="How high the first expected chunk is ranked, down to rank 10.",
        formula="1 / the smallest rank of an expected chunk if that is at most 10, else 0.",
        null=_UNLABELLED,
        also="mrr_at_10 (raggate, substrate).",
        source=_KEBAB,
    ),
    "recall_at_k_doc": Definition(
        summary="Share of the expected documents that have a hit in the first k ranks.",
        formula="distinct expected documents among the hits of rank <= k / expected documents.",
        null="never; 0 over nothing, as kebab stores it. Queries without expected_doc_ids are left out.",
        also="recall_at_k (`raggate evaluate`), recall.k (TREC).",
        source=_KEBAB,
    ),
    "precision_at_k_chunk": Definition(
        summary="Share of the first k places with an expected chunk.",
        formula="hits of rank <= k that are expected chunks / k, also for a shorter list; a chunk twice counts twice.",
        null=_UNLABELLED,
        also="precision_at_k (raggate, of gold supports), P@k (TREC).",
        source=_KEBAB,
    ),
    "citation_coverage": Definition(
        summary="Share of the grounded answers whose citations all have a path.",
        formula="answers with a citation, all of whose paths are not empty (with `--strict-citations`: are in "
        "the index) / answers that are grounded and without an error.",
        null="no such answer.",
        also="none; citation_presence_rate (raggate) asks whether there is any citation in the text.",
        source=_KEBAB,
    ),
    "groundedness": Definition(
        summary="Share of the answers that contain every text of must_contain and none of forbidden, letter by letter.",
        formula="such answers / answers without an error to queries that have must_contain or forbidden.",
        null="never; 0 over nothing, as kebab stores it.",
        also="answer_contains (raggate). helloworld's groundedness is the grade of a judge, another thing.",
        source=_KEBAB,
    ),
    "empty_result_rate": Definition(
        summary="Share of the rows without any hit.",
        formula="rows whose hits_top_k is empty / all rows, errored ones included.",
        null="never; 0 over nothing.",
        also="empty_result_rate (raggate's operational rates, which divide by all calls).",
        source=_KEBAB,
        direction="lower",
    ),
    "refusal_correctness": Definition(
        summary="Share of the questions that should be refused whose answer is a refusal.",
        formula="answers that are not grounded / answers to queries without expected_doc_ids (or that are declared "
        "not answerable).",
        null="no such answer.",
        also="abstention_accuracy (raggate, helloworld).",
        source=_KEBAB,
    ),
}
"""What `raggate kebab` computes as kebab does, bit for bit."""

_HELLOWORLD = "helloworld's scripts."
_ALWAYS = "never; every case of the run counts, unanswerable ones included."

HELLOWORLD: dict[str, Definition] = {
    "recall_at_k_avg": Definition(
        summary="A gold support is in the first K chunks.",
        formula="1 if some chunk among the first K meets a gold support, else 0.",
        null=_ALWAYS,
        also="hit_at_k (raggate, kebab, substrate), success@k (TREC). It is not TREC's recall.",
        source=_HELLOWORLD,
        binary=True,
    ),
    "recall_all_at_k_avg": Definition(
        summary="Everything that one of the support groups requires is in the first K chunks.",
        formula="1 if for some group every support is met among the first K chunks, else 0.",
        null="cases that are not multi_hop, or have no required_support_groups.",
        also="recall_all_at_k (raggate).",
        source=_HELLOWORLD,
        binary=True,
    ),
    "mrr_avg": Definition(
        summary="How high the first chunk that matches a gold support is ranked.",
        formula="1 / the rank that the first such chunk among the first K claims, else 0.",
        null=_ALWAYS,
        also="mrr_at_k (raggate, substrate), mrr (kebab).",
        source=_HELLOWORLD,
    ),
    "precision_at_k_avg": Definition(
        summary="Share of the first K places with a chunk that matches a gold support.",
        formula="such chunks among the first K / K, also for a shorter list.",
        null=_ALWAYS,
        also="precision_at_k (raggate), precision_at_k_chunk (kebab), P@k (TREC).",
        source=_HELLOWORLD,
    ),
    "scope_miss_rate": Definition(
        summary="No chunk in the whole list matches a gold support, while folders were selected.",
        formula="1 if the folder mode selects folders, there are gold supports, and no returned chunk meets one; else "
        "0.",
        null=_ALWAYS,
        also="scope_miss_rate (raggate, which looks at the selected folders instead).",
        source=_HELLOWORLD,
        direction="lower",
        binary=True,
    ),
    "attribution_hit_rate": Definition(
        summary="The answer is attributed to a gold support.",
        formula="1 if a reference of the API or a citation in the answer meets a gold support, snippets apart; else 0.",
        null="unanswerable cases.",
        also="attribution_hit_rate (raggate, by path elements).",
        source=_HELLOWORLD,
        binary=True,
    ),
    "abstention_accuracy": Definition(
        summary="An unanswerable question is refused.",
        formula="1 if the stored row abstained, or without such a mark if the answer is blank; else 0.",
        null="answerable cases.",
        also="abstention_accuracy (raggate), refusal_correctness (kebab).",
        source=_HELLOWORLD,
        binary=True,
    ),
    "hallucination_rate_unanswerable": Definition(
        summary="An unanswerable question is answered all the same.",
        formula="1 - abstention_accuracy.",
        null="answerable cases.",
        also="hallucination_rate_unanswerable (raggate).",
        source=_HELLOWORLD,
        direction="lower",
        binary=True,
    ),
}
"""What `raggate helloworld` computes as helloworld's scripts do; grades of a judge are taken as they are."""

_SUBSTRATE = "substrate's specification."

SUBSTRATE: dict[str, Definition] = {
    "hit_at_k": Definition(
        summary="A relevant document is in the first k results.",
        formula="1 if one of the first k results is of a relevant document, else 0; every chunk takes a place.",
        null="never; a query that expects nothing is a miss.",
        also="hit_at_k (raggate, kebab), recall_at_k (helloworld), success@k (TREC).",
        source=_SUBSTRATE,
        binary=True,
    ),
    "mrr_at_k": Definition(
        summary="How high the first result from a relevant document is ranked.",
        formula="1 / place of the first such result within the first k, else 0.",
        null="never; a query that expects nothing is a miss.",
        also="mrr_at_k (raggate), mrr_avg (helloworld), mrr (kebab).",
        source=_SUBSTRATE,
    ),
    "ndcg_at_k": Definition(
        summary="Discounted gain of the documents over that of the best order of all relevant ones.",
        formula="sum of grade / log2(rank + 1) over the first k different documents, divided by that of the grades in "
        "descending order.",
        null="never; 0 for a query that expects nothing.",
        also="ndcg_at_k (raggate), ndcg_cut (TREC).",
        source=_SUBSTRATE,
    ),
    "duplicate_doc_rate": Definition(
        summary="Share of the first results whose document already appeared higher up.",
        formula="(results among the first k - their different documents) / results among the first k.",
        null="never; 0 for an empty list.",
        also="duplicate_doc_rate_at_k (raggate).",
        source=_SUBSTRATE,
        direction="lower",
    ),
    "diversity_rate": Definition(
        summary="Share of the first results whose document, or cluster of near-duplicates, did not appear higher up.",
        formula="different documents or clusters among the first k / results among the first k.",
        null="empty lists.",
        also="diversity_rate_at_k (raggate, without clusters).",
        source=_SUBSTRATE,
    ),
    "heading_dominance_rate": Definition(
        summary="Share of the queries whose first result meets the query by its heading alone; two other readings of "
        "the name can be chosen.",
        formula="as heading_dominance_rate of raggate; `build_metrics` is lexical_dominance, `heading_bias` is "
        "heading_first.",
        null="lists that do not tell what is a heading; an empty list is 0.",
        also="heading_dominance_rate, lexical_dominance_at_k and heading_first_at_k (raggate).",
        source=_SUBSTRATE,
        direction="lower",
    ),
    "heading_only_hit_rate": Definition(
        summary="Share of the first results that are a heading without any text below it.",
        formula="such results among the first k / results among the first k.",
        null="lists that do not tell bodies; an empty list is 0.",
        also="heading_only_hit_rate_at_k (raggate).",
        source=_SUBSTRATE,
        direction="lower",
    ),
}
"""What `raggate substrate` computes as substrate does, with its default definitions."""
