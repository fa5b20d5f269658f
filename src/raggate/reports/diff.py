"""Two builds side by side: what they are, a matrix of metrics and modes, and then the report on the head. Pure."""

from __future__ import annotations

from raggate.base.escape import markdown as safe, plain
from raggate.base.jsonio import as_dict, dumps
from raggate.models.public_verdict import DiffDocument, Side, SideBySide, SideRow
from raggate.models.scorecard import OVERALL
from raggate.models.verdict import GatedMetric
from raggate.reports import comment as summary
from raggate.reports.parts.markup import inert, table
from raggate.reports.terminal import Screen
from raggate.reports.verdict_file import verdict_of
from raggate.scoring import figures

SCHEMA = "raggate/diff/1"


def render_markdown(both: SideBySide) -> str:
    """Render the heading, the matrix, and the whole report on the head."""
    title = f"# {inert(both.base.title, limit=200)} → {inert(both.head.title, limit=200)}"
    modes, rows = matrix(both)
    drawn = table(["metric", *map(safe, modes)], [[safe(row[0]), *row[1:]] for row in rows]) if rows else ""
    return "\n\n".join(filter(None, [title, drawn, summary.render_whole(both.review)]))


def render_terminal(both: SideBySide, *, width: int) -> str:
    """Render the heading and the matrix as aligned lines of at most `width` columns, as far as names allow."""
    modes, rows = matrix(both)
    screen = Screen(width=width, color=False, wrap=False)
    screen.line()
    for name, side in (("base", both.base), ("head", both.head)):
        screen.line(f"{name}: {side.title} (run {side.run_id})", limit=width)
    if len(modes) > 1:
        head = ("metric", *modes)
        screen.line()
        screen.table(head, [(row, None) for row in rows], names=head)
    return screen.text().removesuffix("\n")


def render_json(both: SideBySide) -> str:
    """Serialise both sides and the verdict on the head."""
    stored = as_dict(document(both))
    stored["verdict"]["run_directory"] = both.head.directory.name
    return dumps(stored, pretty=True).decode()


def document(both: SideBySide) -> DiffDocument:
    """Return it as programs get it; the path of the verdict's run directory is its name alone."""
    directory = both.head.directory
    return DiffDocument(
        schema=SCHEMA,
        base=_side(both.base),
        head=_side(both.head),
        verdict=verdict_of(both.review, directory.relative_to(directory.parent)),
    )


def matrix(both: SideBySide) -> tuple[list[str], list[list[str]]]:
    """Return the modes, and for each metric that is gated its name and what became of it in each mode."""
    overall = [row for row in both.review.verdict.rows if row.delta.slice == OVERALL]
    rows = [row for row in overall if row.gated or row.status == "no baseline"]
    modes = list(dict.fromkeys(row.delta.mode for row in rows))
    by_place = {(row.delta.metric, row.delta.mode): row for row in rows}
    metrics = dict.fromkeys(row.delta.metric for row in rows)
    return modes, [
        [figures.title(metric), *(_shown(by_place.get((metric, mode))) for mode in modes)] for metric in metrics
    ]


def _shown(row: GatedMetric | None) -> str:
    if row is None:
        return "–"
    change = figures.change(row.delta)
    return figures.course(row.delta) + ("" if change in {figures.SAME, figures.NONE} else f" ({change})")


def _side(side: Side) -> SideRow:
    return SideRow(kind=side.kind, name=plain(side.name), commit=side.commit, run_id=plain(side.run_id))
