"""Base64 as Go's decoder reads it: the data of blobs and of the objects in them. Pure."""

from __future__ import annotations

import base64
import binascii
import re


def decode_plain_base64(text: str) -> bytes | None:
    """The bytes, if the text is base64 on one line; None for other text, some of which Go reads too."""
    if len(text) % 4 or text.endswith("==="):  # the strict mode accepts padding that is too long
        return None
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        return None


def decode_bytes(data: str | list[int | None] | None) -> bytes:
    """The bytes of a []uint8 that Go reads: base64 with line ends, a list of numbers, or null."""
    return base64.b64decode(data) if isinstance(data, str) else bytes(number or 0 for number in data or ())


def base64_error(text: str) -> str:
    """Go's error for this base64, with an offset in bytes; "" when it is valid. Line ends are allowed anywhere."""
    if decode_plain_base64(text) is not None:
        return ""
    offset = _error_offset(text.encode(errors="replace"))
    return "" if offset is None else f"illegal base64 data at input byte {offset}"


_NO_DIGIT = re.compile(rb"[^A-Za-z0-9+/\r\n]")
_LINE_ENDS = re.compile(rb"[\r\n]*")


def _error_offset(data: bytes) -> int | None:
    match = _NO_DIGIT.search(data)
    end = match.start() if match else len(data)
    in_group = (end - data.count(b"\r", 0, end) - data.count(b"\n", 0, end)) % 4
    if match is None:
        return end - in_group if in_group else None
    if match[0] != b"=" or in_group < 2:
        return end
    at = _after_line_ends(data, end + 1)
    if in_group == 2:
        if data[at : at + 1] != b"=":
            return at if at == len(data) else at - 1
        at = _after_line_ends(data, at + 1)
    return None if at == len(data) else at


def _after_line_ends(data: bytes, at: int) -> int:
    match = _LINE_ENDS.match(data, at)
    return match.end() if match else at
