"""The media type and headers of an icon: its publisher chose the type, and browsers must run no scripts in it.

Pure.
"""

from __future__ import annotations

_RASTER_IMAGES = frozenset(
    f"image/{kind}" for kind in ("png", "jpeg", "gif", "webp", "avif", "bmp", "x-icon", "vnd.microsoft.icon")
)
"""Images that cannot contain scripts."""
_SVG = "image/svg+xml"
_BINARY = "application/octet-stream"


def safe_icon_headers(media_type: str) -> tuple[str, dict[str, str]]:
    """The media type and headers with which an icon of this media type is sent."""
    headers = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"}
    base_type = media_type.partition(";")[0].strip().lower()
    if base_type in _RASTER_IMAGES:
        return base_type, headers
    if base_type == _SVG:
        headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
        return _SVG, headers
    return _BINARY, {**headers, "Content-Disposition": "attachment"}
