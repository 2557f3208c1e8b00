"""The Operators of the cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from console.page import Answer, BadInput, Page, PageRequest
from console.pages.setup_help import on_suite
from console.routes import Route, Watch
from console.views import operators as view
from console.views.description import description
from console.views.operators import OperatorsQuery, operators_view
from console.views.parts import ALL, Note
from olmctl.questions.catalogd import CatalogReadError, read_catalog
from olmctl.questions.operator_state import part, text_at
from olmctl.questions.operators import all_operators
from olmkit.api import bundledeployments, operators
from olmkit.api.meta import Object

MAX_KEPT_MODES = 2_000
MAX_CONCURRENT_READS = 8
_MODES: dict[tuple[str, str], tuple[str, ...]] = {}
"""The install modes of installed bundles, by catalog and image. They are in every catalog's public description of the bundle."""


def read_query(request: PageRequest) -> OperatorsQuery:
    """The query of the URL. Raises BadInput."""
    query = request.query
    word = " ".join(query.one("q").split())
    if len(word) > view.MAX_QUERY_LENGTH:
        raise BadInput("q", f"it has more than {view.MAX_QUERY_LENGTH} characters")
    is_all = query.one("page") == ALL
    return OperatorsQuery(
        word,
        query.choice("state", view.STATES),
        query.choice("sort", view.SORTS),
        1 if is_all else query.number("page", 1, 1, 100_000),
        is_all,
        request.namespace or "",
    )


@on_suite
async def show(request: PageRequest) -> Answer:
    """The page."""
    query = read_query(request)
    found = await all_operators(request.session)
    modes = await install_modes(request, found.operators)
    notes = [Note("info", "", f"{each}.") for each in found.warnings]
    value = operators_view(query, found.operators, found.unowned, modes, notes)
    return Page("operators.html", value, "Operators", "Operators", scripts=("grid.js",))


async def install_modes(request: PageRequest, found: Sequence[Object]) -> dict[str, tuple[str, ...]]:
    """The install modes of the installed bundles by the name of the Operator, for those whose spec does not name namespaces."""
    limit = asyncio.Semaphore(MAX_CONCURRENT_READS)
    wanted = [each for each in found if not part(each, "spec", "install", "watchNamespaces")]
    modes = await asyncio.gather(*(_modes(request, each, limit) for each in wanted))
    return {text_at(each, "metadata", "name"): known for each, known in zip(wanted, modes, strict=True) if known}


async def _modes(request: PageRequest, operator: Object, limit: asyncio.Semaphore) -> tuple[str, ...]:
    """The modes of one; () if they cannot be read."""
    catalog, bundle = (text_at(operator, "status", "installed", key) for key in ("catalog", "name"))
    image = text_at(operator, "status", "installedBundleResource")
    package = text_at(operator, "spec", "packageName")
    key = catalog, image
    if not catalog or not bundle or not image:
        return ()
    if key not in _MODES:
        if request.is_live:
            return ()
        query = {"schema": "olm.bundle", "package": package, "name": bundle}
        try:
            async with limit:
                blob = await read_catalog(request.session, catalog, "api/v1/metas", query)
        except CatalogReadError:
            return ()
        if len(_MODES) >= MAX_KEPT_MODES:
            _MODES.clear()
        _MODES[key] = (await asyncio.to_thread(description, blob)).install_modes
    return _MODES[key]


ROUTES = (Route("GET", "/operators", show, (Watch(operators.KIND), Watch(bundledeployments.KIND))),)
