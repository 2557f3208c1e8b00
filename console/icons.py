"""The icons of packages, which strangers made.

An icon is served only as what its first bytes are; an SVG is never part of a page, and runs nothing where it is opened. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from markupsafe import escape

from olmkit.fbc.icon_types import SVG, icon_type

MAX_LETTERS = 2
HUES = 8
"""The colours of tiles, by the name of the package."""
SVG_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
_WORDS = re.compile(r"[^\W_]+")
_CAPITALS = re.compile(r"[A-Z][^A-Z]*|[^A-Z]+")


@dataclass(frozen=True)
class Picture:
    """An icon that may be served: its media type, and the headers that keep it harmless."""

    media_type: str
    headers: tuple[tuple[str, str], ...]


def picture(data: bytes) -> Picture | None:
    """The bytes as an icon that is served; None if they are too large, or no picture that browsers show."""
    found = icon_type(data)
    if not found:
        return None
    policy = SVG_POLICY if found == SVG else "default-src 'none'; sandbox"
    return Picture(found, (("Content-Security-Policy", policy), ("X-Content-Type-Options", "nosniff")))


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
