"""What becomes a link, and what does not."""

import pytest

from console.links import External, external, mail_link, page_url


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "https://example.com/a?b#c", External("https://example.com/a?b#c", "example.com"), id="a web page"
        ),
        pytest.param(
            "HTTP://Example.com:8080/", External("HTTP://Example.com:8080/", "example.com:8080"), id="a port is shown"
        ),
        pytest.param("mailto:a@b.example", External("mailto:a@b.example", "a@b.example"), id="a mail address"),
        pytest.param(
            "mailto:a@b.example?subject=x&body=y",
            External("mailto:a@b.example", "a@b.example"),
            id="a mail address loses what it would write",
        ),
        pytest.param(
            "https://r\u0430ur\u0430l.com/",
            External("https://r\u0430ur\u0430l.com/", "xn--rurl-53dc.com"),
            id="letters of other scripts are shown as ASCII",
        ),
    ],
)
def test_an_absolute_address_is_a_link(text: str, expected: External) -> None:
    assert external(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("javascript:alert(1)", id="a script"),
        pytest.param("JaVaScRiPt:alert(1)", id="a script in other letters"),
        pytest.param("java\tscript:alert(1)", id="a script with a tab"),
        pytest.param("\x01javascript:alert(1)", id="a script behind a control"),
        pytest.param("data:text/html,<script>", id="data"),
        pytest.param("vbscript:x", id="another script"),
        pytest.param("blob:https://a.example/x", id="a blob"),
        pytest.param("file:///etc/passwd", id="a file"),
        pytest.param("//evil.example/x", id="another host without a scheme"),
        pytest.param("/operators/x/uninstall", id="a page of the console"),
        pytest.param("x", id="a relative address"),
        pytest.param("https:evil.example", id="a scheme without slashes"),
        pytest.param("https:/evil.example", id="a scheme with one slash"),
        pytest.param("https:///evil.example", id="a scheme with three slashes"),
        pytest.param("https://\\evil.example", id="a backslash"),
        pytest.param("https://good.example@evil.example/", id="a user name that looks like a host"),
        pytest.param("https://[", id="half an address of IPv6"),
        pytest.param("https://a.example:99999/", id="a port that does not exist"),
        pytest.param("https://a.example/\u202egpj.exe", id="a mark of writing direction"),
        pytest.param("https://a.example/ x", id="a blank"),
        pytest.param("mailto:a@b.example,c@d.example", id="two mail addresses"),
        pytest.param("mailto:", id="no mail address"),
        pytest.param("https://" + "a" * 3000, id="a long address"),
        pytest.param("", id="nothing"),
        pytest.param(None, id="no text"),
        pytest.param(7, id="a number"),
    ],
)
def test_anything_else_is_no_link(text: object) -> None:
    assert external(text) is None


def test_a_mail_address_becomes_a_link() -> None:
    assert mail_link("team@example.com") == External("mailto:team@example.com", "team@example.com")
    assert mail_link("<script>") is None
    assert mail_link(None) is None


@pytest.mark.parametrize(
    ("segments", "query", "expected"),
    [
        pytest.param(("catalog", "a", "b"), {}, "/catalog/a/b", id="segments"),
        pytest.param(("catalog", "a/b", "?x=1"), {}, "/catalog/a%2Fb/%3Fx%3D1", id="a segment cannot become two"),
        pytest.param(("catalog", "..", "."), {}, "/catalog/-/-", id="dots do not lead elsewhere"),
        pytest.param(("operators",), {"ns": "team-a"}, "/operators?ns=team-a", id="the namespace is passed on"),
        pytest.param(
            ("catalog",),
            {"q": "a&b=c", "page": ""},
            "/catalog?q=a%26b%3Dc",
            id="values are quoted, empty ones left out",
        ),
    ],
)
def test_the_url_of_a_page(segments: tuple[str, ...], query: dict[str, str], expected: str) -> None:
    assert page_url(*segments, **query) == expected
