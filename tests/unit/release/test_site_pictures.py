"""The pictures of the documentation: small, in a palette, each shown, and none missing."""

import re
import struct

from tests.pictures import PICTURES, SIGNATURE

MAX_BYTES = 150_000
DOCS = PICTURES.parent
PALETTE = 3
"""The colour type of a PNG with a palette."""


def test_each_picture_is_small_and_shown_and_none_is_missing() -> None:
    pages = [DOCS.parent / "README.md", *DOCS.glob("*.md")]
    shown = {each for page in pages for each in re.findall(r"pictures/([\w-]+\.png)", page.read_text())}
    assert shown == {each.name for each in PICTURES.glob("*")}
    for path in PICTURES.glob("*.png"):
        data = path.read_bytes()
        assert data.startswith(SIGNATURE)
        assert struct.unpack(">BB", data[24:26]) == (8, PALETTE), path.name
        assert len(data) < MAX_BYTES, path.name
