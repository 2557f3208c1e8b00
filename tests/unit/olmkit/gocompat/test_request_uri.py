"""Go's errors for texts that are no URIs of requests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.gocompat.request_uri import request_uri_error


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param("https://example.com/a?b=%zz#c", "", id="a URL with any query"),
        pytest.param("/a", "", id="a path"),
        pytest.param("*", "", id="a star"),
        pytest.param("mailto:ada@example.com", "", id="an opaque one"),
        pytest.param("https://user:pw@[::1]:80/", "", id="a user and a port"),
        pytest.param("http://a%C3%A4.example", "", id="an escape for another letter"),
        pytest.param("", "empty url", id="nothing"),
        pytest.param("example.com", "invalid URI for request", id="no scheme"),
        pytest.param("1http://a", "invalid URI for request", id="a scheme that begins with a digit"),
        pytest.param(":a", "missing protocol scheme", id="a colon"),
        pytest.param("https://exa mple.com", 'invalid character " " in host name', id="a blank"),
        pytest.param("https://a%20b", 'invalid URL escape "%20"', id="an escaped blank"),
        pytest.param("https://a/%zz", 'invalid URL escape "%zz"', id="no escape"),
        pytest.param("https://a/%1", 'invalid URL escape "%1"', id="half an escape"),
        pytest.param("https://a:b", 'invalid port ":b" after host', id="no port"),
        pytest.param("https://[::1", "missing ']' in host", id="half an address"),
        pytest.param("https://a b@c", "net/url: invalid userinfo", id="no user"),
        pytest.param("https://a\n", "net/url: invalid control character in URL", id="a line end"),
    ],
)
def test_the_error_of_a_text(text: str, error: str) -> None:
    found = request_uri_error(text)
    assert found.removeprefix("parse ").partition('": ')[2] == error
    assert bool(found) == bool(error)


@given(st.text("ab:/%1?@[] "))
def test_any_text_is_a_uri_or_has_an_error(text: str) -> None:
    assert request_uri_error(text).startswith("parse ") or text[:1] in "/" or ":" in text
