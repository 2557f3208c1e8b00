"""Base64 that Go decodes, and the offset of an error."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.gocompat.base64_text import base64_error


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        pytest.param("", None, id="nothing"),
        pytest.param("eA==", None, id="padded"),
        pytest.param("eB==", None, id="bits that count for nothing"),
        pytest.param("ab\nc=\n", None, id="line ends"),
        pytest.param("ab=\r\n=\n", None, id="line ends between the padding"),
        pytest.param("eA=", 3, id="padding that is cut"),
        pytest.param("eA", 0, id="no padding"),
        pytest.param("eAeAe", 4, id="a rest of one"),
        pytest.param("e=", 1, id="padding too soon"),
        pytest.param("====", 0, id="nothing but padding"),
        pytest.param("eA=x", 2, id="one sign of padding where two belong"),
        pytest.param("eA==eA==", 4, id="more after the padding"),
        pytest.param("AAAA=", 4, id="padding after a whole group"),
        pytest.param("AAAA====", 4, id="a group of padding after a whole group"),
        pytest.param("abc=d", 4, id="more after a single padding"),
        pytest.param("eA*=", 2, id="a character of no base64"),
        pytest.param("eA e", 2, id="a blank"),
        pytest.param("eA-_", 2, id="the alphabet of URLs"),
        pytest.param("é", 0, id="no ASCII"),
        pytest.param("eAe\u20ac", 3, id="offsets are of bytes"),
    ],
)
def test_base64(text: str, offset: int | None) -> None:
    assert base64_error(text) == ("" if offset is None else f"illegal base64 data at input byte {offset}")


@given(st.text("Az09+/= \n\r*", max_size=12))
def test_accepted_base64_has_its_padding(text: str) -> None:
    signs = text.replace("\n", "").replace("\r", "")
    is_good = len(signs) % 4 == 0 and re.fullmatch("[A-Za-z0-9+/]*={0,2}", signs) is not None
    assert (base64_error(text) == "") == is_good
