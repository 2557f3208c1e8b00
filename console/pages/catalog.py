"""The catalog: what can be installed, and the kinds of instances that can be created."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from console.page import Answer, BadInput, Page, PageRequest
from console.pages.cluster import read_cluster
from console.pages.setup_help import on_suite
from console.routes import Route, Watch
from console.views import catalog as view
from console.views.catalog import CatalogQuery, CatalogView, InstanceType, catalog_view
from console.views.catalogs import catalog_note
from console.views.fit import Cluster
from console.views.operators import is_in, watched_namespaces
from console.views.parts import ALL, Note
from olmctl.questions.catalog import matching, suggestion
from olmctl.questions.catalog_offers import no_packages_text
from olmctl.questions.left_installations import left_installations, with_left
from olmctl.questions.operator_state import part, text_at
from olmctl.questions.packages import PackageEntry, all_packages, installed_packages
from olmkit.api import catalogs, operators
from olmkit.api.meta import Object
from olmkit.errors import ApiError
from olmkit.runtime.discovery import Discovery


def read_query(request: PageRequest) -> CatalogQuery:
    """The query of the URL. Raises BadInput."""
    query = request.query
    word = " ".join(query.one("q").split())
    if len(word) > view.MAX_QUERY_LENGTH:
        raise BadInput("q", f"it has more than {view.MAX_QUERY_LENGTH} characters")
    chosen = {key: tuple(dict.fromkeys(filter(None, query.all(key)))) for key in view.FACETS}
    for key, allowed in {
        "works": (view.WORKS, view.LACKS),
        "type": (view.OPERATORS, view.INSTANCES),
        "modes": (view.EVERYWHERE, view.SOME),
        "state": (view.INSTALLED, view.WAITS, view.FAILED, view.DEPRECATED),
    }.items():
        for value in chosen[key]:
            if value not in allowed:
                raise BadInput(key, f"{value[:100]} is none of {', '.join(allowed)}")
    return CatalogQuery(
        word,
        {key: values for key, values in chosen.items() if values},
        query.choice("sort", view.SORTS),
        1 if query.one("page") == ALL else query.number("page", 1, 1, 100_000),
        query.one("page") == ALL,
        request.namespace or "",
    )


@on_suite
async def show(request: PageRequest) -> Answer:
    """The page."""
    query = read_query(request)
    session = request.session
    (entries, problems), installed, left, found, (cluster, discovery) = await asyncio.gather(
        all_packages(session),
        installed_packages(session),
        left_installations(session),
        _catalogs(request),
        read_cluster(request),
    )
    cluster = replace(cluster, packages=frozenset(installed))
    all_operators = [each for group in installed.values() for each in group]
    types = instance_types(request, all_operators, discovery)
    nothing = "" if entries else await no_packages_text(session)
    notes = [
        *_notes(found, query.ns),
        *(Note("info", "", f"provider, icons and deprecations are not shown for catalog {each}") for each in problems),
    ]
    operators = with_left(installed, left)
    value = await asyncio.to_thread(_view, query, entries, operators, types, notes, nothing, cluster)
    return Page("catalog.html", value, "Catalog", "Catalog", scripts=("grid.js",))


def _view(  # noqa: PLR0913 what the page is made from
    query: CatalogQuery,
    entries: Sequence[PackageEntry],
    operators: Mapping[str, Sequence[Object]],
    types: Sequence[InstanceType],
    notes: Sequence[Note],
    nothing: str,
    cluster: Cluster,
) -> CatalogView:
    """The value of the page. It takes a third of a second for 10,000 packages, so it is made beside the event loop."""
    matched = matching(entries, query.q)
    hint = suggestion(query.q, {each.name for each in entries}) if query.q and not matched else ""
    return catalog_view(query, entries, operators, types, notes, nothing, matched, hint, cluster)


def _notes(found: Iterable[Object], ns: str) -> Iterable[Note]:
    for each in found:
        note = catalog_note(each, ns)
        if note is not None:
            yield note


async def _catalogs(request: PageRequest) -> Sequence[Object]:
    """The Catalogs; none if they may not be listed."""
    try:
        found, _ = await request.session.client.list(catalogs.KIND)
    except ApiError:
        return ()
    return found


def instance_types(request: PageRequest, found: Sequence[Object], discovery: Discovery | None) -> list[InstanceType]:
    """The kinds that these Operators provide and that the cluster serves, in the namespace of the page."""
    ns = request.namespace or ""
    usable = [each for each in found if is_in(each, ns) and part(each, "status", "installed", "apis")]
    if not usable or discovery is None:
        return []
    made = {each.kind.group_kind: each for operator in usable for each in _types(operator, discovery)}
    return sorted(made.values(), key=lambda each: (each.title.casefold(), each.kind.group))


def _types(operator: Object, discovery: Discovery) -> Iterable[InstanceType]:
    watched = watched_namespaces(operator)
    for each in part(operator, "status", "installed", "apis") or ():
        kind = discovery.kinds.get((text_at(each, "group"), text_at(each, "kind")))
        if kind is not None:
            yield InstanceType(
                kind,
                text_at(each, "displayName"),
                text_at(operator, "metadata", "name"),
                text_at(operator, "spec", "packageName"),
                text_at(operator, "status", "installed", "catalog"),
                watched is None,
                watched or (),
            )


ROUTES = (Route("GET", "/catalog", show, (Watch(operators.KIND), Watch(catalogs.KIND))),)
