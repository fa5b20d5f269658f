"""The action of a release: action.yml that points at the published image by digest instead of building it.

`python -m tools.release_action IMAGE@sha256:DIGEST` prints it. A tag is refused: whoever may move it would change what
a pinned action runs.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "action.yml"
BUILT = "  image: Dockerfile\n"
PINNED = re.compile(r"[a-z0-9.-]+(?::\d+)?(?:/[a-z0-9._-]+)+@sha256:[0-9a-f]{64}")


def released(source: str, image: str) -> str:
    """Put the image into the action.

    Raises:
        ValueError: when the image is not named by digest alone, or the action does not build from the Dockerfile.
    """
    if not PINNED.fullmatch(image):
        raise ValueError(f"expected an image by digest, such as registry/name@sha256:<64 hex digits>; found {image!r}")
    if source.count(BUILT) != 1:
        raise ValueError(f"expected action.yml to hold {BUILT.strip()!r} once")
    return source.replace(BUILT, f"  image: docker://{image}\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tools.release_action IMAGE@sha256:DIGEST")
    try:
        sys.stdout.write(released(SOURCE.read_text(encoding="utf-8"), sys.argv[1]))
    except ValueError as error:
        sys.exit(f"release_action: {error}")
