"""Where a login may lead."""

from __future__ import annotations

import pytest

from console.middlewares import safe_path, without_port


@pytest.mark.parametrize("path", ["/", "/operators/x?ns=a&q=b%20c", "/catalog/c/p/install"])
def test_a_path_of_the_console_is_kept(path: str) -> None:
    assert safe_path(path) == path


@pytest.mark.parametrize(
    "path",
    [
        *(
            "",
            "x",
            "//evil",
            "///evil",
            "/\\evil",
            "/a\\b",
            "https://evil",
            "javascript:alert(1)",
            "/login",
            "/login?back=/",
        ),
        *("/logout", "/live?page=/", "/a\r\nSet-Cookie: x", "/a\tb", "/é", "/\udcff", "/" + "a" * 2001, " /a"),
    ],
)
def test_what_could_lead_elsewhere_is_not(path: str) -> None:
    assert safe_path(path) == "/"


@pytest.mark.parametrize(
    ("host", "name"),
    [("a:1", "a"), ("a", "a"), ("[::1]:8443", "[::1]"), ("[::1]", "[::1]"), ("a:", "a:"), ("a:b", "a:b")],
)
def test_the_host_without_its_port(host: str, name: str) -> None:
    assert without_port(host) == name
