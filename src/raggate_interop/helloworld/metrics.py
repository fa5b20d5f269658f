"""helloworld's own numbers, bit for bit: its result rows and the cases in, its aggregates in its shape out.

Its definitions differ from raggate's on purpose or by mistake: headings match as string prefixes, cases without gold
supports count as 0, a scope miss is a miss of the whole list, a failed call has no row and so drops out of every mean.
Rows are JSON objects of its `results.jsonl`, already checked for their types.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from raggate.base.errors import UsageError
from raggate.base.quote import quoted
from raggate.models.golden import Case, Support
from raggate.models.run import Result

MAX_ANSWER = 50_000
"""Characters of an answer that are read; no real answer is that long."""

_IGNORE = re.IGNORECASE
_FILE = r"\[File:"
_LISTED = re.compile(_FILE, _IGNORE)
_BARE = re.compile(rf"(?<!['\"]){_FILE}", _IGNORE)
_QUOTED = tuple((quote, re.compile(quote + _FILE, _IGNORE)) for quote in "'\"")
_WITHOUT_FILE = re.compile(r"\[")
_PARENTHESES = re.compile(r"\(File:", _IGNORE)
_RUNNING_TEXT = re.compile(r"(?<![\[(])File:", _IGNORE)
_THEN = re.compile(r",\s*+Section:", _IGNORE)
_ANY_SPACES = re.compile(r"\s*+")
_HEADER = re.compile(r"(?P<before>\s++|\A)citations?(?=(?P<first>\s*+)(?P<second>:\s*+)?)|\s++", _IGNORE)
_HEADER_END = re.compile(r"\n\n|\n[a-z]|\Z", _IGNORE)

Row = Mapping[str, Any]
Cases = Mapping[str, Case]
DEFAULT_K = 5
DEFAULT_FOLDER_MODE = "off"
SCOPED_MODES = ("on", "on_with_fallback")
_DELIMITER = re.compile(r"\s*>\s*")
_MARKS = re.compile(r"^#+\s*")
_SPACES = re.compile(r"\s+")
# the requests library puts the reason phrase into its message, and only there the word "timeout" occurs
_TIMEOUT_REASONS = (408, 504)
MEANS = {
    "recall_at_k": "recall_at_k_avg",
    "recall_all_at_k": "recall_all_at_k_avg",
    "mrr": "mrr_avg",
    "precision_at_k": "precision_at_k_avg",
    "scope_miss": "scope_miss_rate",
    "attribution_hit": "attribution_hit_rate",
}
"""The means that are computed of the rows' `retrieval_metrics`, by the key there."""
_COUNTS = ("docs_processed", "docs_with_0_chunks", "chunks_attempted", "chunks_embedded", "chunks_skipped")


def citations(answer: str) -> tuple[tuple[str, str], ...]:
    """Return path and section of every citation, each once, those of the "Citations:" section first."""
    text = answer[:MAX_ANSWER]
    listed = _section(text)
    body = text[listed[1] : listed[2]] if listed else ""
    places = [*_bracketed(_LISTED, body), *_bracketed(_WITHOUT_FILE, body, extension=".md")]
    # with nothing in the section, nothing is taken for listed there
    places += _elsewhere(text, listed[0] if listed and body else None)
    return tuple(dict.fromkeys(_cleaned(path, section) for path, section in places))


def _elsewhere(text: str, listed_from: int | None) -> Iterator[tuple[str, str]]:
    for path, section in _bracketed(_BARE, text, unquoted=True):
        if not _is_listed(text, f"[File: {path}, Section: {section}]", listed_from):
            yield path, section
    for quote, opening in _QUOTED:
        yield from _bracketed(opening, text, closing="]" + quote)
    yield from _bracketed(_WITHOUT_FILE, text, extension=".md")
    yield from _bracketed(_PARENTHESES, text, closing=")")
    for path, section in _running(text):
        if not _is_listed(text, f"File: {path}, Section: {section}", listed_from):
            yield path, section


def _section(text: str) -> tuple[int, int, int] | None:
    """Find the first "Citations:" section: where its heading starts, and where its body starts and ends."""
    for match in _HEADER.finditer(text):
        before = match["before"]
        if before is None or (match.start() and "\n" not in before):
            continue
        # the last line end behind the word, or else the colon, ends the heading
        line = max(text.rfind("\n", *match.span("first")), text.rfind("\n", *match.span("second")))
        if line >= 0:
            end = _HEADER_END.search(text, line + 1)
            start = match.start() + (before.index("\n") if match.start() else 0)
            return start, line + 1, end.start() if end else len(text)
    return None


def _bracketed(
    opening: re.Pattern[str], text: str, *, closing: str = "]", extension: str = "", unquoted: bool = False
) -> Iterator[tuple[str, str]]:
    """Find `<opening> path, Section: section<closing>`.

    Args:
        opening: what stands before the path; its first bracket's counterpart is the first character of `closing`.
        extension: how the path must end; spaces before it are then part of the path.
        unquoted: whether no quote may stand behind the closing bracket.
    """
    position = 0
    while start := opening.search(text, position):
        begin = start.end()
        comma = text.find(",", begin)
        if comma < 0:
            return
        closed = text.find(closing[0], begin, comma)
        # whatever fails from here on fails for every opening before the same comma
        position = max(comma if closed < 0 else closed, begin)
        then = _THEN.match(text, comma) if closed < 0 and comma > begin else None
        path = (text[begin:comma] if extension else _trimmed(text, begin, comma)) if then else ""
        if then is None or (extension and not _ends(path, extension)):
            continue
        end = text.find(closing[0], then.end())
        if end < 0:
            return
        quoted = unquoted and text[end + 1 : end + 2] in ("'", '"')
        if end > then.end() and text.startswith(closing, end) and not quoted:
            yield path, _trimmed(text, then.end(), end)
            position = end + len(closing)


def _running(text: str) -> Iterator[tuple[str, str]]:
    """Find `File: path.md, Section: section` outside brackets; the section ends at a full stop or with its line."""
    position = 0
    while start := _RUNNING_TEXT.search(text, position):
        position = start.end()
        begin = _past_spaces(text, position)
        comma = text.find(",", begin)
        if comma < 0:
            return
        if text.find("\n", begin, comma) >= 0:
            continue
        # a path is more than its extension: then the space before it is its first character
        path = text[begin - 1 if comma - begin == len(".md") and begin > start.end() else begin : comma]
        then = _THEN.match(text, comma)
        position = comma
        if then is None or "\n" in path or not _ends(path, ".md"):
            continue
        first = _past_spaces(text, then.end())
        ends = [end for end in (text.find(".", first), text.find("\n", first)) if end >= 0]
        end = min(ends, default=len(text))
        # nothing but spaces: the last of them that is no line end
        section = text[first:end] or text[then.end() : first].rstrip("\n")[-1:]
        if section:
            yield path, section
            position = end


def _trimmed(text: str, begin: int, end: int) -> str:
    """Return a piece of the text without the spaces before it, of nothing but spaces the last one."""
    return text[begin:end].lstrip() or text[end - 1 : end]


def _ends(path: str, extension: str) -> bool:
    return len(path) > len(extension) and path[-len(extension) :].lower() == extension


def _past_spaces(text: str, position: int) -> int:
    match = _ANY_SPACES.match(text, position)
    return match.end() if match else position


def _is_listed(text: str, written: str, listed_from: int | None) -> bool:
    # a citation that is written with other spaces is not found, and so never taken for listed
    return listed_from is not None and text.find(written) >= listed_from


def _cleaned(path: str, section: str) -> tuple[str, str]:
    name = path.strip().strip("'\" ")
    if name.lower().startswith("file:"):
        name = name[len("file:") :].strip()
    return name, section.strip().strip("'\" ])")


def normalise_heading(path: str | None) -> str:
    """Normalise a heading path: one ` > ` for every `>`, no level marks, single spaces, no empty parts."""
    # the spaces first, as a long run of them takes the delimiter's pattern quadratic time
    single = _SPACES.sub(" ", path or "").strip()
    parts = (_SPACES.sub(" ", _MARKS.sub("", part.strip())) for part in _DELIMITER.split(single))
    return " > ".join(part for part in parts if part)


def matches(rel_path: str, heading_path: str | None, text: str, support: Support) -> bool:
    """Return whether a chunk, or without `text` a reference, meets a gold support: same path, heading by string prefix.

    One snippet must stand in the text, ignoring case; without any text the snippets are not looked at.
    """
    if rel_path != support.rel_path:
        return False
    if not normalise_heading(heading_path).startswith(normalise_heading(support.heading_path)):
        return False
    if not support.snippets or not text:
        return True
    lowered = text.lower()
    return any(snippet.lower() in lowered for snippet in support.snippets)


def retrieval_metrics(row: Row, case: Case) -> dict[str, Any]:
    """Score one row: the content of its `retrieval_metrics`."""
    chunks = row.get("retrieved_chunks") or []
    config = row.get("config") or {}
    k = config.get("k", DEFAULT_K)
    supports = _supports(case)
    metrics: dict[str, Any] = {"recall_at_k": _recall(chunks[:k], supports)}
    if case.category == "multi_hop" and case.required_support_groups:
        metrics["recall_all_at_k"] = _recall_all(chunks[:k], supports, case.required_support_groups)
    metrics["mrr"] = _reciprocal_rank(chunks[:k], supports, case.id)
    metrics["precision_at_k"] = sum(_meets(chunk, supports) for chunk in chunks[:k]) / k if k else 0.0
    scoped = config.get("folder_mode", DEFAULT_FOLDER_MODE) in SCOPED_MODES
    metrics["scope_miss"] = bool(scoped and supports and not _recall(chunks, supports))
    metrics["attribution_hit"] = case.answerable and _attributed(row, supports)
    return metrics


def abstention(row: Row, case: Case) -> dict[str, bool] | None:
    """Judge one row's abstention: by what is stored, else by whether the answer is blank. None if answerable."""
    if case.answerable:
        return None
    stored = row.get("abstention")
    abstained = bool(stored.get("abstained", False)) if stored else not (row.get("answer") or "").strip()
    return {"abstained": abstained, "hallucinated": not abstained}


def scored(rows: Sequence[Row], cases: Cases) -> list[dict[str, Any]]:
    """Return the rows with `retrieval_metrics` and `abstention` as their scripts would write them back."""
    done = []
    for row in rows:
        case = cases.get(row.get("test_case_id", ""))
        new = dict(row)
        if case is not None:
            new["retrieval_metrics"] = retrieval_metrics(row, case)
            outcome = abstention(row, case)
            if outcome is not None:
                new["abstention"] = outcome
        done.append(new)
    return done


def aggregate(rows: Sequence[Row], cases: Cases, *, stored: bool = False) -> dict[str, Any]:
    """Return every aggregate that their three scoring scripts print, in one flat mapping.

    Args:
        cases: the golden set by id. Rows of other cases count nowhere but in `answerable_tests`.
        stored: whether to take what the rows hold already, as `--aggregate-only` does; missing values are computed.

    Returns:
        Nothing for no rows. Abstention rates are None without unanswerable questions; other means are then left out.
    """
    if not rows:
        return {}
    return {**_retrieval(rows, cases, stored=stored), **_abstention(rows, cases, stored=stored), **_judge_means(rows)}


def _retrieval(rows: Sequence[Row], cases: Cases, *, stored: bool) -> dict[str, float]:
    values: dict[str, list[float]] = {name: [] for name in MEANS.values()}
    for row in rows:
        case = cases.get(row.get("test_case_id", ""))
        if case is None:
            continue
        scores = (stored and row.get("retrieval_metrics")) or retrieval_metrics(row, case)
        for name, mean in MEANS.items():
            # a folder mode of null says that nobody knows whether folders were selected
            unknown = name == "scope_miss" and (row.get("config") or {}).get("folder_mode", "") is None
            value = None if unknown else scores.get(name)
            if value is not None and (case.answerable or name != "attribution_hit"):
                values[mean].append(value)
    return {name: sum(numbers) / len(numbers) for name, numbers in values.items() if numbers}


def _abstention(rows: Sequence[Row], cases: Cases, *, stored: bool) -> dict[str, float | int | None]:
    outcomes = []
    for row in rows:
        case = cases.get(row.get("test_case_id", ""))
        if case is not None and not case.answerable:
            outcomes.append((stored and row.get("abstention")) or abstention(row, case) or {})
    count = len(outcomes)
    return {
        "abstention_accuracy": _share(outcomes, "abstained"),
        "hallucination_rate_unanswerable": _share(outcomes, "hallucinated"),
        "unanswerable_tests": count,
        "answerable_tests": len(rows) - count,
    }


def _share(outcomes: Sequence[Row], key: str) -> float | None:
    return sum(1.0 for item in outcomes if item.get(key)) / len(outcomes) if outcomes else None


def _judge_means(rows: Sequence[Row]) -> dict[str, Any]:
    """Average the judges' scores that the rows hold, and sum what judging cost."""
    means: dict[str, Any] = {}
    for name in ("groundedness", "correctness"):
        scores = [verdict.get("score", 0.0) for row in rows if (verdict := row.get(name))]
        if scores:
            means[f"{name}_avg"] = sum(scores) / len(scores)
    costs = [cost for row in rows if (cost := row.get("cost"))]
    means["cost"] = {
        "judge_total_usd": sum((cost.get("judge_cost_usd", 0.0) for cost in costs), 0.0),
        "judge_total_tokens": sum(cost.get("judge_tokens", 0) for cost in costs),
    }
    return means


def operational_metrics(results: Sequence[Result]) -> dict[str, Any]:
    """Return their operational rates of raggate's results, with their denominator: answered calls count twice.

    A call that timed out is no timeout there ("timed out" does not contain "timeout"); HTTP 408 and 504 are. Only a
    completely empty answer is empty. `raggate.scoring.metrics.operations` has the same rates over all calls, by their
    cause.
    """
    answered = [result.response for result in results if result.response is not None]
    failures = [result.failure for result in results if result.failure is not None]
    total = len(answered) + len(results)
    timeouts = sum(failure.status in _TIMEOUT_REASONS for failure in failures)
    empty = sum(not response.answer and not response.abstained for response in answered)
    chunks = (chunk for response in answered if response.coverage for chunk in response.chunks)
    by_type = Counter(_document_type(chunk.rel_path) for chunk in chunks if chunk.rel_path)
    return {
        "error_rate": len(failures) / total if total else 0.0,
        "timeout_rate": timeouts / total if total else 0.0,
        "empty_response_rate": empty / total if total else 0.0,
        "coverage_by_doc_type": {
            name: {"processed": count, "with_0_chunks": 0, "chunks_skipped": 0} for name, count in by_type.items()
        },
    }


def latency(milliseconds: Sequence[float]) -> dict[str, float]:
    """Return percentiles by their index rule, and the sum, of all calls, failed ones too; zeros for no call."""
    ordered = sorted(milliseconds)
    count = len(ordered)
    return {
        "p50_ms": ordered[count // 2] if ordered else 0.0,
        "p95_ms": ordered[int(count * 0.95)] if ordered else 0.0,
        "total_ms": sum(milliseconds) if ordered else 0.0,
    }


def indexing_coverage(rows: Sequence[Row]) -> dict[str, Any] | None:
    """Add up the coverage that the rows hold, as they do, although every row tells of the same index; None without."""
    held = [coverage for row in rows if (coverage := row.get("indexing_coverage"))]
    if not held:
        return None
    reasons: Counter[str] = Counter()
    for coverage in held:
        reasons.update(coverage.get("chunks_skipped_reasons") or {})
    total: dict[str, Any] = {name: sum(coverage.get(name) or 0 for coverage in held) for name in _COUNTS}
    total["chunks_skipped_reasons"] = dict(reasons)
    tokens = [stats for coverage in held if (stats := coverage.get("chunk_token_stats"))]
    if len(tokens) == len(held):
        total["chunk_token_stats"] = {
            "min": min(stats["min"] for stats in tokens),
            "max": max(stats["max"] for stats in tokens),
            "mean": sum(stats["mean"] for stats in tokens) / len(tokens),
            "p95": sum(stats["p95"] for stats in tokens) / len(tokens),
        }
    versions = {name: held[0].get(name) for name in ("chunker_version", "index_version")}
    return {**total, **{name: version for name, version in versions.items() if version is not None}}


def aggregate_metrics(results: Sequence[Result], rows: Sequence[Row], cases: Cases) -> dict[str, Any]:
    """Return the whole `aggregate_metrics` of their `metrics.json` for a run of raggate."""
    metrics: dict[str, Any] = {
        "operational_metrics": operational_metrics(results),
        "latency": latency([result.elapsed_ms for result in results]),
    }
    coverage = indexing_coverage(rows)
    if coverage is not None:
        metrics["indexing_coverage"] = coverage
    # a null breaks the formatting of their summary
    return {**metrics, **{name: value for name, value in aggregate(rows, cases).items() if value is not None}}


def _supports(case: Case) -> tuple[Support, ...]:
    # what is named by an id alone is nothing they know
    return tuple(support for support in case.gold_supports if support.chunk_id is None and support.doc_id is None)


def _meets(chunk: Row, supports: Sequence[Support]) -> bool:
    place = (chunk.get("rel_path", ""), chunk.get("heading_path", ""), chunk.get("text", ""))
    return any(matches(*place, support) for support in supports)


def _recall(chunks: Sequence[Row], supports: Sequence[Support]) -> float:
    return float(any(_meets(chunk, supports) for chunk in chunks))


def _recall_all(chunks: Sequence[Row], supports: Sequence[Support], groups: Sequence[Sequence[int]]) -> float:
    def seen(index: int) -> bool:
        # as in Python: a negative index counts from the end, and beyond that there is nothing
        if not -len(supports) <= index < len(supports):
            return False
        return any(_meets(chunk, supports[index : index + 1 or None]) for chunk in chunks)

    return float(any(all(seen(index) for index in group) for group in groups))


def _reciprocal_rank(chunks: Sequence[Row], supports: Sequence[Support], case_id: str) -> float:
    first = next((chunk for chunk in chunks if _meets(chunk, supports)), None)
    rank = None if first is None else first.get("rank", 0)
    if rank == 0:
        raise UsageError(
            f"question {quoted(case_id)}: the first matching chunk has no rank above 0",
            hint="Their score_retrieval.py divides by it and stops. Number the chunks from 1.",
        )
    return 0.0 if rank is None else 1.0 / rank


def _attributed(row: Row, supports: Sequence[Support]) -> bool:
    """Return whether a reference of the API or a citation in the answer meets a gold support; snippets do not count."""
    cited = [(ref.get("rel_path", ""), ref.get("heading_path", "")) for ref in row.get("references") or []]
    cited += citations(row.get("answer") or "")
    return any(
        # they trim both paths here, and nowhere else
        matches(support.rel_path if path.strip() == support.rel_path.strip() else "\0", heading, "", support)
        for path, heading in cited
        for support in supports
    )


def _document_type(rel_path: str) -> str:
    """Return a path's extension without its dot, in lower case."""
    stem, dot, extension = rel_path.rstrip("/").rpartition("/")[2].rpartition(".")
    return extension.lower() if dot and stem and extension else "unknown"
