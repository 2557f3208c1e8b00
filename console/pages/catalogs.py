"""The Catalogs of the cluster, and one of them."""

from __future__ import annotations

from collections.abc import Sequence

from console.access import Ask
from console.page import Answer, NotThere, Page, PageRequest
from console.pages.setup_help import on_suite
from console.routes import Handler, Route, Watch
from console.views.catalogs import CatalogInput, catalog_detail_view, catalogs_view
from olmctl.questions.operator_state import text_at
from olmkit.api import catalogs, operators, packages
from olmkit.api.meta import Object
from olmkit.errors import ApiError, NotFound
from operator_controller.resolve.explain.spec_hints import similar_names


@on_suite
async def show(request: PageRequest) -> Answer:
    """All Catalogs."""
    found, _ = await request.session.client.list(catalogs.KIND)
    patch, create = await request.access.each(Ask("patch", catalogs.KIND), Ask("create", catalogs.KIND))
    refusals = ["" if each else each.reason for each in (patch, create)]
    value = catalogs_view(found, request.namespace or "", *refusals)
    return Page("catalogs.html", value, "Catalogs", "Catalogs", scripts=("grid.js",))


def tab(name: str) -> Handler:
    """The handler of one tab of a Catalog."""

    @on_suite
    async def show_one(request: PageRequest) -> Answer:
        return await _page(request, name)

    return show_one


async def _page(request: PageRequest, name: str) -> Answer:
    client = request.session.client
    catalog = await catalog_of(request)
    own = request.path["name"]
    patch, delete = await request.access.each(
        Ask("patch", catalogs.KIND, name=own), Ask("delete", catalogs.KIND, name=own)
    )
    everything, _ = await client.list(catalogs.KIND)
    given = CatalogInput(
        catalog,
        everything,
        await _listed(request),
        await _packages(request) if not name else {},
        name,
        request.namespace or "",
        "" if patch else patch.reason,
        "" if delete else delete.reason,
    )
    return Page("catalog-detail.html", catalog_detail_view(given), own, "Catalogs")


async def catalog_of(request: PageRequest) -> Object:
    """The Catalog of the path. Raises NotThere with similar names."""
    name = request.path["name"]
    try:
        return await request.session.client.get(catalogs.KIND, name)
    except NotFound as error:
        found, _ = await request.session.client.list(catalogs.KIND)
        names = {text_at(each, "metadata", "name") for each in found}
        similar = tuple((f"/catalogs/{each}", each) for each in similar_names(name, names))
        raise NotThere(f"There is no Catalog {name}.", similar) from error


async def _listed(request: PageRequest) -> Sequence[Object]:
    """The Operators; none if they may not be listed."""
    try:
        found, _ = await request.session.client.list(operators.KIND)
    except ApiError:
        return ()
    return found


async def _packages(request: PageRequest) -> dict[str, frozenset[str]]:
    """The names of the packages of each catalog; none if they may not be listed."""
    try:
        found, _ = await request.session.client.list(packages.KIND, metadata_only=True)
    except ApiError:
        return {}
    names: dict[str, set[str]] = {}
    for each in found:
        labels = [text_at(each, "metadata", "labels", key) for key in (packages.CATALOG_LABEL, packages.PACKAGE_LABEL)]
        if all(labels):
            names.setdefault(labels[0], set()).add(labels[1])
    return {catalog: frozenset(found) for catalog, found in names.items()}


_PATH = "/catalogs/{name}"
_WATCHES = (Watch(catalogs.KIND),)
ROUTES = (
    Route("GET", "/catalogs", show, _WATCHES),
    Route("GET", _PATH, tab(""), (*_WATCHES, Watch(operators.KIND))),
    Route("GET", f"{_PATH}/problems", tab("problems"), _WATCHES),
)
