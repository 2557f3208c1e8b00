"""Media types are detected from the first bytes of a file."""

from __future__ import annotations

import pytest

from olmctl.authoring.media_types import media_type


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n...", "image/png"),
        (b"\xff\xd8\xff\xe0..JFIF", "image/jpeg"),
        (b"GIF89a..", "image/gif"),
        (b"RIFF\x00\n\x00\x00WEBPVP8 ", "image/webp"),
        (b"\x00\x00\x00\x1cftypavif....", "image/avif"),
        (b"BM" + bytes(12) + b"\x28\x00\x00\x00", "image/bmp"),
        (b"\x00\x00\x01\x00\x01\x00", "image/vnd.microsoft.icon"),
        (b"II*\x00....", "image/tiff"),
        (b'<svg xmlns="x"/>', "image/svg+xml"),
        (b'<?xml version="1.0"?>\n<!-- <svg> -->\n<!DOCTYPE svg PUBLIC "x">\n<svg>', "image/svg+xml"),
        (b"<html><svg></svg></html>", "text/plain"),
        (b"svg", "text/plain"),
        (b"BMX is a bicycle", "text/plain"),
        (b"%PDF-1.7", "application/pdf"),
        (b"\x1f\x8b\x08", "application/gzip"),
        (b"\xfe\xfe", "application/octet-stream"),
        (b"a\x00b", "application/octet-stream"),
        (b"", ""),
    ],
)
def test_media_types(data: bytes, kind: str) -> None:
    assert media_type(data) == kind
