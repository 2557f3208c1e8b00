"""Descriptions of packages: Markdown of a stranger as HTML that can do nothing.

The parser makes no HTML of its input, and a second program, nh3, keeps only the elements and attributes that are listed here.
Images would call hosts that the catalog chooses: a link stands in their place. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from console.links import external

MAX_TEXT_LENGTH = 65_536
CUT = "\n\n*The description is longer than 64 KiB: the rest is not shown.*\n"
HEADING_OFFSET = 2
"""A description stands below a heading of the second level."""
REPLACEMENT = "\ufffd"
MAX_HEADING = 6
MAX_NESTING = 20
_TAGS = frozenset(
    (
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
    )
) | {"table", "thead", "tbody", "tr", "th", "td"}
_REL = "noopener noreferrer nofollow"


def render(text: str) -> Markup:
    """The Markdown text as HTML."""
    source = _visible(text[:MAX_TEXT_LENGTH]) + (CUT if len(text) > MAX_TEXT_LENGTH else "")
    parser = _parser()
    tokens = parser.parse(source)
    _change(tokens)
    made = parser.renderer.render(tokens, parser.options, {})
    cleaned = nh3.clean(
        made,
        tags=set(_TAGS),
        clean_content_tags={"script", "style"},
        attributes={"a": {"href"}, "ol": {"start"}, "span": {"class"}},
        attribute_filter=_attribute,
        url_schemes={"http", "https", "mailto"},
        link_rel=_REL,
        strip_comments=True,
    )
    return Markup(cleaned)


def _visible(text: str) -> str:
    """The text, in which characters that are not seen or that change how others are seen are U+FFFD."""
    return "".join(each if each.isprintable() or each in "\n\t" else REPLACEMENT for each in text)


def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_NESTING}).enable("table")


def _attribute(tag: str, name: str, value: str) -> str | None:
    """The value of an attribute, or None to drop it."""
    if (tag, name) == ("a", "href"):
        link = external(value)
        return link.href if link else None
    if (tag, name) == ("a", "rel"):
        return _REL
    if (tag, name) == ("span", "class"):
        return value if value == "host" else None
    return value if value.isdigit() else None


def _change(tokens: Iterable[Token]) -> None:
    """Move headings down, and make links of images."""
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1:]) + HEADING_OFFSET, MAX_HEADING)}"
        if token.type == "inline" and token.children:
            token.children = list(_without_images(token.children))
            token.children = list(_with_hosts(token.children))


def _without_images(tokens: Iterable[Token]) -> Iterable[Token]:
    for token in tokens:
        if token.type != "image":
            yield token
            continue
        text = Token("text", "", 0, content=token.content or "image")
        source = token.attrs.get("src", "")
        if external(source) is None:
            yield text
        else:
            yield Token("link_open", "a", 1, attrs={"href": source})
            yield text
            yield Token("link_close", "a", -1)


def _with_hosts(tokens: Sequence[Token]) -> Iterable[Token]:
    """Follow each link by its host, unless its text says it."""
    depth, target, shown = 0, "", ""
    for token in tokens:
        if token.type == "link_open":
            depth += 1
            if depth > 1:
                continue  # an image within a link
            target, shown = str(token.attrs.get("href", "")), ""
        elif token.type == "link_close":
            depth -= 1
            if depth:
                continue
        elif depth:
            shown += token.content
        yield token
        if token.type == "link_close":
            link = external(target)
            if link and link.host.casefold() not in shown.casefold():
                yield Token("span_open", "span", 1, attrs={"class": "host"})
                yield Token("text", "", 0, content=f" ({link.host})")
                yield Token("span_close", "span", -1)
