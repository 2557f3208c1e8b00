"""The first page: it leads to the one that people come for."""

from __future__ import annotations

from console.page import Answer, Page, PageRequest
from console.routes import Route


async def show(request: PageRequest) -> Answer:
    """The name of the user, and the way to the pages."""
    return Page("home.html", request.user.name, "Welcome")


ROUTES = (Route("GET", "/", show),)
