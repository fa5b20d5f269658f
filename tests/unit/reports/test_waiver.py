"""The text of a proposed waiver: as it was looked at, and foreign text in it is only ever text."""

from __future__ import annotations

from hypothesis import given, strategies as st
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from raggate.config.waiver_settings import Waiver
from raggate.models.publication import Links
from raggate.reports import waiver
from raggate.reports.parts.budget import COMMENT_LIMIT, utf16_units
from raggate.reports.waiver import Question, WaiverProposal
from rendered import problems, visible
from reviews import HOSTILE

LINKS = Links(server="https://forge.example", repository="team/notes-api")
OURS = "https://forge.example/team/notes-api/pull"
ASKED_IN = f"{OURS}/7#issuecomment-99"
ENTRY = Waiver(case="lease-notice", owner="ada", reason="the note is being rewritten", expires="2026-12-31")
PROPOSAL = WaiverProposal(
    waivers=[ENTRY],
    questions=[Question(id="lease-notice", text="When must notice be given?", must_pass=True)],
    suite="notes",
    path="raggate.yml",
    target="main",
    days_left=39,
    number=7,
    comment=99,
    links=LINKS,
)
METRIC = replace(
    PROPOSAL, waivers=[ENTRY.model_copy(update={"case": None, "metric": "hit_at_5", "mode": "text"})], questions=[]
)


def test_page_of_a_question(snapshot: SnapshotAssertion) -> None:
    """The page of one question says what, until when, why, who, what it means, and how its checks start."""
    assert waiver.render(PROPOSAL) == snapshot


def test_page_of_a_metric(snapshot: SnapshotAssertion) -> None:
    """That of a metric says what is different, and warns of a commit that GitHub did not sign."""
    assert waiver.render(replace(METRIC, days_left=0), unsigned="unsigned") == snapshot


def test_title_and_message() -> None:
    """The commit says the same in plain words."""
    assert waiver.title(METRIC) == "Waive metric hit_at_5 in text until 2026-12-31"
    many = replace(PROPOSAL, waivers=[ENTRY] * 12, questions=PROPOSAL.questions * 12)
    assert waiver.title(many) == "Waive 12 questions until 2026-12-31"
    long = replace(PROPOSAL, waivers=[ENTRY.model_copy(update={"case": "q" * 200})])
    assert waiver.title(long) == f"Waive question {'q' * 110}… until 2026-12-31"
    assert waiver.message(PROPOSAL) == [
        "Reason: the note is being rewritten",
        "Asked for by ada in pull request 7, comment 99",
    ]


@given(st.text(max_size=40) | st.just(HOSTILE))
def test_foreign_text_is_text(text: str) -> None:
    """Names, questions, reasons, branches and paths do nothing in page, reply, title and message."""
    entry = ENTRY.model_copy(update={"case": text, "reason": text, "owner": text, "mode": text})
    question = Question(id=text, text=text, must_pass=False)
    proposal = replace(
        PROPOSAL, waivers=[entry, entry], questions=[question, question], path=text, target=text, suite=text
    )
    assert not [*problems(waiver.render(proposal, unsigned=text), links=(ASKED_IN,))]
    assert not [*problems(waiver.reply(proposal, f"{OURS}/8", already=False), links=(f"{OURS}/8",))]
    lines = [waiver.title(proposal), *waiver.message(proposal)]
    assert all(line.replace("\u2060", "").isprintable() for line in lines)


def test_an_address_that_is_not_ours() -> None:
    """A link leads to the repository or is none."""
    assert "](" not in waiver.reply(PROPOSAL, "https://evil.example/pull/8", already=True)


def test_it_fits() -> None:
    """The page of as many questions as a command can name fits, and says how many it left out."""
    questions = [Question(id="q" * 200, text="<@#" * 7000, must_pass=True)] * 150
    page = waiver.render(replace(PROPOSAL, questions=questions, waivers=[ENTRY] * 150))
    assert utf16_units(page) < COMMENT_LIMIT
    assert "and 130 more" in visible(page)
