"""A first run takes from the change's own configuration only what the workflow allows by name."""

from __future__ import annotations

import pytest

from raggate.base.errors import UsageError
from raggate.config import schema
from raggate.config.first_run import SETTINGS, check
from raggate.config.schema import Config
from tables import each_row

HEAD = "suite: s\ngolden: g.jsonl\nvault: {work: notes}\n"
CONTAINER = HEAD + "api: {container: {image: a, port: 1, %s}}\n"
API = HEAD + "api: {container: {image: a, port: 1}, %s}\n"
SERVICE = API % "services: {db: {image: d, %s}}"
COMMAND = HEAD + "api: {command: {run: [a], pass_env: [%s]}}\n"
BESIDE = HEAD + "api: {command: {run: [a]}, services: {db: {image: d, %s}}}\n"
MAPPED = (
    HEAD
    + "api: {url: 'http://a:1'}\nask: {adapter: mapped, path: '/?q={question}', "
    + "response: {chunks: {list: hits, text: t, rel_path: p}}, headers: {X: '{env.KEY}'}}\n"
)
PRINCIPAL = HEAD + "api: {url: 'http://a:1'}\nask: {principals: {anna: {headers: {X: '{env.KEY}'}, sees: []}}}\n"
JUDGED = HEAD + "api: {url: 'http://a:1'}\njudges: {models: [{model: %s}]}\n"
OWN = "model: own, build: b1, base_url: 'http://127.0.0.1:8081'"
SECOND = HEAD + "api: {url: 'http://a:1'}\njudges: {models: [{" + OWN + "}], spot_check: 9, spot_model: {model: %s}}\n"
ELSEWHERE = "base_url: 'http://evil.example'"


def loaded(text: str) -> Config:
    return schema.load(text.encode(), "raggate.yml")


@each_row(
    ("text", "needed", "key"),
    [
        (CONTAINER % "pass_env: [KEY]", {"pass_env"}, "api.container.pass_env"),
        (API % "egress: true", {"egress"}, "api.egress"),
        (CONTAINER % "user: '0:0'", {"user"}, "api.container.user"),
        (CONTAINER % "user: null", {"user"}, "api.container.user"),
        (SERVICE % "memory: 1g", {"services"}, "api.services.db"),
        (SERVICE % "pass_env: [KEY]", {"services", "pass_env"}, "api.services.db.pass_env"),
        (SERVICE % "user: null", {"services", "user"}, "api.services.db.user"),
        (BESIDE % "memory: 1g", {"services"}, "api.services.db"),
        (BESIDE % "pass_env: [KEY], user: null", {"services", "pass_env", "user"}, "api.services.db.user"),
        (COMMAND % "KEY", {"pass_env"}, "api.command.pass_env"),
        (MAPPED, {"pass_env"}, "ask.headers"),
        (PRINCIPAL, {"pass_env"}, "ask.principals.anna.headers"),
        (JUDGED % f"'openai:gpt-4o-2024-08-06', {ELSEWHERE}", {"pass_env"}, r"judges.models\[0\]"),
        (JUDGED % f"mine, build: b1, api_key_env: DEPLOY_KEY, {ELSEWHERE}", {"pass_env"}, r"judges.models\[0\]"),
        (JUDGED % "'github:openai/gpt-4o-2024-11-20'", {"pass_env"}, r"judges.models\[0\]"),
        (SECOND % f"mine, build: b1, api_key_env: DEPLOY_KEY, {ELSEWHERE}", {"pass_env"}, "judges.spot_model"),
        (SECOND % f"'openai:gpt-4o-2024-08-06', {ELSEWHERE}", {"pass_env"}, "judges.spot_model"),
    ],
)
def test_what_a_first_run_refuses(text: str, needed: set[str], key: str) -> None:
    """Each setting that reaches beyond the API's own container is refused by its key until all it needs is allowed."""
    settings = loaded(text)
    check(settings, "raggate.yml", frozenset(needed))
    for allowed in (set(), *({*SETTINGS} - {setting} for setting in needed)):
        with pytest.raises(UsageError, match="refused in a first run") as caught:
            check(settings, "raggate.yml", frozenset(allowed))
        assert caught.value.hint.endswith("`.")
        (line,) = [part for part in caught.value.hint.split("`") if part.startswith("allow-first-run: ")]
        assert set(line.removeprefix("allow-first-run: ").split(", ")) == allowed | needed
    with pytest.raises(UsageError, match=f"{key}[,:]"):
        check(settings, "raggate.yml", frozenset())


@each_row(
    "text",
    [
        CONTAINER % "writable: [/], memory: 2g, env: {A: b}",
        CONTAINER % "user: '65534:65534', pass_env: []",
        COMMAND % "PATH, HOME",
        HEAD + "api: {url: 'http://a:1'}\n",
        JUDGED % "mine, build: b1, base_url: 'http://127.0.0.1:8081'",
        SECOND % "mine, build: b1, base_url: 'http://127.0.0.1:8081'",
    ],
)
def test_what_a_first_run_takes(text: str) -> None:
    """What stays inside the API's own container needs nobody's leave."""
    check(loaded(text), "raggate.yml", frozenset())
