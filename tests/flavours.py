"""The two servers that the fake GitHub can be: what differs is where the API is and how its requests are described.

Which requests follow which is the same for both, and told once. A test for either shows that each request which a
module's tests make is one that both take.
"""

from __future__ import annotations

import pytest

EITHER = pytest.mark.parametrize("flavour", ["api.github.com", "ghes-3.17"])
