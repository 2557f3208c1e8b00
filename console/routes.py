"""The form of a route: a path, its handler, and the objects whose changes wake the page."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias
from urllib.parse import unquote

from console.page import Answer, PageRequest
from olmkit.api.meta import Kind


@dataclass(frozen=True)
class Watch:
    """Objects of a kind: all, those of a namespace, one by its name, or those with labels.

    `is_signal`: a change wakes the page, which reads the objects itself; only their names are kept, however many they are.
    `field_selector` selects some of these. A page whose watch `is_optional` is live without it, for a user who may not watch
    these objects, or whose session has too many watches.
    """

    kind: Kind
    namespace: str | None = None
    name: str | None = None
    label_selector: str | None = None
    is_signal: bool = False
    field_selector: str | None = None
    is_optional: bool = False


Handler: TypeAlias = Callable[[PageRequest], Awaitable[Answer]]
Watches: TypeAlias = tuple[Watch, ...] | Callable[[PageRequest], tuple[Watch, ...]]


@dataclass(frozen=True)
class Route:
    """`path` as aiohttp reads it, such as /operators/{name}. A page without `watches` is not live.

    `refresh_without_js`: browsers without JavaScript load a live page again every 15 seconds, which a form would lose. `weight`:
    how much of the rate of a session a request takes; that of a page is 1.
    """

    method: str
    path: str
    handler: Handler
    watches: Watches = ()
    refresh_without_js: bool = True
    weight: float = 1.0

    def watched(self, request: PageRequest) -> tuple[Watch, ...]:
        """The watches that wake the page of this request."""
        return self.watches(request) if callable(self.watches) else self.watches


def without_refused(watches: tuple[Watch, ...], may: Mapping[Watch, bool]) -> tuple[Watch, ...]:
    """The watches of a page, of which those that its user may not open are optional: it is live as to what it follows. As they
    are if the user may open none."""
    refused = {each for each in watches if not each.is_optional and not may.get(each, True)}
    if all(each.is_optional or each in refused for each in watches):
        return watches
    return tuple(replace(each, is_optional=True) if each in refused else each for each in watches)


class RouteTable:
    """All routes, literal paths before those with variables."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.routes = tuple(sorted(routes, key=lambda each: "{" in each.path))
        self._patterns = [(route, re.compile(_VARIABLE.sub(r"(?P<\1>[^/]+)", route.path))) for route in self.routes]

    def page(self, path: str) -> tuple[Route, dict[str, str]] | None:
        """The page at a path as the browser sends it, and the values of the path's variables."""
        for route, pattern in self._patterns:
            if route.method == "GET" and (found := pattern.fullmatch(path)):
                return route, {name: unquote(value) for name, value in found.groupdict().items()}
        return None


_VARIABLE = re.compile(r"\{(\w+)\}")
