"""The media type of a file, detected from its first bytes. Pure."""

from __future__ import annotations

import re

_IMAGES = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
    (re.compile(rb"....ftypavi[fs]", re.DOTALL), "image/avif"),
    (re.compile(rb"BM.{12}[\x0c\x28\x40\x6c\x7c]\x00\x00\x00", re.DOTALL), "image/bmp"),
    (re.compile(rb"\x00\x00\x01\x00[^\x00]"), "image/vnd.microsoft.icon"),
    (re.compile(rb"II\*\x00|MM\x00\*"), "image/tiff"),
    (
        re.compile(
            rb"(?:\xef\xbb\xbf)?\s*(?:<\?.*?\?>\s*|<!--.*?-->\s*|<!DOCTYPE\s+svg[^>]*>\s*)*<(?:svg:)?svg[\s>]",
            re.DOTALL,
        ),
        "image/svg+xml",
    ),
)
_OTHERS = ((b"%PDF-", "application/pdf"), (b"\x1f\x8b", "application/gzip"), (b"PK\x03\x04", "application/zip"))
_MAX_SCANNED_BYTES = 64 * 1024
"""Bytes that are examined; an SVG may begin with a long comment."""


def media_type(data: bytes) -> str:
    """The type of an image or another known format, else text/plain or application/octet-stream; "" for no data."""
    start = data[:_MAX_SCANNED_BYTES]
    for pattern, kind in _IMAGES:
        if pattern.match(start):
            return kind
    for prefix, kind in _OTHERS:
        if start.startswith(prefix):
            return kind
    if not data:
        return ""
    try:
        data.decode()
    except UnicodeDecodeError:
        return "application/octet-stream"
    return "application/octet-stream" if b"\0" in data else "text/plain"
