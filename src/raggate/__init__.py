"""raggate: a regression gate for RAG services."""

import sys

__version__ = "0.1.0"

# httpx without its command line, as without its extra `cli`: that alone loads rich's progress bars and pygments, a
# tenth of a second of every start
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
