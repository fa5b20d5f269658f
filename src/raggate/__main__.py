"""`raggate` and `python -m raggate`: interruptible from the first line on."""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn

from raggate.base.errors import NO_MEMORY, ExitCode, out_of_memory
from raggate.service import signals


def main() -> NoReturn:
    """Run the command line and exit with the code of the outcome; see `raggate.base.errors.ExitCode`."""
    try:
        _main()
    except Exception as error:  # noqa: BLE001 - Python's own code for it is that of a regression
        if out_of_memory(error):
            os.write(2, NO_MEMORY)
        else:
            sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(int(ExitCode.INTERNAL))


def _main() -> NoReturn:
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
