"""Connections to an engine that the test plays: what it takes from its machine, what it leaves, and what is busy."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import pytest

from fakes.served import Handler, Served
from raggate.service.backends import engine


class _Building(Handler):
    """Answers with a version or the steps of a build."""

    def get(self) -> None:
        while self.headers.get("Transfer-Encoding") == "chunked" and self.rfile.readline().strip() != b"0":
            pass
        self.fake.heard.append(dict(self.headers))
        self.reply(200, b'{"ApiVersion": "1.41", "stream": "x"}', Connection="close")

    post = get


class _Starting(Handler):
    """Has one container, which it is starting: it is refused to be removed for the first seven times."""

    def get(self) -> None:
        left = [{"Id": "c1", "Names": ["/api"]}] if self.fake.refusals < 8 else []
        lists = {"version": {"ApiVersion": "1.41"}, "containers/json": left, "networks": [], "volumes": {"Volumes": []}}
        path = self.path.partition("?")[0].removeprefix("/v1.41").strip("/")
        self.reply(200, json.dumps(lists[path]).encode())

    def delete(self) -> None:
        self.fake.refusals += 1
        self.reply(204 if self.fake.refusals > 7 else 409, b"")

    do_DELETE = Handler._answer  # noqa: N815 - the name that the library looks for


class Engine(Served):
    """An engine behind a port of this machine."""

    def __init__(self, handler: type[Handler]) -> None:
        self.handler = handler
        self.heard: list[dict[str, str]] = []
        self.refusals = 0
        self.listen()

    @property
    def host(self) -> str:
        return self.base_url.replace("http", "tcp")


@pytest.mark.timeout(30)
def test_a_build_is_sent_no_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials in HOME are not sent to the engine, and the program that they name is not run.

    A private field of the Docker library keeps them out: it has no switch for that.
    """
    ran = tmp_path / "ran"
    program = tmp_path / "docker-credential-spy"
    program.write_text(f'#!/bin/sh\ntouch "{ran}"\necho "{{}}"\n')
    program.chmod(0o755)
    config = tmp_path / ".docker/config.json"
    config.parent.mkdir()
    config.write_text(json.dumps({"auths": {"registry.test": {"auth": "dTpw"}}, "credsStore": "spy"}))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("DOCKER_CONFIG", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with Engine(_Building) as there, engine.connected({"DOCKER_HOST": there.host}) as client:
        assert list(client.build(fileobj=io.BytesIO(b"x"), custom_context=True, tag="x"))
    sent = base64.urlsafe_b64decode(there.heard[-1]["X-Registry-Config"])
    assert [*json.loads(sent)] == ["registry.invalid"]
    assert not ran.exists()


@pytest.mark.timeout(30)
def test_sweep_waits_for_what_is_being_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container that the engine is still starting for a killed step is removed as soon as it can be."""
    monkeypatch.setattr(engine.time, "sleep", lambda _: None)
    with Engine(_Starting) as there:
        assert engine.sweep({"DOCKER_HOST": there.host, engine.STEP_VARIABLE: "s"}) == ("container api",)
    assert there.refusals == 8
