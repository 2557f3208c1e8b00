"""How many examples a property is tried with: one of four in `make test`, which runs often, all of them in `make unit`.

Each run tries other examples, so that those of many runs are as many.
"""

from __future__ import annotations

import os

SHARE = int(os.environ.get("OLM_EXAMPLES_SHARE", "4"))
"""A property is tried with one of so many examples. `make unit` and `make coverage` set it to 1."""
_LEAST = 5


def example_count(count: int = 100) -> int:
    """The number of examples of this run, of a property that is tried with `count` if there is time."""
    return max(count // SHARE, _LEAST)
