"""Large files written piece by piece, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from raggate.text import disk


@contextmanager
def write_whole(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to write bytes; it appears under its name only when the block ends well.

    Raises:
        OSError: when the directory cannot be written; the old file is then untouched.
    """
    import tempfile

    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent, delete=False) as stream:
        place = Path(stream.name)
        try:
            yield stream
            stream.close()
            # temporary files are private; what is written here is meant to be read by the next step
            place.chmod(0o644)
            place.replace(path)
        except BaseException as error:
            place.unlink(missing_ok=True)
            if isinstance(error, OSError) and error.filename is None:
                raise disk.naming(error, path) from error
            raise
