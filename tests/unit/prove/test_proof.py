"""Why a fault was missed: what is said of each kind of miss, and which notes have no question."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from builders import make_case, make_metric, make_support
from raggate.base.errors import UsageError
from raggate.models.gate_proof import Trial, Watch
from raggate.models.golden import Vault
from raggate.models.verdict import CompositeEvidence, CompositeTest, Reason
from raggate.prove import proof as module
from raggate.prove.proof import alarm_limit, explanation, patched_copy, unasked_notes, watch
from tables import each_row

WATCH = Watch(metric="hit_at_5", value=0.9, n=174, tolerance=0.05, visible=0.0351)
UNASKED = tuple(f"work/{letter}.md" for letter in "abdef")
WAIVED = Reason(code="waived", message="hit@5 went down; waived by A", metric="hit_at_5", slice="overall")
OTHER = Reason(code="few-cases", message="hit_at_1 got worse", metric="hit_at_1", slice="overall")
CHANCE = CompositeTest(
    mode="hybrid",
    metrics=("hit_at_5", "mrr_at_10"),
    parts={"hit_at_5": 9, "mrr_at_10": 9},
    cases=203,
    lost=9,
    gained=2,
    units=203,
    before=0.9,
    after=0.88,
    drop=0.0287,
    p=0.12,
    adjusted=0.12,
    test="paired t",
    visible_drop=0.0351,
    told_drop=0.02,
    fewest_losses=3,
)


def evidence(policy: str = "evidence", **fields: Any) -> CompositeEvidence:
    """Build what one mode shows: a loss that may be chance."""
    return CompositeEvidence(policy=policy, tests=(replace(CHANCE, **fields),))


def missed(**fields: Any) -> Trial:
    """Build a trial that the gate let through: a fault that changed 7 answers."""
    given = {"name": "fault", "size": "5%", "kind": "answers", "outcome": "pass", "changed": 7, "evidence": evidence()}
    return Trial(**{**given, **fields})


MOVED = (
    "the mean of hit@5 and MRR@10 (hybrid) went from 0.9000 to 0.8800, 9 of 203 questions worse, 2 better; "
    "p = 0.12 (paired t)"
)
SEEN = "a loss of 4 points is seen four times out of five"


@each_row(
    ("fields", "sentence"),
    [
        (
            {"drop": 0.0287},
            f"hit@5 fell by 2.9 pt, and up to 5 pt is allowed; {MOVED}, and to be red it takes p < 0.04; {SEEN}",
        ),
        (
            {"drop": 0.0287, "notes": ("work/a.md", "work/c.md")},
            f"hit@5 fell by 2.9 pt, and up to 5 pt is allowed; {MOVED}, and to be red it takes p < 0.04; {SEEN}; "
            "1 of its 2 notes has no question: work/a.md",
        ),
        (
            {"drop": 0.0, "evidence": None, "notes": ("work/a.md",)},
            "7 answers changed, and hit@5 did not fall; no test decides beside the tolerances; "
            "1 of its 1 note has no question: work/a.md",
        ),
        (
            {"drop": 0.0, "evidence": evidence(drop=0.02)},
            f"7 answers changed, and hit@5 did not fall; {MOVED}, and to be red it takes p < 0.04 and a drop of "
            f"more than 2 points; {SEEN}",
        ),
        (
            {"drop": -0.1, "evidence": evidence(lost=0)},
            "7 answers changed, and hit@5 did not fall; no question got worse in hit_at_5 and mrr_at_10",
        ),
        (
            {"drop": 0.0, "changed": 0, "notes": ("work/a.md", "work/b.md")},
            "no answer changed; 2 of its 2 notes have no question: work/a.md, work/b.md",
        ),
        (
            {"drop": 0.0, "changed": 0, "notes": UNASKED},
            "no answer changed; 5 of its 5 notes have no question: work/a.md, work/b.md, work/d.md and 2 more",
        ),
        ({"drop": 0.0, "changed": 0}, "no answer changed"),
        (
            {"drop": 0.2, "warnings": (OTHER, WAIVED)},
            "hit@5 fell by 20.0 pt; this loss only warns: hit@5 went down; waived by A",
        ),
        (
            {"drop": 0.0, "warnings": (OTHER,)},
            "7 answers changed, and hit@5 did not fall; this loss only warns: hit_at_1 got worse",
        ),
        (
            {"drop": 0.2, "warnings": (replace(WAIVED, code="slice-worse", slice="tag=x"),)},
            "not explained: hit@5 fell by 20.0 pt, and up to 5 pt is allowed",
        ),
        ({"drop": None}, "hit@5 applies to no question"),
    ],
)
def test_a_miss_is_explained(fields: dict[str, Any], sentence: str) -> None:
    """Each kind of miss has its sentence: what was too small, what changed nothing, and what nothing asks about."""
    assert explanation(missed(**fields), WATCH, UNASKED) == sentence


@each_row(
    ("shown", "clause"),
    [
        pytest.param(evidence("threshold"), "no test decides beside the tolerances", id="threshold"),
        pytest.param(None, "no test decides beside the tolerances", id="not-judged"),
        pytest.param(
            evidence(units=3, fewest_losses=None), "3 units are too few to distinguish a loss from chance", id="too-few"
        ),
        pytest.param(
            evidence(adjusted=0.01, drop=0.015),
            f"{MOVED.replace('0.12', '0.01')}, and to be red it takes a drop of more than 2 points; {SEEN}",
            id="certain-and-small",
        ),
        pytest.param(
            CompositeEvidence(policy="evidence", tests=(replace(CHANCE, mode="vector", adjusted=0.4), CHANCE)),
            f"{MOVED}, and to be red it takes p < 0.04; {SEEN}",
            id="the-mode-that-shows-most",
        ),
    ],
)
def test_the_rule_that_decided_explains(shown: CompositeEvidence | None, clause: str) -> None:
    """What the test of all questions gave, and what it takes, is told as the policy has it."""
    fell = "hit@5 fell by 1.5 pt, and up to 5 pt is allowed"
    assert explanation(missed(drop=0.015, evidence=shown), WATCH, ()) == f"{fell}; {clause}"


def test_a_miss_that_should_have_been_seen_is_not_explained_away() -> None:
    """A drop of more than is allowed that the gate let through is called unexplained."""
    assert explanation(missed(drop=0.0501), WATCH, ()).startswith("not explained: hit@5 fell by 5.01 pt")
    assert not explanation(missed(drop=0.05), WATCH, ()).startswith("not explained")


def test_a_metric_that_is_not_gated_says_so() -> None:
    """Where no tolerance holds, the test alone decides."""
    free = replace(WATCH, tolerance=None)
    assert explanation(missed(drop=0.2), free, ()).startswith("hit@5 fell by 20.0 pt, and it is not gated; the mean of")


def test_notes_without_a_question_are_those_of_no_gold_support() -> None:
    """A support names its vault, or is of the vaults its question is limited to, or of all that have such a note."""
    texts = dict.fromkeys([(vault, path) for vault in ("p", "w") for path in ("a.md", "b.md", "c.md", "d.md")], "x")
    vault = Vault(directories={"p": Path("p"), "w": Path("w")}, texts=texts, notes={}, hash="")
    cases = (
        make_case("1", gold_supports=(make_support("a.md", vault="p"),)),
        make_case("2", gold_supports=(make_support("b.md"),), vaults=("w",)),
        make_case("3", gold_supports=(make_support("c.md"),)),
        make_case("4", answerable=False),
    )
    assert unasked_notes(cases, vault) == ("p/b.md", "p/d.md", "w/a.md", "w/d.md")


def test_the_watched_metric_is_told_in_its_worst_mode() -> None:
    """The mode with the lowest value counts, and what moves without a fault raises what can be seen."""
    values = {"hybrid": make_metric(0.9, 100), "vector": make_metric(0.7, 50)}
    still = watch("hit_at_5", values, 0.05, [missed()])
    assert still is not None
    assert (still.value, still.n, still.tolerance, still.visible) == (0.7, 50, 0.05, 0.0351)
    noisy = watch("hit_at_5", values, 0.05, [missed(), missed(evidence=evidence(visible_drop=0.06))])
    assert noisy is not None
    assert noisy.visible == 0.06
    assert watch("hit_at_5", {}, 0.05, []) is None


@each_row("shown", [evidence("threshold"), evidence(fewest_losses=None), None])
def test_where_no_test_decides_no_drop_is_promised(shown: CompositeEvidence | None) -> None:
    """Nothing is said of what a test sees where the policy asks for none, or none could see anything."""
    watched = watch("hit_at_5", {"hybrid": make_metric(0.9, 100)}, 0.05, [missed(evidence=shown)])
    assert watched is not None
    assert watched.visible is None


@each_row(("alarms", "runs", "limit"), [(0, 50, 0.0582), (0, 3, 0.6316), (1, 50, 0.0914), (3, 3, 1.0)])
def test_what_so_many_runs_leave_possible(alarms: int, runs: int, limit: float) -> None:
    """The limit is that of Clopper and Pearson: of none in 50 it is 1 - 0.05^(1/50)."""
    assert alarm_limit(alarms, runs) == pytest.approx(limit, abs=5e-5)


PATCH = """\
--- a/src/main.txt
+++ b/src/main.txt
@@ -1,2 +1,2 @@
 first
-second
+changed
"""
NAME = "raggate.yml: faults.wrong"
BESIDE = "first\nsecond\n"
"""A file beside the project, which the patch would fit."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A checkout whose project lies in a folder of its own, with a file that git ignores."""
    root = tmp_path / "checkout" / "project"
    (root / "src").mkdir(parents=True)
    (root / "src" / "main.txt").write_text("first\nsecond\n")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / ".gitignore").write_text("ignored/\n")
    (root / "ignored").mkdir()
    (root / "ignored" / "large.bin").write_text("x")
    (root / "link").symlink_to("src/main.txt")
    (root / "fault.patch").write_text(PATCH)
    (root.parent / "beside.txt").write_text(BESIDE)
    (root.parent / "other.patch").write_text(PATCH)
    subprocess.run(["git", "init", "-q"], cwd=root.parent, check=True)
    return root


def rewrite(name: str, text: str | None) -> Callable[[Path], object]:
    """Return what writes a file of the project anew, or makes it a link to the patch beside the project."""

    def prepare(root: Path) -> None:
        (root / "away").symlink_to("..")
        (root / name).unlink()
        if text is None:
            (root / name).symlink_to("../other.patch")
        else:
            (root / name).write_text(text)

    return prepare


def refusal(root: Path) -> str:
    """Return the message with which the patch is refused."""
    with pytest.raises(UsageError) as caught, patched_copy(root, "fault.patch", NAME):
        pass
    return caught.value.message


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty directory for temporary ones."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    return place


def test_the_copy_is_patched_and_the_project_is_not(project: Path, temporary: Path) -> None:
    """The copy has the project's files with modes and links, without what git ignores, and is gone afterwards."""
    with patched_copy(project, "fault.patch", NAME) as copy:
        assert (copy / "src" / "main.txt").read_text() == "first\nchanged\n"
        names = sorted(path.relative_to(copy).as_posix() for path in copy.rglob("*"))
        assert names == [".gitignore", "fault.patch", "link", "run.sh", "src", "src/main.txt"]
        assert os.access(copy / "run.sh", os.X_OK)
        assert (copy / "link").is_symlink()
        assert copy.name == "project"
        assert copy.is_relative_to(temporary)
    assert [*temporary.iterdir()] == []
    assert (project / "src" / "main.txt").read_text() == "first\nsecond\n"


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        pytest.param(rewrite("src/main.txt", "other\n"), f"{NAME} ('fault.patch'): does not apply: ", id="other-text"),
        pytest.param(rewrite("fault.patch", PATCH.replace("src/main", "../beside")), "does not apply", id="up"),
        pytest.param(rewrite("fault.patch", PATCH.replace("src/main", "away/beside")), "does not apply", id="link"),
        pytest.param(rewrite("fault.patch", PATCH.replace("src/main.txt", "/etc/hosts")), "does not apply", id="root"),
        pytest.param(rewrite("fault.patch", PATCH.replace("src/main.txt", ".git/config")), "does not apply", id="git"),
        pytest.param(lambda root: (root / "fault.patch").unlink(), "fault.patch", id="missing"),
        pytest.param(rewrite("fault.patch", None), "leads out of the directory", id="link-out"),
    ],
)
def test_a_patch_that_is_refused_changes_nothing(
    project: Path, temporary: Path, prepare: Callable[[Path], object], message: str
) -> None:
    """A patch that does not apply, or names a place outside the copy, is refused by name, and nothing is left of it."""
    prepare(project)
    assert message in refusal(project)
    assert [*temporary.iterdir()] == []
    assert (project.parent / "beside.txt").read_text() == BESIDE


def test_what_is_not_copied(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project beyond the bound is not copied, nor a directory that git does not know, which could hold anything."""
    monkeypatch.setattr(module, "MAX_COPY_BYTES", 10)
    assert "more than 10 bytes" in refusal(project)
    # whatever the directory of the tests lies in
    monkeypatch.setattr(module.git, "find", lambda _: None)
    assert "is not in a git checkout" in refusal(project)
