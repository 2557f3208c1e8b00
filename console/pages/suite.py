"""The suite itself: its controllers, versions and leaders, and its CustomResourceDefinitions."""

from __future__ import annotations

import asyncio

from console.page import Answer, Page, PageRequest
from console.pages.setup_help import on_suite
from console.routes import Route
from console.views.parts import Note
from console.views.suite import suite_view
from olmctl.questions.operator_state import text_at
from olmkit.api import bundledeployments, bundles, catalogs, customresourcedefinitions, operators, packages
from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError, NotFound
from olmkit.runtime.lease_holder import LEASE, holder_host

DEPLOYMENT = Kind("apps", "v1", "Deployment", "deployments", namespaced=True)
KINDS = (operators.KIND, catalogs.KIND, packages.KIND, bundledeployments.KIND, bundles.KIND)


@on_suite
async def show(request: PageRequest) -> Answer:
    """The page."""
    namespace = request.session.system_namespace
    notes: list[Note] = []
    deployments, leases = await asyncio.gather(
        _listed(request, DEPLOYMENT, namespace, notes), _listed(request, LEASE, namespace, notes)
    )
    names = [f"{each.plural}.{each.group}" for each in KINDS]
    found = await asyncio.gather(*(_definition(request, name) for name in names))
    leaders = {
        text_at(each, "metadata", "name"): holder_host(text_at(each, "spec", "holderIdentity")) for each in leases
    }
    value = suite_view(
        deployments,
        {name: host for name, host in leaders.items() if host},
        dict(zip(names, found, strict=True)),
        request.options.version,
        notes,
    )
    return Page("suite.html", value, "Suite", "Suite")


async def _listed(request: PageRequest, kind: Kind, namespace: str, notes: list[Note]) -> list[Object]:
    """The objects; with a note if they may not be listed."""
    try:
        found, _ = await request.session.client.list(kind, namespace)
    except ApiError as error:
        notes.append(Note("info", f"{kind.kind}s of {namespace} are not shown.", error.message))
        return []
    return sorted(found, key=lambda each: text_at(each, "metadata", "name"))


async def _definition(request: PageRequest, name: str) -> Object | None:
    try:
        return await request.session.client.get(customresourcedefinitions.KIND, name)
    except NotFound:
        return None
    except ApiError:
        established = {"type": "Established", "status": "True"}
        return {"status": {"conditions": [established]}}  # the page is about a kind that the API server serves


ROUTES = (Route("GET", "/suite", show),)
