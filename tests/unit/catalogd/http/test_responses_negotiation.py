"""Accept and Accept-Encoding."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogd.http.responses import IDENTITY, accepts_media_type, select_encoding

BOTH = ("zstd", "gzip")


@pytest.mark.parametrize(
    ("header", "offered", "expected"),
    [
        pytest.param(None, BOTH, IDENTITY, id="without the header, identity"),
        pytest.param("", BOTH, IDENTITY, id="so does one that lists nothing"),
        pytest.param("gzip", BOTH, "gzip", id="what is asked for"),
        pytest.param("gzip", (), IDENTITY, id="what is not made yet"),
        pytest.param("gzip, deflate, br, zstd", BOTH, "zstd", id="of equals our first"),
        pytest.param("zstd;q=0.5, gzip;q=0.8", BOTH, "gzip", id="the weight counts before our order"),
        pytest.param("GZIP;Q=0.8", BOTH, "gzip", id="letters of any case"),
        pytest.param("x-gzip", BOTH, "gzip", id="the old name of gzip"),
        pytest.param("*", BOTH, "zstd", id="anything"),
        pytest.param("*;q=0.5, zstd;q=0", BOTH, "gzip", id="anything but"),
        pytest.param("gzip;q=0", BOTH, IDENTITY, id="not that"),
        pytest.param("br", BOTH, IDENTITY, id="what there is not"),
        pytest.param("identity", BOTH, IDENTITY, id="plain by name"),
        pytest.param("gzip;q=0.5, identity", BOTH, IDENTITY, id="rather plain"),
        pytest.param("gzip;q=0.5, identity;q=0.5", BOTH, "gzip", id="both alike is the smaller one"),
        pytest.param("gzip, identity;q=0", BOTH, "gzip", id="anything but plain"),
        pytest.param("br, identity;q=0", BOTH, None, id="nothing there is and not plain"),
        pytest.param("identity;q=0", BOTH, None, id="nothing named and not plain"),
        pytest.param("*;q=0", BOTH, None, id="nothing at all"),
        pytest.param("identity, *;q=0", BOTH, IDENTITY, id="nothing but plain"),
        pytest.param("gzip;q=2", BOTH, IDENTITY, id="a weight above one is not read"),
        pytest.param("gzip;q=nan, zstd;q=-1", BOTH, IDENTITY, id="weights that are no numbers"),
        pytest.param("gzip ; q = 0.7 ,, ;q=1", BOTH, "gzip", id="spaces and empty members"),
        pytest.param("gzip;q=0.001", BOTH, "gzip", id="a thousandth is enough"),
    ],
)
def test_encodings(header: str | None, offered: tuple[str, ...], expected: str | None) -> None:
    assert select_encoding(header, offered) == expected


@pytest.mark.parametrize(
    ("header", "media_type", "expected"),
    [
        pytest.param(None, "application/json", True, id="no header"),
        pytest.param("", "application/json", True, id="nothing listed"),
        pytest.param("*/*", "application/jsonl", True, id="anything"),
        pytest.param("application/json", "application/json", True, id="the very type"),
        pytest.param("application/json; charset=utf-8", "application/json", True, id="the type with a parameter"),
        pytest.param("Application/JSON", "application/json", True, id="letters of any case"),
        pytest.param("application/*", "application/jsonl", True, id="the kind"),
        pytest.param("image/*", "application/jsonl", False, id="another kind"),
        pytest.param("text/html", "application/json", False, id="another type"),
        pytest.param("application/json", "application/jsonl", False, id="one object is not lines of them"),
        pytest.param("text/html, */*;q=0.1", "application/json", True, id="anything, if need be"),
        pytest.param("*/*, application/json;q=0", "application/json", False, id="anything but that"),
        pytest.param(
            "application/*;q=0, application/json", "application/json", True, id="nothing of the kind but that"
        ),
        pytest.param("*/*;q=0", "application/json", False, id="nothing"),
        pytest.param("json", "application/json", False, id="what is no type"),
    ],
)
def test_media_types(header: str | None, media_type: str, expected: bool) -> None:
    assert accepts_media_type(header, media_type) is expected


@given(st.text(max_size=60), st.lists(st.sampled_from(BOTH), unique=True))
def test_any_header_selects_an_offered_encoding(header: str, offered: list[str]) -> None:
    """What is chosen is offered, or plain, or nothing; and never raises."""
    assert select_encoding(header, offered) in {*offered, IDENTITY, None}
    assert accepts_media_type(header, "application/json") in (True, False)


@given(
    st.lists(st.sampled_from(["gzip", "zstd", "identity", "*", "br"]), max_size=4), st.sampled_from(["0", "0.5", "1"])
)
def test_an_excluded_encoding_is_never_selected(names: list[str], weight: str) -> None:
    """Section 12.5.3: a coding of weight 0 is not acceptable."""
    header = ", ".join(f"{name};q={weight}" for name in names)
    chosen = select_encoding(header, BOTH)
    if weight == "0" and chosen is not None:
        assert chosen not in names
