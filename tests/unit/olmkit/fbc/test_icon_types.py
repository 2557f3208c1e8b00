"""What an icon is, by its bytes."""

from __future__ import annotations

import time

import pytest

from olmkit.fbc.icon_types import MAX_ICON_BYTES, MAX_PROLOG_BYTES, icon_type


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        pytest.param(b"\x89PNG\r\n\x1a\n", "image/png", id="PNG"),
        pytest.param(b"\xff\xd8\xff\xe0", "image/jpeg", id="JPEG"),
        pytest.param(b"GIF89a", "image/gif", id="GIF"),
        pytest.param(b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp", id="WebP"),
        pytest.param(b"\x00\x00\x00\x20ftypavif", "image/avif", id="AVIF"),
        pytest.param(b"\x00\x00\x01\x00\x01", "image/x-icon", id="ICO"),
        pytest.param(b"<svg/>", "image/svg+xml", id="SVG"),
        pytest.param(b'<svg xmlns="http://www.w3.org/2000/svg">', "image/svg+xml", id="SVG with attributes"),
        pytest.param(b"<svg:svg xmlns:svg='x'>", "image/svg+xml", id="SVG with a prefix"),
        pytest.param(b"\xef\xbb\xbf \n<?xml version='1.0'?>\n<!-- > -->\n<svg>", "image/svg+xml", id="after a comment"),
        pytest.param(b'<!DOCTYPE svg PUBLIC "a" "b"><svg>', "image/svg+xml", id="after a type"),
        pytest.param(b"\x00\x00\x00\x20ftypavis", "image/avif", id="AVIF with several pictures"),
        pytest.param(b"GIF87a", "image/gif", id="GIF of 1987"),
        pytest.param(b"<!DOCTYPE svg [<!ENTITY a 'b'>]><svg>", "", id="SVG that declares entities"),
        pytest.param(b"<!DOCTYPE svg []><svg>", "", id="SVG that may declare something"),
        pytest.param(b"<!ENTITY a 'b'><svg>", "", id="a declaration outside a type"),
        pytest.param(b"<![CDATA[x]]><svg>", "", id="text before the root"),
        pytest.param(b" " * MAX_PROLOG_BYTES + b"<svg>", "", id="SVG that begins late"),
        pytest.param(b"<!--" + b"-" * MAX_PROLOG_BYTES + b"--><svg>", "", id="SVG behind a long comment"),
        pytest.param(b"\x89PNG\r\n\x1a\n" + b"\0" * MAX_ICON_BYTES, "", id="what is too large"),
        pytest.param(b"ftypavif", "", id="the name of a container in another place"),
        pytest.param(b"RIFF\x00\x00\x00\x00WAVE", "", id="a sound"),
        pytest.param(b"\x00\x00\x00\x20ftypmp42", "", id="a film"),
        pytest.param(b"<!DOCTYPE html><html><svg>", "", id="a page with an SVG"),
        pytest.param(b"<script>alert(1)</script>", "", id="a script"),
        pytest.param(b"<svgx>", "", id="another element"),
        pytest.param(b" %PDF-1.7", "", id="a document"),
        pytest.param(b"\x89PNG", "", id="a part of a beginning"),
        pytest.param("<svg/>".encode("utf-16"), "", id="SVG in another encoding"),
        pytest.param(b"<?xml", "", id="no end of the declaration"),
        pytest.param(b"<!-- <svg>", "", id="no end of the comment"),
        pytest.param(b"<!DOCTYPE svg [ <svg>", "", id="no end of the type"),
        pytest.param(b"", "", id="nothing"),
    ],
)
def test_the_type_is_that_of_the_bytes(data: bytes, kind: str) -> None:
    assert icon_type(data) == kind


@pytest.mark.parametrize("part", [b"<!---->", b"<!>", b"<!a[]>", b"<!a[", b"<?", b" ", b"<", b"<??>"])
def test_what_stands_before_the_root_costs_one_pass(part: bytes) -> None:
    started = time.process_time()
    assert icon_type(part * (MAX_ICON_BYTES // len(part))) == ""
    assert time.process_time() - started < 1
