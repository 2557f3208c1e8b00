"""What the templates do with text that attacks."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import jinja2
import pytest
from markupsafe import Markup

from console.page import Page, User
from console.render import TEMPLATES, Frame, Renderer, clean
from console.views.errors import ErrorView

RENDERER = Renderer(lambda name: f"/assets/0/{name}")
ATTACKS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "{{ 7 * 7 }}",
    "</title><script>",
    "<!--",
    "\x00\x01\x02",
)
FRAME = Frame(user=User("anna"), csrf="mark", namespaces=("team-a",))


def shown(text: str) -> str:
    frame = Frame(
        title=text, here=text, user=User(text), namespaces=(text,), flash=text, query=((text, text),), csrf="mark"
    )
    view = ErrorView(text, text, text, ((f"/{text}", text),), text)
    return RENDERER.page(Page("error.html", view, text), frame).html


class Elements(HTMLParser):
    """The elements of a page with the names of their attributes, and its comments."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[object] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, [name for name, _ in attrs]))

    def handle_comment(self, data: str) -> None:
        self.found.append(data)


@pytest.mark.parametrize("attack", ATTACKS)
def test_text_stays_text(attack: str) -> None:
    assert Elements(shown(attack)).found == Elements(shown("harmless")).found
    assert ">49<" not in shown("{{ 7 * 7 }}")
    assert "\x00" not in shown(attack)


@pytest.mark.parametrize(
    "character", ["\u202e", "\u2066", "\u200b", "\ufeff", "\x1b", "\x00", "\x9b", "\xad", "\U000e0041"]
)
def test_characters_that_hide_or_turn_others_are_replaced(character: str) -> None:
    assert clean(f"a{character}b") == "a\ufffdb"
    assert character not in shown(f"a{character}b")


@pytest.mark.parametrize("text", ["plain", "two\nlines\tand", "ümläut 日本語 العربية", "100 %", "a\xa0b", "👍"])
def test_other_text_stays_as_it_is(text: str) -> None:
    assert clean(text) == text


def test_half_a_character_can_be_sent() -> None:
    assert shown("a\udcffb").encode()


def test_a_value_that_a_template_needs_and_does_not_get_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError):
        RENDERER.page(Page("error.html", object(), "x"), FRAME)


def rendered(source: str, frame: Frame = FRAME, **values: object) -> str:
    RENDERER._templates.loader = jinja2.ChoiceLoader(
        [
            jinja2.DictLoader({"x.html": f'{{% extends "base.html" %}}{{% block main %}}{source}{{% endblock %}}'}),
            jinja2.FileSystemLoader(TEMPLATES),
        ]
    )
    RENDERER._templates.cache.clear()  # type: ignore[union-attr]
    html = RENDERER.page(Page("x.html", values, "x"), frame).html
    return html.partition('<div id="content">')[2].partition("</div></main>")[0]


def test_urls_keep_the_namespace_and_quote_what_they_are_made_of() -> None:
    frame = Frame(namespace="team-a")
    assert rendered('{{ url("/operators", "a/../b?c", q="x&y", none=None) }}', frame) == (
        "/operators/a%2F..%2Fb%3Fc?ns=team-a&amp;q=x%26y"
    )
    assert rendered('{{ url("/operators", ns=None) }}', frame) == "/operators"


def test_each_form_has_the_mark_of_the_session() -> None:
    assert rendered("{{ csrf() }}") == '<input type="hidden" name="csrf" value="mark">'


def test_markup_is_only_what_says_so() -> None:
    assert rendered("{{ value.a }}{{ value.b }}", a=Markup("<b>x</b>"), b="<b>") == "<b>x</b>&lt;b&gt;"


TEMPLATE_FILES = sorted(TEMPLATES.glob("*.html"))


@pytest.mark.parametrize("path", TEMPLATE_FILES, ids=lambda path: path.name)
def test_a_template_escapes_everything_and_has_nothing_that_the_policy_forbids(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"\|\s*safe\b|autoescape|Markup", text)
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|javascript:", text)
    assert not re.search(r"\s[a-z-]+=\{\{", text), "an attribute without quotes"
    for form in re.findall(r'<form[^>]*method="post".*?</form>', text, re.DOTALL):
        assert "csrf()" in form
