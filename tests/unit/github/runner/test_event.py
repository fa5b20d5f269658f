"""What started the run, read from the runner's variables and from events as GitHub sends them."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from raggate.base.errors import UsageError
from raggate.github.runner import event, event as payloads

EVENTS = Path(__file__).parents[3] / "fakes" / "github" / "events"
PAYLOADS = sorted(path.relative_to(EVENTS).as_posix() for path in EVENTS.rglob("*.json"))
SHA = "a" * 40
PULL = "pull_request/12-opened.json"
RUNNER = {
    "GITHUB_REPOSITORY": "octo/notes",
    "GITHUB_RUN_ID": "1589141559",
    "GITHUB_RUN_ATTEMPT": "2",
    "GITHUB_SERVER_URL": "https://git.example.org",
    "GITHUB_API_URL": "https://git.example.org/api/v3",
    "GITHUB_GRAPHQL_URL": "https://git.example.org/api/graphql",
    "GITHUB_SHA": SHA,
    "GITHUB_REF": "refs/heads/main",
    "GITHUB_ACTOR": "ada",
    "GITHUB_TRIGGERING_ACTOR": "grace",
}


def payload(name: str) -> dict[str, Any]:
    """Return an event as GitHub sends it."""
    found: dict[str, Any] = json.loads((EVENTS / name).read_bytes())
    return found


def read(path: Path, name: str, content: object, **variables: str) -> event.Event:
    """Read an event that the runner would have written."""
    path.write_text(json.dumps(content))
    environment = {**RUNNER, "GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": str(path), **variables}
    return event.read(environment)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Name the event file."""
    return tmp_path / "event.json"


@pytest.mark.parametrize("name", PAYLOADS)
def test_every_example_is_read(name: str, file: Path) -> None:
    """Every example of GitHub gives an event that says what its payload says."""
    kind, content = Path(name).parent.name, payload(name)
    found = read(file, kind, content)
    assert (found.name, found.repository) == (kind, "octo/notes")
    assert found.default_branch == content["repository"]["default_branch"]
    assert (found.run_id, found.attempt) == (1589141559, 2)
    assert found.run_url == "https://git.example.org/octo/notes/actions/runs/1589141559"
    pull = content.get("pull_request")
    group = content.get("merge_group")
    if pull:
        assert (found.number, found.base, found.head) == (2, pull["base"]["sha"], pull["head"]["sha"])
        assert (found.base_ref, found.head_ref) == (pull["base"]["ref"], pull["head"]["ref"])
        assert found.comments is found.open is (content["action"] != "closed")
        assert found.from_fork is (pull["head"]["repo"]["full_name"] != pull["base"]["repo"]["full_name"])
    elif group:
        assert (found.base, found.head) == (group["base_sha"], group["head_sha"])
        assert (found.base_ref, found.head_ref) == ("main", group["head_ref"].removeprefix("refs/heads/"))
    else:
        assert (found.base, found.head, found.head_ref) == (None, SHA, "main")
    assert found.comments is (pull is not None and pull["state"] == "open")
    assert (found.source_run is not None) is (kind == "workflow_run")


@pytest.mark.parametrize(
    ("head", "from_fork"), [("octo/notes", False), ("mallory/notes", True), (None, True), ("", True)]
)
def test_a_fork_is_known_by_its_repository(file: Path, head: str | None, *, from_fork: bool) -> None:
    """A head in another repository is a fork's, and so is one whose repository is gone."""
    content = payload("pull_request/00-opened.json")
    content["pull_request"]["base"]["repo"]["full_name"] = "octo/notes"
    content["pull_request"]["head"]["repo"] = None if head is None else {"full_name": head}
    assert read(file, "pull_request", content).from_fork is from_fork


def test_a_run_that_another_run_started(file: Path) -> None:
    """The first run is known by id, attempt, event and commit."""
    run = read(file, "workflow_run", payload("workflow_run/01-completed.json")).source_run
    assert run == event.SourceRun(
        id=289782451,
        attempt=1,
        event="repository_dispatch",
        head_sha="3484a3fb816e0859fd6e1cea078d76385ff50625",
        head_branch="master",
        head_repository="octo-org/octo-repo",
        conclusion="success",
        run_started_at="2020-10-05T16:33:49Z",
        path=".github/workflows/test.yml",
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [("head_repository", "mallory/x"), ("full_name", "x"), ("full_name", "mallory/../x"), ("full_name", None)],
)
def test_a_source_run_is_of_a_repository(file: Path, key: str, value: object) -> None:
    """The repository a run was for is none, or one with an owner and a name; else the event is refused."""
    content = payload("workflow_run/01-completed.json")
    run = content["workflow_run"]
    (run if key in run else run["head_repository"])[key] = value
    with pytest.raises(UsageError, match="the head_repository of the workflow run is not as GitHub sends it"):
        read(file, "workflow_run", content)


def test_pull_request_target_is_refused(file: Path) -> None:
    """The event whose token can write is refused, with the way around it."""
    with pytest.raises(UsageError, match="can write to the repository") as caught:
        read(file, "pull_request_target", payload(PULL))
    assert "workflow_run" in caught.value.hint


@pytest.mark.parametrize("name", ["pull_request_review", "pull_request_review_comment"])
def test_a_review_is_of_its_pull_request(file: Path, name: str) -> None:
    """What a review starts is judged as the pull request that it checks out, by its base."""
    content = payload(PULL)
    del content["number"]
    found = read(file, name, content | {"review": {}})
    assert found.base == content["pull_request"]["base"]["sha"]
    assert found == read(file, "pull_request", content)


def written(**about: Any) -> dict[str, Any]:
    """Return the event of a comment on a pull request, changed in its comment."""
    content = payload("issue_comment/01-created.json")
    content["issue"]["pull_request"] = {"url": "https://api.github.com/repos/octo/notes/pulls/1"}
    content["comment"] |= {"body": "/raggate recheck\nplease", "user": {"login": "ada", "type": "User"}, **about}
    return content


def test_a_comment_on_a_pull_request(file: Path) -> None:
    """A comment keeps its lines, and does not make the event one of its pull request, which would be gated."""
    content = written()
    found = read(file, "issue_comment", content)
    comment = event.WrittenComment(content["comment"]["id"], 1, "ada", "/raggate recheck\nplease")
    assert (found.comment, found.number, found.comments, found.base) == (comment, None, False, None)


@pytest.mark.parametrize(
    "about",
    [
        {"user": {"login": "helper[bot]", "type": "Bot"}},
        {"user": {"login": "helper[bot]", "type": "User"}},
        {"user": {"login": "team", "type": "Organization"}},
        {"user": {"login": "../../x", "type": "User"}},
        {"user": None},
        {"performed_via_github_app": {"id": 1}},
    ],
)
def test_a_comment_that_no_person_wrote(file: Path, about: dict[str, Any]) -> None:
    """What a bot wrote, an app in a person's name, or nobody any more, is not a person's."""
    found = read(file, "issue_comment", written(**about)).comment
    assert found is not None
    assert found.author == ""


def test_a_comment_that_asks_for_nothing(file: Path) -> None:
    """An edited or deleted comment, and one below an issue, is none that was just written on a pull request."""
    assert read(file, "issue_comment", payload("issue_comment/01-created.json")).comment is None
    for action in ("edited", "deleted"):
        assert read(file, "issue_comment", written() | {"action": action}).comment is None


@pytest.mark.parametrize("name", ["schedule", "release", "repository_dispatch", "issue_comment"])
def test_other_events_gate_like_a_push(file: Path, name: str) -> None:
    """Any other event has the commit of the runner, nothing to compare with, and no comment."""
    found = read(file, name, {"action": "x", "issue": {"number": 3}, "number": 3})
    assert (found.name, found.head, found.base, found.number, found.comments) == (name, SHA, None, None, False)


def test_missing_variables_are_named_together() -> None:
    """All missing variables stand in one message."""
    with pytest.raises(UsageError, match="GITHUB_EVENT_NAME, GITHUB_EVENT_PATH, GITHUB_REPOSITORY, GITHUB_RUN_ID"):
        event.read({"GITHUB_SHA": SHA})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("GITHUB_REPOSITORY", value) for value in ("notes", "a/b/c", "../..", "a/..", "a b/c", "a/b\n", "a/b?x")),
        *((name, value) for name in ("GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT") for value in ("0", "-1", "1.5", "x", "٣")),
        *(("GITHUB_SHA", value) for value in ("main", "abc", "g" * 40, "a" * 41, "a" * 40 + "\n")),
        *(("GITHUB_API_URL", value) for value in ("ftp://x", "x", "https://", "https://a:b@c", "https://a b", "//x")),
        ("GITHUB_API_URL", "https://[x"),
        ("GITHUB_SERVER_URL", "javascript:alert(1)"),
        ("GITHUB_GRAPHQL_URL", "https://x/?a"),
        ("GITHUB_EVENT_NAME", "Push it"),
        ("GITHUB_EVENT_PATH", "/nowhere/event.json"),
        ("GITHUB_EVENT_PATH", "/"),
        ("GITHUB_EVENT_PATH", "a\0b"),
    ],
)
def test_wrong_variables(file: Path, name: str, value: str) -> None:
    """A variable that cannot be what it says is a usage error that names it."""
    with pytest.raises(UsageError, match=name):
        read(file, "push", {}, **{name: value})


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("pull_request",), None),
        (("pull_request",), []),
        (("pull_request", "base"), "x"),
        (("pull_request", "base", "sha"), "main"),
        (("pull_request", "head", "sha"), ["a" * 40]),
        (("pull_request", "head", "ref"), "a\nb"),
        (("pull_request", "base", "ref"), "a" * 2000),
        (("pull_request", "number"), "2"),
        (("pull_request", "number"), True),
        (("pull_request", "number"), 0),
        (("repository", "default_branch"), 1),
    ],
)
def test_wrong_payloads(file: Path, keys: tuple[str, ...], value: object) -> None:
    """A key of another type than GitHub's is a usage error that names the key."""
    content = copy.deepcopy(payload(PULL))
    place = content
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    with pytest.raises(UsageError, match=".".join(keys).replace(".", r"\.")):
        read(file, "pull_request", content)


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b"\xff", b"{", b'{"a": NaN}', b"[" * 100_000])
def test_files_that_are_no_event(file: Path, data: bytes) -> None:
    """What is no JSON object is a usage error that names the file."""
    file.write_bytes(data)
    environment = {**RUNNER, "GITHUB_EVENT_NAME": "push", "GITHUB_EVENT_PATH": str(file)}
    with pytest.raises(UsageError, match="event file"):
        event.read(environment)


def test_an_event_file_without_end(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file beyond any event's size is not read on."""
    monkeypatch.setattr(payloads, "MOST_EVENT_BYTES", 10)
    with pytest.raises(UsageError, match="larger than 10 bytes"):
        read(file, "push", {"action": "0123456789"})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**60) | st.text(max_size=5),
    lambda child: (
        st.lists(child, max_size=3)
        | st.dictionaries(st.sampled_from(["base", "head", "repo", "sha", "number", "inputs"]), child, max_size=3)
    ),
)


@given(st.sampled_from(["pull_request", "merge_group", "workflow_run", "workflow_dispatch"]), JSON, JSON)
def test_hostile_payloads(tmp_path_factory: pytest.TempPathFactory, name: str, value: object, other: object) -> None:
    """Whatever stands in the payload, it is read or it is a usage error."""
    file = tmp_path_factory.getbasetemp() / "hostile.json"
    try:
        found = read(file, name, {name: value, "inputs": other, "repository": other, "number": other})
    except UsageError:
        return
    assert found.base is None
