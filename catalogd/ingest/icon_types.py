"""Finds the media type of an icon in its bytes: what a catalog says about it is not believed. Pure."""

from __future__ import annotations

import re

MAX_ICON_BYTES = 256 * 1024
"""Bytes of an icon; a larger one is not served. Icons of real catalogs have at most 100 KiB."""
SVG = "image/svg+xml"
_START = re.compile(rb"\s*(?:<\?|<!--|<!|)")
"""The beginning of something that may stand before the root, with the blanks before it."""
_SVG_ROOT = re.compile(rb"<(?:[A-Za-z_][\w.-]{0,30}:)?svg[\s/>]")
_STARTS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
)
_CONTAINERS = {b"WEBP": "image/webp", b"avif": "image/avif", b"avis": "image/avif"}
"""The types of files whose format stands at the ninth byte."""


def icon_type(data: bytes) -> str:
    """The media type of an image that browsers show; "" for everything else."""
    if data[:4] == b"RIFF" or data[4:8] == b"ftyp":
        return _CONTAINERS.get(data[8:12], "")
    known = next((kind for start, kind in _STARTS if data.startswith(start)), "")
    return known or (SVG if _is_svg(data) else "")


def _is_svg(data: bytes) -> bool:
    """Report whether the root of an XML document in UTF-8 is an svg. What stands before it is skipped in one pass."""
    at = _START.match(data, 3 if data.startswith(b"\xef\xbb\xbf") else 0)
    while at is not None and at[0].strip():
        end = _end_of(data, at[0], at.end())
        if end < 0:
            return False
        at = _START.match(data, end)
    return at is not None and _SVG_ROOT.match(data, at.end()) is not None


def _end_of(data: bytes, start: bytes, at: int) -> int:
    """The end of a processing instruction, a comment or a document type, of which `start` was read; -1 if it has none."""
    if start.endswith(b"<?"):
        return _after(data, b"?>", at)
    if start.endswith(b"<!--"):
        return _after(data, b"-->", at)
    close = data.find(b">", at)
    inner = data.find(b"[", at, max(close, at))
    if inner >= 0:
        at = _after(data, b"]", inner)
    return _after(data, b">", at) if at >= 0 else -1


def _after(data: bytes, end: bytes, at: int) -> int:
    found = data.find(end, at)
    return found + len(end) if found >= 0 else -1
