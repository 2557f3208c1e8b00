"""What an error quotes out of a catalog: little, on one line, and nothing that cannot be shown.

Called by the readers of JSON and YAML and by olmkit.fbc.blobs for their errors. Knows no format. Pure.
"""

from __future__ import annotations

import re
from typing import Final

MAX_QUOTED_CHARACTERS: Final = 100
"""Characters of a key, scalar or blob that an error quotes."""
MAX_EXCERPT_CHARACTERS: Final = 80
"""Characters before the place of a fault that an error shows."""
_LOOKED_AT: Final = 1000
"""Characters before it that are looked at: most of them may be blanks."""
_BLANKS = re.compile(r"\s+")


def shorten(text: str) -> str:
    """The first QUOTED characters, with an ellipsis if there are more."""
    shown = _line(text[:MAX_QUOTED_CHARACTERS])
    return shown if len(text) <= MAX_QUOTED_CHARACTERS else f"{shown}…"


def excerpt_before(text: str, at: int) -> str:
    """The last MARKED characters of what stands before `text[at]`, and the mark ` <==` that opm sets at the place of a fault."""
    start = max(at - _LOOKED_AT, 0)
    before = _line(text[start:at]).strip()
    if start or len(before) > MAX_EXCERPT_CHARACTERS:
        before = f"…{before[-MAX_EXCERPT_CHARACTERS:]}"
    return f"{before} <==".lstrip()


def _line(text: str) -> str:
    shown = _BLANKS.sub(" ", text)
    return shown if shown.isprintable() else "".join(each if each.isprintable() else "\ufffd" for each in shown)
