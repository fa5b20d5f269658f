"""The `api` section: what a container may be given, what is refused, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from raggate.base.errors import UsageError
from raggate.config import schema
from raggate.config.service_settings import Api, Container
from tables import each_row


def load(container: dict[str, Any], **api: Any) -> Api:
    text = yaml.safe_dump({"vault": {"notes": "vault"}, "api": {"container": container, **api}})
    return schema.load(text.encode(), "raggate.yml").api


def refusal(change: dict[str, Any], **api: Any) -> str:
    base = {"image": "api:1", "port": 9000}
    with pytest.raises(UsageError) as caught:
        load({key: value for key, value in {**base, **change}.items() if value is not None}, **api)
    return caught.value.message


def test_defaults_are_the_hardened_profile() -> None:
    """Image and port are enough, and nothing is relaxed then."""
    api = load({"image": "ghcr.io/acme/api@sha256:" + "0" * 64, "port": 9000})
    assert (api.egress, api.services, api.relaxed()) == (False, {}, [])
    loaded = api.container
    assert loaded is not None
    assert (loaded.user, loaded.writable, loaded.memory_bytes) == ("65534:65534", ["/tmp"], 512 * 1024 * 1024)
    assert (loaded.pass_env, loaded.env) == ([], {})


@each_row(
    "name",
    [
        "api",
        "ghcr.io/acme/api:1.2",
        "localhost:5000/a-b/c__d.e:_x",
        "Registry.Example/a",
        "sha256:" + "a" * 64,
        "a" * 12,
        "a@sha256:" + "0" * 64,
    ],
)
def test_names_of_images(name: str) -> None:
    """What the engine takes for a name or an id of an image is one."""
    assert Container(image=name).image == name


@each_row(
    "key",
    [
        "privileged",
        "pid",
        "network",
        "socket",
    ],
)
def test_what_cannot_be_said(key: str) -> None:
    """There is no key for privilege, host paths, devices or the host's namespaces."""
    assert f"unknown key 'api.container.{key}'" in refusal({key: "host"})
    assert f"unknown key 'api.services.db.{key}'" in refusal({}, services={"db": {"image": "x", key: "a"}})


@each_row(
    ("change", "message"),
    [
        ({"build": {}}, "expected exactly one of 'image' and 'build'"),
        ({"image": None}, "expected exactly one of 'image' and 'build'"),
        ({"build": "."}, "api.container.build: expected a mapping, as in `build: {context: .}`, found '.'"),
        ({"build": "a: b"}, "as in `build: {context: 'a: b'}`, found 'a: b'"),
        ({"build": 3}, "api.container.build: expected a mapping, found 3"),
        ({"port": None}, "container: expected 'port', at which the API listens"),
        ({"port": 0}, "greater than or equal to 1"),
        ({"image": "-v /:/host"}, "raggate.yml:3: api.container.image: expected the name of an image"),
        ({"image": "a:b:c"}, "raggate.yml:3: api.container.image: expected the name of an image"),
        ({"image": "a:1\n"}, "expected the name of an image"),
        ({"image": "a/" + "b" * 254}, "expected the name of an image"),
        ({"pass_env": ["GITHUB_TOKEN"]}, "not the runner's, Docker's, a proxy's or raggate's"),
        ({"pass_env": ["INPUT_GITHUB-TOKEN"]}, "not the runner's"),
        ({"pass_env": ["ACTIONS_RUNTIME_TOKEN"]}, "not the runner's"),
        ({"pass_env": ["runner_temp"]}, "not the runner's"),
        ({"pass_env": ["DOCKER_HOST"]}, "not the runner's"),
        ({"pass_env": ["https_proxy"]}, "not the runner's"),
        ({"pass_env": ["NO_PROXY"]}, "not the runner's"),
        ({"pass_env": ["All_Proxy"]}, "not the runner's"),
        ({"pass_env": ["FTP_PROXY"]}, "not the runner's"),
        ({"pass_env": ["github_x"]}, "not the runner's"),
        ({"pass_env": ["A=B"]}, "expected text that matches"),
        ({"env": {"A B": "x"}}, "expected text that matches"),
        ({"env": {"A": "x\0"}}, "without NUL"),
        ({"memory": "512"}, "expected text that matches"),
        ({"memory": "1m"}, "expected 'memory' of at least 6m"),
        ({"writable": ["/proc/x"]}, "other than /proc, /sys and /dev"),
        ({"writable": ["/a:exec"]}, "expected an absolute path"),
        ({"writable": ["a"]}, "expected an absolute path"),
        ({"writable": ["/vaults/notes"]}, "expected 'writable' outside /vaults"),
        ({"user": "a b"}, "expected text that matches"),
        ({"build": {"context": "../x"}, "image": None}, "relative path inside the repository"),
    ],
)
def test_refused(change: dict[str, Any], message: str) -> None:
    """Every mistake is named with what was expected."""
    assert message in refusal(change)


@each_row(
    ("api", "message"),
    [
        ({"services": {"db": {"image": "a:b:c"}}}, "api.services.db.image: expected the name of an image"),
        ({"services": {"api": {"image": "x"}}}, "its log would be raggate's own"),
    ],
)
def test_refused_beside_a_container(api: dict[str, Any], message: str) -> None:
    """A service is checked as the API is."""
    assert message in refusal({}, **api)


@each_row("key", [{"egress": True}, {"services": {"db": {"image": "x"}}}])
def test_what_only_containers_have(key: dict[str, Any]) -> None:
    """What only helps an API that raggate starts is refused with one that runs."""
    with pytest.raises(ValueError, match=f"expected '{next(iter(key))}' with"):
        Api.model_validate({"url": "http://a:1", **key})


def test_relaxations_are_named() -> None:
    """Every limit that differs from the default is said with its key, its value and the default."""
    api = load(
        {"image": "x", "port": 1, "user": None, "writable": ["/", "/tmp"], "memory": "2g"},
        egress=True,
        services={"db": {"image": "y", "writable": ["/tmp", "/db"]}},
    )
    assert api.relaxed() == [
        "api.egress: true (the API reaches every network that this machine reaches)",
        "api.container.user: the image's own (default 65534:65534)",
        "api.container.writable: [/, /tmp] (default [/tmp])",
        "api.container.memory: 2g (default 512m)",
        "api.services.db.writable: [/tmp, /db] (default [/tmp])",
    ]


@each_row(
    "url",
    [
        "http://169.254.169.254/latest",
        "http://168.63.129.16",
        "http://[fe80::1]:80",
        "http://[fd00:ec2::254]",
        "http://metadata.google.internal",
        "http://[::ffff:169.254.169.254]",
        "http://2852039166",
        "http://169.254.43518",
        "http://169.254.169.254.",
    ],
)
def test_metadata_addresses(url: str) -> None:
    """An address where a cloud tells a machine its credentials is no API."""
    text = yaml.safe_dump({"vault": {"notes": "vault"}, "api": {"url": url}})
    with pytest.raises(UsageError, match="link-local or cloud metadata address"):
        schema.load(text.encode(), "raggate.yml")
