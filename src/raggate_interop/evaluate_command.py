"""`raggate evaluate`: flags -> files -> means as a table or JSON. Imports only what this command needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from raggate.base.errors import UsageError
from raggate.base.escape import log_line
from raggate.base.numbers import counted, written
from raggate.base.quote import quoted
from raggate.models.answer import Answer
from raggate_interop.terminal import FILE

if TYPE_CHECKING:
    from raggate_interop.evaluate import Evaluation


@click.command()
@click.option("--qrels", type=FILE, help="Judgements: a TREC qrels file.")
@click.option("--beir", type=FILE, metavar="DIR", help="Judgements: a BEIR folder, instead of --qrels.")
@click.option("--split", default="test", show_default=True, help="Which judgements of the BEIR folder.")
@click.option("--run", type=FILE, help="Result lists: a TREC run file.")
@click.option("--lists", type=FILE, help="Result lists: JSON lines, instead of --run.")
@click.option("--k", "cutoffs", default="1,3,5,10", show_default=True, help="Cut-offs, with commas between.")
@click.option("--per-query", is_flag=True, help="Show the values of each query too.")
@click.option("--keep-first", is_flag=True, help="If a document is there twice, count the first instead of failing.")
def evaluate(*, cutoffs: str, per_query: bool, **given: Any) -> Answer[Evaluation]:
    """Score result lists of any tool against judgements.

    Needs no configuration and starts nothing. A line of --lists is {"query_id": "q1", "doc_ids": ["d3", "d1"]}.
    """
    from raggate_interop.evaluate import Files, evaluate_files

    if (given["qrels"] is None) == (given["beir"] is None):
        raise UsageError("give either --qrels FILE or --beir DIR")
    if (given["run"] is None) == (given["lists"] is None):
        raise UsageError("give either --run FILE or --lists FILE")
    evaluation = evaluate_files(Files(**given), cutoffs=_numbers(cutoffs), per_query=per_query)
    for line in _table(evaluation):
        click.echo(line)
    return Answer(evaluation)


def _numbers(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise UsageError(f"--k {quoted(text)}, expected whole numbers with commas between, such as 1,3,5,10")
    return tuple(int(part) for part in parts)


def _table(evaluation: Evaluation) -> list[str]:
    counts, cutoffs = evaluation.counts, evaluation.cutoffs
    lines = []
    if evaluation.per_query:
        lines.append("\t".join(["query", *evaluation.metrics]))
        for query_id, values in evaluation.per_query.items():
            lines.append("\t".join([log_line(query_id), *(written(values[name]) for name in evaluation.metrics)]))
        lines.append("")
    lines.append(f"{'':9}" + "".join(f"{f'@{k}':>9}" for k in cutoffs))
    for metric in dict.fromkeys(name.rpartition("_at_")[0] for name in evaluation.metrics if name != "map"):
        row = (evaluation.metrics[f"{metric}_at_{k}"].value for k in cutoffs)
        lines.append(f"{metric:9}" + "".join(f"{written(value):>9}" for value in row))
    lines.append(f"{'map':9}{written(evaluation.metrics['map'].value):>9}")
    lines += [
        "",
        f"{counted(counts.queries, 'query', 'queries')} with a relevant document. "
        "Means are over all, judged over lists that contain any",
    ]
    odd = {
        "without a result list, counted as 0": counts.missing,
        "with an empty list, counted as 0": counts.empty,
        "judged but without a relevant document, left out": counts.without_relevant,
        "in the result lists only, ignored": counts.extra,
        f"with fewer than {counted(cutoffs[-1], 'document')}": counts.shallow,
        "with equal scores on both sides of a cut-off": counts.tied,
        "whose ranks disagree with their scores": counts.rank_disagrees,
    }
    lines += [f"  {number} {description}" for description, number in odd.items() if number]
    repeated = counted(counts.repeated, "entry", "entries")
    return [*lines, f"  {repeated} left out, because the document is further up already"] if counts.repeated else lines
