"""A released action runs one image, named by digest."""

from __future__ import annotations

import pytest
import yaml
from tools.release_action import SOURCE, released

from tables import each_row

DIGEST = "sha256:" + "0123456789abcdef" * 4
IMAGE = f"registry.example:5000/team/raggate@{DIGEST}"


def test_image_is_named_by_digest() -> None:
    """The released action differs from this repository's in the image alone, which is pulled by digest."""
    source = SOURCE.read_text(encoding="utf-8")
    built, pulled = yaml.safe_load(source), yaml.safe_load(released(source, IMAGE))
    assert built["runs"].pop("image") == "Dockerfile"
    assert pulled["runs"].pop("image") == f"docker://{IMAGE}"
    assert pulled == built


@each_row(
    "image",
    [
        "team/raggate:v1",
        "team/raggate",
        f"team/raggate:v1@{DIGEST}x",
        f"team/raggate@{DIGEST[:-1]}",
        f"team/raggate@{DIGEST.upper()}",
        f"docker://team/raggate@{DIGEST}",
        f"team/raggate@{DIGEST}\nruns: {{}}",
        "",
    ],
)
def test_anything_but_a_digest_is_refused(image: str) -> None:
    """A tag, a damaged digest or more than an image name does not get into an action."""
    with pytest.raises(ValueError, match="by digest"):
        released(SOURCE.read_text(encoding="utf-8"), image)


def test_action_must_build_from_the_dockerfile() -> None:
    """An action that is released already is not released again."""
    once = released(SOURCE.read_text(encoding="utf-8"), IMAGE)
    with pytest.raises(ValueError, match="once"):
        released(once, IMAGE)
