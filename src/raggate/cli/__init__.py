"""The command line: one file per group of commands."""

import sys

# httpx without its command line, as without its extra `cli`: that alone loads rich's progress bars and pygments, a
# tenth of a second of every start
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
