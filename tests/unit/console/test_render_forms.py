"""The pages of forms as HTML: what publishers and people have written stays text, whatever it is."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from console.commands import install_commands
from console.forms import catalog_form, descriptors, operator_form
from console.forms.schema_form import NOTHING, schema_form
from console.page import Page, User
from console.render import Frame, Renderer
from console.views.changes import Button, ChangeView, Notice, Section
from console.views.install import CatalogFormView, ChannelOffer, OperatorFormView
from console.views.instances import InstanceFormView, KindName, StartChoice

EVIL = "\"><script>alert(1)</script><img src=x onerror=alert(1)>\u202e{{7*7}}</textarea></pre>'&"
RENDERER = Renderer(lambda name: f"/assets/0/{name}")
KIND = KindName(EVIL, EVIL, EVIL, EVIL, EVIL, True)


def html(template: str, value: object) -> str:
    return RENDERER.page(Page(template, value, EVIL), Frame(user=User(EVIL), csrf="c"))


class Parser(HTMLParser):
    """Collects the elements that only a text could have made."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        if (
            tag in ("img", "iframe")
            or (tag == "script" and "src" not in names)
            or any(name.startswith("on") for name in names)
        ):
            self.found.append(f"{tag} {names}")


def check(text: str) -> None:
    """Nothing of the texts is markup, and nothing of a template."""
    parser = Parser()
    parser.feed(text)
    assert parser.found == []
    assert "{{7*7}}" in text
    outside = re.sub(r'value="[^"]*"|<textarea[^>]*>[^<]*</textarea>', "", text)  # what is sent back is sent as it is
    assert "\u202e" not in outside


def schema() -> dict[str, Any]:
    text = {"type": "string", "title": EVIL, "description": EVIL}
    fields: dict[str, Any] = {
        "plain": {**text, "default": EVIL},
        EVIL.replace("\u202e", ""): text,
        "choice": {**text, "enum": [EVIL.replace("\u202e", ""), "b"]},
        "many": {**text, "enum": [EVIL.replace("\u202e", ""), *"abcdef"]},
        "any": {"description": EVIL, "x-kubernetes-preserve-unknown-fields": True},
        "list": {"type": "array", "title": EVIL, "items": text},
        "map": {"type": "object", "additionalProperties": text},
        "on": {"type": "boolean", "title": EVIL},
        "number": {"type": "integer", "title": EVIL, "minimum": 1},
        "secret": text,
        "depends": text,
    }
    return {"type": "object", "properties": {"spec": {"type": "object", "description": EVIL, "properties": fields}}}


def test_an_instance_form_of_a_hostile_publisher() -> None:
    prefix = "urn:alm:descriptor:com.tectonic.ui:"
    listed = [
        {"path": "secret", "displayName": EVIL, "x-descriptors": [f"{prefix}password"]},
        {"path": "depends", "displayName": EVIL, "x-descriptors": [f"{prefix}fieldDependency:on:{EVIL}"]},
        {"path": "plain", "x-descriptors": ["urn:alm:descriptor:io.kubernetes:Secret", f"{prefix}fieldGroup:{EVIL}"]},
    ]
    seen = EVIL.replace("\u202e", "")
    spec = {
        "plain": seen,
        "choice": EVIL,
        "any": {EVIL: EVIL},
        "list": [seen, EVIL, f"{seen}\n{seen}"],
        "map": {seen: seen},
        "secret": "hunter2",
    }
    document = {"metadata": {"name": EVIL}, "spec": spec}
    form = schema_form(schema(), descriptors.read({"specDescriptors": listed}, "spec"), document, {}, NOTHING)
    view = InstanceFormView(
        KIND,
        EVIL,
        EVIL,
        "/instances/x",
        "/instances",
        EVIL,
        EVIL,
        True,
        form,
        EVIL,
        EVIL,
        EVIL,
        (),
        {str(form.references[0]): (EVIL, "b")},
        (EVIL,),
        Button(EVIL, EVIL, EVIL),
        starts=(StartChoice(0, EVIL, EVIL, True, True), StartChoice(1, EVIL, EVIL, False, False)),
        notices=(Notice("bad", EVIL, EVIL),),
        problems=(("f", EVIL, EVIL),),
        name_problem=EVIL,
        namespace_problem=EVIL,
    )
    text = html("instance-form.html", view)
    check(text)
    assert "hunter2" not in text


def test_fields_of_others_can_be_taken_over_above_the_form_and_below_it() -> None:
    button = Button("Take over and save", kind="danger", name="action", value="force")
    view = InstanceFormView(
        KindName("g", "v1", "ks", "K", "K", True), "Edit a", "", "/x", "/", "a", "b", False, None, "", "", "", (), {}, None,
        Button("Save"), notices=(Notice("warn", "Size: managed by kubectl."),), take_over=button,
    )  # fmt: skip
    text = html("instance-form.html", view)
    first, field, second = (text.find('value="force"'), text.find('name="yaml"'), text.rfind('value="force"'))
    assert 0 < first < field < second
    assert ">Save<" not in text
    assert 'value="force"' not in html("instance-form.html", replace(view, take_over=None))


def test_reviews_of_hostile_texts() -> None:
    section = Section(EVIL, (EVIL,), ((EVIL, EVIL),), (EVIL, EVIL), ((EVIL, EVIL),), EVIL)
    button = Button(EVIL, name=EVIL, value=EVIL)
    view = ChangeView(
        EVIL,
        EVIL,
        (("/x", EVIL), ("", EVIL)),
        "/x",
        button,
        "/x",
        (Notice("warn", EVIL, EVIL),),
        (section,),
        install_commands({"metadata": {"name": EVIL}, "spec": {"packageName": EVIL}}),
        ((EVIL, EVIL),),
        EVIL,
        EVIL,
        EVIL,
        (button,),
    )
    check(html("change.html", view))


def test_the_forms_of_operators_and_catalogs() -> None:
    texts, wrong = dict.fromkeys(operator_form.NAMES, EVIL), dict.fromkeys(operator_form.NAMES, EVIL)
    modes = (operator_form.Mode("all", EVIL, EVIL),)
    channels = (ChannelOffer(EVIL, (EVIL,), True),)
    view = OperatorFormView(
        EVIL,
        EVIL,
        (("/x", EVIL), ("", EVIL)),
        "/x",
        "/y",
        texts,
        wrong,
        channels,
        ((EVIL, EVIL),),
        modes,
        EVIL,
        EVIL,
        True,
        Button(EVIL),
        (Notice("info", EVIL),),
        (),
        ((EVIL, EVIL),),
    )
    check(html("install.html", view))
    assert view.versions == (EVIL,)
    catalog = CatalogFormView(
        EVIL,
        EVIL,
        "/x",
        "/y",
        dict.fromkeys(catalog_form.NAMES, EVIL),
        dict.fromkeys(catalog_form.NAMES, EVIL),
        True,
        (EVIL,),
        (EVIL,),
        ((EVIL, 1),),
        EVIL,
        Button(EVIL),
        (Notice("warn", EVIL),),
        (),
        ((EVIL, EVIL),),
    )
    check(html("catalog-form.html", catalog))
    check(
        html(
            "catalog-form.html",
            CatalogFormView(**{**vars(catalog), "secrets": None, "config_maps": None, "is_new": False}),
        )
    )


@pytest.mark.parametrize("text", ["\n leading line", "a\r\nb", "  blanks  ", "</textarea>", "&amp;", "\n\n"])
def test_a_text_area_has_the_exact_text(text: str) -> None:
    document = {"spec": {"x": f"{text}\n"}}
    field = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"x": {"type": "string"}}}}}
    form = schema_form(field, (), document, document, NOTHING)
    kind = KindName("g.example.com", "v1", "ks", "K", "K", False)
    view = InstanceFormView(
        kind, "h", "s", "/x", "/y", "n", "", False, form, "", "{}", "{}", (), {}, None, Button("Save")
    )
    found = re.search(
        r'<textarea[^>]*name="/spec/x"[^>]*>\n(.*?)</textarea>', html("instance-form.html", view), re.DOTALL
    )
    assert found is not None
    sent = (
        found[1]
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
        .replace("&#39;", "'")
        .replace("&#34;", '"')
    )
    assert sent in (f"{text}\n", f"{text}\n".replace("\r\n", "\n")) or sent.startswith('"')
