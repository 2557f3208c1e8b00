"""The icons of the console itself, as inline SVG. Pure.

Drawn on 24 by 24 units, with strokes in the colour of the text; the style sheet decides their size.
"""

from __future__ import annotations

from markupsafe import Markup

_CIRCLE = '<circle cx="12" cy="12" r="8.5"/>'
_PATHS = {
    "alert": '<path d="M12 4 3 19.5h18zM12 10v4.2M12 17h.01"/>',
    "box": '<path d="M12 2.5 20.5 7v10L12 21.5 3.5 17V7z"/><path d="m3.8 7.2 8.2 4.5 8.2-4.5M12 11.7v9.5"/>',
    "check": '<path d="m5 12.5 4.5 4.5L19 7.5"/>',
    "clock": f'{_CIRCLE}<path d="M12 7.5V12l3 2"/>',
    "copy": '<rect x="8.5" y="8.5" width="11" height="11" rx="2"/>'
    '<path d="M15.5 8.5v-2a2 2 0 0 0-2-2h-7a2 2 0 0 0-2 2v7a2 2 0 0 0 2 2h2"/>',
    "cube": '<path d="M12 3.5 19.5 7.7v8.6L12 20.5l-7.5-4.2V7.7zM4.7 7.9 12 12l7.3-4.1M12 12v8.3"/>',
    "filter": '<path d="M4 6h16M7 12h10M10 18h4"/>',
    "info": f'{_CIRCLE}<path d="M12 11v5M12 8h.01"/>',
    "lock": '<rect x="5.5" y="11" width="13" height="9" rx="2"/><path d="M8.5 11V8a3.5 3.5 0 0 1 7 0v3"/>',
    "menu": '<path d="M4 7h16M4 12h16M4 17h16"/>',
    "pause": '<path d="M9 6v12M15 6v12"/>',
    "plus": '<path d="M12 5v14M5 12h14"/>',
    "refresh": '<path d="M19.5 12a7.5 7.5 0 1 1-2.2-5.3L19.5 9"/><path d="M19.5 4v5h-5"/>',
    "right": '<path d="m9 6 6 6-6 6"/>',
    "search": '<circle cx="11" cy="11" r="6.5"/><path d="m16 16 4.5 4.5"/>',
    "shield": '<path d="M12 3.5 5 6v5.5c0 4.5 3 7.5 7 9 4-1.5 7-4.5 7-9V6z"/>',
    "terminal": '<path d="m5 7 5 5-5 5M12.5 17H19"/>',
    "up": '<path d="M12 19V6M6 11.5 12 5.5l6 6"/>',
    "user": '<circle cx="12" cy="8.5" r="3.5"/><path d="M5 20c.8-3.6 3.6-5.5 7-5.5s6.2 1.9 7 5.5"/>',
    "x": '<path d="m7 7 10 10M17 7 7 17"/>',
}
ICONS = {
    name: Markup(f'<svg class="ic" viewBox="0 0 24 24" aria-hidden="true">{paths}</svg>')
    for name, paths in _PATHS.items()
}


def icon(name: str) -> Markup:
    """The icon of that name. Raises KeyError."""
    return ICONS[name]
