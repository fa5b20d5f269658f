"""Whether gold supports stand in the vault, what counts as their heading, and how a wrong one is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders import make_case, make_golden, make_support
from raggate.errors import UsageError
from raggate.inputs.anchor_check import check_anchors
from raggate.models.golden import Support, Vault
from tables import each_row


def vault(**notes: str) -> Vault:
    """Build two vaults: `work` with the notes, named without suffix, and `personal` with one note."""
    texts = {("work", f"{name}.md"): text for name, text in notes.items()}
    return Vault(
        directories={"work": Path("work"), "personal": Path("personal")},
        texts={**texts, ("personal", "a.md"): "# Other\n\nDifferent words.\n"},
        notes={},
        hash="",
    )


NOTE = "# Costs\n\nTen *euro*.\n\n## Per month\n\nOne euro.\n"


@each_row(
    "support",
    [
        pytest.param(make_support("a.md", None), id="the whole note"),
        pytest.param(make_support("a.md", "# Costs"), id="a section"),
        pytest.param(make_support("a.md", "# Costs > ## Per month"), id="a section inside another"),
        pytest.param(make_support("a.md", "Costs > Per month"), id="without marks"),
        pytest.param(make_support("a.md", "# a"), id="the file's name, for text before the first heading"),
        pytest.param(make_support("a.md", "# Costs", snippets=("ten EURO", "one  euro")), id="snippets"),
        pytest.param(make_support("a.md", "# Other"), id="in the other vault"),
        pytest.param(make_support("a.md", "# Costs", vault="work"), id="in the vault it names"),
    ],
)
def test_anchor_stands(support: Support) -> None:
    """A support that stands in the vault is accepted."""
    check_anchors(make_golden(make_case(gold_supports=(support,), line=3)), vault(a=NOTE))


@each_row(
    ("support", "vaults", "message"),
    [
        pytest.param(
            make_support("b.md", None), (), "gold note 'b.md' is not in the vault; nearest: 'a.md'", id="no such note"
        ),
        pytest.param(
            make_support("zzzzzz/yyyy.txt", None), (), "'zzzzzz/yyyy.txt' is not in the vault", id="nothing near"
        ),
        pytest.param(
            make_support("a.md", "# Costs > ## Per moth"),
            (),
            "'a.md' has no heading '# Costs > ## Per moth'; did you mean '# Costs > ## Per month'?",
            id="no such heading",
        ),
        pytest.param(
            make_support("a.md", "# Cost"), (), "has no heading '# Cost'; did you mean '# Costs'?", id="a prefix"
        ),
        pytest.param(make_support("a.md", "#"), (), "'a.md' has no heading '#'", id="a lone mark"),
        pytest.param(
            make_support("a.md", "# Costs", snippets=("one euro", "two euro")),
            (),
            "snippet 'two euro' is not in the section '# Costs' of 'a.md'",
            id="one of two snippets",
        ),
        pytest.param(
            make_support("a.md", "# Other"), ("work",), "has no heading '# Other'", id="only in another vault"
        ),
        pytest.param(
            make_support("a.md", "# Other", vault="work"),
            (),
            "has no heading '# Other'",
            id="not in the vault it names",
        ),
        pytest.param(make_support("a.md"), ("wrok",), "no vault 'wrok'; known: work, personal", id="unknown vault"),
        pytest.param(
            make_support("a.md", vault="wrok"),
            (),
            "no vault 'wrok'; known: work, personal",
            id="a support's unknown vault",
        ),
    ],
)
def test_anchor_is_missing(support: Support, vaults: tuple[str, ...], message: str) -> None:
    """A support that is not in the vault is named with line, case and the nearest thing that does."""
    case = make_case(gold_supports=(support,), vaults=vaults, line=3)
    with pytest.raises(UsageError) as caught:
        check_anchors(make_golden(case), vault(a=NOTE))
    refused = str(caught.value)
    assert refused.startswith("eval_set.jsonl:3: case 'q1': ")
    assert message in refused
    assert "\n" not in refused


SECTIONS = (
    "---\nsource: a memo\n---\nBefore all.\n\n# Costs\n\nTen *euro*.\n\n## Per month\n\nOne\neuro.\n\n## Per year\n\n"
    "Twelve euro.\n\n# Rooms\n\nTen chairs.\n"
)


@each_row(
    ("heading", "snippet", "elsewhere"),
    [
        pytest.param("# Costs > ## Per month", "one euro", None, id="in-the-section"),
        pytest.param("# Costs", "twelve euro", None, id="in-a-subsection"),
        pytest.param("# Costs", "# costs ten euro", None, id="with-its-heading"),
        pytest.param("# Costs", "before all", None, id="before-the-first-heading-under-the-title"),
        pytest.param("# a", "ten chairs", None, id="under-the-files-name"),
        pytest.param(None, "ten chairs", None, id="in-the-whole-note"),
        pytest.param("# Costs", "ten chairs", 21, id="in-the-next-section"),
        pytest.param("# Costs > ## Per year", "one euro", 12, id="in-the-section-before"),
        pytest.param("# Costs > ## Per month", "ten euro", 8, id="in-the-section-above"),
        pytest.param("# Rooms", "before all", 4, id="before-the-first-heading"),
        pytest.param("# Rooms", "forty euro", 0, id="nowhere"),
    ],
)
@each_row("ending", ["\n", "\r\n", "\r"])
def test_snippets_stand_in_their_section(heading: str | None, snippet: str, elsewhere: int | None, ending: str) -> None:
    """A snippet is looked for in its own section; where it stands elsewhere in the note, the line is told."""
    support = make_support("a.md", heading, snippets=(snippet,))
    notes = vault(a=SECTIONS.replace("\n", ending))
    if elsewhere is None:
        check_anchors(make_golden(make_case(gold_supports=(support,), vaults=("work",))), notes)
        return
    with pytest.raises(UsageError) as caught:
        check_anchors(make_golden(make_case(gold_supports=(support,), vaults=("work",), line=3)), notes)
    hint = f", but in line {elsewhere} of the note; name the section that it is in" if elsewhere else ""
    wanted = f"snippet {snippet!r} is not in the section {heading!r} of 'a.md'{hint}"
    assert str(caught.value) == f"eval_set.jsonl:3: case 'q1': {wanted}"


def test_nearest_is_left_out_when_nothing_is_near() -> None:
    """Without anything similar no wrong advice is given."""
    case = make_case(gold_supports=(make_support("zzzzzz/yyyy.txt", None),), line=3)
    with pytest.raises(UsageError) as caught:
        check_anchors(make_golden(case), vault(a=NOTE))
    assert "nearest" not in str(caught.value)


WRITTEN = (
    "# Guide *for* all {#guide}\n\nOne.\n\n### Use `run_it` &amp; [go](x.md) ###\n\nTwo.\n\n"
    "## Init\n\nThree.\n\n## `__init__`\n\nFour.\n\n## Set up\n\nFive.\n\n## SET UP\n\nSix.\n"
)


@each_row(
    ("heading", "snippet"),
    [
        pytest.param("# Guide *for* all {#guide}", "One", id="copied"),
        pytest.param("# Guide for all", "One", id="as it is shown"),
        pytest.param("# guide for ALL {#other .class}", "One", id="another id, and capitals"),
        pytest.param("# Guide for all > ### Use `run_it` &amp; [go](x.md) ###", "Two", id="copied with closing marks"),
        pytest.param("# Guide *for* all {#guide} > ## Use run_it & go", "Two", id="copied in part"),
        pytest.param("# Guide for all > ## Init", "Three", id="shown, where another heading reads so in bold"),
        pytest.param("# Guide for all > ## init", "Three", id="in small letters"),
        pytest.param("# Guide for all > ## __init__", "Four", id="shown as a renderer shows code"),
        pytest.param("# Guide for all > ## `__init__`", "Four", id="code, copied"),
        pytest.param("# Guide for all > ## Set up", "Five", id="one of two that differ in capitals, as it is written"),
        pytest.param("# Guide for all > ## SET UP", "Six", id="the other one"),
    ],
)
def test_a_heading_is_accepted_as_people_read_it(heading: str, snippet: str) -> None:
    """A heading may stand as in the file or as it is shown, and names the one section that is meant, and no other."""
    for text in ("One.", "Two.", "Three.", "Four.", "Five.", "Six."):
        # the title encloses all of them
        inside = text.startswith(snippet) or snippet == "One"
        case = make_case(gold_supports=(make_support("a.md", heading, snippets=(text,)),), line=3)
        if inside:
            check_anchors(make_golden(case), vault(a=WRITTEN))
        else:
            with pytest.raises(UsageError, match="is not in the section"):
                check_anchors(make_golden(case), vault(a=WRITTEN))


def test_a_heading_that_could_be_two_is_refused_with_both_lines() -> None:
    """Where no heading is written so and several read so, none is guessed: the message says where they stand."""
    case = make_case(gold_supports=(make_support("a.md", "# Guide for all > ## set up"),), line=3)
    with pytest.raises(UsageError) as caught:
        check_anchors(make_golden(case), vault(a=WRITTEN))
    assert str(caught.value) == (
        "eval_set.jsonl:3: case 'q1': '# Guide for all > ## set up' is each of several headings of 'a.md', in lines 17 "
        "and 21, which differ in capitals or markup alone; write it as the note does"
    )


def test_the_same_heading_twice_is_no_ambiguity() -> None:
    """Sections that are written alike cannot be told apart by anybody, and are one place, as ever."""
    notes = vault(a="# A\n\n## Setup {#one}\n\nx\n\n## Setup {#one}\n\ny\n")
    for heading in ("# A > ## Setup {#one}", "# A > ## setup"):
        check_anchors(make_golden(make_case(gold_supports=(make_support("a.md", heading, snippets=("y",)),))), notes)


def test_a_suggestion_has_the_marks_of_the_file() -> None:
    """What is suggested can be copied into the golden set: it has the levels that the note has."""
    case = make_case(gold_supports=(make_support("a.md", "# Guide for all > ## Use run"),), line=3)
    with pytest.raises(UsageError, match=r"did you mean '# Guide for all .*> ### Use run_it & go'\?"):
        check_anchors(make_golden(case), vault(a=WRITTEN))
