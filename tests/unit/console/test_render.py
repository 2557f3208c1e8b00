"""What the templates do with text that attacks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import count
from pathlib import Path

import jinja2
import pytest
from markupsafe import Markup

from console.assets import STATIC
from console.live.hub import Message
from console.live.parts import ROOT
from console.page import Page, User
from console.render import TEMPLATES, Frame, Renderer, clean
from console.views.errors import ErrorView
from console.views.operators import OperatorsQuery, operators_view

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
    return RENDERER.page(Page("error.html", view, text), frame)


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
    html = RENDERER.page(Page("x.html", values, "x"), frame)
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


@dataclass(frozen=True)
class Value:
    """A value that parts are made of."""

    text: str


ROW = '{% call part("row", "p", made_of=value.row) %}{{ value.row.text }}{{ value.counted() }}{% endcall %}'


def test_a_part_of_a_value_is_made_once_for_it_in_each_namespace() -> None:
    calls = count(1)
    one, equal = Value("<a>"), Value("<a>")

    def row(value: Value, namespace: str | None = None) -> str:
        return rendered(ROW, Frame(namespace=namespace), row=value, counted=lambda: next(calls))

    assert row(one) == row(one) == '<p id="row">&lt;a&gt;1</p>'
    assert row(equal) == '<p id="row">&lt;a&gt;2</p>'
    assert row(one, "team-a") == '<p id="row">&lt;a&gt;3</p>'


def test_a_part_with_the_mark_of_a_session_is_made_for_each_session() -> None:
    value = Value("x")
    source = '{% call part("row", "p", made_of=value.row) %}{{ csrf() }}{% endcall %}'
    pages = [rendered(source, Frame(csrf=mark), row=value) for mark in ("of-anna", "of-ben")]
    assert ["of-anna" in pages[0], "of-ben" in pages[1]] == [True, True]


def test_a_part_that_is_kept_has_no_others_in_it() -> None:
    with pytest.raises(ValueError, match="others"):
        rendered(
            '{% call part("a", made_of=value.row) %}{% call part("b") %}{% endcall %}{% endcall %}', row=Value("x")
        )


@pytest.mark.parametrize(
    ("source", "is_shared", "is_same"),
    [
        pytest.param("text", True, True, id="a value that users share is rendered once"),
        pytest.param("{{ csrf() }}", True, False, id="a form is that of the session"),
        pytest.param("text", False, False, id="a value of one user"),
    ],
)
def test_the_content_of_a_page_for_two_sessions(source: str, is_shared: bool, is_same: bool) -> None:
    rendered(source)
    page = Page("x.html", {}, "x", is_shared=is_shared)
    one, two = (RENDERER.content(page, Frame(), mark) for mark in ("of-anna", "of-ben"))
    assert (one is two) == is_same
    assert "of-anna" not in str(two.parts)
    assert RENDERER.content(page, Frame(namespace="other"), "of-anna") is not one


@pytest.mark.parametrize(
    ("time", "shown"),
    [("2020-01-01T00:00:00Z", r"\d+d"), ("no time", "no time"), ("<b>", "&lt;b&gt;")],
    ids=["a time", "a text that is no time", "a text that attacks"],
)
def test_a_page_says_how_long_ago_a_time_was_and_its_parts_leave_that_to_the_browser(time: str, shown: str) -> None:
    source = '{% from "macros.html" import age %}{{ age(value.time) }}'
    page = rendered(source, time=time)
    content = RENDERER.content(Page("x.html", {"time": time}, "x"), Frame(), "")
    assert re.search(f"data-age>{shown}</time>", page)
    assert "data-age></time>" in content.parts.whole_part(ROOT)


COLUMNS = re.compile(r'<th scope="col">([^<]+)</th>')
CELLS = re.compile(r'\.operators td:nth-child\((\d)\)::before \{ content: "([^"]+)"; \}')


def test_on_a_narrow_screen_the_cells_of_operators_have_the_names_of_their_columns() -> None:
    columns = COLUMNS.findall((TEMPLATES / "operators.html").read_text())
    cells = CELLS.findall((STATIC / "console.css").read_text())
    assert [(int(number), name) for number, name in cells] == list(enumerate(columns, 1))[1:]


@pytest.mark.parametrize(
    ("reason", "shown"),
    [("ApprovalRequired", "data-approve>50.0.10"), ("Paused", "0 of 1 replicas are available")],
    ids=["one that waits for approval", "one that is paused and unhealthy"],
)
def test_the_change_of_an_operator_takes_less_than_a_kilobyte(reason: str, shown: str) -> None:
    name = "console-0000"
    installed = {"version": "1.0.0", "catalog": "community", "channel": "stable"}
    available = {"version": "50.0.10", "reason": reason}
    message = "Deployment broken: 0 of 1 replicas are available"
    ready = {"type": "Ready", "status": "False", "reason": "Unhealthy", "message": message}
    operator = {
        "metadata": {"name": name, "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"packageName": "package-0000"},
        "status": {"observedGeneration": 1, "installed": installed, "available": available, "conditions": [ready]},
    }
    value = operators_view(OperatorsQuery(), [operator])
    content = RENDERER.content(Page("operators.html", value, "Operators"), Frame(), "")
    row = content.parts.whole_part(f"row-{name}")
    message_bytes = Message("parts", {"parts": [{"id": f"row-{name}", "html": row}], "state": content.state}).encoded
    assert shown in row
    assert len(message_bytes) < 1000
