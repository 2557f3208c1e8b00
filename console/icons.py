"""The icons of packages, which strangers made.

An icon is served only as what its first bytes are; an SVG is never part of a page, and runs nothing where it is opened. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from markupsafe import escape

MAX_ICON_BYTES = 256 * 1024
MAX_LETTERS = 2
HUES = 8
"""The colours of tiles, by the name of the package."""
SVG = "image/svg+xml"
SVG_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
)
SVG_START_BYTES = 16 * 1024
"""The root element of an SVG begins within these."""
_PROLOG: Final = ((b"<?xml", b"?>"), (b"<!--", b"-->"), (b"<!DOCTYPE", b">"))
_WORDS = re.compile(r"[^\W_]+")
_CAPITALS = re.compile(r"[A-Z][^A-Z]*|[^A-Z]+")


@dataclass(frozen=True)
class Picture:
    """An icon that may be served: its media type, and the headers that keep it harmless."""

    media_type: str
    headers: tuple[tuple[str, str], ...]


def picture(data: bytes) -> Picture | None:
    """The bytes as an icon that is served; None if they are too large, or no picture that browsers show."""
    if not 0 < len(data) <= MAX_ICON_BYTES:
        return None
    found = _media_type(data)
    if not found:
        return None
    policy = SVG_POLICY if found == SVG else "default-src 'none'; sandbox"
    return Picture(found, (("Content-Security-Policy", policy), ("X-Content-Type-Options", "nosniff")))


def _media_type(data: bytes) -> str:
    """The media type by the first bytes, "" if it is none of those that are shown: what the catalog says may lie."""
    for start, media_type in _MAGIC:
        if data.startswith(start):
            return media_type
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return SVG if _is_svg(data[:SVG_START_BYTES].removeprefix(b"\xef\xbb\xbf")) else ""


def _is_svg(data: bytes) -> bool:
    """Report whether the first element is svg. A document type that declares entities is refused."""
    place = 0
    while place < len(data):
        rest = data[place : place + 10].lstrip()
        if not rest:
            place += 10
            continue
        place = data.index(rest[:1], place)
        end = next((each for start, each in _PROLOG if data.startswith(start, place)), None)
        if end is None:
            return re.match(rb"<svg[\s/>]", data[place : place + 5]) is not None
        closed = data.find(end, place)
        if closed < 0 or (b"[" in data[place:closed] and data.startswith(b"<!D", place)):
            return False
        place = closed + len(end)
    return False


def letters(name: str) -> str:
    """One or two letters for the tile of a package without an icon, such as CM for cert-manager."""
    words: list[str] = _WORDS.findall(name) or ["?"]
    parts = [part for word in words for part in _CAPITALS.findall(word)] if len(words) == 1 else words
    if len(parts) > 1:
        return (parts[0][0] + parts[1][0]).upper()
    return words[0][:MAX_LETTERS].capitalize()


def hue(name: str) -> int:
    """The number of the colour of a tile; the same for the same name."""
    return sum(name.encode(errors="replace")) % HUES


def letter_tile(name: str) -> bytes:
    """The letters of a package as SVG, for a place that shows an icon: the grey can be read on light and dark."""
    text = escape(letters(name))
    style = 'font-family="system-ui, sans-serif" font-size="24" font-weight="700" fill="#767586" text-anchor="middle"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 48 48"><text x="24" y="33" {style}>{text}</text></svg>'.encode()
