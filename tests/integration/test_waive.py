"""`/raggate waive` on a pull request: one pull request that adds one waiver to the base branch, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from commanded import NAME, Conversation
from fakes.github_api import COMMIT_THEN_DROP, FakeGitHub, Pull, status
from raggate.config.schema import Config, load
from raggate.config.waiver_settings import Waiver
from raggate.github.waive import branch_of
from rendered import problems, visible
from tables import each_row

ASKED = "/raggate waive q17 until 2026-12-31 because the note is being rewritten"
CONFIG = """\
# the gate
suite: small
golden: golden.jsonl  # by hand
vault: {notes: notes}
api: {url: http://127.0.0.1:9}
ask: {modes: [hybrid, text]}
out: runs
"""
ENTRY = '{case: "q17", owner: "ada", reason: "the note is being rewritten", expires: 2026-12-31}'
QUESTIONS = ("q17", "q18", "two words", "a,b", "a", "metric")

OTHERS: dict[str, dict[str, object]] = {"q17": {"must_pass": True}, "q18": {"retriever_types": ["hybrid"]}}


def golden(*ids: str) -> str:
    """Write a golden set."""
    place = [{"rel_path": "a.md", "heading_path": "# A"}]
    rows = ({"id": name, "question": f"What is <b>{name}</b>?", "answerable": True} for name in ids)
    return "".join(json.dumps({**row, "gold_supports": place, **OTHERS.get(str(row["id"]), {})}) + "\n" for row in rows)


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Conversation]:
    """Open a pull request into a branch with a gate, in a repository where ada and bob write and eve reads."""
    with FakeGitHub() as fake:
        repository = fake.add_repository(NAME)
        repository.roles |= {"ada": "write", "bob": "maintain", "eve": "read"}
        base = repository.add_commit({"raggate.yml": CONFIG, "golden.jsonl": golden(*QUESTIONS)}, branch="main")
        change = {"raggate.yml": CONFIG.replace("small", "mine"), "golden.jsonl": golden("q99")}
        head = repository.add_commit(change, [base], branch="change")
        repository.add_pull(7, head_sha=head, base_sha=base, login="eve")
        yield Conversation(fake, repository, tmp_path, permissions={"contents": "write", "pull-requests": "write"})
        fake.assert_clean()


def proposed(talk: Conversation) -> list[Pull]:
    """Give the pull requests that raggate opened."""
    return [pull for number, pull in talk.repository.pulls.items() if number != 7]


def text_of(talk: Conversation, pull: Pull) -> str:
    """Give the configuration that a pull request proposes."""
    return (talk.repository.read("raggate.yml", pull.head_sha) or b"").decode()


def settings(talk: Conversation, pull: Pull) -> Config:
    """Read it."""
    return load(text_of(talk, pull).encode(), "raggate.yml")


def changed_by(talk: Conversation, pull: Pull) -> set[str]:
    """Name the files that merging a pull request would change."""
    objects = talk.repository.objects
    parted = objects.merge_base(pull.head_sha, talk.repository.head)
    assert parted is not None
    old, new = (objects.walk(objects.commits[sha].tree) for sha in (parted, pull.head_sha))
    return {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}


def refs(talk: Conversation) -> dict[str, str]:
    """Give every branch with its commit."""
    return dict(talk.repository.refs)


def refused(talk: Conversation, body: str, words: str, *, code: int = 0) -> None:
    """Claim that a comment is answered with these words, and that no branch and no pull request was touched."""
    before = refs(talk), len(talk.repository.pulls)
    assert talk.say(body).code == code
    assert words in visible(talk.replies[-1])
    assert talk.reactions == ["eyes", "-1"]
    assert (refs(talk), len(talk.repository.pulls)) == before


class TestWhatIsProposed:
    """The pull request, and the reply."""

    def test_one_entry_and_nothing_else(self, talk: Conversation) -> None:
        """The pull request adds one line to the file of the base branch; base and pull request stay where they are."""
        before = refs(talk)
        assert talk.say(ASKED).code == 0
        (pull,) = proposed(talk)
        assert (pull.title, pull.base_ref) == ("Waive question q17 until 2026-12-31", "main")
        assert changed_by(talk, pull) == {"raggate.yml"}
        assert text_of(talk, pull) == f"{CONFIG}waivers:\n  - {ENTRY}\n"
        assert refs(talk) == {**before, f"refs/heads/{pull.head_ref}": pull.head_sha}
        assert talk.reactions == ["eyes", "+1"]

    def test_what_the_reply_says(self, talk: Conversation) -> None:
        """The reply links the pull request and says that nothing is waived yet."""
        response = talk.say(ASKED)
        (pull,) = proposed(talk)
        (reply,) = talk.replies
        assert reply.startswith(
            f"[A pull request]({talk.fake.server_url}/{NAME}/pull/{pull.number}) proposes to waive "
        )
        assert visible(reply) == (
            "A pull request proposes to waive question q17 until 2026-12-31 (213 days from now), on the responsibility "
            "of ada. Nothing is waived before somebody merges it into main; the gate judges it as any other and shows "
            "it there, once its checks have run, as a setting that loosens the gate. After the merge, update the "
            "branch of this pull request: /raggate recheck alone judges by the base commit of before."
        )
        assert response.message == "the command was carried out"

    def test_what_the_pull_request_says(self, talk: Conversation) -> None:
        """It says what, until when, why, who asked for it and where, and how its checks are started."""
        talk.say(ASKED)
        (pull,) = proposed(talk)
        body = visible(pull.body or "")
        comment = f"{talk.fake.server_url}/{NAME}/pull/7#issuecomment-{talk.comment}"
        assert f"[a comment on pull request 7]({comment})" in (pull.body or "")
        for words in (
            "Question q17 of suite small may be lost on main until 2026-12-31 (213 days from now).",
            "Reason: the note is being rewritten",
            "Asked for by ada in",
            "What is <b>q17</b>?",
            "🔒 must pass",
            "It adds one entry to waivers of raggate.yml and changes nothing else.",
            "such events start no workflows",
        ):
            assert words in body
        assert not [*problems(pull.body or "", links=(comment,))]

    @each_row(
        "names, expected",
        [
            ("q17 q18", [("q17", None), ("q18", None)]),
            ("q18, q17,q18", [("q18", None), ("q17", None)]),
            ("q17 in text", [("q17", "text")]),
            ("two words", [("two words", None)]),
            ("metric", [("metric", None)]),
            ("a,b", [("a,b", None)]),
        ],
    )
    def test_which_questions(self, talk: Conversation, names: str, expected: list[tuple[str, str | None]]) -> None:
        """Several questions are several entries; an id may have a space or a comma; a mode narrows them."""
        talk.say(f"/raggate waive {names} until 2026-06-01 because x")
        waivers = settings(talk, proposed(talk)[-1]).waivers
        assert [(waiver.case, waiver.mode) for waiver in waivers] == expected
        effect = "each question is" if len(expected) > 1 else "the question is"
        assert f"While it lasts, {effect} left out of the means" in visible(proposed(talk)[-1].body or "")

    def test_a_metric(self, talk: Conversation) -> None:
        """With the word `metric` it is one metric that may be worse."""
        talk.say("/raggate waive metric hit@5 in hybrid until 2026-06-02 because of the new index")
        (pull,) = proposed(talk)
        (waiver,) = settings(talk, pull).waivers
        assert (waiver.metric, waiver.case, waiver.mode) == ("hit_at_5", None, "hybrid")
        assert "Metric hit_at_5 in hybrid of suite small may be worse than allowed" in visible(pull.body or "")

    def test_as_many_as_a_command_holds(self, talk: Conversation) -> None:
        """A command that names many questions of long names opens a pull request, whose title says how many."""
        names = [f"{'q' * 18}{number}" for number in range(10, 22)]
        talk.repository.add_commit({"golden.jsonl": golden(*names)}, [talk.repository.head], branch="main")
        talk.say(f"/raggate waive {' '.join(names)} until 2026-12-31 because x")
        (pull,) = proposed(talk)
        assert pull.title == "Waive 12 questions until 2026-12-31"
        assert [waiver.case for waiver in settings(talk, pull).waivers] == names

    def test_an_executable_file_stays_one(self, talk: Conversation) -> None:
        """Not even the mode of the file changes."""
        objects = talk.repository.objects
        tree = objects.commits[talk.repository.head].tree
        mode_and_id = objects.entry(tree, "raggate.yml")
        assert mode_and_id is not None
        changed = objects.changed_tree(tree, {"raggate.yml": ("100755", mode_and_id[1])})
        head = objects.commits[talk.repository.head]
        made = objects.add_commit(
            changed, [head.sha], message="x", author=head.author, committer=head.committer, verified=False
        )
        talk.repository.refs["refs/heads/main"] = made.sha
        talk.say(ASKED)
        (pull,) = proposed(talk)
        entry = objects.entry(objects.commits[pull.head_sha].tree, "raggate.yml")
        assert entry is not None
        assert entry[0] == "100755"

    def test_the_step_of_a_workflow(self, talk: Conversation) -> None:
        """The whole step, from GitHub's event file to the pull request: by the clock of the machine, in no checkout."""
        done = talk.step("/raggate waive q17 until 9999-12-31 because x")
        assert done.code == 0, done.err
        (pull,) = proposed(talk)
        assert [waiver.expires for waiver in settings(talk, pull).waivers] == ["9999-12-31"]
        assert len(talk.replies) == 1


class TestWhatIsNot:
    """What is asked for and not proposed: the reply says why, and nothing is written."""

    @each_row(
        "what, words",
        [
            ("q71 until 2026-12-31 because x", "The golden set on main has no question q71. Like it: q18, q17"),
            ("q99 until 2026-12-31 because x", "The golden set on main has no question q99."),
            ("q17 in vector until 2026-12-31 because x", "No question is asked in mode vector; expected one of hybrid"),
            ("q18 in text until 2026-12-31 because x", "Question q18 is not asked in mode text."),
            ("metric hit_at_55 until 2026-12-31 because x", "The gate judges no metric hit_at_55. Like it: hit_at_5"),
            ("metric mrr_at_1 until 2026-12-31 because x", "The gate judges no metric mrr_at_1."),
            ("q17 until 2026-05-31 because x", "2026-05-31 is over in UTC"),
            ("q17 until 2026-02-30 because x", "The last day is a date such as 2026-12-31."),
            ("q17 until ２０２６-12-31 because x", "The last day is a date such as"),
            ("q17 until 2026-12-31", "A waiver needs a reason"),
            ("q17 until 2026-12-31 until 2027-12-31 because x", "A waiver has one last day"),
            ("q17 because x", "A waiver has one last day"),
            ("q17 because x until 2026-12-31", "A waiver has one last day"),
        ],
    )
    def test_what_is_asked(self, talk: Conversation, what: str, words: str) -> None:
        """What is not there, is over or is not clear; questions of the change's own golden set are not there."""
        refused(talk, f"/raggate waive {what}", words)

    @pytest.mark.parametrize(
        ("standing", "words"),
        [
            ("2026-12-31", "q17 is waived on main already, until 2026-12-31 by bob: why"),
            ("2027-01-01", "q17 is waived on main already, until 2027-01-01 by bob: why"),
            ("2026-07-01", "q17 is waived on main until 2026-07-01 by bob: why"),
            (
                "2026-06-01",
                "q17 is waived on main until 2026-06-01 by bob: whyWhen that day is over, that waiver makes",
            ),
            ("2026-01-01", "The waiver of q17 on main by bob ended with 2026-01-01: whyIt makes the gate red"),
            ("2026-01-01", "Renew it by hand"),
        ],
    )
    def test_waived_already(self, talk: Conversation, standing: str, words: str) -> None:
        """What is waived is said with its day; a second waiver would not keep the first one from expiring."""
        entry = f"waivers: [{{case: q17, owner: bob, reason: why, expires: {standing}}}]\n"
        talk.repository.add_commit({"raggate.yml": CONFIG + entry}, [talk.repository.head], branch="main")
        refused(talk, ASKED, words)

    def test_waived_in_another_mode(self, talk: Conversation) -> None:
        """What is waived in one mode is not waived in another one, nor in all."""
        entry = "waivers: [{case: q17, mode: text, owner: bob, reason: why, expires: 2027-01-01}]\n"
        talk.repository.add_commit({"raggate.yml": CONFIG + entry}, [talk.repository.head], branch="main")
        refused(talk, ASKED.replace("q17", "q17 in text"), "q17 is waived on main already")
        talk.say(ASKED)
        (pull,) = proposed(talk)
        assert [waiver.mode for waiver in settings(talk, pull).waivers] == ["text", None]

    def test_a_file_that_cannot_be_added_to(self, talk: Conversation) -> None:
        """Where the file is written so that it cannot be added to, the reply has the line to add by hand."""
        odd = f"{CONFIG}score: {{compat: &none []}}\nwaivers: *none\n"
        talk.repository.add_commit({"raggate.yml": odd}, [talk.repository.head], branch="main")
        refused(talk, ASKED, "Add it by hand, as an item of `waivers`: {case:", code=2)

    def test_no_gate_there(self, talk: Conversation) -> None:
        """A base branch without a configuration has nothing to add to; one that is not judged is refused."""
        talk.repository.add_commit({"raggate.yml": None}, [talk.repository.head], branch="main")
        refused(talk, ASKED, "There is no raggate.yml on main")
        talk.repository.add_commit({"raggate.yml": CONFIG}, [talk.repository.head], branch="weak")
        talk.repository.pulls[7].base_ref = "weak"
        refused(talk, ASKED, "this change goes into 'weak', not into the default branch", code=2)


class TestTwice:
    """Asked again: never a second pull request for the same."""

    def test_the_same_again(self, talk: Conversation) -> None:
        """The same command again points to the pull request that is open, with no new commit."""
        talk.say(ASKED)
        (pull,) = proposed(talk)
        head = pull.head_sha
        talk.say(ASKED)
        assert [one.head_sha for one in proposed(talk)] == [head]
        assert f"/pull/{pull.number}) proposes already to waive" in talk.replies[1]

    def test_another_day_and_reason(self, talk: Conversation) -> None:
        """Another day, reason or person goes into the same pull request, which then has that one entry."""
        talk.say(ASKED)
        talk.say("/raggate waive q17 until 2026-07-01 because it is short", by="bob")
        (pull,) = proposed(talk)
        (waiver,) = settings(talk, pull).waivers
        assert waiver == Waiver(case="q17", owner="bob", reason="it is short", expires="2026-07-01")
        assert pull.title == "Waive question q17 until 2026-07-01"
        assert changed_by(talk, pull) == {"raggate.yml"}

    def test_in_another_order(self, talk: Conversation) -> None:
        """The same questions in another order are the same."""
        talk.say(ASKED.replace("q17", "q17 q18"))
        talk.say(ASKED.replace("q17", "q18, q17"))
        assert len(proposed(talk)) == 1

    def test_another_question(self, talk: Conversation) -> None:
        """Another question, or one mode of it, is another pull request: each is merged or closed for itself."""
        talk.say(ASKED)
        talk.say(ASKED.replace("q17", "q18"))
        talk.say(ASKED.replace("q17", "q17 in text"))
        assert len({pull.head_ref for pull in proposed(talk)}) == 3

    def test_after_it_was_closed(self, talk: Conversation) -> None:
        """After the pull request was closed, the next command opens another one from the branch that was left."""
        talk.say(ASKED)
        proposed(talk)[0].state = "closed"
        talk.say(ASKED)
        assert [pull.state for pull in proposed(talk)] == ["closed", "open"]

    def test_on_a_base_that_went_on(self, talk: Conversation) -> None:
        """On a base that has another configuration by now, the same pull request is made anew from that."""
        talk.say(ASKED)
        talk.repository.add_commit({"raggate.yml": f"{CONFIG}# new\n"}, [talk.repository.head], branch="main")
        talk.say(ASKED)
        (pull,) = proposed(talk)
        assert text_of(talk, pull) == f"{CONFIG}# new\nwaivers:\n  - {ENTRY}\n"
        assert changed_by(talk, pull) == {"raggate.yml"}

    def test_somebody_wrote_onto_the_branch(self, talk: Conversation) -> None:
        """A commit on the branch that is not the command's own is left alone, with a link to the pull request."""
        talk.say(ASKED)
        (pull,) = proposed(talk)
        mine = talk.repository.add_commit({"other": "mine"}, [pull.head_sha], branch=pull.head_ref)
        pull.head_sha = mine
        refused(talk, ASKED.replace("2026", "2027"), "is not one that this command made")
        assert f"/pull/{pull.number})" in talk.replies[-1]

    def test_a_branch_of_that_name(self, talk: Conversation) -> None:
        """So is a branch that somebody made under the name, with the advice to delete it."""
        branch = branch_of("raggate.yml", "main", [Waiver(case="q17", owner="x", reason="x", expires="2026-01-01")])
        talk.repository.add_commit({"other": "mine"}, [talk.repository.head], branch=branch)
        refused(talk, ASKED, "Delete the branch")

    def test_in_the_pull_request_itself(self, talk: Conversation) -> None:
        """In the pull request that proposes the waiver the command writes nothing."""
        talk.say(ASKED)
        (pull,) = proposed(talk)
        own, talk.repository.pulls[7] = talk.repository.pulls[7], pull
        del talk.repository.pulls[pull.number]
        pull.number = 7
        assert own.head_ref == "change"
        refused(talk, ASKED.replace("2026", "2027"), "This is the pull request that proposes the waiver.")

    def test_the_pull_requests_own_branch_has_the_name(self, talk: Conversation) -> None:
        """A change that comes from a branch of that very name is not written to either."""
        branch = branch_of("raggate.yml", "main", [Waiver(case="q17", owner="x", reason="x", expires="2026-01-01")])
        pull = talk.repository.pulls[7]
        pull.head_ref = branch
        talk.repository.refs[f"refs/heads/{branch}"] = pull.head_sha
        refused(talk, ASKED, "This is the pull request that proposes the waiver.")


class TestMeanwhile:
    """What changes while the command is carried out."""

    def test_the_file_changed(self, talk: Conversation) -> None:
        """Where the configuration on the base changes before anything is written, nothing is."""

        def edit(_: object) -> None:
            talk.repository.add_commit({"raggate.yml": f"{CONFIG}# new\n"}, [talk.repository.head], branch="main")

        talk.fake.before(
            "pulls/get", lambda _: talk.fake.before("git/get-ref", lambda _: talk.fake.before("git/get-ref", edit))
        )
        assert talk.say(ASKED).code == 3
        assert "the configuration on main changed meanwhile" in visible(talk.replies[0])
        assert not proposed(talk)

    def test_at_once(self, talk: Conversation) -> None:
        """Of two commands at once for the same question one is refused, and text and file of the other fit."""
        other = "/raggate waive q17 until 2026-08-01 because faster"
        talk.fake.before(
            "git/create-ref",
            lambda _: Conversation(talk.fake, talk.repository, talk.workspace, talk.permissions).say(other),
        )
        assert talk.say(ASKED).code == 3
        (pull,) = proposed(talk)
        assert [waiver.expires for waiver in settings(talk, pull).waivers] == ["2026-08-01"]
        assert "faster" in visible(pull.body or "")
        assert any("moved meanwhile" in visible(reply) for reply in talk.replies)

    def test_a_rule_refuses(self, talk: Conversation) -> None:
        """Where a rule of the repository refuses the branch, the reply says so, and there is no pull request."""
        talk.fake.fail_next("git/create-ref", status(422, {"message": "Repository rule violations found"}))
        assert talk.say(ASKED).code == 3
        assert "a rule of the repository refuses the commit" in visible(talk.replies[0])
        assert not proposed(talk)

    @pytest.mark.parametrize("operation", ["git/create-ref", "pulls/create"])
    def test_an_answer_that_is_lost(self, talk: Conversation, operation: str) -> None:
        """An answer that is lost on the way does not make a second pull request."""
        talk.fake.fail_next(operation, COMMIT_THEN_DROP)
        assert talk.say(ASKED).code == 0
        assert len(proposed(talk)) == 1


class TestPermission:
    """What the token of the workflow may, and the person."""

    def test_a_token_that_only_reads(self, talk: Conversation) -> None:
        """Without the permission the reply is one sentence that names it, and the step is green: that is a choice."""
        talk.permissions["contents"] = "read"
        refused(talk, ASKED, "needs the permission `contents: write`".replace("`", ""))
        assert visible(talk.replies[0]).count(".") == 2  # the full stop, and that of a file's name

    def test_a_branch_that_is_hidden_or_gone(self, talk: Conversation) -> None:
        """What GitHub hides from a token looks as if it were gone: the reply says both."""
        talk.fake.fail_next("git/get-ref", status(404, {"message": "Not Found"}))
        refused(talk, ASKED, "it is gone, or the token may not read it")

    def test_a_permission_that_is_lost_on_the_way(self, talk: Conversation) -> None:
        """A branch whose pull request could not be opened is used by the next command, which opens it."""
        talk.repository.actions_may_open_pulls = False
        assert talk.say(ASKED).code == 3
        assert "Allow GitHub Actions to create and approve pull requests" in visible(talk.replies[0])
        talk.repository.actions_may_open_pulls = True
        assert talk.say(ASKED).code == 0
        assert len(proposed(talk)) == 1

    def test_a_reader(self, talk: Conversation) -> None:
        """Whoever may not write gets a thumb down, and nothing is read or written for them."""
        before = refs(talk)
        talk.say(ASKED, by="eve")
        assert (refs(talk), proposed(talk), talk.replies, talk.reactions) == (before, [], [], ["-1"])
        assert {request.method for request in talk.fake.requests if "/git/" in request.path} == set()


@each_row(
    "reason",
    [
        "@octo/admins <b>look</b> <!-- raggate:reply 1 --> [x](https://evil.example) #12 GH-12",
        '"}, {metric: hit_at_5, owner: x, reason: x, expires: 9999-12-31}, {x: "',
        "x # ]\\n- {metric: hit_at_5}",
        "x expires: 9999-12-31 until 2999-01-01 because Co-authored-by: eve",
        "[skip ci] [CI Skip] [no ci] [skip actions] [actions skip] skip-checks: true",
        "Raggate-Waiver: 5 ![](https://evil.example/p.png) ::error::x",
        "$(id) ${{ github.token }} `id` | tee",
        'ünïcödé 🎉 \' " \\ \\" \\x00',
        "|",
        "fixes https://github.com/octo/notes/issues/1",
    ],
)
def test_a_hostile_reason(talk: Conversation, reason: str) -> None:
    """Whatever a reason holds, it is the reason of one entry, and text wherever people read it."""
    talk.say(f"/raggate waive q17 until 2026-12-31 because {reason}")
    (pull,) = proposed(talk)
    (waiver,) = settings(talk, pull).waivers
    assert waiver == Waiver(case="q17", owner="ada", reason=reason, expires="2026-12-31")
    assert text_of(talk, pull).startswith(CONFIG)
    comment = f"{talk.fake.server_url}/{NAME}/pull/7#issuecomment-{talk.comment}"
    assert not [*problems(pull.body or "", links=(comment,))]
    message = talk.repository.objects.commits[pull.head_sha].message
    assert message.count("\n") == 6
    assert not any(sign in f"{message}{pull.title}" for sign in ("@octo", "#1", "GH-1", "://", "[skip", "[CI", "[no"))


@each_row(
    "body",
    [
        f"{ASKED}\n/raggate waive q18 until 2026-12-31 because x",
        f"{ASKED}\r\n<!-- -->",
        "/raggate waive q17\u202e until 2026-12-31 because x",
        "/raggate waive q17\u00a0until 2026-12-31 because x",
        f"/raggate  {ASKED[9:]}",
        f"{ASKED}{'x' * 65_000}",
        "/raggate waive ../../x until 2026-12-31 because x",
        "/raggate waive in until until because because x",
        "/raggate waive , until 2026-12-31 because x",
    ],
)
def test_a_hostile_comment(talk: Conversation, body: str) -> None:
    """What is not one waiver to the letter writes nothing."""
    before = refs(talk)
    talk.say(body)
    assert (refs(talk), proposed(talk)) == (before, [])
    assert talk.reactions == ["eyes", "-1"]
