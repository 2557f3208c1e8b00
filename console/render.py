"""The templates: one environment, in which each text is escaped and cleaned, and the frame around each page.

Only modules that make markup themselves return Markup: console.ui_icons, markdown, graph_svg, icons. Rendering reads nothing.
Parts that consist of one value are kept with the value: when a page is rendered again, only what has changed is made anew.
"""

from __future__ import annotations

import html
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote, urlencode

import jinja2
from markupsafe import Markup

from console.ages import age
from console.icons import hue
from console.live.parts import ROOT, Part, Parts, state_of
from console.page import ConsoleOptions, Page, User
from console.recent import Recent
from console.routes import Watch
from console.ui_icons import icon
from olmctl.object_text import as_yaml

TEMPLATES = Path(__file__).parent / "templates"
CSRF_FIELD = "csrf"
MAX_KEPT_PARTS = 5_000
MAX_KEPT_PAGES = 16
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Controls, marks of writing direction, characters that are not seen, and halves of characters."""
REPLACEMENT = "\ufffd"


@dataclass(frozen=True)
class Frame:
    """The values around each page. `user` is None before the login, `namespaces` if they may not be listed.

    `csrf` goes into each form. `is_live`: the page follows the cluster, or the page `follows`. `refresh_seconds` is for browsers
    without JavaScript, 0 for none.
    """

    title: str = ""
    section: str = ""
    here: str = "/"
    user: User | None = None
    namespace: str | None = None
    namespaces: tuple[str, ...] | None = None
    csrf: str = ""
    flash: str = ""
    flash_kind: str = "ok"
    is_live: bool = False
    follows: str = ""
    refresh_seconds: int = 0
    can_log_out: bool = False
    scripts: tuple[str, ...] = ()
    query: tuple[tuple[str, str], ...] = ()
    options: ConsoleOptions = field(default_factory=ConsoleOptions)

    @property
    def modules(self) -> tuple[str, ...]:
        """The ES modules of the page."""
        return "frame.js", "keys.js", *(("live.js",) if self.is_live else ()), *self.scripts


@dataclass(frozen=True)
class Rendered:
    """The content of a page: its parts with their digests. `state` differs if any part does. See Page."""

    parts: Parts
    digests: Mapping[str, bytes]
    state: str
    again_seconds: float = 0.0
    watches: tuple[Watch, ...] = ()


class _KeptParts:
    """Parts by the values that they consist of."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str | None, int], tuple[object, Part]] = {}

    def find(self, name: str, namespace: str | None, value: object) -> Part | None:
        """The part of a value."""
        found = self._kept.get((name, namespace, id(value)))
        return found[1] if found is not None else None

    def put(self, name: str, namespace: str | None, value: object, part: Part) -> None:
        """Keep a part, and its value, so that no other one is at its place. Raises ValueError for a part with others in it."""
        if part.inner:
            raise ValueError(f"the part {name} has others in it and cannot be kept")
        if len(self._kept) >= MAX_KEPT_PARTS:
            self._kept.clear()
        self._kept[name, namespace, id(value)] = value, part


@dataclass
class _Rendering:
    frame: Frame
    kept: _KeptParts
    parts: Parts = field(default_factory=Parts)
    is_private: bool = False
    """True if the mark of a session is in it."""


_STATE_PLACE = Markup(f"\x01{secrets.token_hex(8)}\x02")
"""Stands where the state of the page is put, once it is known."""
_AGE = re.compile(r'(<time datetime="([^"]*)" data-age>)(?=</time>)')
_CURRENT: ContextVar[_Rendering] = ContextVar("rendering")


def clean(text: str) -> str:
    """The text without characters that are not seen or that change how others are seen; each becomes U+FFFD."""
    return text if text.isascii() and text.isprintable() else _UNPRINTABLE.sub(REPLACEMENT, text)


class Renderer:
    """Renders pages. `asset` gives the path of a file of console.static by its name."""

    def __init__(self, asset: Callable[[str], str]) -> None:
        self._templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(TEMPLATES),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
            finalize=_finalize,
        )
        self._templates.globals.update(
            live_state=lambda: _STATE_PLACE, part=_part, url=_url, csrf=_csrf, icon=icon, asset=asset
        )
        self._templates.filters.update(hue=hue, yaml=as_yaml)
        self._kept = _KeptParts()
        self._recent: Recent[Rendered] = Recent(MAX_KEPT_PAGES)

    def page(self, page: Page, frame: Frame) -> str:
        """The HTML of the page in its frame."""
        text, rendering = self._render(page, frame)
        state = state_of(rendering.parts.digests())
        return _AGE.sub(_with_age, rendering.parts.whole(text).replace(_STATE_PLACE, state))

    def content(self, page: Page, frame: Frame, csrf: str) -> Rendered:
        """The content of the page, for tabs that show the page already. `frame` has what is the same for all users: those for
        whom the value is the same get the same content, unless it has forms."""
        key, made_of = (page.template, page.again_seconds, page.watches, frame), (page.value,)
        found = self._recent.find(key, made_of)
        if found is not None:
            return found
        _, rendering = self._render(page, replace(frame, csrf=csrf))
        digests = rendering.parts.digests()
        made = Rendered(rendering.parts, digests, state_of(digests), page.again_seconds, page.watches)
        is_shared = page.is_shared and not rendering.is_private
        return self._recent.put(key, made_of, made) if is_shared else made

    def _render(self, page: Page, frame: Frame) -> tuple[str, _Rendering]:
        """The text of the page, with places for its parts."""
        with _rendering(frame, self._kept) as rendering:
            text = self._templates.get_template(page.template).render(value=page.value, frame=frame)
        if ROOT not in rendering.parts.found:
            raise ValueError(f"{page.template} does not extend base.html")
        return text, rendering


def _with_age(found: re.Match[str]) -> str:
    return found[1] + html.escape(clean(age(html.unescape(found[2]))))


@contextmanager
def _rendering(frame: Frame, kept: _KeptParts) -> Iterator[_Rendering]:
    rendering = _Rendering(frame, kept)
    token = _CURRENT.set(rendering)
    try:
        yield rendering
    finally:
        _CURRENT.reset(token)


def _finalize(value: object) -> object:
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _part(
    name: str, tag: str = "div", *, caller: Callable[[], str], made_of: object = None, **attributes: object
) -> Markup:
    """`{% call part("rows", "tbody") %}…{% endcall %}`: an element that changes while the page is open.

    Attributes are those of the element; `_` in their names stands for `-`, and `class_` for `class`. `made_of`: a value that
    never changes, on which alone the part depends, and on the namespace of the page; the part is made once for it.
    """
    rendering = _CURRENT.get()
    namespace = rendering.frame.namespace
    found = rendering.kept.find(name, namespace, made_of) if made_of is not None else None
    if found is not None:
        return rendering.parts.put(found)
    named = {key.rstrip("_"): _finalize(value) for key, value in attributes.items()}
    part = Part.of(name, tag, named, caller())
    if made_of is not None and not rendering.is_private:
        rendering.kept.put(name, namespace, made_of, part)
    return rendering.parts.put(part)


def _url(path: str, *segments: str, **query: object) -> str:
    """A path of the console with these segments and this query, in the namespace of the page. None leaves a value out."""
    frame = _CURRENT.get().frame
    full = path.rstrip("/") + "".join(f"/{quote(str(each), safe='')}" for each in segments) if segments else path
    values = {"ns": frame.namespace, **query}
    pairs = [(key, str(value)) for key, value in values.items() if value not in (None, "")]
    return f"{full}?{urlencode(pairs)}" if pairs else full


def _csrf() -> Markup:
    """The hidden field that each form has."""
    _CURRENT.get().is_private = True
    return Markup('<input type="hidden" name="{}" value="{}">').format(CSRF_FIELD, _CURRENT.get().frame.csrf)
