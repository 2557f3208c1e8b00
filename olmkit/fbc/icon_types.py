"""The media type of an icon of a package, by its bytes: what a catalog says about it is not believed.

One reader for what catalogd serves and for what the console shows. Strict: an SVG whose document type declares anything, or whose
root begins late, is no icon, because readers of XML differ in what they make of it. Pure.
"""

from __future__ import annotations

import re

MAX_ICON_BYTES = 256 * 1024
"""Bytes of an icon; a larger one is not served. Icons of real catalogs have at most 100 KiB."""
SVG = "image/svg+xml"
MAX_PROLOG_BYTES = 16 * 1024
"""The root element of an SVG begins within these."""
_START = re.compile(rb"\s*(?:<\?|<!--|<!DOCTYPE\b|)")
"""The beginning of something that may stand before the root, with the blanks before it."""
_SVG_ROOT = re.compile(rb"<(?:[A-Za-z_][\w.-]{0,30}:)?svg[\s/>]")
_ENDS = {b"<?": b"?>", b"<!--": b"-->", b"<!DOCTYPE": b">"}
_STARTS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
)
_CONTAINERS = {
    (b"RIFF", b"WEBP"): "image/webp",
    (b"ftyp", b"avif"): "image/avif",
    (b"ftyp", b"avis"): "image/avif",
}
"""The types of files whose format stands at the ninth byte, and whose container at the first or the fifth."""


def icon_type(data: bytes) -> str:
    """The media type of an image that browsers show; "" for everything else, and for what is too large."""
    if not 0 < len(data) <= MAX_ICON_BYTES:
        return ""
    container = data[:4] if data[:4] == b"RIFF" else data[4:8]
    found = _CONTAINERS.get((container, data[8:12]), "")
    known = found or next((kind for start, kind in _STARTS if data.startswith(start)), "")
    return known or (SVG if _is_svg(data[:MAX_PROLOG_BYTES]) else "")


def _is_svg(data: bytes) -> bool:
    """Report whether the root of an XML document in UTF-8 is an svg. What stands before it is skipped in one pass."""
    at = _START.match(data, 3 if data.startswith(b"\xef\xbb\xbf") else 0)
    while at is not None and at[0].strip():
        end = _end_of(data, at[0].strip(), at.end())
        if end < 0:
            return False
        at = _START.match(data, end)
    return at is not None and _SVG_ROOT.match(data, at.end()) is not None


def _end_of(data: bytes, start: bytes, at: int) -> int:
    """The end of a processing instruction, a comment or a document type; -1 if it has none, or declares something."""
    end = _ENDS[start]
    found = data.find(end, at)
    if found < 0 or (start == b"<!DOCTYPE" and b"[" in data[at:found]):
        return -1
    return found + len(end)
