"""A bad change that tries to look good: by what its API answers, and by what it brings of the gate's own files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from project import FAKE_API, TOPICS, Project, make_small_project

CHEATING = FAKE_API.with_name("cheating_api.py")
GOOD = "for_raggate"


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A committed repository whose baseline was measured while the API still answered well."""
    project = make_small_project(tmp_path_factory.mktemp("committed"))
    project.edit(str(FAKE_API), str(CHEATING))
    project.edit("FAKE_PID_FILE]", "FAKE_PID_FILE, CHEAT]")
    project.environment["CHEAT"] = GOOD
    project.promote()
    project.commit()
    return project


@pytest.fixture
def project(committed: Project, tmp_path: Path) -> Project:
    """A copy of it, whose API has got worse."""
    copy = Project(committed.copied(tmp_path / "copy").root)
    copy.environment["CHEAT"] = ""
    return copy


def codes(project: Project, key: str) -> list[str]:
    """Return the codes of the reasons or warnings of the newest run."""
    return [clause["code"] for clause in project.verdict()[key]]


@pytest.mark.parametrize(
    ("cheat", "exit_code", "code"),
    [
        pytest.param("", 1, "worse", id="nothing-is-hidden"),
        pytest.param("one_id", 4, "invariant-chunk_ids_unique", id="what-stands-before-it-repeats-one-id"),
        pytest.param("no_ids", 1, "worse", id="no-ids-to-tell-chunks-apart"),
        pytest.param("twins", 1, "worse", id="one-chunk-under-many-ids"),
        pytest.param("two_paths", 4, "invariant-notes_exist", id="the-right-path-spelled-otherwise"),
        pytest.param("neighbour", 1, "worse", id="the-right-text-under-a-wrong-heading"),
        pytest.param("wrong_text", 1, "worse", id="a-wrong-text-of-the-note-under-the-right-heading"),
        pytest.param("all_headings", 4, "invariant-headings_exist", id="a-wrong-text-below-the-right-heading"),
        pytest.param("pasted", 1, "worse", id="the-right-text-behind-every-other"),
        pytest.param("pasted_alone", 1, "worse", id="the-right-text-under-every-path"),
        pytest.param("everything", 1, "worse", id="all-chunks-there-are"),
        pytest.param("rank_of_its_own", 4, "invariant-lists_ordered", id="ranks-that-are-not-those-of-the-list"),
        pytest.param("second_time", 1, "worse", id="well-when-asked-again"),
        pytest.param("odd", 3, "too-many-errors", id="a-score-that-is-none"),
    ],
)
def test_an_api_that_hides_a_loss(project: Project, cheat: str, exit_code: int, code: str) -> None:
    """However the answers are dressed up, a change that loses the best passage is not green."""
    done = project.command("check", CHEAT=cheat)
    assert done.code == exit_code, done.out + done.err
    assert code in codes(project, "reasons")


@pytest.mark.parametrize("cheat", ["fails_again", "fails_again_in_part"])
def test_an_api_that_fails_where_it_would_answer_otherwise(project: Project, cheat: str) -> None:
    """What fails when it is asked again is not seen to rank alike: cannot tell, and the line of calls says so."""
    with project.config.open("a") as stream:
        stream.write("invariants: {must_be_deterministic: error}\n")
    done = project.command("check", CHEAT=cheat)
    assert done.code == 3, done.out + done.err
    assert codes(project, "reasons") == ["invariant-must_be_deterministic"]
    assert "cannot be right" not in done.out
    assert "without a second answer" in done.out
    assert "all ranked alike" not in done.out


def append(text: str) -> Callable[[Project], None]:
    """Return the edit that adds lines to the configuration."""
    return lambda project: project.config.write_text(project.config.read_text() + text)


def group(project: Project) -> None:
    """Make one question of all, for the tests."""
    project.write_cases([case | {"group": "all"} for case in project.cases()])


def relabel(project: Project) -> None:
    """Expect of every question what any answer has."""
    notes = {vault: [{"rel_path": f"Notes/{topic}.md"} for topic in topics] for vault, topics in TOPICS.items()}
    project.write_cases([case | {"gold_supports": notes[case["vaults"][0]]} for case in project.cases()])


def rename_suite(project: Project) -> None:
    """Rename the suite, and so its baseline."""
    project.edit("suite: small", "suite: other")


def write_decoy(project: Project) -> None:
    """Add a note that says what another one says."""
    (project.root / "vault/work/Notes/decoy.md").write_text("# Ingress\n\n## First\n\ningress matter one is 2 litres\n")


WAIVER = "waivers: [{metric: hit_at_5, owner: me, reason: because, expires: 2099-01-01}]\n"


@pytest.mark.parametrize(
    ("edit", "code"),
    [
        pytest.param(append(WAIVER), "loosens-gate", id="waiver"),
        pytest.param(rename_suite, "edits-gate", id="suite"),
        pytest.param(relabel, "edits-gate", id="relabelled"),
        pytest.param(group, "edits-gate", id="grouped"),
        pytest.param(write_decoy, None, id="decoy"),
    ],
)
def test_a_change_that_edits_what_judges(project: Project, edit: Callable[[Project], None], code: str | None) -> None:
    """A loss is red by the base's files, whatever the change makes of its own, and that is a warning beside it."""
    edit(project)
    done = project.command("check", "--against", "HEAD")
    assert done.code == 1, done.out + done.err
    assert codes(project, "reasons")[0] == "worse"
    warnings = codes(project, "warnings")
    if code is None:
        assert project.verdict()["preview"]["vault"]
    else:
        assert warnings[0] == code
        assert "merging this change" in done.out.lower()
