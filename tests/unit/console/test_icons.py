"""Icons of strangers, and the tiles of packages that have none."""

import pytest

from console.icons import HUES, hue, letters, picture
from olmkit.fbc.icon_types import MAX_ICON_BYTES, SVG

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        pytest.param(PNG, "image/png", id="png"),
        pytest.param(b"\xff\xd8\xff\xe0rest", "image/jpeg", id="jpeg"),
        pytest.param(b"GIF89arest", "image/gif", id="gif"),
        pytest.param(b"RIFF\0\0\0\0WEBPrest", "image/webp", id="webp"),
        pytest.param(b"\0\0\x01\0rest", "image/x-icon", id="ico"),
        pytest.param(b"<svg xmlns='x'>", SVG, id="svg"),
        pytest.param(
            b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- a -->\n<!DOCTYPE svg PUBLIC 'x' 'y'>\n<svg>",
            SVG,
            id="svg behind a prolog",
        ),
        pytest.param(b"<svg onload=alert(1)><script>alert(1)</script></svg>", SVG, id="svg with a script"),
    ],
)
def test_what_is_a_picture_is_served_as_what_it_is(data: bytes, media_type: str) -> None:
    found = picture(data)

    assert found is not None
    assert found.media_type == media_type
    headers = dict(found.headers)
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert headers["Content-Security-Policy"].endswith("sandbox")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"<html><svg>", id="a page"),
        pytest.param(b"<svgfoo>", id="another element"),
        pytest.param(b"<!DOCTYPE svg [<!ENTITY a 'b'>]><svg>", id="an svg that declares entities"),
        pytest.param(b"<!-- <svg> ", id="a comment without an end"),
        pytest.param(b"%PDF-1.4", id="another document"),
        pytest.param(b"RIFF\0\0\0\0AVI ", id="another container"),
        pytest.param(b" " * 20_000 + b"<svg>", id="an svg that begins late"),
        pytest.param(b"<!---->" * 30_000, id="comments without an end"),
        pytest.param(PNG + b"\0" * MAX_ICON_BYTES, id="a picture that is too large"),
    ],
)
def test_anything_else_is_not_served(data: bytes) -> None:
    assert picture(data) is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cert-manager", "CM"),
        ("SnapScheduler", "SS"),
        ("etcd", "Et"),
        ("3scale-community-operator", "3C"),
        ("", "?"),
        ("---", "?"),
        ("\u202e\u202d", "?"),
        ("数据库", "数据"),
    ],
)
def test_the_letters_of_a_tile(name: str, expected: str) -> None:
    assert letters(name) == expected


def test_a_name_has_one_colour() -> None:
    assert hue("cert-manager") == hue("cert-manager")
    assert {hue(f"package-{number}") for number in range(100)} == set(range(HUES))
    assert hue("\udcff") in range(HUES)
