"""What was measured before a run: versions of the baseline in git and runs beside it, of the same suite alone."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from msgspec.structs import replace

from pages import Elements, data_of
from project import Project
from raggate.models.history import TrendPoint
from raggate.pipeline import run_directory, stored_runs
from raggate.reports import plots
from raggate.reports.page import report
from reviews import regression

WANTED = {"hit_at_5", "mrr_at_10"}


def written(folder: Path, name: str, **changes: object) -> None:
    """Write the metrics of a run, as a check leaves them, with some keys changed."""
    overall = {"hit_at_5": 0.75, "mrr_at_10": None, "count": 4, "n": {"hit_at_5": 4}}
    stored = {"suite": "small", "complete": True, "run_id": name, "timestamp": f"2026-01-0{name[-1]}T00:00:00Z"}
    stored |= {"golden_hash": "g1", "by_retriever": {"hybrid": {"overall": overall}}, **changes}
    (folder / name).mkdir()
    (folder / name / "metrics.json").write_text(json.dumps(stored))


def test_baseline_and_runs(promoted: Project) -> None:
    """A check knows the committed baseline and the untracked runs beside it, oldest first, and its page draws them."""
    promoted.commit()
    assert promoted.command("check").code == 0
    earlier = promoted.last_run().name
    written(promoted.last_run().parent, "20260101_000001")
    subprocess.run(["git", "add", "-f", ".raggate/runs/20260101_000001"], cwd=promoted.root, check=True)
    assert promoted.command("check").code == 0
    points = run_directory.read_context(promoted.last_run()).trend
    assert [point.kind for point in points].count("baseline") == 1
    names = [point.name for point in points]
    assert earlier in names
    assert "20260101_000001" not in names
    assert [point.stamp for point in points] == sorted(point.stamp for point in points)
    assert {point.values["hybrid"]["hit_at_5"] for point in points} == {1.0}
    page = Elements((promoted.last_run() / "report.html").read_text())
    assert [tag for tag, attributes in page.tags if attributes.get("class") == "panel trend"]


def test_runs_that_a_change_brings_along(promoted: Project) -> None:
    """Where another commit judges, what lies beside the run is the change's own, and draws no past."""
    promoted.commit()
    runs = promoted.root / ".raggate" / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    written(runs, "20260101_000001")
    assert promoted.command("check", "--against", "HEAD").code == 0
    assert {point.kind for point in run_directory.read_context(promoted.last_run()).trend} == {"baseline"}
    assert promoted.command("check").code == 0
    assert "20260101_000001" in [point.name for point in run_directory.read_context(promoted.last_run()).trend]


def test_a_page_is_written_again_from_its_directory_alone(promoted: Project, tmp_path: Path) -> None:
    """A run directory that was carried elsewhere gives the same page, but for links to notes beside it."""
    assert promoted.command("check").code == 0
    before = (promoted.last_run() / "report.html").read_text()
    away = tmp_path / "away"
    shutil.copytree(promoted.last_run(), away)
    assert promoted.command("compare", str(away)).code == 0
    assert data_of(before, "rows") == data_of((away / "compared" / "report.html").read_text(), "rows")


def test_only_whole_runs_of_the_suite(tmp_path: Path) -> None:
    """Runs of other suites, partial ones, links, what is no JSON, git tracks or that are not wanted are left out."""
    written(tmp_path, "run1")
    written(tmp_path, "run2", suite="other")
    written(tmp_path, "run3", complete=False)
    written(tmp_path, "run4", by_retriever=["<script>"])
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "metrics.json").write_text("{")
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "run1")
    written(tmp_path, "run5")
    written(tmp_path, "run6")
    # a link could lead to any file of this machine
    (tmp_path / "run6" / "metrics.json").rename(tmp_path / "elsewhere.json")
    (tmp_path / "run6" / "metrics.json").symlink_to(tmp_path / "elsewhere.json")
    written(tmp_path, "run9")
    for words in (["init", "-q"], ["add", "run9"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    points = [*stored_runs.of_runs(tmp_path, "small", WANTED, without=[tmp_path / "run5"])]
    assert [point.name for point in points] == ["run1", "run4"]
    assert points[0].values == {"hybrid": {"hit_at_5": 0.75}}
    assert points[1].values == {}


def test_each_value_has_its_place() -> None:
    """The lowest value is at the bottom, the highest at the top, and this run comes last."""
    points = tuple(
        TrendPoint(kind="baseline", stamp=f"2026-01-0{number}T00:00:00Z", name="c", questions="x", values=values)
        for number, values in ((1, {"hybrid": {"hit_at_5": 0.9}}), (2, {"hybrid": {"hit_at_5": 1.0}}))
    )
    (plot,) = report._trends(replace(regression(), context=replace(regression().context, trend=points)))
    heights = [dot.y for dot in plot.dots]
    assert [dot.kind for dot in plot.dots] == ["baseline", "baseline", "now"]
    assert (min(heights), max(heights)) == (heights[1], heights[2]) == (7.0, plots.HEIGHT - 7)
    assert (plot.dots[0].x, plot.dots[-1].x) == (7.0, plots.WIDTH - 7)
    assert (plot.low, plot.high) == (plot.newest, "100.0%")
