"""The templates: one environment, in which each text is escaped and cleaned, and the frame around each page.

Only modules that make markup themselves return Markup: console.ui_icons, markdown, graph_svg, icons. Rendering reads nothing.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlencode

import jinja2
from markupsafe import Markup

from console.ages import age
from console.icons import hue
from console.live.parts import ROOT, Parts, state_of
from console.page import ConsoleOptions, Page, User
from console.routes import Watch
from console.ui_icons import icon
from olmctl.object_text import as_yaml

TEMPLATES = Path(__file__).parent / "templates"
CSRF_FIELD = "csrf"
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
    """A page as HTML, and its parts with their digests. `state` differs if any part does. See Page."""

    html: str
    parts: Parts
    digests: Mapping[str, bytes]
    state: str
    again_seconds: float = 0.0
    watches: tuple[Watch, ...] = ()


@dataclass
class _Rendering:
    frame: Frame
    parts: Parts = field(default_factory=Parts)


_STATE_PLACE = Markup(f"\x01{secrets.token_hex(8)}\x02")
"""Stands where the state of the page is put, once it is known."""
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
        self._templates.filters.update(hue=hue, ago=age, yaml=as_yaml)

    def page(self, page: Page, frame: Frame) -> Rendered:
        """The page in its frame."""
        with _rendering(frame) as rendering:
            template = self._templates.get_template(page.template)
            text = template.render(value=page.value, frame=frame)
        if ROOT not in rendering.parts.found:
            raise ValueError(f"{page.template} does not extend base.html")
        digests = rendering.parts.digests()
        state = state_of(digests)
        html = rendering.parts.whole(text).replace(_STATE_PLACE, state)
        return Rendered(html, rendering.parts, digests, state, page.again_seconds, page.watches)


@contextmanager
def _rendering(frame: Frame) -> Iterator[_Rendering]:
    rendering = _Rendering(frame)
    token = _CURRENT.set(rendering)
    try:
        yield rendering
    finally:
        _CURRENT.reset(token)


def _finalize(value: object) -> object:
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _part(name: str, tag: str = "div", *, caller: Callable[[], str], **attributes: object) -> Markup:
    """`{% call part("rows", "tbody") %}…{% endcall %}`: an element that changes while the page is open.

    Attributes are those of the element; `_` in their names stands for `-`, and `class_` for `class`.
    """
    named = {key.rstrip("_"): _finalize(value) for key, value in attributes.items()}
    return _CURRENT.get().parts.add(name, tag, named, caller())


def _url(path: str, *segments: str, **query: object) -> str:
    """A path of the console with these segments and this query, in the namespace of the page. None leaves a value out."""
    frame = _CURRENT.get().frame
    full = path.rstrip("/") + "".join(f"/{quote(str(each), safe='')}" for each in segments) if segments else path
    values = {"ns": frame.namespace, **query}
    pairs = [(key, str(value)) for key, value in values.items() if value not in (None, "")]
    return f"{full}?{urlencode(pairs)}" if pairs else full


def _csrf() -> Markup:
    """The hidden field that each form has."""
    return Markup('<input type="hidden" name="{}" value="{}">').format(CSRF_FIELD, _CURRENT.get().frame.csrf)
