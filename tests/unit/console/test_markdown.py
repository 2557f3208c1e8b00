"""Descriptions of strangers as HTML that can do nothing."""

import re
from html.parser import HTMLParser

import pytest

from console.markdown import MAX_TEXT_LENGTH, render

ALLOWED = {
    *(
        "p",
        "br",
        "hr",
        "h3",
        "h4",
        "h5",
        "h6",
        "ul",
        "ol",
        "li",
        "blockquote",
        "pre",
        "code",
        "em",
        "strong",
        "a",
        "span",
    ),
    *("table", "thead", "tbody", "tr", "th", "td"),
}


class _Elements(HTMLParser):
    """Collects elements and attributes as a browser's parser would find them."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def _elements(html: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = _Elements()
    parser.feed(html)
    return parser.found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("# Title", "<h3>Title</h3>\n", id="headings move down"),
        pytest.param("##### Deep", "<h6>Deep</h6>\n", id="but not beyond the sixth level"),
        pytest.param(
            "[docs](https://a.example/x)",
            '<p><a href="https://a.example/x" rel="noopener noreferrer nofollow">docs</a>'
            '<span class="host"> (a.example)</span></p>\n',
            id="a link names its host",
        ),
        pytest.param(
            "https://a.example",
            "<p>https://a.example</p>\n",
            id="a bare address is text",
        ),
        pytest.param(
            "<https://a.example>",
            '<p><a href="https://a.example" rel="noopener noreferrer nofollow">https://a.example</a></p>\n',
            id="a link whose text has the host does not repeat it",
        ),
        pytest.param(
            "![logo](https://a.example/l.png)",
            '<p><a href="https://a.example/l.png" rel="noopener noreferrer nofollow">logo</a>'
            '<span class="host"> (a.example)</span></p>\n',
            id="an image is a link",
        ),
        pytest.param("![logo](x.png)", "<p>logo</p>\n", id="an image of the own site is its text"),
        pytest.param(
            "[![CI](https://i.example/b.svg)](https://ci.example/)",
            '<p><a href="https://ci.example/" rel="noopener noreferrer nofollow">CI</a>'
            '<span class="host"> (ci.example)</span></p>\n',
            id="an image within a link",
        ),
        pytest.param("a\u202eb\u200bc", "<p>a\ufffdb\ufffdc</p>\n", id="marks that are not seen are shown"),
        pytest.param("| a |\n|---|\n| b |", None, id="tables"),
        pytest.param("3. a\n4. b", None, id="lists that begin elsewhere"),
    ],
)
def test_markdown_is_shown(text: str, expected: str | None) -> None:
    html = render(text)

    assert expected is None or html == expected
    assert {tag for tag, _ in _elements(html)} <= ALLOWED


ATTACKS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<iframe src=javascript:alert(1)>",
    "<a href='javascript:alert(1)'>x</a>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java&#x0A;script:alert(1))",
    "[x](&#x6A;avascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:msgbox(1))",
    "[x](//evil.example/)",
    "[x](/operators/a/uninstall)",
    "[x](https://good.example@evil.example)",
    "![x](javascript:alert(1))",
    '![x](https://evil.example/p.png "onload=alert(1)")',
    "<javascript:alert(1)>",
    "[x]: javascript:alert(1)\n[x]",
    '[x](https://a.example "\\" onmouseover=\\"alert(1)")',
    "<!--><script>alert(1)</script>-->",
    "<style>*{display:none}</style>",
    "<form action=https://evil.example><input name=csrf>",
    "<base href=https://evil.example>",
    "<meta http-equiv=refresh content=0>",
    '```"><script>alert(1)</script>\nx\n```',
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "`<b onclick=x>`",
    "<p id=said class=sr data-page=/x popover>",
)


@pytest.mark.parametrize("text", ATTACKS)
def test_an_attack_stays_text(text: str) -> None:
    html = render(text)

    for tag, attributes in _elements(html):
        assert tag in ALLOWED
        assert set(attributes) <= {"href", "rel", "class", "start"}
        assert re.match(r"https?://[^@/\\]+(/|$)|mailto:", attributes.get("href") or "https://x") is not None
        assert attributes.get("class") in (None, "host")


def test_a_long_description_is_cut_and_says_so() -> None:
    html = render("a " * MAX_TEXT_LENGTH)

    assert "longer than 64 KiB" in html
    assert len(html) < MAX_TEXT_LENGTH + 1000


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("> " * 20_000, id="quotes in quotes"),
        pytest.param("- " * 20_000, id="lists in lists"),
        pytest.param("*" * 60_000, id="stars"),
        pytest.param("[" * 60_000, id="brackets"),
        pytest.param("`" * 60_000, id="ticks"),
    ],
)
def test_hostile_nesting_ends(text: str) -> None:
    assert len(render(text)) < 20 * MAX_TEXT_LENGTH
