"""The icons of packages: pictures of strangers, served so that they are nothing but pictures."""

from __future__ import annotations

import base64

from console.icons import letter_tile, picture
from console.page import Answer, PageRequest, Raw
from console.routes import Route
from olmctl.questions.catalogd import CatalogReadError, read_catalog
from olmctl.questions.operator_state import text_at
from olmkit.fbc.icon_types import MAX_ICON_BYTES

KEPT_SECONDS = 600
"""The time that a browser keeps an icon: a catalog may change it."""
_MAX_TEXT_LENGTH = MAX_ICON_BYTES * 4 // 3 + 4


async def show(request: PageRequest) -> Answer:
    """The icon; letters for a package that has none which is shown."""
    package = request.path["package"]
    query = {"schema": "olm.package", "package": package}
    try:
        blob = await read_catalog(request.session, request.path["catalog"], "api/v1/metas", query)
    except CatalogReadError:
        blob = {}
    data = _decoded(text_at(blob, "icon", "base64data"))
    found = picture(data)
    if found is None:
        data = letter_tile(package)
        found = picture(data)
    if found is None:
        raise RuntimeError("the letters are no picture")
    headers = dict(found.headers) | {"Cache-Control": f"private, max-age={KEPT_SECONDS}"}
    return Raw(data, found.media_type, {key: text for key, text in headers.items() if key != "X-Content-Type-Options"})


def _decoded(text: str) -> bytes:
    """The bytes; b"" if it is no base64, or too long."""
    if len(text) > _MAX_TEXT_LENGTH:
        return b""
    try:
        return base64.b64decode(text)
    except ValueError:
        return b""


ICON_WEIGHT = 0.1
"""A page of the catalog has 48 of them: a person who opens one after the other does not reach the limit of requests."""
ROUTES = (Route("GET", "/icons/{catalog}/{package}", show, weight=ICON_WEIGHT),)
