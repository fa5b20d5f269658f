"""`raggate` and `python -m raggate`: interruptible from the first line on."""

from __future__ import annotations

import gc
import sys
from typing import NoReturn

from raggate.service import signals


def main() -> NoReturn:
    """Run the command line and exit with the code of the outcome; see `raggate.errors.ExitCode`."""
    signals.install()
    gc.disable()  # until all is loaded (`console.prepare_process`): none of it is garbage
    try:
        # takes long enough to be interrupted
        with signals.unwrapped():
            from raggate.cli import main as cli
    except KeyboardInterrupt:
        sys.stderr.write("raggate: interrupted\n")
        sys.exit(130)
    try:
        cli.main()
    finally:
        signals.over()
        gc.freeze()  # nothing of it is garbage any more, and leaving looks through what is not frozen


if __name__ == "__main__":
    main()
